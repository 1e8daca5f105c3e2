"""More nodes than --patch-qps carries: it says so, stays ready, and writes first what matters most."""

from controller_kit import policy
from harness import wait_until

NODES = 40
HOT, HOT_ADDRESS = "node-0029", "127.1.0.30"
POLICY = policy(
    {"cpu_usage_avg_5m": "10s"},
    predicate={"cpu_usage_avg_5m": 0.65},
    priority={"cpu_usage_avg_5m": 1},
)


def test_short_budget(start_standin, start_exporters, start_controller):
    standin, exporters = start_standin("--nodes", NODES), start_exporters()
    exporters.set("all", load={"cpu": 0.2, "mem": 0.2})
    exporters.set([HOT_ADDRESS], load={"cpu": 0.9, "mem": 0.2})
    controller = start_controller(
        standin, exporters, "--scrape-interval=1s", "--patch-qps=1", content=POLICY
    )
    patches = wait_until(lambda: len(standin.patches()) > 8 and standin.patches(), 60, "patches")
    # Some were sent before it had been scraped twice.
    assert HOT in [row["name"] for row in patches[:8]], patches
    assert controller.metric("plimsoll_patch_budget_nodes") == 10
    is_ready, text = controller.ready()
    assert is_ready, text
    assert f"--patch-qps is enough for 10 of {NODES} nodes" in text
