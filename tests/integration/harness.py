"""What the tests are made of: processes, conditions and clients of the two synthetic peers.

No helper here sleeps for a fixed time to let something happen: tests wait on conditions, with a
limit that is generous because a loaded machine is not a defect.
"""

import http.client
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from addresses import url_host

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
DEFAULT_TIMEOUT_S = 30.0
POLL_SHARE, POLL_MAX_S = 0.05, 0.15
PAGE_KEPT_S = 1.0  # common/net/shared_page.h
READ_MONO_S = {}  # when each such page was read last
# make nightly: the full sizes and the long runs.
NIGHTLY = os.environ.get("PLIMSOLL_NIGHTLY") == "1"

# Any of these in a program's stderr fails the test that ran it.
SANITIZER_SIGNS = re.compile(
    r"(Address|Leak|Memory|Thread|UndefinedBehavior)Sanitizer|runtime error:|Assertion .* failed"
)
SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}


def wait_until(condition, timeout_s=DEFAULT_TIMEOUT_S, what="the condition", poll_s=0.02):
    """Call `condition` until it returns something true, and return that.

    `what` completes the sentence "waited N s for ..". The last value, or the last AssertionError,
    that the condition gave is part of the failure. Calls become rarer, as far as POLL_MAX_S: they
    cost processors that the programs under test need.
    """
    began = time.monotonic()
    deadline = began + timeout_s
    last = None
    while True:
        try:
            last = condition()
            if last:
                return last
        except AssertionError as error:
            last = error
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout_s:g} s for {what}; last seen: {last!r}")
        waited_s = time.monotonic() - began
        time.sleep(max(poll_s, min(POLL_SHARE * waited_s, POLL_MAX_S)))


def clean_environment(more=None):
    """Of a program: `more`, and what we have, except for the tests' own variables."""
    ours = {key: value for key, value in os.environ.items() if not key.startswith("PLIMSOLL_")}
    return {**SANITIZER_ENV, **ours, **(more or {})}


class Process:
    """A program under test, or a peer: its output goes to files, and only its own pid is signalled.

    name.out and name.err in `log_dir` hold what it printed; text() reads both.
    """

    def __init__(self, argv, name, log_dir, env=None, stdin=None):
        self.name = name
        self.argv = [str(part) for part in argv]
        self.out_path = os.path.join(log_dir, f"{name}.out")
        self.err_path = os.path.join(log_dir, f"{name}.err")
        # Programs must behave the same wherever they run.
        env = clean_environment({"TZ": "UTC", **(env or {})})
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.popen = subprocess.Popen(
                self.argv,
                stdin=stdin if stdin is not None else subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=env,
            )
        self.expect_death = False
        self.was_told = False  # to end, while it ran

    @property
    def pid(self):
        return self.popen.pid

    def stdout(self):
        with open(self.out_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def stderr(self):
        with open(self.err_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def text(self):
        return self.stdout() + self.stderr()

    def is_running(self):
        return self.popen.poll() is None

    def wait_log(self, pattern, timeout_s=DEFAULT_TIMEOUT_S):
        """The first match of a regular expression in the output; fails at once if it dies first."""
        compiled = re.compile(pattern, re.MULTILINE)

        def look():
            # Liveness first: what a dying program printed last must still be found.
            alive = self.is_running()
            match = compiled.search(self.text())
            if match is None and not alive:
                raise RuntimeError(
                    f"{self.name} ended with {self.popen.returncode} before {pattern!r}:\n"
                    + self.text()[-4000:]
                )
            return match

        return wait_until(look, timeout_s, f"{self.name} to print {pattern!r}")

    def wait_port(self, pattern=r"\bport=\"?(\d+)", timeout_s=DEFAULT_TIMEOUT_S):
        """The port that the program bound, from its readiness line: `pattern`'s first group."""
        return int(self.wait_log(pattern, timeout_s).group(1))

    def wait_exit(self, timeout_s=DEFAULT_TIMEOUT_S):
        """Wait for it to end by itself; the exit status (negative: the signal)."""
        self.expect_death = True
        try:
            return self.popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"{self.name} did not end within {timeout_s:g} s:\n" + self.text()[-4000:]
            ) from None

    def stop(self, number=signal.SIGTERM, timeout_s=DEFAULT_TIMEOUT_S):
        """Ask it to end and return its exit status; killed, and a failure, if it does not."""
        self.expect_death = True
        if self.is_running():
            self.was_told = True
            self.popen.send_signal(number)
        try:
            return self.popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
            raise AssertionError(
                f"{self.name} ignored signal {number} for {timeout_s:g} s:\n" + self.text()[-4000:]
            ) from None

    def kill(self):
        """kill -9, as the out-of-memory killer would."""
        self.expect_death = True
        self.popen.kill()
        return self.popen.wait()

    def assert_clean(self):
        """No sanitizer has complained, and the program has not ended unless the test ended it."""
        match = SANITIZER_SIGNS.search(self.stderr())
        assert match is None, f"{self.name}: {self.stderr()[max(0, match.start() - 500):][:6000]}"
        code = self.popen.poll()
        if not self.expect_death:
            assert code is None, f"{self.name} ended with {code}:\n{self.text()[-4000:]}"

    def rss_kib(self):
        return self._status_kib("VmRSS")

    def peak_rss_kib(self):
        return self._status_kib("VmHWM")

    def _status_kib(self, name):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            return int(re.search(rf"^{name}:\s+(\d+)", file.read(), re.MULTILINE).group(1))

    def cpu_s(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def open_files(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


class Answer:
    """An HTTP answer, errors included."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        return json.loads(self.body)

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")


def fetch(url, method="GET", body=None, headers=None, timeout_s=DEFAULT_TIMEOUT_S, context=None):
    """One request; a 4xx or 5xx is an Answer like any other. `body`: bytes, or JSON-able."""
    sent = dict(headers or {})
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    if body is not None:
        sent.setdefault("Content-Type", "application/json")
    request = urllib.request.Request(url, data=body, headers=sent, method=method)
    # Never through a proxy that the environment may name.
    handlers = [urllib.request.ProxyHandler({})]
    if context is not None:
        handlers.append(urllib.request.HTTPSHandler(context=context))
    opener = urllib.request.build_opener(*handlers)
    try:
        with opener.open(request, timeout=timeout_s) as answer:
            return Answer(answer.status, answer.headers, answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.headers, error.read())


class Peer:
    """A synthetic peer: a process that prints one line of JSON when it is ready.

    Misbehaviour that a test ordered, and that nothing has run into by the end, fails the test.
    """

    package = None
    admin_root = None
    orders = None  # the admin endpoint of misbehaviour: what is in force, with `id` and `hits`

    def __init__(self, log_dir, *arguments, name=None):
        program = os.path.join(HERE, self.package, "main.py")
        self.process = Process([PYTHON, program, *arguments], name or self.package, log_dir)
        try:
            ready = json.loads(self.process.wait_log(r"^\{.*\}$").group(0))
        except BaseException:
            self.process.kill()
            raise
        self.url = ready["url"]
        self.admin_url = ready["admin_url"]
        self.ready = ready
        self.must_hit = set()

    def admin(self, path, body=None, method=None, **query):
        """Call an admin endpoint: POST when there is a body (even an empty one), else GET."""
        url = f"{self.admin_url}{self.admin_root}/{path}"
        if query:
            url += "?" + urllib.parse.urlencode(query)
        answer = fetch(url, method or ("GET" if body is None else "POST"), body)
        assert answer.status == 200, f"{method or ''} {url}: {answer.status} {answer.text}"
        return answer.json()

    def never_hit(self):
        """What was ordered and not withdrawn, and has had no effect on anything."""
        rows = self.admin(self.orders) if self.must_hit else []
        return [row for row in rows if row["id"] in self.must_hit and row["hits"] == 0]

    def stop(self):
        missed = self.never_hit() if self.process.is_running() else []
        code = self.process.stop()
        assert code == 0, f"{self.process.name} ended with {code}:\n{self.process.text()[-4000:]}"
        assert "Traceback" not in self.process.stderr(), self.process.stderr()[-6000:]
        assert not missed, f"{self.process.name}: ordered, but nothing ran into it: {missed}"


MERGE_PATCH = "application/merge-patch+json"


class Watch:
    """A watch connection that a test reads event by event."""

    def __init__(self, url, path, headers, timeout_s=DEFAULT_TIMEOUT_S, context=None):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme == "https":
            self.conn = http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=timeout_s, context=context
            )
        else:
            self.conn = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout_s)
        self.conn.request("GET", path, headers=headers)
        self.answer = self.conn.getresponse()
        self.status = self.answer.status

    def line(self):
        """The next raw line; b"" at the end of the stream."""
        return self.answer.readline()

    def next(self):
        """The next event: (type, object), or None at a clean end."""
        line = self.line()
        if not line:
            return None
        event = json.loads(line)
        return event["type"], event["object"]

    def take(self, count):
        return [self.next() for _ in range(count)]

    def close(self):
        self.conn.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class ApiClient:
    """A client of an API server at `url`; header names are given with underscores."""

    context = None
    token = None

    def __init__(self, url, token=None, context=None):
        self.url = url
        self.token = token
        self.context = context

    def _headers(self, given):
        named = {key.replace("_", "-"): value for key, value in given.items()}
        if self.token is not None:
            named.setdefault("Authorization", f"Bearer {self.token}")
        return named

    def call(self, method, path, body=None, **headers):
        named = self._headers(headers)
        return fetch(self.url + path, method, body, named, context=self.context)

    def get(self, path, **headers):
        answer = self.call("GET", path, **headers)
        assert answer.status == 200, f"GET {path}: {answer.status} {answer.text}"
        return answer.json()

    def watch(self, path, **headers):
        """Open a watch (the path carries watch=1 and the rest); use as a context manager."""
        return Watch(self.url, path, self._headers(headers), context=self.context)

    def patch(self, path, body, **headers):
        headers.setdefault("Content_Type", MERGE_PATCH)
        return self.call("PATCH", path, body, **headers)


class StandIn(Peer, ApiClient):
    """The API server stand-in; see standin/__init__.py and standin/admin.py."""

    package = "standin"
    admin_root = "/standin"
    orders = "faults"

    def __init__(self, log_dir, *arguments, name=None):
        name = name or self.package
        self.kubeconfig = os.path.join(log_dir, f"{name}.kubeconfig")
        super().__init__(
            log_dir, *map(str, arguments), "--write-kubeconfig", self.kubeconfig, name=name
        )

    def edit_kubeconfig(self, path, cluster=None, user=None, **top):
        """Write a variant of the kubeconfig to `path`; a value of None removes a key."""
        with open(self.kubeconfig, encoding="utf-8") as file:
            config = json.load(file)
        places = [
            (config["clusters"][0]["cluster"], cluster),
            (config["users"][0]["user"], user),
            (config, top),
        ]
        for place, changes in places:
            for key, value in (changes or {}).items():
                key = key.replace("_", "-")
                if value is None:
                    place.pop(key, None)
                else:
                    place[key] = value
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        return str(path)

    # Shorthands for the admin endpoints that tests use most.

    def add_nodes(self, count, **more):
        """Create nodes; rows of {name, address}."""
        return self.admin("nodes", {"count": count, **more})

    def add_pods(self, count, **more):
        return self.admin("pods", {"count": count, **more})

    def fault(self, action, may_miss=False, **spec):
        """Misbehave; returns the rule's id. Something must run into it, unless it `may_miss`."""
        rule = self.admin("faults", {"action": action, **spec})["id"]
        if not may_miss:
            self.must_hit.add(rule)
        return rule

    def faults(self):
        return {row["id"]: row for row in self.admin("faults")}

    def clear_faults(self):
        """Withdraw all that are in force, whether anything ran into them or not."""
        self.admin("faults", method="DELETE")

    def stats(self):
        return self.admin("stats")

    def count(self, **wanted):
        """How many requests there were with this verb, resource, code, subresource, user_agent.

        user_agent matches as a prefix.
        """
        agent = wanted.pop("user_agent", "")
        return sum(
            row["count"]
            for row in self.stats()["requests"]
            if row["user_agent"].startswith(agent)
            and all(row[key] == value for key, value in wanted.items())
        )

    def patches(self, **query):
        return self.admin("patches", **query)

    def watches(self, resource=None):
        return [w for w in self.admin("watches") if resource in (None, w["resource"])]

    def annotations(self, node):
        """The annotations of a node as they are stored, {} if there is no such node."""
        obj = self.admin("objects", resource="nodes", name=node)
        return obj.get("metadata", {}).get("annotations", {}) if obj else {}

    def wait_job(self, job, timeout_s=DEFAULT_TIMEOUT_S):
        """Wait for a background job (mutate) and return its row."""

        def done():
            row = self.admin("jobs")[job["id"]]
            return None if row["running"] else row

        return wait_until(done, timeout_s, f"job {job['id']}")


class Exporters(Peer):
    """The synthetic node_exporters; see exporters/__init__.py and exporters/fleet.py."""

    package = "exporters"
    admin_root = "/exporters"
    orders = "trouble"

    def __init__(self, log_dir, *arguments, name=None):
        super().__init__(log_dir, *map(str, arguments), name=name)
        self.port = self.ready["port"]

    def page(self, target, query="", **headers):
        """Scrape a target, by address or by name."""
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        by_address = target[0].isdigit() or ":" in target
        base = (
            f"http://{url_host(target)}:{self.port}" if by_address else f"{self.url}/node/{target}"
        )
        return fetch(f"{base}/metrics{query}", headers=named)

    def set(self, targets, **more):
        """Script targets: load={"cpu": 0.5}, cpus=4, disabled=["pressure"].."""
        return self.admin("targets", {"targets": targets, **more})

    def set_loads(self, loads):
        """Script each target by itself: {target: {"cpu": 0.5}}."""
        self.admin("loads", loads)

    def trouble(self, targets, kind, may_miss=False, **more):
        """Let targets misbehave. A scrape must run into it, unless it `may_miss`."""
        order = self.admin("trouble", {"targets": targets, "kind": kind, **more})["id"]
        if not may_miss:
            self.must_hit.add(order)

    def well(self, targets="all"):
        """End it, whether a scrape ran into it or not."""
        return self.admin("well", {"targets": targets})

    def truth(self, target, from_unix, to_unix, signal_name="cpu"):
        """The exact mean of a load over an interval of wall-clock time."""
        query = {"target": target, "signal": signal_name, "from": from_unix, "to": to_unix}
        return self.admin("truth", **query)["mean"]

    def scrapes(self, target):
        return self.admin("scrapes", target=target)


def parse_page(text):
    """An exposition page: ({series: [values]}, {family: help}, {family: type})."""
    series, helps, types = {}, {}, {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            _, _, family, words = (line.split(" ", 3) + [""])[:4]
            helps[family] = words
        elif line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ")
            types[family] = kind
        elif line and not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            series.setdefault(name, []).append(float(value))
    return series, helps, types


class OwnMetrics(dict):
    """A page of a program's own metrics: {series: value}.

    What is asked for must be there: a name or a label that the program does not know is a failure
    and never a 0. Who asks for what has not happened yet waits for it (wait_until), or says what to
    take instead (`default`); the family must be on the page even so.
    """

    def __init__(self, text):
        series, _, self.types = parse_page(text)
        twice = [name for name, values in series.items() if len(values) > 1]
        assert not twice, f"series that are there twice: {twice}"
        super().__init__((name, values[0]) for name, values in series.items())

    def of(self, name, **labels):
        """[(all its labels, value)] of the series of that name that have these labels."""
        wanted, rows = {label: str(value) for label, value in labels.items()}, []
        for series, value in self.items():
            base, _, text = series.partition("{")
            found = dict(LABEL.findall(text))
            if base == name and wanted.items() <= found.items():
                rows.append((found, value))
        return rows

    def total(self, name, default=None, **labels):
        """The sum over the series of that name that have these labels."""
        rows = self.of(name, **labels)
        if not rows and default is not None and name in self.types:
            return default
        assert rows, f"no series {name} with {labels}; {sorted(s for s in self if name in s)}"
        return sum(value for _, value in rows)

    def by_label(self, name, label):
        """{label's value: sum} over the series of that name."""
        sums = {}
        for labels, value in self.of(name):
            if label in labels:
                sums[labels[label]] = sums.get(labels[label], 0) + value
        assert sums, f"no series {name} with a label {label}"
        return sums


LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def page_of_now(url, read):
    """What `read()` finds there, of which the program keeps a text for a second: who has just read
    one waits until that is over."""
    time.sleep(max(0, READ_MONO_S.get(url, -math.inf) + PAGE_KEPT_S - time.monotonic()))
    answer = read()
    READ_MONO_S[url] = time.monotonic()
    return answer


class Pages:
    """What a program says of itself, at `url`."""

    def page(self, path):
        return fetch(f"{self.url}{path}")

    def call(self, method, path, body=None):
        return fetch(f"{self.url}{path}", method, body)

    def page_of_now(self, path):
        return page_of_now(f"{self.url}{path}", lambda: self.page(path))

    def metrics(self):
        answer = self.page_of_now("/metrics")
        assert answer.status == 200, answer.text
        return OwnMetrics(answer.text)

    def metric(self, name, default=None, **labels):
        """OwnMetrics.total() of the page as it is now."""
        return self.metrics().total(name, default, **labels)

    def labels(self, name, label):
        """OwnMetrics.by_label() of the page as it is now."""
        return self.metrics().by_label(name, label)

    def ready(self):
        """(is it ready, what it says about that)"""
        answer = self.page("/readyz?verbose")
        assert answer.status in (200, 503), answer.status
        return answer.status == 200, answer.text


if sys.version_info < (3, 11):
    raise RuntimeError(f"run the integration tests with Debian 12's {PYTHON}")
