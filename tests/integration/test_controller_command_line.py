"""What is said to plimsoll-controller on its command line: a single pass, a look without writing,
credentials for exporters, and what cannot be meant."""

import json

import pytest

from controller_kit import CPU_AND_MEM, write_sources
from programs import complete
from standin import certs

# Long enough for a handshake on a machine that has other things to do.
LOOK = ("--dry-run", "--once", "--output=json")


@pytest.fixture
def begin(run, binary):
    """Start one with these arguments; .end() of it is (status, stdout, stderr)."""

    class Pass:
        def __init__(self, *arguments):
            self.process = run([binary("plimsoll-controller"), *arguments])

        def end(self):
            status = self.process.wait_exit()
            return status, self.process.stdout(), self.process.stderr()

    return Pass


def sources(path, **more):
    return "--sources", write_sources(path, {"kind": "node-exporter", **more}, interval="3s")


def target(exporters, name="a"):
    return f"--target={name}={exporters.url}/metrics"


def test_a_single_pass(begin, standin, exporters):
    """It prints every node that it can read, writes nothing, and ends: with status 1 if one could not be read."""
    exporters.trouble(["127.9.0.1"], "close")
    for name, address in (("fine", "127.1.0.1"), ("silent", "127.9.0.1")):
        standin.add_nodes(None, names=[name], first_address=address, labels={"pool": name})
    flags = [
        f"--kubeconfig={standin.kubeconfig}",
        f"--target-url-template=http://{{address}}:{exporters.port}/metrics",
        "--scrape-interval=2s",
    ]
    passes = {
        pool: begin(*flags, *LOOK, *([f"--node-selector=pool={pool}"] if pool else []))
        for pool in ("fine", None)
    }
    for pool, one in passes.items():
        status, out, err = one.end()
        rows = {row["node"]: row["annotations"] for row in map(json.loads, out.splitlines())}
        assert status == (0 if pool else 1), err
        assert rows["fine"].keys() > set(CPU_AND_MEM)
    assert rows.keys() == {"fine", "silent"} and not rows["silent"].keys() & set(CPU_AND_MEM)
    assert standin.patches() == []
    _, _, err = begin(*flags, "--once").end()
    assert "--once: needs --dry-run" in err


def test_looking_without_writing(begin, exporters):
    """One that is silent is reported in addition to the one that is not; without --once it goes on looking."""
    exporters.set(["127.0.0.1"], load={"mem": 0.25})
    gone = "--target=gone=http://127.0.0.1:1/metrics"
    single = begin(*LOOK, "--scrape-interval=3s", target(exporters, "web-1"), gone)
    table = begin("--dry-run", "--scrape-interval=1s", target(exporters, "web-1")).process
    status, out, err = single.end()
    assert status == 1 and "reason=connect" in err
    silent, web = [json.loads(line) for line in out.splitlines()]
    assert (silent["node"], silent["annotations"], silent["failure"]) == ("gone", {}, "connect")
    assert web["node"] == "web-1" and web["unusable"] == {} and "failure" not in web
    assert web["annotations"]["mem_usage_avg_5m"].startswith("0.25000,")
    table.wait_log(r"^web-1 .*only one scrape so far")
    table.wait_log(r"^web-1 +\d+\.\d%.* ok$")


def test_credentials_for_exporters(begin, start_exporters, tmp_path):
    (tmp_path / "password").write_text("s3cret\n")
    (tmp_path / "token").write_text("t0ken\n")
    basic = start_exporters("--basic-auth", "scraper:s3cret")
    bearer = start_exporters("--bearer-token", "t0ken")
    user = {"basic_auth": {"username": "scraper", "password_file": f"{tmp_path}/password"}}
    token = {"authorization": {"credentials_file": f"{tmp_path}/token"}}
    passes = [
        (begin(*LOOK, target(exporters), *sources(tmp_path / str(i), **more)), wanted)
        for i, (exporters, more, wanted) in enumerate(
            (
                (basic, user, 0),
                (bearer, token, 0),
                (basic, {}, 1),
                (bearer, {}, 1),
                (basic, token, 1),
            )
        )
    ]
    for one, wanted in passes:
        status, out, err = one.end()
        assert status == wanted, err
        assert ("reason=unauthorized" in err) == (wanted == 1)
        assert "s3cret" not in out + err and "t0ken" not in out + err


def test_exporters_by_tls(begin, start_exporters, tmp_path):
    directory = str(tmp_path)
    certs.make(directory)
    exporters = start_exporters(
        "--tls-cert", f"{directory}/server.crt", "--tls-key", f"{directory}/server.key"
    )
    ca = {"ca_file": f"{directory}/ca.crt"}
    passes = [
        (begin(*LOOK, target(exporters), *sources(tmp_path / str(i), tls_config=tls)), wanted)
        for i, (tls, wanted) in enumerate(
            (
                (ca, 0),
                (ca | {"server_name": "kubernetes"}, 0),
                ({"insecure_skip_verify": True}, 0),
                ({}, 1),
                (ca | {"server_name": "elsewhere"}, 1),
            )
        )
    ]
    for one, wanted in passes:
        status, _, err = one.end()
        assert status == wanted, err
        assert ("reason=tls" in err) == (wanted == 1)


def of_prometheus(flags):
    return f"--metrics-source=prometheus --prometheus-address=http://h {flags}"


WRONG = [
    ("--no-such-option", "no-such-option"),
    ("surplus", "surplus"),
    ("--scrape-interval=fast", "scrape-interval"),
    ("--scrape-interval=1ms", "scrape-interval"),
    ("--node-address-types=Internal", "node-address-types"),
    ("--target-url-template=http://proxy/metrics", "have the same page"),
    ("--target=a=http://127.0.0.1/", "--dry-run"),
    ("--dry-run --target=nonsense", "NAME=URL"),
    ("--dry-run --target=a=http://h/ --target=a=http://h/", "this name is taken"),
    ("--annotation-prefix=-", "annotation-prefix"),
    ("--annotation-timezone=Mars/Olympus", "annotation-timezone"),
    ("--policy-config-path=/nowhere/policy.yaml", "/nowhere/policy.yaml"),
    ("--kubeconfig=/nowhere/config", "/nowhere/config"),
    ("--bind-address=here", "--bind-address: "),
    ("--network-speed=fast", "--network-speed: expected at least 1M bits per second, such as 1G"),
    ("--network-speed=10", "--network-speed: expected at least 1M bits per second"),
    *(
        (f"--node-selector={text}", "--node-selector: expected requirements between commas")
        for text in ("a=b,,", ",", ",a", "a,,b", "a(b,c", "a)", "a)(")
    ),
    ("--network-device-pattern=eth0,", "--network-device-pattern: an empty pattern"),
    (
        "--leader-elect-resource-name=a/b",
        "--leader-elect-resource-name: expected the name of a Lease",
    ),
    ("--leader-elect-resource-name=", "--leader-elect-resource-name: expected the name of a Lease"),
    ("--leader-elect-lease-duration=1s", "retry-period: the lease duration must be longer"),
    # Sources.
    ("--sources=/nowhere/sources --scrape-interval=3s", "--scrape-interval: cannot be combined"),
    ("--sources=/nowhere/sources", "/nowhere/sources: cannot open"),
    ("--sources=/nowhere --metrics-source=kubelet", "--metrics-source: cannot be combined with"),
    # As the manifests set it.
    ("PLIMSOLL_METRICS_SOURCE=kubelet --sources=/nowhere", "PLIMSOLL_METRICS_SOURCE: cannot be"),
    (
        "--sources=/nowhere --prometheus-address=http://h",
        "--prometheus-address: cannot be combined",
    ),
    ("--sources=/nowhere --kubelet-insecure-skip-verify", "--kubelet-insecure-skip-verify: cannot"),
    (
        "--metrics-source=kubelet,node_exporter",
        "--metrics-source: 'node_exporter': expected node-exporter, kubelet, prometheus, metrics-server"
        " or node-metrics (did you mean node-exporter?)",
    ),
    ("--metrics-source=", "--metrics-source: '': expected node-exporter, kubelet"),
    ("--metrics-source=node-metrics,node-metrics", "'node-metrics' is listed twice"),
    # Prometheus.
    ("--metrics-source=prometheus", "--prometheus-address: expected a URL"),
    (of_prometheus("--prometheus-address=prometheus:9090"), "expected http"),
    (of_prometheus("--prometheus-address=http://me:s3cret@h"), "must not contain a user or"),
    (of_prometheus("--prometheus-address=http://"), "with a host"),
    (of_prometheus("--prometheus-address=http://host/?a"), "without a query"),
    (of_prometheus("--metrics-source=node-exporter"), "needs prometheus in"),
    (of_prometheus("--dry-run --target=a=http://h/"), "prometheus cannot read the page of a"),
    # Kubelets.
    ("--metrics-source=kubelet --dry-run --target=a=http://h/", "kubelet cannot read the page of"),
]


@pytest.mark.parametrize("text", ["", "pool=web", "zone in (a,b), !gpu,x notin (c)"])
def test_node_selectors(text):
    complete("plimsoll-controller", "--check-config", f"--node-selector={text}")


@pytest.mark.parametrize("flags, complaint", WRONG, ids=[flags for flags, _ in WRONG])
def test_wrong_flags(flags, complaint):
    words = flags.split()
    env = dict(word.split("=", 1) for word in words if word.startswith("PLIMSOLL_"))
    words = [word for word in words if not word.startswith("PLIMSOLL_")]
    done = complete("plimsoll-controller", *words, status=2, env=env)
    assert complaint in done.stderr.replace('\\"', '"') and done.stdout == ""
    assert "s3cret" not in done.stderr
