"""How kubectl plimsoll lists a large cluster: in protobuf, each pod once, and nothing twice."""

import json
import os

import pytest

from harness import wait_until
from paper_cluster import POLICY_PATH, Answering, node, policy
from policies import ago, write_policy
from programs import piped, stop_reading

NODES = "/api/v1/nodes?limit="
PODS = (
    "/api/v1/pods?fieldSelector=spec.nodeName!%3D%2Cstatus.phase!%3DSucceeded%2C"
    "status.phase!%3DFailed&limit="
)
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


def pod(number):
    return {
        "metadata": {"name": f"web-{number}", "namespace": "shop", "uid": f"uid-{number}"}
        | {"creationTimestamp": ago(60)},
        "spec": {
            "nodeName": "node-0",
            "containers": [{"resources": {"requests": {"cpu": "1"}}}],
        },
        "status": {"phase": "Running"},
    }


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
    expire(cluster, PODS, [pod(0), pod(1)], [pod(1), pod(2), pod(3)])
    requests = json.loads(plimsoll("top", "--requests", "-ojson"))
    assert [(row["node"], row["pods"]) for row in requests["nodes"]] == [
        ("node-0", 3),
        ("node-1", 0),
    ]
    assert requests["namespaces"][0]["cpu"]["requested"] == 3
    shown = json.loads(plimsoll("top", "-ojson"))
    assert [row["node"] for row in shown["nodes"]] == ["node-0", "node-1"]
    write_policy(
        str(tmp_path / "new.yaml"),
        policy(),
    )
    shown = json.loads(plimsoll("simulate", "-f", "new.yaml", "-ojson"))
    assert [row["node"] for row in shown["nodes"]] == ["node-0", "node-1"]
    lists = [accept for path, accept in cluster.server.asked if path.startswith((NODES, PODS))]
    assert len(lists) == 16 and all(accept.startswith(PROTOBUF) for accept in lists)
    bare = [{"metadata": {"name": name}} for name in ("node-0", "gone", "node-1")]
    expire(cluster, NODES, bare[:2], bare[::2])
    assert "2 of 2 nodes have no annotation" in plimsoll("doctor", status=2)


def test_lists_that_always_expire(cluster, plimsoll):
    for limit in (500, 1000, 2000, 4000):
        cluster.objects[f"{NODES}{limit}"] = page([node("node-0")], "a")
        cluster.objects[f"{NODES}{limit}&continue=a"] = 410
    assert "GET /api/v1/nodes: 410 " in plimsoll("top", status=2)
    cluster.objects[f"{NODES}500"] = 410
    cluster.server.asked.clear()
    assert "GET /api/v1/nodes: 410 " in plimsoll("top", status=2)
    assert len([path for path, _ in cluster.server.asked if path.startswith(NODES)]) == 1


def test_pods_that_may_not_be_watched(cluster, plimsoll):
    cluster.objects["/api/v1/pods"] = 403
    assert "top: pods: " in plimsoll("top", "--requests", "--watch", status=2)


def test_watching_pods(start_standin, binary, run):
    """They are listed once, and what changes is seen all the same."""
    standin = start_standin("--nodes", 2)
    # Without it, the programs' pods are listed to ask one for its policy.
    assert standin.call("POST", os.path.dirname(POLICY_PATH), policy()).status == 201
    standin.add_pods(3, prefix="before-", nodes=["node-0000"], phase="Running")

    def lists():
        return standin.count(verb="list", resource="nodes", user_agent="kubectl-plimsoll")

    def start(*flags):
        return run(
            piped([binary("kubectl-plimsoll"), "top", "--watch", "--interval=1s", *flags]),
            env={"KUBECONFIG": standin.kubeconfig},
            clean_exit=False,
        )

    requests = start("--requests")
    requests.wait_log(r"(?m)^node-0000 +3 ")
    standin.add_pods(2, prefix="after-", nodes=["node-0000"], phase="Running")
    requests.wait_log(r"(?m)^node-0000 +5 ")
    standin.admin("delete", {"resource": "pods", "prefix": "before-"})
    requests.wait_log(r"(?m)^node-0000 +2 ")
    assert standin.count(verb="list", resource="pods", user_agent="kubectl-plimsoll") == 1
    seen = lists()
    load = start()
    load.wait_log(r"(?s)2 nodes.*2 nodes.*2 nodes")
    wait_until(lambda: lists() > seen + 3, what="the nodes to be listed again and again")
    assert len(standin.watches("pods")) == 1
    standin.admin("delete", {"resource": "pods", "prefix": "after-"})
    requests.wait_log(r"(?m)^node-0000 +0 ")
    standin.fault("status", verb="list", resource="nodes", status=403)
    load.wait_log(r"kubectl plimsoll top: GET /api/v1/nodes: 403 ")
    standin.clear_faults()
    for process in (requests, load):
        stop_reading(process)


def test_a_list_without_an_end_is_given_up(cluster, plimsoll):
    """A proxy that loses the query answers each page with the first one."""
    first = page([node("node-0")], "a")
    cluster.objects |= {f"{NODES}500": first, f"{NODES}500&continue=a": first}
    said = plimsoll("top", status=2)
    assert "GET /api/v1/nodes: the list does not end: 2000 pages of up to 500 objects" in said
