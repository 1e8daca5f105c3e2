"""The four programs that are Kubernetes, as processes on a loopback address of their own."""

import json
import os
import re
import ssl
import subprocess

import yaml
from addresses import url_host
from harness import Process, fetch, wait_until
from tools import build

from .api import Api, ApiError
from .certificates import Authority, signing_key

ETCD_PORT = 22379
API_PORT = 26443
MANAGER_PORT = 26257
SCHEDULER_PORT = 26300
# Far more than a start takes (3 s), since a loaded machine is not a defect.
START_TIMEOUT_S = 120
SERVICES = ("10.0.0.0/24", "fd00:10::/112")

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "Metadata",
            "users": [
                "system:serviceaccount:kube-system:plimsoll-controller",
                "system:serviceaccount:kube-system:plimsoll-extender",
                "system:serviceaccount:kube-system:plimsoll-rebalance",
            ],
        },
        {"level": "None"},
    ],
}


class ControlPlane:
    """A cluster without nodes.

    `directory` takes keys, data and the output of every process (.out, .err); `address` is a
    loopback address that no other cluster of the sandbox has, or an IPv6 address. Without a manager nobody but its
    users touches an object, and what controllers make is not there. `module` is where API server and
    scheduler come from (tools/build.py).
    """

    def __init__(
        self, directory, address, has_manager=True, module="kubernetes", feature_gates=(), apis=()
    ):
        """`feature_gates`: what is off by default and is on in API server and schedulers; `apis`:
        such as scheduling.k8s.io/v1beta1, of which the same holds in the API server."""
        self.directory = directory
        self.address = address
        self.module = module
        self.gates = [f"--feature-gates={gate}=true" for gate in feature_gates]
        self.apis = [f"--runtime-config={api}=true" for api in apis]
        self.processes = []
        self.scheduler_count = 0
        self.audit_read_bytes, self.audited = 0, {}
        self.host = url_host(address)
        self.url = f"https://{self.host}:{API_PORT}"
        self.etcd_url = f"http://{self.host}:{ETCD_PORT}"
        os.makedirs(directory, exist_ok=True)
        self._write_keys()
        self.kubeconfig = self.write_kubeconfig(
            "admin", *self.authority.client("admin", "admin", "system:masters")
        )
        self.api = Api(
            self.url, self.authority.cert, self.path("pki/admin.crt"), self.path("pki/admin.key")
        )
        try:
            self.start_etcd()
            self.start_api_server()
            if has_manager:
                self._start_manager()
        except BaseException:
            self.stop()
            raise

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def run(self, program, *argv, name=None):
        """Start a program that was built for the tests, or any by its path; it ends with the cluster."""
        module = self.module if program in ("kube-apiserver", "kube-scheduler") else None
        path = program if os.path.isabs(program) else build.program(program, module)
        process = Process([path, *argv], name or program, self.directory)
        self.processes.append(process)
        return process

    def _write_keys(self):
        self.authority = Authority(self.path("pki"))
        self.front_proxy = Authority(self.path("pki"), "front-proxy-ca")
        self.sign_api_server("kube-apiserver")
        self.front_proxy.client("front-proxy", "front-proxy")
        # kwok's, where it plays kubelet for metrics-server.
        self.kubelet_keys = self.authority.server("kubelet", [self.address])
        self.signing_key, self.signing_public = signing_key(self.path("pki"))
        with open(self.path("audit-policy.yaml"), "w", encoding="utf-8") as file:
            yaml.safe_dump(AUDIT_POLICY, file)

    def sign_api_server(self, name):
        return self.authority.server(
            name, [self.address, "127.0.0.1", "10.0.0.1"], ["kubernetes.default.svc"]
        )

    def write_kubeconfig(self, name, cert=None, key=None, token_file=None, server=None):
        """A kubeconfig for a user with a certificate or with a token that is read from a file."""
        if token_file:
            user = {"tokenFile": token_file}
        else:
            user = {"client-certificate": cert, "client-key": key}
        cluster = {"server": server or self.url, "certificate-authority": self.authority.cert}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [{"name": "e2e", "cluster": cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": name, "context": {"cluster": "e2e", "user": name}}],
        }
        path = self.path(f"{name}.kubeconfig")
        with open(path, "w", encoding="utf-8") as file:
            yaml.safe_dump(config, file)
        return path

    def component_kubeconfig(self, component):
        if not os.path.exists(self.path(f"{component}.kubeconfig")):
            cert, key = self.authority.client(component, f"system:{component}")
            self.write_kubeconfig(component, cert, key)
        return self.path(f"{component}.kubeconfig")

    # -- processes ---------------------------------------------------------------------------

    def start_etcd(self):
        self.etcd = self.run(
            "etcd",
            f"--data-dir={self.path('etcd-data')}",
            f"--listen-client-urls={self.etcd_url}",
            f"--advertise-client-urls={self.etcd_url}",
            f"--listen-peer-urls=http://{self.host}:{ETCD_PORT + 1}",
            f"--initial-advertise-peer-urls=http://{self.host}:{ETCD_PORT + 1}",
            f"--initial-cluster=default=http://{self.host}:{ETCD_PORT + 1}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        )

    def start_api_server(self):
        """Start it and wait until it is ready; also after stop_api_server()."""
        pki = self.path("pki")
        self.api_server = self.run(
            "kube-apiserver",
            f"--etcd-servers={self.etcd_url}",
            f"--bind-address={self.address}",
            f"--advertise-address={self.address}",
            f"--secure-port={API_PORT}",
            f"--tls-cert-file={pki}/kube-apiserver.crt",
            f"--tls-private-key-file={pki}/kube-apiserver.key",
            f"--client-ca-file={self.authority.cert}",
            f"--requestheader-client-ca-file={self.front_proxy.cert}",
            "--requestheader-allowed-names=front-proxy",
            # With these and the certificate it asks aggregated APIs in its users' names.
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={pki}/front-proxy.crt",
            f"--proxy-client-key-file={pki}/front-proxy.key",
            f"--service-account-key-file={self.signing_public}",
            f"--service-account-signing-key-file={self.signing_key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--authorization-mode=Node,RBAC",
            f"--service-cluster-ip-range={SERVICES[':' in self.address]}",
            "--endpoint-reconciler-type=none",
            # Nodes without kubelets would never lose the taint.
            "--disable-admission-plugins=TaintNodesByCondition",
            f"--audit-policy-file={self.path('audit-policy.yaml')}",
            f"--audit-log-path={self.path('audit.log')}",
            *self.gates,
            *self.apis,
            name=self._next_name("kube-apiserver"),
        )
        self._wait(self.api_server, lambda: self.api.request("GET", "/readyz")[0] == 200)

    def stop_api_server(self):
        """kill -9: anybody who talks to it sees connections end, then nobody there."""
        self.api_server.kill()

    def is_up(self):
        return self.api_server.is_running()

    def _start_manager(self):
        # ServiceAccounts, Deployments, garbage; the node life cycle would evict from nodes without
        # heartbeats. The default QPS of 20 takes a minute to begin on 2,000 pods.
        kubeconfig = self.component_kubeconfig("kube-controller-manager")
        self.manager = self.run(
            "kube-controller-manager",
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            f"--service-account-private-key-file={self.signing_key}",
            f"--root-ca-file={self.authority.cert}",
            f"--cert-dir={self.path('pki')}",
            f"--bind-address={self.address}",
            f"--secure-port={MANAGER_PORT}",
            "--use-service-account-credentials=true",
            "--leader-elect=false",
            "--controllers=*,-nodelifecycle",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
        )

        def accounts():
            return any(
                item["metadata"]["name"] == "default"
                for item in self.api.items("/api/v1/namespaces/default/serviceaccounts")
            )

        self._wait(self.manager, accounts)

    def start_scheduler(self, name="default-scheduler", extenders=(), profile=None, **config):
        """A kube-scheduler with these extenders; `config` adds to its configuration file.

        Returns the Process; stop it with process.stop() or leave it to the cluster's end.
        """
        content = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"schedulerName": name, **(profile or {})}],
            "extenders": list(extenders),
            **config,
        }
        kubeconfig = self.component_kubeconfig("kube-scheduler")
        return self.run_scheduler(content, kubeconfig, f"kube-scheduler-{name}")

    def run_scheduler(self, content, kubeconfig, name, program="kube-scheduler"):
        """Any scheduler that takes the flags of kube-scheduler, with a configuration that lacks
        nothing but who it is."""
        name = self._next_name(name)
        port = SCHEDULER_PORT + self.scheduler_count
        self.scheduler_count += 1
        client = {"qps": 500, "burst": 1000, **content.get("clientConnection", {})}
        content = {
            **content,
            "clientConnection": {**client, "kubeconfig": kubeconfig},
            "leaderElection": {"leaderElect": False},
        }
        path = self.path(f"{name}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            yaml.safe_dump(content, file, sort_keys=False)
        process = self.run(
            program,
            f"--config={path}",
            f"--bind-address={self.address}",
            f"--secure-port={port}",
            f"--cert-dir={self.path('pki')}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            "-v=2",
            *self.gates,
            name=name,
        )
        process.api = Api(
            f"https://{self.host}:{port}", self.authority.cert,
            self.path("pki/admin.crt"), self.path("pki/admin.key"),
        )  # fmt: skip
        # Its certificate is its own.
        process.api.context.check_hostname = False
        process.api.context.verify_mode = ssl.CERT_NONE
        self._wait(process, lambda: process.api.request("GET", "/readyz")[0] == 200)
        process.api.close()
        return process

    def _next_name(self, program):
        count = sum(1 for process in self.processes if process.name.startswith(program))
        return f"{program}-{count}" if count else program

    def _wait(self, process, is_ready):
        def look():
            self.check()
            try:
                return is_ready()
            except (OSError, ApiError):
                return False

        wait_until(look, START_TIMEOUT_S, f"{process.name} to be ready, see {process.err_path}")

    def stop(self):
        """End every process at once: nothing of a test's cluster is worth a grace period."""
        for process in reversed(self.processes):
            if process.is_running():
                process.kill()
        self.processes.clear()
        self.api.close()

    def check(self):
        """Fail as soon as a program has ended although nobody told it to."""
        for process in self.processes:
            if not process.is_running() and not process.expect_death:
                raise RuntimeError(
                    f"{process.name} ended with {process.popen.returncode}:\n"
                    + process.text()[-4000:]
                )

    def died(self):
        """Descriptions of programs that ended although nobody told them to."""
        return [
            f"{process.name} ended with {process.popen.returncode}, see {process.err_path}"
            for process in self.processes
            if not process.is_running() and not process.expect_death
        ]

    # -- for tests ---------------------------------------------------------------------------

    def kubectl(self, *argv, stdin=None, check=True, kubeconfig=None):
        """Run kubectl as a user would; its output, or with check=False the CompletedProcess."""
        done = subprocess.run(
            [build.program("kubectl"), f"--kubeconfig={kubeconfig or self.kubeconfig}", *argv],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "KUBECACHEDIR": self.path("kubectl-cache")},
        )
        if not check:
            return done
        assert done.returncode == 0, f"kubectl {' '.join(argv)}: {done.stdout}{done.stderr}"
        return done.stdout

    def audit(self, user):
        """What a ServiceAccount of kube-system asked for: the audit events, oldest first."""
        with open(self.path("audit.log"), "rb") as file:
            file.seek(self.audit_read_bytes)
            # Up to the last line that is whole.
            lines, end, _ = file.read().rpartition(b"\n")
        self.audit_read_bytes += len(lines) + len(end)
        for line in lines.splitlines():
            event = json.loads(line)
            self.audited.setdefault(event["user"].get("username"), []).append(event)
        return list(self.audited.get(f"system:serviceaccount:kube-system:{user}", []))

    def compact(self):
        """Throw away etcd's history, so that older resource versions are gone for good."""
        status = fetch(f"{self.etcd_url}/v3/kv/range", "POST", {"key": "AA=="})
        revision = status.json()["header"]["revision"]
        answer = fetch(
            f"{self.etcd_url}/v3/kv/compaction", "POST", {"revision": revision, "physical": True}
        )
        assert answer.status == 200, answer.text
        return int(revision)

    def dump(self, directory):
        """Write what there is in the cluster into a folder, for those who look into a failure."""
        for name, argv in {
            "nodes.yaml": ["get", "nodes", "-o", "yaml"],
            "pods.yaml": ["get", "pods", "-A", "-o", "yaml"],
            "events.txt": ["get", "events", "-A", "--sort-by=.metadata.creationTimestamp"],
        }.items():
            done = self.kubectl(*argv, "--request-timeout=10s", check=False)
            with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                file.write(done.stdout + done.stderr)


def object_name(text):
    """Any text as part of the name of a Kubernetes object."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:40].strip("-")
