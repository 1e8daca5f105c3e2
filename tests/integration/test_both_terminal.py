"""What people see on a terminal: colours, and screens that take each other's place."""

import os
import pty
import select
import signal
import subprocess

import pytest

from controller_kit import policy
from harness import clean_environment, wait_until
from policies import write_policy

RED, CLEAR = "\x1b[31m", "\x1b[H"


class Terminal:
    """A program whose standard output is a terminal."""

    def __init__(self, argv, env=None):
        self.master, slave = pty.openpty()
        clean = {key: value for key, value in clean_environment().items() if key != "NO_COLOR"}
        self.process = subprocess.Popen(
            [str(word) for word in argv],
            stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE, text=True,
            env={**clean, "TERM": "xterm", **(env or {})},
        )  # fmt: skip
        os.close(slave)
        self.text = ""

    def shows(self, *texts):
        def look():
            if select.select([self.master], [], [], 0)[0]:
                self.text += os.read(self.master, 65536).decode()
            return all(text in self.text for text in texts)

        wait_until(look, what=f"{texts} on the terminal")

    def close(self):
        os.close(self.master)

    def ended(self, number=None):
        if number:
            self.process.send_signal(number)
        errors = self.process.communicate(timeout=30)[1]
        return self.process.returncode, errors


@pytest.fixture
def terminal():
    started = []

    def start(argv, env=None):
        started.append(Terminal(argv, env))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def test_dry_run_of_the_controller(terminal, binary, exporters, tmp_path):
    exporters.set(["127.0.0.1"], load={"cpu": 0.95})
    limits = policy({"cpu_usage_avg_5m": "2s"}, predicate={"cpu_usage_avg_5m": 0.65})
    argv = [
        binary("plimsoll-controller"),
        f"--target=busy={exporters.url}/metrics",
        "--target=away=http://127.0.0.1:1/metrics",
        f"--policy-config-path={write_policy(tmp_path / 'policy', limits)}",
        "--scrape-interval=1s",
        "--dry-run",
    ]
    shown, plain = terminal(argv), terminal(argv, {"NO_COLOR": "1"})
    shown.shows(CLEAR, RED, "95.0%", "connect")
    assert shown.ended(signal.SIGTERM)[0] == 0
    shown.close()
    plain.shows(CLEAR, "95.0%", "connect")
    assert RED not in plain.text
    assert plain.ended(signal.SIGTERM)[0] == 0
    plain.close()


def test_top_watches_until_the_terminal_is_gone(terminal, binary, start_standin, start_extender):
    standin = start_standin("--nodes", 2)
    extender = start_extender(standin)
    extender.wait_ready(r"(?m)pods: ")
    extender.register(standin)
    argv = [binary("kubectl-plimsoll"), "top", "--watch", "--interval=1s"]
    shown = terminal(argv, {"KUBECONFIG": standin.kubeconfig})
    shown.shows(CLEAR, "node-0001")
    rule = standin.fault("status", verb="list", resource="pods", status=403, message="not now")
    wait_until(lambda: not standin.faults()[rule]["left"], what="a refusal")
    shown.text = ""
    shown.shows(CLEAR, "node-0001")
    shown.close()
    code, errors = shown.ended()
    assert code == 1 and "not now" in errors
    assert "kubectl-plimsoll: cannot write to standard output\n" in errors
