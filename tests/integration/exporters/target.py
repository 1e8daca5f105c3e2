"""One synthetic node: its loads, its counters, and how it misbehaves."""

import time
from collections import deque

from .load import Signal
from .page import (
    BUSY_SHARES,
    COLLECTORS,
    DISK_BYTES,
    LINK_BYTES_PER_S,
    MEMORY_BYTES,
    VETH_BYTES_PER_S,
    Shape,
    dcgm_page,
    template,
)

UPTIME_S = 100_000.0
SIGNALS = {
    "cpu": 0.3,
    "mem": 0.4,
    "net_rx": 0.05,
    "net_tx": 0.03,
    "disk": 0.1,
    "load": 0.3,
    "psi_cpu": 0.02,
    "psi_mem": 0.0,
    "psi_io": 0.01,
    "fs": 0.35,
    "gpu": 0.5,
}
SCRAPES_KEPT = 2000


class Clock:
    """Exporter time: seconds since start, `speed` times as fast as the wall clock."""

    def __init__(self, speed=1.0):
        self.speed = speed
        self.start_unix = time.time()
        self.start = time.monotonic()

    def now(self):
        return (time.monotonic() - self.start) * self.speed

    def at(self, unix):
        return (unix - self.start_unix) * self.speed

    def unix(self, t):
        return self.start_unix + t / self.speed


class Cpu:
    """Counters of one CPU: they count from when it came up, with what it had by that time."""

    __slots__ = ("up_at", "busy_at", "head_start_s")

    def __init__(self, up_at, busy_at, head_start_s):
        self.up_at = up_at
        self.busy_at = busy_at
        self.head_start_s = head_start_s


class Target:
    def __init__(self, key, clock, loads, cpus):
        self.key = key
        self.clock = clock
        self.signals = {name: Signal(loads.get(name, value)) for name, value in SIGNALS.items()}
        self.virtual_devices = 0
        self.link_bytes_per_s = LINK_BYTES_PER_S
        self.has_gpus = True
        self.cpus = {cpu: Cpu(0.0, 0.0, UPTIME_S) for cpu in range(cpus)}
        self.boot_at = -UPTIME_S
        self.booted_with = {name: 0.0 for name in SIGNALS}
        self.collectors = COLLECTORS
        self.shape = None
        self.stuck_at = None
        self.rendered_at_unix = 0.0
        self.trouble = None
        self.scrapes = deque(maxlen=SCRAPES_KEPT)
        self.scraped = 0
        self.reshape()

    def reshape(self):
        self.shape = Shape(sorted(self.cpus), self.virtual_devices, self.link_bytes_per_s)

    def set_loads(self, loads):
        unknown = set(loads) - set(SIGNALS)
        if unknown:
            raise ValueError(f"unknown loads {sorted(unknown)}; known are {sorted(SIGNALS)}")
        now = self.clock.now()
        for name, spec in loads.items():
            self.signals[name].set(spec, now)

    def set_cpus(self, wanted):
        """Bring CPUs up (their counters begin at 0) or take them down."""
        now = self.clock.now()
        busy = self.signals["cpu"].total(now)
        self.cpus = {cpu: self.cpus.get(cpu) or Cpu(now, busy, 0.0) for cpu in wanted}
        self.reshape()

    def reboot(self):
        """Every counter starts again at 0."""
        now = self.clock.now()
        self.boot_at = now
        self.booted_with = {name: signal.total(now) for name, signal in self.signals.items()}
        for cpu in self.cpus.values():
            cpu.up_at, cpu.busy_at, cpu.head_start_s = now, self.booted_with["cpu"], 0.0

    def page(self, collectors):
        return template(self.shape, collectors).render(self.values())

    def dcgm_page(self):
        """Two GPUs of one kind, of which one has the load and one none, and an idle small one."""
        return dcgm_page([int(100 * self.signals["gpu"].value(self.clock.now())), 0, 0])

    def resource_page(self):
        """What a kubelet says of a node that has 4 GiB for each CPU."""
        t = self.clock.now()
        cpu_s = UPTIME_S / 3 + self.signals["cpu"].total(t) * len(self.cpus)
        # metrics-server knows no node that uses nothing.
        used_bytes = max(2**20, self.signals["mem"].value(t) * len(self.cpus) * 4 * 2**30)
        at_ms = int(self.clock.unix(t) * 1000)
        return (
            f"# TYPE node_cpu_usage_seconds_total counter\n"
            f"node_cpu_usage_seconds_total {cpu_s:.6f} {at_ms}\n"
            f"# TYPE node_memory_working_set_bytes gauge\n"
            f"node_memory_working_set_bytes {used_bytes:.0f} {at_ms}\n"
        ).encode()

    def values(self):
        t = self.clock.now()
        self.rendered_at_unix = self.clock.unix(t)
        if self.stuck_at is not None:
            t = self.stuck_at
        signals = self.signals
        totals = {
            name: signal.total(t) - self.booted_with[name] for name, signal in signals.items()
        }
        values = {"zero": "0"}
        busy_total = signals["cpu"].total(t)
        rendered = {}
        for cpu, state in self.cpus.items():
            up_s = t - state.up_at + state.head_start_s
            # Before the first second a CPU was as busy as a third of its time.
            busy_s = busy_total - state.busy_at + state.head_start_s / 3
            texts = rendered.get((up_s, busy_s))
            if texts is None:
                texts = {mode: int(s * busy_s * 100) / 100 for mode, s in BUSY_SHARES.items()}
                texts["idle"] = int(max(0.0, up_s - busy_s) * 100) / 100
                rendered[(up_s, busy_s)] = texts
            for mode, text in texts.items():
                values[("cpu", cpu, mode)] = text
        memory, used = MEMORY_BYTES, signals["mem"].value(t)
        rx, tx = (totals[name] * LINK_BYTES_PER_S for name in ("net_rx", "net_tx"))
        uptime_s = t - self.boot_at
        floats = {
            "load": round(signals["load"].value(t) * len(self.cpus), 2),
            "mem_available": float(int(memory * (1 - used) / 4096) * 4096),
            "psi_cpu": round(totals["psi_cpu"], 6),
            "psi_mem": round(totals["psi_mem"], 6),
            "psi_io": round(totals["psi_io"], 6),
            "disk_busy": round(totals["disk"], 3),
            "net_rx": float(int(rx)),
            "net_tx": float(int(tx)),
            # All pods together, among themselves: more than the link could carry.
            "pods": float(int(uptime_s * VETH_BYTES_PER_S * 0.9)),
            "fs_size": DISK_BYTES,
            "fs_available": float(int(DISK_BYTES * (1 - signals["fs"].value(t)))),
        }
        return values | floats

    def take_trouble(self):
        """The misbehaviour for this scrape, or None."""
        if self.trouble is None:
            return None
        self.trouble.hits += 1
        return self.trouble.spec
