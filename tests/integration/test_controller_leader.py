"""Two controllers and one Lease: one of them writes, whatever happens to it.

Each has a token, and so a user, of its own, by which the stand-in tells their patches apart. Lease
times are a fifth of the defaults.
"""

import itertools
import json
import re
import signal
import time

import pytest

from harness import OwnMetrics, fetch, wait_until

POLICY = """
apiVersion: scheduler.policy.crane.io/v1alpha1
kind: DynamicSchedulerPolicy
spec:
  syncPolicy:
  - {name: cpu_usage_avg_5m, period: 1s}
  - {name: cpu_usage_max_avg_1h, period: 1s}
  - {name: cpu_usage_max_avg_1d, period: 1s}
"""
PEAKS = ("cpu_usage_max_avg_1h", "cpu_usage_max_avg_1d")
LEASE_S = 3
NODES = [f"node-{i:04}" for i in range(4)]
USERS = ("alpha", "beta")
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


@pytest.fixture
def standin(start_standin):
    return start_standin("--nodes", len(NODES), *(f"--token=token-{user}={user}" for user in USERS))


@pytest.fixture
def controller(run, binary, standin, exporters, tmp_path):
    """Start one as `user`."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)

    def start(user, *arguments):
        kubeconfig = standin.edit_kubeconfig(
            tmp_path / f"{user}.kubeconfig", user={"token": f"token-{user}"}
        )
        return run(
            [
                binary("plimsoll-controller"),
                f"--kubeconfig={kubeconfig}",
                f"--policy-config-path={policy}",
                f"--node-exporter-port={exporters.port}",
                "--scrape-interval=1s",
                "--annotation-dead-band=0",
                "--bind-address=127.0.0.1",
                "--health-port=0",
                f"--leader-elect-lease-duration={LEASE_S}s",
                "--leader-elect-renew-deadline=2s",
                "--leader-elect-retry-period=300ms",
                *arguments,
            ],
            user,
        )

    return start


@pytest.fixture
def pair(controller, standin):
    """alpha, which leads and has written every node, and beta, which stands by."""
    alpha = controller("alpha")
    wait_until(lambda: {p["name"] for p in writes(standin)} == set(NODES), what="alpha's patches")
    beta = controller("beta")
    beta.wait_log(r"another replica leads.*leader=")
    wait_until(lambda: "measured" in ready(beta), what="beta's windows")
    return alpha, beta


def writes(standin, since=0):
    """The patches that were applied, in order."""
    return [p for p in standin.patches(since=since) if p["code"] == 200]


def writers(standin):
    """Who wrote, one entry for each time that the writer changed."""
    return [user for user, _ in itertools.groupby(p["user"] for p in writes(standin))]


def holder(standin):
    lease = standin.admin(
        "objects", resource="leases", namespace="kube-system", name="plimsoll-controller"
    )
    return lease["spec"]["holderIdentity"] if lease else None


def identity(process):
    return process.wait_log(r"this replica leads\".* identity=(\S+)").group(1)


def ready(process):
    return fetch(f"http://127.0.0.1:{process.wait_port()}/readyz?verbose").text


def leads(process):
    page = fetch(f"http://127.0.0.1:{process.wait_port()}/metrics").text
    return OwnMetrics(page)["plimsoll_leader"]


def next_write(standin, user, since, timeout_s=17):
    """Seconds from `since` to the user's first patch."""
    rows = wait_until(
        lambda: [p for p in writes(standin, since) if p["user"] == user],
        timeout_s,
        f"{user} to write",
    )
    return rows[0]["at_unix"] - since


def values(standin, keys):
    return {
        (node, key): standin.annotations(node)[key].split(",")[0] for node in NODES for key in keys
    }


def test_killed_leader(controller, standin, exporters, capsys):
    # A peak of 20 minutes ago, to each node another, above all that the exporters show.
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 1200))
    for i, node in enumerate(NODES):
        annotations = {key: f"0.8{i}000,{stamp}" for key in PEAKS}
        standin.patch(
            f"/api/v1/nodes/{node}",
            {"metadata": {"annotations": annotations}},
            Authorization="Bearer token-beta",
        )
    written = values(standin, PEAKS)
    exporters.set("all", load={"cpu": 0.2})
    begun_unix = time.time()
    alpha = controller("alpha")
    wait_until(
        lambda: {p["name"] for p in writes(standin, begun_unix)} == set(NODES),
        what="alpha's patches",
    )
    beta = controller("beta")
    beta.wait_log(r"another replica leads")
    wait_until(lambda: "4 of 4 nodes are measured" in ready(beta), what="beta's scrapes")
    peaks = values(standin, PEAKS)
    assert peaks == written

    killed_unix = time.time()
    alpha.kill()
    took_s = next_write(standin, "beta", killed_unix)
    with capsys.disabled():
        print(f"\nleader killed: the other wrote {took_s:.1f} s later (lease of {LEASE_S} s)")
    wait_until(
        lambda: {p["name"] for p in writes(standin) if p["user"] == "beta"} == set(NODES),
        what="beta to have written every node",
    )
    assert values(standin, PEAKS) == peaks
    assert writers(standin) == ["beta", "alpha", "beta"]  # the first is the test's own
    # Neither a gap nor a burst: what was due is written, once.
    first = [p for p in writes(standin, killed_unix) if p["at_unix"] < killed_unix + took_s + 0.5]
    assert len(first) == len({p["name"] for p in first})


def test_orderly_handover_and_back(pair, controller, standin):
    alpha, beta = pair
    assert holder(standin) == identity(alpha)
    assert leads(alpha) == 1 and leads(beta) == 0
    wait_until(lambda: f"leader: {identity(alpha)}" in ready(alpha), what="a leader")
    wait_until(lambda: f"standby, leader is {identity(alpha)}" in ready(beta), what="a standby")
    assert "[-]" not in ready(beta)  # a standby is as ready as the leader
    lease = standin.admin(
        "objects", resource="leases", namespace="kube-system", name="plimsoll-controller"
    )
    assert lease["spec"]["leaseTransitions"] == 0
    assert re.fullmatch(r"\S+T\S+\.\d{6}Z", lease["spec"]["renewTime"])
    # Somebody's label is nobody else's to remove.
    standin.patch(
        f"{LEASES}/plimsoll-controller",
        {"metadata": {"labels": {"owner": "us"}}},
        Authorization="Bearer token-beta",
    )

    told_unix = time.time()
    assert alpha.stop() == 0
    # Given away, so nobody waits for it to run out: a retry period, its jitter, and a sync.
    assert next_write(standin, "beta", told_unix) < LEASE_S
    assert holder(standin) == identity(beta)
    lease = standin.admin(
        "objects", resource="leases", namespace="kube-system", name="plimsoll-controller"
    )
    assert lease["spec"]["leaseTransitions"] == 1
    assert lease["metadata"]["labels"] == {"owner": "us"}
    assert writers(standin) == ["alpha", "beta"]
    assert beta.stop() == 0
    assert holder(standin) == ""


TROUBLES = {
    # Its patches go through all the while: the lease alone is what it cannot renew.
    "renewals are refused": [{"action": "status", "status": 500, "resource": "leases"}],
    "renewals are not answered": [{"action": "hang", "resource": "leases"}],
    # Applied, but it never hears of it.
    "answers are lost": [
        {"action": "truncate", "bytes": 0, "resource": "leases", "verb": "update"}
    ],
    "cut off": [{"action": "hang"}],
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_leader_in_trouble(pair, standin, trouble):
    alpha, beta = pair
    for spec in TROUBLES[trouble]:
        standin.fault(user="alpha", count=-1, **spec)
    since = time.time()
    alpha.wait_log(r"this replica leads no more")
    next_write(standin, "beta", since)
    assert leads(alpha) == 0 and leads(beta) == 1
    standin.clear_faults()
    # Back again it stands by.
    alpha.wait_log(r"another replica leads")
    wait_until(lambda: f"standby, leader is {identity(beta)}" in ready(alpha), what="a standby")
    next_write(standin, "beta", time.time())
    assert writers(standin) == ["alpha", "beta"]


def test_frozen_leader_wakes_up(pair, standin):
    """No timer of its own has told it: it must look at the clock before it writes."""
    alpha, _ = pair
    alpha.popen.send_signal(signal.SIGSTOP)
    try:
        next_write(standin, "beta", time.time())
    finally:
        alpha.popen.send_signal(signal.SIGCONT)
    alpha.wait_log(r"another replica leads")
    next_write(standin, "beta", time.time())
    assert writers(standin) == ["alpha", "beta"]


def test_lease_that_may_not_be_had(controller, standin):
    rules = [
        {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["*"]},
    ]
    standin.admin("auth", {"tokens": [{"token": "token-alpha", "user": "alpha", "rules": rules}]})
    process = controller("alpha")
    process.wait_log(r"the lease cannot be had.*reason=forbidden")
    wait_until(lambda: "4 of 4 nodes are measured" in ready(process), what="scrapes")
    assert re.search(r"^\[-\] ?leader: lease kube-system/.*RBAC", ready(process), re.MULTILINE)
    assert writes(standin) == []


def test_without_election(controller, standin):
    process = controller("alpha", "--leader-elect=false")
    next_write(standin, "alpha", 0)
    assert leads(process) == 1
    assert standin.count(resource="leases") == 0


def test_once_takes_no_lease(pair, controller, standin):
    alpha, beta = pair
    beta.stop()
    before = holder(standin)
    once = controller("beta", "--once")
    assert once.wait_exit() == 0
    assert json.dumps(before) == json.dumps(holder(standin)) == json.dumps(identity(alpha))
