"""spec.idle in a whole cluster: what nodes offer, how much of it batch pods get, that it goes when a node
gets busy, and that nothing of it is left.

kwok plays the nodes, and says of each what its pods use by their annotations (cluster/kwok.yaml).
"""

import collections
import concurrent.futures
import time

import pytest
import yaml
from cluster.nodes import exporter_template
from cluster.pages import follow
from cluster.plimsoll import fast_policy, page, refused, wait_ready
from cluster.rights import Right
from cluster.workloads import Namespace, load_pod, placed, pod_object
from harness import NIGHTLY, wait_until
from pages import block
from policies import IDLE
from test_install_and_leave import nodes_as_they_are

pytestmark = pytest.mark.own_plane  # all of its nodes are looked at, and its policy is changed
AMOUNTS = ("capacity", "allocatable")
MEAN = "cpu_usage_avg_5s"
CONTROLLER = "plimsoll-controller"
PATCH_STATUS = Right(CONTROLLER, "patch", "/nodes/status")
# kwok computes the pages of so many nodes for a while.
NODES, INTERVAL = (200, "2s") if NIGHTLY else (40, "1s")
CORES, LINE = 8, 0.65
# What an offer is a multiple of, and what it rises by at once.
STEP_MILLI, RISE_MILLI = CORES * 1000 // 100, CORES * 1000 // 8
# What services use on one node after the other, as a share of its CPUs: in the middle of a step, so that
# what batch pods use by kwok (a thousandth of a CPU) makes no other offer.
SERVICES = (0.205, 0.305, 0.405)
BUSY = 0.95
POD_MILLI, WAITING = 500, 20
# Offers are a tenth of --patch-qps.
OFFERS_PER_S = 5
ONE_ROUND_S = NODES / OFFERS_PER_S
# The bounds. A whole offer is a row of patches: one for each rise, and the 0 before the first.
ROUNDS = 2 + int((LINE - min(SERVICES)) * CORES * 1000 / RISE_MILLI)
TOLD_S = 30  # that the right lacks
OFFERED_S = 30 + ROUNDS * ONE_ROUND_S * 1.2  # after it was given
GONE_S = 30  # a busy node's offer
OFF_S = 15 + ONE_ROUND_S * 1.2  # without spec.idle
FIRST_REFUSED, REFUSED_A_SECOND = 20, 0.5


def idle_policy():
    policy = fast_policy(hot_value=False)
    policy["spec"]["syncPolicy"].append({"name": "cpu_usage_max_avg_10s", "period": "2s"})
    policy["spec"]["idle"] = {"line": LINE, "peak": "10s"}
    return policy


def room_milli(used_ratio):
    """What a node offers in the end."""
    return int((LINE - used_ratio) * CORES * 1000 / STEP_MILLI) * STEP_MILLI


def milli(quantity):
    """As the API server writes it: 2720, or 4k."""
    return int(quantity.removesuffix("k")) * (1000 if quantity.endswith("k") else 1)


def offers(plane):
    """{node: its offer; None: it has none}; in capacity and allocatable it is the same."""
    found = {}
    for node in plane.api.items("/api/v1/nodes", resourceVersion="0"):
        name, status = node["metadata"]["name"], node["status"]
        capacity, allocatable = (status[field].get(IDLE) for field in AMOUNTS)
        assert capacity == allocatable, name
        found[name] = capacity and milli(capacity)
    return found


def amounts(plane):
    return {
        node["metadata"]["name"]: [node["status"][field] for field in AMOUNTS]
        for node in plane.api.items("/api/v1/nodes")
    }


def as_they_are(plane):
    """What is to be there again in the end."""
    found = nodes_as_they_are(plane)
    for node in found.values():
        # Of kube-controller-manager, which writes another one when there are more than 100 nodes.
        node["annotations"].pop("node.alpha.kubernetes.io/ttl", None)
    return found, amounts(plane)


def batch_pod():
    pod = pod_object("batch-0")
    pod["spec"]["containers"][0]["resources"] = {
        "requests": {IDLE: str(POD_MILLI), "memory": "64Mi"},
        "limits": {IDLE: str(POD_MILLI)},
    }
    return pod


def taken(pods):
    """{node: what pods have taken of its offer}"""
    counts = collections.Counter(placed(pods).values())
    return {node: count * POD_MILLI for node, count in counts.items()}


def waiting(pods):
    return [pod for pod in pods if not pod["spec"].get("nodeName")]


def run_services(namespace, nodes):
    """Services on every node; {node: the share of its CPUs that they use}"""
    used = {node: SERVICES[i % len(SERVICES)] for i, node in enumerate(nodes)}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        pods = [load_pod(node, round(ratio * CORES, 3), 1) for node, ratio in used.items()]
        list(pool.map(namespace.create, pods))
    wait_until(
        lambda: all(pod["status"]["phase"] == "Running" for pod in namespace.pods()),
        what="the services to run",
    )
    return used


def set_idle(plane, idle):
    patch = yaml.safe_dump({"spec": {"idle": idle}})
    plane.kubectl("patch", "dsp", "default", "--type=merge", f"--patch={patch}")


def ready_page(controller):
    return page(controller, "/readyz?verbose")


def timed(condition, limit_s, what):
    """How many seconds it took."""
    began = time.monotonic()
    wait_until(condition, limit_s, what, poll_s=0.2)
    return time.monotonic() - began


def without_right(plane, controller, fleet, figure):
    """It says what it may not, and annotates all the same; without spec.idle it is well."""

    def is_told():
        ready = ready_page(controller)
        assert PATCH_STATUS.refusal in ready.text, ready.text
        assert ready.status == 503
        return True

    told_s = timed(is_told, TOLD_S, "the missing right to be named")
    assert PATCH_STATUS.refusal.replace('"', '\\"') in controller.stderr()
    keys = {row["name"] for row in idle_policy()["spec"]["syncPolicy"]}

    def are_annotated():
        return all(keys <= set(notes) for notes in fleet.all_annotations().values())

    wait_until(are_annotated, 60, "annotations on every node")
    assert set(offers(plane).values()) == {None}
    set_idle(plane, None)
    wait_ready(controller)
    set_idle(plane, idle_policy()["spec"]["idle"])
    wait_until(is_told, TOLD_S, "the missing right to be named again")
    figure(f"the missing right is named after {told_s:.1f} s")


def with_right(plane, controller, used, figure):
    """Each node offers what is left below the line."""
    wanted = {node: room_milli(ratio) for node, ratio in used.items()}
    plane.kubectl("apply", "-k", "deploy/idle")
    took_s = timed(lambda: offers(plane) == wanted, OFFERED_S, "the whole offers")
    wait_ready(controller)
    assert PATCH_STATUS.refusal not in ready_page(controller).text
    figure(
        f"{NODES} nodes whose services use {sum(used.values()) / NODES:.1%} offer "
        f"{sum(wanted.values()) / 1000:.0f} of {NODES * CORES} CPUs {took_s:.0f} s after the right "
        f"was given"
    )


def place_batch(plane, namespace, figure):
    """Up to each offer, and no further."""
    offered = offers(plane)
    fit = sum(offer // POD_MILLI for offer in offered.values())
    namespace.create_deployment("batch", fit + WAITING, batch_pod())
    began = time.monotonic()
    namespace.wait_bound(fit, app="batch", timeout_s=180)
    took_s = time.monotonic() - began

    def rest_is_refused():
        said = f"Insufficient {IDLE}"
        rest = waiting(namespace.pods("batch"))
        assert len(rest) == WAITING
        for pod in rest:
            assert said in namespace.condition(pod["metadata"]["name"]).get("message", "")
        return True

    wait_until(rest_is_refused, 60, "all but what fits to wait")
    got = taken(namespace.pods("batch"))
    assert offers(plane) == offered
    for node, offer in offered.items():
        assert 0 <= offer - got.get(node, 0) < POD_MILLI, node
    figure(
        f"{fit} of {fit + WAITING} batch pods placed in {took_s:.0f} s: "
        f"{sum(got.values()) / sum(offered.values()):.1%} of the offers"
    )


def one_gets_busy(plane, fleet, services, namespace, used, figure):
    """It offers nothing, and its pods stay; those that end come back elsewhere or wait."""
    busy, calm = list(used)[:2]
    before = {pod["metadata"]["uid"] for pod in namespace.pods("batch")}
    here = [name for name, node in placed(namespace.pods("batch")).items() if node == busy]
    load = round((BUSY - used[busy]) * CORES, 3)
    services.create(load_pod(busy, load, 1))
    gone_s = timed(lambda: offers(plane)[busy] is None, GONE_S, "the busy node's offer to go")
    assert before == {pod["metadata"]["uid"] for pod in namespace.pods("batch")}
    # It went when there was less than is taken; wait until nothing is left.
    fleet.wait_reading(
        MEAN, [busy], lambda ratio: ratio > LINE, "the busy node to be above the line"
    )

    # More than have taken its offer end there, and one elsewhere, whose room shows that pods are placed.
    there = next(name for name, node in placed(namespace.pods("batch")).items() if node == calm)
    for name in [*here, there]:
        namespace.delete_pod(name)
    total = sum(room_milli(ratio) // POD_MILLI for ratio in used.values())

    def has_come_to_rest():
        pods = namespace.pods("batch")
        assert len(pods) == total + WAITING
        assert len(waiting(pods)) == WAITING + len(here)
        assert offers(plane)[busy] == 0
        assert taken(pods)[calm] == room_milli(used[calm]) // POD_MILLI * POD_MILLI
        return True

    wait_until(has_come_to_rest, 60, "the free place to be taken")
    pods = namespace.pods("batch")
    assert busy not in taken(pods)
    ended = before - {pod["metadata"]["uid"] for pod in pods}
    assert len(ended) == len(here) + 1, "only what the test deleted has gone"
    figure(
        f"a node gets busy: its offer is gone after {gone_s:.1f} s; {len(here)} pods that end there "
        f"are not placed again"
    )


@pytest.mark.timeout(1200 if NIGHTLY else 420)
def test_idle(plane, fleet, namespace, plimsoll, scheduler, figure):
    nodes = fleet.add(NODES)
    before = as_they_are(plane)
    plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(idle_policy()))
    batch = Namespace(plane, f"{namespace.name}-batch")
    used = run_services(namespace, nodes)
    pages = f"--target-url-template={exporter_template(plane)}"
    controller = plimsoll.controller(None, None, pages, interval=INTERVAL)
    audited = len(plane.audit(CONTROLLER))
    began = time.monotonic()
    without_right(plane, controller, fleet, figure)
    most = FIRST_REFUSED + REFUSED_A_SECOND * (time.monotonic() - began)
    assert 0 < len(refused(plane, CONTROLLER, audited)) < most

    with_right(plane, controller, used, figure)
    scheduler("default-scheduler")
    place_batch(plane, batch, figure)
    one_gets_busy(plane, fleet, namespace, batch, used, figure)

    stayed = placed(batch.pods())
    set_idle(plane, None)
    off_s = timed(lambda: set(offers(plane).values()) == {None}, OFF_S, "no node to offer any")
    set_idle(plane, idle_policy()["spec"]["idle"])
    on_s = timed(lambda: None not in offers(plane).values(), OFFERED_S, "each node to offer again")
    assert stayed.items() <= placed(batch.pods()).items(), "what runs goes on"
    figure(f"without spec.idle no node has the resource after {off_s:.1f} s, with it {on_s:.1f} s")

    assert controller.stop() == 0
    audited = len(plane.audit(CONTROLLER))
    began = time.monotonic()
    cleanup = block("docs/kubectl/cleanup.md", "cleanup").splitlines()[1]
    follow(plane, cleanup, kubeconfig=plimsoll.kubeconfig(CONTROLLER))
    figure(f"cleanup of {NODES} nodes took {time.monotonic() - began:.1f} s")
    assert as_they_are(plane) == before
    assert not refused(plane, CONTROLLER, audited)
    assert stayed.items() <= placed(batch.pods()).items()
    batch.remove()
