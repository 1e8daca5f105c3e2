"""What all parts of a release need to know of it, and the processors that it is made for."""

import os
import pathlib
import re
import subprocess
from typing import NamedTuple

PROGRAMS = {
    "plimsoll-controller": "controller/plimsoll-controller",
    "plimsoll-extender": "extender/plimsoll-extender",
    "kubectl-plimsoll": "cli/kubectl-plimsoll",
}
MAN_PAGES = {
    "plimsoll-controller": "plimsoll-controller.8",
    "plimsoll-extender": "plimsoll-extender.8",
    "kubectl-plimsoll": "kubectl-plimsoll.1",
}
SUMMARIES = {
    "plimsoll-controller": "writes the load of Kubernetes nodes into annotations",
    "plimsoll-extender": "lets kube-scheduler place pods by the load of nodes",
    "kubectl-plimsoll": "shows the load of Kubernetes nodes and how pods were placed by it",
}


class Target(NamedTuple):
    """`debian` and `oci` call it alike; `emulator` runs its programs here."""

    debian: str
    triplet: str
    emulator: tuple

    def tool(self, name):
        return f"{self.triplet}-{name}"


TARGETS = (
    Target("amd64", "x86_64-linux-gnu", ()),
    Target("arm64", "aarch64-linux-gnu", ("qemu-aarch64",)),
)


class Release(NamedTuple):
    """`place` is where it is made: `source` below it is the commit, `dist` what comes out."""

    place: pathlib.Path
    version: str
    epoch: int
    revision: str
    repository: str  # its address, where the files of a release are below
    registry: str  # where the images are; may be empty
    artifacthub_id: str  # may be empty

    @property
    def source(self):
        return self.place / "source"

    @property
    def dist(self):
        return self.place / "dist"

    def image(self, name):
        """What a program's image is called."""
        repository = f"{self.registry}/{name}" if self.registry else name
        return f"{repository}:{self.version}"

    def asset(self, name):
        """Where users download a file."""
        return f"{self.repository}/releases/download/v{self.version}/{name}"


def read_release(place):
    """As release.py has set it up."""
    text = (place / "source" / "meson.build").read_text(encoding="utf-8")
    return Release(
        place=place,
        version=re.search(r"version: '([\d.]+)'", text)[1],
        epoch=int(os.environ["SOURCE_DATE_EPOCH"]),
        revision=os.environ["REVISION"],
        repository=os.environ.get("REPOSITORY", "https://plimsoll.invalid"),
        registry=os.environ.get("REGISTRY", ""),
        artifacthub_id=os.environ.get("ARTIFACTHUB_ID", ""),
    )


def run(*argv, **more):
    """Run a command; what it prints is shown if it fails."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, **more}
    done = subprocess.run([str(word) for word in argv], check=False, **options)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, argv))}:\n{(done.stdout or '')[-6000:]}")
    return done.stdout
