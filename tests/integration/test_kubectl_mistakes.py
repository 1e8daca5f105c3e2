"""The common mistakes, as tests/mistakes.md lists them: each is made in an installation of real programs, and each
tool says of it what the page says that it does, and no other check of doctor fires."""

import contextlib
import copy
import itertools
import json
import os
import re
import socket
import urllib.error

import pytest

from controller_kit import Controller
from extender_kit import Extender
from harness import fetch, wait_until
from pages import TOP
from paper_cluster import (
    CLUSTER_IP,
    CONTROLLERS,
    DEPLOYMENTS,
    EXTENDERS,
    POLICY_PATH,
    SYSTEM,
    PaperCluster,
    documents,
)
from policies import IDLE, node_names
from programs import complete, find_program
from wall_clock import WallClock

PAGE = "tests/mistakes.md"
QUIET = "—"
# As many as patches that fail in a row are told of.
NODES = node_names(4)
POLICIES = POLICY_PATH.rpartition("/")[0]
NOBODY = "http://127.0.0.1:9"
REFUSED = "error trying to reach service: dial tcp 10.244.0.7:8010: connect: connection refused"


def relay(url):
    """What the API server answers, or says of who does not."""
    try:
        answer = fetch(url)
        is_text = answer.headers.get_content_type() == "text/plain"
        return answer.status, answer.text if is_text else answer.json()
    except (urllib.error.URLError, OSError):
        return 503, {"kind": "Status", "message": REFUSED}


class Installation:
    """Nodes in a stand-in API server, a controller and an extender. A cluster on paper has what is
    around them, and asks them."""

    def __init__(self, run, standin, exporters, folder):
        self.run, self.folder, self.numbers = run, folder, itertools.count()
        self.standin, self.exporters = standin, exporters
        self.controller = self.extender = None
        self.flags = ()  # of the plugin, in place of --server
        self.cluster = PaperCluster()
        objects = self.cluster.objects
        objects[f"{SYSTEM}/pods"] = objects[f"{SYSTEM}/pods"][::2]
        for path in ("/api/v1/nodes", POLICY_PATH):
            objects[path] = lambda path: relay(standin.url + path)
        for name in ("controller", "extender"):
            path = f"{DEPLOYMENTS}/plimsoll-{name}"
            found = objects[path]
            objects[path] = lambda _, name=name, found=found: self.deployment(name, found)
        self.scheduler_config = os.path.join(folder, "scheduler.yaml")
        self.configure()
        exporters.set([f"127.1.0.{i + 1}" for i in range(len(NODES))], load={"cpu": 0.2})
        (self.policy,) = copy.deepcopy(documents("policy/policy.yaml"))
        self.apply()

    def configure(self, old="CLUSTER_IP", new=CLUSTER_IP):
        """The scheduler's configuration, as it should be except for this."""
        text = (TOP / "deploy" / "scheduler" / "config-http.yaml").read_text("utf-8")
        text = text.replace(old, new)
        with open(self.scheduler_config, "w", encoding="utf-8") as file:
            file.write(text if old == "" else text.replace("CLUSTER_IP", CLUSTER_IP))

    def deployment(self, name, found):
        """Its replicas are ready if the program is."""
        found = copy.deepcopy(found)
        program = getattr(self, name)
        is_ready = relay(f"{program.url}/readyz")[0] == 200
        found["status"] = {"readyReplicas": 2 if is_ready else 0}
        return found

    def show(self, pod, url):
        """Its pages, which are at that URL."""
        port = 8090 if pod in CONTROLLERS else 8010
        for page in ("metrics", "flagz", "status.json", "nodes"):
            path = f"{SYSTEM}/pods/{pod}:{port}/proxy/{page}"
            self.cluster.objects[path] = lambda _, page=page: relay(f"{url}/{page}")

    def start_controller(self, *flags, env=None, build="build"):
        argv = [find_program("plimsoll-controller", build), "--scrape-interval=1s"]
        argv += [f"--kubeconfig={self.standin.kubeconfig}", "--bind-address=127.0.0.1"]
        argv += [
            f"--target-url-template=http://{{address}}:{self.exporters.port}/metrics",
            "--health-port=0",
        ]
        argv += ["--leader-elect=false", *flags]
        self.controller = Controller(self.run(argv, f"controller-{next(self.numbers)}", env))
        self.show(CONTROLLERS[0], self.controller.url)

    def start_extender(self, *flags, is_called=True):
        name = f"extender-{next(self.numbers)}"
        self.extender = Extender(self.run, self.standin, *flags, name=name)
        self.show(EXTENDERS[0], self.extender.url)
        self.extender.wait_ready()
        if is_called:
            with self.extender.scheduler() as scheduler:
                scheduler.filter(NODES)

    def apply(self, change=lambda spec: None):
        """The recommended policy with a change."""
        policy = copy.deepcopy(self.policy)
        change(policy["spec"])
        policy["metadata"] = {"name": "default"}
        if self.standin.call("GET", POLICY_PATH).status == 404:
            assert self.standin.call("POST", POLICIES, policy).status == 201
        else:
            policy["spec"].setdefault("idle", None)  # a patch removes only what it names
            assert self.standin.patch(POLICY_PATH, policy).status == 200

    # What the tools say.

    def plimsoll(self, *words):
        flags = self.flags or [f"--server={self.cluster.url}"]
        env = {"HOME": "/proc/none", "KUBECONFIG": "", "NO_COLOR": "1"}
        done = complete("kubectl-plimsoll", *words, *flags, status=None, env=env)
        return done.stdout + done.stderr

    def doctor(self):
        return self.plimsoll("doctor", f"--scheduler-config={self.scheduler_config}")

    def top(self):
        return self.plimsoll("top")

    def status_page(self):
        found = self.controller.page_of_now("/status.json").json()
        return json.dumps(found, indent=1, ensure_ascii=False).replace('\\"', '"')

    def get_dsp(self):
        """The columns that the definition names."""
        answer = self.standin.call("GET", POLICY_PATH)
        if answer.status == 404:
            return "No resources found"
        status = answer.json().get("status", {})
        conditions = {found["type"]: found for found in status.get("conditions", [])}
        in_force = conditions.get("InForce", {})
        return f"{in_force.get('status')} {status.get('metrics')} {in_force.get('message')}"


# What the tools say when nothing is wrong.
QUIETLY = {
    "doctor": lambda text: re.search(r"^\d+ checks: \d+ ok, 0 unknown, 0 warnings, 0 err", text),
    "get_dsp": re.compile(r"True \d policy is valid$").match,
    "top": lambda text: re.search(r"(?m)^4 nodes: 4 pass, 0 above a limit; by plimsoll-extender-0 ", text)
    and len(re.findall(r"(?m)^\S+ +\d+ .*  ok$", text)) == len(NODES),
    "status_page": lambda text: '"ready": true' in text
    and all(f'"{key}": []' in text for key in ("failures", "warnings"))
    and re.search(r'"\[\+\] policy: DynamicSchedulerPolicy default, \d metrics, generation \d+"', text),
}  # fmt: skip


def rows():
    """{mistake: {tool: what the page says that it says}}"""
    text = (TOP / PAGE).read_text("utf-8")
    text = text.partition("<!-- mistakes -->")[2].partition("<!-- end -->")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    titles, _, *found = cells
    assert [title.strip("`") for title in titles] == [
        "mistake", "doctor", "kubectl get dsp", "top", "status page"
    ]  # fmt: skip
    assert all(len(row) == len(titles) for row in found)
    return {row[0]: dict(zip(QUIETLY, row[1:])) for row in found}


def check(installation, tool, cell):
    text = getattr(installation, tool)()
    if cell == QUIET:
        assert QUIETLY[tool](text), f"{tool}: {text}"
    for part in re.findall(r"`([^`]+)`", cell):
        assert part in text, f"{tool} does not say {part}: {text}"
    if tool == "doctor" and cell != QUIET:
        fired = re.findall(r"(?m)^(error|warning) +(\S+)", text)
        assert sorted(fired) == sorted(re.findall(r"(error|warning) `([a-z-]+)`", cell)), text
    return True


def check_all(installation, mistake):
    for tool, cell in rows()[mistake].items():
        wait_until(lambda t=tool, c=cell: check(installation, t, c), what=f"{tool} to say it")


# -- Mistakes in an installation that was sound, undone afterwards. --------------------------------


def applied(change):
    @contextlib.contextmanager
    def seed(installation):
        installation.apply(change)
        yield
        installation.apply()

    return seed


def misspell(spec):
    for name in ("syncPolicy", "predicate", "priority"):
        spec[name][0]["name"] = "cpu_usage_avg5m"
    spec["extender"]["scoring"] = "absolute"


@contextlib.contextmanager
def another_extender(installation, *flags, is_called=True):
    before = installation.extender
    installation.start_extender(*flags, is_called=is_called)
    yield
    installation.extender = before
    installation.show(EXTENDERS[0], before.url)


def configured(old, new):
    """kube-scheduler so told calls nobody."""

    @contextlib.contextmanager
    def seed(installation):
        installation.configure(old, new)
        with another_extender(installation, is_called=False):
            yield
        installation.configure()

    return seed


@contextlib.contextmanager
def deleted(installation):
    installation.apply(lambda spec: spec["predicate"][0].update(maxLimitPecent=0.7))
    wait_until(lambda: "0.7" in installation.status_page(), what="the policy to be in force")
    assert installation.standin.call("DELETE", POLICY_PATH).status == 200
    yield
    installation.apply()


@contextlib.contextmanager
def own_kubeconfig(installation):
    path = os.path.join(installation.folder, "kubeconfig")
    installation.standin.edit_kubeconfig(path, cluster={"server": NOBODY})
    installation.flags = [f"--kubeconfig={path}"]
    yield
    installation.flags = ()


@contextlib.contextmanager
def extender_refuses(installation):
    installation.extender.process.stop()
    yield
    installation.start_extender()


@contextlib.contextmanager
def extender_is_silent(installation):
    with socket.create_server(("127.0.0.1", 0)) as hole:
        installation.show(EXTENDERS[0], f"http://127.0.0.1:{hole.getsockname()[1]}")
        installation.flags = [f"--server={installation.cluster.url}", "--request-timeout=300ms"]
        yield
    installation.flags = ()
    installation.show(EXTENDERS[0], installation.extender.url)


@contextlib.contextmanager
def two_policies(installation):
    path = os.path.join(installation.folder, "policy.yaml")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(installation.policy, file)
    with another_extender(installation, f"--policy-config-path={path}"):
        yield


@contextlib.contextmanager
def not_configured(installation):
    with another_extender(installation, is_called=False):
        yield


def offer_idle_cpu(spec):
    spec["idle"] = {}


@contextlib.contextmanager
def no_right_to_offer(installation):
    standin = installation.standin
    standin.fault("status", path="^/api/v1/nodes/[^/]+/status", status=403, count=1000)
    with applied(offer_idle_cpu)(installation):
        yield
    standin.clear_faults()


@contextlib.contextmanager
def requests_both(installation):
    requests = {IDLE: "2000", "cpu": "1", "memory": "1Gi"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "batch-0", "namespace": "shop"},
        "spec": {
            "nodeName": NODES[0],
            "containers": [{"name": "a", "image": "a", "resources": {"requests": requests}}],
        },
    }
    installation.standin.admin("objects", {"resource": "pods", "object": pod})

    def has_offers():
        nodes = installation.standin.call("GET", "/api/v1/nodes").json()["items"]
        return any(IDLE in node["status"].get("capacity", {}) for node in nodes)

    with applied(offer_idle_cpu)(installation):
        wait_until(has_offers, what="the first offer")
        yield
    path = "/api/v1/namespaces/shop/pods/batch-0"
    assert installation.standin.call("DELETE", path).status == 200
    wait_until(lambda: not has_offers(), what="the nodes to be as before")


SERVICE = "plimsoll-extender.kube-system.svc"
UNDONE = {
    "a metric is misspelt in every list": applied(misspell),
    "a limit is on a metric that is not in `syncPolicy`": applied(
        lambda spec: spec["predicate"][0].update(name="cpu_usage_avg5m")
    ),
    "`maxLimitPecent: 80`, which is not a mistake: 80%": applied(
        lambda spec: spec["predicate"][0].update(maxLimitPecent=80)
    ),
    "`maxLimitPecent: 800`": applied(lambda spec: spec["predicate"][0].update(maxLimitPecent=800)),
    "`urlPrefix` still has the placeholder of deploy/scheduler": configured("", ""),
    "`urlPrefix` has the Service's name": configured("CLUSTER_IP", SERVICE),
    "`urlPrefix` has https instead of http": configured("http:", "https:"),
    "`urlPrefix` has another port": configured(":8010", ":8011"),
    "`urlPrefix` has another host": configured("CLUSTER_IP", "10.0.0.99"),
    "`filterVerb` is not the extender's": configured(
        "filterVerb: filter", "filterVerb: predicates"
    ),
    "your kubeconfig is for another cluster": own_kubeconfig,
    "the extender uses a file as its policy, the controller the object": two_policies,
    "the policy object is deleted": deleted,
    "the extender does not run": extender_refuses,
    "packets to the extender are dropped": extender_is_silent,
    "kube-scheduler does not use the configuration with the extender": not_configured,
    "a batch pod also requests CPU, and no kubelet can be read": requests_both,
    # The last one: a request that is never made again stays refused.
    "`spec.idle` without deploy/idle, with the default sources": no_right_to_offer,
}


def install(run, start_standin, start_exporters, folder):
    return Installation(run, start_standin("--nodes", len(NODES)), start_exporters(), str(folder))


@pytest.fixture(scope="module")
def sound(module_run, module_start_standin, module_start_exporters, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    found = install(module_run, module_start_standin, module_start_exporters, folder)
    found.start_controller()
    found.start_extender()
    yield found
    found.cluster.close()


def is_sound(installation):
    return all(check(installation, tool, QUIET) for tool in ("doctor", "get_dsp"))


@pytest.mark.parametrize("mistake", UNDONE)
def test_a_mistake_is_told(sound, mistake):
    wait_until(lambda: is_sound(sound), what="an installation without a mistake")
    with UNDONE[mistake](sound):
        check_all(sound, mistake)


# -- Mistakes at the start. ------------------------------------------------------------------------


def controller_kubeconfig(installation):
    path = os.path.join(installation.folder, "kubeconfig")
    installation.standin.edit_kubeconfig(path, cluster={"server": NOBODY})
    installation.start_controller(f"--kubeconfig={path}")


def no_right_to_patch(installation):
    installation.standin.fault("status", verb="patch", resource="nodes", status=403, count=1000)
    installation.start_controller()


def exporters_closed(installation):
    installation.start_controller("--target-url-template=http://{address}:9/metrics")


def clock_off(seconds):
    def seed(installation):
        clock = WallClock(os.path.join(installation.folder, "clock"))
        clock.set(seconds)
        installation.start_controller(env=clock.env, build="release")

    return seed


AT_THE_START = {
    "the controller's kubeconfig is for another cluster": controller_kubeconfig,
    "the controller may not patch nodes": no_right_to_patch,
    "the exporters' port is closed": exporters_closed,
    "the controller's clock is fifteen minutes ahead": clock_off(900),
    "the controller's clock is fifteen minutes behind": clock_off(-900),
}


@pytest.mark.parametrize("mistake", AT_THE_START)
def test_a_mistake_at_the_start_is_told(run, start_standin, start_exporters, tmp_path, mistake):
    installation = install(run, start_standin, start_exporters, tmp_path)
    try:
        AT_THE_START[mistake](installation)
        installation.start_extender()
        check_all(installation, mistake)
    finally:
        installation.cluster.close()


def test_the_page_has_them_all():
    assert list(rows()) and set(rows()) == {*UNDONE, *AT_THE_START}
