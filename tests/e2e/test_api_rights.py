"""Rights that are taken away under way, and the policy's definition: what fails is named, by verb and
resource, in the log and on /readyz; all else goes on; and what is given back is used by itself."""

import itertools
import json
import re
import subprocess
import time
from collections.abc import Callable
from typing import NamedTuple

import pytest
import yaml
from cluster.nodes import CALM, HOT
from cluster.plimsoll import ACCOUNTS, NAMESPACE, TOP, ask, fast_policy, metrics, page, refused
from cluster.relay import ApiRelay
from cluster.rights import Right, deployed, without
from cluster.workloads import pod_object
from harness import fetch, wait_until

pytestmark = pytest.mark.own_plane  # its roles are taken apart
CRD_FILE = TOP / "deploy" / "base" / "crd.yaml"
CRD = "dynamicschedulerpolicies.scheduler.policy.crane.io"
POLICIES = "dynamicschedulerpolicies"
# Nobody may ask more than five times in two seconds for what it may not have.
FIRST_REFUSED, REFUSED_A_SECOND = 5, 2.5
# Within which what is missing is named, and all is well when it is there again: a policy's status is
# tried again after a minute.
NAMED_S, WELL_S = 60, 120
# Requests for policies while their definition is away.
FIRST_POLICIES, POLICIES_A_SECOND = 10, 1
NUMBERS = itertools.count()
OUR_LABELS = ("name", "plimsoll-extender"), ("part-of", "plimsoll")


@pytest.fixture
def world(plane, fleet, namespace, plimsoll, exporters):
    relay = ApiRelay(plane, 26445)
    plimsoll.server = relay.url
    apply(plane, policy())
    for path in ("extender-bind/rbac.yaml", "admission/crd.yaml", "admission/rbac.yaml"):
        plane.kubectl("apply", "-f", str(TOP / "deploy" / path))
    nodes = fleet.add(1, load=HOT), fleet.add(2, load=CALM)
    controller = plimsoll.controller(None, exporters)
    extender = plimsoll.extender(None, "--bind", "--admission")
    world = World(plane, namespace, relay, controller, extender, nodes)
    wait_until(world.holds, 60, "the hot node to be rejected")
    yield world
    relay.stop()


def policy(limit=0.65, scoring="estimate"):
    found = fast_policy(limit=limit)
    found["spec"]["extender"] = {"scoring": scoring}
    return found


def apply(plane, content):
    plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(content))


class World:
    """Both programs behind a relay, with a hot and two calm nodes."""

    def __init__(self, plane, namespace, relay, controller, extender, nodes):
        self.plane, self.namespace, self.relay = plane, namespace, relay
        self.programs = dict(zip(ACCOUNTS, (controller, extender)))
        self.extender = extender
        self.hot, self.calm = nodes
        self.limit = 0.65

    def holds(self):
        answer = ask(self.extender, "filter", pod_object("asked-0"), self.hot + self.calm)
        return set(answer["NodeNames"]) == set(self.calm)

    def change_policy(self):
        """Another policy of the same meaning, of which its status tells."""
        self.limit = 0.6 if self.limit == 0.65 else 0.65
        apply(self.plane, policy(self.limit))

    def cut(self):
        self.relay.cut()

    def touch_leases(self):
        """Their holders' next update meets a conflict."""
        where = ["leases", *LEASE_NAMES, f"--namespace={NAMESPACE}"]
        self.plane.kubectl("annotate", *where, f"e2e/touched-{time.monotonic_ns()}=")

    def delete_leases(self):
        self.plane.kubectl("delete", "leases", *LEASE_NAMES, f"--namespace={NAMESPACE}")

    def measure_anew(self):
        """The ConfigMaps of workloads are read again, and then written."""
        controller = self.programs[CONTROLLER]
        apply(self.plane, policy(self.limit, "absolute"))
        wait_until(
            lambda: "workloads: not measured" in page(controller, "/readyz?verbose").text,
            what="the controller to measure no pods",
        )
        apply(self.plane, policy(self.limit))

    def store_anew(self):
        where = ["configmap", "plimsoll-workloads", f"--namespace={NAMESPACE}"]
        self.plane.kubectl("delete", "--ignore-not-found", *where)
        self.measure_anew()

    def list_anew(self):
        """The list of preferred nodes is missing, and another one."""
        self.plane.kubectl("delete", "--ignore-not-found", "preferrednodes", "default")
        self.bind()

    def bind(self):
        """Ask the extender to bind a new pod."""
        name, node = f"web-{next(NUMBERS)}", self.calm[0]
        pod = self.namespace.create_pod(name, scheduler="none")["metadata"]
        body = {"PodName": name, "PodNamespace": pod["namespace"], "PodUID": pod["uid"]}
        fetch(f"{self.extender.url}/v1/bind", "POST", {**body, "Node": node})

    def is_named(self, right):
        """Readiness and the log of the program name what is missing."""
        process = self.programs[right.account]
        # 'pods is forbidden: User "..." cannot list resource "pods" in API group ""'
        ready, logged = page(process, "/readyz?verbose").text, right.refusal.replace('"', '\\"')
        assert right.refusal in ready, ready
        assert logged in process.stderr(), f"not in the log: {logged}"
        return True

    def is_well(self, account):
        ready = page(self.programs[account], "/readyz?verbose")
        assert ready.status == 200 and not re.search(r"\bcannot |\b403 ", ready.text), ready.text
        return True


CONTROLLER, EXTENDER = ACCOUNTS
DOCTOR = "plimsoll-doctor"
POLICY = f"scheduler.policy.crane.io/{POLICIES}"
LEASES = "coordination.k8s.io/leases"
LEASE_NAMES = (CONTROLLER, "plimsoll-admission")
CONFIG_MAPS = "/configmaps"
PREFERRED = "plimsoll.io/preferrednodes"


class Case(NamedTuple):
    right: Right
    use: Callable = None  # what makes the program use it, if it does not by itself
    again: Callable = None  # what shows that it is back, likewise


def both(verb, *resources):
    return [Right(one, verb, what) for one in ACCOUNTS for what in resources]


def watched(verb):
    return [*both(verb, "/nodes", "/pods", POLICY), Right(EXTENDER, verb, CONFIG_MAPS)]


# Those of a row are taken away together: none of them keeps a program from trying another, as the
# Lease does that cannot be renewed.
ROUNDS = [
    [
        *(Case(right, World.cut) for right in watched("watch")),
        *(Case(right) for right in both("update", LEASES)),
    ],
    [
        Case(Right(CONTROLLER, "patch", "/nodes")),
        Case(Right(EXTENDER, "create", "/pods/binding"), World.bind, World.bind),
    ],
    [
        Case(Right(EXTENDER, "create", PREFERRED), World.list_anew),
    ],
    [Case(right, World.delete_leases) for right in both("create", LEASES)],
    [Case(right, World.touch_leases) for right in both("get", LEASES)],
    [
        Case(Right(CONTROLLER, "patch", f"{POLICY}/status"), World.change_policy),
        Case(Right(CONTROLLER, "get", CONFIG_MAPS), World.measure_anew),
        Case(Right(EXTENDER, "patch", PREFERRED), World.bind),
    ],
    [Case(Right(CONTROLLER, "patch", CONFIG_MAPS), World.measure_anew)],
    [Case(Right(CONTROLLER, "create", CONFIG_MAPS), World.store_anew)],
]
# test_install_and_leave.py runs the cleanup with them.
CLEANUP = (
    Right(CONTROLLER, "delete", LEASES),
    Right(CONTROLLER, "delete", CONFIG_MAPS),
)
# tests/integration/test_controller_source_*.py name these.
METRICS_API = {Right(CONTROLLER, "list", f"metrics.k8s.io/{of}") for of in ("nodes", "pods")}
KUBELET = Right(CONTROLLER, "get", "/nodes/metrics")
# Which test_idle.py begins without.
OFFERS = Right(CONTROLLER, "patch", "/nodes/status")
# The roles of programs that are not ours, and of one that test_rebalance.py runs with them.
OTHERS = ("plimsoll-scheduler", "plimsoll-rebalance")


def test_each_right_has_a_case():
    """Whatever role deploy/ gives to an account of ours, a test takes each right of it away."""
    tried = {case.right for cases in ROUNDS for case in cases}
    tried |= {*watched("list"), *CLEANUP, *METRICS_API, KUBELET, OFFERS}
    # Those of DOCTOR are taken as they are.
    assert tried == {right for right in deployed() if right.account not in (*OTHERS, DOCTOR)}


def denials(plane, right, after):
    """How many requests for the resource of a right were refused, since so many audit events: an
    Event that is not there yet is created by a patch."""
    parts = set(right.resource.split("/")) - {""}
    paths = [path.split("/") for _, _, path in refused(plane, right.account, after)]
    return sum(parts <= set(path) for path in paths)


@pytest.mark.nightly
def test_rights_removed(plane, world, figure):
    for cases in ROUNDS:
        lose_and_regain(plane, world, cases, figure)


def lose_and_regain(plane, world, cases, figure):
    rights, accounts = [case.right for case in cases], {case.right.account for case in cases}
    before, named_s = {one: len(plane.audit(one)) for one in accounts}, {}
    with without(plane, rights):
        began = time.monotonic()
        for use in {case.use for case in cases if case.use}:
            use(world)
        for right in rights:
            wait_until(
                lambda r=right: world.is_named(r), NAMED_S, f"{right} to be named", poll_s=0.1
            )
            named_s[right] = time.monotonic() - began
        assert world.holds(), "the verdict stands"
    given = time.monotonic()
    for again in {case.again for case in cases if case.again}:
        again(world)
    for account in accounts:
        wait_until(lambda a=account: world.is_well(a), WELL_S, f"{account} to be well", poll_s=0.2)
    back_s = time.monotonic() - given
    for account, verb, resource in rights:
        right = Right(account, verb, resource)
        denied = denials(plane, right, before[account])
        most = FIRST_REFUSED + REFUSED_A_SECOND * (given - began + 10)
        assert 1 <= denied <= most, f"{right}: {denied}"
        figure(
            f"{account} without {verb} on {resource}: named after {named_s[right]:.1f} s, all well "
            f"{back_s:.1f} s after the last was given back, {denied} requests refused"
        )


@pytest.mark.nightly
def test_lists_removed(plane, world, figure):
    """All lists at once, since only an API server that has forgotten the positions is asked for them."""
    with without(plane, watched("list")):
        began = time.monotonic()
        plane.stop_api_server()
        # Without another revision the newest position would still be good.
        put = {"key": "cGxpbXNvbGw=", "value": ""}
        assert fetch(f"{plane.etcd_url}/v3/kv/put", "POST", put).status == 200
        plane.compact()
        plane.start_api_server()
        before = {account: len(plane.audit(account)) for account in ACCOUNTS}
        for right in watched("list"):
            wait_until(
                lambda r=right: world.is_named(r), NAMED_S, f"{right} to be named", poll_s=0.1
            )
        named_s = time.monotonic() - began
        assert world.holds()
    given = time.monotonic()
    for account in ACCOUNTS:
        wait_until(lambda a=account: world.is_well(a), WELL_S, f"{account} to be well", poll_s=0.2)
    denied = {a: len(refused(plane, a, after=before[a])) for a in ACCOUNTS}
    # Of four resources.
    most = 4 * (FIRST_REFUSED + REFUSED_A_SECOND * (given - began))
    assert all(1 <= count <= most for count in denied.values()), denied
    figure(
        f"no lists, API server killed: all named after {named_s:.1f} s, well "
        f"{time.monotonic() - given:.1f} s after they were given back, {denied} refused meanwhile"
    )


@pytest.mark.nightly
def test_doctor_names_what_it_may_not(plane, plimsoll, figure):
    plane.kubectl("apply", "-f", str(TOP / "deploy" / "doctor" / "rbac.yaml"))
    pod = pod_object("extender-0", labels={f"app.kubernetes.io/{k}": v for k, v in OUR_LABELS})
    pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
    plane.api.create(pods, pod)
    plane.api.patch(f"{pods}/extender-0/status", {"status": {"phase": "Running"}})
    wanted = [right for right in deployed() if right.account == DOCTOR]
    argv = [plimsoll.binary("kubectl-plimsoll"), "doctor", "-o", "json"]
    argv += [f"--kubeconfig={plimsoll.kubeconfig(DOCTOR)}"]
    silent = []
    for right in wanted:
        with without(plane, [right]):
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
        rows = json.loads(done.stdout)["checks"]
        if not any(row["state"] == "unknown" and right.refusal in row["what"] for row in rows):
            silent.append(right)
    assert not silent
    figure(f"each of {len(wanted)} rights that it lacks is named by a check that is unknown")


@pytest.mark.nightly
def test_definition_deleted(plane, world, figure):
    before = {p.name: metrics(p)["plimsoll_policy_generation"] for p in world.programs.values()}
    audited = {account: len(plane.audit(account)) for account in ACCOUNTS}
    began = time.monotonic()
    plane.kubectl("delete", "crd", CRD)

    def is_told(process):
        ready = page(process, "/readyz?verbose")
        assert ready.status == 200, ready.text
        for part in ("was deleted", "the object is not watched: ", ": 404 "):
            assert part in ready.text, ready.text
        assert "policy object deleted, keeping the policy in force" in process.stderr()
        return True

    for process in world.programs.values():
        wait_until(lambda p=process: is_told(p), NAMED_S, f"{process.name} to tell", poll_s=0.2)
    told_s = time.monotonic() - began
    assert world.holds()
    for process in world.programs.values():
        assert metrics(process)["plimsoll_policy_generation"] == before[process.name]
    lasted_s = time.monotonic() - began
    asked = {
        account: sum(
            POLICIES in event["requestURI"] for event in plane.audit(account)[audited[account] :]
        )
        for account in ACCOUNTS
    }
    most = FIRST_POLICIES + POLICIES_A_SECOND * lasted_s
    assert all(count < most for count in asked.values()), asked
    plane.kubectl("apply", "-f", str(CRD_FILE))
    plane.kubectl("wait", "--for=condition=Established", f"crd/{CRD}", "--timeout=30s")
    world.change_policy()
    applied = time.monotonic()
    for process in world.programs.values():
        wait_until(
            lambda p=process: metrics(p)["plimsoll_policy_generation"] == before[p.name] + 1,
            WELL_S, f"{process.name} to have the new object", poll_s=0.1,
        )  # fmt: skip
    back_s = time.monotonic() - applied
    for account in ACCOUNTS:
        wait_until(lambda a=account: world.is_well(a), WELL_S, f"{account} to be well", poll_s=0.2)
    assert world.holds()
    figure(
        f"definition deleted: told after {told_s:.1f} s, {asked} requests for policies in "
        f"{lasted_s:.1f} s; a new object was in force {back_s:.1f} s after it was applied"
    )
