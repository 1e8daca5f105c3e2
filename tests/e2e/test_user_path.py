"""What a user does, with the commands of our pages and the manifests of deploy/."""

import collections
import os
import re
import shutil
import time

import pytest
import yaml
from addresses import address_of
from cluster.nodes import FIRST_ADDRESS
from cluster.pages import follow
from cluster.plimsoll import ACCOUNTS, TOP, refused
from harness import Exporters, wait_until
from pages import block

# The real exporter has to share a port with the synthetic ones, so those keep to their addresses.
REAL_ADDRESS = "127.2.0.1"
LOADS = {0: {"cpu": 0.10, "mem": 0.20}, 1: {"cpu": 0.40, "mem": 0.30}, 2: {"cpu": 0.60, "mem": 0.5}}
TOLERANCE = 0.02
VALUE = re.compile(r"^\d+(\.\d+)?(e-\d+)?,\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")


@pytest.fixture
def exporters(log_dir):
    addresses = [address_of(FIRST_ADDRESS, index) for index in LOADS]
    # Several seconds in one, so that counters of 10 ms are exact enough after two scrapes.
    peer = Exporters(log_dir, "--speed=10", *[word for a in addresses for word in ("--host", a)])
    yield peer
    peer.stop()


def start_node_exporter(run, port):
    program = shutil.which("prometheus-node-exporter")
    assert program, "apt-get install prometheus-node-exporter"
    # It does not handle SIGTERM: dying of it is its ordinary end.
    argv = [program, f"--web.listen-address={REAL_ADDRESS}:{port}"]
    run(argv, "node-exporter", clean_exit=False).wait_log("Listening on")


def test_user_path(plane, plimsoll, run, exporters, fleet, namespace, scheduler, figure):
    policy_file = TOP / "policy" / "policy.yaml"
    wanted = {row["name"] for row in yaml.safe_load(policy_file.read_text())["spec"]["syncPolicy"]}
    start_node_exporter(run, exporters.port)
    names = [fleet.add(1, load=load)[0] for load in LOADS.values()]
    names += fleet.add(1, name="real", address=REAL_ADDRESS)
    asked_before = {account: len(plane.audit(account)) for account in ACCOUNTS}

    policy = plimsoll.write_policy(policy_file)
    started = time.monotonic()
    plimsoll.controller(policy, exporters)
    extender = plimsoll.extender(policy)

    def annotated():
        """As `kubectl get node -o yaml` shows it."""
        found = {}
        for node in yaml.safe_load(plane.kubectl("get", "nodes", "-o", "yaml"))["items"]:
            annotations = node["metadata"]["annotations"]
            missing = wanted - set(annotations)
            assert not missing, f"{node['metadata']['name']} lacks {sorted(missing)}"
            found[node["metadata"]["name"]] = annotations
        return found

    found = wait_until(annotated, what="annotations on every node", poll_s=0.2)
    figure(f"{len(names)} nodes annotated {time.monotonic() - started:.1f} s after the start")
    assert set(found) == set(names)
    for name in names:
        for key in wanted:
            assert VALUE.match(found[name][key]), f"{name}: {key}={found[name][key]}"
    for index, load in LOADS.items():
        for resource in ("cpu", "mem"):
            text = found[names[index]][f"{resource}_usage_avg_5m"]
            assert abs(float(text.split(",")[0]) - load[resource]) < TOLERANCE, text

    # A node whose load is unknown to the test must not win or lose this by chance.
    plane.kubectl("cordon", names[-1])
    scheduler(extenders=[plimsoll.scheduler_entry(extender)])
    plane.kubectl(
        f"--namespace={namespace.name}", "create", "deployment", "web", "--image=nginx",
        "--replicas=1",
    )  # fmt: skip
    places = namespace.wait_bound(1)
    assert set(places.values()) == {names[0]}, "the node with the least load"
    wait_until(lambda: namespace.events("Scheduled"), what="a Scheduled event")
    (event,) = namespace.events("Scheduled")
    assert event["message"].endswith(f"to {names[0]}")

    explained = follow(plane, block("docs/troubleshooting.md", "explain"), os.path.dirname(policy))
    assert all(f"{name}: passes" in explained for name in names[:3]), explained

    for account in ACCOUNTS:
        assert not refused(plane, account, after=asked_before[account])
        asked = plane.audit(account)[asked_before[account] :]
        bad = [
            e
            for e in asked
            if e.get("responseStatus", {}).get("code", 200) >= 400
            # The first of all leaders looks for a Lease that is not there yet.
            and (e["verb"], e["objectRef"]["resource"]) != ("get", "leases")
        ]
        assert not bad, bad
        verbs = collections.Counter(f"{e['verb']} {e['objectRef']['resource']}" for e in asked)
        figure(f"{account} asked for " + ", ".join(f"{n} {v}" for v, n in sorted(verbs.items())))
