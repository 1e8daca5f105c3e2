"""What an API server answers to those who list, get and watch; see api_kit.py."""

import gzip
import urllib.parse

import pytest

from api_kit import (
    NODES,
    NONSENSE,
    PARTIAL,
    PARTIAL_LIST,
    PODS,
    POLICIES,
    PROTOBUF,
    names,
    policy,
    refused,
)
from standin import fabricate

# -- list ------------------------------------------------------------------------------------


def test_what_the_stand_in_fabricates_is_what_a_cluster_holds(api):
    made = api.create(NODES, node := fabricate.node("n", "127.1.0.1"))
    assert made == node | {"kind": "Node", "apiVersion": "v1", "metadata": made["metadata"]}
    assert made["metadata"].items() >= node["metadata"].items()


def test_pages_are_consistent_while_objects_change(api):
    api.add_nodes("a", "b", "c", "d", "e")
    first = api.get(f"{NODES}?limit=2")
    assert names(first) == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 3
    api.delete(f"{NODES}/d")
    api.add_nodes("f")
    token = first["metadata"]["continue"]
    second = api.get(f"{NODES}?limit=2&continue={token}")
    assert names(second) == ["c", "d"]
    assert second["metadata"]["remainingItemCount"] == 1
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    last = api.get(f"{NODES}?limit=2&continue={second['metadata']['continue']}")
    assert names(last) == ["e"]
    assert set(last["metadata"]) == {"resourceVersion"}


def test_a_lost_history_is_410_everywhere(api):
    """A page and a watch: each finds that what it goes on from is gone."""
    api.add_nodes("a", "b", "c")
    first = api.get(f"{NODES}?limit=2")["metadata"]
    version = first["resourceVersion"]
    api.annotate("a", {"a": "1"})
    api.forget()
    answer = api.call("GET", f"{NODES}?limit=2&continue={first['continue']}")
    message = refused(answer, 410, "Expired")
    assert message.startswith("The provided continue parameter is too old to display")
    rest = api.get(f"{NODES}?limit=2&continue={answer.json()['metadata']['continue']}")
    assert names(rest) == ["c"] and "continue" not in rest["metadata"]
    with api.watch(f"{NODES}?watch=1&resourceVersion={version}") as watch:
        # Not the status of the answer, which has begun by that time.
        assert watch.status == 200
        kind, status = watch.next()
        assert (kind, status["kind"], status["status"]) == ("ERROR", "Status", "Failure")
        assert (status["code"], status["reason"]) == (410, "Expired")
        assert status["message"].startswith(f"too old resource version: {version} (")
        assert watch.next() is None


@pytest.mark.parametrize("match", ["", "&resourceVersionMatch=NotOlderThan"])
def test_a_version_that_is_still_to_come_is_504_and_says_when_to_retry(api, match):
    answer = api.call("GET", f"{NODES}?resourceVersion=99999999{match}")
    message = refused(answer, 504, "Timeout")
    assert message.startswith("Timeout: Too large resource version: 99999999, current: ")
    assert answer.headers["Retry-After"] == "1"
    assert answer.json()["details"] == {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }


@pytest.mark.parametrize(
    "selector, expected",
    [
        ("zone=a", ["a"]),
        ("zone!=a", ["b", "c"]),
        ("zone in (a, b),zone", ["a", "b"]),
        ("zone notin (a,b)", ["c"]),
        ("zone", ["a", "b"]),
        ("!zone", ["c"]),
        ("example.com/pool=gpu", ["c"]),
    ],
)
def test_label_selectors(api, selector, expected):
    api.add_nodes("a", labels={"zone": "a"})
    api.add_nodes("b", labels={"zone": "b"})
    api.add_nodes("c", labels={"example.com/pool": "gpu"})
    listed = api.get(f"{NODES}?labelSelector={urllib.parse.quote(selector)}")
    assert names(listed) == expected


def test_field_selectors_on_pods(api):
    api.add_pod("waiting")
    api.add_pod("bound", node="n1")
    api.add_pod("running", node="n1", phase="Running")
    for selector, expected in [
        ("spec.nodeName!=,status.phase=Pending", ["bound"]),
        ("spec.nodeName=", ["waiting"]),
        ("metadata.name=running", ["running"]),
        ("spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed", ["bound", "running"]),
    ]:
        listed = api.get(f"/api/v1/pods?fieldSelector={urllib.parse.quote(selector)}")
        assert names(listed) == expected, selector


# -- representations -------------------------------------------------------------------------


def test_metadata_only_has_managed_fields_and_no_spec(api):
    api.add_nodes("a")
    api.annotate("a", {"a": "1"})
    listed = api.get(NODES, Accept=PARTIAL_LIST)
    assert listed["kind"] == "PartialObjectMetadataList"
    assert listed["apiVersion"] == "meta.k8s.io/v1"
    item = listed["items"][0]
    assert set(item) == {"kind", "apiVersion", "metadata"}
    assert "tester" in [entry["manager"] for entry in item["metadata"]["managedFields"]]
    single = api.get(f"{NODES}/a", Accept=PARTIAL)
    assert (single["kind"], single["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert single == item
    patched = api.patch(f"{NODES}/a", {"metadata": {"labels": {"a": "b"}}}, Accept=PARTIAL).json()
    assert patched == api.get(f"{NODES}/a", Accept=PARTIAL)


def test_representations_that_do_not_fit_are_406(api):
    api.add_nodes("a")
    for path, accept in [
        (NODES, PARTIAL),
        (f"{NODES}/a", PARTIAL_LIST),
        (POLICIES, "text/html"),
        (NODES, NONSENSE),
    ]:
        refused(api.call("GET", path, Accept=accept), 406, "NotAcceptable")


def is_envelope(body, group_version, kind):
    type_of = b"".join(
        bytes([tag, len(text)]) + text for tag, text in [(0x0A, group_version), (0x12, kind)]
    )
    return body.startswith(b"k8s\0\x0a" + bytes([len(type_of)]) + type_of + b"\x12")


def test_pods_in_protobuf(api):
    api.create(PODS, fabricate.pod("p"))
    for path, status, kind in [
        ("/api/v1/pods", 200, b"PodList"),
        (f"{PODS}/p", 200, b"Pod"),
        ("/api/v1/pods?fieldSelector=spec.color%3Dred", 400, b"Status"),
    ]:
        answer = api.call("GET", path, Accept=PROTOBUF)
        assert (answer.status, answer.headers["Content-Type"]) == (
            status,
            PROTOBUF.split(",", maxsplit=1)[0],
        )
        assert is_envelope(answer.body, b"v1", kind)
    answer = api.call("GET", "/api/v1/pods?watch=1&timeoutSeconds=1", Accept=PROTOBUF)
    assert answer.headers["Content-Type"] == PROTOBUF.split(",", maxsplit=1)[0] + ";stream=watch"
    size = int.from_bytes(answer.body[:4], "big")
    assert answer.body[4:].startswith(b"\x0a\x05ADDED\x12") and size <= len(answer.body) - 4
    # What has no protobuf comes in JSON.
    assert api.get(POLICIES, Accept=PROTOBUF)["kind"] == "DynamicSchedulerPolicyList"


def test_nodes_in_protobuf(api):
    api.add_nodes("a")
    meta, media = b"meta.k8s.io/v1", PROTOBUF.split(",", maxsplit=1)[0]
    partial, partial_list = (
        form.replace("application/json;as", media + ";as") for form in (PARTIAL, PARTIAL_LIST)
    )
    for path, accept, status, group_version, kind in [
        (NODES, PROTOBUF, 200, b"v1", b"NodeList"),
        (NODES, partial_list, 200, meta, b"PartialObjectMetadataList"),
        (f"{NODES}/a", partial, 200, meta, b"PartialObjectMetadata"),
        (f"{NODES}/b", PROTOBUF, 404, b"v1", b"Status"),
    ]:
        answer = api.call("GET", path, Accept=accept)
        assert (answer.status, answer.headers["Content-Type"]) == (status, media)
        assert is_envelope(answer.body, group_version, kind), answer.body
    # There is no metadata of a Status.
    refused(api.call("GET", f"{NODES}/b", Accept=partial), 404, "NotFound")
    answer = api.call("GET", f"{NODES}?watch=1&timeoutSeconds=1", Accept=partial)
    assert answer.headers["Content-Type"] == media + ";stream=watch"
    assert b"k8s\0" in answer.body and meta in answer.body


def test_large_lists_are_gzipped_when_asked(api):
    api.add_nodes("a", annotations={"large": "x" * 200_000})
    api.add_nodes("b")
    plain = api.call("GET", f"{NODES}/a")
    packed = api.call("GET", f"{NODES}/a", Accept_Encoding="gzip")
    assert plain.headers["Content-Encoding"] is None
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    small = api.call("GET", f"{NODES}/b", Accept_Encoding="gzip")
    assert small.headers["Content-Encoding"] is None


# -- watch -----------------------------------------------------------------------------------


def test_watch_continues_where_the_list_ended(api):
    api.add_nodes("a", "b")
    version = api.version()
    api.annotate("b", {"a": "1"})
    with api.watch(f"{NODES}?watch=1&resourceVersion={version}") as watch:
        kind, obj = watch.next()
        assert (kind, obj["kind"], obj["metadata"]["name"]) == ("MODIFIED", "Node", "b")
        api.add_nodes("c")
        api.delete(f"{NODES}/c")
        (first, born), (second, gone) = watch.take(2)
        assert (first, second) == ("ADDED", "DELETED")
        assert born["metadata"]["name"] == gone["metadata"]["name"] == "c"
        # A deletion carries the last state at the revision of the deletion.
        assert int(gone["metadata"]["resourceVersion"]) > int(born["metadata"]["resourceVersion"])


def test_watch_without_a_version_begins_with_everything(api):
    api.add_nodes("a", "b")
    with api.watch(f"{NODES}?watch=1", Accept=PARTIAL) as watch:
        events = watch.take(2)
        assert [kind for kind, _ in events] == ["ADDED", "ADDED"]
        assert sorted(obj["metadata"]["name"] for _, obj in events) == ["a", "b"]
        assert events[0][1]["kind"] == "PartialObjectMetadata"


@pytest.mark.parametrize("query", ["", "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"])
def test_a_bookmark_ends_the_initial_events(api, query):
    """With the gate WatchList, on since 1.34: also for those who do not know of it."""
    api.add_nodes("a")
    with api.watch(f"{NODES}?watch=1&allowWatchBookmarks=true{query}", Accept=PARTIAL) as watch:
        assert watch.next()[0] == "ADDED"
        kind, obj = watch.next()
        assert kind == "BOOKMARK"
        assert int(obj["metadata"].pop("resourceVersion")) >= int(api.version())
        assert obj == {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": {"annotations": {"k8s.io/initial-events-end": "true"}},
        }


def test_watch_of_one_custom_resource(api):
    version = api.get(POLICIES)["metadata"]["resourceVersion"]
    about = "fieldSelector=metadata.name%3Ddefault&allowWatchBookmarks=true"
    with api.watch(f"{POLICIES}?watch=1&resourceVersion={version}&{about}") as watch:
        made = api.create(POLICIES, policy())
        assert watch.next() == ("ADDED", made)
        api.delete(f"{POLICIES}/default")
        kind, gone = watch.next()
        made["metadata"]["resourceVersion"] = gone["metadata"]["resourceVersion"]
        assert (kind, gone) == ("DELETED", made)
    with api.watch(f"{POLICIES}?watch=1&{about}") as watch:
        kind, obj = watch.next()
        del obj["metadata"]["resourceVersion"]
        assert (kind, obj) == (
            "BOOKMARK",
            {
                "kind": "DynamicSchedulerPolicy",
                "apiVersion": "scheduler.policy.crane.io/v1alpha1",
                "metadata": {"annotations": {"k8s.io/initial-events-end": "true"}},
            },
        )


def test_selector_transitions(api):
    """Beginning to match is ADDED, ceasing to match is DELETED with the old object."""
    api.add_pod("web")
    version = api.get("/api/v1/pods")["metadata"]["resourceVersion"]
    selector = "spec.nodeName%21%3D,status.phase%3DPending"
    path = f"/api/v1/pods?watch=1&resourceVersion={version}&fieldSelector={selector}"
    with api.watch(path) as watch:
        api.bind("web", "n1")
        kind, pod = watch.next()
        assert (kind, pod["spec"]["nodeName"]) == ("ADDED", "n1")
        condition = pod["status"]["conditions"][0]
        assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
        api.set_phase("web", "Running")
        kind, gone = watch.next()
        assert (kind, gone["status"]["phase"]) == ("DELETED", "Pending")
        assert int(gone["metadata"]["resourceVersion"]) > int(pod["metadata"]["resourceVersion"])


def test_timeout_ends_cleanly_after_a_bookmark(api):
    api.add_nodes("a")
    version = api.version()
    query = f"watch=1&resourceVersion={version}&timeoutSeconds=3&allowWatchBookmarks=true"
    with api.watch(f"{NODES}?{query}") as watch:
        api.add_pod("p")
        # Other resources' revisions count too, once the watch cache has been asked for the newest.
        newest = api.version()
        assert int(newest) > int(version)
        kind, obj = watch.next()
        assert kind == "BOOKMARK"
        assert set(obj) == {"kind", "apiVersion", "metadata", "spec", "status"}
        assert obj["kind"] == "Node" and "name" not in obj["metadata"]
        assert int(obj["metadata"]["resourceVersion"]) >= int(newest)
        while (event := watch.next()) is not None:
            assert event[0] == "BOOKMARK"
