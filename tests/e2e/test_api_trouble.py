"""The API server goes away and forgets history: nothing of ours restarts or errs."""

import threading
import time

import pytest
from cluster.nodes import CALM, HOT
from cluster.plimsoll import ACCOUNTS, ask, fast_policy, refused, total
from cluster.workloads import Background, pod_object
from harness import NIGHTLY, wait_until

pytestmark = pytest.mark.own_plane  # it is killed
OUTAGE_S = 60 if NIGHTLY else 6
PERIOD_S = 5
TOKEN_S = 15


@pytest.fixture
def plane(plane):
    yield plane
    if not plane.is_up():
        plane.start_api_server()


class Asker:
    """Asks an extender to filter, again and again, and remembers what changed."""

    def __init__(self, extender, names):
        self.extender = extender
        self.names = names
        self.pod = pod_object("asked-0")
        self.answers = 0
        self.slowest_ms = 0.0
        self.passing = None
        self.seen = set()  # every set of nodes that ever passed

    def once(self, ended):
        began = time.monotonic()
        answer = ask(self.extender, "filter", self.pod, self.names)
        self.slowest_ms = max(self.slowest_ms, (time.monotonic() - began) * 1e3)
        assert not answer["Error"], answer
        self.passing = set(answer["NodeNames"])
        self.seen.add(frozenset(self.passing))
        self.answers += 1
        ended.wait(0.05)


def wait_passing(asker, wanted, what, timeout_s=60):
    wait_until(lambda: asker.passing == set(wanted), timeout_s, what)


def test_api_server_killed(plane, fleet, namespace, plimsoll, exporters, scheduler, figure):
    hot, calm = fleet.add(2, load=HOT), fleet.add(3, load=CALM)
    policy = plimsoll.write_policy(fast_policy(period=f"{PERIOD_S}s"))
    # The tokens of the start end before the outage does; their files hold new ones by that time.
    for account in ACCOUNTS:
        plimsoll.write_token(account, lifetime_s=TOKEN_S)
    written = time.monotonic()
    controller = plimsoll.controller(policy, exporters)
    extender = plimsoll.extender(policy)
    for account in ACCOUNTS:
        plimsoll.write_token(account)
    entry = plimsoll.scheduler_entry(extender)
    old_scheduler = scheduler(extenders=[entry])
    asker = Asker(extender, hot + calm)
    with Background(asker.once):
        wait_passing(asker, calm, "the hot nodes to be rejected")
        with Background(Load(namespace).once):
            namespace.wait_bound(5)
            plane.stop_api_server()
        killed = time.monotonic()
        # What changes in the meantime can only be seen afterwards: the first calm node heats up, the
        # first hot one cools down.
        fleet.set_load(calm[:1], **HOT)
        fleet.set_load(hot[:1], **CALM)
        answers = asker.answers
        verdicts = set()
        while time.monotonic() < max(killed + OUTAGE_S, written + TOKEN_S):
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
    # Both find their resource version compacted away, and list again.
    for process in (controller, extender):
        wait_until(
            lambda process=process: total(
                process, "plimsoll_watch_restarts_total", reason="expired"
            ),
            60, f"{process.name} to be told 410",
        )  # fmt: skip
    figure(
        f"API server away for {back - killed:.0f} s and etcd compacted at {revision}: {during} answers "
        f"meanwhile, the slowest {slowest_ms:.1f} ms; caught up {caught_up:.1f} s after it was back "
        f"(period {PERIOD_S} s), both told 410"
    )
    audited = {account: len(plane.audit(account)) for account in ACCOUNTS}
    at_start = sum(len(refused(plane, account)) for account in ACCOUNTS)
    figure(f"{at_start} requests refused by the API server in its first moment")
    namespace.create_pods("after", 5)
    # kube-scheduler's own informers wait for up to a minute before they try again; a new one's do not.
    old_scheduler.kill()
    scheduler(extenders=[entry])
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
