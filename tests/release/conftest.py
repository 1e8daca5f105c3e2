"""Fixtures of the tests of a whole release.

dists     the two folders that $PLIMSOLL_DISTS names, `one:two`: `make release` has made them of one commit
dist      the first of them
unpacked  what the archive of a program holds, for a processor: unpacked(name, architecture)

cluster   an API server for kubectl-plimsoll, as in tests/integration

Everything here needs root.
"""

import os
import pathlib
import re
import sys
import tarfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "integration"), str(HERE.parents[1] / "deploy" / "release")]

from paper_cluster import PaperCluster  # noqa: E402


@pytest.fixture(scope="session")
def dists():
    named = os.environ.get("PLIMSOLL_DISTS", "")
    assert named.count(":") == 1, "set PLIMSOLL_DISTS to two folders, one:two"
    return [pathlib.Path(path) for path in named.split(":")]


@pytest.fixture(scope="session")
def dist(dists):
    return dists[0]


@pytest.fixture(scope="session")
def version():
    text = (HERE.parents[1] / "meson.build").read_text(encoding="utf-8")
    return re.search(r"version: '(.+)'", text)[1]


@pytest.fixture(scope="session")
def unpacked(dist, version, tmp_path_factory):
    def unpack(name, architecture):
        folder = tmp_path_factory.mktemp(architecture)
        with tarfile.open(dist / f"{name}-{version}-linux-{architecture}.tar.gz") as archive:
            archive.extractall(folder)
        return folder / f"{name}-{version}"

    return unpack


@pytest.fixture
def cluster():
    paper = PaperCluster()
    yield paper
    paper.close()
