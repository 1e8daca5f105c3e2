"""Synthetic kubelets for load: every address of 127.0.0.0/8 is one, in one process and on one port.

    kubelet_fleet.py CERTIFICATE KEY [PODS]

They speak TLS and keep connections. Each page has the same load, and PODS pods of node_api. Prints "port=N" when it is ready.
"""

import asyncio
import resource
import ssl
import sys
import time

CPUS, MEMORY_BYTES = 8, 8 << 30
NAMESPACES = 333  # node_api's
PAGE = """node_cpu_usage_seconds_total {busy_s:.3f} {stamp}
node_memory_working_set_bytes {memory} {stamp}
{pods}resource_scrape_error 0
"""
POD = """pod_{}{{namespace="n{:03}",pod="pod-{}-{}"}} {:.3f} {}
"""


class Kubelet(asyncio.Protocol):
    pods_each = 0

    def connection_made(self, transport):
        self.transport, self.request = transport, b""
        _, _, high, low = map(int, transport.get_extra_info("sockname")[0].split("."))
        self.node = high * 256 + low

    def pods(self, now):
        stamp = int(now * 1000)
        return "".join(
            POD.format(name, self.node % NAMESPACES, self.node, number, value, stamp)
            for name, value in (
                ("cpu_usage_seconds_total", now % 1e8 * 0.1),
                ("memory_working_set_bytes", 2**27),
            )
            for number in range(self.pods_each)
        )

    def data_received(self, data):
        self.request += data
        while b"\r\n\r\n" in self.request:
            _, _, self.request = self.request.partition(b"\r\n\r\n")
            now = time.time()
            body = PAGE.format(
                busy_s=now % 1e8 * CPUS * 0.3,
                stamp=int(now * 1000),
                memory=MEMORY_BYTES,
                pods=self.pods(now),
            ).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n\r\n"
            self.transport.write(head.encode() + body)


async def main(certificate, key, pods=0):
    Kubelet.pods_each = int(pods)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Kubelet, "0.0.0.0", 0, ssl=context, backlog=4096)
    print(f"port={server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


asyncio.run(main(*sys.argv[1:]))
