"""Two controllers and one Lease: one of them writes, whatever happens to it.

Each has a token, and so a user, of its own, by which the stand-in distinguishes their patches.
"""

import itertools
import re
import signal
import time

import pytest

from controller_kit import LEASE, LEASE_S, lease_object, policy
from harness import wait_until
from leaping_clock import LeapingClock
from policies import ago

PEAKS = ("cpu_usage_max_avg_1h", "cpu_usage_max_avg_1d")
RULES = policy({name: "1s" for name in ("cpu_usage_avg_5m", *PEAKS)})
NODES = [f"node-{i:04}" for i in range(4)]
USERS = ("alpha", "beta")
# The next leader looks and writes, once the Lease is free.
TAKEN_OVER_S = 5
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


@pytest.fixture(scope="module")
def exporters(module_start_exporters):
    """Of a load that is below every peak that stands on a node."""
    started = module_start_exporters()
    started.set("all", load={"cpu": 0.2})
    return started


@pytest.fixture
def standin(start_standin):
    return start_standin("--nodes", len(NODES), *(f"--token=token-{user}={user}" for user in USERS))


@pytest.fixture
def kubeconfig(standin, tmp_path):
    """The path of a user's."""
    return lambda user: standin.edit_kubeconfig(
        tmp_path / f"{user}.kubeconfig", user={"token": f"token-{user}"}
    )


@pytest.fixture
def controller(start_controller, kubeconfig, exporters):
    """Start one as `user`."""

    def start(user, *flags, **more):
        return start_controller(
            kubeconfig(user),
            exporters,
            *LEASE,
            *flags,
            content=RULES,
            **more,
        )

    return start


@pytest.fixture
def start_pair(controller, standin):
    """Starts alpha, which leads and has written every node, and beta, which stands by."""

    def start(*flags, **more):
        alpha = controller("alpha", *flags, **more)
        wait_until(
            lambda: {p["name"] for p in writes(standin)} == set(NODES), what="alpha's patches"
        )
        beta = controller("beta", *flags)
        beta.process.wait_log(r"new leader elected.*leader=")
        wait_until(lambda: "4 of 4 nodes have recent samples" in told(beta), what="beta's windows")
        return alpha, beta

    return start


@pytest.fixture
def pair(start_pair):
    return start_pair()


def writes(standin, since=0):
    """The patches that were applied, in order."""
    return [p for p in standin.patches(since=since) if p["code"] == 200]


def writers(standin):
    """Who wrote, one entry for each time that the writer changed."""
    return [user for user, _ in itertools.groupby(p["user"] for p in writes(standin))]


def holder(standin):
    return lease_object(standin)["spec"]["holderIdentity"]


def identity(replica):
    return replica.process.wait_log(r"started leading\".* identity=(\S+)").group(1)


def told(replica):
    """What /readyz?verbose says."""
    return replica.ready()[1]


def leads(replica):
    return replica.metric("plimsoll_leader")


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


def test_killed_leader(controller, standin):
    # A peak of 20 minutes ago, to each node another, above all that the exporters show.
    for i, node in enumerate(NODES):
        annotations = {key: f"0.8{i}000,{ago(1200)}" for key in PEAKS}
        standin.patch(
            f"/api/v1/nodes/{node}",
            {"metadata": {"annotations": annotations}},
            Authorization="Bearer token-beta",
        )
    written = values(standin, PEAKS)
    begun_unix = time.time()
    alpha = controller("alpha")
    wait_until(
        lambda: {p["name"] for p in writes(standin, begun_unix)} == set(NODES),
        what="alpha's patches",
    )
    beta = controller("beta")
    beta.process.wait_log(r"new leader elected")
    wait_until(lambda: "4 of 4 nodes have recent samples" in told(beta), what="beta's scrapes")
    peaks = values(standin, PEAKS)
    assert peaks == written

    killed_unix = time.time()
    alpha.process.kill()
    took_s = next_write(standin, "beta", killed_unix)
    print(f"leader killed: the other wrote {took_s:.1f} s later (lease of {LEASE_S} s)")
    assert took_s < LEASE_S + TAKEN_OVER_S
    wait_until(
        lambda: {p["name"] for p in writes(standin) if p["user"] == "beta"} == set(NODES),
        what="beta to have written every node",
    )
    assert values(standin, PEAKS) == peaks
    assert writers(standin) == ["beta", "alpha", "beta"]  # the first is the test's own
    # Neither a gap nor a burst: what was due is written, once.
    first = [p for p in writes(standin, killed_unix) if p["at_unix"] < killed_unix + took_s + 0.5]
    assert len(first) == len({p["name"] for p in first})


def test_orderly_handover_and_back(start_pair, standin):
    # Longer than anything here waits: who waited for it to run out would wait without success.
    lease_s = 90
    alpha, beta = start_pair(
        f"--leader-elect-lease-duration={lease_s}s", "--leader-elect-renew-deadline=60s"
    )
    assert holder(standin) == identity(alpha)
    assert leads(alpha) == 1 and leads(beta) == 0
    wait_until(lambda: f"leader: {identity(alpha)}, this replica" in told(alpha), what="a leader")
    wait_until(
        lambda: f"leader: {identity(alpha)}; this replica stands by" in told(beta), what="a standby"
    )
    assert beta.ready()[0]  # a standby is as ready as the leader
    assert lease_object(standin)["spec"]["leaseTransitions"] == 0
    assert re.fullmatch(r"\S+T\S+\.\d{6}Z", lease_object(standin)["spec"]["renewTime"])
    # Somebody's label is nobody else's to remove.
    standin.patch(
        f"{LEASES}/plimsoll-controller",
        {"metadata": {"labels": {"owner": "us"}}},
        Authorization="Bearer token-alpha",
    )

    told_unix = time.time()
    assert alpha.process.stop() == 0
    took_s = next_write(standin, "beta", told_unix)
    print(f"leader told to end: the other wrote {took_s:.1f} s later (lease of {lease_s} s)")
    assert took_s < TAKEN_OVER_S
    assert holder(standin) == identity(beta)
    assert lease_object(standin)["spec"]["leaseTransitions"] == 1
    assert lease_object(standin)["metadata"]["labels"] == {"owner": "us"}
    assert writers(standin) == ["alpha", "beta"]
    assert beta.process.stop() == 0
    assert holder(standin) == ""


TROUBLES = {
    # Its patches go through all the while: only the lease cannot be renewed.
    "renewals are refused": {"action": "status", "status": 500, "resource": "leases"},
    "renewals are not answered": {"action": "hang", "resource": "leases"},
    # Applied, but it never hears of it.
    "answers are lost": {"action": "truncate", "bytes": 0, "resource": "leases", "verb": "update"},
    "cut off": {"action": "hang"},
}
EVERY_DAY = ("answers are lost",)


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(name, marks=() if name in EVERY_DAY else pytest.mark.nightly)
        for name in TROUBLES
    ],
)
def test_leader_in_trouble(pair, standin, trouble):
    alpha, beta = pair
    standin.fault(user="alpha", count=-1, **TROUBLES[trouble])
    since = time.time()
    alpha.process.wait_log(r"stopped leading")
    next_write(standin, "beta", since)
    assert leads(alpha) == 0 and leads(beta) == 1
    standin.clear_faults()
    # Back again it stands by.
    alpha.process.wait_log(r"new leader elected")
    wait_until(
        lambda: f"leader: {identity(beta)}; this replica stands by" in told(alpha), what="a standby"
    )
    next_write(standin, "beta", time.time())
    assert writers(standin) == ["alpha", "beta"]


@pytest.mark.parametrize("is_suspended", [False, True])
def test_frozen_leader_wakes_up(start_pair, standin, tmp_path, is_suspended):
    """Neither a timer of its own nor an answer has told it: it must look at the clock before it
    writes, at one that goes on while the machine is suspended."""
    clock = LeapingClock(tmp_path / "clock")
    alpha, _ = start_pair(build="release", env=clock.env) if is_suspended else start_pair()
    frozen_s = time.monotonic()
    alpha.process.popen.send_signal(signal.SIGSTOP)
    try:
        next_write(standin, "beta", time.time())
        standin.fault("hang", user="alpha", resource="leases", count=-1)
        if is_suspended:
            clock.suspend(time.monotonic() - frozen_s)
    finally:
        alpha.process.popen.send_signal(signal.SIGCONT)
    alpha.process.wait_log(r"stopped leading")
    standin.clear_faults()
    alpha.process.wait_log(r"new leader elected")
    next_write(standin, "beta", time.time())
    assert writers(standin) == ["alpha", "beta"]


def test_lease_that_may_not_be_had(controller, standin, exporters):
    rules = [
        {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["*"]},
    ]
    standin.admin("auth", {"tokens": [{"token": "token-alpha", "user": "alpha", "rules": rules}]})
    replica = controller("alpha")
    replica.process.wait_log(r"cannot acquire or renew lease.*reason=forbidden")
    wait_until(lambda: "4 of 4 nodes have recent samples" in told(replica), what="scrapes")
    assert re.search(r"^\[-\] ?leader: lease kube-system/.*RBAC", told(replica), re.MULTILINE)
    # A leader writes after each of the next ones.
    scraped = len(exporters.scrapes("127.1.0.1"))
    wait_until(lambda: len(exporters.scrapes("127.1.0.1")) >= scraped + 4, what="more scrapes")
    assert writes(standin) == []


def test_without_election(controller, standin):
    replica = controller("alpha", "--leader-elect=false")
    next_write(standin, "alpha", 0)
    assert leads(replica) == 1
    assert standin.count(resource="leases") == 0
