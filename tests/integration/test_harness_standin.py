"""The API server stand-in keeps the real server's rules: the cases of api_kit.py, to which
tests/e2e/test_standin_is_true.py holds a real kube-apiserver; and what is the stand-in's own."""

import contextlib
import time

import pytest

from api_cases_read import *  # noqa: F403
from api_cases_write import *  # noqa: F403
from api_kit import NODES, PARTIAL, Api
from harness import NIGHTLY, ApiClient


class StandInApi(Api):
    def __init__(self, standin):
        super().__init__(standin.url, "admin")
        self.standin = standin

    def stranger(self, token=None):
        return ApiClient(self.url, token)

    def user(self, *rules):
        row = {"token": "limited", "user": "limited-user", "rules": rules}
        self.standin.admin("auth", {"tokens": [row]})
        return ApiClient(self.url, "limited"), "limited-user"

    def forget(self):
        self.standin.admin("compact", {})

    def promise_metrics(self, is_promised):
        self.standin.admin("nodemetrics", {"on": is_promised, "available": False})


@pytest.fixture(scope="module")
def server(module_start_standin):
    return StandInApi(module_start_standin("--token", "admin"))


@pytest.fixture
def api(server):
    server.clear()
    return server


# -- what is the stand-in's own --------------------------------------------------------------


def test_the_journal_keeps_patches_with_bodies(api):
    api.add_nodes("a", "b")
    api.standin.admin("stats/reset", {})
    before = time.time()
    api.annotate("b", {"a": "1"})
    (row,) = api.standin.patches(name="b", since=before - 1)
    assert row["body"] == {"metadata": {"annotations": {"a": "1"}}}
    assert row["code"] == 200 and before - 1 < row["at_unix"] < time.time() + 1
    summary = api.standin.admin("patches/summary")
    assert (summary["total"], summary["objects"], summary["most"]) == (1, 1, 1)


def test_watchers_of_thousands_of_nodes_see_every_change(api):
    nodes, changes = (5000, 2000) if NIGHTLY else (500, 200)
    api.standin.add_nodes(nodes)
    path = f"{NODES}?watch=1&resourceVersion={api.version()}"
    with contextlib.ExitStack() as stack:
        watches = [stack.enter_context(api.watch(path, Accept=PARTIAL)) for _ in range(3)]
        job = api.standin.admin("mutate", {"per_second": 1000, "seconds": changes / 1000})
        seen = [watch.take(changes) for watch in watches]
    assert api.standin.wait_job(job)["done"] == changes
    assert {kind for kind, _ in seen[0]} == {"MODIFIED"}
    versions = [int(obj["metadata"]["resourceVersion"]) for _, obj in seen[0]]
    assert versions == sorted(set(versions))
    assert seen[0] == seen[1] == seen[2]
