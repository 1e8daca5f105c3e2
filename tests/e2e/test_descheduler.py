"""deploy/descheduler with the real descheduler: it evicts by what the controller answers, and pods come to rest."""

import collections
import urllib.parse

import pytest
import yaml
from cluster.nodes import exporter_template
from cluster.pages import follow
from cluster.plimsoll import TOP, fast_policy
from cluster.workloads import placed, pod_object
from harness import NIGHTLY, fetch, wait_until
from pages import block
from tools import build

PAGE = "docs/rebalancing.md"
SPACE = ACCOUNT = "plimsoll-descheduler"
CPU = "cpu_usage_avg_5s"
BLIND = "e2e/blind"
# Nodes have 8 CPUs, and a pod uses one: seven are above the limit of 0.8.
REPLICAS, MOST = 14, 6
# Longer than the window and shorter; the mean still holds the pods that have gone then.
CYCLE_S = 7 if NIGHTLY else 2
QUIET_CYCLES = 10 if NIGHTLY else 3
# It takes the CA of a pod's ServiceAccount, wherever it runs.
WITH_CA = """
mount -t tmpfs tmpfs /var/run
mkdir -p /var/run/secrets/kubernetes.io/serviceaccount
printf %s "$CA" > /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
exec "$@"
"""


@pytest.fixture
def installed(plane):
    follow(plane, block(PAGE, "rebalancing"))
    # Its namespace enforces the restricted standard.
    pods = f"/api/v1/namespaces/{SPACE}/pods"
    wait_until(lambda: plane.api.items(pods), what="the pod to be admitted")
    yield
    follow(plane, block(PAGE, "rebalancing-ends").strip() + " --wait=false")


def test_it_may_call_what_the_extender_may():
    """Names and API servers, wherever these listen."""
    ports = []
    for path in ("descheduler/descheduler.yaml", "base/network-policy.yaml"):
        *_, last = yaml.safe_load_all((TOP / "deploy" / path).read_text("utf-8"))
        ports.append(last["spec"]["egress"][0]["ports"])
    assert ports[0] == ports[1]


def shipped(name):
    """The first object of a file of deploy/descheduler."""
    return next(yaml.safe_load_all((TOP / "deploy/descheduler" / name).read_text("utf-8")))


def quick_policy(url):
    """The policy of deploy/descheduler, for the windows of seconds."""
    policy = shipped("policy.yaml")
    policy["metricsProviders"][0]["prometheus"]["url"] = url
    for profile in policy["profiles"]:
        evictor, plugin = (row["args"] for row in profile["pluginConfig"])
        evictor["minPodAge"] = "1s"
        query = plugin["metricsUtilization"]["prometheus"]
        query["query"] = query["query"].replace("_5m", "_5s")
    return policy


@pytest.fixture
def start_descheduler(plane, plimsoll, run, log_dir):
    def start(url):
        token = plimsoll.path("descheduler.token")
        with open(token, "w", encoding="utf-8") as file:
            file.write(plane.kubectl("create", "token", ACCOUNT, f"--namespace={SPACE}"))
        policy = plimsoll.write_policy(quick_policy(url), "descheduler.yaml")
        with open(plane.authority.cert, encoding="utf-8") as file:
            authority = file.read()
        (container,) = shipped("descheduler.yaml")["spec"]["template"]["spec"]["containers"]
        flags = dict(flag.split("=") for flag in container["args"]) | {
            "--client-connection-kubeconfig": plane.write_kubeconfig(ACCOUNT, token_file=token),
            "--policy-config-file": policy,
            "--descheduling-interval": f"{CYCLE_S}s",
            "--bind-address": plane.address,
        }
        return run(
            [
                *("env", f"CA={authority}", "unshare", "--mount", "bash", "-euc", WITH_CA, "ca"),
                build.program("descheduler"),
                *(f"{flag}={value}" for flag, value in flags.items()),
            ],
            "descheduler",
        )

    return start


def usage(controller):
    """{node: ratio} as the controller answers it."""
    body = urllib.parse.urlencode({"query": CPU}).encode()
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = fetch(f"{controller.url}/api/v1/query", "POST", body, kind)
    rows = answer.json()["data"]["result"] if answer.status == 200 else []
    return {row["metric"]["instance"]: float(row["value"][1]) for row in rows}


def cycles(descheduler):
    return descheduler.text().count('"Number of evictions/requests"')


def wait_cycles(descheduler, count):
    wanted = cycles(descheduler) + count
    wait_until(lambda: cycles(descheduler) >= wanted, 60 + count * CYCLE_S, f"{count} cycles")


def test_limits_and_address_are_ours():
    ours = yaml.safe_load((TOP / "policy/policy.yaml").read_text("utf-8"))["spec"]
    limits = {row["name"]: 100 * row["maxLimitPecent"] for row in ours["predicate"]}
    found = {}
    for profile in shipped("policy.yaml")["profiles"]:
        (args,) = (
            row["args"] for row in profile["pluginConfig"] if row["name"] == "LowNodeUtilization"
        )
        query = args["metricsUtilization"]["prometheus"]["query"]
        found[query] = args["targetThresholds"]["MetricResource"]
    assert found == limits
    service = shipped("query.yaml")
    name, space = service["metadata"]["name"], service["metadata"]["namespace"]
    (port,) = service["spec"]["ports"]
    url = shipped("policy.yaml")["metricsProviders"][0]["prometheus"]["url"]
    assert url == f"http://{name}.{space}:{port['port']}"


@pytest.mark.timeout(300)
def test_hot_nodes_lose_pods_and_others_get_them(
    plane, fleet, namespace, plimsoll, scheduler, installed, start_descheduler, figure
):
    policy = plimsoll.write_policy(fast_policy(hot_value=False, limit=0.8))
    controller = plimsoll.controller(
        policy,
        None,
        f"--target-url-template={exporter_template(plane)}",
        f"--node-selector=!{BLIND}",
    )
    extender = plimsoll.extender(policy)
    scheduler(extenders=[plimsoll.scheduler_entry(extender)])
    hot = fleet.add(2, name="hot")
    pod = pod_object("web-0")
    pod["metadata"]["annotations"] = {"e2e/cpu": "1"}
    namespace.create_deployment("web", REPLICAS, pod)
    before = namespace.wait_bound(REPLICAS, app="web")
    hot = [node for node, count in collections.Counter(before.values()).items() if count > MOST]
    # One that no budget lets go.
    pod = pod_object("kept-0", nodeName=hot[0])
    namespace.create_deployment("kept", 2, pod)
    plane.kubectl(
        "create", "poddisruptionbudget", "kept", "--selector=app=kept", "--min-available=2",
        f"--namespace={namespace.name}",
    )  # fmt: skip
    kept = set(namespace.wait_bound(2, app="kept"))
    cool = fleet.add(3, name="cool")
    blind = fleet.add(1, name="blind", labels={BLIND: ""})
    wait_until(
        lambda: {node: ratio > 0.8 for node, ratio in usage(controller).items() if node in hot + cool}
        == {node: node in hot for node in hot + cool},
        60,
        "the controller to tell hot nodes from others",
    )  # fmt: skip

    descheduler = start_descheduler(controller.url)
    # While one node has no value, nothing is done.
    descheduler.wait_log(f"unable to find metric entry for {blind[0]}", 60)
    wait_cycles(descheduler, 2)
    assert placed(namespace.pods("web")) == before
    fleet.remove(blind)

    wait_until(
        lambda: max(collections.Counter(placed(namespace.pods("web")).values()).values()) <= MOST
        and max(usage(controller).values()) < 0.8,
        60 + 10 * CYCLE_S,
        "every node to be below the limit",
    )
    # A cycle may be under way that began before.
    wait_cycles(descheduler, 1)
    after = namespace.wait_bound(REPLICAS, app="web")
    wait_cycles(descheduler, QUIET_CYCLES)
    assert placed(namespace.pods("web")) == after, "pods that move although no node is hot"
    gone, came = before.keys() - after.keys(), after.keys() - before.keys()
    assert gone and {before[name] for name in gone} <= set(hot)
    assert {after[name] for name in came} <= set(cool)
    assert set(placed(namespace.pods("kept"))) == kept
    assert "forbidden" not in descheduler.text()
    figure(
        f"{len(gone)} of {REPLICAS} pods evicted from {len(hot)} hot nodes within "
        f"{cycles(descheduler)} cycles of {CYCLE_S} s, none in the last {QUIET_CYCLES}"
    )
