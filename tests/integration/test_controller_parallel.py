"""The controller under ThreadSanitizer: its pages are asked for while everything that they tell of
changes."""

import threading

from controller_kit import policy
from harness import fetch, wait_until
from policies import write_policy

PAGES = ("/metrics", "/readyz?verbose", "/healthz", "/livez")
READERS = 3
JOIN_S = 60


class Reader(threading.Thread):
    """Asks for one page after the other without a pause."""

    def __init__(self, url, is_over):
        super().__init__()
        self.url, self.is_over = url, is_over
        self.problem, self.answers = None, 0

    def run(self):
        try:
            while not self.is_over.is_set():
                for page in PAGES:
                    status = fetch(self.url + page).status
                    assert status in ((200, 503) if "readyz" in page else (200,)), (page, status)
                    self.answers += 1
        except Exception as error:  # a thread's end must not go unnoticed, whatever it is
            self.problem = f"{type(error).__name__}: {error}"


def test_pages_beside_everything_that_changes(start_standin, exporters, start_controller, tmp_path):
    standin = start_standin("--nodes", 20)
    path = str(tmp_path / "policy.yaml")
    write_policy(path, policy(hot={"5m": 2}))
    controller = start_controller(standin, exporters, content=path, build="tsan")
    is_over = threading.Event()
    readers = [Reader(controller.url, is_over) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    controller.wait_ready()
    for i in range(3):
        standin.add_pods(20, prefix=f"burst-{i}-", nodes=["node-0000", "node-0001"])
        standin.add_nodes(5, prefix=f"late-{i}-")
        exporters.trouble(["127.1.0.3"], "status", code=500)
        write_policy(path, policy({"cpu_usage_avg_5m": f"{2 + i}s"}, hot={"5m": 2}))
        wait_until(
            lambda: controller.metric("plimsoll_policy_generation") >= i + 2,
            what="the policy to be read again",
        )
        standin.admin("watches/cut", {})
        before = len(standin.patches())
        wait_until(lambda: len(standin.patches()) >= before + 20, what="another round of patches")
        exporters.well(["127.1.0.3"])
        standin.admin("delete", {"resource": "nodes", "prefix": f"late-{i}-"})
    is_over.set()
    for reader in readers:
        reader.join(JOIN_S)
        assert not reader.is_alive()
    assert [reader.problem for reader in readers] == [None] * READERS
    assert all(reader.answers >= len(PAGES) for reader in readers)
