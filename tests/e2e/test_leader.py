"""Two controllers and the API server's own record of who wrote: one at a time, nothing forgotten.

Both run as the ServiceAccount of deploy/, each with a token of its own: the audit log names the
token (its JTI) of every request.
"""

import os
import time
from datetime import datetime

import pytest
from cluster.plimsoll import NAMESPACE
from cluster.tokens import claims
from harness import NIGHTLY, fetch, wait_until
from policies import policy_object

ACCOUNT = "plimsoll-controller"
PEAKS = ("cpu_usage_max_avg_1h", "cpu_usage_max_avg_1d")
METRICS = ("cpu_usage_avg_5s", "mem_usage_avg_5s", *PEAKS)
POLICY = policy_object(dict.fromkeys(METRICS, "1s"), name="default")
# crane's defaults in make nightly, else a third of them.
LEASE_S, RENEW_S, RETRY_S = (15, 10, 2) if NIGHTLY else (5, 3, 1)
CREDENTIAL = "authentication.kubernetes.io/credential-id"


class Replica:
    """A controller with a token of its own."""

    def __init__(self, plane, plimsoll, exporters, name):
        self.plane = plane
        self.name = name
        token = plane.kubectl("create", "token", ACCOUNT, f"--namespace={NAMESPACE}")
        self.jti = claims(token)["jti"]
        path = plimsoll.path(f"{name}.token")
        with open(path, "w", encoding="ascii", opener=private) as file:
            file.write(token)
        kubeconfig = plane.write_kubeconfig(
            f"{name}-{os.path.basename(plimsoll.directory)}", token_file=path
        )
        policy = plimsoll.write_policy(POLICY)
        self.process = plimsoll.controller(
            policy,
            exporters,
            "--leader-elect",
            f"--leader-elect-lease-duration={LEASE_S}s",
            f"--leader-elect-renew-deadline={RENEW_S}s",
            f"--leader-elect-retry-period={RETRY_S}s",
            kubeconfig=kubeconfig,
        )

    def asked(self, verb, resource, since_unix=0.0):
        """Times at which the API server received its requests of a kind, oldest first."""
        times = [
            unix(event["requestReceivedTimestamp"])
            for event in self.plane.audit(ACCOUNT)
            if event["user"].get("extra", {}).get(CREDENTIAL) == [f"JTI={self.jti}"]
            and (event["verb"], event["objectRef"]["resource"]) == (verb, resource)
        ]
        return [at_unix for at_unix in times if at_unix >= since_unix]

    def writes(self, since_unix=0.0):
        """Times of its patches of nodes."""
        return self.asked("patch", "nodes", since_unix)

    def renewed_unix(self):
        """When it last wrote the Lease."""
        return self.asked("update", "leases")[-1]

    def wait_write(self, since_unix):
        """The time of its next patch."""
        return wait_until(lambda: self.writes(since_unix), what=f"{self.name} to write")[0]

    def wait_standby(self, nodes):
        self.process.wait_log(r"new leader elected")
        text = f"{nodes} of {nodes} nodes have recent samples"
        wait_until(
            lambda: text in fetch(f"{self.process.url}/readyz?verbose").text,
            what=f"{self.name} to have scraped every node",
        )


def unix(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def private(path, flags):
    return os.open(path, flags, 0o600)


@pytest.fixture
def replica(plane, plimsoll, exporters):
    return lambda name: Replica(plane, plimsoll, exporters, name)


def peaks(fleet, names):
    found = fleet.all_annotations()
    return {(name, key): found[name][key].split(",")[0] for name in names for key in PEAKS}


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
    alpha.wait_write(time.time())

    killed_unix = time.time()
    alpha.process.kill()
    took_s = beta.wait_write(killed_unix) - alpha.renewed_unix()
    assert took_s > LEASE_S, "not before the lease had ended"
    last = peaks(fleet, names)
    wait_until(lambda: len(beta.writes(killed_unix)) >= 2 * len(names), what="two of its rounds")
    assert peaks(fleet, names) == last == high
    assert turns(alpha, beta) == ["alpha", "beta"]
    # Both alive again: the one that comes back waits its turn.
    gamma = replica("gamma")
    gamma.wait_standby(len(names))
    beta.wait_write(time.time())
    assert gamma.writes() == []
    figure(
        f"leader killed: the other wrote {took_s:.1f} s after its last renewal (lease {LEASE_S} s); all "
        f"{len(high)} maxima of 1 h and 1 d as the dead one left them, to the digit"
    )
