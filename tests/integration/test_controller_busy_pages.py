"""Clients that ask for pages without a pause do not delay a probe: neither those that keep their
connection, nor those that connect again for each request."""

import contextlib
import selectors
import socket
import subprocess
import sys
import time

import pytest

from controller_kit import policy
from harness import PYTHON, fetch, wait_until

NODES = 1500
KEEPING, RECONNECTING = 300, 150
# Of the probes in deploy/base.
PROBE_TIMEOUT_S, PROBES = 3, 10
PATHS = ["/metrics", "/status.json"]
BUSY = 2 * (KEEPING + RECONNECTING)
PERIODS = {f"{kind}_usage_avg_5m": "5s" for kind in ("cpu", "mem")}


class Client:
    """Asks for a page, reads it to its end, and asks again."""

    def __init__(self, selector, port, path, is_keeping):
        self.selector, self.port, self.is_keeping = selector, port, is_keeping
        close = "" if is_keeping else "Connection: close\r\n"
        self.request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{close}\r\n".encode()
        self.connect()

    def connect(self):
        self.sock = socket.socket()
        self.sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            self.sock.connect(("127.0.0.1", self.port))
        self.selector.register(self.sock, selectors.EVENT_WRITE, self)

    def go_on(self, events):
        """Whether a reply has ended."""
        try:
            if events & selectors.EVENT_WRITE:
                self.sock.send(self.request)
                self.head, self.left = b"", None
                self.selector.modify(self.sock, selectors.EVENT_READ, self)
                return False
            data = self.sock.recv(1 << 18)
        except OSError:
            data = b""
        if data:
            self.take(data)
        if data and self.left != 0:
            return False
        if data and self.is_keeping:
            self.selector.modify(self.sock, selectors.EVENT_WRITE, self)
        else:
            self.selector.unregister(self.sock)
            self.sock.close()
            self.connect()
        return bool(data)

    def take(self, data):
        if self.left is None:
            self.head += data
            head, end, data = self.head.partition(b"\r\n\r\n")
            if not end:
                return
            lengths = [line for line in head.lower().split(b"\r\n") if b"content-length:" in line]
            self.left = int(lengths[0].partition(b":")[2])
        self.left -= len(data)


def keep_busy(port, path):
    """Prints a line once each client has had two replies, and goes on until it is stopped."""
    replies = 0
    with selectors.DefaultSelector() as selector:
        for i in range(KEEPING + RECONNECTING):
            Client(selector, port, path, i < KEEPING)
        while True:
            for key, events in selector.select():
                replies += key.data.go_on(events)
                if replies == BUSY:
                    print("busy", flush=True)


@contextlib.contextmanager
def busy_clients(port, path):
    argv = [PYTHON, __file__, str(port), path]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as clients:
        try:
            assert clients.stdout.readline() == "busy\n"
            yield
            assert clients.poll() is None
        finally:
            clients.kill()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("path", PATHS, ids=["metrics", "status"])
def test_probes(start_standin, start_exporters, start_controller, path, request):
    controller = start_controller(
        start_standin("--nodes", NODES), start_exporters(), content=policy(PERIODS)
    )
    port = int(controller.url.rpartition(":")[2])
    wait_until(
        lambda: len(controller.metrics().of("plimsoll_node_usage_ratio")) >= NODES,
        120,
        "values of all nodes",
        poll_s=0.5,
    )
    took_s = []
    with busy_clients(port, path):
        for _ in range(PROBES):
            began_s = time.monotonic()
            assert fetch(f"{controller.url}/livez", timeout_s=PROBE_TIMEOUT_S).text == "ok"
            took_s.append(time.monotonic() - began_s)
    request.node.user_properties.append(
        ("figure", f"probes took at most {1000 * max(took_s):.0f} ms")
    )


if __name__ == "__main__":
    keep_busy(int(sys.argv[1]), sys.argv[2])
