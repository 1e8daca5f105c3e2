"""A Debian that is a plain folder, to install packages in: made by mmdebstrap, entered as a chroot, or booted."""

import os
import pathlib
import secrets
import shutil
import subprocess

from harness import Process, wait_until

HERE = pathlib.Path(__file__).resolve().parent
ENTER = HERE.parent / "tools" / "enter-root"
CGROUPS = pathlib.Path("/sys/fs/cgroup")


def said_by(argv, status):
    done = subprocess.run(
        [str(word) for word in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False,
    )  # fmt: skip
    assert status in (None, done.returncode), f"{argv}: {done.returncode}: {done.stdout[-4000:]}"
    return done.stdout


class Debian:
    """`shared` is a folder that it sees as /srv."""

    def __init__(self, root, shared):
        self.root, self.shared = pathlib.Path(root), shared

    @classmethod
    def make(cls, suite, root, shared, *packages):
        argv = ["mmdebstrap", "--quiet", "--variant=apt", f"--include={','.join(packages)}"]
        said_by([*argv, suite, root], 0)
        return cls(root, shared)

    def copy(self, root):
        said_by(["cp", "-a", self.root, root], 0)
        return Debian(root, self.shared)

    def remove(self):
        shutil.rmtree(self.root)

    def run(self, *argv, status=0):
        """Run a command in it to its end, which must have this status (None: any): what it prints."""
        return said_by([ENTER, self.root, f"{self.shared}:/srv", "--", *argv], status)

    def apt(self, *argv):
        return self.run("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y", *argv)

    def path(self, inside):
        return self.root / inside.lstrip("/")


def own_cgroup():
    """A folder for a cgroup that is not there yet: of systemd's hierarchy, or of the only one."""
    rows = pathlib.Path("/proc/self/cgroup").read_text("ascii").splitlines()
    paths = dict(row.split(":", 2)[1:] for row in rows)
    systemd = CGROUPS / "systemd"
    home, path = (systemd, paths["name=systemd"]) if systemd.is_dir() else (CGROUPS, paths[""])
    return home / path.lstrip("/") / f"plimsoll-{secrets.token_hex(4)}"


class Booted(Debian):
    """One that systemd runs in, as a machine would; use as a context manager."""

    def __init__(self, debian, log_dir):
        super().__init__(debian.root, debian.shared)
        self.cgroup = own_cgroup()
        argv = [HERE / "boot", self.root, self.cgroup, self.shared]
        self.process = Process(argv, "systemd", log_dir)

    def __enter__(self):
        # What else a whole machine has may fail here.
        ended = ("running\n", "degraded\n")
        wait_until(lambda: self.state() in ended, 180, "systemd to have started all", 0.5)
        return self

    def __exit__(self, *_):
        try:
            self.run("systemctl", "poweroff", status=None)
            self.process.wait_exit(120)
        finally:
            self.process.kill()
            wait_until(lambda: not self._lives(), 30, "its processes to end")
            for folder, _, _ in os.walk(self.cgroup, topdown=False):
                os.rmdir(folder)

    def _lives(self):
        return any(path.read_text("ascii") for path in self.cgroup.rglob("cgroup.procs"))

    def first_process(self):
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return pathlib.Path(children).read_text("ascii").strip()

    def state(self):
        assert self.process.is_running(), self.process.text()
        return self.run("systemctl", "is-system-running", status=None)

    def run(self, *argv, status=0):
        enter = ["nsenter", f"--target={self.first_process()}", "--all", "--root", "--wd=/"]
        return said_by([*enter, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *argv], status)
