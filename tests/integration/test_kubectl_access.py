"""How kubectl plimsoll reaches a cluster: as kubectl does, by the same kubeconfig and flags."""

import os
import subprocess

import pytest

from paper_cluster import PaperCluster


@pytest.fixture
def cluster():
    paper = PaperCluster("0")
    yield paper
    paper.close()


@pytest.fixture
def plimsoll(binary, tmp_path):
    def call(*words, status=0, env=None, **more):
        done = subprocess.run(
            [binary("kubectl-plimsoll"), *words],
            env={**os.environ, "HOME": "/none", "KUBECONFIG": str(tmp_path / "config")} | (env or {}),
            capture_output=True, text=True, timeout=60, check=False, **more,
        )  # fmt: skip
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout if status == 0 else done.stderr

    return call


def test_a_server_without_a_context(cluster, plimsoll, tmp_path):
    config = tmp_path / "config"
    assert "4 nodes" in plimsoll("top", "-s", cluster.url), "there is no kubeconfig"
    config.write_text("kind: Config\n")
    assert "4 nodes" in plimsoll("top", "-s", cluster.url), "it is empty"
    assert "no current-context" in plimsoll("top", status=2)
    assert "no context named 'x'" in plimsoll("top", "--context=x", "-s", cluster.url, status=2)


def test_request_timeout(cluster, plimsoll):
    """As kubectl's: a duration, or seconds; 0 is none."""
    for timeout in ("0", "0s", "30", "1m30s", "99999999999999"):
        shown = plimsoll("top", "-s", cluster.url, f"--request-timeout={timeout}")
        assert "4 nodes" in shown
    for timeout in ("-1", "soon", "1 s", ""):
        said = plimsoll("top", "-s", cluster.url, f"--request-timeout={timeout}", status=2)
        assert f"--request-timeout: '{timeout}': expected a duration" in said
