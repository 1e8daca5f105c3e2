"""Pages that look right and are not: a page that stands still is no reading, another node's is refused."""

import contextlib

import pytest

from controller_kit import log_lines, reading
from harness import wait_until
from local_server import Handler, LocalServer

MEMORY = "mem_usage_avg_5m"
PAGE = """node_cpu_seconds_total{cpu="0",mode="idle"} 5
node_cpu_seconds_total{cpu="0",mode="user"} 5
node_memory_MemAvailable_bytes 6e9
node_memory_MemTotal_bytes 8e9
"""


@pytest.fixture
def pair(start_standin, start_exporters):
    standin, exporters = start_standin("--nodes", 2), start_exporters("--speed", 20)
    exporters.set(["127.1.0.1", "127.1.0.2"], load={"cpu": 0.3, "mem": 0.4})
    return standin, exporters


@pytest.mark.nightly
def test_a_page_that_stands_still(pair, start_controller):
    """It is no reading, not even of memory, whose value could be the same; after a minute it is a failure."""
    standin, exporters = pair
    controller = start_controller(standin, exporters)
    at = [lambda n=n: reading(standin, f"node-000{n}", MEMORY) for n in range(2)]
    wait_until(lambda: at[0]() and at[1](), what="values of both")
    exporters.trouble(["127.1.0.1"], "stuck")
    before = len(exporters.scrapes("127.1.0.1"))
    wait_until(lambda: len(exporters.scrapes("127.1.0.1")) >= before + 3, what="repeated pages")
    # The first may have been the last that was new.
    limit = at[0]().at_unix + 1
    wait_until(lambda: log_lines(controller.process, "node is failing"), 90, "a failure")
    assert at[0]().at_unix <= limit < at[1]().at_unix - 50
    (line,) = log_lines(controller.process, "node is failing")
    assert "node=node-0000 " in line and "reason=stale" in line, line
    exporters.well()
    wait_until(lambda: at[0]().at_unix > limit, what="a new value")
    assert len(log_lines(controller.process, "node recovered")) == 1


def test_a_page_of_another_node(start_standin, exporters, start_controller):
    """An address that two Nodes have: the page is the one's whose name is on it."""
    standin = start_standin()
    owner, impostor = "node", "impostor"  # the exporters' host name, and any
    for name in (owner, impostor):
        standin.add_nodes(None, names=[name], first_address="127.1.0.1")
    controller = start_controller(standin, exporters)
    wait_until(lambda: reading(standin, owner, MEMORY), what="values of the owner")
    wait_until(lambda: log_lines(controller.process, "node is failing"), what="the other to fail")
    (line,) = log_lines(controller.process, "node is failing")
    assert f"node={impostor} " in line and "reason=other_node" in line and owner in line, line
    assert reading(standin, impostor, MEMORY) is None
    # Without such a Node, the name is just what the host is called.
    standin.admin("delete", {"resource": "nodes", "names": [owner]})
    wait_until(lambda: reading(standin, impostor, MEMORY), what="values of the other")


def test_a_host_called_like_a_node_that_is_not_scraped(start_standin, exporters, start_controller):
    """Only that Node's own page could show that this one is a copy of it."""
    standin = start_standin()
    exporters.trouble(["127.1.0.2"], "rst")
    standin.add_nodes(None, names=["node"], first_address="127.1.0.2")
    standin.add_nodes(None, names=["namesake"], first_address="127.1.0.1")
    start_controller(standin, exporters)
    wait_until(lambda: reading(standin, "namesake", MEMORY), what="values of the host")
    assert reading(standin, "node", MEMORY) is None


def test_nodes_whose_addresses_are_exchanged(binary, run):
    """Neither page is waited for without success: each of the two does answer, with the other's."""
    asked = []

    class Exchanged(Handler):
        def do_GET(self):  # pylint: disable=invalid-name
            name = self.path.lstrip("/")[0]
            asked.append(name)
            page = f'{PAGE}node_uname_info{{nodename="{"b" if name == "a" else "a"}"}} 1\n'
            self.reply(200, page)

    with contextlib.closing(LocalServer(Exchanged)) as server:
        urls = f"--target=a={server.url}/a", f"--target=b={server.url}/b"
        flags = ("--dry-run", "--scrape-interval=1s", *urls)
        controller = run([binary("plimsoll-controller"), *flags])
        wait_until(lambda: min(asked.count("a"), asked.count("b")) >= 4, what="four intervals")
        failing = log_lines(controller, "node is failing")
        assert [line for line in failing if "reason=other_node" in line] == failing
        assert len(failing) == 2 and log_lines(controller, "node recovered") == []
        controller.stop()
