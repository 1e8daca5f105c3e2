"""The release programs: hardened, and free of the paths of whoever built them."""

import hashlib
import os
import pathlib
import shutil
import subprocess

import pytest

from hardening import missing

TOP = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = {
    "plimsoll-controller": "controller/plimsoll-controller",
    "plimsoll-extender": "extender/plimsoll-extender",
    "kubectl-plimsoll": "cli/kubectl-plimsoll",
}
# What deploy/Dockerfile copies.
SOURCES = ("meson.build", "meson_options.txt", "common", "policy", "controller", "extender", "cli")
SOURCES += ("tests",)


@pytest.mark.parametrize("program", PROGRAMS)
def test_hardened(binary, program):
    assert not missing(binary(program, "release"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_path_of_the_build(binary, program):
    path = pathlib.Path(binary(program, "release"))
    content = path.read_bytes()
    for folder in (TOP, path.resolve().parents[1]):
        assert bytes(folder) not in content
    assert b"../common" not in content


def build_at(sources, build):
    """The hashes of the programs, built from a copy of the sources."""
    for name in SOURCES:
        copy = shutil.copytree if (TOP / name).is_dir() else shutil.copy
        copy(TOP / name, sources / name)
    env = {**os.environ, "CCACHE_DISABLE": "1", "CC": "gcc"}
    for argv in (
        ["meson", "setup", build, sources, "--buildtype=release", "-Ddebug=true"],
        ["ninja", "-C", build, *PROGRAMS.values()],
    ):
        done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:]
    return {name: sha256(build / path) for name, path in PROGRAMS.items()}


def sha256(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_the_same_bytes_on_two_paths(tmp_path):
    """With debugging information, which has more paths than a program without."""
    places = tmp_path / "one", tmp_path / "another" / "place"
    for place in places:
        place.mkdir(parents=True)
    one = build_at(places[0], places[0] / "build")
    assert one == build_at(places[1], tmp_path / "build-elsewhere")
