"""metrics.k8s.io/v1beta1, as metrics-server serves it behind the aggregator.

Off until a test turns it on, as in a cluster without metrics-server: 404. `POST /standin/nodemetrics`
takes

    on            is the API group there?
    available     does the server behind it answer? false: the aggregator's 503
    resolution_s  samples are so many seconds apart (default 1)
    usage         {node: {"cpu": "2500m", "memory": "8Gi"}}; the name "*" is every other node
    pods          {"namespace/name": {"cpu": "100m", "memory": "1Gi"}}: pods of two containers
    change        {node: what to change of its item, "*" as above}: a merge patch, null for the whole
                  item leaves it out. "timestamp" may be a number: seconds to add to the real one
    freeze        true: samples stay as they are now; false: they go on
    extra         items for nodes that there are not, and anything else, as they stand

and keeps what is not said. An item carries the node's labels, the list no resourceVersion and no
pages, and nobody can watch it.
"""

import math
import time

from .patch import merge

GROUP = "metrics.k8s.io"
KEYS = {"on", "available", "resolution_s", "usage", "pods", "change", "freeze", "extra"}


def stamp(at_unix):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_unix))


class NodeMetrics:
    def __init__(self):
        self.on = False
        self.available = True
        self.resolution_s = 1.0
        self.usage = {"*": {"cpu": "1", "memory": "1Gi"}}
        self.pods = {}
        self.change = {}
        self.frozen_unix = None
        self.extra = []

    def set(self, body):
        unknown = set(body) - KEYS
        if unknown:
            raise ValueError(f"unknown keys {sorted(unknown)}; known are {sorted(KEYS)}")
        for key, value in body.items():
            if key == "freeze":
                self.frozen_unix = time.time() if value else None
            elif key in ("usage", "change"):
                getattr(self, key).update(value)
            else:
                setattr(self, key, value)

    def _taken_unix(self):
        taken = self.frozen_unix or time.time()
        return math.floor(taken / self.resolution_s) * self.resolution_s

    def _item(self, node):
        metadata = node["metadata"]
        name = metadata["name"]
        now = time.time()
        taken = self._taken_unix()
        item = {
            "metadata": {
                "name": name,
                "creationTimestamp": stamp(now),
                "labels": metadata.get("labels", {}),
            },
            "timestamp": stamp(taken),
            "window": "10s",
            "usage": self.usage.get(name, self.usage["*"]),
        }
        change = self.change.get(name, self.change.get("*", {}))
        if change is None:
            return None
        if isinstance(change.get("timestamp"), (int, float)):
            change = {**change, "timestamp": stamp(taken + change["timestamp"])}
        return merge(item, change)

    def list(self, nodes):
        """The NodeMetricsList of these Nodes."""
        items = [item for node in nodes if (item := self._item(node)) is not None]
        return {
            "kind": "NodeMetricsList",
            "apiVersion": "metrics.k8s.io/v1beta1",
            "metadata": {},
            "items": items + self.extra,
        }

    def list_pods(self):
        """The PodMetricsList."""
        idle = {"name": "sidecar", "usage": {"cpu": "0", "memory": "0"}}
        items = [
            {
                "metadata": dict(zip(("namespace", "name"), full.split("/"))),
                "timestamp": stamp(self._taken_unix()),
                "window": "10s",
                "containers": [{"name": "main", "usage": usage}, idle],
            }
            for full, usage in self.pods.items()
        ]
        return {
            "kind": "PodMetricsList",
            "apiVersion": "metrics.k8s.io/v1beta1",
            "metadata": {},
            "items": items,
        }
