"""An API server for the cases of api_cases_read.py and api_cases_write.py, whichever it is.

What our programs and tests rely on of an API server stands there as cases that run against two of
them: test_harness_standin.py runs them against the stand-in, tests/e2e/test_standin_is_true.py against a
real kube-apiserver, and what a case asserts is what the real one does. Either gives a fixture `api`,
an Api that holds no node, pod, lease or policy but what the case makes. A case has no other means
than requests.
"""

from harness import ApiClient
from standin import fabricate

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
POLICIES = "/apis/scheduler.policy.crane.io/v1alpha1/dynamicschedulerpolicies"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf,application/json;q=0.9"
NONSENSE = "application/json;as=Nonsense;g=meta.k8s.io;v=v1"


class Api(ApiClient):
    """An API server, as its administrator sees it; anybody who runs the cases adds the last four."""

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
