"""The text of a page: what never changes is rendered once for all targets of one shape.

A Template holds the page with %s where a value goes. It is shared by every target with the same
CPUs and collectors, so that a scrape costs the formatting of its numbers and little more.
"""

import os
from functools import lru_cache

COLLECTORS = (
    "cpu",
    "diskstats",
    "filesystem",
    "loadavg",
    "meminfo",
    "netclass",
    "netdev",
    "pressure",
    "stat",
    "time",
    "uname",
)
# Known to the real exporter, and off by default there (or absent on a virtual machine).
DISABLED = {"buddyinfo", "ntp", "perf", "processes", "supervisord", "tcpstat", "wifi"}

MODES = ("idle", "iowait", "irq", "nice", "softirq", "steal", "system", "user")
# How busy time divides among the modes.
BUSY_SHARES = {
    "iowait": 0.03,
    "irq": 0.0,
    "nice": 0.01,
    "softirq": 0.02,
    "steal": 0.01,
    "system": 0.23,
    "user": 0.70,
}


MEMORY_BYTES = 32.0 * 2**30
LINK_BYTES_PER_S = 1.25e9
VETH_BYTES_PER_S = 1.25e9  # as the kernel makes it up
DISK_BYTES = 107374182400.0
DEVICE = "eth0"
DISK = "nvme0n1"


def _load_families():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "families.tsv")
    families = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                collector, name, kind, text = line.rstrip("\n").split("\t")
                families[name] = (collector, kind, text)
    return families


FAMILIES = _load_families()


class Shape:
    """What two targets must have in common to share a template."""

    __slots__ = ("cpus", "virtual_devices", "link_bytes_per_s", "key")

    def __init__(self, cpus, virtual_devices, link_bytes_per_s):
        self.cpus = tuple(cpus)
        self.virtual_devices = virtual_devices
        self.link_bytes_per_s = link_bytes_per_s
        self.key = (self.cpus, virtual_devices, link_bytes_per_s)

    def __hash__(self):
        return hash(self.key)

    def __eq__(self, other):
        return self.key == other.key


def virtual_devices(shape):
    """Two kinds of names: the usual one, and what some CNI plugin may think of."""
    return [f"{'veth' if i % 2 == 0 else 'pod'}{i:08x}" for i in range(shape.virtual_devices)]


def _static(shape):
    """family -> sample lines whose values never change; what is in no row is one 0."""
    veths = virtual_devices(shape)
    devices = [DEVICE, "lo"] + veths
    ids = {"lo": 1, DEVICE: 2, **{name: 10 + i for i, name in enumerate(veths)}}
    network = {
        "speed_bytes": {
            DEVICE: float(shape.link_bytes_per_s),
            **dict.fromkeys(veths, VETH_BYTES_PER_S),
        },
        "iface_id": ids,
        # A veth's end in the pod, by its number there.
        "iface_link": {name: 3 if name in veths else ids[name] for name in devices},
        "protocol_type": {name: 772 if name == "lo" else 1 for name in devices},
        "carrier": dict.fromkeys(devices, 1),
        "name_assign_type": dict.fromkeys(devices, 4),
    }
    return {
        "node_memory_MemTotal_bytes": [f"node_memory_MemTotal_bytes {MEMORY_BYTES}"],
        "node_uname_info": ['node_uname_info{nodename="node",sysname="Linux"} 1'],
        **{
            f"node_network_{family}": [
                f'node_network_{family}{{device="{device}"}} {value}'
                for device, value in values.items()
            ]
            for family, values in network.items()
        },
    }


def _dynamic(shape):
    """family -> [(labels, key of the value)] whose values change from scrape to scrape."""
    root = f'{{device="/dev/{DISK}p1",fstype="ext4",mountpoint="/"}}'
    tmpfs = '{device="tmpfs",fstype="tmpfs",mountpoint="/run/lock"}'
    rows = {
        "node_load1": [("", "load")],
        "node_load5": [("", "load")],
        "node_load15": [("", "load")],
        "node_memory_MemAvailable_bytes": [("", "mem_available")],
        "node_pressure_cpu_waiting_seconds_total": [("", "psi_cpu")],
        "node_pressure_memory_waiting_seconds_total": [("", "psi_mem")],
        "node_pressure_io_waiting_seconds_total": [("", "psi_io")],
        "node_cpu_seconds_total": [
            (f'{{cpu="{cpu}",mode="{mode}"}}', ("cpu", cpu, mode))
            for cpu in shape.cpus
            for mode in MODES
        ],
        "node_disk_io_time_seconds_total": [(f'{{device="{DISK}"}}', "disk_busy")],
        # The tmpfs is as full as can be, and none of the node's disks.
        "node_filesystem_avail_bytes": [(root, "fs_available"), (tmpfs, "zero")],
        "node_filesystem_size_bytes": [(root, "fs_size"), (tmpfs, "fs_size")],
        "node_filesystem_readonly": [(root, "zero"), (tmpfs, "zero")],
    }
    for direction, key in (("receive", "net_rx"), ("transmit", "net_tx")):
        rows[f"node_network_{direction}_bytes_total"] = [
            (f'{{device="{device}"}}', key if device == DEVICE else "pods")
            for device in [DEVICE] + virtual_devices(shape)
        ]
    return rows


class Template:
    """One page; `keys` name the values in the order of their places."""

    def __init__(self, shape, collectors):
        static, dynamic = _static(shape), _dynamic(shape)
        for family in ("duration_seconds", "success"):
            value = "1" if family == "success" else "0.000238979"
            static[f"node_scrape_collector_{family}"] = [
                f'node_scrape_collector_{family}{{collector="{name}"}} {value}'
                for name in collectors
            ]
        parts, self.keys = [], []
        for family in sorted(FAMILIES):
            collector, kind, text = FAMILIES[family]
            if collector != "self" and collector not in collectors:
                continue
            parts.append(f"# HELP {family} {text}\n# TYPE {family} {kind}\n".replace("%", "%%"))
            if family in dynamic:
                for labels, key in dynamic[family]:
                    parts.append(f"{family}{labels} %s\n")
                    self.keys.append(key)
            else:
                parts.extend(line + "\n" for line in static.get(family, [f"{family} 0"]))
        self.text = "".join(parts)

    def render(self, values):
        return (self.text % tuple([values[key] for key in self.keys])).encode()


def dcgm_page(utilisations):
    """NVIDIA's dcgm-exporter, as far as it matters: a GPU for each utilisation, in percent."""
    families = {
        "DCGM_FI_DEV_SM_CLOCK": ("SM clock frequency (in MHz).", lambda _: 1410),
        "DCGM_FI_DEV_GPU_UTIL": ("GPU utilization (in %).", lambda percent: percent),
        # A field that the GPU does not have, as some versions write it.
        "DCGM_FI_DEV_MEMORY_TEMP": ("Memory temperature (in C).", lambda _: 9223372036854775794),
    }
    parts = []
    for family, (text, value) in families.items():
        parts.append(f"# HELP {family} {text}\n# TYPE {family} gauge\n")
        for i, percent in enumerate(utilisations):
            model = "NVIDIA A100-SXM4-80GB" if i < 2 else "NVIDIA T1000 8GB"
            parts.append(
                f'{family}{{gpu="{i}",UUID="GPU-c2f76b33-7953-256e-8f33-13433419b{i:03x}",'
                f'pci_bus_id="00000000:{49 + i:02X}:00.0",device="nvidia{i}",modelName="{model}",'
                f'Hostname="dcgm",DCGM_FI_DRIVER_VERSION="580.105.08",container="",namespace="",'
                f'pod=""}} {value(percent)}\n'
            )
    return "".join(parts).encode()


@lru_cache(maxsize=512)
def template(shape, collectors):
    return Template(shape, collectors)
