"""All targets of the process, and the two servers: pages and administration.

The admin endpoints are on a port of their own. `targets` in a body is a list of addresses or names,
`{"first": "127.1.0.1", "count": 100}`, or "all" (those known so far and those yet to come).

    GET  /exporters/           this text
    POST /exporters/targets    {targets, load?: {cpu, mem, ..: model}, cpus?: N or [ids],
                                disabled?: [collectors], virtual_devices?, link_bytes_per_s?,
                                has_gpus?: bool}
    POST /exporters/loads      {target: {cpu, mem, ..: model}}: loads of many targets at once
    POST /exporters/trouble    {targets, kind, ..}; see trouble.py
    GET  /exporters/trouble    all that was ordered, with the scrapes that ran into it (hits); what
                               `well` has ended is not listed, what other trouble replaced is
    POST /exporters/well       {targets}: end the trouble
    POST /exporters/reboot     {targets}: counters start again at 0
    GET  /exporters/truth      ?target= &signal=cpu &from=UNIX &to=UNIX: the exact mean of a load
    GET  /exporters/stats      how many scrapes there were
    GET  /exporters/scrapes    ?target=: [unix time of reading, status, collectors], newest last
    POST /exporters/listen     {on: bool}: refuse and break connections, of all targets
    POST /exporters/close      {}: close every idle connection
"""

import base64
import json
import os
import zlib

from addresses import address_of, url_host
from httpd import AdminEndpoints, Server

from . import agent, trouble
from .page import COLLECTORS, DISABLED
from .target import Clock, Target


class Fleet(AdminEndpoints):
    root = "/exporters"

    def __init__(self, options):
        self.options = options
        self.clock = Clock(options.speed)
        self.targets = {}
        self.defaults = {"load": {}, "trouble": None, "disabled": []}
        self.orders = []
        self.server = Server(self.handle_page, on_connect=self.connected, on_done=self.done)
        self.admin_server = Server(self.handle_admin)
        self.authorization = None
        if options.basic_auth:
            packed = base64.b64encode(options.basic_auth.encode()).decode()
            self.authorization = f"Basic {packed}"
        elif options.bearer_token:
            self.authorization = f"Bearer {options.bearer_token}"

    def target(self, key):
        """The target of an address or name; made when first asked for."""
        found = self.targets.get(key)
        if found is None:
            options = self.options
            # Without a script every node has a load of its own, the same in every run.
            spread = zlib.crc32(key.encode()) / 2**32
            loads = {"cpu": 0.05 + 0.85 * spread, "mem": 0.2 + 0.6 * ((spread * 97) % 1)}
            loads["load"] = loads["cpu"]
            loads.update(self.defaults["load"])
            found = Target(key, self.clock, loads, options.cpus)
            found.trouble = self.defaults["trouble"]
            self._disable(found, self.defaults["disabled"])
            if options.agent:
                found.collectors = agent.COLLECTORS
            self.targets[key] = found
        return found

    @staticmethod
    def _disable(target, names):
        target.collectors = tuple(name for name in COLLECTORS if name not in names)

    # -- pages -------------------------------------------------------------------------------

    def connected(self, conn):
        """Refuse what nobody asked for and is not loopback; RST and silence on command."""
        address = conn.local_address
        if not (address.startswith("127.") or address in ("::1", *self.options.host)):
            conn.reset()
            return
        target = self.targets.get(address)
        order = target.trouble if target else self.defaults["trouble"]
        if order is None or order.spec["kind"] not in trouble.ON_CONNECT:
            return
        spec = self.target(address).take_trouble()
        if spec is None:
            return
        if spec["kind"] == "rst":
            conn.reset()
        else:
            conn.muted = True
            conn.transport.pause_reading()

    def handle_page(self, request):
        parts = request.path.strip("/").split("/")
        if parts[0] == "node" and len(parts) >= 2:
            key, path = parts[1], "/" + "/".join(parts[2:])
        else:
            key, path = request.conn.local_address, request.path
        if self.authorization and request.headers.get("authorization") != self.authorization:
            request.reply(401, b"Unauthorized\n", "text/plain; charset=utf-8")
            return
        if path == "/dcgm":  # another exporter of the same node
            target = self.target(key)
            if target.has_gpus:
                request.reply(200, target.dcgm_page(), trouble.TEXT)
            else:
                request.reply(404, b"404 page not found\n", "text/plain; charset=utf-8")
            return
        if path.endswith("/metrics/resource"):  # the kubelet of the same node
            request.reply(200, self.target(key).resource_page(), trouble.TEXT)
            return
        if path != "/metrics":
            text = b'<html><body><h1>Node Exporter</h1><a href="/metrics">Metrics</a></body></html>'
            request.reply(200, text, "text/html; charset=utf-8")
            return
        target = self.target(key)
        request.info = target
        target.scraped += 1
        spec = target.take_trouble()
        if spec is not None and spec["kind"] == "stuck":
            if target.stuck_at is None:
                target.stuck_at = self.clock.now()
        else:
            target.stuck_at = None
        collectors = self._collectors(request, target)
        if spec is None:
            if collectors is not None:
                self._reply_page(request, self._page(target, collectors))
            return
        trouble.act(
            spec,
            request,
            lambda: self._page(target, collectors or target.collectors),
            lambda page: self._reply_page(request, page),
        )

    def _page(self, target, collectors):
        return (agent.page if self.options.agent else Target.page)(target, collectors)

    @staticmethod
    def _collectors(request, target):
        """The collectors asked for; answers 400 and returns None when one of them is off."""
        wanted = request.query.get("collect[]")
        if not wanted:
            return target.collectors
        for name in wanted:
            if name not in target.collectors:
                known = name in COLLECTORS or name in DISABLED
                if target.trouble is None:
                    why = "disabled" if known else "missing"
                    text = (
                        "Couldn't create filtered metrics handler: couldn't create collector: "
                        f"{why} collector: {name}"
                    )
                    request.reply(400, text.encode(), "text/plain; charset=utf-8")
                return None
        return tuple(sorted(set(wanted)))

    @staticmethod
    def _reply_page(request, page):
        headers = []
        if "gzip" in request.headers.get("accept-encoding", ""):
            packer = zlib.compressobj(6, zlib.DEFLATED, 31)
            page = packer.compress(page) + packer.flush()
            headers = [("Content-Encoding", "gzip")]
        request.reply(200, page, trouble.TEXT, headers)

    def done(self, request, abandoned):
        target = request.info
        if target is None:
            return
        code = 0 if abandoned else request.status
        collect = ",".join(request.query.get("collect[]", ()))
        # The moment of the reading itself, so that get_truth() can be exact about an interval.
        at_unix = target.rendered_at_unix if code == 200 else request.at_unix
        target.scrapes.append((at_unix, code, collect))

    # -- administration ----------------------------------------------------------------------

    def _selected(self, wanted):
        if wanted == "all":
            return list(self.targets.values())
        if isinstance(wanted, dict):
            wanted = [address_of(wanted["first"], i) for i in range(wanted["count"])]
        if isinstance(wanted, str):
            wanted = [wanted]
        return [self.target(key) for key in wanted]

    def get_index(self, _request):
        return __doc__ + trouble.__doc__

    def post_targets(self, targets, load=None, cpus=None, disabled=None, **plain):
        if set(plain) - {"virtual_devices", "link_bytes_per_s", "has_gpus"}:
            raise ValueError(f"unknown keys among {sorted(plain)}")
        if targets == "all":
            self.defaults["load"].update(load or {})
            if disabled is not None:
                self.defaults["disabled"] = disabled
        targets = self._selected(targets)
        for target in targets:
            target.set_loads(load or {})
            if cpus is not None:
                target.set_cpus(range(cpus) if isinstance(cpus, int) else cpus)
            for name, value in plain.items():
                setattr(target, name, value)
            if disabled is not None:
                self._disable(target, disabled)
            target.reshape()
        return {"targets": len(targets)}

    def post_loads(self, **targets):
        for key, loads in targets.items():
            self.target(key).set_loads(loads)

    def post_trouble(self, targets, **spec):
        order = trouble.Order(len(self.orders) + 1, trouble.check(spec))
        self.orders.append(order)
        if targets == "all":
            self.defaults["trouble"] = order
        targets = self._selected(targets)
        for target in targets:
            target.trouble = order
        self._drop_idle(targets, spec["kind"] in trouble.ON_CONNECT)
        return {"id": order.id, "targets": len(targets)}

    def get_trouble(self, _request):
        return [
            {"id": order.id, "hits": order.hits, **order.spec}
            for order in self.orders
            if not order.is_ended
        ]

    def _drop_idle(self, targets, wanted):
        """Trouble at connect needs a new connection: end those that are kept alive."""
        keys = {target.key for target in targets}
        for conn in list(self.server.connections) if wanted else ():
            if conn.local_address in keys:
                conn.close()

    def post_well(self, targets):
        is_all = targets == "all"
        targets = self._selected(targets)
        ended = [target.trouble for target in targets]
        if is_all:
            ended.append(self.defaults["trouble"])
            self.defaults["trouble"] = None
        for order in filter(None, ended):
            order.is_ended = True
        keys = {target.key for target in targets}
        for target in targets:
            target.trouble = None
        for conn in list(self.server.connections):
            if conn.muted and conn.local_address in keys:
                conn.reset()
        return {"targets": len(targets)}

    def post_reboot(self, targets):
        for target in self._selected(targets):
            target.reboot()

    def get_truth(self, request):
        target = self.target(request.param("target"))
        t0, t1 = (self.clock.at(float(request.param(name))) for name in ("from", "to"))
        return {"mean": target.signals[request.param("signal", "cpu")].mean(t0, t1)}

    def get_stats(self, _request):
        return {"scraped": sum(target.scraped for target in self.targets.values())}

    def get_scrapes(self, request):
        return list(self.target(request.param("target")).scrapes)


def ready_line(scheme, loopback, port, admin_port):
    print(
        json.dumps(
            {
                "port": port,
                "url": f"{scheme}://{url_host(loopback)}:{port}",
                "admin_url": f"http://{url_host(loopback)}:{admin_port}",
                "pid": os.getpid(),
            }
        ),
        flush=True,
    )
