"""System calls fail for a while, as on a node without descriptors or space: a program goes on, says
so once, works again when the fault ends, and has no more descriptors open than before."""

import contextlib
import errno
import os
import resource
import signal
import ssl
import subprocess
import threading

import pytest

from controller_kit import log_lines
from extender_kit import Connection, Extender, annotate, policy
from harness import OwnMetrics, fetch, wait_until
from policies import write_policy
from tls_kit import Authority, Volume

LINES_MAX = 10
# Every call that makes a descriptor.
OPENING = "accept4,socket,openat,pipe2,eventfd2,epoll_create1"
NAMES = ["node-0000", "node-0001"]


def stop(process, path):
    """All of its threads, between two calls: strace would leave one in a call that it has entered,
    and such a call fails with ENOSYS."""
    threads = len(os.listdir(f"/proc/{process.pid}/task"))
    with open(path, encoding="utf-8", errors="replace") as file:
        file.seek(0, os.SEEK_END)
        os.kill(process.pid, signal.SIGSTOP)
        log = []

        def are_stopped():
            log.append(file.read())
            return "".join(log).count("--- stopped by SIGSTOP ---") >= threads

        wait_until(are_stopped, what="every thread to stop")


@contextlib.contextmanager
def injected(process, rule, *more):
    """While it lasts, system calls of a running program end as the rule says."""
    path = process.err_path + ".strace"
    argv = ["strace", "-f", "-p", process.pid, "-o", path, f"-einject={rule}", *more]
    with subprocess.Popen([*map(str, argv)], stderr=subprocess.PIPE, text=True) as strace:
        try:
            said = strace.stderr.readline()
            assert "attached" in said, said
            yield
            stop(process, path)
        finally:
            strace.terminate()
            strace.wait()
            os.kill(process.pid, signal.SIGCONT)
    with open(path, encoding="utf-8", errors="replace") as file:
        assert "(INJECTED)" in file.read(), "no call met the fault"


@contextlib.contextmanager
def limited(process):
    """The limit is below what is open, so that no descriptor is left; what is open stays."""
    limit = 8
    used = {int(name) for name in os.listdir(f"/proc/{process.pid}/fd")}
    assert used.issuperset(range(limit))
    before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (limit, before[1]))
    try:
        yield
    finally:
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)


def lack(process, error):
    if error == "EMFILE":
        return limited(process)
    return injected(process, f"{OPENING}:error={error}")


NIGHTLY_LACKS = [pytest.param(e, marks=pytest.mark.nightly) for e in ("ENOMEM", "ENOBUFS")]


def is_answered(url):
    try:
        return fetch(f"{url}/livez", timeout_s=5).status == 200
    except OSError:
        return False


def complaints(process):
    lines = process.stderr().splitlines()
    return [line for line in lines if "level=warn" in line or "level=error" in line]


def without_descriptors(process, url, error, has_kept, meanwhile):
    """A connection that is kept is answered all the time, a new one when the lack has ended."""
    before = process.open_files()
    with contextlib.ExitStack() as stack:
        kept = Connection(int(url.rpartition(":")[2])) if has_kept else None
        if kept:
            stack.callback(kept.close)
            assert kept.call("/livez", b"", "GET").status == 200
        with lack(process, error):
            client = threading.Thread(target=is_answered, args=[url])
            client.start()
            process.wait_log('msg="cannot accept connections"')
            meanwhile(kept)
            if kept:
                assert kept.call("/livez", b"", "GET").status == 200
        client.join()
        wait_until(lambda: is_answered(url), what="a new connection's answer")
    wait_until(lambda: process.open_files() <= before, what="the descriptors to be as before")
    assert len(log_lines(process, "cannot accept connections")) == 1
    assert len(complaints(process)) <= LINES_MAX, process.stderr()


@pytest.mark.parametrize("error", ["EMFILE", "ENFILE", *NIGHTLY_LACKS])
@pytest.mark.parametrize(
    "has_kept", [True, pytest.param(False, marks=pytest.mark.nightly)], ids=["kept", "none-kept"]
)
def test_extender_without_descriptors(start_standin, run, tmp_path, error, has_kept):
    standin = start_standin("--nodes", len(NAMES), "--tls-dir", tmp_path / "tls")
    path = write_policy(tmp_path / "policy", policy())
    flags = [f"--policy-config-path={path}"]
    # Names are looked up, and certificates read, with descriptors too.
    port = standin.url.rpartition(":")[2]
    by_name = standin.edit_kubeconfig(
        tmp_path / "kubeconfig", {"server": f"https://localhost:{port}"}
    )
    extender = Extender(run, by_name, *flags, build="release")
    extender.wait_ready()
    standin.context = ssl.create_default_context(cafile=tmp_path / "tls" / "ca.crt")

    def restarts(kept):
        page = OwnMetrics(kept.call("/metrics", b"", "GET").body.decode())
        return page.total("plimsoll_watch_restarts_total", 0)

    def meanwhile(kept):
        standin.admin("watches/cut", {})
        extender.reload()
        extender.process.wait_log("cannot load policy, keeping the previous one")
        if kept:
            wait_until(lambda: restarts(kept) > 1, what="a call that finds no descriptor")

    without_descriptors(extender.process, extender.url, error, has_kept, meanwhile)
    annotate(standin, NAMES[0], 0.9)
    with extender.scheduler() as scheduler:
        wait_until(lambda: scheduler.filter(NAMES)[0] == NAMES[1:], what="the watch of nodes")


@pytest.mark.parametrize("error", ["EMFILE", "ENFILE", *NIGHTLY_LACKS])
def test_controller_without_descriptors(start_standin, exporters, start_controller, error):
    standin = start_standin("--nodes", len(NAMES))
    controller = start_controller(standin, exporters, build="release")
    wait_until(
        lambda: all(standin.patches(name=name) for name in NAMES), what="a patch of every node"
    )
    process = controller.process

    def meanwhile(_kept):
        for peer in (exporters, standin):
            peer.admin("close", {})
        standin.admin("watches/cut", {})
        process.wait_log(f'msg="node is failing".*{os.strerror(getattr(errno, error))}"')

    without_descriptors(process, controller.url, error, True, meanwhile)
    failing = len(log_lines(process, "node is failing"))
    wait_until(
        lambda: len(log_lines(process, "node recovered")) == failing, what="scrapes to work again"
    )


def test_interrupted_waits(start_standin, exporters, start_controller, run):
    """Every other wait for events ends by a signal that is not ours."""
    standin = start_standin("--nodes", len(NAMES))
    controller = start_controller(standin, exporters, build="release")
    extender = Extender(run, standin, build="release")
    extender.wait_ready()
    rule = "epoll_wait,poll,clock_nanosleep:error=EINTR:when=1+2"
    with injected(controller.process, rule), injected(extender.process, rule):
        wait_until(lambda: len(standin.patches()) > len(NAMES), what="annotations")
        with extender.scheduler() as scheduler:
            scheduler.filter(NAMES)
        assert is_answered(controller.url)
    assert complaints(controller.process) + complaints(extender.process) == []


def test_log_on_a_full_disk(standin, run, tmp_path):
    """Lines are lost, nothing else; when there is space, lines come again."""
    path = write_policy(tmp_path / "policy", policy())
    extender = Extender(run, standin, f"--policy-config-path={path}", build="release")
    extender.wait_ready()
    process = extender.process
    errors = "plimsoll_policy_errors_total"
    before = extender.metric(errors, 0)
    path_of_log = os.path.realpath(process.err_path)
    with injected(process, "write:error=ENOSPC", "-P", path_of_log):
        write_policy(path, b"{")
        extender.reload()
        wait_until(lambda: extender.metric(errors) > before, what="the policy to be refused")
    assert complaints(process) == []
    write_policy(path, policy({"cpu_usage_avg_5m": 0.5}))
    extender.reload()
    process.wait_log("policy is in force.* generation=2")


@pytest.fixture
def run_without_getrandom(run):
    """Starts a program as on a kernel without this call."""
    tracer = "strace -D -f -o /dev/null -e inject=getrandom:error=ENOSYS"  # -D: not as its parent

    def start(argv, name):
        return run([*tracer.split(), *argv], name)

    return start


def test_kernel_without_getrandom(
    start_standin, exporters, run_without_getrandom, binary, tmp_path
):
    """Keys of TLS are made of other randomness."""
    ours = Authority(str(tmp_path / "ca"), "ours")
    volume = Volume(str(tmp_path), ours.server(), ours.cert)
    context = ssl.create_default_context(cafile=ours.cert)
    context.load_cert_chain(*ours.client())
    standin = start_standin("--nodes", len(NAMES))
    flags = volume.flags()
    extender = Extender(run_without_getrandom, standin, *flags, build="release", scheme="https")
    with extender.scheduler(context=context) as scheduler:
        wait_until(lambda: scheduler.filter(NAMES)[0] == NAMES, what="the watch of nodes")
    argv = [
        binary("plimsoll-controller", "release"),
        *("--kubeconfig", standin.kubeconfig),
        f"--target-url-template=http://{{address}}:{exporters.port}/metrics",
        *("--bind-address=127.0.0.1", "--health-port=0", "--scrape-interval=1s", "--leader-elect"),
    ]
    process = run_without_getrandom(argv, "plimsoll-controller")
    process.wait_log("started leading")
    wait_until(standin.patches, what="annotations")
    assert complaints(process) + complaints(extender.process) == []
