"""Synthetic kubelets for load: every address of 127.0.0.0/8 is one, in one process and on one port.

    kubelet_fleet.py CERTIFICATE KEY

They speak TLS and keep connections. Each page has the same load. Prints "port=N" when it is ready.
"""

import asyncio
import resource
import ssl
import sys
import time

CPUS, MEMORY_BYTES = 8, 8 << 30
PAGE = """node_cpu_usage_seconds_total {busy_s:.3f} {stamp}
node_memory_working_set_bytes {memory} {stamp}
resource_scrape_error 0
"""


class Kubelet(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.request = transport, b""

    def data_received(self, data):
        self.request += data
        while b"\r\n\r\n" in self.request:
            _, _, self.request = self.request.partition(b"\r\n\r\n")
            now = time.time()
            body = PAGE.format(
                busy_s=now % 1e8 * CPUS * 0.3, stamp=int(now * 1000), memory=MEMORY_BYTES
            ).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n\r\n"
            self.transport.write(head.encode() + body)


async def main(certificate, key):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Kubelet, "0.0.0.0", 0, ssl=context, backlog=4096)
    print(f"port={server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


asyncio.run(main(*sys.argv[1:]))
