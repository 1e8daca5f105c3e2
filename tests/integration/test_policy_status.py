"""The status of the policy object: written by the leader alone, true whatever happened to the
object, and without harm to what others write there."""

import pytest

from harness import wait_until
from test_policy_object import PATH, RESOURCE, policy

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plimsoll-controller"
USERS = ("alpha", "beta")


@pytest.fixture
def cluster(start_standin):
    tokens = (f"--token=token-{user}={user}" for user in USERS)
    return start_standin("--nodes", 1, "--custom-resource", RESOURCE, *tokens)


@pytest.fixture
def controller(run, binary, cluster, tmp_path):
    """Start one as `user`, with lease times of a fifth of the defaults."""

    def start(user):
        kubeconfig = cluster.edit_kubeconfig(
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


def test_who_lost_the_lease_writes_no_status(controller, cluster):
    """Its request waits for the server's Retry-After while another takes the lease."""
    alpha = controller("alpha")
    alpha.wait_log(r"this replica leads")
    beta = controller("beta")
    beta.wait_log(r"another replica leads")
    throttle = cluster.fault(
        "status",
        status=429,
        retry_after=3,
        user="alpha",
        verb="patch",
        resource="dynamicschedulerpolicies",
    )
    assert cluster.call("POST", PATH, policy(0.5), Authorization="Bearer token-beta").status == 201
    wait_until(lambda: cluster.faults()[throttle]["hits"] == 1, what="alpha to be throttled")
    cluster.patch(LEASE, {"spec": {"holderIdentity": "x"}}, Authorization="Bearer token-beta")
    alpha.wait_log(r"this replica leads no more")
    cluster.fault("status", status=500, user="alpha", resource="leases", count=-1)
    # Beta leads when the stolen lease has run out, which is later than alpha was told to come again.
    wait_until(lambda: writers(cluster), what="the status")
    assert writers(cluster) == ["beta"]
