"""Either half replaced by crane's: its annotations drive our extender, ours read as its plugin would."""

import json
import time

import pytest
import yaml
from cluster.plimsoll import TOP, ask
from cluster.workloads import per_node, pod_object
from harness import wait_until
from reference_policy import Policy, score10, timestamp_ms

POLICY_FILE = TOP / "policy" / "crane.yaml"
# Where crane's clock is when $TZ is not set.
CRANE_ZONE = "Asia/Shanghai"
CRANE_AHEAD_S = 8 * 3600


def crane_writes(fleet, name, values, age_s=10):
    """Annotations as crane's annotator leaves them: local time with a Z, a patch for each."""
    at = time.gmtime(time.time() + CRANE_AHEAD_S - age_s)
    for key, value in values.items():
        fleet.annotate(name, {key: f"{value},{time.strftime('%Y-%m-%dT%H:%M:%SZ', at)}"})


def crane_values(policy, ratio, hot=0):
    names = [entry["name"] for entry in policy["spec"]["syncPolicy"]]
    return {**{name: f"{ratio:.5f}" for name in names}, "node_hot_value": str(hot)}


def passing(extender, names):
    return set(ask(extender, "filter", pod_object("asked-0"), names)["NodeNames"])


def scores(extender, names):
    """{node: 0..10}; a node that is not in the reply has 0."""
    answer = ask(extender, "prioritize", pod_object("asked-0"), names)
    return dict.fromkeys(names, 0) | {row["Host"]: row["Score"] for row in answer}


@pytest.fixture
def policy():
    return yaml.safe_load(POLICY_FILE.read_text(encoding="utf-8"))


def test_crane_drives_our_extender(fleet, namespace, plimsoll, scheduler, policy, figure):
    """Crane's policy and kube-scheduler; no controller of ours runs."""
    names = fleet.add(6)
    hot, busy, stale = names[:2], names[2:4], names[4]
    calm = names[5]
    for name in hot:
        crane_writes(fleet, name, crane_values(policy, 0.9))
    for name in busy:
        crane_writes(fleet, name, crane_values(policy, 0.6))
    # Two hours old: in force only for somebody who takes crane's clock for UTC.
    crane_writes(fleet, stale, {"cpu_usage_avg_5m": "0.90000"}, age_s=7200)
    crane_writes(fleet, calm, crane_values(policy, 0.1))
    path = plimsoll.write_policy(POLICY_FILE)
    extender = plimsoll.extender(path, f"--annotation-timezone={CRANE_ZONE}")
    utc = plimsoll.extender(path)
    wait_until(lambda: passing(extender, names) == set(names) - set(hot), what="verdicts")
    assert passing(utc, names) == {*busy, calm}, "as UTC, what is stale seems fresh"
    # Nothing usable on the stale one: no free share is known, so none is counted.
    found = scores(extender, names)
    assert found == {**dict.fromkeys(hot, 1), **dict.fromkeys(busy, 4), stale: 0, calm: 9}, found

    scheduler(extenders=[plimsoll.scheduler_entry(extender)])
    namespace.create_pods("first", 1)
    assert set(namespace.wait_bound(1, app="first").values()) == {calm}
    namespace.create_pods("web", 8)
    places = namespace.wait_bound(8, app="web")
    # crane's hot value says 0; our own count knows better, once the watch has shown the bindings.
    given = 1 + list(places.values()).count(calm)
    own_hot_value = given // 5 + given // 2
    wait_until(
        lambda: scores(extender, names)[calm] == found[calm] - own_hot_value, what="our own count"
    )
    namespace.create_pods("more", 4)
    places |= namespace.wait_bound(4, app="more")
    assert not set(places.values()) & set(hot)
    assert per_node(places, names)[0] < 12

    # The next cycle of crane's annotator turns it round, one metric after the other.
    for name in hot:
        crane_writes(fleet, name, crane_values(policy, 0.1))
    crane_writes(fleet, calm, crane_values(policy, 0.9))
    wait_until(lambda: passing(extender, names) == set(names) - {calm}, what="the new verdicts")
    namespace.create_pods("after", 4)
    later = namespace.wait_bound(4, app="after")
    assert calm not in later.values()
    figure(
        f"annotations of crane ({CRANE_ZONE}): 12 pods on {per_node(places, names)}, none on the "
        f"{len(hot)} nodes above the limits"
    )


@pytest.mark.parametrize("zone", ["UTC", CRANE_ZONE])
def test_ours_score_as_crane_does(
    plane, fleet, namespace, plimsoll, exporters, scheduler, policy, figure, zone
):
    """What our controller wrote, by `explain`, by the extender and by the reference: one number."""
    loads = [(0.02, 0.1), (0.2, 0.3), (0.4, 0.7), (0.6, 0.5), (0.7, 0.2), (0.95, 0.95)]
    names = [fleet.add(1, load={"cpu": cpu, "mem": mem})[0] for cpu, mem in loads]
    # The hot value is written with the metrics: not every three minutes here.
    for entry in policy["spec"]["syncPolicy"]:
        entry["period"] = "5s"
    path = plimsoll.write_policy(policy)
    flag = f"--annotation-timezone={zone}"
    plimsoll.controller(path, exporters, flag)
    extender = plimsoll.extender(path, flag)
    scheduler(name="plain")
    wanted = {entry["name"] for entry in policy["spec"]["syncPolicy"]} | {"node_hot_value"}

    def annotated():
        return all(wanted <= set(fleet.annotations(name)) for name in names)

    wait_until(annotated, what="annotations on every node")
    # A hot value that is not 0 on some.
    for index, count in enumerate((0, 2, 5)):
        for pod in range(count):
            namespace.create_pod(
                f"hot-{index}-{pod}",
                scheduler="plain",
                nodeSelector={"kubernetes.io/hostname": names[index]},
            )
    namespace.wait_bound(7)

    def hot_values():
        found = [fleet.annotations(name)["node_hot_value"].split(",")[0] for name in names[:3]]
        # floor(n/5) + floor(n/2): of 0, 2 and 5 pods
        assert [float(text) for text in found] == [0, 1, 3], found
        return True

    wait_until(hot_values, what="hot values in the annotations")
    nodes_json = plane.kubectl("get", "nodes", "-o", "json")
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    explained = json.loads(plimsoll.explain(path, nodes_json, flag, f"--now={now}", "-o", "json"))
    assert [row["node"] for row in explained] == names

    rules = Policy(policy["spec"])
    ahead_ms = 0 if zone == "UTC" else CRANE_AHEAD_S * 1000
    now_ms = timestamp_ms(now) + ahead_ms
    annotations = {
        item["metadata"]["name"]: item["metadata"]["annotations"]
        for item in json.loads(nodes_json)["items"]
    }
    expected = {name: rules.score100(annotations[name], now_ms, {}) for name in names}
    for row in explained:
        name = row["node"]
        assert row["score100"] == expected[name], f"{row}: {annotations[name]}"
        assert row["rejectedBy"] == rules.rejected_by(annotations[name], now_ms), row
    # Every metric took part: the reference without annotations gives 0 everywhere.
    assert len(set(expected.values())) >= 4, expected
    assert scores(extender, names) == {name: score10(expected[name]) for name in names}
    figure(f"{zone}: score100 of explain and reference {[expected[name] for name in names]}")
