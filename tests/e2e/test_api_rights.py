"""Rights that are taken away under way, and the policy's definition: what fails is named, by verb and
resource, in the log and on /readyz; all else goes on; and what is given back is used by itself."""

import copy
import time

import pytest
import yaml
from cluster.plimsoll import ACCOUNTS, NAMESPACE, TOP, ask, fast_policy, metrics, page, refused
from cluster.relay import Relay
from cluster.workloads import pod_object
from harness import fetch, wait_until

CRD_FILE = TOP / "deploy" / "base" / "crd.yaml"
CRD = "dynamicschedulerpolicies.scheduler.policy.crane.io"
POLICIES = "dynamicschedulerpolicies"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
HOT = {"cpu": 0.9, "mem": 0.3}
CALM = {"cpu": 0.2, "mem": 0.3}
# Nobody may ask more than five times in two seconds for what it may not have.
REFUSED_PER_S = 2.5


@pytest.fixture
def plane(own_plane):
    """Its roles are taken apart."""
    yield own_plane
    assert not own_plane.died()


@pytest.fixture
def world(plane, fleet, plimsoll, exporters):
    relay = Relay(plane, 26445)
    plimsoll.server = relay.url
    apply(plane, fast_policy())
    nodes = fleet.add(1, load=HOT), fleet.add(2, load=CALM)
    controller = plimsoll.controller(None, exporters)
    extender = plimsoll.extender(None)
    world = World(plane, relay, controller, extender, nodes)
    wait_until(world.holds, 60, "the hot node to be rejected")
    yield world
    relay.stop()


def apply(plane, policy):
    plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(policy))


class World:
    """Both programs behind a relay, with a hot and two calm nodes."""

    def __init__(self, plane, relay, controller, extender, nodes):
        self.plane, self.relay = plane, relay
        self.programs = dict(zip(ACCOUNTS, (controller, extender)))
        self.extender = extender
        self.hot, self.calm = nodes
        self.limit = 0.65

    def holds(self):
        answer = ask(self.extender, "filter", pod_object("asked-0"), self.hot + self.calm)
        return set(answer["NodeNames"]) == set(self.calm)

    def change_policy(self):
        """Another policy of the same meaning, of which status and an Event tell."""
        self.limit = 0.6 if self.limit == 0.65 else 0.65
        apply(self.plane, fast_policy(limit=self.limit))

    def role(self, account, kind="clusterroles"):
        where = (
            f"{RBAC}/{kind}" if kind == "clusterroles" else f"{RBAC}/namespaces/{NAMESPACE}/{kind}"
        )
        return f"{where}/{account}"

    def take(self, account, resource, *verbs, kind="clusterroles"):
        """Take verbs on a resource away; returns what gives them back."""
        path = self.role(account, kind)
        before = self.plane.api.get(path)["rules"]
        after = copy.deepcopy(before)
        for rule in after:
            if rule["resources"] == [resource] and "metrics.k8s.io" not in rule["apiGroups"]:
                rule["verbs"] = [v for v in rule["verbs"] if v not in verbs]
        assert after != before, f"no {verbs} on {resource} in {path}"
        # A rule without a verb is refused.
        self.plane.api.patch(path, {"rules": [rule for rule in after if rule["verbs"]]})
        return lambda: self.plane.api.patch(path, {"rules": before})

    def names(self, account, verb, resource):
        """Readiness and the log of a program name what is missing."""
        process = self.programs[account]
        resource = resource.partition("/")[0]
        # 'pods is forbidden: User "..." cannot list resource "pods" in API group ""'
        wanted = f'cannot {verb} resource "{resource}'
        logged = wanted.replace('"', '\\"')

        def look():
            ready = page(process, "/readyz?verbose").text
            assert wanted in ready, ready
            assert logged in process.stderr(), f"not in the log: {logged}"
            return True

        wait_until(look, 60, f"{account} to name {verb} on {resource}", poll_s=0.1)

    def is_well(self, account):
        ready = page(self.programs[account], "/readyz?verbose")
        assert (
            ready.status == 200 and "cannot" not in ready.text and "403" not in ready.text
        ), ready.text
        return True


CONTROLLER, EXTENDER = ACCOUNTS
# account, resource, verb, kind of role, what makes the program use it
CASES = [
    (CONTROLLER, "nodes", "watch", "clusterroles", "cut"),
    (CONTROLLER, "pods", "watch", "clusterroles", "cut"),
    (CONTROLLER, POLICIES, "watch", "clusterroles", "cut"),
    (CONTROLLER, "nodes", "patch", "clusterroles", None),
    (CONTROLLER, "events", "patch", "clusterroles", "policy"),
    (CONTROLLER, "events", "create", "clusterroles", "no events"),
    (CONTROLLER, f"{POLICIES}/status", "patch", "clusterroles", "policy"),
    (CONTROLLER, "leases", "update", "roles", None),
    (CONTROLLER, "leases", "create", "roles", "no lease"),
    (EXTENDER, "nodes", "watch", "clusterroles", "cut"),
    (EXTENDER, "pods", "watch", "clusterroles", "cut"),
    (EXTENDER, POLICIES, "watch", "clusterroles", "cut"),
]


def use(world, trigger):
    if trigger == "cut":
        world.relay.cut()
    elif trigger == "policy":
        world.change_policy()
    elif trigger == "no events":
        world.plane.kubectl("delete", "events", "--all", "--namespace=default")
        world.change_policy()
    elif trigger == "no lease":
        world.plane.kubectl("delete", "lease", CONTROLLER, f"--namespace={NAMESPACE}")


@pytest.mark.nightly
def test_rights_removed(plane, world, figure):
    for account, resource, verb, kind, trigger in CASES:
        before = len(plane.audit(account))
        give_back = world.take(account, resource, verb, kind=kind)
        began = time.monotonic()
        try:
            use(world, trigger)
            world.names(account, verb, resource)
            named_s = time.monotonic() - began
            assert world.holds(), "the verdict stands"
        finally:
            give_back()
        given = time.monotonic()
        # Events are not written again by themselves: the next one shows it.
        if resource == "events":
            use(world, "policy")
        wait_until(lambda a=account: world.is_well(a), 120, f"{account} to be well", poll_s=0.2)
        back_s = time.monotonic() - given
        denied = len(refused(plane, account, after=before))
        assert (
            1 <= denied <= 5 + REFUSED_PER_S * (given - began + 10)
        ), f"{verb} {resource}: {denied}"
        figure(
            f"{account} without {verb} on {resource}: named after {named_s:.1f} s, well again "
            f"{back_s:.1f} s after it was given back, {denied} requests refused"
        )


@pytest.mark.nightly
def test_lists_removed(plane, world, figure):
    """All lists at once, since only an API server that has forgotten the positions is asked for them."""
    taken = [
        (account, resource) for account in ACCOUNTS for resource in ("nodes", "pods", POLICIES)
    ]
    give_back = [world.take(account, resource, "list") for account, resource in taken]
    began = time.monotonic()
    plane.stop_api_server()
    # Without another revision the newest position would still be good.
    put = {"key": "cGxpbXNvbGw=", "value": ""}
    assert fetch(f"{plane.etcd_url}/v3/kv/put", "POST", put).status == 200
    plane.compact()
    plane.start_api_server()
    before = {account: len(plane.audit(account)) for account in ACCOUNTS}
    try:
        for account, resource in taken:
            world.names(account, "list", resource)
        named_s = time.monotonic() - began
        assert world.holds()
    finally:
        for give in reversed(give_back):
            give()
    given = time.monotonic()
    for account in ACCOUNTS:
        wait_until(lambda a=account: world.is_well(a), 60, f"{account} to be well", poll_s=0.2)
    denied = {a: len(refused(plane, a, after=before[a])) for a in ACCOUNTS}
    figure(
        f"no lists, API server killed: all named after {named_s:.1f} s, well "
        f"{time.monotonic() - given:.1f} s after they were given back, {denied} refused meanwhile"
    )


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
        wait_until(lambda p=process: is_told(p), 60, f"{process.name} to tell", poll_s=0.2)
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
    assert all(count < 10 + lasted_s for count in asked.values()), asked
    plane.kubectl("apply", "-f", str(CRD_FILE))
    plane.kubectl("wait", "--for=condition=Established", f"crd/{CRD}", "--timeout=30s")
    world.change_policy()
    applied = time.monotonic()
    for process in world.programs.values():
        wait_until(
            lambda p=process: metrics(p)["plimsoll_policy_generation"] == before[p.name] + 1,
            60, f"{process.name} to have the new object", poll_s=0.1,
        )  # fmt: skip
    back_s = time.monotonic() - applied
    for account in ACCOUNTS:
        wait_until(lambda a=account: world.is_well(a), 60, f"{account} to be well", poll_s=0.2)
    assert world.holds()
    figure(
        f"definition deleted: told after {told_s:.1f} s, {asked} requests for policies in "
        f"{lasted_s:.1f} s; a new object was in force {back_s:.1f} s after it was applied"
    )
