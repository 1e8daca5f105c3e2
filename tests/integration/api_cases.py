"""What our programs and tests rely on of an API server, as cases that run against two of them.

test_standin.py runs these against the stand-in, tests/e2e/test_standin_is_true.py against a real
kube-apiserver: what a case asserts is what the real one does. Either gives a fixture `api`, an Api
that holds no node, pod, lease or policy but what the case makes. A case has no other means than
requests.
"""

import gzip
import urllib.parse

import pytest

from harness import ApiClient, wait_until
from standin import fabricate

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
POLICIES = "/apis/scheduler.policy.crane.io/v1alpha1/dynamicschedulerpolicies"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
NONSENSE = "application/json;as=Nonsense;g=meta.k8s.io;v=v1"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


class Api(ApiClient):
    """An API server, as its administrator sees it; whoever runs the cases adds the last four."""

    def clear(self):
        for path in (f"{PODS}?gracePeriodSeconds=0", NODES, LEASES, POLICIES):
            answer = self.call("DELETE", path)
            assert answer.status == 200, answer.text

    def create(self, path, obj):
        answer = self.call("POST", path, obj)
        assert answer.status == 201, answer.text
        return answer.json()

    def delete(self, path):
        answer = self.call("DELETE", f"{path}?gracePeriodSeconds=0")
        assert answer.status == 200, answer.text

    def add_nodes(self, *names, **shape):
        for name in names:
            self.create(NODES, fabricate.node(name, **shape))

    def add_pod(self, name, node=None, phase=None):
        self.create(PODS, fabricate.pod(name))
        if node:
            self.bind(name, node)
        if phase:
            self.set_phase(name, phase)

    def bind(self, pod, node):
        self.create(f"{PODS}/{pod}/binding", binding(pod, node))

    def set_phase(self, pod, phase):
        answer = self.patch(f"{PODS}/{pod}/status", {"status": {"phase": phase}})
        assert answer.status == 200, answer.text

    def annotate(self, node, values, query="?fieldManager=tester", **metadata):
        body = {"metadata": {"annotations": values, **metadata}}
        return self.patch(f"{NODES}/{node}{query}", body)

    def annotations(self, node):
        return self.get(f"{NODES}/{node}")["metadata"]["annotations"]

    def version(self):
        """The resourceVersion of a list of nodes, for a watch to go on from."""
        return self.get(NODES)["metadata"]["resourceVersion"]

    def stranger(self, token=None):
        """A client with this token, and no other credentials."""
        raise NotImplementedError

    def user(self, *rules):
        """A client of one who may do this and nothing else, and the user's name."""
        raise NotImplementedError

    def forget(self):
        """Lose all history: etcd is compacted, and the API server that comes back starts afresh."""
        raise NotImplementedError

    def promise_metrics(self, is_promised):
        """Say that metrics.k8s.io is behind the aggregator, where nobody answers; or no longer."""
        raise NotImplementedError


def binding(pod, node, **metadata):
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod, "namespace": "default", **metadata},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }


def lease(**spec):
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "plimsoll"},
        "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15, **spec},
    }


def policy(*windows):
    return {
        "apiVersion": "scheduler.policy.crane.io/v1alpha1",
        "kind": "DynamicSchedulerPolicy",
        "metadata": {"name": "default"},
        "spec": {"syncPolicy": list(windows)},
    }


def names(listed):
    return [item["metadata"]["name"] for item in listed["items"]]


def refused(answer, code, reason):
    """Assert that an answer is a proper Status, and return its message."""
    assert answer.status == code, answer.text
    status = answer.json()
    assert (status["kind"], status["apiVersion"]) == ("Status", "v1")
    assert (status["status"], status["code"], status.get("reason")) == ("Failure", code, reason)
    return status["message"]


# -- list ------------------------------------------------------------------------------------


def test_list_is_sorted_and_typed_items_carry_no_kind(api):
    api.add_nodes("b", "a")
    listed = api.get(NODES)
    assert list(listed) == ["kind", "apiVersion", "metadata", "items"]
    assert (listed["kind"], listed["apiVersion"]) == ("NodeList", "v1")
    assert names(listed) == ["a", "b"]
    assert set(listed["items"][0]) == {"metadata", "spec", "status"}


def test_what_the_stand_in_fabricates_is_what_a_cluster_holds(api):
    made = api.create(NODES, node := fabricate.node("n", "127.1.0.1"))
    assert made == node | {"kind": "Node", "apiVersion": "v1", "metadata": made["metadata"]}
    assert made["metadata"].items() >= node["metadata"].items()
    made = api.create(PODS, pod := fabricate.pod("p", owner_kind="ReplicaSet"))
    assert made == pod | {"kind": "Pod", "apiVersion": "v1", "metadata": made["metadata"]}
    assert made["metadata"].items() >= pod["metadata"].items()
    assert made["metadata"]["generation"] == 1


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


def test_pages_of_a_selection_do_not_say_how_many_remain(api):
    api.add_nodes("a", "b", "d", labels={"pool": "x"})
    api.add_nodes("c")
    path = f"{NODES}?limit=2&labelSelector=pool"
    first = api.get(path)
    assert names(first) == ["a", "b"] and "remainingItemCount" not in first["metadata"]
    second = api.get(f"{path}&continue={first['metadata']['continue']}")
    assert names(second) == ["d"] and "continue" not in second["metadata"]


def test_a_lost_history_is_410_everywhere(api):
    """A list of a version, a page and a watch: each finds that what it goes on from is gone."""
    api.add_nodes("a", "b", "c")
    first = api.get(f"{NODES}?limit=2")["metadata"]
    version = first["resourceVersion"]
    api.annotate("a", {"a": "1"})
    api.forget()
    exact = f"{NODES}?resourceVersion={version}&resourceVersionMatch=Exact"
    assert refused(api.call("GET", exact), 410, "Expired") == (
        "The resourceVersion for the provided list is too old."
    )
    answer = api.call("GET", f"{NODES}?limit=2&continue={first['continue']}")
    message = refused(answer, 410, "Expired")
    assert message.startswith("The provided continue parameter is too old to display")
    rest = api.get(f"{NODES}?limit=2&continue={answer.json()['metadata']['continue']}")
    assert names(rest) == ["c"] and "continue" not in rest["metadata"]
    with api.watch(f"{NODES}?watch=1&resourceVersion={version}") as watch:
        # Not the status of the answer, which has begun by then.
        assert watch.status == 200
        kind, status = watch.next()
        assert (kind, status["kind"], status["status"]) == ("ERROR", "Status", "Failure")
        assert (status["code"], status["reason"]) == (410, "Expired")
        assert status["message"].startswith(f"too old resource version: {version} (")
        assert watch.next() is None


def test_version_0_ignores_the_limit(api):
    api.add_nodes("a", "b", "c")
    # Once a consistent list has seen them, the watch cache has them.
    assert names(api.get(NODES)) == ["a", "b", "c"]
    listed = api.get(f"{NODES}?resourceVersion=0&limit=1")
    assert names(listed) == ["a", "b", "c"] and "continue" not in listed["metadata"]


OPTIONS_INVALID = {
    "resourceVersionMatch=Exact": "resourceVersionMatch: Forbidden: resourceVersionMatch is "
    "forbidden unless resourceVersion is provided",
    "resourceVersion=0&resourceVersionMatch=Exact": "resourceVersionMatch: Forbidden: "
    'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    "resourceVersion=1&resourceVersionMatch=Sometimes": "resourceVersionMatch: Unsupported value: "
    '"Sometimes": supported values: "Exact", "NotOlderThan", ""',
    "continue=abc&resourceVersion=1&resourceVersionMatch=Exact": "resourceVersionMatch: Forbidden: "
    "resourceVersionMatch is forbidden when continue is provided",
    "sendInitialEvents=true": "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for "
    "list",
    "watch=1&sendInitialEvents=true": "resourceVersionMatch: Forbidden: sendInitialEvents requires "
    "setting resourceVersionMatch to NotOlderThan",
    "watch=1&resourceVersion=1&resourceVersionMatch=NotOlderThan": "resourceVersionMatch: "
    "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
}
TOKEN = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiJhIn0"
OPTIONS_BAD = {
    f"continue={TOKEN}&resourceVersion=5": "specifying resource version is not allowed when using "
    "continue",
    "continue=abc": "invalid continue token: continue key is not valid: ",
    "resourceVersion=x": 'invalid resource version: resourceVersion: Invalid value: "x": '
    'strconv.ParseUint: parsing "x": invalid syntax',
    "fieldSelector=spec.providerID%3Dx": "field label not supported: spec.providerID",
    "fieldSelector=nonsense": "invalid selector: 'nonsense'; can't understand 'nonsense'",
    "labelSelector=a+in+b": "unable to parse requirement: found 'b' expected: '('",
}


@pytest.mark.parametrize("query", OPTIONS_INVALID)
def test_list_options_that_are_invalid(api, query):
    message = refused(api.call("GET", f"{NODES}?{query}"), 422, "Invalid")
    assert message == f'ListOptions.meta.k8s.io "" is invalid: {OPTIONS_INVALID[query]}'


@pytest.mark.parametrize("query", OPTIONS_BAD)
def test_list_options_that_are_bad(api, query):
    message = refused(api.call("GET", f"{NODES}?{query}"), 400, "BadRequest")
    assert message.startswith(OPTIONS_BAD[query])


def test_a_watch_of_a_version_that_is_none_is_500_for_no_reason(api):
    message = refused(api.call("GET", f"{NODES}?watch=1&resourceVersion=x"), 500, None)
    assert message == (
        'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax'
    )


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


def test_exact_version_shows_the_past(api):
    api.add_nodes("a", "b")
    then = api.version()
    api.add_nodes("c")
    api.delete(f"{NODES}/a")
    api.annotate("b", {"a": "1"})
    past = api.get(f"{NODES}?resourceVersion={then}&resourceVersionMatch=Exact")
    assert names(past) == ["a", "b"] and past["metadata"]["resourceVersion"] == then
    assert "a" not in past["items"][1]["metadata"]["annotations"]
    legacy = api.get(f"{NODES}?resourceVersion={then}&limit=1")
    assert names(legacy) == ["a"] and legacy["metadata"]["resourceVersion"] == then
    api.version()
    fresh = api.get(f"{NODES}?resourceVersion={then}&resourceVersionMatch=NotOlderThan")
    assert names(fresh) == ["b", "c"]


@pytest.mark.parametrize(
    "selector, expected",
    [
        ("zone=a", ["a"]),
        ("zone==a", ["a"]),
        ("zone!=a", ["b", "c"]),
        ("zone in (a, b)", ["a", "b"]),
        ("zone notin (a,b)", ["c"]),
        ("zone", ["a", "b"]),
        ("!zone", ["c"]),
        ("zone,zone!=a", ["b"]),
        ("example.com/pool=gpu", ["c"]),
        ("zone=a,zone=b", []),
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
        ("spec.nodeName==n1", ["bound", "running"]),
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
    spoken = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    for path, accept, why in [
        (
            NODES,
            PARTIAL,
            "you requested PartialObjectMetadata, but the requested object is a list "
            "(*core.NodeList)",
        ),
        (
            f"{NODES}/a",
            PARTIAL_LIST,
            "you requested PartialObjectMetadataList, but the requested object is not a list "
            "(*core.Node)",
        ),
        (POLICIES, "text/html", f"only the following media types are accepted: {spoken}"),
        (NODES, NONSENSE, f"only the following media types are accepted: {spoken}"),
    ]:
        assert refused(api.call("GET", path, Accept=accept), 406, "NotAcceptable") == why


def test_accept_is_a_list_of_preferences(api):
    api.add_nodes("a")
    assert api.get(NODES, Accept=f"{NONSENSE},application/json")["kind"] == "NodeList"
    by_quality = f"application/json;q=0.5,{PARTIAL_LIST.split(',')[0]};q=0.9"
    assert api.get(NODES, Accept=by_quality)["kind"] == "PartialObjectMetadataList"
    assert api.get(NODES, Accept="*/*")["kind"] == "NodeList"


def test_table(api):
    api.add_nodes("a", address="127.1.0.1")
    table = api.get(NODES, Accept=TABLE)
    assert table["kind"] == "Table"
    columns = [(column["name"], column["priority"]) for column in table["columnDefinitions"]]
    assert columns == [
        ("Name", 0),
        ("Status", 0),
        ("Roles", 0),
        ("Age", 0),
        ("Version", 0),
        ("Internal-IP", 1),
        ("External-IP", 1),
        ("OS-Image", 1),
        ("Kernel-Version", 1),
        ("Container-Runtime", 1),
    ]
    row = table["rows"][0]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    cells = dict(zip([name for name, _ in columns], row["cells"]))
    del cells["Age"]
    assert list(cells.values()) == [
        "a",
        "Ready",
        "<none>",
        "v1.32.4",
        "127.1.0.1",
        "<none>",
        "Debian GNU/Linux 12 (bookworm)",
        "6.1.0-32-amd64 (amd64)",
        "containerd://1.7.27",
    ]


def test_large_lists_are_gzipped_when_asked(api):
    api.add_nodes("a", annotations={"large": "x" * 200_000})
    api.add_nodes("b")
    path = f"{NODES}?resourceVersion={api.version()}&resourceVersionMatch=Exact"
    plain = api.call("GET", path)
    packed = api.call("GET", path, Accept_Encoding="gzip")
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


# -- patch -----------------------------------------------------------------------------------

UNSUPPORTED = (415, "UnsupportedMediaType", "415: Unsupported Media Type")
UNREADABLE = (400, "BadRequest", "error decoding patch: ")
INAPPLICABLE = (422, "Invalid", "the server rejected our request due to an error in our request")


def test_merge_patch_sets_and_deletes_and_notes_the_manager(api):
    api.add_nodes("a")
    assert api.annotate("a", {"a": "1", "b": "2"}).status == 200
    metadata = api.annotate("a", {"a": None, "c": "3"}).json()["metadata"]
    assert "a" not in metadata["annotations"] and metadata["annotations"]["c"] == "3"
    (entry,) = [e for e in metadata["managedFields"] if e["manager"] == "tester"]
    del entry["time"]
    assert entry == {
        "manager": "tester",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:annotations": {"f:b": {}, "f:c": {}}}},
    }
    answer = api.annotate("a", {"c": "4"}, "?fieldManager=other")
    managers = {e["manager"]: e for e in answer.json()["metadata"]["managedFields"]}
    for manager, fields in (("tester", {"f:b": {}}), ("other", {"f:c": {}})):
        assert managers[manager]["fieldsV1"] == {"f:metadata": {"f:annotations": fields}}


def test_default_manager_is_the_user_agents_prefix_and_managers_do_not_pile_up(api):
    api.add_nodes("a")
    body = {"metadata": {"annotations": {"a": "1"}}}
    answer = api.patch(f"{NODES}/a", body, User_Agent="plimsoll-controller/1.0 (x)")
    managers = [entry["manager"] for entry in answer.json()["metadata"]["managedFields"]]
    assert "plimsoll-controller" in managers
    for i in range(20):
        api.annotate("a", {f"k{i}": "1"}, f"?fieldManager=m{i}")
    entries = api.get(f"{NODES}/a")["metadata"]["managedFields"]
    assert len(entries) == 10 and "ancient-changes" in [entry["manager"] for entry in entries]


def test_a_patch_that_changes_nothing_writes_nothing(api):
    api.add_nodes("a")
    first = api.annotate("a", {"a": "1"}).json()["metadata"]
    second = api.annotate("a", {"a": "1"}).json()["metadata"]
    assert first == second
    dry = api.annotate("a", {"a": "2"}, "?dryRun=All").json()["metadata"]
    assert dry["annotations"]["a"] == "2"
    assert api.annotations("a")["a"] == "1"


def test_patch_preconditions(api):
    api.add_nodes("a")
    metadata = api.get(f"{NODES}/a")["metadata"]
    version, uid = metadata["resourceVersion"], metadata["uid"]
    assert api.annotate("a", {"a": "1"}, resourceVersion=version, uid=uid).status == 200
    message = refused(api.annotate("a", {"a": "2"}, resourceVersion=version), 409, "Conflict")
    assert message == (
        'Operation cannot be fulfilled on nodes "a": the object has been modified; please apply '
        "your changes to the latest version and try again"
    )
    message = refused(api.annotate("a", {"a": "2"}, uid="other"), 422, "Invalid")
    assert message == (
        'Node "a" is invalid: metadata.uid: Invalid value: "other": field is immutable'
    )
    message = refused(api.annotate("nobody", {"a": "2"}), 404, "NotFound")
    assert message == 'nodes "nobody" not found'
    message = refused(api.annotate("a", {}, name="x"), 400, "BadRequest")
    assert message == "the name of the object (x) does not match the name on the URL (a)"


@pytest.mark.parametrize(
    "annotations, says",
    [
        ({"a" * 64: "1"}, "name part must be no more than 63 "),
        ({"-a": "1"}, "name part must consist of alphanumeric characters, "),
        ({"Bad_Prefix/a": "1"}, "prefix part a lowercase RFC 1123 subdomain must consist of "),
        ({"a/b/c": "1"}, "a valid label key must consist of alphanumeric characters, "),
        ({"": "1"}, "name part must be non-empty"),
        ({"a": "x" * 262144}, "metadata.annotations: Too long: may not be more than 262144 bytes"),
        ({"a": 1}, "json: cannot unmarshal number into Go struct field "),
    ],
)
def test_annotations_are_validated(api, annotations, says):
    api.add_nodes("a")
    assert says in refused(api.annotate("a", annotations), 422, "Invalid")


@pytest.mark.parametrize(
    "media, body, code, reason, message",
    [
        ("application/json", b"{}", *UNSUPPORTED),
        ("", b"{}", *UNSUPPORTED),
        ("application/merge-patch+json", b"{", *UNREADABLE),
        ("application/merge-patch+json", b"[]", *UNREADABLE),
        (
            "application/merge-patch+json",
            b'{"metadata":{"annotations":{"a":NaN}}}',
            *UNREADABLE[:2],
            "error decoding patch: invalid character 'N' looking for beginning of value",
        ),
        (
            "application/json-patch+json",
            b'[{"op":"remove","path":"/metadata/nope"}]',
            *INAPPLICABLE,
        ),
        (
            "application/json-patch+json",
            b'[{"op":"test","path":"/spec/x","value":1}]',
            *INAPPLICABLE,
        ),
    ],
)
def test_patches_that_are_refused(api, media, body, code, reason, message):
    api.add_nodes("a")
    answer = api.call("PATCH", f"{NODES}/a", body, Content_Type=media)
    assert refused(answer, code, reason).startswith(message)


PATCH_OPTIONS = {
    f"fieldManager={'m' * 129}": "fieldManager: Too long: may not be more than 128 bytes",
    "dryRun=Some": 'dryRun: Unsupported value: ["Some"]: supported values: "All"',
}


@pytest.mark.parametrize("query", PATCH_OPTIONS, ids=lambda query: query.split("=")[0])
def test_patch_options_that_are_invalid(api, query):
    api.add_nodes("a")
    message = refused(api.annotate("a", {"a": "1"}, f"?{query}"), 422, "Invalid")
    assert message == f'PatchOptions.meta.k8s.io "" is invalid: {PATCH_OPTIONS[query]}'


@pytest.mark.parametrize(
    "media, patch",
    [
        ("application/merge-patch+json; charset=utf-8", {"metadata": {"labels": {"a": "b"}}}),
        ("application/strategic-merge-patch+json", {"metadata": {"labels": {"a": "b"}}}),
        (
            "application/json-patch+json",
            [{"op": "add", "path": "/metadata/labels/a", "value": "b"}],
        ),
    ],
)
def test_kinds_of_patch(api, media, patch):
    api.add_nodes("a")
    answer = api.patch(f"{NODES}/a", patch, Content_Type=media)
    assert answer.json()["metadata"]["labels"]["a"] == "b"


def test_status_is_a_subresource(api):
    api.add_nodes("a")
    body = {"status": {"phase": "x"}, "metadata": {"labels": {"l": "1"}}}
    answer = api.patch(f"{NODES}/a", body).json()
    assert "phase" not in answer["status"] and answer["metadata"]["labels"]["l"] == "1"
    body = {"status": {"phase": "y"}, "spec": {"unschedulable": True}}
    answer = api.patch(f"{NODES}/a/status?fieldManager=tester", body).json()
    assert answer["status"]["phase"] == "y" and "unschedulable" not in answer["spec"]
    (entry,) = [e for e in answer["metadata"]["managedFields"] if e["manager"] == "tester"]
    assert entry["subresource"] == "status"
    assert entry["fieldsV1"] == {"f:status": {"f:phase": {}}}


def test_a_patch_body_over_3_mib_is_413(api):
    api.add_nodes("a")
    answer = api.annotate("a", {"a": "x" * (3 * 1024 * 1024 + 1)})
    message = refused(answer, 413, "RequestEntityTooLarge")
    assert message == "Request entity too large: limit is 3145728"


# -- create, update, delete ------------------------------------------------------------------


def test_lease_life(api):
    now = "2026-07-23T11:25:54.123456Z"
    body = lease(acquireTime=now, renewTime=now, leaseTransitions=0)
    made = api.create(LEASES, body)
    assert made["spec"] == body["spec"]
    message = refused(api.call("POST", LEASES, body), 409, "AlreadyExists")
    assert message == 'leases.coordination.k8s.io "plimsoll" already exists'
    message = refused(api.call("PUT", f"{LEASES}/plimsoll", body), 422, "Invalid")
    assert message == (
        'leases.coordination.k8s.io "plimsoll" is invalid: metadata.resourceVersion: Invalid '
        "value: 0: must be specified for an update"
    )
    made["spec"]["holderIdentity"] = "you"
    changed = api.call("PUT", f"{LEASES}/plimsoll", made)
    assert changed.status == 200 and changed.json()["spec"]["holderIdentity"] == "you"
    refused(api.call("PUT", f"{LEASES}/plimsoll", made), 409, "Conflict")
    another = {**made, "metadata": {**made["metadata"], "uid": "other"}}
    message = refused(api.call("PUT", f"{LEASES}/plimsoll", another), 409, "Conflict")
    assert message.endswith(
        "Precondition failed: UID in precondition: other, UID in object meta: "
        + made["metadata"]["uid"]
    )
    message = refused(api.call("PUT", f"{LEASES}/another", made), 400, "BadRequest")
    assert message == (
        "the name of the object (plimsoll) does not match the name on the URL (another)"
    )
    other = {"preconditions": {"uid": "other"}}
    message = refused(api.call("DELETE", f"{LEASES}/plimsoll", other), 409, "Conflict")
    assert message == (
        'Operation cannot be fulfilled on Lease.coordination.k8s.io "plimsoll": the UID in the '
        f"precondition (other) does not match the UID in record ({made['metadata']['uid']}). The "
        "object might have been deleted and then recreated"
    )
    gone = api.call("DELETE", f"{LEASES}/plimsoll").json()
    assert gone == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {
            "name": "plimsoll",
            "group": "coordination.k8s.io",
            "kind": "leases",
            "uid": made["metadata"]["uid"],
        },
    }
    message = refused(api.call("GET", f"{LEASES}/plimsoll"), 404, "NotFound")
    assert message == 'leases.coordination.k8s.io "plimsoll" not found'


@pytest.mark.parametrize(
    "text, rest, wanted",
    [
        ("2026-07-23T11:25:54Z", "Z", ".000000"),
        ("2026-07-23T11:25:54.123Z", ".123Z", ".000000"),
        ("2026-07-23T11:25:54.123456789Z", "789Z", "Z07:00"),
        ("2026-07-23 11:25:54.123456Z", " 11:25:54.123456Z", "T"),
        ("2026-07-23T11:25:54.123456", "", "Z07:00"),
    ],
)
def test_micro_time_has_exactly_six_digits(api, text, rest, wanted):
    message = refused(api.call("POST", LEASES, lease(renewTime=text)), 400, "BadRequest")
    assert message == (
        'Lease in version "v1" cannot be handled as a Lease: '
        f'parsing time "{text}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "{rest}" as '
        f'"{wanted}"'
    )


def test_create_checks(api):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"generateName": "n-"}}
    made = api.create(NODES, node)
    assert made["metadata"]["name"].startswith("n-") and len(made["metadata"]["name"]) == 7
    assert made["metadata"]["uid"] and made["metadata"]["creationTimestamp"]
    assert (made["spec"], made["status"]["daemonEndpoints"]) == (
        {},
        {"kubeletEndpoint": {"Port": 0}},
    )
    bad = {**node, "metadata": {"name": "Upper"}}
    message = refused(api.call("POST", NODES, bad), 422, "Invalid")
    assert message.startswith('Node "Upper" is invalid: metadata.name: Invalid value: "Upper": a ')
    message = refused(api.call("POST", NODES, {**node, "kind": "Pod"}), 400, "BadRequest")
    assert message.startswith('Pod in version "v1" cannot be handled as a Node: ')
    answer = api.call("POST", NODES, b"{}", Content_Type="text/plain")
    assert refused(answer, 415, "UnsupportedMediaType") == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )
    pods = "/api/v1/namespaces/nowhere/pods"
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    message = refused(api.call("POST", pods, pod), 404, "NotFound")
    assert message == 'namespaces "nowhere" not found'


def test_resources_and_methods_that_are_not_there(api):
    message = refused(api.call("GET", "/api/v1/widgets"), 404, "NotFound")
    assert message == "the server could not find the requested resource"
    message = refused(api.call("POST", f"{NODES}/a", {}), 405, "MethodNotAllowed")
    assert message == "the server does not allow this method on the requested resource"


def test_groups_that_are_not_there_or_do_not_answer_say_so_in_plain_text(api):
    def said(path):
        answer = api.call("GET", path)
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        return answer.status, answer.text

    metrics = "/apis/metrics.k8s.io/v1beta1/nodes"
    for path in ("/apis/nope.example.com/v1/things", metrics):
        assert said(path) == (404, "404 page not found\n")
    api.promise_metrics(True)
    # What the aggregator does, it does after a moment.
    wait_until(lambda: said(metrics) == (503, "service unavailable\n"), what="the aggregator")
    api.promise_metrics(False)
    wait_until(lambda: said(metrics) == (404, "404 page not found\n"), what="the aggregator")


def test_custom_resource_has_generation_and_status(api):
    made = api.create(POLICIES, {**policy(), "status": {"metrics": 1}})
    assert made["metadata"]["generation"] == 1 and "status" not in made
    path = f"{POLICIES}/default"
    spec = policy({"name": "cpu_usage_avg_5m", "period": "3m"})["spec"]
    changed = api.patch(path, {"spec": spec}).json()
    assert changed["metadata"]["generation"] == 2
    status = {"status": {"metrics": 1}, "metadata": {"labels": {"a": "b"}}}
    changed = api.patch(f"{path}/status", status).json()
    assert changed["metadata"]["generation"] == 2 and "labels" not in changed["metadata"]
    assert changed["status"] == {"metrics": 1}
    listed = api.get(POLICIES)
    # Whoever reads a list as it comes meets the items before the version that they are of.
    assert list(listed) == ["apiVersion", "items", "kind", "metadata"]
    assert listed["metadata"]["continue"] == ""
    assert listed["items"][0]["kind"] == "DynamicSchedulerPolicy"
    strategic = "application/strategic-merge-patch+json"
    answer = api.patch(path, {}, Content_Type=strategic)
    assert refused(answer, 415, "UnsupportedMediaType") == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )


def test_binding_happens_once(api):
    api.add_pod("web")
    path = f"{PODS}/web"
    uid = api.get(path)["metadata"]["uid"]
    answer = api.call("POST", f"{path}/binding", binding("web", "node-a", uid="wrong"))
    message = refused(answer, 409, "Conflict")
    assert message.startswith('Operation cannot be fulfilled on pods "web": StorageError: ')
    assert message.endswith(
        f"Precondition failed: UID in precondition: wrong, UID in object meta: {uid}"
    )
    bound = api.create(f"{path}/binding", binding("web", "node-a", uid=uid))
    assert bound == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    }
    assert api.get(path)["spec"]["nodeName"] == "node-a"
    answer = api.call("POST", f"{path}/binding", binding("web", "node-a"))
    assert refused(answer, 409, "Conflict") == (
        'Operation cannot be fulfilled on pods/binding "web": pod web is already assigned to '
        'node "node-a"'
    )
    message = refused(api.patch(path, {"spec": {"nodeName": "node-b"}}), 422, "Invalid")
    assert message.startswith('Pod "web" is invalid: spec: Forbidden: pod updates may not change ')
    answer = api.call("POST", f"{PODS}/gone/binding", binding("gone", "node-a"))
    assert refused(answer, 404, "NotFound") == 'pods "gone" not found'


# -- who may do what -------------------------------------------------------------------------


def test_who_asks_without_credentials_or_with_wrong_ones(api):
    """With --anonymous-auth, which is the default: anonymous may do next to nothing."""
    message = refused(api.stranger().call("GET", NODES), 403, "Forbidden")
    assert message == (
        'nodes is forbidden: User "system:anonymous" cannot list resource "nodes" in API group "" '
        "at the cluster scope"
    )
    assert api.stranger().get("/version")["major"] == "1"
    message = refused(api.stranger().call("GET", "/apis"), 403, "Forbidden")
    assert message == 'forbidden: User "system:anonymous" cannot get path "/apis"'
    assert refused(api.stranger("wrong").call("GET", NODES), 401, "Unauthorized") == "Unauthorized"


def test_a_user_may_do_what_the_rules_say(api):
    api.add_nodes("a")
    reader, name = api.user(
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}
    )
    assert names(reader.get(NODES)) == ["a"]
    # Everybody may ask what there is, and the anonymous which version it is.
    assert reader.get("/apis")["kind"] == "APIGroupList"
    message = refused(reader.patch(f"{NODES}/a", {}), 403, "Forbidden")
    assert message == (
        f'nodes "a" is forbidden: User "{name}" cannot patch resource "nodes" in API group "" '
        "at the cluster scope"
    )
    message = refused(reader.call("GET", LEASES), 403, "Forbidden")
    assert message == (
        f'leases.coordination.k8s.io is forbidden: User "{name}" cannot list resource "leases" in '
        'API group "coordination.k8s.io" in the namespace "default"'
    )


def test_rules_with_names_allow_a_list_of_that_name(api):
    reader, name = api.user(
        {
            "apiGroups": ["scheduler.policy.crane.io"],
            "resources": ["dynamicschedulerpolicies"],
            "resourceNames": ["default"],
            "verbs": ["get", "list", "watch"],
        }
    )
    assert reader.get(f"{POLICIES}?fieldSelector=metadata.name%3Ddefault")["items"] == []
    message = refused(reader.call("GET", POLICIES), 403, "Forbidden")
    assert f'User "{name}" cannot list' in message
