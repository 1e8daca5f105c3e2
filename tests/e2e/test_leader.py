"""Two controllers and the API server's own record of who wrote: one at a time, nothing forgotten.

Both run as the ServiceAccount of deploy/, each with a token of its own: the audit log names the
token (its JTI) of every request.
"""

import base64
import json
import os
import signal
import time
from datetime import datetime

import pytest
from cluster.plimsoll import NAMESPACE
from harness import fetch, wait_until

ACCOUNT = "plimsoll-controller"
PEAKS = ("cpu_usage_max_avg_1h", "cpu_usage_max_avg_1d")
POLICY = {
    "apiVersion": "scheduler.policy.crane.io/v1alpha1",
    "kind": "DynamicSchedulerPolicy",
    "metadata": {"name": "default"},
    "spec": {
        "syncPolicy": [
            {"name": name, "period": "1s"} for name in ("cpu_usage_avg_5s", "mem_usage_avg_5s")
        ]
        + [{"name": name, "period": "1s"} for name in PEAKS],
    },
}
# What the issue allows: a lease of 15 s and a retry period of 2 s, crane's defaults.
TAKE_OVER_S = 17
CREDENTIAL = "authentication.kubernetes.io/credential-id"


class Replica:
    """A controller with a token of its own."""

    def __init__(self, plane, plimsoll, exporters, name):
        self.plane = plane
        self.name = name
        token = plane.kubectl("create", "token", ACCOUNT, f"--namespace={NAMESPACE}")
        payload = token.split(".")[1]
        self.jti = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["jti"]
        path = plimsoll.path(f"{name}.token")
        with open(path, "w", encoding="ascii", opener=private) as file:
            file.write(token)
        kubeconfig = plane.write_kubeconfig(
            f"{name}-{os.path.basename(plimsoll.directory)}", token_file=path
        )
        policy = plimsoll.write_policy(POLICY)
        self.process = plimsoll.controller(
            policy, exporters, "--leader-elect", "--annotation-dead-band=0", kubeconfig=kubeconfig
        )

    def writes(self, since_unix=0.0):
        """Times at which the API server received its patches of nodes, oldest first."""
        found = []
        for event in self.plane.audit(ACCOUNT):
            who = event["user"].get("extra", {}).get(CREDENTIAL, [])
            if who != [f"JTI={self.jti}"] or event["verb"] != "patch":
                continue
            if event["objectRef"]["resource"] != "nodes":
                continue
            at = datetime.fromisoformat(event["requestReceivedTimestamp"].replace("Z", "+00:00"))
            if at.timestamp() >= since_unix:
                found.append(at.timestamp())
        return found

    def wait_write(self, since_unix, timeout_s=TAKE_OVER_S):
        """Seconds from `since_unix` to its next patch."""
        what = f"{self.name} to write"
        return wait_until(lambda: self.writes(since_unix), timeout_s, what)[0] - since_unix

    def wait_standby(self, nodes):
        self.process.wait_log(r"another replica leads")
        text = f"{nodes} of {nodes} nodes are measured"
        wait_until(
            lambda: text in fetch(f"{self.process.url}/readyz?verbose").text,
            what=f"{self.name} to have scraped every node",
        )


def private(path, flags):
    return os.open(path, flags, 0o600)


@pytest.fixture
def replica(plane, plimsoll, exporters):
    return lambda name: Replica(plane, plimsoll, exporters, name)


def peaks(fleet, names):
    found = fleet.all_annotations()
    return {(name, key): found[name][key].split(",")[0] for name in names for key in PEAKS}


def wait_annotated(fleet, names):
    def look():
        found = fleet.all_annotations()
        return all(key in found[name] for name in names for key in PEAKS)

    wait_until(look, what="annotations")


def turns(*replicas):
    """Who wrote in what order: one entry for each time that the writer changed."""
    rows = sorted((at, replica.name) for replica in replicas for at in replica.writes())
    return [name for i, (_, name) in enumerate(rows) if i == 0 or rows[i - 1][1] != name]


def test_killed_leader(fleet, exporters, replica, figure):
    """kill -9. A peak of 20 minutes ago is in the annotations and in no exporter any more."""
    names = fleet.add(4, load={"cpu": 0.1})
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 1200))
    for index, name in enumerate(names):
        fleet.annotate(name, {key: f"0.8{index}000,{stamp}" for key in PEAKS})
    high = peaks(fleet, names)
    alpha = replica("alpha")
    wait_until(lambda: len(alpha.writes()) >= 2 * len(names), what="alpha's patches")
    beta = replica("beta")
    beta.wait_standby(len(names))
    assert alpha.wait_write(time.time()) < 5

    killed_unix = time.time()
    alpha.process.kill()
    took_s = beta.wait_write(killed_unix)
    last = peaks(fleet, names)
    wait_until(lambda: len(beta.writes(killed_unix)) >= 2 * len(names), what="two of its rounds")
    assert peaks(fleet, names) == last == high
    assert turns(alpha, beta) == ["alpha", "beta"]
    # Both alive again: the one that comes back waits its turn.
    gamma = replica("gamma")
    gamma.wait_standby(len(names))
    beta.wait_write(time.time(), 5)
    assert gamma.writes() == []
    figure(
        f"leader killed: the other wrote {took_s:.1f} s later (limit {TAKE_OVER_S} s); all "
        f"{len(high)} maxima of 1 h and 1 d as the dead one left them, to the digit"
    )


def test_frozen_leader(fleet, exporters, replica, figure):
    """A leader that was stopped for longer than its lease wakes up as a standby, without a write."""
    names = fleet.add(4, load={"cpu": 0.3})
    alpha = replica("alpha")
    wait_annotated(fleet, names)
    beta = replica("beta")
    beta.wait_standby(len(names))
    alpha.process.popen.send_signal(signal.SIGSTOP)
    try:
        frozen_unix = time.time()
        took_s = beta.wait_write(frozen_unix)
    finally:
        alpha.process.popen.send_signal(signal.SIGCONT)
    woken_unix = time.time()
    alpha.process.wait_log(r"another replica leads")
    # Several rounds of both, with alpha awake.
    wait_until(lambda: len(beta.writes(woken_unix)) >= 4 * len(names), what="rounds of beta")
    assert turns(alpha, beta) == ["alpha", "beta"]

    told_unix = time.time()
    assert beta.process.stop() == 0
    handover_s = alpha.wait_write(told_unix)
    assert turns(alpha, beta) == ["alpha", "beta", "alpha"]
    last = beta.writes()[-1]
    gap_s = alpha.writes(last)[0] - last
    figure(
        f"leader frozen: the other wrote {took_s:.1f} s later, the first not once more after it "
        f"woke; orderly handover: {handover_s:.1f} s (between their writes {gap_s:.1f} s)"
    )
