"""What the fixtures of tests/integration and tests/e2e have in common: programs of one test or of
one file, the folder of their logs, and what of that a failure's report shows."""

import os
import pathlib
import re
import shutil
import signal
import subprocess

from harness import SANITIZER_SIGNS, Process, clean_environment

PROGRAMS = ("plimsoll-controller", "plimsoll-extender", "kubectl-plimsoll")
TAIL_LINES = 25
TAIL_FILES = 8


def table(name):
    """The rows of a file of tests/data, as lists of cells; a line that begins with # is a comment."""
    path = pathlib.Path(__file__).resolve().parents[1] / "data" / name
    lines = path.read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def log_folder(root, *parts):
    """An empty folder below `root`: an earlier run may have left something in it."""
    path = os.path.join(root, *(re.sub(r"[^\w.-]+", "_", part)[:120] for part in parts))
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def find_program(name, build="build"):
    """The path of a program of ours; the build directories come from the environment."""
    variable = f"PLIMSOLL_{build.upper()}_DIR"
    root = os.environ.get(variable)
    assert root, f"set {variable} to a build directory (make test does)"
    part = "cli" if name == "kubectl-plimsoll" else name.removeprefix("plimsoll-")
    for path in (os.path.join(root, part, name), os.path.join(root, name)):
        if os.access(path, os.X_OK):
            return path
    raise AssertionError(f"no program {name} below {root}")


def complete(program, *arguments, status=0, build="build", env=None, **more):
    """Run one of our programs, or any other, to its end: a CompletedProcess with texts.

    It must end with this status (None: any), and no sanitizer may have spoken. `more` is for
    subprocess.run().
    """
    path = find_program(program, build) if program in PROGRAMS else str(program)
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": 60}
    options |= {"env": clean_environment(env), **more}
    done = subprocess.run([path, *map(str, arguments)], check=False, **options)
    assert status in (None, done.returncode), f"{done.returncode}: {done.stdout}{done.stderr}"
    assert not SANITIZER_SIGNS.search(str(done.stderr)), done.stderr
    return done


def piped(argv):
    """The same command with a reader behind it, which writes what it reads to the log."""
    command = 'exec "$0" "$@" > >(exec cat)'
    return ["env", "--ignore-signal=PIPE", "bash", "-c", command, *map(str, argv)]


def children(pid):
    """[(pid, name)]"""
    found = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [
        (int(pid), pathlib.Path(f"/proc/{pid}/comm").read_text("utf-8").strip()) for pid in found
    ]


def stop_reading(process):
    """Nobody reads any more what a piped() program prints: it ends by itself, and says so."""
    (reader,) = (pid for pid, name in children(process.pid) if name == "cat")
    os.kill(reader, signal.SIGTERM)
    assert process.wait_exit() == 1 and "standard output" in process.stderr(), process.text()


def running(directory):
    """The life of a fixture `run`: yields start(argv, name, env, clean_exit), ends all it started.

    A program must live until it is told to end, and then end with status 0 unless clean_exit=False;
    no sanitizer may have spoken. Whatever is wrong with one, the others are ended too.
    """
    started = []

    def start(argv, name=None, env=None, clean_exit=True, **more):
        name = name or f"{os.path.basename(str(argv[0]))}-{len(started)}"
        process = Process(argv, name, directory, env, **more)
        started.append((process, clean_exit))
        return process

    yield start
    problems = []
    for process, clean_exit in reversed(started):
        try:
            process.assert_clean()
            code = process.stop()
            process.assert_clean()
            if process.was_told and clean_exit:
                assert (
                    code == 0
                ), f"{process.name}: status {code} after SIGTERM\n{process.text()[-4000:]}"
        except AssertionError as error:
            problems.append(str(error))
        finally:
            if process.is_running():
                process.kill()
    assert not problems, "\n".join(problems)


def peers(kind, directory):
    """The life of a fixture that starts peers: yields start(*arguments), stops all it started."""
    started = []

    def start(*arguments):
        suffix = f"-{len(started)}" if started else ""
        peer = kind(directory, *arguments, name=kind.package + suffix)
        started.append(peer)
        return peer

    yield start
    problems = []
    for peer in started:
        try:
            peer.stop()
        except AssertionError as error:
            problems.append(str(error))
    assert not problems, "\n".join(problems)


def show_logs(report, directories):
    """Add the ends of the logs in these folders to a failure's report."""
    for directory in directories:
        report.sections.append(("logs", str(directory)))
        files = [p for p in sorted(pathlib.Path(directory).glob("*.*")) if p.suffix in LOG_SUFFIXES]
        for path in [p for p in files if p.stat().st_size][:TAIL_FILES]:
            lines = path.read_text(errors="replace").splitlines()[-TAIL_LINES:]
            report.sections.append((f"end of {path.name}", "\n".join(line[:400] for line in lines)))


LOG_SUFFIXES = (".err", ".out")
