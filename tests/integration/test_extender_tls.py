"""The extender over TLS: who is let in, and certificates that change while it answers."""

import http.client
import json
import os
import signal
import ssl
import subprocess

import pytest

from extender_kit import Connection, Extender, annotate, go_json, policy
from harness import wait_until
from policies import node_names, write_policy
from tls_kit import Authority, Volume

NODES = node_names(3)
BUSY = NODES[2]
REFUSED = (ssl.SSLError, ConnectionError)


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    return Authority(str(tmp_path_factory.mktemp("ours")), "ours")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    return Authority(str(tmp_path_factory.mktemp("theirs")), "theirs")


class TlsExtender(Extender):
    """An extender that serves from a volume; its pages are fetched as a client that it trusts."""

    def __init__(self, run, standin, volume, *flags, context):
        self.context = context
        self.volume = volume
        super().__init__(run, standin, *volume.flags(), *flags, scheme="https")

    def page(self, path):
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=30, context=self.context
        )
        try:
            connection.request("GET", path)
            reply = connection.getresponse()
            return Page(reply.status, reply.read().decode())
        finally:
            connection.close()

    def serial(self):
        """The number of the certificate that a new connection is shown."""
        with Connection(self.port, context=self.context) as connection:
            return connection.sock.getpeercert()["serialNumber"]

    def wait_serial(self, pair):
        wanted = serial_of(pair)
        wait_until(lambda: self.serial() == wanted, what=f"certificate {wanted} to be served")


class Page:
    def __init__(self, status, text):
        self.status, self.text = status, text


def serial_of(pair):
    found = ssl._ssl._test_decode_cert(pair[0])  # pylint: disable=protected-access
    return found["serialNumber"]


def trusting(authority, pair=None):
    """What a client needs: whom it trusts, and its own certificate."""
    context = ssl.create_default_context(cafile=authority.cert)
    if pair:
        context.load_cert_chain(*pair)
    return context


@pytest.fixture(scope="module")
def cluster(module_start_standin):
    standin = module_start_standin("--nodes", len(NODES))
    for name, usage in zip(NODES, (0.1, 0.5, 0.7)):
        annotate(standin, name, usage)
    return standin


@pytest.fixture
def start_extender(run, cluster, tmp_path):
    path = write_policy(tmp_path / "policy.yaml", policy(period="1h"))

    def start(volume, context, *flags):
        flags = (f"--policy-config-path={path}", *flags)
        extender = TlsExtender(run, cluster, volume, *flags, context=context)
        extender.wait_live()
        return extender

    return start


def ask(extender, context):
    """One filter call on a connection of its own."""
    with extender.scheduler(context=context) as scheduler:
        return scheduler.filter(NODES)


def refuses(extender, context):
    """With TLS 1.3 the client learns it only when it reads."""
    with pytest.raises(REFUSED):
        ask(extender, context)
    return True


# -- who is let in ----------------------------------------------------------------------------


def test_https(start_extender, ours, theirs, tmp_path):
    extender = start_extender(Volume(tmp_path / "secret", ours.server()), trusting(ours))
    with extender.scheduler(context=trusting(ours)) as scheduler:
        assert BUSY in scheduler.filter(NODES)[1]
        for _ in range(20):
            scheduler.prioritize(NODES)
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(extender, trusting(theirs))
    # Plain HTTP on the TLS port gets no answer.
    with pytest.raises(ConnectionError), Connection(extender.port) as connection:
        connection.call("/filter", b"{}")
    ask(extender, trusting(ours))


def test_bind_over_mutual_tls(start_extender, cluster, ours, theirs, tmp_path):
    """Requests rest between two threads while they wait, their sessions with them."""
    context = trusting(ours, ours.client())
    volume = Volume(tmp_path / "secret", ours.server(), ours.cert)
    extender = start_extender(volume, context, "--bind")
    cluster.add_pods(5, prefix="web-")
    with Connection(extender.port, context=context) as connection:
        for i in range(5):
            metadata = cluster.get(f"/api/v1/namespaces/default/pods/web-{i}")["metadata"]
            args = {"PodName": f"web-{i}", "PodNamespace": "default", "Node": NODES[0]}
            reply = connection.call("/bind", go_json({**args, "PodUID": metadata["uid"]}))
            assert (reply.status, reply.body) == (200, b'{"Error":""}')
    assert refuses(extender, trusting(ours))
    assert refuses(extender, trusting(ours, theirs.client()))


def test_mutual_tls(start_extender, ours, tmp_path):
    client = ours.client()
    volume = Volume(tmp_path / "secret", ours.server(), ours.cert)
    names = ("--client-allowed-names=kube-scheduler", "--client-allowed-names=prometheus")
    extender = start_extender(volume, trusting(ours, client), *names)
    for pair in (client, ours.client("prometheus")):
        assert BUSY in ask(extender, trusting(ours, pair))[1]
    for pair in (ours.client("somebody"), ours.client(days=-1)):
        assert refuses(extender, trusting(ours, pair))
    extender.process.wait_log("common name is not allowed")
    # What curl says of the same, with the server's name verified.
    argv = ["curl", "-sS", "--noproxy", "*", "--cacert", ours.cert]
    argv += ["--cert", client[0], "--key", client[1], "-d", '{"NodeNames":["a"]}']
    argv += ["--resolve", f"localhost:{extender.port}:127.0.0.1"]
    argv += [f"https://localhost:{extender.port}/filter"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["NodeNames"] == ["a"]


PAGES = r'msg="serving pages [^"]+" address=(\S+) port=(\d+)'


def check_pages(process, address):
    """Of an address and a port of their own, where nobody is answered what a scheduler asks."""
    found = process.wait_log(PAGES)
    assert found.group(1) == address
    with Connection(int(found.group(2)), address=address) as connection:
        wait_until(lambda: connection.call("/readyz", b"", "GET").status == 200, what="readiness")
        for page in ("livez", "healthz", "metrics", "flagz", "decisions", "nodes"):
            assert connection.call(f"/{page}", b"", "GET").status == 200, page
        told = json.loads(connection.call("/explain", b"{}").body)
        assert [row["node"] for row in told["nodes"]] == NODES
        for verb in ("filter", "prioritize", "preempt", "bind"):
            for path in (f"/{verb}", f"/v1/{verb}", f"/nodes/{verb}"):
                assert connection.call(path, go_json({"NodeNames": NODES})).status == 404, path
        calls = connection.call("/metrics", b"", "GET").body.decode()
    assert "\nplimsoll_extender_last_call_timestamp_seconds 0\n" in calls


def test_pages_without_a_certificate(start_extender, ours, tmp_path):
    volume = Volume(tmp_path / "secret", ours.server(), ours.cert)
    extender = start_extender(volume, trusting(ours, ours.client()), "--bind")
    check_pages(extender.process, "127.0.0.1")


def test_pages_at_another_address(run, cluster, binary):
    """As in the pod of a second scheduler."""
    flags = ("--port=0", "--bind", "--health-port=0", "--health-bind-address=127.0.0.2")
    process = run(
        [binary("plimsoll-extender"), f"--master={cluster.url}", *flags], "plimsoll-extender"
    )
    check_pages(process, "127.0.0.2")


# -- what changes -----------------------------------------------------------------------------


def test_a_certificate_that_changes_during_the_start(run, cluster, ours, tmp_path):
    """It stops when it has loaded the first pair, before it listens. (No leak check: that cannot
    trace a process that strace traces.)"""
    volume = Volume(tmp_path / "secret", ours.server())
    second = ours.server()
    trace = tmp_path / "trace"
    trace.touch()
    strace = ["strace", "-D", "-f", f"-o{trace}", "-etrace=listen"]

    def run_stopped(argv, name):
        env = {"ASAN_OPTIONS": "detect_leaks=0"}
        process = run([*strace, "-einject=listen:signal=SIGSTOP", *argv], name, env)
        wait_until(
            lambda: "--- stopped by SIGSTOP" in trace.read_text(), what="the process to stop"
        )
        volume.write(second)
        os.kill(process.pid, signal.SIGCONT)
        return process

    TlsExtender(run_stopped, cluster, volume, context=trusting(ours)).wait_serial(second)
