"""What `make` says where it may not install: tests/tools/install-packages and pinned, with a PATH of the
test's own; and what format does where there is no clone."""

import pathlib
import shutil
import subprocess

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[1] / "tools"
# What the scripts themselves are written in.
NEEDED = "awk bash cat cp dirname env flock grep id mkdir mktemp rm sed sudo tee".split()


class Machine:
    """`bin` is all of its PATH."""

    def __init__(self, folder):
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.home = folder
        for name in NEEDED:
            if shutil.which(name):
                (self.bin / name).symlink_to(shutil.which(name))
        self.write("sudo", '"$@"')

    def write(self, name, text):
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/bash\n{text}\n", "ascii")
        path.chmod(0o755)

    def run(self, tool, *words, **env):
        return subprocess.run(
            [TOOLS / tool, *words], capture_output=True, text=True, check=False,
            env={"PATH": str(self.bin), "HOME": str(self.home), **env},
        )  # fmt: skip


@pytest.fixture(name="machine")
def machine_fixture(tmp_path):
    return Machine(tmp_path)


def test_missing_things_are_named_where_there_is_no_apt(machine):
    done = machine.run("install-packages", "build", "bench")
    assert done.returncode == 1 and not done.stdout
    head, *lines, packages = done.stderr.splitlines()
    assert head == "missing here, where nothing is installed:"
    for line in (
        "program meson",
        "program ninja",
        "library libcurl (by pkg-config)",
        "program wrk",
    ):
        assert f"  {line}" in lines
    assert packages.startswith("Debian has these in: gcc meson ninja-build pkg-config libcurl4-")
    assert not any("python3" in line for line in lines), "/usr/bin/python3 is there"


@pytest.mark.parametrize(
    "name, said, is_right",
    [
        ("black", "black, 23.1.0 (compiled: no)", True),
        ("black", "black, 25.1.0 (compiled: yes)", False),
        ("clang-format", "Debian clang-format version 14.0.6", True),
        ("clang-format", "clang-format version 14.0.6", True),  # the wheel's
        ("clang-format", "Debian clang-format version 19.1.7 (3+b1)", False),
        ("clang-tidy", "LLVM (http://llvm.org/):\n  LLVM version 14.0.0", True),
        ("zizmor", "zizmor 1.32.0", True),
    ],
)
def test_a_pinned_program_has_its_version(machine, name, said, is_right):
    machine.write(name, f"echo '{said}'")
    done = machine.run("pinned", name, PLIMSOLL_NO_INSTALL="1")
    if is_right:
        assert (done.returncode, done.stdout) == (0, f"{machine.bin}/{name}\n")
    else:
        assert done.returncode == 1 and "is missing, and nothing is installed here" in done.stderr


def test_nothing_is_well_formatted_without_a_clone(tmp_path):
    """It asks git for the files; without an answer it would look at none, and pass."""
    for name in ("format", "pinned"):
        (tmp_path / "tests/tools").mkdir(parents=True, exist_ok=True)
        shutil.copy(TOOLS / name, tmp_path / "tests/tools")
    (tmp_path / ".clang-format").touch()
    argv = [tmp_path / "tests/tools/format"]
    done = subprocess.run(argv, stdin=-3, capture_output=True, text=True, check=False)
    assert done.returncode == 128 and "not a git repository" in done.stderr
