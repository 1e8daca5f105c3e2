"""A cluster on paper: an API server that answers GET with the objects that a test has put there.

For programs that ask for many kinds of objects once, and change nothing. What a cluster says of a
healthy installation is made of deploy/, so it cannot drift from what is really installed.
"""

import copy
import functools
import json
import re
import time
from urllib.parse import urlsplit

import yaml

from local_server import Handler, LocalServer
from pages import TOP
from policies import ago

SYSTEM = "/api/v1/namespaces/kube-system"
POLICY_PATH = "/apis/scheduler.policy.crane.io/v1alpha1/dynamicschedulerpolicies/default"
KIND_PATH = "/apis/scheduler.policy.crane.io/v1alpha1"
DEPLOYMENTS = "/apis/apps/v1/namespaces/kube-system/deployments"
CLUSTER_IP = "10.96.0.10"
CONTROLLERS = ("plimsoll-controller-0", "plimsoll-controller-1")
EXTENDERS = ("plimsoll-extender-0", "plimsoll-extender-1")
METRICS = ("cpu_usage_avg_5m", "mem_usage_avg_5m")


@functools.cache
def documents(path):
    """Read once, since that takes longer than most tests of a cluster on paper."""
    return tuple(yaml.safe_load_all((TOP / path).read_text("utf-8")))


def manifests(name):
    """{(kind, name): object} of a file of deploy/."""
    found = copy.deepcopy(documents(f"deploy/{name}"))
    return {(o["kind"], o["metadata"]["name"]): o for o in found}


def node(name):
    readings = {metric: f"0.25000,{ago(30)}" for metric in METRICS}
    owned = {f"f:{metric}": {} for metric in METRICS}
    return {
        "metadata": {
            "name": name,
            "annotations": {**readings, "cri": "unix:///run/containerd.sock"},
            "managedFields": [
                {
                    "manager": "plimsoll-controller",
                    "fieldsV1": {"f:metadata": {"f:annotations": owned}},
                },
                {
                    "manager": "kubelet",
                    "fieldsV1": {"f:metadata": {"f:annotations": {"f:cri": {}}}},
                },
            ],
        },
        "spec": {},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


def pod(name, deployment):
    template = deployment["spec"]["template"]
    return {
        "metadata": {"name": name, "labels": template["metadata"]["labels"]},
        "spec": template["spec"],
        "status": {"phase": "Running", "containerStatuses": [{"restartCount": 0}]},
    }


def nodes_page():
    """What an extender says of these nodes, on /nodes and on /explain."""
    metrics = {name: {"state": "usable", "value": 0.25, "ageSeconds": 30} for name in METRICS}
    verdict = {"closedBy": None, "over": None, "rejectedBy": None, "score": 8, "score100": 75}
    rows = [{"node": f"node-{i}", **verdict, "pool": 0, "metrics": metrics} for i in range(4)]
    listed = [{"metric": name, "used": True, "periodSeconds": 180} for name in METRICS]
    policy = {"generation": 1, "scoring": "absolute", "metrics": listed, "pools": [{"limits": {}}]}
    return {"at": ago(0), "version": 1, "policy": policy, "nodes": rows}


CONTROLLER_PAGE = """\
plimsoll_api_refused{verb="PATCH",resource="nodes"} 0
plimsoll_build_info{program="plimsoll-controller",version="VERSION"} 1
plimsoll_idle_mixed_pods 0
plimsoll_idle_offered_cores 0
plimsoll_leader LEADER
plimsoll_nodes 4
plimsoll_policy_failed 0
plimsoll_policy_object_deleted 0
"""
EXTENDER_PAGE = """\
plimsoll_api_refused{verb="GET",resource="nodes"} 0
plimsoll_build_info{program="plimsoll-extender",version="VERSION"} 1
plimsoll_extender_last_call_timestamp_seconds LAST_CALL
plimsoll_extender_readings{state="usable"} 8
plimsoll_extender_readings{state="expired"} 0
plimsoll_extender_request_duration_seconds_bucket{verb="filter",le="0.1"} 500
plimsoll_extender_request_duration_seconds_bucket{verb="filter",le="+Inf"} 500
plimsoll_extender_requests_total{verb="filter",code="200"} 500
plimsoll_extender_skewed_readings 0
plimsoll_extender_table_nodes 4
plimsoll_policy_failed 0
plimsoll_policy_object_deleted 0
plimsoll_tls_certificate_expiry_timestamp_seconds EXPIRY
"""
CONTROLLER_FLAGS = """
plimsoll-controller flagz

metrics-source=node-exporter,kubelet
policy-config-path=
"""
EXTENDER_FLAGS = """
plimsoll-extender flagz

bind=false
policy-config-path=
"""


def policy():
    (found,) = copy.deepcopy(documents("policy/policy.yaml"))
    found["metadata"] = {"name": "default", "generation": 3, "uid": "1"}
    in_force = {"type": "InForce", "status": "True", "reason": "Loaded", "message": "valid"}
    found["status"] = {"observedGeneration": 3, "conditions": [in_force]}
    return found


def healthy(version):
    """{path: object} of an installation that lacks nothing, on four nodes. Values that are texts
    are pages; None is a 404, an int a status, a tuple status and content. What can be called gives
    one of these for the path with its query."""
    controller = manifests("base/controller.yaml")[("Deployment", "plimsoll-controller")]
    others = manifests("base/extender.yaml")
    extender = others[("Deployment", "plimsoll-extender")]
    guard = manifests("base/node-guard.yaml")
    for deployment in (controller, extender):
        deployment["status"] = {"readyReplicas": 2}
    others[("Service", "plimsoll-extender")]["spec"]["clusterIP"] = CLUSTER_IP
    found = {
        "/version": {"major": "1", "minor": "36+"},
        KIND_PATH: {},
        POLICY_PATH: policy(),
        f"{DEPLOYMENTS}/plimsoll-controller": controller,
        f"{DEPLOYMENTS}/plimsoll-extender": extender,
        f"{SYSTEM}/services/plimsoll-extender": others[("Service", "plimsoll-extender")],
        f"{SYSTEM}/pods": [
            *(pod(name, controller) for name in CONTROLLERS),
            *(pod(name, extender) for name in EXTENDERS),
        ],
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/"
        "plimsoll-controller-nodes": guard[
            ("ValidatingAdmissionPolicy", "plimsoll-controller-nodes")
        ],
        "/api/v1/nodes": [node(f"node-{i}") for i in range(4)],
    }
    for leads, name in enumerate(reversed(CONTROLLERS)):
        page = CONTROLLER_PAGE.replace("VERSION", version).replace("LEADER", str(leads))
        found[f"{SYSTEM}/pods/{name}:8090/proxy/metrics"] = page
        found[f"{SYSTEM}/pods/{name}:8090/proxy/flagz"] = CONTROLLER_FLAGS
        found[f"{SYSTEM}/pods/{name}:8090/proxy/status.json"] = {
            "checks": ["[+] nodes: 4 nodes"],
            "nodeCount": 4,
            "sources": [{"name": "node-exporter", "nodesServed": 4, "nodesFailing": 0}],
            "failures": [],
        }
    for name in EXTENDERS:
        expiry = f"{time.time() + 90 * 86400:.0f}"
        page = EXTENDER_PAGE.replace("VERSION", version).replace("EXPIRY", expiry)
        page = page.replace("LAST_CALL", f"{time.time() - 10:.3f}")
        found[f"{SYSTEM}/pods/{name}:8010/proxy/metrics"] = page
        found[f"{SYSTEM}/pods/{name}:8010/proxy/flagz"] = EXTENDER_FLAGS
        for what in ("nodes", "explain"):
            found[f"{SYSTEM}/pods/{name}:8010/proxy/{what}"] = nodes_page()
    return copy.deepcopy(found)


class Answering(Handler):
    def answer(self, status, content):
        if isinstance(content, str):
            self.reply(status, content, Content_Type="text/plain")
        else:
            self.reply(status, json.dumps(content), Content_Type="application/json")

    def fail(self, status):
        self.answer(status, {"kind": "Status", "code": status, "message": f"{self.path}: {status}"})

    def asks_extender(self):
        """Whether the path is a page of a pod that is running, behind the API server's proxy."""
        found = re.fullmatch(f"{SYSTEM}/pods/([^/:]+):8010/proxy(/.*)", self.path)
        extender = found and self.server.extenders.get(found[1])
        if not extender:
            return False
        answer = extender.call(self.command, found[2], self.body() or None)
        self.reply(answer.status, answer.text, Content_Type=answer.headers["Content-Type"])
        return True

    def do_GET(self):  # pylint: disable=invalid-name
        if self.path not in self.server.objects and self.asks_extender():
            return
        self.show()

    def show(self):
        """What a test has put there."""
        objects = self.server.objects
        found = objects.get(self.path, objects.get(urlsplit(self.path).path))
        if callable(found):
            found = found(self.path)
        if isinstance(found, tuple):
            self.answer(*found)
        elif found is None or isinstance(found, int):
            self.fail(found or 404)
        elif isinstance(found, list):
            self.answer(200, {"kind": "List", "metadata": {"resourceVersion": "1"}, "items": found})
        else:
            self.answer(200, found)

    def do_POST(self):  # pylint: disable=invalid-name
        if "/proxy/" in self.path:
            if self.path in self.server.objects:
                self.body()
                self.show()
            elif not self.asks_extender():
                self.show()
            return
        if self.path.endswith("/eviction"):
            self.evict(json.loads(self.body()))
            return
        if self.path.endswith("/leases"):
            self.write_lease(lambda name: f"{self.path}/{name}")
            return
        self.fail(405)

    def do_PUT(self):  # pylint: disable=invalid-name
        self.write_lease(lambda _: self.path)

    def do_DELETE(self):  # pylint: disable=invalid-name
        self.body()
        found = self.server.objects.pop(self.path, None)
        self.answer(200, found) if found else self.fail(404)

    def write_lease(self, path_of):
        """A write must name the version that is there. `before_write` may be another writer's."""
        lease = json.loads(self.body())
        path = path_of(lease["metadata"]["name"])
        self.server.before_write()
        kept = self.server.objects.get(path)
        version = kept["metadata"]["resourceVersion"] if isinstance(kept, dict) else None
        if path in self.server.refused:
            self.answer(*self.server.refused[path])
        elif lease["metadata"].get("resourceVersion") != version:
            self.fail(409)
        else:
            lease["metadata"]["resourceVersion"] = f"{int(version or 0) + 1}"
            self.server.objects[path] = lease
            self.answer(200, lease)

    def evict(self, eviction):
        path = self.path.removesuffix("/eviction")
        pod = self.server.objects.get(path)
        options = eviction["deleteOptions"]
        if path in self.server.refused:
            self.answer(*self.server.refused[path])
        elif path in self.server.budgets:
            self.fail(429)
        elif pod and pod["metadata"]["uid"] == options["preconditions"]["uid"]:
            if not options.get("dryRun"):
                self.server.evicted.append(path)
                del self.server.objects[path]
            self.answer(201, {"kind": "Status", "status": "Success"})
        else:
            self.fail(409 if pod else 404)


def as_it_is(answer):
    return answer.status, json.loads(answer.text)


class PaperCluster:
    """`objects` is what healthy() returns, to be changed as the test likes;
    `budgets` has the paths of pods that may not be evicted, `evicted` those of pods that were. A
    Lease can be written; `refused` has {its path, or a pod's: status and content} of writes and
    evictions that fail, and before_write() is called first. `extenders` has {name of a pod: extender_kit.Extender} of those
    that run: what `objects` has not of their pages is theirs."""

    def __init__(self, version="0"):
        self.server = LocalServer(Answering)
        self.server.objects = self.objects = healthy(version)
        self.server.budgets = self.budgets = set()
        self.server.evicted = self.evicted = []
        self.server.refused = self.refused = {}
        self.server.extenders = self.extenders = {}
        self.server.before_write = lambda: None
        self.url, self.close = self.server.url, self.server.close

    def nodes(self):
        return self.objects["/api/v1/nodes"]

    def ask(self, extender):
        """Have this extender, and no other."""
        self.extenders[EXTENDERS[0]] = extender
        for page in ("nodes", "explain"):
            self.objects.pop(f"{SYSTEM}/pods/{EXTENDERS[0]}:8010/proxy/{page}", None)
        self.objects[f"{SYSTEM}/pods"] = [
            item
            for item in self.objects[f"{SYSTEM}/pods"]
            if item["metadata"]["name"] != EXTENDERS[1]
        ]

    def explain(self, extender, asked):
        """Have it say what it answers to this, whatever it is asked. Return: the answer."""
        self.ask(extender)
        answer = extender.call("POST", "/explain", asked).json()
        self.objects[f"{SYSTEM}/pods/{EXTENDERS[0]}:8010/proxy/explain"] = answer
        return answer

    def follow(self, standin, extender):
        """And the nodes of the stand-in that it watches."""
        self.ask(extender)
        self.objects["/api/v1/nodes"] = lambda path: as_it_is(standin.call("GET", path))

    def spec(self):
        """Of the policy."""
        return self.objects[POLICY_PATH]["spec"]

    def annotate(self, metric, value, nodes=slice(None)):
        for item in self.nodes()[nodes]:
            item["metadata"]["annotations"][metric] = value

    def page(self, old, new, names=CONTROLLERS + EXTENDERS):
        """Replace a line's beginning on the pages of these pods."""
        changed = 0
        for path, content in self.objects.items():
            if path.endswith("/metrics") and any(f"/{name}:" in path for name in names):
                self.objects[path] = content.replace(old, new)
                changed += self.objects[path] != content
        assert changed, old


def scheduler_config():
    """Of kube-scheduler, as it should be."""
    text = (TOP / "deploy" / "scheduler" / "config-http.yaml").read_text("utf-8")
    return text.replace("CLUSTER_IP", CLUSTER_IP)
