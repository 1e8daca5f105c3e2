#!/usr/bin/python3
"""Runs unit tests as another machine would: cross.py ARCHITECTURE

arm64 is what half of all clusters have: all unit tests. s390x counts bytes from the other end: those of
the pure libraries. Built by Debian's cross compiler against Debian's libraries, which mmdebstrap
unpacks into the user's cache, and run by qemu. Prints what is not run, and meson's counts; ends with 1
when a test failed.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

from lanes import CACHE

TOP = pathlib.Path(__file__).resolve().parents[2]
# Debian's name: the name in compilers and folders, qemu's, meson's, the order of bytes
ARCHITECTURES = {
    "arm64": ("aarch64-linux-gnu", "aarch64", "aarch64", "little"),
    "s390x": ("s390x-linux-gnu", "s390x", "s390x", "big"),
}
PACKAGES = (
    "libc6-dev,libgcc-12-dev,libjansson-dev,libyaml-dev,libcmocka-dev,"
    "libcurl4-openssl-dev,libmicrohttpd-dev"
)
PURE = {
    *("common/base", "common/codec", "common/metrics", "policy", "policy/estimate"),
    *("policy/judge", "policy/pods", "controller/window", "controller/exposition"),
    "controller/track",
    *("extender/estimator", "extender/table", "extender/answer", "extender/decisions"),
}
SUITES = {"s390x": PURE}  # else all
# Unit tests that need more than qemu does.
NOT_UNDER_QEMU = {
    "http_client": "an answer has to begin within a tenth of a second, and by qemu it does not",
    "http_server_limits": "it expects memory to be free when a reply is there, and by qemu that may take a moment",
    "json": "it reads stderr, into which qemu writes",
    "kubectl": "what it starts is found in /proc/thread-self/children, which is qemu's",
    "mem": "it reads stderr, into which qemu writes",
    "metrics": "it reads /proc, which is qemu's",
    "program_options": "qemu knows no terminals of one's own",
    "server_tls": "qemu knows no TCP_INFO, by which a failed handshake differs from a probe",
    "style": "qemu knows no terminals of one's own",
}


def run(*argv, **more):
    return subprocess.run([str(part) for part in argv], check=True, **more)


def make_root(architecture):
    """Debian's libraries for it, once, and again when they are others."""
    root = CACHE / f"root-{architecture}"
    listed = root.with_suffix(".packages")  # next to it, since all in it may be another user's
    if not (root.exists() and listed.exists() and listed.read_text("ascii") == PACKAGES):
        partial = root.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        CACHE.mkdir(parents=True, exist_ok=True)
        run(
            "mmdebstrap", "--quiet", "--variant=extract", f"--architectures={architecture}",
            f"--include={PACKAGES}", "bookworm", partial,
        )  # fmt: skip
        shutil.rmtree(root, ignore_errors=True)
        partial.rename(root)
        listed.write_text(PACKAGES, "ascii")
    return root


def write_cross_file(path, architecture, root):
    triplet, qemu, cpu, endian = ARCHITECTURES[architecture]
    pkgconfig = f"{root}/usr/lib/{triplet}/pkgconfig:{root}/usr/share/pkgconfig"
    path.write_text(
        f"""\
[binaries]
c = ['{triplet}-gcc', '--sysroot={root}']
ar = '{triplet}-ar'
strip = '{triplet}-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-{qemu}', '-L', '{root}']
[properties]
sys_root = '{root}'
pkg_config_libdir = '{pkgconfig}'
[host_machine]
system = 'linux'
cpu_family = '{cpu}'
cpu = '{cpu}'
endian = '{endian}'
"""
    )


def is_run(test, architecture):
    suites = {suite.split(":")[-1] for suite in test["suite"]}
    wanted = suites & SUITES[architecture] if architecture in SUITES else suites
    return "unit" in suites and wanted and test["name"] not in NOT_UNDER_QEMU


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in ARCHITECTURES:
        print(__doc__)
        return 2
    architecture = sys.argv[1]
    build = TOP / "build-gate" / architecture
    build.parent.mkdir(exist_ok=True)
    cross = build.with_suffix(".ini")
    write_cross_file(cross, architecture, make_root(architecture))
    if not (build / "build.ninja").exists():
        run("meson", "setup", build, TOP, f"--cross-file={cross}", "-Dwerror=true")
    said = run("meson", "introspect", "--tests", build, stdout=subprocess.PIPE).stdout
    tests = [test for test in json.loads(said) if is_run(test, architecture)]
    for name, why in NOT_UNDER_QEMU.items():
        print(f"{name} is not run: {why}")
    run("ninja", "-C", build, *(os.path.relpath(test["cmd"][0], build) for test in tests))
    names = [test["name"] for test in tests]
    argv = ["meson", "test", "-C", build, "--no-rebuild", "--suite=unit", "--timeout-multiplier=20"]
    argv += names
    # In full size qemu takes an hour, and what is different on another processor shows before.
    env = {**os.environ, "PLIMSOLL_NIGHTLY": "0"}
    return subprocess.run([str(part) for part in argv], env=env, check=False).returncode and 1


if __name__ == "__main__":
    sys.exit(main())
