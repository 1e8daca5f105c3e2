"""The API server goes away, forgets history, refuses a token: nothing of ours restarts or errs."""

import threading
import time

import pytest
from cluster.nodes import CALM, HOT
from cluster.plimsoll import ACCOUNTS, ask, fast_policy, refused, total
from cluster.relay import ApiRelay
from cluster.workloads import Background, pod_object
from harness import NIGHTLY, wait_until

pytestmark = pytest.mark.own_plane  # it is killed
OUTAGE_S = 60 if NIGHTLY else 6
PERIOD_S = 5
TOKEN_S = 15
CPU = "cpu_usage_avg_5s"


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


@pytest.fixture
def relay(plane):
    """Between our programs and the API server of this test."""
    relay = ApiRelay(plane, 26444)
    yield relay
    relay.stop()


@pytest.fixture
def behind_relay(plimsoll, relay):
    plimsoll.server = relay.url
    return plimsoll


def annotated(fleet, names):
    return all(CPU in fleet.annotations(name) for name in names)


def test_watch_cut(plane, fleet, behind_relay, relay, exporters, figure):
    """Connections end in mid-sentence, then the API server has another certificate."""
    audited = {account: len(plane.audit(account)) for account in ACCOUNTS}
    hot, (other, always_calm) = fleet.add(1, load=HOT), fleet.add(2, load=CALM)
    policy = behind_relay.write_policy(fast_policy(period=f"{PERIOD_S}s"))
    controller = behind_relay.controller(policy, exporters)
    extender = behind_relay.extender(policy)
    asker = Asker(extender, [*hot, other, always_calm])
    took = []
    with Background(asker.once):
        wait_passing(asker, [other, always_calm], "the hot node to be rejected")
        for change in (lambda: None, plane.renew_certificate):
            change()
            accepted = relay.accepted
            assert relay.cut() >= 2, "a connection of each program"
            cut = time.monotonic()
            # Every cut finds two loads the other way round.
            hot, other = [other], hot[0]
            fleet.set_load(hot, **HOT)
            fleet.set_load([other], **CALM)
            wait_passing(asker, [other, always_calm], "verdicts from what happened after the cut")
            took.append(time.monotonic() - cut)
            assert relay.accepted >= accepted + 2, "both came back"
    for process in (controller, extender):
        assert process.is_running()
        watches = total(process, "plimsoll_watch_restarts_total")
        assert watches >= 2, f"{process.name}: {watches} watches have ended"
    assert all(always_calm in passing for passing in asker.seen)
    for account in ACCOUNTS:
        assert not refused(plane, account, after=audited[account])
    figure(
        f"all connections cut: caught up {took[0]:.1f} s later; and with another certificate of the "
        f"API server: {took[1]:.1f} s (period {PERIOD_S} s, window 5 s)"
    )


def test_token_expired(plane, fleet, behind_relay, relay, exporters, figure):
    """Tokens that end with nobody renewing them, then new ones in the files."""
    names = fleet.add(2, load=CALM)
    for account in ACCOUNTS:
        behind_relay.write_token(account, lifetime_s=TOKEN_S)
    policy = behind_relay.write_policy(fast_policy(period=f"{PERIOD_S}s"))
    controller = behind_relay.controller(policy, exporters)
    extender = behind_relay.extender(policy)
    asker = Asker(extender, names)
    with Background(asker.once):
        wait_until(lambda: annotated(fleet, names), what="annotations")

        def refused_token(process):
            # A watch that is open goes on with the token that it began with.
            relay.cut()
            return total(process, "plimsoll_api_requests_total", code="401")

        for process in (controller, extender):
            wait_until(
                lambda process=process: refused_token(process),
                TOKEN_S + 60, f"{process.name} to be answered 401", poll_s=1,
            )  # fmt: skip
        fleet.set_load(names[:1], **HOT)
        changed_unix = time.time()

        def scraped():
            found = exporters.scrapes(fleet.addresses[names[0]])
            return sum(at_unix > changed_unix for at_unix, *_ in found)

        wait_until(lambda: scraped() > 2 * PERIOD_S, what="two periods of scrapes, one a second")
        assert asker.seen == {frozenset(names)}, "nothing new can be known"

        for account in ACCOUNTS:
            behind_relay.write_token(account)
        replaced = time.monotonic()
        wait_passing(asker, names[1:], "the hot node to be rejected", 90)
        took = time.monotonic() - replaced
    figure(f"tokens expired; new ones in force {took:.1f} s after their files changed")
    for process in (controller, extender):
        assert process.is_running()
        assert "eyJ" not in process.text(), f"{process.name} printed a token"
