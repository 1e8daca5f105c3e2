"""What the kubelets of a closed loop say that its pods use."""

import time

import kubelet_kit


class Meters(kubelet_kit.Kubelet):
    """Those of all nodes, at one port. What a pod has used follows from when it began.

    They say nothing of the nodes: where an exporter is lost, nothing else has a value. On a full node
    they say what pods want, which is more than they get.
    """

    def __init__(self, loop):
        self.loop = loop
        self.nodes = {address: node for node, address in loop.fleet.addresses.items()}
        super().__init__(loop.plane.authority.server("kubelets", []), address="0.0.0.0")
        port = {"daemonEndpoints": {"kubeletEndpoint": {"Port": self.port}}}
        for node in loop.nodes:
            loop.plane.api.patch(f"/api/v1/nodes/{node}/status", {"status": port})

    def page(self, asking):
        now, at_ms = time.monotonic(), int(time.time() * 1000)
        address, _ = asking.connection.getsockname()
        rows = []
        for run in list(self.loop.runs_of[self.nodes[address]]):
            if run.is_working(now):
                pod = f'namespace="{self.loop.namespace.name}",pod="{run.pod}"'
                memory = int(self.loop.memory_of(run) * 2**30)
                rows.append(
                    f"pod_cpu_usage_seconds_total{{{pod}}} {run.core_seconds(now)} {at_ms}\n"
                )
                rows.append(f"pod_memory_working_set_bytes{{{pod}}} {memory} {at_ms}\n")
        return "".join([*rows, "resource_scrape_error 0\n"])
