"""System calls fail for a while, as on a node without descriptors: a program goes on, says
so once, works again when the fault ends, and has no more descriptors open than before."""

import contextlib
import os
import resource
import subprocess
import threading

import pytest

from controller_kit import log_lines, write_policy
from extender_kit import Connection, Extender, annotate, policy
from harness import fetch, wait_until

LINES_MAX = 10
# Every call that makes a descriptor.
OPENING = "accept4,socket,openat,pipe2,eventfd2,epoll_create1"
NAMES = ["node-0000", "node-0001"]


@contextlib.contextmanager
def injected(process, rule):
    """While it lasts, system calls of a running program end as the rule says."""
    path = process.err_path + ".strace"
    argv = ["strace", "-f", "-p", process.pid, "-o", path, f"-einject={rule}"]
    with subprocess.Popen([*map(str, argv)], stderr=subprocess.PIPE, text=True) as strace:
        try:
            said = strace.stderr.readline()
            assert "attached" in said, said
            yield
        finally:
            strace.terminate()
    with open(path, encoding="utf-8", errors="replace") as file:
        assert "(INJECTED)" in file.read(), "no call met the fault"


@contextlib.contextmanager
def limited(process):
    """The limit is below what is open, so that no descriptor is left; what is open stays."""
    limit = 8
    used = {int(name) for name in os.listdir(f"/proc/{process.pid}/fd")}
    assert used.issuperset(range(limit))
    before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (limit, before[1]))
    try:
        yield
    finally:
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)


def lack(process, error):
    if error == "EMFILE":
        return limited(process)
    return injected(process, f"{OPENING}:error={error}")


LACKS = [
    "EMFILE",
    "ENFILE",
    *(pytest.param(e, marks=pytest.mark.nightly) for e in ("ENOMEM", "ENOBUFS")),
]


def is_answered(url):
    try:
        return fetch(f"{url}/livez", timeout_s=5).status == 200
    except OSError:
        return False


def complaints(process):
    lines = process.stderr().splitlines()
    return [line for line in lines if "level=warn" in line or "level=error" in line]


def without_descriptors(process, url, error, has_kept, meanwhile):
    """A connection that is kept is answered all the time, a new one when the lack has ended."""
    before = process.open_files()
    with contextlib.ExitStack() as stack:
        kept = Connection(int(url.rpartition(":")[2])) if has_kept else None
        if kept:
            stack.callback(kept.close)
            assert kept.call("/livez", b"", "GET").status == 200
        with lack(process, error):
            client = threading.Thread(target=is_answered, args=[url])
            client.start()
            process.wait_log('msg="cannot accept connections"')
            meanwhile()
            if kept:
                assert kept.call("/livez", b"", "GET").status == 200
        client.join()
        wait_until(lambda: is_answered(url), what="a new connection's answer")
    wait_until(lambda: process.open_files() <= before, what="the descriptors to be as before")
    assert len(log_lines(process, "cannot accept connections")) == 1
    assert len(complaints(process)) <= LINES_MAX, process.stderr()


@pytest.mark.parametrize("has_kept", [True, False], ids=["kept", "none-kept"])
@pytest.mark.parametrize("error", LACKS)
def test_extender_without_descriptors(start_standin, run, binary, tmp_path, error, has_kept):
    standin = start_standin("--nodes", len(NAMES))
    path = write_policy(tmp_path / "policy", policy())
    flags = ["--threads=1", f"--policy-config-path={path}"]
    extender = Extender(run, binary, standin, *flags, build="release")
    extender.wait_ready()

    def meanwhile():
        standin.admin("watches/cut", {})
        extender.reload()
        extender.process.wait_log("cannot load policy, keeping the previous one")

    without_descriptors(extender.process, extender.url, error, has_kept, meanwhile)
    annotate(standin, NAMES[0], 0.9)
    with extender.scheduler() as scheduler:
        wait_until(lambda: scheduler.filter(NAMES)[0] == NAMES[1:], what="the watch of nodes")


@pytest.mark.parametrize("error", LACKS)
def test_controller_without_descriptors(start_standin, exporters, start_controller, error):
    standin = start_standin("--nodes", len(NAMES))
    controller = start_controller(standin, exporters, build="release")
    controller.wait_ready()
    process = controller.process

    def meanwhile():
        for peer in (exporters, standin):
            peer.admin("close", {})
        standin.admin("watches/cut", {})
        process.wait_log('msg="node is failing"')

    without_descriptors(process, controller.url, error, True, meanwhile)
    failing = len(log_lines(process, "node is failing"))
    wait_until(
        lambda: len(log_lines(process, "node recovered")) == failing, what="scrapes to work again"
    )
