"""The API server stand-in: who may do what, and misbehaviour on command."""

import http.client
import ssl

import pytest

from harness import fetch, wait_until
from test_standin import LEASES, NODES, POLICIES, annotate, refused


# -- who may do what -------------------------------------------------------------------------


def test_tokens_and_rules(start_standin):
    standin = start_standin("--nodes", 1, "--token", "secret=system:serviceaccount:a:b")
    refused(standin.call("GET", NODES), 401, "Unauthorized")
    refused(standin.call("GET", NODES, Authorization="Bearer wrong"), 401, "Unauthorized")
    assert standin.call("GET", NODES, Authorization="Bearer secret").status == 200
    rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}]
    standin.admin("auth", {"tokens": [{"token": "reader", "user": "r", "rules": rules}]})
    reader = {"Authorization": "Bearer reader"}
    assert standin.call("GET", NODES, **reader).status == 200
    message = refused(standin.patch(f"{NODES}/node-0000", {}, **reader), 403, "Forbidden")
    assert message == (
        'nodes "node-0000" is forbidden: User "r" cannot patch resource "nodes" in API group "" '
        "at the cluster scope"
    )
    message = refused(standin.call("GET", LEASES, **reader), 403, "Forbidden")
    assert message.endswith('in API group "coordination.k8s.io" in the namespace "kube-system"')


def test_tls_with_client_certificates(start_standin, tmp_path):
    directory = str(tmp_path / "tls")
    standin = start_standin("--nodes", 1, "--tls-dir", directory, "--client-certs")
    assert standin.url.startswith("https://")
    context = ssl.create_default_context(cafile=f"{directory}/ca.crt")
    refused(fetch(standin.url + NODES, context=context), 401, "Unauthorized")
    context.load_cert_chain(f"{directory}/client.crt", f"{directory}/client.key")
    assert fetch(standin.url + NODES, context=context).status == 200


# -- misbehaviour ----------------------------------------------------------------------------


def test_faults_are_spent_and_counted(standin):
    standin.add_nodes(1)
    rule = standin.fault("status", verb="patch", status=429, retry_after=3, count=2, plain=True)
    for _ in range(2):
        answer = annotate(standin, "node-0000", {"a": "1"})
        assert (answer.status, answer.headers["Retry-After"]) == (429, "3")
        assert answer.headers["Content-Type"].startswith("text/plain")
    assert annotate(standin, "node-0000", {"a": "1"}).status == 200
    assert standin.faults()[rule] == {
        **standin.faults()[rule],
        "hits": 2,
        "left": 0,
    }
    assert standin.count(verb="patch", code=429) == 2
    standin.fault("status", resource="nodes", status=503)
    refused(standin.call("GET", NODES), 503, "ServiceUnavailable")


@pytest.mark.parametrize("code", [401, 403, 409, 410, 500])
def test_faults_speak_status(standin, code):
    standin.fault("status", status=code)
    answer = standin.call("GET", NODES)
    assert (answer.status, answer.json()["code"]) == (code, code)


def test_faults_on_the_wire(standin):
    standin.add_nodes(2)
    whole = standin.call("GET", NODES).body
    standin.fault("truncate", bytes=1000)
    with pytest.raises(http.client.IncompleteRead):
        standin.call("GET", NODES)
    standin.fault("reset")
    with pytest.raises(OSError):
        standin.call("GET", NODES)
    standin.fault("close")
    with pytest.raises((OSError, http.client.HTTPException)):
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
    standin.fault("content_type", content_type="application/x-other")
    answer = standin.call("GET", NODES)
    assert (answer.headers["Content-Type"], answer.body) == ("application/x-other", whole)
    standin.fault("not_http")
    with pytest.raises((OSError, http.client.HTTPException)):
        standin.call("GET", NODES)
    standin.fault("drip", seconds=0.0005, bytes=16)
    assert standin.call("GET", f"{NODES}/node-0000").status == 200
    assert all(row["left"] == 0 for row in standin.faults().values())
    assert standin.call("GET", NODES).body == whole


def test_hang_holds_only_what_it_matches(standin):
    standin.add_nodes(1)
    standin.fault("hang", verb="list", count=-1)
    with pytest.raises(OSError):
        fetch(standin.url + NODES, timeout_s=0.3)
    assert annotate(standin, "node-0000", {"a": "1"}).status == 200
    standin.clear_faults()
    assert standin.call("GET", NODES).status == 200


def test_freeze_and_thaw(standin):
    standin.add_nodes(1)
    version = standin.get(NODES)["metadata"]["resourceVersion"]
    with standin.watch(f"{NODES}?watch=1&resourceVersion={version}") as watch:
        wait_until(standin.watches, what="the watch")
        standin.admin("freeze", {})
        with pytest.raises(OSError):
            fetch(standin.url + NODES, timeout_s=0.3)
        standin.add_nodes(1, prefix="late-")
        watch.conn.sock.settimeout(0.3)
        with pytest.raises(OSError):
            watch.answer.fp.peek()
        standin.admin("thaw", {})
        watch.conn.sock.settimeout(10)
    assert len(standin.get(NODES)["items"]) == 2


def test_a_typo_in_an_admin_call_is_an_error(standin):
    for path, body in [
        ("faults", {"action": "hang", "verbs": "list"}),
        ("faults", {"action": "explode"}),
        ("nodes", {"cuont": 3}),
        ("compact", {"watches": "maybe"}),
    ]:
        with pytest.raises(AssertionError, match="400"):
            standin.admin(path, body)


def test_down_and_up_again_with_the_same_objects(standin):
    standin.add_nodes(2)
    with standin.watch(f"{NODES}?watch=1") as watch:
        watch.take(2)
        standin.admin("listen", {"on": False})
        with pytest.raises(OSError):
            watch.answer.read()
    with pytest.raises(OSError, match="refused"):
        standin.call("GET", NODES)
    standin.admin("listen", {"on": True})
    assert len(standin.get(NODES)["items"]) == 2


def test_the_watch_cache_can_lag(standin):
    standin.add_nodes(3)
    newest = standin.get(NODES)["metadata"]["resourceVersion"]
    standin.admin("stale", {"revisions": 2})
    assert len(standin.get(f"{NODES}?resourceVersion=0")["items"]) == 1
    fresh = f"{NODES}?resourceVersion={newest}&resourceVersionMatch=NotOlderThan"
    assert len(standin.get(fresh)["items"]) == 3
    assert len(standin.get(NODES)["items"]) == 3


def test_rules_with_names_allow_a_watch_of_that_name(standin):
    rule = {
        "apiGroups": ["scheduler.policy.crane.io"],
        "resources": ["dynamicschedulerpolicies"],
        "resourceNames": ["default"],
        "verbs": ["get", "list", "watch"],
    }
    standin.admin("auth", {"tokens": [{"token": "t", "user": "u", "rules": [rule]}]})
    bearer = {"Authorization": "Bearer t"}
    assert (
        standin.call("GET", f"{POLICIES}?fieldSelector=metadata.name%3Ddefault", **bearer).status
        == 200
    )
    refused(standin.call("GET", POLICIES, **bearer), 403, "Forbidden")
