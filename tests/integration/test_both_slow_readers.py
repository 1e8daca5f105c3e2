"""Clients that ask for a page and do not read it: what all of them hold together is bounded, in the
program and in the kernel, and the probes are answered in the meantime."""

import contextlib
import copy
import socket
import uuid

import pytest

from controller_kit import policy
from extender_kit import POD
from harness import fetch, wait_until
from policies import node_names

CLIENTS = 600  # more than there are places
MORE_MAX_MIB, UNREAD_MAX_MIB = 60, 128
# Of the probes in deploy/base; the kubelet gives up after six in a row.
PROBE_TIMEOUT_S, PROBES = 3, 6
LARGE_PAGE_MB = 4
# Long names make a large page of few nodes; they are labels as well.
NAMES = [f"{i:03d}-{'n' * 59}" for i in range(640)]
LONG = "p" * 200
PERIODS = {f"{kind}_usage_avg_{n}m": "5s" for kind in ("cpu", "mem") for n in range(1, 27)}
KEPT_DECISIONS = 1024


def is_alive(program):
    for _ in range(PROBES):
        with contextlib.suppress(OSError):
            return fetch(f"{program.url}/livez", timeout_s=PROBE_TIMEOUT_S).text == "ok"
    return False


def status_of(sock):
    """What has come is not taken; None: it was closed for another."""
    with contextlib.suppress(ConnectionResetError):
        line = sock.recv(len(b"HTTP/1.1 200"), socket.MSG_PEEK)
        return int(line[-3:]) if line else None
    return None


def unread_bytes(port):
    """What the kernel keeps of what the server has sent."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    return sum(int(row[4][:8], 16) for row in rows if int(row[1].partition(":")[2], 16) == port)


def assert_bounded(program, path):
    before_kib = program.process.rss_kib()
    port = int(program.url.rpartition(":")[2])
    request = f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode()
    with contextlib.ExitStack() as stack:
        socks = []
        for _ in range(CLIENTS):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", port), 60))
            sock.sendall(request)
            socks.append(sock)
        assert is_alive(program)
        statuses = {status_of(sock) for sock in socks} - {None}
        more_mib = (program.process.rss_kib() - before_kib) / 1024
        unread_mib = unread_bytes(port) / 2**20
        print(
            f"{path[:40]}: {more_mib:.1f} MiB more, {unread_mib:.1f} MiB in the kernel, "
            f"{sorted(statuses)}"
        )
        assert 200 in statuses and statuses <= {200, 503}
        assert more_mib < MORE_MAX_MIB and unread_mib < UNREAD_MAX_MIB
        assert is_alive(program)
    wait_until(lambda: program.page(path).status == 200, what="a page, once they are gone")


@pytest.mark.timeout(300)
def test_controller(start_standin, start_exporters, start_controller):
    standin, exporters = start_standin(), start_exporters()
    standin.admin("nodes", {"names": NAMES})
    controller = start_controller(standin, exporters, content=policy(PERIODS), build="release")
    wait_until(
        lambda: len(controller.page("/metrics").body) > LARGE_PAGE_MB * 10**6,
        120,
        "a large page",
        poll_s=0.5,
    )
    for path in ("/metrics", "/status.json"):
        assert_bounded(controller, path)


def pod(name):
    other = copy.deepcopy(POD)
    other["metadata"].update(name=name, uid=str(uuid.uuid4()))
    return other


@pytest.mark.timeout(300)
def test_extender(start_standin, start_extender):
    extender = start_extender(start_standin("--nodes", 2), build="release")
    extender.wait_ready()
    with extender.scheduler() as scheduler:
        for i in range(KEPT_DECISIONS):
            scheduler.filter(node_names(2), pod(f"{i:04d}-{LONG}"))
    for path in ("/metrics", "/decisions", f"/decisions?pod=default/0000-{LONG}"):
        assert_bounded(extender, path)
