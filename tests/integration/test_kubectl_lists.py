"""How kubectl plimsoll reads a large cluster: in protobuf, nothing twice, and without a tree of it."""

import json

import pytest

from harness import wait_until
from pages import block
from paper_cluster import EXTENDERS, SYSTEM, Answering, node
from programs import piped, stop_reading

LABELLED = "/api/v1/nodes?labelSelector=a&limit="
PROTOBUF = "application/vnd.kubernetes.protobuf"


class Recorder(Answering):
    def do_GET(self):  # pylint: disable=invalid-name
        self.server.asked.append((self.path, self.headers["Accept"]))
        super().do_GET()


@pytest.fixture
def cluster(cluster):
    cluster.server.asked = []
    cluster.server.RequestHandlerClass = Recorder
    return cluster


def page(items, following=None):
    metadata = {"resourceVersion": "1", **({"continue": following} if following else {})}
    return {"kind": "List", "metadata": metadata, "items": items}


def test_a_list_of_two_pages(cluster, plimsoll):
    """One whose token has expired is an error."""
    cluster.objects |= {
        f"{LABELLED}500": page([node("node-0")], "a"),
        f"{LABELLED}500&continue=a": page([node("node-1")]),
    }
    shown = json.loads(plimsoll("top", "-l", "a", "-ojson"))
    assert [row["node"] for row in shown["nodes"]] == ["node-0", "node-1"]
    lists = [accept for path, accept in cluster.server.asked if path.startswith(LABELLED)]
    assert len(lists) == 2 and all(accept.startswith(PROTOBUF) for accept in lists)
    cluster.objects[f"{LABELLED}500&continue=a"] = 410
    assert "GET /api/v1/nodes?labelSelector=a: 410 " in plimsoll("top", "-l", "a", status=2)


def test_watching_nodes(cluster, binary, run):
    """The extender is asked again and again; a refusal is no end."""
    page = f"{SYSTEM}/pods/{EXTENDERS[0]}:8010/proxy/nodes"
    other = f"{SYSTEM}/pods/{EXTENDERS[1]}:8010/proxy/nodes"
    kept = cluster.objects[page]
    process = run(
        piped([binary("kubectl-plimsoll"), "top", "--watch", "--interval=1s", "-s", cluster.url]),
        env={"KUBECONFIG": "", "HOME": "/proc/none"},
        clean_exit=False,
    )
    process.wait_log(r"(?s)4 nodes.*4 nodes")
    cluster.objects[page] = cluster.objects[other] = 403
    process.wait_log(r"kubectl plimsoll top: no extender answers: GET .*: 403 ")
    seen = process.text().count("4 nodes: ")
    cluster.objects[page] = kept
    wait_until(lambda: process.text().count("4 nodes: ") > seen, what="the next update")
    stop_reading(process)


def test_memory_for_a_page_of_many_nodes(cluster, binary, run):
    """5,000 of them. Their tree takes 9 KiB for each."""
    page = json.loads(block("extender/README.md", "nodes"))
    (row,) = page["nodes"]
    page["nodes"] = [{**row, "node": f"node-{number}"} for number in range(5000)]
    cluster.objects[f"{SYSTEM}/pods/{EXTENDERS[0]}:8010/proxy/nodes"] = page
    process = run(
        piped([binary("kubectl-plimsoll", "release"), "top", "--watch", "-s", cluster.url]),
        env={"KUBECONFIG": "", "HOME": "/proc/none"},
        clean_exit=False,
    )
    process.wait_log("5000 nodes: ")
    assert process.peak_rss_kib() < 30 * 1024
    stop_reading(process)


def test_a_list_without_an_end_is_given_up(cluster, plimsoll):
    """A proxy that loses the query answers each page with the first one."""
    first = page([node("node-0")], "a")
    cluster.objects |= {f"{LABELLED}500": first, f"{LABELLED}500&continue=a": first}
    said = plimsoll("top", "-l", "a", status=2)
    assert (
        "GET /api/v1/nodes?labelSelector=a: the list does not end: 2000 pages of up to 500 objects"
        in said
    )
