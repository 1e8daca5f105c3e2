"""Our two programs as a cluster runs them: with ServiceAccounts, tokens and the RBAC of deploy/."""

import os
import pathlib
import shutil

import pytest
import yaml
from controller_kit import exporter_url, write_sources
from harness import OwnMetrics, fetch, page_of_now, wait_until
from policies import policy_object

from .control_plane import API_PORT, ControlPlane
from .nodes import start_kwok
from .tokens import short_lived
from .workloads import pod_object

TOP = pathlib.Path(__file__).resolve().parents[3]
NAMESPACE = "kube-system"
ACCOUNTS = ("plimsoll-controller", "plimsoll-extender")
# README has 200 ms. Tests share two processors with whole clusters, and no call may be given up.
HTTP_TIMEOUT = "5s"


def fast_policy(hot_value=True, limit=0.65, period="2s", window="5s"):
    """A policy for people who cannot wait five minutes: the same shape, windows of seconds."""
    cpu, mem = f"cpu_usage_avg_{window}", f"mem_usage_avg_{window}"
    metrics, limits, weights = ({cpu: value, mem: value} for value in (period, limit, 0.5))
    hot = {"5m": 5, "1m": 2} if hot_value else None
    return policy_object(metrics, limits, weights, hot, "default")


def kubelet_source(token_file, ca_file=None):
    """For a controller that is not in a pod; without a CA certificates are not verified."""
    tls = {"ca_file": str(ca_file)} if ca_file else {"insecure_skip_verify": True}
    authorization = {"credentials_file": str(token_file)}
    return {"kind": "kubelet", "tls_config": tls, "authorization": authorization}


class Plimsoll:
    """Starts the programs of one test; `run(argv, name)` and `binary(name)` are its fixtures."""

    def __init__(self, plane, directory, run, binary, name=""):
        """`name` distinguishes it from another one in the same test, which has another control plane."""
        self.plane = plane
        self.directory = os.path.join(directory, name)
        os.makedirs(self.directory, exist_ok=True)
        self.prefix = f"{name}-" if name else ""
        self.run = run
        self.binary = binary
        self.server = plane.url  # where the programs find the API server
        self.count = 0

    def path(self, name):
        return os.path.join(self.directory, name)

    @staticmethod
    def install(plane, overlay="."):
        """`kubectl apply -k deploy/`, except for the pods: the tests run the programs as processes."""
        manifests = plane.kubectl("kustomize", str(TOP / "deploy" / overlay))
        objects = list(yaml.safe_load_all(manifests))
        for item in objects:
            if item["kind"] == "Deployment":
                item["spec"]["replicas"] = 0
        plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(objects))

    def write_policy(self, policy, name="policy.yaml"):
        """Put a policy (a path, text or object) where the programs read it; returns the path."""
        if isinstance(policy, pathlib.Path):
            policy = policy.read_text(encoding="utf-8")
        elif not isinstance(policy, str):
            policy = yaml.safe_dump(policy, sort_keys=False)
        path = self.path(name)
        # Renamed into place, so that nobody reads a half of it.
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(policy)
        os.replace(path + ".new", path)
        return path

    def write_token(self, account, lifetime_s=None):
        """A token of a ServiceAccount, in a file of its name; returns the path."""
        path = self.path(f"{account}.token")
        token = self.plane.kubectl("create", "token", account, f"--namespace={NAMESPACE}")
        if lifetime_s:
            token = short_lived(token, lifetime_s, self.plane.signing_key)
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(token)
        os.chmod(path + ".new", 0o600)
        os.replace(path + ".new", path)
        return path

    def kubeconfig(self, account):
        token_file = self.path(f"{account}.token")
        if not os.path.exists(token_file):
            self.write_token(account)
        name = f"{account}-{os.path.basename(self.directory)}"
        return self.plane.write_kubeconfig(name, token_file=token_file, server=self.server)

    def _start(self, account, *flags, kubeconfig=None):
        self.count += 1
        return self.run(
            [
                self.binary(account),
                f"--kubeconfig={kubeconfig or self.kubeconfig(account)}",
                *flags,
            ],
            f"{self.prefix}{account}-{self.count}",
        )

    @staticmethod
    def _policy(path):
        """Without a file the programs follow the cluster's object."""
        return [f"--policy-config-path={path}"] if path else []

    def controller(
        self, policy_path, exporters, *flags, sources=None, interval="1s", kubeconfig=None
    ):
        """Start the controller and wait for its port; `exporters` None: targets are in `flags`, or there
        are `sources`."""
        if sources:
            path = self.path(f"{self.prefix}{self.count}.sources")
            asked = ["--sources", write_sources(path, *sources, interval=interval)]
        else:
            asked = [f"--scrape-interval={interval}"]
        if exporters:
            asked.append(f"--target-url-template={exporter_url(exporters.port)}")
        process = self._start(
            "plimsoll-controller",
            *self._policy(policy_path),
            *asked,
            "--bind-address=127.0.0.1",
            "--health-port=0",
            *flags,
            kubeconfig=kubeconfig,
        )
        process.url = f"http://127.0.0.1:{process.wait_port()}"
        return process

    def extender(self, policy_path, *flags, port=0, scheme="http", context=None):
        """Start the extender and wait until it is ready.

        `context` is what a client of it needs over HTTPS; without one nobody waits for it.
        """
        process = self._start(
            "plimsoll-extender", *self._policy(policy_path), f"--port={port}", *flags
        )
        process.url = f"{scheme}://127.0.0.1:{process.wait_port()}"
        process.context = context
        if scheme == "http" or context:
            wait_ready(process)
        return process

    def as_pod(self, account, *flags):
        """Start a program as its pod does (tests/e2e/pod): what it finds is its service account and
        the policy's object."""
        with open("/proc/self/uid_map", encoding="ascii") as file:
            if int(file.read().split()[2]) == 1:  # in the sandbox everybody is called root
                pytest.skip("no second user id without root")
        directory = self.path(f"{account}-account")
        os.makedirs(directory, exist_ok=True)
        shutil.copy(self.write_token(account), os.path.join(directory, "token"))
        shutil.copy(self.plane.authority.cert, os.path.join(directory, "ca.crt"))
        self.count += 1
        return self.run(
            [TOP / "tests/e2e/pod", directory, self.binary(account), *flags],
            f"{self.prefix}{account}-{self.count}",
            {
                "KUBERNETES_SERVICE_HOST": self.plane.address,
                "KUBERNETES_SERVICE_PORT": str(API_PORT),
            },
        )

    @staticmethod
    def scheduler_entry(extender, **more):
        """What kube-scheduler's configuration says about an extender."""
        return {
            "urlPrefix": f"{extender.url}/v1",
            "filterVerb": "filter",
            "prioritizeVerb": "prioritize",
            "preemptVerb": "preempt",
            "weight": 3,
            "nodeCacheCapable": True,
            "ignorable": True,
            "httpTimeout": HTTP_TIMEOUT,
            **more,
        }


def new_plane(directory, address, **how):
    """A control plane with kwok and deploy/."""
    plane = ControlPlane(directory, address, **how)
    try:
        start_kwok(plane)
        Plimsoll.install(plane)
        if not how.get("has_manager", True):  # which makes it
            plane.kubectl("create", "serviceaccount", "default", "--namespace=default")
    except BaseException:
        plane.stop()
        raise
    return plane


def pod_environment(plane, name, kind="apps/v1/deployments"):
    """What the pod template of a Deployment or Job of ours sets, except for what comes from the pod."""
    api, _, resource = kind.rpartition("/")
    found = plane.api.get(f"/apis/{api}/namespaces/{NAMESPACE}/{resource}/{name}")
    (container,) = found["spec"]["template"]["spec"]["containers"]
    return {row["name"]: row["value"] for row in container["env"] if "value" in row}


def as_flags(environment):
    return [
        f"--{name.removeprefix('PLIMSOLL_').lower().replace('_', '-')}={value}"
        for name, value in environment.items()
    ]


def page(process, path):
    """One of a program's own pages."""
    return fetch(f"{process.url}{path}", context=getattr(process, "context", None))


def wait_ready(process, timeout_s=60):
    def ready():
        try:
            return page(process, "/readyz").status == 200
        except OSError:
            return False

    wait_until(ready, timeout_s, f"{process.name} to be ready, see {process.err_path}")


def ask(extender, verb, pod, names, timeout_s=30):
    """Ask an extender as kube-scheduler does; the decoded answer."""
    body = {"Pod": pod, "Nodes": None, "NodeNames": list(names)}
    answer = fetch(f"{extender.url}/v1/{verb}", "POST", body, timeout_s=timeout_s)
    assert answer.status == 200, f"{verb}: {answer.status} {answer.text}"
    return answer.json()


def wait_judged(extender, hot, calm=()):
    """Wait until the extender has the readings that the API server shows: it rejects the hot nodes
    and no other, and gives more points to the calm ones. By itself the scheduler may be faster."""

    def look():
        pod, names = pod_object("judged-0"), [*hot, *calm]
        told = ask(extender, "filter", pod, names)
        assert set(told["NodeNames"] or ()) == set(calm), told
        if calm:
            rows = ask(extender, "prioritize", pod, names)
            points = dict.fromkeys(names, 0) | {row["Host"]: row["Score"] for row in rows}
            assert min(points[name] for name in calm) > max(points[name] for name in hot), points
        return True

    wait_until(look, what="the extender to have the readings")


def metrics(process):
    """{series: value} of a program's own metrics as they are now, and what OwnMetrics can tell of
    them."""
    url = f"{process.url}/metrics"
    return OwnMetrics(page_of_now(url, lambda: page(process, "/metrics")).text)


def total(process, family, default=None, **labels):
    """The sum of a family's series that have these labels; there must be one, see OwnMetrics."""
    return metrics(process).total(family, default, **labels)


def bound_by_account(plane, namespace):
    """The pods of a namespace that the extender's account bound, by the audit log."""
    return {
        event["objectRef"]["name"]
        for event in plane.audit("plimsoll-extender")
        if event["objectRef"].get("subresource") == "binding"
        and event["objectRef"]["namespace"] == namespace.name
        and event["responseStatus"]["code"] == 201
    }


def refused(plane, account, after=0):
    """Requests of an account that were answered 401 or 403: [(code, verb, path)].

    `after` skips so many audit events: an API server that has just started refuses everybody until
    it has read the roles.
    """
    return [
        (event["responseStatus"]["code"], event["verb"], event["requestURI"].partition("?")[0])
        for event in plane.audit(account)[after:]
        if event.get("responseStatus", {}).get("code") in (401, 403)
    ]
