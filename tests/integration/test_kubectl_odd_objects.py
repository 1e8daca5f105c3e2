"""kubectl-plimsoll where objects lack fields, or hold something else: it says what it can, and ends."""

import json
import os
import random
import subprocess

import pytest

from harness import NIGHTLY, SANITIZER_SIGNS
from paper_cluster import PaperCluster

ROUNDS = 200 if NIGHTLY else 6
ODD = (None, 7, -1.5, "", "odd \x1b[2J\u00e9", [], {}, [None], [{}], {"a": 1}, True)
VERBS = (("doctor", "-ojson"), ("top", "--requests"), ("top", "-ojson"), ("explain", "node-0"))


def bend(draw, value, share):
    """`value` with a share of its fields removed, or odd."""
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if draw.random() > share}
        return {
            k: draw.choice(ODD) if draw.random() < share else bend(draw, v, share)
            for k, v in kept.items()
        }
    if isinstance(value, list):
        return [draw.choice(ODD) if draw.random() < share else bend(draw, v, share) for v in value]
    return value


def pods():
    pod = {"metadata": {"name": "p", "namespace": "s", "uid": "u"}, "spec": {"nodeName": "node-0"}}
    pod["spec"]["containers"] = [{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]
    pod["status"] = {"phase": "Running"}
    return [{**pod, "metadata": {**pod["metadata"], "uid": f"u{i}"}} for i in range(6)]


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_odd_objects(binary, seed):
    draw = random.Random(seed)
    cluster = PaperCluster("0.1.0")
    cluster.objects["/api/v1/pods"] = pods()
    for item in cluster.nodes():
        item["status"]["capacity"] = {"cpu": "8", "memory": "32Gi"}
    for path, content in cluster.objects.items():
        if isinstance(content, (dict, list)):
            cluster.objects[path] = bend(draw, content, draw.choice((0, 0.03, 0.1, 0.3)))
    for verb in VERBS:
        done = subprocess.run(
            [binary("kubectl-plimsoll"), *verb, f"--server={cluster.url}"],
            env={**os.environ, "KUBECONFIG": "", "HOME": "/none"},
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode in (0, 1, 2), (verb, done.returncode, done.stderr)
        assert not SANITIZER_SIGNS.search(done.stderr), done.stderr
        assert "\x1b" not in done.stdout + done.stderr
        if not done.stdout:
            assert done.stderr.startswith("kubectl plimsoll "), (verb, done.stderr)
        elif "-ojson" in verb:
            json.loads(done.stdout)
    cluster.close()
