"""How kubectl plimsoll lists a large cluster: in protobuf, and nothing twice."""

import json

import pytest

from harness import wait_until
from paper_cluster import Answering, node, policy
from policies import write_policy
from programs import piped, stop_reading

NODES = "/api/v1/nodes?limit="
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


def expire(cluster, path, before, after):
    """A list whose token has expired when its second page is asked for; then it is another one."""
    cluster.objects |= {
        f"{path}500": page(before, "a"),
        f"{path}500&continue=a": 410,
        f"{path}1000": page(after, "b"),
        f"{path}1000&continue=b": page([]),
    }


def test_lists_that_expire_begin_anew(cluster, plimsoll, tmp_path):
    """With larger pages, and without what the first attempt has shown."""
    expire(cluster, NODES, [node("node-0"), node("gone")], [node("node-0"), node("node-1")])
    shown = json.loads(plimsoll("top", "-ojson"))
    assert [row["node"] for row in shown["nodes"]] == ["node-0", "node-1"]
    write_policy(
        str(tmp_path / "new.yaml"),
        policy(),
    )
    shown = json.loads(plimsoll("simulate", "-f", "new.yaml", "-ojson"))
    assert [row["node"] for row in shown["nodes"]] == ["node-0", "node-1"]
    lists = [accept for path, accept in cluster.server.asked if path.startswith(NODES)]
    assert len(lists) == 8 and all(accept.startswith(PROTOBUF) for accept in lists)


def test_lists_that_always_expire(cluster, plimsoll):
    for limit in (500, 1000, 2000, 4000):
        cluster.objects[f"{NODES}{limit}"] = page([node("node-0")], "a")
        cluster.objects[f"{NODES}{limit}&continue=a"] = 410
    assert "GET /api/v1/nodes: 410 " in plimsoll("top", status=2)
    cluster.objects[f"{NODES}500"] = 410
    cluster.server.asked.clear()
    assert "GET /api/v1/nodes: 410 " in plimsoll("top", status=2)
    assert len([path for path, _ in cluster.server.asked if path.startswith(NODES)]) == 1


def test_watching_nodes(start_standin, binary, run):
    """They are listed again and again; a refusal is no end."""
    standin = start_standin("--nodes", 2)
    process = run(
        piped([binary("kubectl-plimsoll"), "top", "--watch", "--interval=1s"]),
        env={"KUBECONFIG": standin.kubeconfig},
        clean_exit=False,
    )
    process.wait_log(r"(?s)2 nodes.*2 nodes")
    standin.fault("status", verb="list", resource="nodes", status=403)
    process.wait_log(r"kubectl plimsoll top: GET /api/v1/nodes: 403 ")
    seen = process.text().count("2 nodes: ")
    standin.clear_faults()
    wait_until(lambda: process.text().count("2 nodes: ") > seen, what="the next update")
    stop_reading(process)


def test_a_list_without_an_end_is_given_up(cluster, plimsoll):
    """A proxy that loses the query answers each page with the first one."""
    first = page([node("node-0")], "a")
    cluster.objects |= {f"{NODES}500": first, f"{NODES}500&continue=a": first}
    said = plimsoll("top", status=2)
    assert "GET /api/v1/nodes: the list does not end: 2000 pages of up to 500 objects" in said
