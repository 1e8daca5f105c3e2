"""Real kubelets, each with containerd on a machine of its own as far as it can tell (tests/e2e/node).

The machines share one kernel: each sees all of its CPUs, but its root cgroup, and so what the kubelet says of
the node, is that of its own processes. Its memory is what MEMINFO says. Pods are on the node's network, so
nothing has to make one for them.
"""

import contextlib
import hashlib
import io
import json
import os
import pathlib
import platform
import signal
import subprocess
import tarfile
import time

import yaml
from harness import Process, wait_until
from tools import build

E2E = pathlib.Path(__file__).resolve().parents[1]
NODE = E2E / "node"
CGROUPS = pathlib.Path("/sys/fs/cgroup")
PORT = 10250
IMAGE = "docker.io/library/burn:1"
PLANE_ADDRESS = "10.137.0.1"
MEMORY_KIB = 2 << 20
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# Loaded at the start, so that the node is ready; a pod on the node's network needs no plugin.
NO_NETWORK = {"cniVersion": "0.3.1", "name": "none", "type": "loopback"}


def call(*argv, **more):
    done = subprocess.run(argv, capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
    return done.stdout


def lacking():
    """Why this machine can have no such nodes; None: it can."""
    if os.geteuid() != 0 or not os.access(CGROUPS, os.W_OK):
        return "cgroups cannot be made without root"
    return None if (CGROUPS / "cpuacct").is_dir() else "the machine has no cgroups of version 1"


def build_image(directory):
    """An image of tools/burn.c alone, as `docker save` writes it; its path."""
    path = os.path.join(directory, "burn.tar")
    program = os.path.join(os.environ["PLIMSOLL_RELEASE_DIR"], "tests", "burn")
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        tar.add(program, "burn")
    config = {
        "architecture": ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": {"Entrypoint": ["/burn"]},
        "rootfs": {
            "type": "layers",
            "diff_ids": ["sha256:" + hashlib.sha256(layer.getvalue()).hexdigest()],
        },
    }
    manifest = [{"Config": "config.json", "RepoTags": [IMAGE], "Layers": ["layer.tar"]}]
    with tarfile.open(path, "w") as tar:
        for name, data in (
            ("layer.tar", layer.getvalue()),
            ("config.json", json.dumps(config).encode()),
            ("manifest.json", json.dumps(manifest).encode()),
        ):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return path


def containerd_argv(directory, image):
    """Containerd with all it has in this directory, and its socket; `image` is the sandboxes'."""
    socket = os.path.join(directory, "containerd.sock")
    lines = [
        "version = 2",
        f"root = '{directory}/root'",
        f"state = '{directory}/state'",
        f"[grpc]\naddress = '{socket}'",
        '[plugins."io.containerd.grpc.v1.cri"]',
        # Who may not lower the score that the kernel kills by, need not try.
        f"sandbox_image = '{image}'\nrestrict_oom_score_adj = true",
        '[plugins."io.containerd.grpc.v1.cri".containerd]\nsnapshotter = "native"',
        '[plugins."io.containerd.grpc.v1.cri".cni]',
        f"conf_dir = '{directory}/cni'\nbin_dir = '{directory}/cni'",
    ]
    config = pathlib.Path(directory, "containerd.toml")
    config.write_text("\n".join(lines) + "\n", "ascii")
    return ["containerd", f"--config={config}"], socket


def kubelet_argv(plane, name, directory, socket, addresses, **more):
    """The kubelet of a node, with containerd at this socket; `more` is its configuration."""
    cert, key = plane.authority.server(name, addresses, [name])
    client = plane.authority.client(f"{name}-client", f"system:node:{name}", "system:nodes")
    config = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True}},
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": cert,
        "tlsPrivateKeyFile": key,
        "port": PORT,
        "healthzPort": 0,
        "containerRuntimeEndpoint": f"unix://{socket}",
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
        "failSwapOn": False,
        "failCgroupV1": False,
        "localStorageCapacityIsolation": False,
        "resolvConf": "",
        **more,
    }
    path = pathlib.Path(directory, "kubelet.yaml")
    path.write_text(yaml.safe_dump(config), "ascii")
    return [
        build.program("kubelet"),
        f"--config={path}",
        f"--kubeconfig={plane.write_kubeconfig(name, *client)}",
        f"--root-dir={directory}/kubelet",
        f"--cert-dir={directory}/pki",
        f"--hostname-override={name}",
    ]


def cpu_s(folder):
    return int((folder / "cpuacct.usage").read_text("ascii")) / 1e9


def working_set(folder):
    """Of a cgroup, as a kubelet computes it."""
    stat = dict(line.split() for line in (folder / "memory.stat").read_text("ascii").splitlines())
    used = int((folder / "memory.usage_in_bytes").read_text("ascii"))
    return used - int(stat["total_inactive_file"])


class RealNode:
    """One of them; `plane` listens on PLANE_ADDRESS, which add_plane_address() gave to this network.

    `log_dir` takes what its processes print, `directory` all else. After start() it must be removed.
    """

    def __init__(self, plane, directory, log_dir, number):
        self.plane, self.log_dir, self.number = plane, log_dir, number
        self.name = f"real-{number}"
        self.address = f"10.137.{number + 1}.2"
        self.root = os.path.join(directory, self.name)
        os.makedirs(self.root)
        self.cgroup = f"plimsoll-{os.urandom(4).hex()}"
        self.folders = list(self._folders())
        self.processes = []

    def _folders(self):
        """Of its cgroup, one for each controller."""
        for line in pathlib.Path("/proc/self/cgroup").read_text("ascii").splitlines():
            _, controller, path = line.split(":", 2)
            if controller and "=" not in controller:
                yield CGROUPS / controller / path.lstrip("/") / self.cgroup

    def start(self, image):
        """Containerd with this image, and the kubelet."""
        self._hold()
        self._connect()
        self._start_containerd()
        call("ctr", f"--address={self.socket}", "--namespace=k8s.io", "images", "import", image)
        self.start_kubelet()

    def path(self, name):
        return os.path.join(self.root, name)

    def _run(self, name, *argv):
        name = f"{self.name}-{name}-{len(self.processes)}"
        self.processes.append(Process([NODE, *argv], name, self.log_dir))
        return self.processes[-1]

    def _hold(self):
        with open(self.path("meminfo"), "w", encoding="ascii") as file:
            file.write(f"MemTotal: {MEMORY_KIB} kB\nMemFree: {MEMORY_KIB} kB\nSwapTotal: 0 kB\n")
        self.holder = self._run("holder", "hold", self.cgroup, self.path("meminfo"))
        self.holder.wait_log("^ready")

    def _enter(self, program, *argv):
        name = os.path.basename(program)
        return self._run(name, "enter", self.cgroup, str(self.holder.pid), program, *argv)

    def _connect(self):
        ours, pid = f"real{self.number}", str(self.holder.pid)
        gateway = self.address[:-1] + "1"
        call("ip", "link", "add", ours, "type", "veth", "peer", "name", "eth0", "netns", pid)
        call("ip", "address", "add", f"{gateway}/30", "dev", ours)
        call("ip", "link", "set", ours, "up")
        inside = ("nsenter", f"--target={pid}", "--net", "ip")
        call(*inside, "address", "add", f"{self.address}/30", "dev", "eth0")
        call(*inside, "link", "set", "eth0", "up")
        call(*inside, "route", "add", "default", "via", gateway)

    def _start_containerd(self):
        os.mkdir(self.path("cni"))
        pathlib.Path(self.path("cni"), "none.conf").write_text(json.dumps(NO_NETWORK), "ascii")
        argv, self.socket = containerd_argv(self.root, IMAGE)
        self._enter(*argv)
        wait_until(lambda: os.path.exists(self.socket), 60, "containerd to listen")

    def start_kubelet(self):
        """It registers its Node."""
        argv = kubelet_argv(
            self.plane, self.name, self.root, self.socket, [self.address],
            nodeStatusUpdateFrequency="5s",
        )  # fmt: skip
        self.kubelet = self._enter(*argv, f"--node-ip={self.address}")

    def busy_s(self):
        """CPU time of all that ever ran on this node, by its cgroup."""
        return cpu_s(self._folder("cpuacct.usage"))

    def memory_ratio(self):
        """The working set of its cgroup."""
        return working_set(self._folder("memory.usage_in_bytes")) / (MEMORY_KIB << 10)

    def containers(self, *arguments):
        """(CPU time, bytes of the working set) of each container whose process has these, by its cgroup."""
        cpu, memory = self._folder("cpuacct.usage"), self._folder("memory.usage_in_bytes")
        for inner, _, _ in os.walk(cpu):
            pids = pathlib.Path(inner, "cgroup.procs").read_text("ascii").split()
            argv = [pathlib.Path("/proc", pid, "cmdline").read_text("ascii") for pid in pids]
            if ["/burn", *map(str, arguments)] in [text.split("\0")[:-1] for text in argv]:
                path = pathlib.Path(inner).relative_to(cpu)
                yield cpu_s(cpu / path), working_set(memory / path)

    def _folder(self, file):
        (folder,) = (folder for folder in self.folders if (folder / file).exists())
        return folder

    def remove(self):
        """Whatever runs in its cgroup ends, and the cgroup goes."""
        wait_until(self._is_empty, 30, f"the processes of {self.name} to end")
        for process in self.processes:
            process.kill()
        for folder in self.folders:
            for inner, _, _ in os.walk(folder, topdown=False):
                os.rmdir(inner)

    def _pids(self):
        """A pod's folder may go while they are read."""
        for folder in self.folders:
            for inner, _, _ in os.walk(folder):
                with contextlib.suppress(OSError):
                    yield from map(int, pathlib.Path(inner, "cgroup.procs").read_text().split())

    def _is_empty(self):
        pids = set(self._pids())
        for pid in pids - {0}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.1)
        return not pids


def add_plane_address():
    """Where nodes reach the API server: 127.0.0.0/8 is another in each network."""
    call("ip", "address", "replace", f"{PLANE_ADDRESS}/32", "dev", "lo")
