"""What the kubelets of a closed loop say that its pods use."""

import time

import kubelet_kit


class MeteredKubelet(kubelet_kit.Kubelet):
    """That of one node. What its pods have used follows from when they began."""

    def __init__(self, loop, node):
        self.loop, self.node = loop, node
        address = loop.fleet.addresses[node]
        super().__init__(loop.plane.authority.server(node, [], [address]), address=address)
        port = {"daemonEndpoints": {"kubeletEndpoint": {"Port": self.port}}}
        loop.plane.api.patch(f"/api/v1/nodes/{node}/status", {"status": port})

    def pod_rows(self):
        now, at_ms = time.monotonic(), int(time.time() * 1000)
        for run in list(self.loop.runs_of[self.node]):
            if run.is_working(now):
                pod = f'namespace="{self.loop.namespace.name}",pod="{run.pod}"'
                memory = int(self.loop.memory_of(run) * 2**30)
                yield f"pod_cpu_usage_seconds_total{{{pod}}} {run.core_seconds(now)} {at_ms}\n"
                yield f"pod_memory_working_set_bytes{{{pod}}} {memory} {at_ms}\n"
