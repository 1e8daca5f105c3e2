"""Peers that connect and say nothing do not lock anybody out, whatever TLS would have asked of them."""

import contextlib
import re
import socket
import ssl

import pytest

from extender_kit import Extender
from harness import fetch, wait_until
from tls_kit import Authority, Volume

CEILING = 512
SILENT = CEILING + 100
# Of a ClientHello of 517 bytes; the rest does not come.
HALF_HELLO = bytes.fromhex("1603010200010001fc0303")
AT_CEILING = "connection limit reached, closing the longest idle connections"
CUT = r'^plimsoll_http_connections_cut_total\{reason="crowded"\} (\d+)$'


@contextlib.contextmanager
def silent_peers(port, said=b""):
    with contextlib.ExitStack() as stack:
        for _ in range(SILENT):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", port), 30))
            sock.sendall(said)
        yield


def assert_told_once(process, url, context=None):
    def cut():
        page = fetch(f"{url}/metrics", context=context).text
        count = int(re.search(CUT, page, re.MULTILINE).group(1))
        assert count >= SILENT - CEILING, count
        return True

    wait_until(cut, what="those that made room to be counted")
    assert process.stderr().count(AT_CEILING) == 1


def test_controller_answers_its_probe(standin, exporters, start_controller):
    controller = start_controller(standin, exporters)
    with silent_peers(int(controller.url.rpartition(":")[2])):
        assert fetch(f"{controller.url}/livez").text == "ok"
        assert_told_once(controller.process, controller.url)


def test_extender_answers_schedulers(start_standin, run, binary):
    extender = Extender(run, binary, start_standin("--nodes", 2))
    extender.wait_ready()
    with silent_peers(extender.port), extender.scheduler() as scheduler:
        assert scheduler.filter(["node-0000", "node-0001"])[1] == {}
        assert_told_once(extender.process, extender.url)


@pytest.mark.parametrize("said", [b"", HALF_HELLO], ids=["no-byte", "half-hello"])
def test_strangers_behind_mutual_tls(start_standin, run, binary, tmp_path, said):
    ours = Authority(str(tmp_path / "ca"), "ours")
    volume = Volume(str(tmp_path), ours.server(), ours.cert)
    context = ssl.create_default_context(cafile=ours.cert)
    context.load_cert_chain(*ours.client())
    standin = start_standin("--nodes", 2)
    extender = Extender(run, binary, standin, *volume.flags(), scheme="https")
    with silent_peers(extender.port, said), extender.scheduler(context=context) as scheduler:
        assert scheduler.filter(["node-0000", "node-0001"])[1] == {}
        assert_told_once(extender.process, extender.url, context)
