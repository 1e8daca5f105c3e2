"""The API server that tests/integration stands on is a stand-in. Here a real kube-apiserver says
whether it is true: the same cases (api_kit.py), with etcd but without controllers or scheduler,
so that nobody but a case touches its objects. And kubectl takes the stand-in for real."""

import json
import os
import pathlib
import ssl
import subprocess

import pytest
from api_cases_read import *  # noqa: F403
from api_cases_write import *  # noqa: F403
from api_kit import NODES, POLICIES, Api
from cluster.control_plane import ControlPlane
from cluster.metrics_server import GROUP_VERSION, MetricsServer
from harness import ApiClient, StandIn, wait_until
from programs import log_folder
from tools import build

CRD = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "base" / "crd.yaml"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


class RealApi(Api):
    def __init__(self, plane):
        super().__init__(plane.url, context=plane.api.context)
        self.plane = plane
        self.users = 0
        # What a controller makes elsewhere: without it there are no pods.
        wait_until(
            lambda: self.call("POST", ACCOUNTS, {"metadata": {"name": "default"}}).status == 201,
            what="the namespace default",
        )
        plane.kubectl("apply", "-f", str(CRD))
        wait_until(lambda: self.call("GET", POLICIES).status == 200, what="the custom resource")

    def stranger(self, token=None):
        context = ssl.create_default_context(cafile=self.plane.authority.cert)
        return ApiClient(self.url, token, context)

    def user(self, *rules):
        self.users += 1
        name = f"limited-{self.users}"
        self.create(ACCOUNTS, {"metadata": {"name": name}})
        self.create(f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        account = {"kind": "ServiceAccount", "namespace": "default", "name": name}
        self.create(
            f"{RBAC}/clusterrolebindings",
            {"metadata": {"name": name}, "roleRef": role, "subjects": [account]},
        )
        token = self.create(f"{ACCOUNTS}/{name}/token", {"spec": {}})["status"]["token"]
        client = self.stranger(token)
        review = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"

        def may():
            said = client.call("POST", review, {"spec": {"namespace": "default"}}).json()
            return all(rule in said["status"]["resourceRules"] for rule in rules)

        wait_until(may, what="the API server to have seen the role")
        return client, f"system:serviceaccount:default:{name}"

    def forget(self):
        self.plane.compact()
        self.plane.stop_api_server()
        self.plane.start_api_server()
        cached = f"{NODES}?resourceVersion=0"
        wait_until(lambda: self.call("GET", cached).status == 200, what="the watch cache")

    def promise_metrics(self, is_promised):
        if is_promised:
            MetricsServer(self.plane).register()
        else:
            self.delete(f"/apis/apiregistration.k8s.io/v1/apiservices/{GROUP_VERSION}")


@pytest.fixture(scope="module")
def server(log_root):
    directory = log_folder(log_root, "test_standin_is_true", "cluster")
    plane = ControlPlane(directory, "127.100.61.1", has_manager=False)
    try:
        yield RealApi(plane)
        assert not plane.died()
    finally:
        plane.stop()


@pytest.fixture
def api(server):
    server.clear()
    return server


@pytest.fixture
def standin(log_dir):
    peer = StandIn(log_dir, "--nodes", 2)
    yield peer
    peer.stop()


def test_kubectl_takes_the_stand_in_for_real(standin, tmp_path):
    def kubectl(*arguments):
        done = subprocess.run(
            [build.program("kubectl"), *arguments],
            env={**os.environ, "KUBECONFIG": standin.kubeconfig, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    assert kubectl("get", "nodes").splitlines()[1].split()[0] == "node-0000"
    assert len(json.loads(kubectl("get", "nodes", "-o", "json"))["items"]) == 2
    assert "name: node-0001" in kubectl("get", "node", "node-0001", "-o", "yaml")
    kubectl("annotate", "node", "node-0000", "a=b")
    assert standin.annotations("node-0000")["a"] == "b"
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
        "spec: {containers: [{name: c, image: i}]}\n"
    )
    assert "pod/web created" in kubectl("create", "-f", str(manifest))
    assert "web" in kubectl("get", "pods", "-A")
    assert "deleted" in kubectl("delete", "pod", "web")
    assert json.loads(kubectl("get", "--raw", "/version"))["major"] == "1"
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "apiVersion: scheduler.policy.crane.io/v1alpha1\nkind: DynamicSchedulerPolicy\n"
        "metadata: {name: default}\nspec: {hotValue: []}\n"
    )
    assert "created" in kubectl("apply", "-f", str(policy))
    assert "default" in kubectl("get", "dynamicschedulerpolicies")
