"""What an API server answers to those who change something, and who may; see api_kit.py."""

import pytest

from api_kit import LEASES, NODES, PODS, POLICIES
from api_kit import binding, lease, names, policy, refused
from harness import wait_until

# -- patch -----------------------------------------------------------------------------------


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


def test_default_manager_is_the_user_agents_prefix(api):
    api.add_nodes("a")
    body = {"metadata": {"annotations": {"a": "1"}}}
    answer = api.patch(f"{NODES}/a", body, User_Agent="plimsoll-controller/1.0 (x)")
    managers = [entry["manager"] for entry in answer.json()["metadata"]["managedFields"]]
    assert "plimsoll-controller" in managers


def test_a_patch_that_changes_nothing_writes_nothing(api):
    api.add_nodes("a")
    first = api.annotate("a", {"a": "1"}).json()["metadata"]
    second = api.annotate("a", {"a": "1"}).json()["metadata"]
    assert first == second


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
    "annotations",
    [
        {"a" * 64: "1"},
        {"-a": "1"},
        {"Bad_Prefix/a": "1"},
        {"a/b/c": "1"},
        {"": "1"},
        {"a": "x" * 262144},
        {"a": 1},
    ],
)
def test_annotations_are_validated(api, annotations):
    api.add_nodes("a")
    refused(api.annotate("a", annotations), 422, "Invalid")


@pytest.mark.parametrize(
    "media, body, code, reason",
    [
        ("application/json", b"{}", 415, "UnsupportedMediaType"),
        ("application/merge-patch+json", b"{", 400, "BadRequest"),
        ("application/merge-patch+json", b"[]", 400, "BadRequest"),
        ("application/json-patch+json", b"[", 400, "BadRequest"),
        ("application/json-patch+json", b'[{"op":"remove","path":"/metadata/no"}]', 422, "Invalid"),
        ("application/json-patch+json", b'[{"op":"test","path":"/x","value":1}]', 422, "Invalid"),
    ],
)
def test_patches_that_are_refused(api, media, body, code, reason):
    api.add_nodes("a")
    refused(api.call("PATCH", f"{NODES}/a", body, Content_Type=media), code, reason)


def apply(api, period, query="?fieldManager=tester&force=true", **fields):
    media = "application/apply-patch+yaml"
    body = policy({"name": "cpu_usage_avg_5m", "period": period}) | fields
    return api.patch(f"{POLICIES}/default{query}", body, Content_Type=media)


def test_apply_creates_and_changes(api):
    """One request for both, which may be repeated."""
    made = apply(api, "3m")
    assert made.status == 201
    changed = apply(api, "6m")
    assert changed.status == 200
    assert apply(api, "6m").json() == changed.json()
    made, changed = made.json(), changed.json()
    assert made["metadata"]["uid"] == changed["metadata"]["uid"]
    assert changed["spec"]["syncPolicy"][0]["period"] == "6m"
    (entry,) = changed["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("tester", "Apply")
    assert "f:spec" in entry["fieldsV1"]


def test_apply_needs_a_manager_and_the_kind(api):
    message = refused(apply(api, "3m", query=""), 422, "Invalid")
    assert "fieldManager: Required value: is required for apply patch" in message
    message = refused(apply(api, "3m", kind="Pod"), 400, "BadRequest")
    assert message


def test_a_json_patch_that_tests_begins_a_list_only_once(api):
    """As plimsoll-controller writes taints: what is absent is null to a test."""
    api.add_nodes("a")
    taint = {"key": "load.plimsoll.io/1", "effect": "PreferNoSchedule"}
    begin = [
        {"op": "test", "path": "/spec/taints", "value": None},
        {"op": "add", "path": "/spec/taints", "value": []},
        {"op": "add", "path": "/spec/taints/-", "value": taint},
    ]
    answer = api.patch(f"{NODES}/a", begin, Content_Type="application/json-patch+json")
    assert answer.json()["spec"]["taints"] == [taint]
    answer = api.patch(f"{NODES}/a", begin, Content_Type="application/json-patch+json")
    assert refused(answer, 422, "Invalid")
    end = [
        {"op": "test", "path": "/spec/taints/0/key", "value": taint["key"]},
        {"op": "remove", "path": "/spec/taints/0"},
    ]
    answer = api.patch(f"{NODES}/a", end, Content_Type="application/json-patch+json")
    assert answer.status == 200 and "taints" not in answer.json()["spec"]
    # An empty list is none.
    answer = api.patch(f"{NODES}/a", begin, Content_Type="application/json-patch+json")
    assert answer.status == 200


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
    refused(api.call("PUT", f"{LEASES}/plimsoll", body), 422, "Invalid")
    made["spec"]["holderIdentity"] = "you"
    changed = api.call("PUT", f"{LEASES}/plimsoll", made)
    assert changed.status == 200 and changed.json()["spec"]["holderIdentity"] == "you"
    refused(api.call("PUT", f"{LEASES}/plimsoll", made), 409, "Conflict")
    another = {**made, "metadata": {**made["metadata"], "uid": "other"}}
    refused(api.call("PUT", f"{LEASES}/plimsoll", another), 409, "Conflict")
    refused(api.call("PUT", f"{LEASES}/another", made), 400, "BadRequest")
    other = {"preconditions": {"uid": "other"}}
    refused(api.call("DELETE", f"{LEASES}/plimsoll", other), 409, "Conflict")
    gone = api.call("DELETE", f"{LEASES}/plimsoll").json()
    assert gone["status"] == "Success" and gone["details"]["uid"] == made["metadata"]["uid"]
    message = refused(api.call("GET", f"{LEASES}/plimsoll"), 404, "NotFound")
    assert message == 'leases.coordination.k8s.io "plimsoll" not found'


@pytest.mark.parametrize(
    "text",
    [
        "2026-07-23T11:25:54Z",
        "2026-07-23T11:25:54.123Z",
        "2026-07-23T11:25:54.123456789Z",
        "2026-07-23 11:25:54.123456Z",
        "2026-07-23T11:25:54.123456",
    ],
)
def test_micro_time_has_exactly_six_digits(api, text):
    message = refused(api.call("POST", LEASES, lease(renewTime=text)), 400, "BadRequest")
    assert message.startswith(
        f'Lease in version "v1" cannot be handled as a Lease: parsing time "{text}"'
    )


def test_create_checks(api):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    made = api.create(NODES, node)
    assert made["metadata"]["uid"] and made["metadata"]["creationTimestamp"]
    assert (made["spec"], made["status"]["daemonEndpoints"]) == (
        {},
        {"kubeletEndpoint": {"Port": 0}},
    )
    refused(api.call("POST", NODES, {**node, "metadata": {"name": "Upper"}}), 422, "Invalid")
    refused(api.call("POST", NODES, {**node, "kind": "Pod"}), 400, "BadRequest")
    answer = api.call("POST", NODES, b"{}", Content_Type="text/plain")
    refused(answer, 415, "UnsupportedMediaType")
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
    # Anybody who reads a list as it comes meets the items before the version that they are of.
    assert list(listed) == ["apiVersion", "items", "kind", "metadata"]
    assert listed["metadata"]["continue"] == ""
    assert listed["items"][0]["kind"] == "DynamicSchedulerPolicy"
    strategic = "application/strategic-merge-patch+json"
    answer = api.patch(path, {}, Content_Type=strategic)
    refused(answer, 415, "UnsupportedMediaType")


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
    assert refused(api.stranger("wrong").call("GET", NODES), 401, "Unauthorized") == "Unauthorized"


def test_a_user_may_do_what_the_rules_say(api):
    api.add_nodes("a")
    reader, name = api.user(
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}
    )
    assert names(reader.get(NODES)) == ["a"]
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
