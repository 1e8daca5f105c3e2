#!/usr/bin/python3
"""This machine under a load of its own, measured by plimsoll-controller and by /proc and /sys.

    measured_machine.py PLIMSOLL_CONTROLLER NODE_EXPORTER DIRECTORY

It runs in a network and a mount namespace of its own (test_controller_real_resources.py starts it by
unshare), where it makes a veth pair and sends frames over it; it also writes to a file in DIRECTORY and
keeps the CPUs busy. All of that ends with it, after some seconds.

A real node_exporter is scraped by `plimsoll-controller --dry-run --once` through a proxy that notes when.
What /proc and /sys said is sampled all the while, so for each resource the truth is known to lie between two
numbers: counters are read at some moment between request and answer, and the controller divides by its own
time. One line of JSON comes out: {resource: {"ours": .., "low": .., "high": .., "why": ..}}.
"""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request

from local_server import Handler, LocalServer
from policies import policy_object

NEAR, FAR = "uplink0", "far0"
FRAME_BYTES = 60_000
SENT_PER_S = {NEAR: 1500, FAR: 500}  # frames: 0.07 and 0.024 of 10 Gbit/s
FILE_BYTES, CHUNK_BYTES = 32 << 20, 1 << 20
LOAD_S = 30  # whatever happens, the load is over after that
INTERVAL_S = 4
PATIENCE_S = 20
RESOURCES = (
    *(
        "cpu",
        "mem",
        "net",
        "net_rx",
        "net_tx",
        "disk",
        "load",
        "fs",
        "psi_cpu",
        "psi_mem",
        "psi_io",
    ),
)
# What Debian's node_exporter leaves out by itself.
NO_DISK = re.compile(r"(ram|loop|fd|(h|s|v|xvd)d[a-z]|nvme\d+n\d+p)\d+")
NO_MOUNT = re.compile(
    r"/(dev|proc|run/credentials/.+|sys|var/lib/docker/.+|var/lib/containers/storage/.+)($|/)"
)


def call(*argv):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)


def make_devices():
    call("mount", "-t", "sysfs", "sysfs", "/sys")  # of this network namespace
    call("ip", "link", "set", "lo", "up")
    call("ip", "link", "add", NEAR, "mtu", "65000", "type", "veth", "peer", "name", FAR)
    for device in (NEAR, FAR):
        call("ip", "link", "set", device, "mtu", "65000", "up")


# -- loads ----------------------------------------------------------------------------------------


def send_frames(device, end):
    """Over one end of the pair; the other end receives them."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
        out.bind((device, 0))
        # To nobody, of a type for experiments: the kernel counts it and throws it away.
        frame = b"\x02\0\0\0\0\x01" + b"\x02\0\0\0\0\x02" + b"\x88\xb5" + bytes(FRAME_BYTES - 14)
        began, sent = time.monotonic(), 0
        while time.monotonic() < end:
            due = int((time.monotonic() - began) * SENT_PER_S[device])
            for _ in range(min(due - sent, 100)):
                with contextlib.suppress(OSError):  # its queue is full for a moment
                    out.send(frame)
            sent = due
            time.sleep(0.005)


def write_file(path, end):
    chunk = os.urandom(CHUNK_BYTES)
    with open(path, "wb", buffering=0) as file:
        written = 0
        while time.monotonic() < end:
            file.write(chunk)
            os.fsync(file.fileno())
            written += CHUNK_BYTES
            if written % FILE_BYTES == 0:
                file.seek(0)
            time.sleep(0.05)


def start_loads(directory):
    end = time.monotonic() + LOAD_S
    jobs = [(send_frames, NEAR, end), (send_frames, FAR, end)]
    jobs.append((write_file, os.path.join(directory, "written"), end))
    for function, *arguments in jobs:
        threading.Thread(target=function, args=arguments, daemon=True).start()
    # One more than there are CPUs, all at the same time for three fifths of it: somebody waits then.
    busy = (
        "import os, time\n"
        "os.nice(19)\n"
        f"end = time.monotonic() + {LOAD_S}\n"
        "while time.monotonic() < end:\n"
        "    while time.monotonic() % 0.25 < 0.15: pass\n"
        "    time.sleep(0.25 - time.monotonic() % 0.25)\n"
    )
    argv = [sys.executable, "-c", busy]
    return [subprocess.Popen(argv) for _ in range(os.cpu_count() + 1)]


# -- what the kernel says -------------------------------------------------------------------------


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def read_psi(name):
    """Seconds that some task waited; None on a kernel without."""
    try:
        return int(re.search(r"some .*total=(\d+)", read(f"/proc/pressure/{name}"))[1]) / 1e6
    except OSError:
        return None


def fullest_filesystem():
    fullest = None
    for line in read("/proc/self/mounts").splitlines():
        device, mountpoint, kind, options = line.split(" ")[:4]
        if not device.startswith("/dev/") or kind.startswith("fuse.") or NO_MOUNT.match(mountpoint):
            continue
        if "ro" in options.split(",") or re.match(r"/boot($|/)|/var/lib/kubelet/p", mountpoint):
            continue
        about = os.statvfs(mountpoint)
        if about.f_blocks > 0:
            fullest = max(fullest or 0, 1 - about.f_bavail / about.f_blocks)
    return fullest


def sample():
    """{name: {device: number}}: counters in seconds or bytes, gauges as ratios."""
    ticks = [int(text) for text in read("/proc/stat").splitlines()[0].split()[1:9]]
    memory = dict(line.split(":") for line in read("/proc/meminfo").splitlines())
    total, available = (int(memory[key].split()[0]) for key in ("MemTotal", "MemAvailable"))
    network = {
        name.strip(): [int(text) for text in rest.split()]
        for name, _, rest in (
            line.partition(":") for line in read("/proc/net/dev").splitlines()[2:]
        )
    }
    disks = [line.split() for line in read("/proc/diskstats").splitlines()]
    cpus = len(re.findall(r"^cpu\d", read("/proc/stat"), re.MULTILINE))
    return {
        "all": {"": sum(ticks)},
        "idle": {"": ticks[3]},
        "mem": {"": 1 - available / total},
        "load": {"": min(1, float(read("/proc/loadavg").split()[1]) / cpus)},
        "fs": {"": fullest_filesystem()},
        "net_rx": {NEAR: network[NEAR][0]},
        "net_tx": {NEAR: network[NEAR][8]},
        "disk": {row[2]: int(row[12]) / 1000 for row in disks if not NO_DISK.fullmatch(row[2])},
        **{f"psi_{short}": {"": read_psi(name)} for short, name in
           (("cpu", "cpu"), ("mem", "memory"), ("io", "io"))},
    }  # fmt: skip


class Kernel(threading.Thread):
    """Samples of all of that, many per second."""

    def __init__(self):
        super().__init__(daemon=True)
        self.rows = []
        self.is_done = threading.Event()

    def run(self):
        while not self.is_done.wait(0.02):
            began = time.monotonic()
            row = sample()
            self.rows.append((began, time.monotonic(), row))

    def wait_sampled(self, at):
        """Until there is a sample that was begun after this moment."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.rows or self.rows[-1][0] <= at:
            if time.monotonic() > deadline or not self.is_alive():
                raise RuntimeError("the kernel is not sampled")
            time.sleep(0.01)

    def between(self, begin, end, name, device=""):
        """The least and the most that was there at some moment between these two."""
        before = [row for _, done, row in self.rows if done <= begin][-1:]
        after = [row for began, _, row in self.rows if began >= end][:1]
        within = [row for began, done, row in self.rows if began < end and done > begin]
        assert before and after, "not sampled at that moment"
        values = [row[name][device] for row in before + within + after]
        return None if None in values else (min(values), max(values))


# -- in between -----------------------------------------------------------------------------------


def start_exporter(program, log):
    process = subprocess.Popen(
        [program, "--web.listen-address=127.0.0.1:0"], stdout=log, stderr=log
    )
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = re.search(r'Listening on" address=[\d.]+:(\d+)', read(log.name))
        if found:
            return process, f"http://127.0.0.1:{found[1]}"
        time.sleep(0.02)
    raise RuntimeError("node_exporter does not listen")


def start_proxy(url, scrapes):
    class Passing(Handler):
        def do_GET(self):
            began = time.monotonic()
            with urllib.request.urlopen(url + self.path) as answer:
                page = answer.read()
            read_by = time.monotonic()
            self.reply(200, page)
            scrapes.append((began, read_by))

    return LocalServer(Passing).port


def ask_controller(program, port, directory):
    policy = policy_object({f"{name}_usage_avg_5m": "1m" for name in RESOURCES})
    path = os.path.join(directory, "policy.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(policy, file)
    argv = [
        *(program, "--dry-run", "--once", "--output=json", f"--scrape-interval={INTERVAL_S}s"),
        *(f"--policy-config-path={path}", f"--network-device-pattern={NEAR}"),
        f"--target=this=http://127.0.0.1:{port}/metrics",
    ]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"the controller ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


# -- the truth ------------------------------------------------------------------------------------


def truth(kernel, scrapes, done):
    """{resource: (low, high)}; None where the kernel says nothing."""
    (begin0, end0), (begin1, end1) = scrapes
    # The controller's interval: from the first answer's arrival to the second's, which may both
    # have come somewhat later.
    shortest_s, longest_s = begin1 - end0 - 0.05, min(end1 + 0.05, done) - begin0

    def difference(name, device=""):
        first = kernel.between(begin0, end0, name, device)
        second = kernel.between(begin1, end1, name, device)
        if first is None or second is None:
            return None
        return max(0, second[0] - first[1]), second[1] - first[0]

    def over_time(name, device="", per_s=1.0):
        spent = difference(name, device)
        if spent is None:
            return None
        return min(1, spent[0] / longest_s / per_s), min(1, spent[1] / shortest_s / per_s)

    speed_bytes = int(read(f"/sys/class/net/{NEAR}/speed")) * 1e6 / 8
    (all_low, all_high), (idle_low, idle_high) = difference("all"), difference("idle")
    disks = [over_time("disk", device) for device in kernel.rows[0][2]["disk"]]
    found = {
        "cpu": (max(0, 1 - idle_high / max(all_low, 1)), 1 - idle_low / all_high),
        "net_rx": over_time("net_rx", NEAR, speed_bytes),
        "net_tx": over_time("net_tx", NEAR, speed_bytes),
        "disk": tuple(map(max, zip(*disks))) if disks else None,
        **{f"psi_{name}": over_time(f"psi_{name}") for name in ("cpu", "mem", "io")},
        # The second scrape of a gauge speaks for the interval.
        **{name: kernel.between(begin1, end1, name) for name in ("mem", "load", "fs")},
    }
    found["net"] = tuple(map(max, found["net_rx"], found["net_tx"]))
    return found


def main():
    controller, exporter, directory = sys.argv[1:]
    make_devices()
    kernel, scrapes, processes = Kernel(), [], start_loads(directory)
    try:
        with open(os.path.join(directory, "node_exporter.log"), "w", encoding="utf-8") as log:
            process, url = start_exporter(exporter, log)
            processes.append(process)
            kernel.start()
            kernel.wait_sampled(time.monotonic())
            row = ask_controller(controller, start_proxy(url, scrapes), directory)
        done = time.monotonic()
        kernel.wait_sampled(done)
        kernel.is_done.set()
        kernel.join(PATIENCE_S)
        report = {}
        for name, bounds in truth(kernel, scrapes[-2:], done).items():
            key = f"{name}_usage_avg_5m"
            text = row["annotations"].get(key)
            report[name] = {
                "ours": text and float(text.split(",")[0]),
                "why": row["unusable"].get(key),
                "low": bounds and bounds[0],
                "high": bounds and bounds[1],
            }
        print(json.dumps(report))
    finally:
        for process in processes:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
