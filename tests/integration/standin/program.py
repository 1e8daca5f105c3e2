"""The program: options, listeners, the readiness line."""

import argparse
import asyncio
import json
import os
import signal

from httpd import Server, raise_fd_limit, server_tls

from . import __doc__ as about
from . import certs
from .admin import Admin, Journal
from .api import Api, route_of
from .auth import Authenticator
from .faults import Faults, act
from .registry import Registry
from .store import Store


def parse_options(arguments=None):
    parser = argparse.ArgumentParser(
        prog="standin",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=0, help="of the API; 0 takes a free one")
    add("--nodes", type=int, default=0, help="create this many nodes, node-0000 on")
    add("--first-address", default="127.1.0.1", help="InternalIP of the first node")
    add("--images", type=int, default=5, help="container images listed per node (real: up to 50)")
    add("--tls-dir", help="serve TLS with the certificates there, made if missing")
    add("--token", action="append", default=[], metavar="TOKEN[=USER]", help="accept this token")
    add("--write-kubeconfig", metavar="FILE")
    return parser.parse_args(arguments)


def kubeconfig(options, url):
    cluster, user = {"server": url}, {}
    if options.tls_dir:
        directory = os.path.abspath(options.tls_dir)
        cluster["certificate-authority"] = os.path.join(directory, "ca.crt")
    if options.token:
        user["token"] = options.token[0].partition("=")[0]
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "standin",
        "clusters": [{"name": "standin", "cluster": cluster}],
        "users": [{"name": "tester", "user": user}],
        "contexts": [
            {"name": "standin", "context": {"cluster": "standin", "user": "tester"}},
        ],
    }


class StandIn:
    """The parts, put together."""

    def __init__(self, options):
        self.options = options
        registry = Registry()
        self.store = Store(registry)
        for resource in registry.rows.values():
            self.store.of(resource)
        authenticator = Authenticator()
        for text in options.token:
            token, _, user = text.partition("=")
            authenticator.set_token(token, user or "test")
        self.authenticator = authenticator
        self.api = Api(self.store, authenticator)
        self.faults = Faults()
        self.journal = Journal()
        self.server = Server(self.handle, on_done=self.journal.record)
        self.admin = Admin(self.server, self.store, self.api, self.faults, self.journal)
        self.admin_server = Server(self.admin.handle_admin)
        for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
            self.admin.ensure_namespace(name)
        if options.nodes:
            self.admin.post_nodes(
                options.nodes, first_address=options.first_address, images=options.images
            )

    def handle(self, request):
        request.info = route_of(request)
        request.info.user = self.authenticator.known_user_of(request)
        fault = self.faults.take(request, request.info)
        if fault is None:
            self.api.handle(request)
        else:
            act(fault, request, lambda: self.api.handle(request), self.api.refuse)

    async def run(self):
        options = self.options
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        tls = None
        if options.tls_dir:
            certs.make(options.tls_dir)
            tls = server_tls(
                os.path.join(options.tls_dir, "server.crt"),
                os.path.join(options.tls_dir, "server.key"),
            )
        self.admin.tls = tls
        port = await self.server.listen(options.host, options.port, tls)
        admin_port = await self.admin_server.listen("127.0.0.1", 0)
        host = f"[{options.host}]" if ":" in options.host else options.host
        url = f"{'https' if tls else 'http'}://{host}:{port}"
        if options.write_kubeconfig:
            with open(options.write_kubeconfig, "w", encoding="utf-8") as file:
                json.dump(kubeconfig(options, url), file, indent=2)
            os.chmod(options.write_kubeconfig, 0o600)
        ready = {"url": url, "admin_url": f"http://127.0.0.1:{admin_port}", "pid": os.getpid()}
        print(json.dumps(ready), flush=True)
        await stop.wait()


def main(arguments=None):
    raise_fd_limit()
    options = parse_options(arguments)
    asyncio.run(StandIn(options).run())
