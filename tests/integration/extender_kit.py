"""What the tests of plimsoll-extender share: the running program, and kube-scheduler's side of it.

Scheduler does what kube-scheduler's HTTPExtender does, bytes and rules, and is strict about what
comes back: Go's casing, Content-Length, integers, no name twice, none that was not asked for.
"""

import json
import os
import re
import signal
import socket
import ssl

from harness import Pages, wait_until
from policies import CPU, ago, policy_object
from programs import find_program

AGENT = "plimsoll-extender"

POD = {
    "metadata": {
        "name": "web-0",
        "namespace": "default",
        "uid": "6f0c4d52-1111-4222-8333-0123456789ab",
        "resourceVersion": "8123",
        "creationTimestamp": "2026-07-23T11:25:50Z",
        "labels": {"app": "web", "html": "<&>"},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "web-7d9",
                "uid": "11aa",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    },
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "nginx",
                "resources": {"requests": {"cpu": "500m"}},
                "env": [{"name": "NodeNames", "value": '"NodeNames":["not-a-candidate"]'}],
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "imagePullPolicy": "Always",
            }
        ],
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
    },
    "status": {"phase": "Pending", "qosClass": "Burstable"},
}


def policy(limits=None, weights=None, hot=None, scoring=None, period="3m"):
    """A policy of {metric: limit}, {metric: weight} and {timeRange: count}."""
    limits = {CPU: 0.65} if limits is None else limits
    weights = {CPU: 1} if weights is None else weights
    periods = dict.fromkeys([*limits, *weights], period)
    extender = {"scoring": scoring} if scoring else None
    return policy_object(periods, limits, weights, hot, extender=extender)


def annotate(standin, node, usage=None, at=None, **more):
    """Write readings as the controller does; `usage` is the CPU's, `at` a timestamp."""
    values = {key: f"{value},{at or ago()}" for key, value in more.items()}
    if usage is not None:
        values[CPU] = f"{usage:.5f},{at or ago()}"
    answer = standin.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": values}})
    assert answer.status == 200, answer.text


def measure(standin, *lines):
    """Write what workloads were measured to use, as the controller does."""
    path = "/api/v1/namespaces/kube-system/configmaps"
    data = {"shards": "1", "workloads": "".join(f"{line}\n" for line in lines)}
    config_map = {"metadata": {"name": "plimsoll-workloads"}, "data": data}
    answer = standin.call("POST", path, config_map)
    assert answer.status == 201, answer.text


def go_json(value):
    """JSON as Go's encoder writes it."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode()


class Extender(Pages):
    """plimsoll-extender as it runs, and what it says of itself."""

    policy_path = None  # where `content` of start_extender() stands

    def __init__(self, run, standin, *flags, build="build", name=None, scheme="http"):
        kubeconfig = getattr(standin, "kubeconfig", standin)
        argv = [find_program(AGENT, build), f"--kubeconfig={kubeconfig}", "--port=0", *flags]
        self.process = run(argv, name or AGENT)
        self.port = self.process.wait_port(r"msg=serving .*\bport=(\d+)")
        self.url = f"{scheme}://127.0.0.1:{self.port}"

    def wait_ready(self, says="", timeout_s=30):
        """Ready, and the verbose page matches this regular expression."""

        def check():
            ready, text = self.ready()
            assert ready and re.search(says, text), text
            return True

        wait_until(check, timeout_s, f"the extender to be ready and to say {says!r}")

    def wait_live(self):
        """Ready, and bindings are counted, if the policy asks for them."""
        self.wait_ready(r"bindings: (counted from the pod watch|not needed)")

    def register(self, standin):
        """As a pod, whose pages the stand-in forwards to."""
        path = "/api/v1/namespaces/kube-system/pods"
        labels = {"app.kubernetes.io/name": AGENT, "app.kubernetes.io/part-of": "plimsoll"}
        container = {"name": "extender", "image": "a", "ports": [{"containerPort": self.port}]}
        pod = {
            "metadata": {"name": f"{AGENT}-0", "labels": labels},
            "spec": {"containers": [container]},
        }
        assert standin.call("POST", path, pod).status == 201
        status = {"status": {"phase": "Running"}}
        assert standin.patch(f"{path}/{AGENT}-0/status", status).status == 200

    def reload(self):
        os.kill(self.process.pid, signal.SIGHUP)

    def scheduler(self, **more):
        return Scheduler(self.port, **more)

    def log_lines(self, message):
        quoted = f'msg="{message}"' if " " in message else f"msg={message}"
        return [line for line in self.process.stderr().splitlines() if quoted in line]


class Reply:
    """An HTTP reply, read byte by byte."""

    def __init__(self, status, head, headers, body):
        self.status, self.head, self.headers, self.body = status, head, headers, body

    def json(self):
        return json.loads(self.body)


class Connection:
    """A plain socket that speaks HTTP/1.1 as Go's client does, one exchange after the other."""

    def __init__(self, port, timeout_s=30, context=None, address="127.0.0.1"):
        self.port, self.context = port, context
        self.sock = socket.create_connection((address, port), timeout_s)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context:
            self.sock = context.wrap_socket(self.sock, server_hostname="localhost")
        self.pending = b""

    def head(self, path, body_bytes, method="POST"):
        return (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"User-Agent: Go-http-client/1.1\r\nContent-Length: {body_bytes}\r\n"
            "Content-Type: application/json\r\nAccept-Encoding: gzip\r\n\r\n"
        ).encode()

    def _forget_failures(self):
        """Those of other connections of this thread: Python 3.13 leaves what a system call returned in OpenSSL's queue, and
        may raise it for the next connection that is used (python/cpython#148594). A new session empties the queue.
        """
        if self.context:
            self.context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="localhost")

    def send(self, data):
        self._forget_failures()
        self.sock.sendall(data)

    def send_head(self, path, body_bytes):
        """Return when it has been read."""
        head = self.head(path, body_bytes)
        self.send(head[: -len("\r\n")] + b"Expect: 100-continue\r\n\r\n")
        while b"\r\n\r\n" not in self.pending:
            self._more()
        first, _, self.pending = self.pending.partition(b"\r\n\r\n")
        assert first.startswith(b"HTTP/1.1 100 "), first

    def _more(self):
        data = self.sock.recv(1 << 20)
        if not data:
            raise ConnectionError(f"closed after {self.pending[:200]!r}")
        self.pending += data

    def receive(self):
        """The next reply; its length must be announced."""
        while b"\r\n\r\n" not in self.pending:
            self._more()
        head, _, self.pending = self.pending.partition(b"\r\n\r\n")
        first, *lines = head.decode("ascii").split("\r\n")
        match = re.fullmatch(r"HTTP/1\.1 ([1-5]\d\d) .*", first)
        assert match, first
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            assert name.lower() not in headers, f"header twice: {line}"
            headers[name.lower()] = value.strip()
        assert "transfer-encoding" not in headers, head
        length = int(headers["content-length"])
        while len(self.pending) < length:
            self._more()
        body, self.pending = self.pending[:length], self.pending[length:]
        return Reply(int(match.group(1)), head, headers, body)

    def call(self, path, body, method="POST"):
        self.send(self.head(path, len(body), method) + body)
        return self.receive()

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


FILTER_KEYS = ["Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error"]


class Scheduler:
    """kube-scheduler's HTTPExtender: one connection, and its rules for what comes back."""

    def __init__(self, port, prefix="/v1", **more):
        self.connection = Connection(port, **more)
        self.prefix = prefix

    def call(self, verb, nodes, pod=None, cache_capable=True):
        """`nodes`: names, or Node objects when not cache_capable."""
        args = {"Pod": pod or POD, "Nodes": None, "NodeNames": None}
        if cache_capable:
            args["NodeNames"] = nodes
        else:
            args["Nodes"] = {"metadata": {}, "items": nodes}
        reply = self.connection.call(f"{self.prefix}/{verb}", go_json(args))
        assert reply.status == 200, f"{verb}: {reply.head}"
        assert reply.headers.get("content-type") == "application/json"
        assert "close" not in reply.headers.get("connection", ""), reply.head
        return reply.json()

    def filter(self, nodes, pod=None, cache_capable=True, is_short=False):
        """(names that pass in their order, {rejected name: reason}); is_short: there may be nodes
        that are neither."""
        reply = self.call("filter", nodes, pod, cache_capable)
        assert list(reply) == FILTER_KEYS, reply
        assert reply["Error"] == ""
        names = nodes if cache_capable else [node["metadata"]["name"] for node in nodes]
        if cache_capable:
            assert reply["Nodes"] is None
            passing = reply["NodeNames"]
        else:
            assert reply["NodeNames"] is None and list(reply["Nodes"]) == ["metadata", "items"]
            by_name = {node["metadata"]["name"]: node for node in nodes}
            passing = [node["metadata"]["name"] for node in reply["Nodes"]["items"]]
            for node in reply["Nodes"]["items"]:
                assert node == by_name[node["metadata"]["name"]]
        # Evicting pods does not lower a measured window: never the map that invites preemption.
        assert reply["FailedNodes"] == {}
        rejected = reply["FailedAndUnresolvableNodes"]
        assert all(isinstance(reason, str) and reason for reason in rejected.values())
        asked, passed = list(dict.fromkeys(names)), set(passing)
        assert passing == [name for name in asked if name in passed], "order, or doubles"
        told = [*passing, *rejected]
        assert len(told) == len(set(told)) and set(told) <= set(asked), "doubled or never asked for"
        assert is_short or len(told) == len(asked), "nodes got lost"
        return passing, rejected

    def prioritize(self, nodes, pod=None, cache_capable=True):
        """{name: score}, as the scheduler counts: a node that is not in the reply gets 0."""
        names = nodes if cache_capable else [node["metadata"]["name"] for node in nodes]
        scores = {}
        for row in self.call("prioritize", nodes, pod, cache_capable):
            assert list(row) == ["Host", "Score"], row
            assert type(row["Score"]) is int and 0 < row["Score"] <= 10, row
            assert row["Host"] in names and row["Host"] not in scores, row
            scores[row["Host"]] = row["Score"]
        return dict.fromkeys(names, 0) | scores

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
