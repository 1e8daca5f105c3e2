"""The Debian 12 in which a release is made: every compiler, library and tool of it is Debian's.

It is kept in the user's cache for a day, so that the next release has the security updates of its day.
PLIMSOLL_DEBIAN names a sources.list to take the packages from instead, such as one of Debian's
snapshots: then the root is as old as that.
"""

import hashlib
import os
import pathlib
import shlex
import shutil
import subprocess
import time

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
ROOTS = CACHE / "plimsoll-release"
MAX_AGE_S = 86400
# What is needed of each architecture that is released, and what is needed once.
LIBRARIES = (
    *("libc6-dev", "libcurl4-openssl-dev", "libjansson-dev", "libmicrohttpd-dev", "libyaml-dev"),
    *("libcmocka-dev", "libssl-dev", "libc-ares-dev", "zlib1g-dev"),
)
TOOLS = (
    *("gcc", "gcc-aarch64-linux-gnu", "make", "meson", "ninja-build", "pkg-config", "dpkg-dev"),
    *("python3", "qemu-user", "tzdata", "ca-certificates"),
)
FOREIGN = "arm64"
# The sources of curl, of which the plugin's libcurl is built; a place to work, since nothing else is
# written to the root afterwards.
HOOKS = (
    'sed -n "s/^deb /deb-src /p" "$1/etc/apt/sources.list" >"$1/etc/apt/sources.list.d/sources.list"',
    'chroot "$1" sh -c "cd /usr/src && apt-get -qq source --download-only curl" && mkdir -p "$1/work"',
)
ENTER = """
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount --bind "$work" "$root/work"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
exec nice -n 10 chroot "$root" "$@"
"""


def make():
    """The path of a root that is young enough."""
    packages = [*LIBRARIES, *(f"{name}:{FOREIGN}" for name in LIBRARIES), *TOOLS]
    sources = os.environ.get("PLIMSOLL_DEBIAN")
    said = pathlib.Path(sources).read_text(encoding="utf-8") if sources else ""
    key = hashlib.sha256("\n".join([*packages, *HOOKS, said]).encode()).hexdigest()[:16]
    root = ROOTS / f"root-{key}"
    if root.exists() and time.time() - root.stat().st_mtime < MAX_AGE_S:
        return root
    print("making a Debian root by mmdebstrap, for minutes", flush=True)
    partial = ROOTS / f"partial-{key}"
    for path in (root, partial):
        shutil.rmtree(path, ignore_errors=True)
    ROOTS.mkdir(parents=True, exist_ok=True)
    argv = ["mmdebstrap", "--quiet", "--variant=apt", f"--architectures=amd64,{FOREIGN}"]
    argv += [f"--include={','.join(packages)}", f"--setup-hook={HOOKS[0]}"]
    argv += [f"--customize-hook={HOOKS[1]}", "bookworm", str(partial), *([sources] if said else [])]
    subprocess.run(argv, check=True)
    os.utime(partial)
    partial.rename(root)
    return root


def run(root, work, env, *argv):
    """Run a command in the root, which is read-only; it may write to @work alone, as /work.

    It has no network. Return its status.
    """
    inside = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/work", "TMPDIR": "/work"}
    inside |= {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONDONTWRITEBYTECODE": "1", **env}
    command = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child=KILL"]
    command += ["env", "-i", *(f"{key}={value}" for key, value in inside.items())]
    where = f"root={shlex.quote(str(root))} work={shlex.quote(str(work))}"
    command += ["bash", "-euc", f"{where}\n{ENTER}", "release"]
    return subprocess.run([*command, *map(str, argv)], check=False).returncode
