"""The policy as an object of the cluster: put in force, replaced, refused, deleted, with its status,
which the leader alone writes: true whatever happened to the object, and without harm to what others
write there."""

import pytest
import yaml

from harness import Pages, fetch, wait_until
from policies import CPU, policy_object

PATH = "/apis/scheduler.policy.crane.io/v1alpha1/dynamicschedulerpolicies"
FLAGS = {
    "plimsoll-controller": ["--health-port=0", "--scrape-interval=1s"],
    "plimsoll-extender": ["--port=0"],
}


def policy(limit, period="3m", name="default"):
    return policy_object({CPU: period}, {CPU: limit}, name=name)


class Program(Pages):
    def __init__(self, run, binary, name, standin, *more):
        argv = [binary(name), f"--kubeconfig={standin.kubeconfig}", *FLAGS[name], *more]
        self.process = run(argv, name)
        self.url = f"http://127.0.0.1:{self.process.wait_port()}"

    def told(self):
        return self.ready()[1]


@pytest.fixture
def cluster(start_standin):
    return start_standin("--nodes", 2)


def apply(standin, obj):
    path = f"{PATH}/{obj['metadata']['name']}"
    if standin.call("GET", path).status == 404:
        assert standin.call("POST", PATH, obj).status == 201
    else:
        assert standin.patch(path, obj).status == 200


def condition(standin):
    status = standin.get(f"{PATH}/default").get("status", {})
    return next((c for c in status.get("conditions", []) if c["type"] == "InForce"), {}), status


@pytest.mark.parametrize("name", FLAGS)
def test_it_is_put_in_force_and_replaced(run, binary, cluster, name):
    program = Program(run, binary, name, cluster)
    built_in = "[+] policy: the built-in policy, 4 metrics, generation 1"
    wait_until(lambda: built_in in program.told(), what="the list without an object")
    apply(cluster, policy(0.5))
    wait_until(lambda: program.metric("plimsoll_policy_generation") == 2, what="the object")
    assert "DynamicSchedulerPolicy default, 1 metric, generation 2" in program.told()
    apply(cluster, policy(0.6))
    wait_until(lambda: program.metric("plimsoll_policy_generation") == 3, what="the change")
    # One of another name is nobody's business.
    apply(cluster, policy(0.7, name="other"))
    # A bad one leaves the old one in force and says why.
    apply(cluster, policy(-1))
    wait_until(lambda: program.metric("plimsoll_policy_failed") == 1, what="the refusal")
    assert program.metric("plimsoll_policy_generation") == 3
    assert "spec.predicate[0].maxLimitPecent" in program.told()
    apply(cluster, policy(0.6))
    wait_until(lambda: program.metric("plimsoll_policy_failed") == 0, what="the mending")
    # Deleting it keeps the last good one, and says so.
    assert program.metric("plimsoll_policy_object_deleted") == 0
    assert cluster.call("DELETE", f"{PATH}/default").status == 200
    wait_until(lambda: "was deleted" in program.told(), what="the deletion to be told")
    wait_until(lambda: program.metric("plimsoll_policy_object_deleted") == 1, what="the metric")
    assert program.metric("plimsoll_policy_generation") == 4


def test_the_extender_judges_by_it(run, binary, cluster):
    cluster.patch(
        "/api/v1/nodes/node-0000",
        {"metadata": {"annotations": {"cpu_usage_avg_5m": "0.55,2999-01-01T00:00:00Z"}}},
    )
    extender = Program(run, binary, "plimsoll-extender", cluster)

    def passing():
        body = {"Pod": {"metadata": {"name": "p"}}, "Nodes": None, "NodeNames": ["node-0000"]}
        return fetch(extender.url + "/filter", "POST", body).json()["NodeNames"]

    apply(cluster, policy(0.5))
    wait_until(lambda: passing() == [], what="the limit of 50%")
    apply(cluster, policy(0.6))
    wait_until(lambda: passing() == ["node-0000"], what="the limit of 60%")


def test_the_controller_writes_its_status(run, binary, cluster):
    apply(cluster, policy(0.5))
    Program(run, binary, "plimsoll-controller", cluster)
    wait_until(lambda: condition(cluster)[0].get("status") == "True", what="the condition")
    good, status = condition(cluster)
    assert status["metrics"] == 1
    assert good["reason"] == "Loaded"
    apply(cluster, policy("half"))
    wait_until(lambda: condition(cluster)[0].get("status") == "False", what="the refusal")
    bad, _ = condition(cluster)
    assert bad["reason"] == "Refused"
    assert "spec.predicate[0].maxLimitPecent: expected" in bad["message"]
    apply(cluster, policy(0.5))
    wait_until(lambda: condition(cluster)[0].get("status") == "True", what="the mending")
    apply(cluster, policy(0.6))
    generation = cluster.get(f"{PATH}/default")["metadata"]["generation"]
    wait_until(lambda: condition(cluster)[1]["observedGeneration"] == generation, what="the change")
    # Having written, it rests: its own writing is no reason to write again.
    agent = {"user_agent": "plimsoll-controller"}
    assert cluster.count(verb="patch", resource="dynamicschedulerpolicies", **agent) == 4


def test_a_misspelt_metric_is_told(run, binary, cluster):
    """It is valid, since a source may provide it; but it switches a limit off, so nobody is left to find out."""
    warning = (
        "1 warning: spec.syncPolicy[0]: cpu_usage_avg5m is not a "
        "<resource>_usage_<statistic>_<window> (did you mean cpu_usage_avg_5m?)"
    )
    apply(
        cluster, policy_object({"cpu_usage_avg5m": "3m"}, {"cpu_usage_avg5m": 0.8}, name="default")
    )
    for name in FLAGS:
        program = Program(run, binary, name, cluster)
        wait_until(lambda: warning in program.told(), what=f"{name} to tell of it")
    wait_until(lambda: condition(cluster)[0].get("status") == "True", what="the condition")
    assert condition(cluster)[0]["message"] == f"policy is valid, {warning}"
    # Fixed, it is as if it had never been.
    apply(cluster, policy(0.8))
    wait_until(lambda: condition(cluster)[0]["message"] == "policy is valid", what="the mending")
    wait_until(lambda: "warning" not in program.told(), what="the end of the warning")


@pytest.mark.parametrize("name", FLAGS)
def test_a_file_wins(run, binary, cluster, tmp_path, name):
    path = tmp_path / "policy.yaml"
    path.write_text(yaml.safe_dump(policy(0.5)))
    apply(cluster, policy(0.9))
    program = Program(run, binary, name, cluster, f"--policy-config-path={path}")
    wait_until(lambda: cluster.count(resource="nodes", verb="list") > 0, what="the first list")
    assert str(path) in program.told()
    assert cluster.count(resource="dynamicschedulerpolicies", verb="list") == 0


def test_without_the_custom_resource(run, binary, standin):
    """A cluster that never heard of policies: the built-in one, said once, and nothing is held up."""
    standin.add_nodes(1)
    absent = {"status": 404, "plain": True, "message": "404 page not found\n", "count": -1}
    standin.fault("status", resource="dynamicschedulerpolicies", **absent)
    programs = {name: Program(run, binary, name, standin) for name in FLAGS}
    for name, program in programs.items():
        for known in ("[+] nodes: ", "[+] policy: the built-in policy"):
            wait_until(lambda p=program, k=known: k in p.told(), what=known)
        wait_until(lambda: standin.count(code=404, user_agent=name) >= 2, what="another look")
        assert program.process.stderr().count(" resource=dynamicschedulerpolicies") == 1


def test_conditions_of_others_stay(run, binary, cluster):
    """Another writes one after the controller has looked, and before its own arrives."""
    theirs = {
        "type": "Reviewed",
        "status": "True",
        "reason": "Fine",
        "message": "by a colleague",
        "lastTransitionTime": "2026-07-23T11:25:54Z",
    }
    Program(run, binary, "plimsoll-controller", cluster)
    late = cluster.fault(
        "delay",
        seconds=2,
        verb="patch",
        resource="dynamicschedulerpolicies",
        user_agent="plimsoll-controller",
    )
    apply(cluster, policy(0.5))
    wait_until(lambda: cluster.faults()[late]["hits"] == 1, what="the controller's status")
    answer = cluster.patch(f"{PATH}/default/status", {"status": {"conditions": [theirs]}})
    assert answer.status == 200, answer.text
    wait_until(lambda: condition(cluster)[0].get("status") == "True", what="the status")
    # Not even for a moment was it gone.
    for patch in cluster.patches(name="default"):
        if patch["code"] == 200 and patch["user_agent"].startswith("plimsoll-controller"):
            assert theirs in patch["body"]["status"]["conditions"]
    assert theirs in condition(cluster)[1]["conditions"]


@pytest.mark.parametrize("name", FLAGS)
def test_a_broken_object_that_is_deleted(run, binary, cluster, name):
    """It never was in force: with it goes the trouble, and nothing of it stays."""
    program = Program(run, binary, name, cluster)
    apply(cluster, policy(-1))
    wait_until(lambda: program.metric("plimsoll_policy_failed") == 1, what="the refusal")
    assert cluster.call("DELETE", f"{PATH}/default").status == 200
    wait_until(lambda: program.metric("plimsoll_policy_failed") == 0, what="the end of the trouble")
    assert program.metric("plimsoll_policy_generation") == 1
    assert "[+] policy: the built-in policy, 4 metrics, generation 1" in program.told()
    assert "its policy stays" not in program.process.stderr()
