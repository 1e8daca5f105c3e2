"""The extender while its API server misbehaves: every request is answered, and no verdict is wrong."""

import re
import threading

import pytest

from extender_kit import AGENT, annotate, policy
from harness import wait_until
from policies import CPU, ago, node_names

NODES = node_names(6)
BUSY = NODES[0]


class Hammer(threading.Thread):
    """A scheduler that keeps asking; `rejected` is what the last answer rejected."""

    def __init__(self, extender):
        super().__init__()
        self.extender, self.is_over = extender, threading.Event()
        self.count, self.problem, self.rejected, self.scores = 0, None, None, None

    def run(self):
        try:
            with self.extender.scheduler() as scheduler:
                while not self.is_over.wait(0.01):
                    self.rejected = set(scheduler.filter(NODES)[1])
                    # Only nodes that somebody made busy are ever rejected.
                    assert self.rejected <= self.allowed(), self.rejected
                    self.scores = scheduler.prioritize(NODES)
                    self.count += 1
        except Exception as error:  # a thread's end must not go unnoticed, whatever it is
            self.problem = f"{type(error).__name__}: {error}"

    def allowed(self):
        return {BUSY, *NODES[4:]}

    def wait_rejected(self, *names, timeout_s=60):
        def check():
            assert self.problem is None, self.problem
            return self.rejected == set(names)

        wait_until(check, timeout_s, f"{names} to be rejected, last {self.rejected}")

    def goes_on(self, count=20):
        """Wait until so many more calls have been answered."""
        target = self.count + count
        wait_until(lambda: self.problem or self.count >= target, what="more answers")
        assert self.problem is None, self.problem


@pytest.fixture
def start(start_standin, start_extender):
    """(stand-in, extender, hammer) with one busy node; the hammer is checked at the end."""
    hammers = []

    def call(*standin_flags, kubeconfig=None, **more):
        standin = start_standin("--nodes", len(NODES), *standin_flags)
        # By the admin port, where no token is asked for.
        for name in NODES:
            usage = 0.9 if name == BUSY else 0.2
            metadata = {"name": name, "annotations": {CPU: f"{usage},{ago()}"}}
            standin.admin("objects", {"resource": "nodes", "object": {"metadata": metadata}})
        config = kubeconfig(standin) if kubeconfig else standin
        extender = start_extender(config, content=policy(hot={"5m": 1}, **more))
        hammer = Hammer(extender)
        hammers.append(hammer)
        hammer.start()
        return standin, extender, hammer

    yield call
    for hammer in hammers:
        hammer.goes_on()
        hammer.is_over.set()
        hammer.join(60)
        assert hammer.problem is None and not hammer.is_alive(), hammer.problem
        print(f"{hammer.count} calls, every one answered")


@pytest.mark.parametrize("mode", ["cut", "expire"])
def test_compaction_with_deletions_meanwhile(start, mode):
    standin, extender, hammer = start()
    extender.wait_live()
    hammer.wait_rejected(BUSY)
    # No watch comes back before the busy node is gone and another is busy.
    standin.fault("status", verb="watch", resource="nodes", status=503, count=-1)
    standin.admin("watches/cut", {"resource": "nodes"})
    wait_until(
        lambda: standin.count(verb="watch", resource="nodes", code=503) > 0, what="a refused watch"
    )
    standin.admin("delete", {"resource": "nodes", "names": [BUSY]})
    annotate(standin, NODES[5], 0.95)
    standin.admin("compact", {"watches": mode})
    hammer.goes_on()
    standin.clear_faults()
    hammer.wait_rejected(NODES[5])
    wait_until(
        lambda: extender.metric("plimsoll_extender_table_nodes") == len(NODES) - 1,
        what="the deleted node to leave the table",
    )


def test_api_server_down_for_a_while(start):
    standin, extender, hammer = start()
    extender.wait_live()
    hammer.wait_rejected(BUSY)
    standin.admin("listen", {"on": False})
    wait_until(lambda: "watch is not open" in extender.ready()[1], what="the trouble to be told")
    ready, text = extender.ready()
    assert ready, text  # readings expire by themselves, and a table is better than none
    hammer.goes_on(50)
    assert hammer.rejected == {BUSY}
    standin.admin("delete", {"resource": "nodes", "names": [BUSY]})
    standin.admin("objects", {"resource": "nodes", "object": {"metadata": {"name": BUSY}}})
    standin.admin("listen", {"on": True})
    hammer.wait_rejected()
    # No event comes of pods: eight seconds of quiet show that their watch is open.
    extender.wait_live()


def test_tokens_rotate(start, tmp_path):
    token_path = tmp_path / "token"
    token_path.write_text("first")

    def kubeconfig(standin):
        user = {"token": None, "tokenFile": str(token_path)}
        return standin.edit_kubeconfig(tmp_path / "kubeconfig", user=user)

    standin, _, hammer = start("--token", "first", kubeconfig=kubeconfig)
    hammer.wait_rejected(BUSY)
    hammer.goes_on()
    standin.admin("auth", {"reset": True, "tokens": [{"token": "second", "user": "rotated"}]})
    standin.admin("watches/cut", {})
    wait_until(lambda: standin.count(code=401, user_agent=AGENT) > 0, what="a refusal")
    hammer.goes_on()
    token_path.write_text("second")
    metadata = {"name": NODES[4], "annotations": {CPU: f"0.9,{ago()}"}}
    standin.admin("objects", {"resource": "nodes", "object": {"metadata": metadata}})
    hammer.wait_rejected(BUSY, NODES[4])


def test_what_is_missing_is_named(start_standin, start_extender):
    standin = start_standin("--nodes", 2)
    annotate(standin, BUSY, 0.9)
    standin.fault("status", verb="list", resource="nodes", status=403, count=-1)
    extender = start_extender(standin)
    for part in ("403", "[+] policy: "):
        wait_until(lambda p=part: p in extender.ready()[1], what=part)
    ready, text = extender.ready()
    assert not ready
    for part in ("[-] nodes: ", "list and watch on nodes", "--kubeconfig", "[+] policy: "):
        assert part in text, text
    assert extender.page("/healthz").status == extender.page("/livez").status == 200
    assert extender.page("/readyz").status == 503
    with extender.scheduler() as scheduler:
        assert scheduler.filter(NODES) == (NODES, {})
        assert scheduler.prioritize(NODES) == dict.fromkeys(NODES, 0)
        standin.clear_faults()
        extender.wait_ready(re.escape("[+] nodes: 2 nodes"))
        assert list(scheduler.filter(NODES)[1]) == [BUSY]
