"""What an extender's estimate knows, its page /estimate, and the tools that use it."""

import copy
import json
import random
import re
import uuid

import pytest
import yaml

from extender_kit import POD, annotate, policy
from harness import wait_until
from pages import TOP, block, run_commands
from paper_cluster import DEPLOYMENTS, EXTENDERS, POLICY_PATH, SYSTEM
from policies import CPU, MEM, ago, node_names, write_policy
from terminal import on_terminal

NODES = node_names(12)
PODS = f"{SYSTEM}/pods"
ESTIMATE = policy(limits={CPU: 0.8}, weights={CPU: 1, MEM: 0.5}, scoring="estimate")
ABSOLUTE = policy(limits={CPU: 0.8}, weights={CPU: 1})
WEB = "/api/v1/namespaces/shop/pods/web-0"


def proxy(name, scheme=""):
    return f"{PODS}/{scheme}{name}:8010/proxy/estimate"


def in_force(content):
    return {**content, "metadata": {"name": "default"}}


@pytest.fixture
def source(start_standin):
    """Nodes of 10 CPUs, read at random loads."""
    standin = start_standin()
    standin.admin("nodes", {"names": NODES, "cpus": 10, "memory_gib": 100})
    standin.random = random.Random(3)
    load(standin)
    return standin


def load(standin):
    for name in NODES:
        cpu, mem = standin.random.uniform(0, 0.85), standin.random.uniform(0, 0.5)
        annotate(standin, name, cpu, **{MEM: f"{mem:.5f}"})


@pytest.fixture
def extender(start_extender, source):
    found = start_extender(source, content=ESTIMATE)
    found.wait_ready(r"(?m)pods: 0 pods$")
    return found


@pytest.fixture
def tell(cluster, extender, source):
    """Puts the nodes as they are, and what the extender knows of them, into the cluster on paper."""

    def call(content=ESTIMATE):
        answer = extender.page_of_now("/estimate")
        assert answer.status == 200, answer.text
        cluster.objects["/api/v1/nodes"] = source.get("/api/v1/nodes")["items"]
        cluster.objects["/api/v1/pods"] = source.get("/api/v1/pods")["items"]
        cluster.objects[POLICY_PATH] = in_force(content)
        cluster.objects[proxy(EXTENDERS[0])] = json.loads(answer.text)
        return cluster.objects[proxy(EXTENDERS[0])]

    cluster.objects[WEB] = web()
    return call


def web():
    """A pod that waits, of a workload."""
    pod = copy.deepcopy(POD)
    pod["metadata"].update(name="web-0", namespace="shop", uid=str(uuid.uuid4()))
    return pod


def anything():
    pod = web()
    pod["metadata"].pop("ownerReferences")
    pod["spec"]["containers"][0]["resources"] = {}
    return pod


def answers(extender, pod):
    """{node: its score, or None}"""
    with extender.scheduler() as scheduler:
        passing, _ = scheduler.filter(NODES, pod)
        return {**dict.fromkeys(NODES), **scheduler.prioritize(passing, pod)}


def without_uid(pod):
    """Nothing is reserved for it: one answer does not change the next."""
    pod["metadata"].pop("uid")
    return pod


def scores(rows):
    return {row["node"]: row["score"] for row in rows}


def estimate(extender):
    return json.loads(extender.page_of_now("/estimate").text)


def between_steps(extender, look):
    """What `look()` finds while the factors of the cluster stay: they move every 15 s."""

    def check():
        before = estimate(extender)["cluster"]
        found = look()
        assert before == estimate(extender)["cluster"]
        return found

    return wait_until(check, 120, "an estimate that stays")


def test_scores_are_the_extenders_next_answers(extender, source, tell, plimsoll, tmp_path):
    path = str(tmp_path / "other.yaml")
    other = policy(limits={CPU: 0.6}, weights={CPU: 0.4, MEM: 1}, scoring="estimate")
    write_policy(path, other)
    seen = set()

    def simulate(path):
        return json.loads(plimsoll("simulate", "-f", path, "-ojson", status=None).stdout)

    for number in range(4):
        source.add_pods(10, prefix=f"round-{number}-", nodes=NODES[number::3], phase="Running")
        wait_until(
            lambda: extender.metric("plimsoll_extender_pods") == 10 * number + 10, what="the pods"
        )
        load(source)
        readings = source.get(f"/api/v1/nodes/{NODES[-1]}")["metadata"]["annotations"][CPU]

        def is_read():
            told = json.loads(extender.page_of_now("/estimate").text)["nodes"][-1]
            return f"{told['cpu']['reading']:.5f}" == readings.split(",")[0]

        wait_until(is_read, what="the last reading")

        def look():
            tell()
            top = json.loads(plimsoll("top", "-ojson"))
            explained = json.loads(plimsoll("explain", "nodes", "-ojson"))
            return top, explained, simulate(path), answers(extender, without_uid(anything()))

        def look_for_pod():
            tell()
            of_pod = json.loads(plimsoll("explain", "pod", "shop/web-0", "-ojson"))
            return of_pod, answers(extender, without_uid(web()))

        top, explained, simulated, wanted = between_steps(extender, look)
        assert scores(top["nodes"]) == wanted == scores(explained)
        assert {row["node"]: row["before"]["score"] for row in simulated["nodes"]} == wanted
        of_pod, wanted = between_steps(extender, look_for_pod)
        assert scores(of_pod["nodes"]) == wanted
        assert of_pod["estimate"]["from"].startswith(EXTENDERS[0])
        seen |= set(wanted.values())
    assert None in seen and len(seen) >= 5, "scores that differ"

    def follow():
        put_in_force(extender, ESTIMATE)
        tell()
        simulated = simulate(path)
        put_in_force(extender, other)
        return simulated, answers(extender, without_uid(anything()))

    simulated, wanted = between_steps(extender, follow)
    assert {row["node"]: row["after"]["score"] for row in simulated["nodes"]} == wanted


def put_in_force(extender, content):
    """And wait until answers are by it."""
    before = estimate(extender)["policyGeneration"]
    write_policy(extender.policy_path, content)
    extender.reload()
    wait_until(lambda: estimate(extender)["policyGeneration"] > before, what="the policy")


def test_a_policy_that_begins_to_estimate(
    extender, source, tell, plimsoll, tmp_path, start_extender
):
    """Nobody has estimated yet: an extender begins with a look at all pods, and so does simulate."""
    begins = start_extender(source, content=ABSOLUTE)
    begins.wait_ready()
    source.add_pods(20, nodes=NODES[:7], phase="Running")
    tell(ABSOLUTE)
    write_policy(str(tmp_path / "new.yaml"), ESTIMATE)
    shown = json.loads(plimsoll("simulate", "-f", "new.yaml", "-ojson", status=None).stdout)
    assert shown["estimate"] == {"before": None, "after": {"from": None, "whyNot": None}}
    write_policy(begins.policy_path, ESTIMATE)
    begins.reload()
    begins.wait_ready(r"(?m)pods: 20 pods$")
    after = {row["node"]: row["after"]["score"] for row in shown["nodes"]}
    assert after == answers(begins, anything())


def mutual_tls(cluster):
    spec = cluster.objects[f"{DEPLOYMENTS}/plimsoll-extender"]["spec"]["template"]["spec"]
    for item in cluster.objects[PODS]:
        if item["metadata"]["name"] in EXTENDERS:
            item["spec"] = copy.deepcopy(spec)
            probe = {"tcpSocket": {"port": "extender"}}
            item["spec"]["containers"][0]["readinessProbe"] = probe
    for name in EXTENDERS:
        cluster.objects[proxy(name, "https:")] = 403


def every_page(content):
    return lambda cluster: cluster.objects.update({proxy(name): content for name in EXTENDERS})


def cut(cluster):
    every_page(json.dumps(cluster.objects[proxy(EXTENDERS[0])])[:-200])(cluster)


def odd(cluster):
    cluster.objects[proxy(EXTENDERS[0])]["nodes"][3]["cpu"]["usage"] = "much"


@pytest.mark.parametrize(
    "fault, why",
    [
        (every_page(404), "404 "),
        (every_page(403), "403 "),
        (every_page("[1]"), "the answer is not a JSON object"),
        (every_page({}), "scoring: expected a string"),
        (every_page({"scoring": "spread"}), "the policy of the extender has scoring: spread"),
        (cut, "GET "),
        (odd, "nodes[3].cpu.usage: expected a number from 0 to 1e+09"),
        (mutual_tls, "it answers only clients with a certificate"),
        (lambda cluster: cluster.objects.update({PODS: []}), "no pod of plimsoll-extender runs"),
        (lambda cluster: cluster.objects.update({PODS: 403}), f"GET {PODS}"),
    ],
)
def test_no_extender_tells(cluster, tell, plimsoll, tmp_path, fault, why):
    """No score, and why; verdicts stand."""
    tell()
    fault(cluster)
    write_policy(str(tmp_path / "new.yaml"), ABSOLUTE)
    lines = plimsoll("top").splitlines()
    rows = [line.split() for line in lines if line.startswith("node-")]
    assert len(rows) == len(NODES) and all(row[1] == "-" for row in rows)
    assert [line for line in lines if line.startswith("no scores: ") and why in line], lines
    shown = json.loads(plimsoll("top", "-ojson"))
    assert shown["estimate"]["from"] is None and why in shown["estimate"]["whyNot"]
    assert all(row["score"] is None and row["estimate"] is None for row in shown["nodes"])
    assert 0 < shown["summary"]["aboveLimit"] < len(NODES)
    explained = plimsoll("explain", "nodes")
    assert explained.startswith("no scores: ") and ": passes; no score\n" in explained
    assert "of 10" not in explained and f": rejected: {CPU} above 0.8\n" in explained
    simulated = plimsoll("simulate", "-f", "new.yaml", status=None).stdout
    assert "in force: no scores: " in simulated and why in simulated
    assert f"scores: 0 of {len(NODES)} nodes change, 0 change rank\n" in simulated
    simulated = json.loads(plimsoll("simulate", "-f", "new.yaml", "-ojson", status=None).stdout)
    assert all(
        row["before"]["score"] is row["before"]["rank"] is None for row in simulated["nodes"]
    )
    assert any(row["after"]["score"] for row in simulated["nodes"])


def test_the_page_of_top(cluster, start_standin, start_extender, plimsoll, tmp_path, binary):
    """Its commands run, and its picture is what they print of such nodes."""
    standin = start_standin("--nodes", 3)
    loads = ((0.21, 0.38, 42), (0.91, 0.60, 40), (0.35, 0.42, 1200))
    for number, (cpu, mem, age_s) in enumerate(loads):
        name = f"node-000{number}"
        annotate(standin, name, cpu, at=ago(age_s), **{MEM: f"{mem:.5f}"})
    content = yaml.safe_load((TOP / "policy" / "policy.yaml").read_text())
    extender = start_extender(standin, content=content)
    extender.wait_ready(r"(?m)pods: 0 pods$")
    cluster.objects["/api/v1/nodes"] = standin.get("/api/v1/nodes")["items"]
    cluster.objects["/api/v1/pods"] = []
    cluster.objects[proxy(EXTENDERS[0])] = json.loads(extender.page("/estimate").text)
    write_policy(tmp_path / "policy.yaml", content)
    commands = block("docs/kubectl/top.md", "top")
    run_commands(commands, f"-s {cluster.url}", cwd=tmp_path)
    argv = [binary("kubectl-plimsoll"), "top", "-f", "policy.yaml", "-s", cluster.url]
    env = {"NO_COLOR": "1", "KUBECONFIG": "/none"}
    shown = on_terminal(argv, 111, env=env, cwd=tmp_path).replace("\r\n", "\n")
    picture = block("docs/kubectl/top.md", "top-picture")

    def timeless(text):
        return re.sub(r"at 20\S+Z", "at TIME", re.sub(r" +\d+s", " AGE", text))

    assert timeless(shown) == timeless(picture)


# ---- The page.


def test_the_page(extender, source):
    source.add_pods(3, nodes=NODES[:1], phase="Running")
    wait_until(lambda: extender.metric("plimsoll_extender_pods") == 3, what="the pods")
    first = extender.page_of_now("/estimate")
    assert first.headers["Content-Type"] == "application/json"
    assert extender.page("/estimate").text == first.text, "it is rendered once a second"
    told = json.loads(first.text)
    assert told["scoring"] == "estimate" and told["policyGeneration"] == 1
    node = told["nodes"][0]
    assert node["node"] == NODES[0] and node["pods"] == 3
    assert node["cpu"]["capacity"] == 10 and node["cpu"]["metric"] == CPU
    assert node["cpu"]["requested"] == pytest.approx(0.03, abs=1e-6)
    assert node["cpu"]["inFlight"] == pytest.approx(
        node["cpu"]["usage"] - node["cpu"]["reading"], abs=1e-6
    )
    assert told["workloads"] == [], "none is measured"
    before = [row["cpu"]["reserved"] for row in told["nodes"]]
    answers(extender, web())
    after = json.loads(extender.page_of_now("/estimate").text)
    assert sum(row["cpu"]["reserved"] for row in after["nodes"]) > sum(before) == 0


def test_without_the_page(start_extender, source):
    hidden = start_extender(source, "--status-page=false", content=ESTIMATE)
    hidden.wait_ready()
    assert hidden.page("/estimate").status == 404
    shown = start_extender(source, content=ABSOLUTE)
    shown.wait_ready()
    told = json.loads(shown.page("/estimate").text)
    assert (told["scoring"], told["nodes"], told["workloads"]) == ("absolute", [], [])


def keys(value):
    """What a document is made of, except for lists' lengths and what is null."""
    if isinstance(value, dict):
        return {key: keys(item) for key, item in value.items()}
    return keys(value[0]) if isinstance(value, list) else None


def test_the_page_in_the_docs(extender, source, cluster, plimsoll):
    """Its keys are the page's, and it is read as one."""
    source.add_pods(3, nodes=NODES[:1], phase="Running")
    wait_until(lambda: extender.metric("plimsoll_extender_pods") == 3, what="the pods")
    shown = json.loads(block("docs/http-api.md", "estimate"))
    told = json.loads(extender.page_of_now("/estimate").text)
    assert keys(shown) == keys({**told, "workloads": shown["workloads"]})
    cpu = shown["nodes"][0]["cpu"]
    used = cpu["usage"] + cpu["margin"] + cpu["reserved"]
    assert shown["nodes"][0]["headroom"] == pytest.approx(100 * (1 - used), abs=0.01)
    cluster.objects[proxy(EXTENDERS[0])] = shown
    cluster.objects[POLICY_PATH] = in_force(policy(weights={CPU: 1}, scoring="estimate"))
    cluster.objects["/api/v1/nodes"] = [
        {
            "metadata": {"name": "node-a", "annotations": {CPU: f"0.10000,{ago(2)}"}},
            "status": {"capacity": {"cpu": "10", "memory": "50Gi"}},
        }
    ]
    (row,) = json.loads(plimsoll("top", "-ojson"))["nodes"]
    pod = 2 * 0.1 * shown["cluster"]["cpu"]["usageToRequest"] / 10
    assert row["estimate"]["headroom"] == pytest.approx(100 * (1 - used - pod), abs=0.01)
