"""What `make` installs, and what it says where it may not: tests/tools/install-packages and pinned, with a PATH
of the test's own; and what format does where there is no clone."""

import fcntl
import pathlib
import shutil
import subprocess

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[1] / "tools"
# What the scripts themselves are written in.
NEEDED = (
    "awk",
    "bash",
    "cat",
    "cp",
    "dirname",
    "env",
    "flock",
    "grep",
    "id",
    "mkdir",
    "mktemp",
    "rm",
    "sed",
    "sudo",
    "tee",
)


class Machine:
    """`bin` is all of its PATH but for /usr/sbin; `says` is what a program there prints."""

    def __init__(self, folder):
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.log = folder / "log"
        self.log.touch()
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

    def has_apt(self):
        """Its `wrk` is a program after it was installed."""
        self.write(
            "apt-get",
            f'echo "$*" >>{self.log}; [[ $* != *"install -y"* ]] || cp {self.bin}/id {self.bin}/wrk',
        )

    def start(self, tool, *words, **env):
        return subprocess.Popen(
            [TOOLS / tool, *words], stdout=-1, stderr=-1, text=True,
            env={"PATH": str(self.bin), "HOME": str(self.home), **env},
        )  # fmt: skip

    def run(self, tool, *words, **env):
        process = self.start(tool, *words, **env)
        said = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, *said)


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


def test_nothing_is_installed_where_that_is_not_wanted(machine):
    machine.has_apt()
    done = machine.run("install-packages", "bench", PLIMSOLL_NO_INSTALL="1")
    assert done.returncode == 1 and "  program wrk\n" in done.stderr
    assert machine.log.read_text("ascii") == ""


def test_what_is_missing_is_installed(machine):
    machine.has_apt()
    done = machine.run("install-packages", "bench")
    assert done.stdout == "installing from Debian's packages: wrk\n" and not done.stderr
    assert done.returncode == 0
    assert machine.log.read_text("ascii").splitlines() == [
        "-qq -o APT::Status-Fd=1 update",
        "-qq -o APT::Status-Fd=1 install -y --no-install-recommends wrk",
    ]


def test_all_is_there(machine):
    """Nobody is asked whether packages are installed: a program of any origin will do."""
    machine.has_apt()
    machine.write("wrk", "")
    done = machine.run("install-packages", "bench")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert machine.log.read_text("ascii") == ""


def test_a_package_that_does_not_help_is_told(machine):
    machine.write("apt-get", "")
    done = machine.run("install-packages", "bench")
    assert done.returncode == 1
    assert done.stderr.startswith("installed, and still missing:\n  program wrk\n")


def test_no_root_is_needed_to_see_that_all_is_there(machine):
    machine.write("wrk", "")
    machine.write("id", "echo 1000")
    assert machine.run("install-packages", "bench").returncode == 0


def test_a_user_without_sudo_is_told(machine):
    machine.has_apt()
    (machine.bin / "sudo").unlink()
    machine.write("id", "echo 1000")
    done = machine.run("install-packages", "bench")
    assert done.returncode == 1 and machine.log.read_text("ascii") == ""
    assert done.stderr.startswith("run as root, or install sudo; missing:\n  program wrk\n")


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


def test_debians_name_of_a_pinned_program(machine):
    machine.write("clang-format", "echo 'Debian clang-format version 19.1.7'")
    machine.write("clang-format-14", "echo 'Ubuntu clang-format version 14.0.0-1ubuntu1'")
    done = machine.run("pinned", "clang-format", PLIMSOLL_NO_INSTALL="1")
    assert done.stdout == f"{machine.bin}/clang-format-14\n"


def test_two_that_install_the_same(machine):
    """What the first one has put there is not taken away from it by the second, who waited for it."""
    home = machine.home / ".cache" / "plimsoll-gate" / "black-23.1.0"
    (home / "bin").mkdir(parents=True)
    with open(f"{home}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = machine.start("pinned", "black")
        assert "installing black" in second.stderr.readline()
        program = home / "bin" / "black"
        program.write_text("#!/bin/bash\necho black, 23.1.0\n", "ascii")
        program.chmod(0o755)
    assert second.communicate() == (f"{program}\n", "")
    assert second.returncode == 0


def test_nothing_is_well_formatted_without_a_clone(tmp_path):
    """It asks git for the files; without an answer it would look at none, and pass."""
    for name in ("format", "pinned"):
        (tmp_path / "tests/tools").mkdir(parents=True, exist_ok=True)
        shutil.copy(TOOLS / name, tmp_path / "tests/tools")
    (tmp_path / ".clang-format").touch()
    argv = [tmp_path / "tests/tools/format"]
    done = subprocess.run(argv, stdin=-3, capture_output=True, text=True, check=False)
    assert done.returncode == 128 and "not a git repository" in done.stderr


def test_a_folder_that_is_bound_may_have_spaces(machine):
    """What enter-root mounts, without doing it."""
    root, cache = machine.home / "the root", machine.home / "my cache"
    (root / "etc").mkdir(parents=True)
    machine.write("unshare", 'while [ "$1" != bash ]; do shift; done; exec "$@"')
    machine.write("mount", f'printf "%s|" "$@" >>{machine.log}')
    machine.write("chroot", 'printf "%s|" "$@"')
    argv = ["enter-root", root, f"{cache}:/root/.cache", f"{cache} 2:/srv", "--", "make", "a b"]
    done = machine.run(*argv)
    # It gives the command no PATH of ours: what a chroot is, it finds in the machine's own.
    for place, folder in (("/root/.cache", cache), ("/srv", f"{cache} 2")):
        assert f"|--bind|{folder}|{root}/{place}|" in machine.log.read_text("ascii"), done.stderr


@pytest.mark.parametrize(
    "engines, env, used",
    [
        (["podman", "docker"], {}, "podman"),
        (["docker"], {}, "docker"),
        (["podman", "docker"], {"ENGINE": "docker"}, "docker"),
        (["podman"], {"ENGINE": "docker"}, None),
        ([], {}, None),
    ],
)
def test_what_a_container_is_run_by(machine, engines, env, used):
    for name in ("cut", "sha256sum"):
        (machine.bin / name).symlink_to(shutil.which(name))
    for name in engines:
        machine.write(name, f'echo "{name} $1" >>{machine.log}')
    done = machine.run("in-container", "test", **env)
    assert done.returncode == (0 if used else 1), done.stderr
    lines = machine.log.read_text("ascii").splitlines()
    assert lines == ([f"{used} image", f"{used} run"] if used else [])
    assert used or done.stderr == f"not here: {env.get('ENGINE', 'podman, docker')}\n"
