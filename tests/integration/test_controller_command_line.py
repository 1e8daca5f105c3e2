"""What is said to plimsoll-controller on its command line: a single pass, a look without writing,
credentials for exporters, and what cannot be meant."""

import json

import pytest

from controller_kit import CPU_AND_MEM, patched
from pages import TOP
from programs import complete
from standin import certs

# Long enough for a handshake on a machine that has other things to do.
LOOK = ("--dry-run", "--once", "--scrape-interval=3s", "--output=json")


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


def target(exporters, name="a"):
    return f"--target={name}={exporters.url}/metrics"


def test_a_single_pass(begin, standin, exporters):
    """It writes every node that it can and ends; status 1 when one could not be scraped or written."""
    pools = {
        "fine": (["fine-1", "fine-2"], [], 0),
        "looked-at": (["looked-at"], ["--dry-run"], 0),
        "one-silent": (["written", "silent"], [], 1),
        "one-refused": (["written-too", "refused"], [], 1),
    }
    exporters.trouble(["127.9.0.1"], "close")
    standin.fault("status", verb="patch", status=403, name="^refused$")
    for i, (pool, (names, _, _)) in enumerate(pools.items()):
        for name in names:
            address = "127.9.0.1" if name == "silent" else f"127.1.0.{i + 1}"
            standin.add_nodes(None, names=[name], first_address=address, labels={"pool": pool})
    flags = [f"--node-exporter-port={exporters.port}", "--scrape-interval=2s", "--once"]
    # It has a hot value.
    flags.append(f"--policy-config-path={TOP}/policy/crane.yaml")
    passes = [
        begin(f"--kubeconfig={standin.kubeconfig}", f"--node-selector=pool={pool}", *flags, *more)
        for pool, (_, more, _) in pools.items()
    ]
    for one, (_, _, wanted) in zip(passes, pools.values()):
        status, _, err = one.end()
        assert status == wanted, err
    written = {row["name"]: set(patched(row)) for row in standin.patches() if row["code"] == 200}
    assert written.keys() == {"fine-1", "fine-2", "written", "written-too", "silent"}
    # How often something was bound to it is known of a silent one as well.
    assert written.pop("silent") == {"node_hot_value"}
    assert all(set(CPU_AND_MEM) < keys for keys in written.values())


def test_looking_without_writing(begin, exporters):
    """One that is silent is told beside the one that is not; without --once it goes on looking."""
    exporters.set(["127.0.0.1"], load={"mem": 0.25})
    gone = "--target=gone=http://127.0.0.1:1/metrics"
    single = begin(*LOOK, target(exporters, "web-1"), gone)
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
    user = ["--node-exporter-username=scraper"]
    user.append(f"--node-exporter-password-file={tmp_path}/password")
    token = [f"--node-exporter-bearer-token-file={tmp_path}/token"]
    passes = [
        (begin(*LOOK, target(exporters), *flags), wanted)
        for exporters, flags, wanted in (
            (basic, user, 0),
            (bearer, token, 0),
            (basic, [], 1),
            (bearer, [], 1),
            (basic, token, 1),
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
    ca = f"--node-exporter-ca-file={directory}/ca.crt"
    passes = [
        (begin(*LOOK, target(exporters), *flags), wanted)
        for flags, wanted in (
            ([ca], 0),
            ([ca, "--node-exporter-server-name=kubernetes"], 0),
            (["--node-exporter-insecure-skip-verify"], 0),
            ([], 1),
            ([ca, "--node-exporter-server-name=elsewhere"], 1),
        )
    ]
    for one, wanted in passes:
        status, _, err = one.end()
        assert status == wanted, err
        assert ("reason=tls" in err) == (wanted == 1)


def of_prometheus(flags):
    return f"--metrics-source=prometheus --prometheus-address=http://h {flags}"


def of_option(option):
    return f"--exporter=dcgm=http://{{address}}/ --exporter-option={option}"


MANY = " ".join(f"--exporter=e{i}=http://{{address}}/" for i in range(12))
WRONG = [
    ("--no-such-option", "no-such-option"),
    ("surplus", "surplus"),
    ("--scrape-interval=fast", "scrape-interval"),
    ("--scrape-interval=1ms", "scrape-interval"),
    ("--node-exporter-port=0", "node-exporter-port"),
    ("--node-exporter-path=metrics", "path"),
    ("--node-exporter-username=a", "password-file"),
    ("--node-exporter-cert-file=a", "key-file"),
    ("--node-address-types=Internal", "node-address-types"),
    ("--target-url-template=http://proxy/metrics", "share one page"),
    ("--target=a=http://127.0.0.1/", "--dry-run"),
    ("--dry-run --target=nonsense", "NAME=URL"),
    ("--dry-run --target=a=http://h/ --target=a=http://h/", "already"),
    ("--annotation-prefix=-", "annotation-prefix"),
    ("--annotation-timezone=Mars/Olympus", "annotation-timezone"),
    ("--policy-config-path=/nowhere/policy.yaml", "/nowhere/policy.yaml"),
    ("--kubeconfig=/nowhere/config", "/nowhere/config"),
    ("--network-speed=fast", "--network-speed: expected bits per second such as 1G or 25G"),
    ("--network-speed=0", "--network-speed: expected bits per second"),
    ("--network-device-pattern=eth0,", "--network-device-pattern: an empty pattern"),
    ("--leader-elect-resource-name=a/b", "--leader-elect-resource-name: not a name"),
    ("--leader-elect-resource-name=", "--leader-elect-resource-name: not a name"),
    ("--leader-elect-lease-duration=1s", "retry-period: the lease duration must be longer"),
    # Sources, and further exporters.
    ("--metrics-source=node-exporter,cadvisor", '--metrics-source: "cadvisor": unknown source'),
    ("--metrics-source=", '--metrics-source: "": unknown source'),
    ("--metrics-source=node-metrics,node-metrics", '"node-metrics" is given twice'),
    ("--node-metrics-url-template=http://agent/", "--node-metrics-url-template: "),
    ("--exporter=dcgm", '--exporter: "dcgm": expected NAME=URL'),
    ("--exporter=DCGM=http://{address}/", '--exporter: "DCGM": expected a name'),
    ("--exporter=a=http://{address}/ --exporter=a=http://{node}/", '"a" is taken'),
    ("--exporter=dcgm=ftp://{address}/", '--exporter: "dcgm": URL template'),
    (MANY, "--exporter: more than 11 exporters"),
    (of_option("dcgm"), "--exporter-option: expected NAME.KEY=VALUE"),
    (of_option("dcgm.ca-file"), "--exporter-option: expected NAME.KEY=VALUE"),
    (of_option("other.ca-file=x"), '--exporter-option: "other": no --exporter has this name'),
    (of_option("node-exporter.ca-file=x"), '"node-exporter": no --exporter has this name'),
    (of_option("node-metrick.ca-file=x"), '"node-metrick": no --exporter has this name'),
    (of_option("dcgn.ca-file=x"), '"dcgn": no --exporter has this name'),
    (of_option("dcgm.password=s3cret"), '--exporter-option: "password": unknown key'),
    (of_option("dcgm.=s3cret"), '--exporter-option: "": unknown key'),
    (of_option("dcgm.insecure-skip-verify=s3cret"), "expected true or false"),
    (of_option("dcgm.key-file=x"), "--exporter-option=dcgm.key-file must be set together"),
    (of_option("node-metrics.username=a"), "node-metrics.password-file must be set together"),
    # Prometheus.
    ("--metrics-source=prometheus", "--metrics-source=prometheus needs --prometheus-address"),
    (of_prometheus("--prometheus-address=prometheus:9090"), "expected http"),
    (of_prometheus("--prometheus-address=http://me:s3cret@h"), "must not contain a user or"),
    (of_prometheus("--prometheus-address=http://"), "no host"),
    (
        of_prometheus("--prometheus-selector=cluster=prod"),
        '--prometheus-selector: expected matchers of labels, as in a="x",b!~"y|z"; got "cluster=',
    ),
    (of_prometheus("--prometheus-header=X-Scope-OrgID"), "--prometheus-header: expected"),
    (of_prometheus("--prometheus-address=http://host/?a"), "unexpected '?'"),
    (of_prometheus("--prometheus-username=x"), "must be set together"),
    (of_prometheus("--prometheus-key-file=x"), "must be set together"),
    (of_prometheus("--metrics-source=node-exporter"), "needs prometheus in"),
    (of_prometheus("--dry-run --target=http://h/"), "--target needs sources that scrape"),
    # Kubelets.
    ("--metrics-source=kubelet --kubelet-client-key=x", "and --kubelet-client-key must be"),
    ("--check-config --metrics-source=kubelet --kubelet-ca-file=/none", "--kubelet-ca-file: /none"),
    ("--check-config --metrics-source=kubelet --kubelet-bearer-token-file=/x", "file: /x"),
    ("--metrics-source=kubelet --dry-run --target=a=http://h/", "sources that scrape pages"),
]


@pytest.mark.parametrize("flags, complaint", WRONG, ids=[flags for flags, _ in WRONG])
def test_wrong_flags(flags, complaint):
    done = complete("plimsoll-controller", *flags.split(), status=2)
    assert complaint in done.stderr and done.stdout == ""
    assert "s3cret" not in done.stderr
