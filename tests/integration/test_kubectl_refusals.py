"""What kubectl plimsoll says where the API server refuses a call, or tells what no server should."""

import json
import os
import subprocess

import pytest

from paper_cluster import PaperCluster, node

FIRST = "/api/v1/nodes/node-0"


@pytest.fixture
def cluster():
    paper = PaperCluster("0")
    yield paper
    paper.close()


@pytest.fixture
def plimsoll(binary, cluster):
    def call(*words, status=0, **more):
        done = subprocess.run(
            [binary("kubectl-plimsoll"), *words, f"-s={cluster.url}"],
            env={**os.environ, "HOME": "/none", "KUBECONFIG": ""},
            capture_output=True, text=True, timeout=60, check=False, **more,
        )  # fmt: skip
        assert done.returncode == status, done.stdout + done.stderr
        return done

    return call


def tainted(*keys):
    return {"spec": {"taints": [{"key": key, "effect": "PreferNoSchedule"} for key in keys]}}


def test_taints_that_cannot_be_read(cluster, plimsoll):
    """A node's level is told only when it is known."""
    cluster.spec()["taints"] = {}
    cluster.objects[FIRST] = tainted("load.plimsoll.io/1")
    assert plimsoll("explain", "node", "node-0").stdout.endswith("  taint  level 1 of 4\n")
    cluster.objects[FIRST] = 403
    refused = plimsoll("explain", "node", "node-0")
    assert "no taints: GET /api/v1/nodes/node-0: 403 " in refused.stderr
    assert "taint  level" not in refused.stdout
    (row,) = json.loads(plimsoll("explain", "node", "node-0", "-ojson").stdout)
    assert row["node"] == "node-0" and "taintLevel" not in row


def test_a_node_with_an_odd_name(cluster, plimsoll):
    """What a server lists is asked for by its own name, whatever that holds."""
    cluster.spec()["taints"] = {}
    cluster.objects["/api/v1/nodes"] = [node("a/b?c")]
    cluster.objects["/api/v1/nodes/a%2Fb%3Fc"] = tainted("load.plimsoll.io/1", "load.plimsoll.io/2")
    assert plimsoll("explain", "node", "a/b?c").stdout.endswith("  taint  level 2 of 4\n")
