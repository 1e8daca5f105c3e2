"""The API server that tests/integration stands on is a stand-in. Here a real kube-apiserver says
whether it is true: the same cases (api_kit.py), with etcd but without controllers or scheduler,
so that nobody but a case touches its objects."""

import pathlib
import ssl

import pytest
from api_cases_read import *  # noqa: F403
from api_cases_write import *  # noqa: F403
from api_kit import NODES, POLICIES, Api
from cluster.control_plane import ControlPlane
from cluster.metrics_server import GROUP_VERSION, MetricsServer
from harness import ApiClient, wait_until
from programs import log_folder

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
