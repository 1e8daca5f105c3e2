"""What plimsoll-controller asks Debian's prometheus-node-exporter for.

A small proxy stands between the two and notes when the exporter was asked, for what, and what it
said. test_controller_real_resources.py holds the values against /proc and /sys.
"""

import time
import urllib.parse
from typing import NamedTuple

import pytest

from controller_kit import log_lines, policy, reading
from harness import fetch, wait_until
from local_server import Handler, LocalServer
from programs import complete


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

        class Passing(Handler):
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
                kind = answer.headers["Content-Type"]
                self.reply(answer.status, answer.body, Content_Type=kind)

        servers.append(LocalServer(Passing))
        return servers[-1].port, scrapes

    yield start
    for server in servers:
        server.close()


def test_what_is_asked_for(real_node_exporter, start_proxy, start_standin, start_controller):
    """The collectors that the policy needs, so the page is a small one."""
    port, scrapes = start_proxy(real_node_exporter)
    standin = start_standin("--nodes", 1, "--first-address", "127.0.0.1")
    metrics = {f"{resource}_usage_avg_5m": "2s" for resource in ("cpu", "mem", "load")}
    start_controller(standin, port, content=policy(metrics))
    wait_until(lambda: metrics.keys() <= standin.annotations("node-0000").keys(), what="windows")
    assert {scrape.collectors for scrape in scrapes} == {("cpu", "loadavg", "meminfo", "uname")}
    families = scrapes[-1].families
    assert {"node_cpu_seconds_total", "node_memory_MemAvailable_bytes", "node_load5"} <= families
    assert not {f for f in families if f.startswith(("node_network", "node_disk", "node_file"))}


def test_table_of_a_dry_run(real_node_exporter, start_proxy):
    """The built-in policy asks for cpu and memory, and for nothing else."""
    port, scrapes = start_proxy(real_node_exporter)
    flags = ("--dry-run", "--once", "--scrape-interval=1s")
    target = f"--target=this-machine=http://127.0.0.1:{port}/metrics"
    table = complete("plimsoll-controller", *flags, target).stdout
    assert [scrape.collectors for scrape in scrapes] == [("cpu", "meminfo", "uname")] * 2
    head, line = table.splitlines()
    assert head.split()[0] == "NODE" and "cpu avg_5m" in head and "mem max_avg_1h" in head
    assert line.startswith("this-machine ") and line.count("%") == 4
    assert "\033" not in table


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
