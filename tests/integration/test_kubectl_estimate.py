"""What an extender says on /nodes and /explain, and the verbs that ask it."""

import concurrent.futures
import copy
import json
import random
import re
import subprocess
import time
import uuid

import pytest
import yaml

from extender_kit import POD, Connection, annotate, policy
from harness import wait_until
from pages import TOP, block, run_commands
from paper_cluster import EXTENDERS, POLICY_PATH, SYSTEM
from policies import CPU, MEM, ago, node_names, write_policy
from terminal import on_terminal

NODES = node_names(12)
PODS = f"{SYSTEM}/pods"
ESTIMATE = policy(limits={CPU: 0.8}, weights={CPU: 1, MEM: 0.5}, scoring="estimate")
ABSOLUTE = policy(limits={CPU: 0.8}, weights={CPU: 1})
WEB = "/api/v1/namespaces/shop/pods/web-0"


def proxy(page, name=EXTENDERS[0]):
    return f"{PODS}/{name}:8010/proxy/{page}"


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
def cluster(cluster, source, extender):
    cluster.follow(source, extender)
    cluster.objects[POLICY_PATH] = {**ESTIMATE, "metadata": {"name": "default"}}
    cluster.objects[WEB] = web()
    return cluster


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


def scores(shown):
    return {row["node"]: row["score"] for row in shown["nodes"]}


def told(extender):
    return json.loads(extender.page_of_now("/nodes").text)


def between_steps(extender, look):
    """What `look()` finds while the factors of the cluster stay: they move every 15 s."""

    def check():
        before = told(extender)["expected"]
        found = look()
        assert before == told(extender)["expected"]
        return found

    return wait_until(check, 120, "an estimate that stays")


def test_scores_are_the_extenders_next_answers(extender, source, cluster, plimsoll, tmp_path):
    path = str(tmp_path / "other.yaml")
    other = policy(limits={CPU: 0.6}, weights={CPU: 0.4, MEM: 1}, scoring="estimate")
    write_policy(path, other)
    seen = set()

    def ask(*words):
        return json.loads(plimsoll(*words, "-ojson", status=None).stdout)

    for number in range(3):
        source.add_pods(10, prefix=f"round-{number}-", nodes=NODES[number::3], phase="Running")
        wait_until(
            lambda: extender.metric("plimsoll_extender_pods") == 10 * number + 10, what="the pods"
        )
        load(source)
        readings = source.get(f"/api/v1/nodes/{NODES[-1]}")["metadata"]["annotations"][CPU]

        def is_read():
            last = {row["node"]: row for row in told(extender)["nodes"]}[NODES[-1]]
            return f"{last['metrics'][CPU]['value']:.5f}" == readings.split(",")[0]

        wait_until(is_read, what="the last reading")

        def look():
            told(extender)
            found = ask("top"), ask("explain", "nodes"), ask("simulate", "-f", path)
            return *found, answers(extender, without_uid(anything()))

        def look_for_pod():
            return ask("explain", "pod", "shop/web-0"), answers(extender, without_uid(web()))

        top, explained, simulated, wanted = between_steps(extender, look)
        assert scores(top) == wanted == scores(explained)
        assert {row["node"]: row["score"] for row in simulated["inForce"]["nodes"]} == wanted
        of_pod, wanted = between_steps(extender, look_for_pod)
        assert scores(of_pod["explanation"]) == wanted
        seen |= set(wanted.values())
    assert None in seen and len(seen) >= 5, "scores that differ"

    def follow():
        put_in_force(extender, ESTIMATE)
        simulated = ask("simulate", "-f", path)
        put_in_force(extender, other)
        return simulated, answers(extender, without_uid(anything()))

    simulated, wanted = between_steps(extender, follow)
    assert {row["node"]: row["score"] for row in simulated["simulated"]["nodes"]} == wanted


def put_in_force(extender, content):
    """And wait until answers are by it."""
    before = told(extender)["policy"]["generation"]
    write_policy(extender.policy_path, content)
    extender.reload()
    wait_until(lambda: told(extender)["policy"]["generation"] > before, what="the policy")


def every_page(content):
    return lambda cluster: cluster.objects.update(
        {proxy(page): content for page in ("nodes", "explain")}
    )


@pytest.mark.parametrize(
    "fault, why",
    [
        (every_page(404), "404 "),
        (every_page(403), "403 "),
        (every_page("[1]"), "the answer is not a JSON object"),
        (every_page({}), "answers in version 0, and this plugin knows version 1: install "),
        (every_page({"version": 2}), "answers in version 2, "),
        (lambda cluster: cluster.objects.update({PODS: []}), "no pod of plimsoll-extender runs"),
        (lambda cluster: cluster.objects.update({PODS: 403}), f"GET {PODS}"),
    ],
)
def test_no_extender_tells(cluster, plimsoll, tmp_path, fault, why):
    fault(cluster)
    write_policy(str(tmp_path / "new.yaml"), ABSOLUTE)
    for words in ("top", "explain nodes", "simulate -f new.yaml", "rebalance"):
        said = plimsoll(*words.split(), status=2)
        assert why in said and said.count("\n") == 1 and ".yaml" not in said, said


def test_an_extender_by_its_address(extender, plimsoll):
    """Not by the API server, of which nothing is needed then."""
    nowhere = {"HOME": "/proc/none", "KUBECONFIG": ""}
    words = ("explain", "nodes", "-o", "json", f"--extender={extender.url}/")
    answer = json.loads(plimsoll(*words, env=nowhere))
    assert [row["node"] for row in answer["nodes"]] == list(NODES)
    for url in ("", "nowhere", "file:///etc/passwd", "ftp://127.0.0.1:9", "http://", "http://a b"):
        said = plimsoll("top", f"--extender={url}", env=nowhere, status=2)
        assert said.startswith("kubectl plimsoll top: --extender: server"), said
    said = plimsoll("top", "--extender=http://127.0.0.1:9", env=nowhere, status=2)
    assert said.endswith("are host and port right?\n"), said


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
    cluster.follow(standin, extender)
    commands = block("docs/kubectl/top.md", "top")
    run_commands(commands, f"-s {cluster.url}", cwd=tmp_path)
    argv = [binary("kubectl-plimsoll"), "top", "-s", cluster.url]
    env = {"NO_COLOR": "1", "KUBECONFIG": "/none"}
    shown = on_terminal(argv, 111, env=env, cwd=tmp_path).replace("\r\n", "\n")
    picture = block("docs/kubectl/top.md", "top-picture")

    def timeless(text):
        return re.sub(r"at 20\S+Z", "at TIME", re.sub(r" +\d+s", " AGE", text))

    assert timeless(shown) == timeless(picture)


# ---- The pages.


def test_the_page(extender, source):
    source.add_pods(3, nodes=NODES[:1], phase="Running")
    wait_until(lambda: extender.metric("plimsoll_extender_pods") == 3, what="the pods")
    first = extender.page_of_now("/nodes")
    assert first.headers["Content-Type"] == "application/json"
    assert extender.page("/nodes").text == first.text, "it is rendered once a second"
    page = json.loads(first.text)
    assert page["version"] == 1 and page["policy"]["scoring"] == "estimate"
    node = page["nodes"][0]
    assert node["node"] == NODES[0] and node["pods"] == 3
    assert node["capacity"]["cpu"] == 10
    assert node["requested"]["cpu"] == pytest.approx(0.3, abs=1e-6)
    before = [row["estimate"]["cpu"]["reserved"] for row in page["nodes"]]
    answers(extender, web())
    after = told(extender)
    assert sum(row["estimate"]["cpu"]["reserved"] for row in after["nodes"]) > sum(before) == 0
    assert extender.call("POST", "/nodes").status == extender.call("GET", "/explain").status == 405


def test_without_the_pages(start_extender, source):
    hidden = start_extender(source, "--status-page=false", content=ESTIMATE)
    hidden.wait_ready()
    assert hidden.page("/nodes").status == hidden.call("POST", "/explain", {}).status == 404
    shown = start_extender(source, content=ABSOLUTE)
    shown.wait_ready()
    page = told(shown)
    assert page["policy"]["scoring"] == "absolute" and page["nodes"][0]["pods"] is None


def keys(value):
    """What a document is made of, except for lists' lengths and what is null."""
    if isinstance(value, dict):
        return {key: keys(item) for key, item in value.items()}
    return keys(value[0]) if isinstance(value, list) and value else None


def test_the_pages_in_the_docs(extender, source):
    """Their keys are the pages'."""
    assert keys(json.loads(block("extender/README.md", "nodes"))) == keys(told(extender))
    asked = json.loads(block("extender/README.md", "explain-request"))
    asked["nodes"][0]["metadata"]["annotations"] = {CPU: f"0.10000,{ago(2)}"}
    answer = extender.call("POST", "/explain", asked)
    assert answer.status == 200, answer.text
    named = {"at", "version", "policy", "expected", "pods", "nodes"}
    assert named <= set(json.loads(answer.text))


def test_the_pages_with_curl(extender):
    """As the page says it."""
    commands = block("extender/README.md", "curl").replace(":8010", f":{extender.port}")
    argv = ["bash", "-euc", f"export no_proxy=127.0.0.1; {commands}"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=True)
    decoder, text, pages = json.JSONDecoder(), done.stdout.strip(), []
    while text:
        page, end = decoder.raw_decode(text)
        pages.append(page)
        text = text[end:].strip()
    assert len(pages) == 2 and {page["version"] for page in pages} == {1}
    for page in pages:
        assert [row["node"] for row in page["nodes"]] == NODES


# ---- POST /explain.


def explain(extender, body, status=200):
    answer = extender.call("POST", "/explain", body)
    assert answer.status == status, answer.text
    return json.loads(answer.text)


def test_nodes_of_the_request(extender, source):
    """Their readings count, by another policy, at another time; and only some are told of."""
    text = json.dumps(policy(limits={CPU: 0.5}, weights={CPU: 1}))
    at = "2026-07-23T12:00:00Z"
    nodes = [
        {"metadata": {"name": name, "annotations": {CPU: f"{cpu},{at}"}}}
        for name, cpu in (("a", 0.25), ("b", 0.75), ("c", "much"))
    ]
    nodes[0]["spec"] = {"unschedulable": True}
    body = {"nodes": nodes, "policy": text, "at": at}
    rows = {row["node"]: row for row in explain(extender, body)["nodes"]}
    assert (rows["a"]["closedBy"], rows["a"]["score"]) == ("cordoned", None)
    assert rows["b"]["rejectedBy"] == CPU and rows["b"]["predicates"][0]["value"] == 0.75
    assert rows["c"]["score"] == 0 and rows["c"]["predicates"][0]["state"] == "malformed"
    pod = explain(extender, {**body, "pod": web(), "select": ["a"], "terms": False})
    (row,) = pod["nodes"]
    assert (row["closedBy"], row["score"]) == (None, 8), "the pod may tolerate it"
    assert "predicates" not in row
    (row,) = explain(extender, {"nodes": nodes[1:2], "at": at})["nodes"]
    assert row["estimate"]["cpu"]["inFlight"] == 0, "whatever runs now"
    assert told(extender)["policy"]["generation"] == 1 and len(told(extender)["nodes"]) == 12


@pytest.mark.parametrize(
    "body, status, why",
    [
        ([], 400, "expected an object in JSON"),
        ({"nodes": [{}]}, 400, "nodes[0]: no metadata.name: not a Node"),
        ({"nodes": [{"a": 10**400}]}, 400, "nodes[0]: "),
        ({"nodes": [{"a": "a" * (2 << 20)}]}, 400, "nodes[0]: expected at most 2 MiB"),
        ({"nodes": [{"metadata": {"name": "a"}}] * 2}, 400, "nodes[1]: metadata.name 'a' is a dup"),
        ({"nodes": [], "policy": "kind: Pod"}, 400, "policy: "),
        ({"select": ["nobody"]}, 404, "there is no node 'nobody'"),
        ({"select": ["a" * 999]}, 404, f"there is no node '{'a' * 64}'"),
        ({"select": [3]}, 400, "select[0]: expected a name"),
    ],
)
def test_refused_requests(extender, body, status, why):
    assert explain(extender, body, status)["error"].startswith(why)
    assert len(explain(extender, {})["nodes"]) == len(NODES), "the next one is answered"


def test_requests_that_are_too_large(extender):
    """By their bytes, or by their nodes."""
    told = explain(extender, b" " * (64 << 20) + b"{}", 413)
    assert told["error"] == "the request is larger than 64 MiB"
    many = [{"metadata": {"name": f"n{number}"}} for number in range(20001)]
    told = explain(extender, {"nodes": many}, 413)
    assert told["error"] == "nodes[20000]: expected at most 20000 nodes"


def test_an_answer_that_would_be_too_large(start_extender, source):
    """Of the program as users have it: a sanitizer takes most of the time that an answer may."""
    extender = start_extender(source, content=ESTIMATE, build="release")
    extender.wait_ready(r"(?m)pods: 0 pods$")
    told = explain(extender, {"select": NODES * 40000, "terms": False}, 413)
    assert told["error"] == "the answer is larger than 64 MiB: select fewer nodes"


def test_one_at_a_time(extender):
    """One that takes long ends in time, and until then others are told to come again."""
    dense = "{}," * 690000
    nodes = (f'{{"metadata":{{"name":"n{i}"}},"dense":[{dense}{{}}]}}' for i in range(31))
    body = f'{{"nodes":[{",".join(nodes)}]}}'.encode()
    began = time.monotonic()
    with (
        Connection(extender.port) as slow,
        Connection(extender.port) as other,
        concurrent.futures.ThreadPoolExecutor(1) as pool,
    ):
        answered = pool.submit(until_accepted, slow, body)
        refused = wait_until(lambda: refusal(other), what="a refusal")
        answer = answered.result()
    assert refused.headers["retry-after"] == "1"
    assert json.loads(refused.body)["error"] == "another explanation is under way"
    if answer.status == 200:
        assert time.monotonic() - began < 10, "the machine is fast"
    else:
        assert answer.status == 503 and b"takes longer than 5 s" in answer.body
    assert len(explain(extender, {})["nodes"]) == len(NODES), "the next one is answered"


def until_accepted(connection, body):
    """One of the short requests may be the one that is answered just then."""
    while (answer := connection.call("/explain", body)).status == 429:
        pass
    return answer


def refusal(connection):
    answer = connection.call("/explain", b"{}")
    return answer if answer.status == 429 else None
