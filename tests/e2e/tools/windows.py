#!/usr/bin/python3
"""Makes what test_plugin.py needs to run the script for Windows, for minutes, and once: Wine in a Debian 13, since a program of
today's Go does not start in Debian 12's, and Kubernetes' kubectl.exe. `make nightly` runs this. It needs root and mmdebstrap."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1])]

from tools import build  # noqa: E402

ENTER = build.HERE.parents[1] / "tools" / "enter-root"
KUBECTL = "k8s.io/kubernetes/cmd/kubectl"
# Wine's own warnings are about a screen that is not there.
ENV = ("WINEPREFIX=/prefix", "WINEDEBUG=-all", "HOME=/root", "XDG_RUNTIME_DIR=/tmp")


def home():
    own = hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()[:8]
    return build.cache() / f"windows-{build.directory('kubernetes').name}-{own}"


def wine(root, folder, *argv, env=()):
    """A command in `folder`, which it has as Z:\\srv, where programs are looked for first."""
    inside = ("env", "-C", "/srv", *ENV, "WINEPATH=Z:\\srv", *env)
    return [str(ENTER), str(root), f"{folder}:/srv", "--", *inside, *argv]


def compile_kubectl(path):
    flags = build.MODULES["kubernetes"]["ldflags"]
    env = os.environ | {"GOOS": "windows", "GOARCH": "amd64", "CGO_ENABLED": "0", "GOWORK": "off"}
    argv = [
        "nice",
        build.find_go(),
        "build",
        "-gcflags=all=-dwarf=false",
        "-ldflags",
        f"-s -w {flags}",
    ]
    env["GOFLAGS"] = "-mod=readonly"
    subprocess.run([*argv, "-o", path, KUBECTL], cwd=build.HERE / "kubernetes", env=env, check=True)


def main():
    final = home()
    if final.exists():
        return
    partial = final.with_name(f".{final.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    (partial / "empty").mkdir(parents=True)
    print("making a Debian with Wine by mmdebstrap", flush=True)
    root = partial / "root"
    argv = ["mmdebstrap", "--quiet", "--variant=apt", "--include=wine,wine64", "trixie", str(root)]
    subprocess.run(argv, check=True)
    # Waits until the registry is written, which has the PATH.
    first = wine(root, partial / "empty", "sh", "-c", "wineboot --init && wineserver --wait")
    subprocess.run(first, check=True)
    print("building kubectl.exe", flush=True)
    compile_kubectl(partial / "kubectl.exe")
    for old in build.cache().glob("windows-*"):
        shutil.rmtree(old)
    partial.rename(final)


if __name__ == "__main__":
    main()
