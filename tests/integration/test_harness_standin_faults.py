"""The API server stand-in does on command what no healthy API server does."""

import http.client

import pytest

from api_kit import NODES
from harness import wait_until


@pytest.fixture(scope="module")
def shared(module_start_standin):
    return module_start_standin()


@pytest.fixture
def standin(shared):
    """The same for all tests here."""
    yield shared
    shared.clear_faults()
    shared.admin("delete", {"resource": "nodes"})
    shared.admin("stats/reset", {})


def test_faults_on_the_wire(standin):
    standin.add_nodes(2)
    whole = standin.call("GET", NODES).body
    standin.fault("truncate", bytes=1000)
    with pytest.raises(http.client.IncompleteRead):
        standin.call("GET", NODES)
    standin.fault("reset")
    with pytest.raises(ConnectionResetError, match="reset by peer"):
        standin.call("GET", NODES)
    standin.fault("close")
    with pytest.raises(http.client.RemoteDisconnected):
        standin.call("GET", NODES)
    standin.fault("garbage")
    with pytest.raises(ValueError):
        standin.call("GET", NODES).json()
    standin.fault("empty")
    assert standin.call("GET", NODES).body == b""
    standin.fault("huge", mebibytes=4)
    assert len(standin.call("GET", NODES).body) == 4 * 1024 * 1024 + 2
    standin.fault("html")
    assert standin.call("GET", NODES).headers["Content-Type"] == "text/html"
    standin.fault("html", status=502)
    assert standin.call("GET", NODES).status == 502
    standin.fault("expired")
    with standin.watch(f"{NODES}?watch=1") as watch:
        assert (watch.status, watch.next()[1]["code"]) == (200, 410)
    standin.fault("not_http")
    with pytest.raises(http.client.BadStatusLine, match="SSH-2.0"):
        standin.call("GET", NODES)
    standin.fault("drip", seconds=0.0005, bytes=16)
    assert standin.call("GET", f"{NODES}/node-0000").status == 200
    assert all(row["left"] == 0 for row in standin.faults().values())
    assert standin.call("GET", NODES).body == whole


def test_a_typo_in_an_admin_call_is_an_error(standin):
    for path, body in [
        ("faults", {"action": "hang", "verbs": "list"}),
        ("faults", {"action": "explode"}),
        ("nodes", {"cuont": 3}),
        ("compact", {"watches": "maybe"}),
    ]:
        with pytest.raises(AssertionError, match="400"):
            standin.admin(path, body)


def test_watches_can_be_cut_expired_and_fed_garbage(standin):
    standin.add_nodes(1)
    version = standin.get(NODES)["metadata"]["resourceVersion"]
    path = f"{NODES}?watch=1&resourceVersion={version}"
    with standin.watch(path) as watch:
        wait_until(standin.watches, what="the watch")
        standin.admin("watches/inject", {"lines": ['{"type":"MODIFIED","object":{']})
        assert watch.line() == b'{"type":"MODIFIED","object":{\n'
        standin.admin("watches/cut", {})
        with pytest.raises(http.client.IncompleteRead):
            watch.answer.read()
    with standin.watch(path) as watch:
        wait_until(standin.watches, what="the second watch")
        standin.admin("compact", {"watches": "expire"})
        kind, status = watch.next()
        assert (kind, status["code"]) == ("ERROR", 410)
        assert watch.next() is None
    wait_until(lambda: not standin.watches(), what="no watch to be left")
