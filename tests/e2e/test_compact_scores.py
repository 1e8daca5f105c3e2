"""Scores less the smallest, without the zeros: the same placement by a real kube-scheduler."""

import random
import re

import pytest
from cluster.plimsoll import fast_policy, total
from harness import wait_until
from policies import ago

CPU, MEM = "cpu_usage_avg_5s", "mem_usage_avg_5s"
# Of one score each, from 9 down to 3; the last two are alike, so that something is left out.
USAGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.7)


def replies_bytes(extender):
    """{verb: sizes of the replies}"""
    found = {}
    for verb, size in re.findall(r"msg=request verb=(\w+) .*\breply_bytes=(\d+)", extender.text()):
        found.setdefault(verb, []).append(int(size))
    return found


@pytest.mark.parametrize("seed", range(2))
def test_pods_go_where_they_would_go(fleet, namespace, plimsoll, scheduler, figure, seed):
    """Pods that fill a node each show the scheduler's ranking, once with every score, once compact."""
    usages = list(USAGES)
    random.Random(seed).shuffle(usages)
    policy = fast_policy(hot_value=False, limit=1, period="3h")
    path = plimsoll.write_policy(policy)
    rankings, sizes = {}, {}
    for is_compact in (False, True):
        flag = f"--compact-scores={str(is_compact).lower()}"
        extender = plimsoll.extender(path, flag, "--log-level=debug")
        name = f"{namespace.name}-{int(is_compact)}"
        scheduler(name=name, extenders=[plimsoll.scheduler_entry(extender)])
        names = fleet.add(len(usages), cpu="1")
        by_usage = {}
        for node, usage in zip(names, usages):
            reading = f"{usage},{ago()}"
            fleet.annotate(node, {CPU: reading, MEM: reading})
            by_usage[node] = usage
        wait_until(
            lambda: total(extender, "plimsoll_extender_readings", state="usable") == 2 * len(names),
            what="the readings",
        )
        ranking = []
        for i in range(len(usages) - 2):
            pod = f"web-{int(is_compact)}{i}"
            namespace.create_pod(pod, scheduler=name, cpu="1")
            wait_until(
                lambda: namespace.pod(pod)["spec"].get("nodeName"),
                what=f"{pod}'s node",
                poll_s=0.05,
            )
            ranking.append(by_usage[namespace.pod(pod)["spec"]["nodeName"]])
        rankings[is_compact] = ranking
        sizes[is_compact] = replies_bytes(extender)["prioritize"]
        namespace.delete_pods()
        fleet.remove()
    assert rankings[False] == rankings[True] == sorted(USAGES)[:-2]
    figure(f"the same order of nodes; prioritize replies of {sizes[False]} and {sizes[True]} bytes")
