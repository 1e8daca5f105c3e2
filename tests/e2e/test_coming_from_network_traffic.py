"""deploy/coming-from/network-traffic-plugin.md, followed by its text.

The plugin itself needs a scheduler that is built with it; what is held against ours is its formula.
"""

from collections import Counter

import yaml
from cluster import extender_pod
from cluster.nodes import Fleet
from cluster.pages import follow
from cluster.plimsoll import Plimsoll, as_flags, metrics, pod_environment, refused
from cluster.workloads import Namespace
from harness import fetch, wait_until
from pages import block

PAGE = "deploy/coming-from/network-traffic-plugin.md"
RECEIVED = [0.05, 0.1, 0.2, 0.4]  # of 10 Gbit/s
METRIC = "net_rx_usage_avg_3m"


def plugin_score(loads, load):
    """By which its copies score: 100 less the share of the busiest candidate."""
    return 100 - round(load * 1000) * 100 // round(max(loads) * 1000)


def scheduler_lines():
    """The lines that the page adds to the scheduler's configuration."""
    diff = block(PAGE, "extenders").splitlines()
    added = [line[1:] for line in diff if line[0] == "+"]
    return yaml.safe_load("\n".join(added))["extenders"]


def test_the_page_as_it_stands(unscheduled, exporters, log_dir, run, binary, figure):
    fleet = Fleet(unscheduled, exporters)
    names = [fleet.add(1, load={"net_rx": load, "net_tx": 0.01})[0] for load in RECEIVED]
    # Their devices say no speed, as those of virtual machines.
    exporters.set([fleet.addresses[name] for name in names], link_bytes_per_s=-125000)

    before = unscheduled.start_scheduler()  # the one that is built with the plugin
    follow(unscheduled, block(PAGE, "installing"))
    follow(unscheduled, block(PAGE, "devices"))
    flags = as_flags(pod_environment(unscheduled, "plimsoll-controller"))
    assert "--network-speed=10G" in flags and "--network-device-pattern=eth*,ens192" in flags

    plimsoll = Plimsoll(unscheduled, log_dir, run, binary)
    plimsoll.controller(None, exporters, *flags, "--leader-elect-resource-namespace=kube-system")
    extender = plimsoll.extender(None, "--bind-address=0.0.0.0")
    wait_until(lambda: all(METRIC in fleet.annotations(name) for name in names), 60, "annotations")
    with extender_pod.published(unscheduled, fleet, extender_pod.ports_of(extender)):
        said = follow(unscheduled, block(PAGE, "looking"))
    assert all(f"{name}: passes" in said for name in names), said

    answer = fetch(f"{extender.url}/explain", "POST", {}).json()
    ours = {row["node"]: row["score100"] for row in answer["nodes"]}
    theirs = {name: plugin_score(RECEIVED, load) for name, load in zip(names, RECEIVED)}
    off = {name: abs(ours[name] - theirs[name]) for name in names}
    assert max(off.values()) <= 5, (ours, theirs)

    # The scheduler's configuration with the page's lines; only the address is this machine's.
    (entry,) = scheduler_lines()
    entry["urlPrefix"] = f"{extender.url}/v1"
    before.kill()
    unscheduled.start_scheduler(extenders=[entry])
    space = Namespace(unscheduled, "traffic")
    space.create_pods("pod", 6)
    placed = Counter({name: 0 for name in names})
    placed.update(space.wait_bound(6).values())
    calls = metrics(extender)['plimsoll_extender_requests_total{verb="prioritize",code="200"}']
    assert calls == 6 and placed[names[0]] == max(placed.values()), placed
    assert placed[names[-1]] == 0, "the busiest node"
    for program in ("plimsoll-controller", "plimsoll-extender"):
        assert not refused(unscheduled, program)
    figure(f"the plugin's formula gives {theirs}, we {ours}; six pods went to {placed}")
