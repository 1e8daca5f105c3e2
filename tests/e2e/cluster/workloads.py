"""Pods of a test: making them, seeing where they went and what was said about them."""

import collections
import itertools
import threading

from harness import wait_until

NUMBERS = itertools.count()


def pod_object(name, scheduler=None, cpu="100m", memory="64Mi", labels=None, **spec):
    container = {
        "name": "main",
        "image": "registry.invalid/none",
        "resources": {"requests": {"cpu": cpu, "memory": memory}},
    }
    if scheduler:
        spec["schedulerName"] = scheduler
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {"app": name.rsplit("-", 1)[0]}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **spec},
    }


def load_pod(node, cpu, memory_gi):
    """A pod on this node that uses so many CPUs and Gi, as kwok computes it (kwok.yaml).

    No two have one name: kwok may never start a pod whose namesake was deleted a moment before.
    """
    pod = pod_object(f"load-{node}-{next(NUMBERS)}", nodeName=node)
    pod["metadata"]["annotations"] = {
        "e2e/cpu": str(cpu),
        "e2e/memory": f"{memory_gi}Gi",
    }
    return pod


def template_of(pod):
    """A pod as the template of a Deployment or DaemonSet: (template, selector)."""
    metadata = {key: value for key, value in pod["metadata"].items() if key != "name"}
    return {"metadata": metadata, "spec": pod["spec"]}, {"matchLabels": metadata["labels"]}


def deployment_object(name, replicas, pod, **spec):
    template, selector = template_of(pod)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": selector, "template": template, **spec},
    }


def job_object(name, count, pod):
    """A Job of so many pods at once, each with a number of its own."""
    template, _ = template_of(pod)
    counts = {"completions": count, "parallelism": count, "completionMode": "Indexed"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {**counts, "template": template},
    }


def daemon_set_object(name, pod):
    template, selector = template_of(pod)
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name},
        "spec": {"selector": selector, "template": template},
    }


class Namespace:
    """A namespace of one test."""

    def __init__(self, plane, name):
        self.plane = plane
        self.name = name
        self.root = f"/api/v1/namespaces/{name}"
        self.apps = f"/apis/apps/v1/namespaces/{name}"
        plane.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
        wait_until(
            lambda: plane.api.request("GET", f"{self.root}/serviceaccounts/default")[0] == 200,
            what=f"the default ServiceAccount of {name}",
        )

    def create(self, pod):
        return self.plane.api.create(f"{self.root}/pods", pod)

    def create_pod(self, name, **more):
        return self.create(pod_object(name, **more))

    def create_pods(self, prefix, count, **more):
        return [
            self.create_pod(f"{prefix}-{i:03}", labels={"app": prefix}, **more)
            for i in range(count)
        ]

    def create_deployment(self, name, replicas, pod, **spec):
        body = deployment_object(name, replicas, pod, **spec)
        return self.plane.api.create(f"{self.apps}/deployments", body)

    def create_job(self, job):
        return self.plane.api.create(f"/apis/batch/v1/namespaces/{self.name}/jobs", job)

    def create_daemon_set(self, name, pod):
        return self.plane.api.create(f"{self.apps}/daemonsets", daemon_set_object(name, pod))

    def scale(self, deployment, replicas):
        self.plane.api.patch(
            f"{self.apps}/deployments/{deployment}", {"spec": {"replicas": replicas}}
        )

    def deployment(self, name):
        return self.plane.api.get(f"{self.apps}/deployments/{name}")

    def pod(self, name):
        return self.plane.api.get(f"{self.root}/pods/{name}")

    def pods(self, app=None):
        query = {"labelSelector": f"app={app}"} if app else {}
        return self.plane.api.items(f"{self.root}/pods", **query)

    def delete_pod(self, name):
        self.plane.api.delete(f"{self.root}/pods/{name}")

    def delete_pods(self):
        self.plane.api.delete(f"{self.root}/pods", {"gracePeriodSeconds": 0})
        wait_until(lambda: not self.pods(), what=f"the pods of {self.name} to be gone")

    def wait_bound(self, count, app=None, timeout_s=60):
        """Wait until so many pods have a node; {pod: node} of them."""

        def look():
            found = placed(self.pods(app))
            assert len(found) >= count, f"{len(found)} of {count} pods have a node"
            return found

        return wait_until(look, timeout_s, f"{count} bound pods in {self.name}", poll_s=0.1)

    def condition(self, pod_name, kind="PodScheduled"):
        """A condition of a pod, {} while it has none of that type."""
        for condition in self.pod(pod_name).get("status", {}).get("conditions", []):
            if condition["type"] == kind:
                return condition
        return {}

    def events(self, reason=None):
        found = self.plane.api.items(f"{self.root}/events")
        return [event for event in found if reason in (None, event["reason"])]

    def remove(self):
        """With its pods, or schedulers and watches of the next test are busy with these."""
        self.plane.api.delete(self.root)  # from now on none is created
        self.delete_pods()


def placed(pods):
    """{pod: node} of the pods that have one."""
    return {
        pod["metadata"]["name"]: pod["spec"]["nodeName"]
        for pod in pods
        if pod["spec"].get("nodeName")
    }


def per_node(places, nodes):
    """How many pods each of `nodes` got, the most first."""
    counts = collections.Counter({node: 0 for node in nodes})
    counts.update(places.values())
    return [count for _, count in counts.most_common()]


class Background:
    """Calls a function again and again in a thread, until the `with` block ends."""

    def __init__(self, function):
        self.function = function
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._loop, daemon=True)
        self.error = None

    def _loop(self):
        try:
            while not self.ended.is_set():
                self.function(self.ended)
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        self.ended.set()
        self.thread.join(60)
        assert not self.thread.is_alive()
        if self.error and kind is None:
            raise self.error
