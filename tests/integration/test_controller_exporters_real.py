"""plimsoll-controller on Debian's prometheus-node-exporter, held against /proc.

A small proxy stands between the two and notes when the exporter was asked, for what, and what it
said; /proc/stat and /proc/meminfo are sampled all the while.
"""

import http.server
import json
import subprocess
import sys
import threading
import time
import urllib.parse
from bisect import bisect_left
from typing import NamedTuple

import pytest

from controller_kit import log_lines, patched, policy, read_annotation, reading
from harness import DEFAULT_TIMEOUT_S, fetch, wait_until

TOLERANCE = 0.02


class Scrape(NamedTuple):
    at_unix: float
    status: int
    collectors: tuple
    families: frozenset


@pytest.fixture
def start_proxy():
    """Starts a proxy for an exporter: (its port, the scrapes it has passed on)."""
    servers = []

    def start(target_url):
        scrapes = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                began = time.time()
                answer = fetch(target_url + self.path)
                query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
                families = frozenset(
                    line.split(" ")[2]
                    for line in answer.text.splitlines()
                    if line.startswith("# TYPE ")
                )
                middle = (began + time.time()) / 2
                collectors = tuple(sorted(query.get("collect[]", ())))
                scrapes.append(Scrape(middle, answer.status, collectors, families))
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        servers.append((server, thread))
        return server.server_port, scrapes

    yield start
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join(DEFAULT_TIMEOUT_S)
        assert not thread.is_alive(), "the proxy does not end"


class Machine:
    """What /proc says, sampled by a thread of its own; in between it is interpolated."""

    def __init__(self):
        self.times, self.rows = [], []
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._sample, daemon=True)
        self.thread.start()

    def _sample(self):
        while True:
            before = time.time()
            with open("/proc/stat", encoding="ascii") as file:
                # user nice system idle iowait irq softirq steal; guest is within user.
                ticks = [int(text) for text in file.readline().split()[1:9]]
            with open("/proc/meminfo", encoding="ascii") as file:
                memory = dict(line.split(":") for line in file)
            total, available = (int(memory[key].split()[0]) for key in ("MemTotal", "MemAvailable"))
            self.rows.append((sum(ticks), ticks[3], 1 - available / total))
            self.times.append((before + time.time()) / 2)
            if self.done.wait(0.02):
                return

    def close(self):
        self.done.set()
        self.thread.join(DEFAULT_TIMEOUT_S)
        assert not self.thread.is_alive(), "the sampler does not end"

    def at(self, at_unix):
        """(ticks in all modes, ticks idle, share of memory used)"""
        i = bisect_left(self.times, at_unix)
        assert 0 < i < len(self.times), "not sampled at that moment"
        before, after = self.times[i - 1], self.times[i]
        assert after - before < 1, "the sampler was kept from its work"
        share = (at_unix - before) / (after - before)
        return [a + (b - a) * share for a, b in zip(self.rows[i - 1], self.rows[i])]

    def usage(self, scrape_times):
        """cpu's and memory's mean over the time of some scrapes, as the windows define it."""
        (all0, idle0, _), (all1, idle1, _) = self.at(scrape_times[0]), self.at(scrape_times[-1])
        spans = list(zip(scrape_times, scrape_times[1:]))
        memory = sum((b - a) * self.at(b)[2] for a, b in spans)
        return 1 - (idle1 - idle0) / (all1 - all0), memory / (scrape_times[-1] - scrape_times[0])


@pytest.fixture
def machine():
    sampler = Machine()
    yield sampler
    sampler.close()


@pytest.fixture
def busy():
    """One CPU at work for two thirds of the time, so that there is something to measure."""
    program = (
        "import time\n"
        "while True:\n"
        "    end = time.monotonic() + 0.1\n"
        "    while time.monotonic() < end: pass\n"
        "    time.sleep(0.05)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program])
    yield
    process.kill()
    process.wait()


def compare(what, got, wanted):
    print(f"{what}: we say {got:.5f}, /proc says {wanted:.5f}, {abs(got - wanted):.5f} apart")
    return abs(got - wanted)


def test_dry_run_once(real_node_exporter, start_proxy, machine, busy, run, binary, tmp_path):
    """The windows of one exporter within seconds, without a cluster."""
    port, scrapes = start_proxy(real_node_exporter)
    argv = [
        binary("plimsoll-controller"),
        "--dry-run",
        "--once",
        "--scrape-interval=3s",
        f"--target=this-machine=http://127.0.0.1:{port}/metrics",
    ]
    began = time.monotonic()
    process = run([*argv, "--output=json"], "json")
    assert process.wait_exit() == 0
    took_s = time.monotonic() - began
    (row,) = [json.loads(line) for line in process.stdout().splitlines()]
    assert row["node"] == "this-machine" and row["unusable"] == {} and "failure" not in row
    values = {key: read_annotation(text).value for key, text in row["annotations"].items()}
    assert len(scrapes) == 2
    wait_until(lambda: machine.times[-1] > scrapes[-1].at_unix, what="one more sample")
    cpu, memory = machine.usage([scrape.at_unix for scrape in scrapes])
    assert compare("cpu_usage_avg_5m", values["cpu_usage_avg_5m"], cpu) < TOLERANCE
    assert compare("mem_usage_avg_5m", values["mem_usage_avg_5m"], memory) < TOLERANCE
    assert cpu > 0.1
    print(f"two scrapes 3 s apart took {took_s:.2f} s")
    # The built-in policy: cpu and memory, and nothing else is asked for.
    assert {scrape.collectors for scrape in scrapes} == {("cpu", "meminfo", "uname")}
    windows = ("avg_5m", "max_avg_1h", "max_avg_1h_peak")
    assert set(values) == {f"{res}_usage_{window}" for res in ("cpu", "mem") for window in windows}

    table = run([*argv, "--scrape-interval=1s"], "table")
    assert table.wait_exit() == 0
    head, line = table.stdout().splitlines()
    assert head.split()[0] == "NODE" and "cpu avg_5m" in head and "mem max_avg_1h" in head
    assert line.startswith("this-machine ") and line.count("%") == 4
    assert "\033" not in table.stdout()

    gone = run([*argv[:-1], "--scrape-interval=1s", "--target=x=http://127.0.0.1:1/m"], "gone")
    assert gone.wait_exit() == 1
    assert "connect" in gone.stdout(), gone.text()


def test_annotations_agree_with_proc(
    real_node_exporter, start_proxy, machine, busy, start_standin, start_controller
):
    """From the real exporter to the annotation on the Node."""
    port, scrapes = start_proxy(real_node_exporter)
    standin = start_standin("--nodes", 1, "--first-address", "127.0.0.1")
    metrics = {"cpu_usage_avg_5m": "2s", "mem_usage_avg_5m": "2s", "load_usage_avg_5m": "2s"}
    start_controller(standin, port, "--annotation-dead-band=0", content=policy(metrics))
    wait_until(lambda: len(standin.patches()) >= 4, what="four patches")
    last = standin.patches()[-1]
    wait_until(lambda: machine.times[-1] > last["at_unix"], what="one more sample")
    worst = 0.0
    for row in standin.patches()[1:]:
        values = {key: read_annotation(text).value for key, text in patched(row).items()}
        times = [scrape.at_unix for scrape in scrapes if scrape.at_unix < row["at_unix"]]
        # The newest scrape may still have been under way when the patch was made.
        wanted = [machine.usage(times[:count]) for count in (len(times), len(times) - 1)]
        off_cpu = min(abs(values["cpu_usage_avg_5m"] - cpu) for cpu, _ in wanted)
        off_memory = min(abs(values["mem_usage_avg_5m"] - memory) for _, memory in wanted)
        worst = max(worst, off_cpu, off_memory)
        assert off_cpu < TOLERANCE and off_memory < TOLERANCE, (values, wanted)
    cpu, memory = wanted[0]
    compare("cpu_usage_avg_5m", values["cpu_usage_avg_5m"], cpu)
    compare("mem_usage_avg_5m", values["mem_usage_avg_5m"], memory)
    print(f"the worst of {len(standin.patches()) - 1} patches is off by {worst:.5f}")
    assert cpu > 0.1
    assert {scrape.collectors for scrape in scrapes} == {("cpu", "loadavg", "meminfo", "uname")}
    # So the page is a small one: of the exporter's own families hardly any.
    families = scrapes[-1].families
    assert {"node_cpu_seconds_total", "node_memory_MemAvailable_bytes", "node_load5"} <= families
    assert not {f for f in families if f.startswith(("node_network", "node_disk", "node_file"))}


def test_a_collector_that_is_off(start_real_exporter, start_proxy, start_standin, start_controller):
    """400 for collect[], so the whole page from then on; what it has is measured."""
    url = start_real_exporter("--no-collector.meminfo")
    assert fetch(f"{url}/metrics?collect[]=cpu&collect[]=meminfo").status == 400
    port, scrapes = start_proxy(url)
    standin = start_standin("--nodes", 1, "--first-address", "127.0.0.1")
    controller = start_controller(standin, port)
    wait_until(lambda: reading(standin, "node-0000", "cpu_usage_avg_5m"), what="the window")
    wait_until(lambda: len(scrapes) >= 5, what="five requests")
    assert [scrape.status for scrape in scrapes[:2]] == [400, 200]
    assert scrapes[0].collectors == ("cpu", "meminfo", "uname")
    assert scrapes[1].at_unix - scrapes[0].at_unix < 0.5, "at once, not a scrape interval later"
    assert all(s.status == 200 and s.collectors == () for s in scrapes[1:]), "it is remembered"
    assert "node_filesystem_avail_bytes" in scrapes[1].families
    assert reading(standin, "node-0000", "mem_usage_avg_5m") is None
    assert controller.metric("plimsoll_scrape_fallbacks_total") == 1
    assert controller.labels("plimsoll_scrapes_total", "result").keys() == {"ok"}
    assert len(log_lines(controller.process, "node is failing")) == 0
