"""What Prometheus with crane-scheduler's rules takes for the pages that our controller scrapes.

Its history begins with the bench, so its maxima of an hour and of a day are cheaper than in a cluster.
"""

import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))

# pylint: disable=wrong-import-position
from addresses import address_of  # noqa: E402
from harness import Process, wait_until  # noqa: E402
from prometheus_kit import RealPrometheus, crane_rules  # noqa: E402

FIRST_ADDRESS = "127.0.1.1"
# As crane-scheduler's documentation has them.
RULES = crane_rules("30s", "1m", "5m")
SETTLE_S = 60


class PrometheusCost:
    """Debian's Prometheus, with exporters of its own; stop() ends both."""

    def __init__(self, fleet, page, reply_ms, nodes, interval_s, work):
        os.makedirs(work, exist_ok=True)
        self.nodes, self.parts = nodes, []
        try:
            exporters = Process([fleet, page, str(reply_ms)], "prometheus-fleet", work)
            self.parts.append(exporters)
            port = exporters.wait_port()
            every = f"{interval_s}s"
            self.prometheus = RealPrometheus(
                lambda argv, name: Process(argv, name, work),
                work,
                {f"{address_of(FIRST_ADDRESS, i)}:{port}": {} for i in range(nodes)},
                rules=RULES,
                scrape={
                    "scrape_interval": every,
                    "scrape_timeout": every,
                    "params": {"collect[]": ["cpu", "loadavg", "meminfo"]},
                },
            )
            self.parts.append(self.prometheus.process)
            wait_until(self._scrapes_all, 120, "Prometheus to scrape all targets", poll_s=1)
            time.sleep(SETTLE_S)
        except BaseException:
            self.stop()
            raise

    def _scrapes_all(self):
        found = self.prometheus.query("sum(up)")
        return bool(found) and found[0][1] == self.nodes

    def measure(self, seconds):
        """{share: of a core, mib: resident}"""
        process = self.prometheus.process
        before, began = process.cpu_s(), time.monotonic()
        time.sleep(seconds)
        took_s = time.monotonic() - began
        assert self._scrapes_all()
        return {"share": (process.cpu_s() - before) / took_s, "mib": process.rss_kib() / 1024}

    def stop(self):
        for part in reversed(self.parts):
            part.kill()
