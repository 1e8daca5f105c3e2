"""With scoring: estimate top says what the real extender answers the real scheduler next, asked through
the real API server's proxy."""

import itertools
import json
import random
import subprocess
import time
from datetime import datetime, timezone

import pytest
from cluster.plimsoll import metrics, page
from cluster.workloads import pod_object
from harness import wait_until
from policies import policy_object

CPU, MEM = "cpu_usage_avg_5m", "mem_usage_avg_5m"
NODES, PODS, ROUNDS = 200, 500, 5
SLICE = PODS // ROUNDS
ADDRESS = "10.138.0.1"  # the API server's proxy reaches no pod on the loopback
POD = "/api/v1/namespaces/kube-system/pods"


def policy(limits, weights):
    metrics_of = dict.fromkeys((CPU, MEM), "15m")
    extender = {"scoring": "estimate", "shortlist": 0}
    return policy_object(metrics_of, limits, weights, name="default", extender=extender)


IN_FORCE = policy({CPU: 0.7}, {CPU: 1, MEM: 0.6})


@pytest.fixture
def extender(plane, fleet, plimsoll):
    """It runs next to the cluster, and a pod of its name is where the API server finds it."""
    subprocess.run(["ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"], check=True)
    plane.kubectl("apply", "-f", plimsoll.write_policy(IN_FORCE))
    process = plimsoll.extender(None, "--bind-address=0.0.0.0")
    # Above the limit, so that it is nobody's candidate.
    full = {CPU: f"0.95,{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"}
    (node,) = fleet.add(1, name="away", kwok=False, annotations=full)
    plane.kubectl("taint", "node", node, "away=:NoSchedule")
    pod = pod_object("estimate-extender-0", nodeName=node)
    pod["metadata"]["labels"] = {
        "app.kubernetes.io/name": "plimsoll-extender",
        "app.kubernetes.io/part-of": "plimsoll",
    }
    port = int(process.url.rpartition(":")[2])
    pod["spec"]["containers"][0]["ports"] = [{"containerPort": port}]
    plane.api.create(POD, pod)
    status = {"phase": "Running", "podIP": ADDRESS, "podIPs": [{"ip": ADDRESS}]}
    plane.api.patch(f"{POD}/estimate-extender-0/status", {"status": status})
    yield process
    plane.api.delete(f"{POD}/estimate-extender-0")
    plane.kubectl("delete", "dsp", "--all")
    subprocess.run(["ip", "address", "del", f"{ADDRESS}/32", "dev", "lo"], check=True)


def read_loads(fleet, names, generator, placed):
    """Readings as a controller writes them: a base that differs, and what the pods there use."""
    stamp = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    for number, name in enumerate(names):
        cpu = 0.75 * (number / len(names)) ** 0.5 + 0.01 * placed.get(name, 0)
        cpu += generator.uniform(0, 0.12)
        readings = {CPU: f"{cpu:.5f},{stamp}", MEM: f"{cpu / 2:.5f},{stamp}"}
        if number % 40 == 39:
            readings[MEM] = None  # of some nodes not all is known
        fleet.annotate(name, readings)


def known(extender):
    """What the extender knows now, except for when it was asked: a page is kept for a second."""
    time.sleep(1.1)
    told = json.loads(page(extender, "/estimate").text)
    return told["cluster"], told["nodes"]


def test_scores_are_the_next_answers(fleet, extender, verb, namespace, scheduler, plimsoll, figure):
    generator = random.Random(29)
    names = fleet.add(NODES)
    entry = plimsoll.scheduler_entry(extender)
    scheduler(extenders=[entry], percentageOfNodesToScore=100)
    read_loads(fleet, names, generator, {})
    differences = decided = 0
    for number in range(ROUNDS):
        deployment = pod_object(f"web{number}-0", cpu=f"{100 + 150 * number}m", memory="128Mi")
        namespace.create_deployment(f"web{number}", SLICE, deployment)
        places = namespace.wait_bound(SLICE * (number + 1), timeout_s=120)
        on_nodes = {name: list(places.values()).count(name) for name in names}
        wait_until(
            lambda: metrics(extender)["plimsoll_extender_reservations"] == 0, what="no reservation"
        )
        read_loads(fleet, names, generator, on_nodes)

    wait_until(
        lambda: metrics(extender)["plimsoll_extender_reservations"] == 0, what="no reservation"
    )
    tried = itertools.count()

    def top_and_answer():
        cluster, nodes = known(extender)
        top = json.loads(verb("top", "-o", "json"))
        assert nodes == known(extender)[1]
        name = f"next-{next(tried)}"
        namespace.create(pod_object(name, cpu="0", memory="0"))
        wait_until(lambda: namespace.pod(name)["spec"].get("nodeName"), what=f"{name} to be bound")
        assert cluster == known(extender)[0]
        return top, page(extender, f"/decisions?pod={namespace.name}/{name}").text

    top, answer = wait_until(top_and_answer, 120, "an answer before the factors move")
    shown = {row["node"]: row["score"] for row in top["nodes"]}
    # Of those that share the least score, the first candidates have it: the scheduler's own order.
    least = min(score for score in shown.values() if score)
    for row in json.loads(answer)["prioritize"]["bestNodes"]:
        decided += 1
        wanted = shown[row["node"]] or least
        differences += row["score"] != wanted
    assert decided == 16 and not differences

    workloads = json.loads(verb("workloads", "-n", namespace.name, "-o", "json"))["workloads"]
    assert [row["pods"] for row in workloads] == [SLICE] * ROUNDS
    figure(
        f"{NODES} nodes, {PODS} pods: {decided} scores of top and of the scheduler's next answer"
    )
