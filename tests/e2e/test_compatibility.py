"""The older minors of Kubernetes: API server and scheduler of each, and what a user would see first.

make nightly builds and runs them all (tools/build.py); otherwise there is the one of the other tests.
No kube-controller-manager is built for them.
"""

import pytest
from cluster.nodes import Fleet
from cluster.plimsoll import fast_policy, total
from cluster.workloads import placed, pod_object
from harness import wait_until
from tools import build

PODS = "/api/v1/namespaces/default/pods"
CPU = "cpu_usage_avg_5s"
CONTROLLER = "system:serviceaccount:kube-system:plimsoll-controller"


@pytest.fixture(
    params=[
        *(pytest.param(minor, marks=pytest.mark.nightly) for minor in build.OLDER),
        build.NEWEST,
    ]
)
def plane(request, start_plane):
    plane = start_plane(has_manager=False, module=build.kubernetes_of(request.param))
    version = plane.api.get("/version")
    assert f"{version['major']}.{version['minor']}" == request.param
    return plane


def test_smoke(plane, make_plimsoll, exporters, figure):
    """Annotations, the policy's status, the guard; and a pod lands where the extender wants it."""
    fleet = Fleet(plane, exporters)
    hot, cool = (fleet.add(1, load={"cpu": load, "mem": 0.1})[0] for load in (0.9, 0.2))
    plimsoll = make_plimsoll(plane)
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    plane.kubectl("apply", "-f", plimsoll.write_policy(fast_policy()))
    plimsoll.controller(None, exporters)
    extender = plimsoll.extender(None)
    fleet.wait_reading(CPU, [hot], lambda ratio: ratio > 0.85, "the hot node to show")
    fleet.wait_reading(CPU, [cool], lambda ratio: ratio < 0.3, "the cool node to show")
    plane.kubectl("wait", "--for=condition=InForce", "dsp/default", "--timeout=60s")
    plane.start_scheduler(extenders=[plimsoll.scheduler_entry(extender)])
    for i in range(3):
        plane.api.create(PODS, pod_object(f"web-{i}"))
    wait_until(lambda: len(placed(plane.api.items(PODS))) == 3, 60, "three pods to have a node")
    assert set(placed(plane.api.items(PODS)).values()) == {cool}
    # Two nodes, of which one passes: there is nothing to rank.
    assert total(extender, "plimsoll_extender_requests_total", verb="filter", code="200") >= 3

    # With more than the account has, as the guard is to hold whatever RBAC grants.
    grant = ["create", "clusterrolebinding", "too-much", "--clusterrole=cluster-admin"]
    plane.kubectl(*grant, f"--user={CONTROLLER}")
    cordon = ["patch", "node", cool, "--type=merge", '--patch={"spec":{"unschedulable":true}}']

    def guarded():
        done = plane.kubectl(*cordon, f"--as={CONTROLLER}", "--dry-run=server", check=False)
        return "ValidatingAdmissionPolicy 'plimsoll-controller-nodes'" in done.stderr

    wait_until(guarded, 60, "the guard to refuse what RBAC allows")
    version = plane.api.get("/version")["gitVersion"]
    figure(
        f"{version}: annotations, policy in force, guard; 3 pods on the cool node by the extender"
    )
