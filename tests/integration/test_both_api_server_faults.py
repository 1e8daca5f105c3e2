"""What may stand before an API server, or become of it: positions that expire without an end, pages of a
proxy, connections that are dead without having ended, another CA. Both programs, against one stand-in."""

import re
import shutil
import socket
import subprocess
import threading
import time

import pytest

import controller_kit
import extender_kit
from controller_kit import all_readings, log_lines, offered_milli
from extender_kit import policy
from harness import NIGHTLY, wait_until
from policies import CPU, node_names, policy_object
from standin import certs

NODES = node_names(6)
BUSY = NODES[0]
RULES = policy(hot={"5m": 1}, period="2s")
# Each node but the busy one offers idle CPU.
LINE, CORES, CALM, NOISE = 0.65, 8, 0.1, 0.15
ROOM = (LINE - CALM) * CORES * 1000
WITH_IDLE = policy_object(
    {CPU: "2s", "cpu_usage_max_avg_1h": "2s"}, {CPU: 0.65}, {CPU: 1}, {"5m": 1},
    idle={"line": LINE, "peak": "1h"},
)  # fmt: skip
AGENTS = (controller_kit.AGENT, extender_kit.AGENT)
FAILED = "list/watch failed, retrying"
# Within which both tell of a fault, and know of a new node once it is over.
TOLD_S, BACK_S = 30, 30
# Three minutes without a bookmark, and the time in which the next watch has no answer.
SILENT_S = 200
# A fault lasts for a minute, or until each program has met it so often.
LASTS_S, HITS = (60, 3) if NIGHTLY else (0, 3)
# A watch that fails and the lists behind it, three requests, at the backoff's mean of 5 s, for two
# resources: 72 a minute. The rest is for the first pauses, which are short, and for chance.
FIRST_CALLS, CALLS_A_MINUTE = 20, 120
# Each of two resources tells once of each kind of failure.
LINES_MAX = 6

LOGIN = {"action": "html", "status": 302, "location": "https://login.example/"}
PAGES = "with text/html from http"
FAULTS = {
    "a page of HTML": ({"action": "html"}, PAGES),
    "502 and HTML": ({"action": "html", "status": 502}, PAGES),
    "a redirect to a login page": (LOGIN, PAGES),
    "watches answered 410": ({"action": "status", "status": 410, "verb": "watch"}, "watch: 410"),
    "watches that begin with 410": ({"action": "expired", "verb": "watch"}, "watch: 410"),
    "watches that end empty": ({"action": "empty", "verb": "watch"}, "watch: ended before"),
}


class World:
    """A stand-in with one busy node of six, and both programs well."""

    def __init__(self, standin, controller, extender, offers):
        self.standin, self.controller, self.extender = standin, controller, extender
        self.offers = offers
        self.programs = dict(zip(AGENTS, (controller, extender)))
        self.count = len(NODES)

    def calls(self, agent, since_unix, verbs):
        rows = self.standin.admin("requests", since=since_unix, agent=agent, limit=50000)
        return [row for row in rows if row["at_unix"] >= since_unix and row["verb"] in verbs]

    def rejected(self):
        with self.extender.scheduler() as scheduler:
            return list(scheduler.filter(NODES)[1])

    def has_offers(self, *nodes):
        """Each of these nodes offers all its room, and whatever was written once it did was no less."""
        rows = self.standin.patches()
        for node in nodes:
            name = f"node-{node:04}"
            offers = [
                offered_milli(row)
                for row in rows
                if row["name"] == name and "status" in row["body"]
            ]
            whole = [(offer or 0) >= ROOM * (1 - NOISE) for offer in offers]
            if True not in whole:
                return False
            assert all(whole[whole.index(True) :]), (name, offers)
        return True

    def tells(self, what, program, since, within_s=TOLD_S):
        """Seconds until the log and readiness of a program tell of it."""

        def told():
            lines = log_lines(program.process, FAILED)
            return what in program.ready()[1] and any(what.split(": ")[-1] in row for row in lines)

        wait_until(told, within_s, f"{program.url} to tell of {what}: {program.ready()[1]}")
        took_s = time.monotonic() - since
        assert took_s < within_s
        return took_s

    def sees_news(self, within_s=BACK_S):
        """Seconds until both know of a node that has just come. `make nightly` also waits until they say
        that all is well, 8 s later."""
        since = time.monotonic()
        self.standin.add_nodes(1, start=self.count)
        self.count += 1
        tables = {
            self.controller: "plimsoll_nodes",
            self.extender: "plimsoll_extender_table_nodes",
        }
        for program, metric in tables.items():
            wait_until(lambda p=program, m=metric: p.metric(m) == self.count, within_s, metric)
        took_s = time.monotonic() - since
        assert took_s < within_s
        if self.offers:
            # All but the busy one; what stood before the fault is not lowered after it.
            wait_until(lambda: self.has_offers(*range(1, self.count)), 120, "all offers")
        for program in self.programs.values() if NIGHTLY else ():
            wait_until(lambda p=program: is_well(p), 60, "readiness without trouble")
        assert self.rejected() == [BUSY]
        return took_s


def is_well(program):
    ready, text = program.ready()
    assert ready and not any(word in text for word in ("watch:", "list:", "failed")), text
    return True


@pytest.fixture
def start_world(start_standin, start_exporters, start_controller, start_extender):
    def start(*flags, controller_flags=(), rules=RULES):
        standin, exporters = start_standin("--nodes", len(NODES), *flags), start_exporters(
            "--speed", "20"
        )
        exporters.set("all", load={"cpu": CALM})
        exporters.set(["127.1.0.1"], load={"cpu": 0.9})
        # More than a page.
        standin.add_pods(300, nodes=NODES)
        controller = start_controller(standin, exporters, *controller_flags, content=rules)
        extender = start_extender(standin, content=rules)
        world = World(standin, controller, extender, rules is WITH_IDLE)
        wait_until(lambda: len(all_readings(standin, CPU)) == len(NODES), 60, "all annotations")
        wait_until(lambda: world.rejected() == [BUSY], 60, "the busy node to be rejected")
        return world

    return start


@pytest.mark.parametrize(
    "name",
    [
        name if name == "a page of HTML" else pytest.param(name, marks=pytest.mark.nightly)
        for name in FAULTS
    ],
)
def test_answers_that_do_not_help(start_world, name):
    """Requests are few, what was in force stays, it is told, and it is over when the fault is."""
    fault, told = FAULTS[name]
    world = start_world()
    rules = [world.standin.fault(count=-1, user_agent=f"^{agent}", **fault) for agent in AGENTS]
    began_unix, began = time.time(), time.monotonic()
    world.standin.admin("compact", {"watches": "cut"})
    told_s = {agent: world.tells(told, p, began) for agent, p in world.programs.items()}

    def are_met():
        hits = world.standin.faults()
        return time.monotonic() - began > LASTS_S and all(hits[r]["hits"] >= HITS for r in rules)

    wait_until(are_met, 120, "the fault to be met")
    lasted_s = time.monotonic() - began
    assert world.rejected() == [BUSY]
    per_min = {}
    for agent in AGENTS:
        calls = len(world.calls(agent, began_unix, ("list", "watch")))
        per_min[agent] = calls * 60 / lasted_s
        most = FIRST_CALLS + CALLS_A_MINUTE * lasted_s / 60
        assert calls <= most, f"{agent}: {calls} in {lasted_s:.0f} s"
    lines = {a: len(log_lines(p.process, FAILED)) for a, p in world.programs.items()}
    assert max(lines.values()) <= LINES_MAX, lines
    assert set(all_readings(world.standin, CPU)) == set(NODES), "readings alone, no page"
    world.standin.clear_faults()
    back_s = world.sees_news()
    print(
        f"{name} for {lasted_s:.1f} s: lists and watches a minute { {a: round(n) for a, n in per_min.items()} }, "
        f"told after { {a: round(s, 1) for a, s in told_s.items()} } s, {lines} lines of log; "
        f"a new node was seen {back_s:.1f} s after the end"
    )


def test_lists_that_take_longer_than_compaction(start_world):
    """No continue token is good for a second page: the list is had in larger ones."""
    world = start_world()
    rules = [
        world.standin.fault(
            "status", status=410, verb="list", path="continue=", count=-1, user_agent=f"^{agent}"
        )
        for agent in AGENTS
    ]
    world.standin.admin("compact", {"watches": "cut"})
    wait_until(
        lambda: all(world.standin.faults()[rule]["hits"] for rule in rules), 60, "both to meet it"
    )
    world.sees_news()
    for program in world.programs.values():
        wait_until(lambda p=program: is_well(p), 60, "readiness without trouble")


def test_quiet_watches_are_seldom_renewed(start_world):
    """Though nothing has changed, the next watch is for five to ten minutes."""
    world = start_world()
    count = len(world.standin.watches())
    assert count >= 4
    for _ in range(2):
        ended_unix = time.time()
        world.standin.admin("watches/finish", {})

        def successors():
            rows = world.standin.watches()
            return [row["path"] for row in rows if row["opened_at_unix"] > ended_unix]

        wait_until(lambda: len(successors()) == count, what="each watch to have a successor")
        lasts_s = [int(re.search("timeoutSeconds=([0-9]+)", path)[1]) for path in successors()]
        assert all(300 <= seconds <= 600 for seconds in lasts_s), lasts_s


@pytest.mark.nightly
def test_a_lost_route(start_world):
    """Nothing ends, and no packet comes back: TCP says so, for there is nothing else that would."""
    address = ["10.77.0.1/32", "dev", "lo"]
    subprocess.run(["ip", "addr", "add", *address], check=True)
    world = start_world("--host", "10.77.0.1", rules=WITH_IDLE)
    world.sees_news()
    began = time.monotonic()
    subprocess.run(["ip", "addr", "del", *address], check=True)
    took_s = {a: world.tells("10.77.0.1", p, began) for a, p in world.programs.items()}
    assert world.rejected() == [BUSY]
    subprocess.run(["ip", "addr", "add", *address], check=True)
    back_s = world.sees_news()
    print(
        f"a lost route: told after {took_s} s; a new node was seen {back_s:.1f} s after its return"
    )


@pytest.mark.nightly
@pytest.mark.parametrize("how", ["all", "watches"])
def test_connections_that_are_frozen(start_world, how):
    """Open, and nothing comes, though TCP is well. Where nothing is answered, the Lease shows it at once,
    and the watches, whose bookmarks do not come, within 200 seconds; where a new connection has an
    answer, what happened in the meantime is then known."""
    world = start_world(controller_flags=["--leader-elect=true"], rules=WITH_IDLE)
    world.sees_news()
    began = time.monotonic()
    if how == "all":
        world.standin.admin("freeze", {})
        wait_until(
            lambda: "not finished" in world.controller.ready()[1], what="the Lease to tell of it"
        )
        assert log_lines(world.controller.process, "cannot acquire or renew lease")
        lease_s = time.monotonic() - began
        assert lease_s < TOLD_S
        took_s = {
            a: world.tells("no answer", p, began, SILENT_S) for a, p in world.programs.items()
        }
        took_s["lease"] = lease_s
        world.standin.admin("thaw", {})
        back_s = world.sees_news()
    else:
        rules = [
            world.standin.fault("mute", verb="watch", resource="nodes", user_agent=f"^{agent}")
            for agent in AGENTS
        ]
        world.standin.admin("watches/finish", {"resource": "nodes"})
        wait_until(
            lambda: all(world.standin.faults()[rule]["hits"] for rule in rules), what="both mute"
        )
        began = time.monotonic()
        back_s = world.sees_news(within_s=SILENT_S)
        took_s = {"both": back_s}
    print(f"frozen, {how}: noticed after {took_s} s; a new node was seen after {back_s:.1f} s")
    assert world.rejected() == [BUSY]


@pytest.mark.nightly
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_that_never_speaks(start_extender, start_standin, tmp_path, scheme):
    """It takes connections: no handshake ends, no request is answered."""
    standin = start_standin()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken = []

        def take():
            while True:
                try:
                    taken.append(listener.accept()[0])
                except OSError:
                    return

        taker = threading.Thread(target=take)
        taker.start()
        url = f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"
        kubeconfig = standin.edit_kubeconfig(tmp_path / "kubeconfig", cluster={"server": url})
        began = time.monotonic()
        extender = start_extender(kubeconfig)
        wait_until(lambda: log_lines(extender.process, FAILED), 60, "a line about it")
        took_s = time.monotonic() - began
        print(f"{scheme}: told after {took_s:.1f} s: {log_lines(extender.process, FAILED)[0]}")
        assert took_s < TOLD_S and taken
        listener.shutdown(socket.SHUT_RDWR)
        taker.join()
        for one in taken:
            one.close()


@pytest.mark.nightly
def test_another_ca(start_world, tmp_path):
    """The server has a certificate of another CA; then the file of the CA has that one too."""
    ours, other = tmp_path / "ours", tmp_path / "other"
    world = start_world("--tls-dir", ours, rules=WITH_IDLE)
    certs.make(str(other))
    world.sees_news()
    began = time.monotonic()
    world.standin.admin("certificate", {"directory": str(other)})
    world.standin.admin("watches/cut", {})
    world.standin.admin("close", {})
    told_s = {a: world.tells("certificate", p, began) for a, p in world.programs.items()}
    assert world.rejected() == [BUSY]
    shutil.copy(other / "ca.crt", ours / "ca.crt")
    # The file's period is a minute; a handshake that failed does not wait for it.
    back_s = world.sees_news()
    print(
        f"another CA: told after {told_s} s; a new node was seen {back_s:.1f} s after the file's change"
    )
