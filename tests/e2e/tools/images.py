#!/usr/bin/python3
"""Builds the two images of deploy/Dockerfile, without a registry and without a daemon.

mmdebstrap makes the base from Debian's packages, buildah builds in a chroot; the results are in a
storage of their own in $XDG_CACHE_HOME/plimsoll-e2e/images (else ~/.cache/..), where podman() finds
them. A machine that cannot do this (not root, programs missing, no network, containers forbidden)
is told so in one line, and test_image.py is skipped. A Dockerfile that does not build is an error.
With PLIMSOLL_NIGHTLY=1 the controller's image is built twice more from nothing, on two paths, for the
test that compares them.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1])]

from tools import build  # noqa: E402

HOME = build.cache() / "images"
TOP = build.HERE.parents[2]
PROGRAMS = ("mmdebstrap", "buildah", "podman", "runc")
BASE = "localhost/plimsoll-e2e-base:bookworm-ccache"
PROBE = "localhost/plimsoll-e2e-probe"
UNABLE = HOME / "unable"
# Any time: what is built at that time has the same bytes whenever it is built.
EPOCH = "1700000000"
PATHS = {"one": ".", "two": "another/place"}
SOURCES = ("meson.build", "meson_options.txt", "common", "policy", "controller", "extender", "cli")
SOURCES += ("tests", "deploy")
# runc, because crun refuses hybrid cgroups; the limits are ones that a container may have.
CONTAINERS_CONF = """
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=20000:20000"]
"""


class Unable(Exception):
    """This machine cannot build or run images, and why."""


def image(program):
    return f"localhost/{program}:e2e"


def again(program, name):
    """The image that was built from nothing on the path of PATHS with this name."""
    return f"{image(program)}-{name}"


def run(program, *argv, **options):
    """buildah or podman on our storage."""
    storage = [f"--root={HOME}/storage", f"--runroot={HOME}/run", "--storage-driver=overlay"]
    env = {**os.environ, "CONTAINERS_CONF": str(HOME / "containers.conf")}
    return subprocess.run(
        [program, *storage, *argv], env=env, check=False,
        **{"capture_output": True, "text": True, **options},
    )  # fmt: skip


def podman(*argv, **options):
    return run("podman", *argv, **options)


def last_words(done):
    return (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]


def make_base():
    if podman("image", "exists", BASE).returncode == 0:
        return
    print("making a Debian base by mmdebstrap", flush=True)
    tar = HOME / "base.tar"
    tar.unlink(missing_ok=True)
    done = subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=minbase", "--include=ccache", "bookworm", str(tar)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise Unable(f"mmdebstrap: {last_words(done)}")
    done = podman("import", "--quiet", str(tar), BASE)
    tar.unlink()
    if done.returncode != 0:
        raise Unable(f"podman import: {last_words(done)}")


def probe():
    """Build and run an image that cannot be at fault: if that is forbidden, the machine forbids it."""
    folder = HOME / "probe"
    folder.mkdir(exist_ok=True)
    (folder / "Dockerfile").write_text(f"FROM {BASE}\nRUN true\n")
    done = run(
        "buildah", "bud", "--isolation=chroot", "--network=host", "--layers", "--quiet",
        f"--tag={PROBE}", str(folder),
    )  # fmt: skip
    if done.returncode != 0:
        raise Unable(f"buildah bud: {last_words(done)}")
    done = podman("run", "--rm", "--network=none", "--read-only", "--cap-drop=all", PROBE, "true")
    if done.returncode != 0:
        raise Unable(f"podman run: {last_words(done)}")


def build_image(program, tag, sources, *options):
    done = run(
        "buildah", "bud", "--isolation=chroot", "--network=host", "--layers", *options,
        f"--build-arg=BASE={BASE}", f"--file={sources}/deploy/Dockerfile",
        f"--target={program.removeprefix('plimsoll-')}", f"--tag={tag}", str(sources),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, capture_output=False,
    )  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"images.py: {done.stdout[-4000:]}")


def build_twice(program):
    for name, folder in PATHS.items():
        print(f"building the image of {program} from nothing", flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            sources = pathlib.Path(scratch) / folder
            sources.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-r", *(TOP / source for source in SOURCES), sources], check=True)
            when = (f"--timestamp={EPOCH}", f"--build-arg=SOURCE_DATE_EPOCH={EPOCH}")
            build_image(program, again(program, name), sources, "--no-cache", *when)


def build_images():
    if os.geteuid() != 0:
        raise Unable("building images needs root")
    missing = [program for program in PROGRAMS if not shutil.which(program)]
    if missing:
        raise Unable(f"these programs are missing: {' '.join(missing)}")
    (HOME / "containers.conf").write_text(CONTAINERS_CONF)
    make_base()
    probe()
    compiled = HOME / "ccache"
    compiled.mkdir(exist_ok=True)
    cached = ("--build-arg=CC=ccache gcc", f"--volume={compiled}:/root/.cache/ccache")
    for program in ("plimsoll-controller", "plimsoll-extender"):
        print(f"building the image of {program}", flush=True)
        build_image(program, image(program), TOP, *cached)
    if os.environ.get("PLIMSOLL_NIGHTLY") == "1":
        build_twice("plimsoll-controller")
    podman("image", "prune", "--force", "--filter=until=24h")


if __name__ == "__main__":
    HOME.mkdir(parents=True, exist_ok=True)
    UNABLE.unlink(missing_ok=True)
    try:
        build_images()
    except Unable as reason:
        UNABLE.write_text(str(reason), encoding="utf-8")
        print(f"no images are built and none will be tested: {reason}")
