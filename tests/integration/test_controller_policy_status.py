"""The status of the policy object: written by the leader alone, true whatever happened to the
object, and without harm to what others write there."""

import pytest

from harness import wait_until
from test_both_policy_object import FLAGS, PATH, Program, apply, condition, policy

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plimsoll-controller"
USERS = ("alpha", "beta")


@pytest.fixture
def cluster(start_standin):
    return start_standin("--nodes", 1)


@pytest.fixture
def guarded(start_standin):
    """One that knows its users."""
    tokens = (f"--token=token-{user}={user}" for user in USERS)
    return start_standin("--nodes", 1, *tokens)


@pytest.fixture
def controller(run, binary, guarded, tmp_path):
    """Start one as `user`, with lease times of a fifth of the defaults."""

    def start(user):
        kubeconfig = guarded.edit_kubeconfig(
            tmp_path / f"{user}.kubeconfig", user={"token": f"token-{user}"}
        )
        return run(
            [
                binary("plimsoll-controller"),
                f"--kubeconfig={kubeconfig}",
                "--bind-address=127.0.0.1",
                "--health-port=0",
                "--leader-elect-lease-duration=3s",
                "--leader-elect-renew-deadline=2s",
                "--leader-elect-retry-period=300ms",
            ],
            user,
        )

    return start


def writers(cluster):
    """Whose writing of the status was done, in order."""
    return [p["user"] for p in cluster.patches(name="default") if p["code"] == 200]


def test_who_lost_the_lease_writes_no_status(controller, guarded):
    """Its request waits for the server's Retry-After while another takes the lease."""
    alpha = controller("alpha")
    alpha.wait_log(r"started leading")
    beta = controller("beta")
    beta.wait_log(r"new leader elected")
    throttle = guarded.fault(
        "status",
        status=429,
        retry_after=3,
        user="alpha",
        verb="patch",
        resource="dynamicschedulerpolicies",
    )
    assert guarded.call("POST", PATH, policy(0.5), Authorization="Bearer token-beta").status == 201
    wait_until(lambda: guarded.faults()[throttle]["hits"] == 1, what="alpha to be throttled")
    guarded.patch(LEASE, {"spec": {"holderIdentity": "x"}}, Authorization="Bearer token-beta")
    alpha.wait_log(r"stopped leading")
    guarded.fault("status", status=500, user="alpha", resource="leases", count=-1)
    # Beta leads when the stolen lease has run out, which is later than alpha was told to come again.
    wait_until(lambda: writers(guarded), what="the status")
    assert writers(guarded) == ["beta"]


def test_conditions_of_others_stay(run, binary, cluster):
    """Another writes one after the controller has looked, and before its own arrives."""
    theirs = {
        "type": "Reviewed",
        "status": "True",
        "reason": "Fine",
        "message": "by a colleague",
        "lastTransitionTime": "2026-07-23T11:25:54Z",
    }
    Program(run, binary, "plimsoll-controller", cluster)
    late = cluster.fault(
        "delay",
        seconds=2,
        verb="patch",
        resource="dynamicschedulerpolicies",
        user_agent="plimsoll-controller",
    )
    apply(cluster, policy(0.5))
    wait_until(lambda: cluster.faults()[late]["hits"] == 1, what="the controller's status")
    answer = cluster.patch(f"{PATH}/default/status", {"status": {"conditions": [theirs]}})
    assert answer.status == 200, answer.text
    wait_until(lambda: condition(cluster)[0].get("status") == "True", what="the status")
    # Not even for a moment was it gone.
    for patch in cluster.patches(name="default"):
        if patch["code"] == 200 and patch["user_agent"].startswith("plimsoll-controller"):
            assert theirs in patch["body"]["status"]["conditions"]
    assert theirs in condition(cluster)[1]["conditions"]


@pytest.mark.parametrize("name", FLAGS)
def test_a_broken_object_that_is_deleted(run, binary, cluster, name):
    """It never was in force: with it goes the trouble, and nothing of it stays."""
    program = Program(run, binary, name, cluster)
    apply(cluster, policy(-1))
    wait_until(lambda: program.metric("plimsoll_policy_failed") == 1, what="the refusal")
    assert cluster.call("DELETE", f"{PATH}/default").status == 200
    wait_until(lambda: program.metric("plimsoll_policy_failed") == 0, what="the end of the trouble")
    assert program.metric("plimsoll_policy_generation") == 1
    assert "[+] policy: the built-in policy, 4 metrics, generation 1" in program.told()
    assert "its policy stays" not in program.process.stderr()
