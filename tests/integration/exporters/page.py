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

# Fields of /proc/meminfo as shares of MemTotal; those not named here are 0.
MEMINFO_SHARES = {
    "Active_anon_bytes": 0.14,
    "Active_bytes": 0.25,
    "Active_file_bytes": 0.11,
    "AnonPages_bytes": 0.16,
    "Buffers_bytes": 0.02,
    "Cached_bytes": 0.21,
    "CommitLimit_bytes": 0.5,
    "Committed_AS_bytes": 0.38,
    "DirectMap2M_bytes": 0.9,
    "DirectMap4k_bytes": 0.1,
    "Inactive_anon_bytes": 0.02,
    "Inactive_bytes": 0.12,
    "Inactive_file_bytes": 0.1,
    "KReclaimable_bytes": 0.02,
    "Mapped_bytes": 0.03,
    "MemTotal_bytes": 1.0,
    "PageTables_bytes": 0.002,
    "SReclaimable_bytes": 0.02,
    "SUnreclaim_bytes": 0.01,
    "Shmem_bytes": 0.01,
    "Slab_bytes": 0.03,
}

MEMORY_BYTES = 32.0 * 2**30
LINK_BYTES_PER_S = 1.25e9
VETH_BYTES_PER_S = 1.25e9  # as the kernel makes it up
DISK_BYTES = 107374182400.0
DEVICE = "eth0"
DISK = "nvme0n1"


def number(value):
    """A float as Go's strconv 'g' with the shortest digits: exponents from 1e+06 on."""
    if value != value:
        return "NaN"
    size = abs(value)
    if 1e-4 <= size < 1e6 or size == 0:
        text = repr(value)
        return text[:-2] if text.endswith(".0") else text
    if size == float("inf"):
        return "+Inf" if value > 0 else "-Inf"
    text = repr(value)
    mantissa, _, exponent = text.partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    lead = len(whole) if whole != "0" else len(fraction.lstrip("0")) - len(fraction)
    power = int(exponent or 0) + lead - 1
    digits = digits.rstrip("0") or "0"
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{sign}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


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
    """family -> sample lines whose values never change."""
    lines = {
        "go_gc_duration_seconds": [
            'go_gc_duration_seconds{quantile="0"} 2.2e-05',
            'go_gc_duration_seconds{quantile="0.25"} 3.4e-05',
            'go_gc_duration_seconds{quantile="0.5"} 4.5e-05',
            'go_gc_duration_seconds{quantile="0.75"} 6.1e-05',
            'go_gc_duration_seconds{quantile="1"} 0.00081',
            "go_gc_duration_seconds_sum 0.104",
            "go_gc_duration_seconds_count 1804",
        ],
        "go_goroutines": ["go_goroutines 8"],
        "go_info": ['go_info{version="go1.19.8"} 1'],
        "go_threads": ["go_threads 7"],
        "node_exporter_build_info": [
            'node_exporter_build_info{branch="debian/sid",goarch="amd64",goos="linux",'
            'goversion="go1.19.8",revision="1.5.0-1+b6",version="1.5.0"} 1'
        ],
        "node_disk_info": [
            f'node_disk_info{{device="{DISK}",major="259",minor="0",model="",path="",revision="",'
            'serial="",wwn=""} 1'
        ],
        "node_uname_info": [
            'node_uname_info{domainname="(none)",machine="x86_64",nodename="node",'
            'release="6.1.0-32-amd64",sysname="Linux",version="#1 SMP"} 1'
        ],
        "process_max_fds": ["process_max_fds 1.048576e+06"],
        "process_open_fds": ["process_open_fds 9"],
        "process_resident_memory_bytes": ["process_resident_memory_bytes 2.1204992e+07"],
        "process_virtual_memory_bytes": ["process_virtual_memory_bytes 1.267277824e+09"],
        "process_virtual_memory_max_bytes": [
            "process_virtual_memory_max_bytes 1.8446744073709552e+19"
        ],
        "promhttp_metric_handler_requests_in_flight": [
            "promhttp_metric_handler_requests_in_flight 1"
        ],
    }
    veths = virtual_devices(shape)
    devices = [DEVICE, "lo"] + veths
    speeds = {DEVICE: shape.link_bytes_per_s, **dict.fromkeys(veths, VETH_BYTES_PER_S)}
    ids = {"lo": 1, DEVICE: 2, **{name: 10 + i for i, name in enumerate(veths)}}
    lines["node_network_speed_bytes"] = [
        f'node_network_speed_bytes{{device="{device}"}} {number(float(speed))}'
        for device, speed in speeds.items()
    ]
    for family, values in {
        "iface_id": ids,
        # A veth's end in the pod, by its number there.
        "iface_link": {name: 3 if name in veths else ids[name] for name in devices},
        "protocol_type": {name: 772 if name == "lo" else 1 for name in devices},
    }.items():
        lines[f"node_network_{family}"] = [
            f'node_network_{family}{{device="{device}"}} {value}'
            for device, value in values.items()
        ]
    for family, value in (("carrier", 1), ("mtu_bytes", 1500), ("name_assign_type", 4), ("up", 1)):
        lines[f"node_network_{family}"] = [
            f'node_network_{family}{{device="{device}"}} {value}' for device in devices
        ]
    lines["node_network_info"] = [
        f'node_network_info{{address="02:00:00:00:00:01",broadcast="ff:ff:ff:ff:ff:ff",'
        f'device="{device}",duplex="full",ifalias="",operstate="up"}} 1'
        for device in devices
    ]
    for family in FAMILIES:
        if family.startswith("node_memory_"):
            share = MEMINFO_SHARES.get(family.removeprefix("node_memory_"), 0)
            lines[family] = [f"{family} {number(float(int(share * MEMORY_BYTES)))}"]
    return lines


def _dynamic(shape):
    """family -> [(labels, key of the value)] whose values change from scrape to scrape."""
    rows = {
        "node_load1": [("", "load")],
        "node_load5": [("", "load")],
        "node_load15": [("", "load")],
        "node_boot_time_seconds": [("", "boot")],
        "node_time_seconds": [("", "now")],
        "node_context_switches_total": [("", "switches")],
        "node_forks_total": [("", "forks")],
        "node_intr_total": [("", "switches")],
        "node_procs_running": [("", "running")],
        "node_procs_blocked": [("", "zero")],
        "node_memory_MemAvailable_bytes": [("", "mem_available")],
        "node_memory_MemFree_bytes": [("", "mem_free")],
        "node_pressure_cpu_waiting_seconds_total": [("", "psi_cpu")],
        "node_pressure_memory_waiting_seconds_total": [("", "psi_mem")],
        "node_pressure_memory_stalled_seconds_total": [("", "psi_mem_full")],
        "node_pressure_io_waiting_seconds_total": [("", "psi_io")],
        "node_pressure_io_stalled_seconds_total": [("", "psi_io_full")],
        "process_cpu_seconds_total": [("", "self_cpu")],
        "process_start_time_seconds": [("", "boot")],
        "promhttp_metric_handler_requests_total": [
            ('{code="200"}', "scrapes"),
            ('{code="500"}', "zero"),
            ('{code="503"}', "zero"),
        ],
    }
    rows["node_cpu_seconds_total"] = [
        (f'{{cpu="{cpu}",mode="{mode}"}}', ("cpu", cpu, mode))
        for cpu in shape.cpus
        for mode in MODES
    ]
    rows["node_cpu_guest_seconds_total"] = [
        (f'{{cpu="{cpu}",mode="{mode}"}}', "zero")
        for cpu in shape.cpus
        for mode in ("nice", "user")
    ]
    devices = [DEVICE] + virtual_devices(shape)
    disk_values = {
        "node_disk_io_time_seconds_total": "disk_busy",
        "node_disk_io_time_weighted_seconds_total": "disk_busy",
        "node_disk_read_bytes_total": "disk_bytes",
        "node_disk_written_bytes_total": "disk_bytes",
        "node_disk_reads_completed_total": "disk_operations",
        "node_disk_writes_completed_total": "disk_operations",
    }
    net_values = {
        "node_network_receive_bytes_total": "net_rx",
        "node_network_transmit_bytes_total": "net_tx",
        "node_network_receive_packets_total": "net_rx_packets",
        "node_network_transmit_packets_total": "net_tx_packets",
    }
    root = f'{{device="/dev/{DISK}p1",fstype="ext4",mountpoint="/"}}'
    tmpfs = '{device="tmpfs",fstype="tmpfs",mountpoint="/run/lock"}'
    files = {
        "node_filesystem_avail_bytes": "fs_available",
        "node_filesystem_free_bytes": "fs_available",
        "node_filesystem_size_bytes": "fs_size",
        "node_filesystem_files": "fs_files",
        "node_filesystem_files_free": "fs_files",
    }
    for family, (collector, _, _) in FAMILIES.items():
        if collector == "diskstats" and family != "node_disk_info":
            rows[family] = [(f'{{device="{DISK}"}}', disk_values.get(family, "zero"))]
        elif collector == "netdev":
            key = net_values.get(family, "zero")
            rows[family] = [
                (f'{{device="{device}"}}', key if device == DEVICE or key == "zero" else "pods")
                for device in devices
            ]
        elif collector == "filesystem":
            rows[family] = [
                (root, files.get(family, "zero")),
                # As full as can be, and none of the node's disks.
                (tmpfs, "fs_files" if family.endswith("size_bytes") else "zero"),
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
                parts.extend(line.replace("%", "%%") + "\n" for line in static[family])
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
