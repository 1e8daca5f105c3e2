"""A node's peaks outlive the controller that saw them, for as long as they should."""

import time

from controller_kit import policy, reading
from harness import wait_until
from policies import ago, write_policy

CPU, MAX, PEAK = "cpu_usage_avg_5m", "cpu_usage_max_avg_1h", "cpu_usage_max_avg_1h_peak"
RULES = policy({CPU: "1s", MAX: "1s"})
FAST = ("--speed", "20")
BUCKET_S = 60  # of an hour


def written_since(standin, since_unix, *keys):
    """These annotations of the node were written after that second, and the last of them is read."""

    def ask():
        found = [reading(standin, "node-0000", key) for key in keys]
        return found if all(r and r.at_unix > since_unix for r in found) else None

    return wait_until(ask, what=f"{keys} to be written")[-1]


def test_a_restart_makes_no_peak_younger(start_standin, start_exporters, start_controller):
    """The peak's time is the same through three lives, while its maximum is written again."""
    standin, exporters = start_standin(), start_exporters(*FAST)
    peak_unix = int(time.time()) - 2400
    standin.add_nodes(1, annotations={MAX: f"0.90000,{ago(2400)}"})
    exporters.set("all", load={"cpu": 0.1})
    began = int(time.time()) - 1
    times = []
    for _ in range(3):
        controller = start_controller(standin, exporters, content=RULES)
        assert written_since(standin, began, CPU, MAX).value == 0.9
        wait_until(lambda: reading(standin, "node-0000", PEAK), what="the peak's time")
        times.append(reading(standin, "node-0000", PEAK))
        began = int(time.time())
        controller.process.kill()
    assert [r.value for r in times] == [0.9] * 3
    assert peak_unix <= times[0].at_unix <= peak_unix + BUCKET_S
    assert len({r.at_unix for r in times}) == 1


def test_first_seconds_are_no_peak(start_standin, start_exporters, start_controller):
    """What a controller writes of its first seconds is not believed by the next one."""
    standin, exporters = start_standin("--nodes", 1), start_exporters(*FAST)
    exporters.set("all", load={"cpu": 0.9})
    first = start_controller(standin, exporters, content=RULES)
    began = int(time.time()) - 1
    assert written_since(standin, began, CPU, MAX).value > 0.8
    first.process.kill()
    exporters.set("all", load={"cpu": 0.1})
    began = int(time.time()) + 1
    start_controller(standin, exporters, content=RULES)
    assert written_since(standin, began, CPU, MAX).value < 0.3


def test_a_new_policy_finds_old_peaks(start_standin, start_exporters, start_controller, tmp_path):
    """The maximum of a metric that the policy takes up again begins with what stands there."""
    standin, exporters = start_standin(), start_exporters(*FAST)
    standin.add_nodes(1, annotations={MAX: f"0.90000,{ago(600)}"})
    exporters.set("all", load={"cpu": 0.1})
    path = write_policy(tmp_path / "policy.yaml", policy({CPU: "1s"}))
    began = int(time.time()) - 1
    start_controller(standin, exporters, content=path)
    written_since(standin, began, CPU)
    write_policy(tmp_path / "policy.yaml", RULES)
    assert written_since(standin, began, MAX).value == 0.9
