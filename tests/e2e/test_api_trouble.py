"""The API server goes away, forgets history, refuses a token: nothing of ours restarts or errs."""

import os
import threading
import time

import pytest
from cluster.plimsoll import ACCOUNTS, NAMESPACE, ask, fast_policy, refused, total
from cluster.workloads import Background, pod_object
from harness import wait_until

OUTAGE_S = float(os.environ.get("PLIMSOLL_E2E_OUTAGE_S", "20"))
PERIOD_S = 10
CPU = "cpu_usage_avg_5s"
HOT = {"cpu": 0.9, "mem": 0.3}
CALM = {"cpu": 0.2, "mem": 0.3}


@pytest.fixture
def plane(start_plane):
    """A control plane of this test's own, to be killed."""
    return start_plane()


class Asker:
    """Asks an extender to filter, again and again, and remembers what changed."""

    def __init__(self, extender, names):
        self.extender = extender
        self.names = names
        self.pod = pod_object("asked-0")
        self.answers = 0
        self.slowest_ms = 0.0
        self.passing = None

    def once(self, ended):
        began = time.monotonic()
        answer = ask(self.extender, "filter", self.pod, self.names)
        self.slowest_ms = max(self.slowest_ms, (time.monotonic() - began) * 1e3)
        assert not answer["Error"], answer
        self.passing = set(answer["NodeNames"])
        self.answers += 1
        ended.wait(0.05)


def wait_passing(asker, wanted, what, timeout_s=60):
    wait_until(lambda: asker.passing == set(wanted), timeout_s, what)


def test_api_server_killed(plane, fleet, namespace, plimsoll, exporters, scheduler, figure):
    hot, calm = fleet.add(2, load=HOT), fleet.add(3, load=CALM)
    policy = plimsoll.write_policy(fast_policy(period=f"{PERIOD_S}s"))
    controller = plimsoll.controller(policy, exporters)
    extender = plimsoll.extender(policy)
    scheduler(extenders=[plimsoll.scheduler_entry(extender)])
    asker = Asker(extender, hot + calm)
    with Background(asker.once):
        wait_passing(asker, calm, "the hot nodes to be rejected")
        with Background(Load(namespace).once):
            namespace.wait_bound(5)
            plane.stop_api_server()
        killed = time.monotonic()
        # What changes meanwhile can only be seen afterwards: the first calm node heats up, the
        # first hot one cools down.
        fleet.set_load(calm[:1], **HOT)
        fleet.set_load(hot[:1], **CALM)
        answers = asker.answers
        verdicts = set()
        while time.monotonic() - killed < OUTAGE_S:
            verdicts.add(frozenset(asker.passing))
            time.sleep(0.1)
        assert verdicts == {frozenset(calm)}, "the last verdict stands while nothing is new"
        during = asker.answers - answers
        assert during > OUTAGE_S, "the extender went on answering"
        revision = plane.compact()
        plane.start_api_server()
        back = time.monotonic()
        wait_passing(asker, calm[1:] + hot[:1], "verdicts from what happened during the outage")
        caught_up = time.monotonic() - back
    slowest_ms = asker.slowest_ms

    assert controller.is_running() and extender.is_running()
    # A relist, since the watch's resource version is compacted away.
    for process in (controller, extender):
        expired = total(process, "plimsoll_watch_restarts_total", reason="expired")
        figure(f"{process.name}: {expired:.0f} watches ended as expired")
    figure(
        f"API server away for {OUTAGE_S:.0f} s and etcd compacted at {revision}: {during} answers "
        f"meanwhile, the slowest {slowest_ms:.1f} ms; caught up {caught_up:.1f} s after it was back "
        f"(period {PERIOD_S} s)"
    )
    assert caught_up <= 2 * PERIOD_S
    audited = {account: len(plane.audit(account)) for account in ACCOUNTS}
    at_start = sum(len(refused(plane, account)) for account in ACCOUNTS)
    figure(f"{at_start} requests refused by the API server in its first moment")
    namespace.create_pods("after", 5)
    places = namespace.wait_bound(5, app="after")
    assert set(places.values()) <= set(calm[1:] + hot[:1])
    for account in ACCOUNTS:
        assert not refused(plane, account, after=audited[account])


class Load:
    """Pods that arrive while something happens; their requests may fail, as everybody's."""

    def __init__(self, namespace):
        self.namespace = namespace
        self.made = 0
        self.lock = threading.Lock()

    def once(self, ended):
        with self.lock:
            self.made += 1
            number = self.made
        try:
            self.namespace.create_pod(f"load-{number:04}")
        except OSError:
            pass
        ended.wait(0.1)


def test_token_replaced(plane, fleet, plimsoll, exporters, figure):
    """Tokens that the API server refuses, then new ones in the files: as after a long outage."""
    names = fleet.add(2, load=CALM)
    secrets = f"/api/v1/namespaces/{NAMESPACE}/secrets"
    plane.api.create(secrets, {"metadata": {"name": "bound"}})
    for account in ACCOUNTS:
        plimsoll.write_token(account, bound_to="bound")
    policy = plimsoll.write_policy(fast_policy(period=f"{PERIOD_S}s"))
    controller = plimsoll.controller(policy, exporters)
    extender = plimsoll.extender(policy)
    asker = Asker(extender, names)
    with Background(asker.once):
        wait_until(
            lambda: all(CPU in fleet.annotations(name) for name in names), what="annotations"
        )
        plane.api.delete(f"{secrets}/bound")
        # Watches that are open go on with the token that they began with; a restart ends them.
        plane.stop_api_server()
        plane.start_api_server()
        for process in (controller, extender):
            wait_until(
                lambda process=process: total(process, "plimsoll_api_requests_total", code="401"),
                60,
                f"{process.name} to be answered 401",
            )
        fleet.set_load(names[:1], **HOT)
        time.sleep(2 * PERIOD_S)
        assert asker.passing == set(names), "nothing new can be known"

        for account in ACCOUNTS:
            plimsoll.write_token(account)
        replaced = time.monotonic()
        wait_passing(asker, names[1:], "the hot node to be rejected", 90)
        took = time.monotonic() - replaced
    figure(f"new tokens in force {took:.1f} s after their files changed (period {PERIOD_S} s)")
    assert controller.is_running() and extender.is_running()
    for process in (controller, extender):
        assert "token" not in process.text().lower() or "eyJ" not in process.text()
