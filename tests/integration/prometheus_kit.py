"""Two kinds of Prometheus: Debian's, as it is, and one that says whatever a test wants.

The pretended one is a thread of the test. It knows series by the name of the metric that a query
begins with, as recorded (with a name) or computed (without), and can be told to misbehave.
"""

import base64
import json
import os
import re
import ssl
import threading
import time
import urllib.parse
from typing import NamedTuple

from harness import fetch, wait_until
from local_server import Handler, LocalServer
from pages import block


def crane_rules(*intervals):
    """crane-scheduler's documented rules, in percent, of which the groups have these intervals."""
    each = iter(intervals)
    rules = block("deploy/coming-from/crane-scheduler.md", "rules")
    return re.sub(r"(?<=interval: )\S+", lambda _: next(each), rules)


class Asked(NamedTuple):
    """One request that the pretended Prometheus got."""

    method: str
    path: str
    params: dict
    headers: dict
    at_unix: float

    @property
    def name(self):
        """Of the metric that the query begins with."""
        return re.search(r'__name__="([^"]+)"', self.params["query"]).group(1)


class PretendedPrometheus:
    """Start with `with`, or close(); `url` is its address.

    recorded, computed   {metric: [(labels, value)]}, what instant queries answer; value as text
    authorization        the Authorization header without which it answers 401; None: any will do
    trouble              function(handler, asked) -> True when it has answered (or not) by itself,
                         False when this request is none of its business, None when it has done
                         something to it and the answer is still to come. What no request ran into
                         until the end fails the test; None withdraws it.
    """

    def __init__(self, tls=None, prefix=""):
        self.recorded, self.computed = {}, {}
        self._trouble, self._is_hit = None, True
        self.missed = []
        self.authorization = None
        self.warnings = []
        self.asked = []
        self.in_flight = self.most_in_flight = 0
        self.lock = threading.Lock()
        self.prefix = prefix
        outer = self

        class Asking(Handler):
            def do_GET(self):
                outer.handle(self)

            do_POST = do_GET

        context = None
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
        self.server = LocalServer(Asking, tls=context)
        self.url = self.server.url + prefix
        self.close = self.server.close

    @property
    def trouble(self):
        return self._trouble

    @trouble.setter
    def trouble(self, function):
        if function is not None and not self._is_hit:
            self.missed.append(self._trouble)
        self._trouble, self._is_hit = function, function is None

    def never_hit(self):
        """Trouble that was ordered and not withdrawn, and that no request ran into."""
        return self.missed if self._is_hit else [*self.missed, self._trouble]

    def handle(self, handler):
        body = handler.body()
        parts = urllib.parse.urlsplit(handler.path)
        form = body.decode() if handler.command == "POST" else parts.query
        params = dict(urllib.parse.parse_qsl(form, strict_parsing=True))
        asked = Asked(handler.command, parts.path, params, dict(handler.headers), time.time())
        with self.lock:
            self.asked.append(asked)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if self.authorization not in (None, asked.headers.get("Authorization")):
                send(handler, 401, "who?")
            elif not self.is_troubled(handler, asked):
                self.answer(handler, asked)
        finally:
            with self.lock:
                self.in_flight -= 1

    def is_troubled(self, handler, asked):
        function = self.trouble
        if function is None:
            return False
        fate = None
        try:
            fate = function(handler, asked)
        finally:  # it may end with what a client does that has had enough of it
            if fate is not False and function is self.trouble:
                self._is_hit = True
        return fate

    def answer(self, handler, asked):
        assert asked.path == f"{self.prefix}/api/v1/query", asked.path
        rows = [
            ({"__name__": asked.name, **labels}, value)
            for labels, value in self.recorded.get(asked.name, [])
        ] + self.computed.get(asked.name, [])
        result = [
            {"metric": labels, "value": [round(time.time(), 3), str(value)]}
            for labels, value in rows
        ]
        data = {"status": "success", "data": {"resultType": "vector", "result": result}}
        if self.warnings:
            data["warnings"] = self.warnings
        send(handler, 200, json.dumps(data))

    def count(self):
        return len(self.asked)


def send(handler, status, body, **headers):
    handler.reply(status, body, Content_Type="application/json", **headers)


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class RealPrometheus:
    """Debian's, scraping `targets` ({address: labels}) once a second; `scrape` adds to how."""

    def __init__(self, run, directory, targets, rules=None, name="prometheus", scrape=None):
        self.directory = os.path.join(directory, name)
        os.makedirs(self.directory)
        self.targets_path = os.path.join(self.directory, "targets.json")
        self.set_targets(targets)
        config = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": [
                {
                    "job_name": "node",
                    "file_sd_configs": [
                        {"files": [self.targets_path], "refresh_interval": "1s"},
                    ],
                    **(scrape or {}),
                }
            ],
        }
        if rules:
            with open(os.path.join(self.directory, "rules.yml"), "w", encoding="utf-8") as file:
                file.write(rules)
            config["rule_files"] = ["rules.yml"]
        path = os.path.join(self.directory, "prometheus.yml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        data = os.path.join(self.directory, "data")
        self.argv = [
            "prometheus",
            f"--config.file={path}",
            f"--storage.tsdb.path={data}",
        ]
        self.run = run
        self.name = name
        self.port = 0
        self.start()

    def start(self):
        """Again after a kill, on the same port."""
        listen = f"--web.listen-address=127.0.0.1:{self.port}"
        self.process = self.run([*self.argv, listen], f"{self.name}-{time.monotonic_ns()}")
        self.port = self.process.wait_port(r'msg="Listening on" address=[\d.]+:(\d+)')
        self.url = f"http://127.0.0.1:{self.port}"
        wait_until(lambda: fetch(f"{self.url}/-/ready").status == 200, what="Prometheus")

    def set_targets(self, targets):
        content = [{"targets": [at], "labels": labels} for at, labels in targets.items()]
        with open(f"{self.targets_path}.new", "w", encoding="utf-8") as file:
            json.dump(content, file)
        os.rename(f"{self.targets_path}.new", self.targets_path)

    def query(self, promql):
        """The vector of an instant query: [(labels, value)]."""
        answer = fetch(f"{self.url}/api/v1/query?{urllib.parse.urlencode({'query': promql})}")
        assert answer.status == 200, answer.text
        return [(row["metric"], float(row["value"][1])) for row in answer.json()["data"]["result"]]
