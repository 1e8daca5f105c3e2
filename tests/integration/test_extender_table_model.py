"""The extender's table against the reference, step by step: whatever happens to nodes, pods, watches
and the policy, in any order, its answers are soon those of reference_policy.py.

Hypothesis chooses the steps, and finds a short sequence when one fails.
"""

import copy
import itertools
import time

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from hypothesis.stateful import run_state_machine_as_test

from harness import NIGHTLY, wait_until
from policies import API_VERSION, CPU, HOT, MEM, ago
from reference_policy import KIND, Policy, reply

NODES = [f"node-{i}" for i in range(5)]
ASKED = [*NODES, "stranger"]
HOT_VALUE = [{"timeRange": "1h", "count": 2}, {"timeRange": "30m", "count": 3}]
BATCH = {"labels": {"tier": "batch"}, "priorityBelow": 1000}


def limit(name, ratio, **more):
    return {"name": name, "maxLimitPecent": ratio, **more}


def weight(name, value, **more):
    return {"name": name, "weight": value, **more}


def policy(**more):
    spec = {
        "syncPolicy": [{"name": CPU, "period": "3h"}, {"name": MEM, "period": "3h"}],
        "predicate": [limit(CPU, 0.65)],
        "priority": [weight(CPU, 1), weight(MEM, 0.5)],
        **more,
    }
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": "default"},
        "spec": spec,
    }


# The first begins the watch of pods, which then goes on for good.
POLICIES = [
    policy(hotValue=HOT_VALUE),
    policy(predicate=[limit(CPU, 0.4), limit(MEM, 0.8)], priority=[weight(MEM, 1, target=0.5)]),
    policy(
        predicate=[limit(MEM, 0.5, overLimit="last"), limit(CPU, 0.9)],
        hotValue=HOT_VALUE[:1],
        extender={"scoring": "spread"},
    ),
    policy(
        pools=[
            {"nodeSelector": {"pool": "a"}, "predicate": [limit(CPU, 0.2)]},
            {"nodeSelector": {"pool": "b"}, "priority": [weight(CPU, 1, scale="relative")]},
        ],
    ),
    policy(
        predicate=[limit(CPU, 0.8, overLimit="last")],
        rules=[
            {"match": {"namespaces": ["kube-*"]}, "exempt": True},
            {"match": BATCH, "limits": [limit(CPU, 0.3), limit(MEM, 0.6, overLimit="last")]},
        ],
        hotValue=HOT_VALUE,
    ),
]


def pod(namespace, **labels):
    return {"metadata": {"name": "p", "namespace": namespace, "labels": labels}, "spec": {}}


PODS = [pod("default"), pod("kube-system"), pod("default", tier="batch")]

names = st.sampled_from(NODES)
numbers = st.sampled_from(["0", "0.2", "0.30001", "0.5", "0.65", "0.7", "0.95", "1.5"])
ages_s = st.sampled_from([0, 0, 0, 60, 4 * 3600])
odd_texts = st.sampled_from(["", "0.9", "nan,{}", "0.9,{}x", "-1,{}", "0.9, {}"])
pool_labels = st.sampled_from([None, "a", "b", "c"])


class Cluster(RuleBasedStateMachine):
    """The model: what is there. `peers` are the stand-in, the extender and its scheduler."""

    peers = None
    limit_s = 30
    examples = itertools.count()

    def __init__(self):
        super().__init__()
        self.standin, self.scheduler = self.peers
        self.example = next(self.examples)
        self.annotations, self.labels, self.bound = {}, {}, {}
        self.policy = POLICIES[0]
        self.pods = {name: [] for name in NODES}  # their prefixes
        self.pod_count = 0
        self.standin.admin("delete", {"resource": "nodes", "prefix": ""})
        self.standin.admin("delete", {"resource": "pods", "prefix": ""})

    def real(self, name):
        """Other nodes in each example: bindings to those of the last one may be seen late."""
        return f"{name}.{self.example}"

    def put(self, name):
        labels = {"pool": self.labels[name]} if self.labels[name] else {}
        annotations = self.annotations[name]
        metadata = {"name": self.real(name), "annotations": annotations, "labels": labels}
        self.standin.admin("objects", {"resource": "nodes", "object": {"metadata": metadata}})

    def patch(self, name, body):
        answer = self.standin.patch(f"/api/v1/nodes/{self.real(name)}", body)
        assert answer.status == (200 if name in self.annotations else 404), answer.text

    @initialize(chosen=st.sampled_from(POLICIES))
    def begin(self, chosen):
        for name in NODES[:3]:
            self.add(name, "0.5", None)
        self.swap_policy(chosen)

    @rule(name=names, number=numbers, label=pool_labels)
    def add(self, name, number, label):
        if name not in self.annotations:
            self.annotations[name] = {CPU: f"{number},{ago()}"}
            self.labels[name] = label
            self.bound[name] = 0
            self.put(name)

    @rule(name=names)
    def delete(self, name):
        if name in self.annotations:
            self.standin.admin("delete", {"resource": "nodes", "names": [self.real(name)]})
            for prefix in self.pods[name]:  # or they would be counted for the next of its name
                self.standin.admin("delete", {"resource": "pods", "prefix": prefix})
            self.pods[name] = []
            del self.annotations[name]

    def write(self, name, metric, text):
        if name in self.annotations:
            self.annotations[name][metric] = text
        self.patch(name, {"metadata": {"annotations": {metric: text}}})

    @rule(name=names, metric=st.sampled_from([CPU, MEM]), number=numbers, age_s=ages_s)
    def annotate(self, name, metric, number, age_s):
        self.write(name, metric, f"{number},{ago(age_s)}")

    @rule(name=names, metric=st.sampled_from([CPU, MEM]), text=odd_texts)
    def annotate_badly(self, name, metric, text):
        self.write(name, metric, text.format(ago()))

    @rule(name=names, metric=st.sampled_from([CPU, MEM]))
    def remove_annotation(self, name, metric):
        self.patch(name, {"metadata": {"annotations": {metric: None}}})
        self.annotations.get(name, {}).pop(metric, None)

    @rule(name=names, label=pool_labels)
    def label(self, name, label):
        self.labels[name] = label
        self.patch(name, {"metadata": {"labels": {"pool": label}}})

    @rule(name=names, is_cordoned=st.booleans())
    def cordon(self, name, is_cordoned):
        self.patch(name, {"spec": {"unschedulable": is_cordoned}})

    @rule(name=names, count=st.integers(1, 3))
    def bind(self, name, count):
        if name in self.annotations:
            prefix = f"p{self.pod_count}-"
            self.pod_count += 1
            self.pods[name].append(prefix)
            self.standin.add_pods(count, prefix=prefix, nodes=[self.real(name)])
            self.bound[name] += count

    @rule(resource=st.sampled_from(["nodes", "pods", None]), is_reset=st.booleans())
    def cut(self, resource, is_reset):
        body = {"resource": resource} if resource else {}
        self.standin.admin("watches/cut", {**body, "reset": is_reset})

    @rule(watches=st.sampled_from(["keep", "cut", "expire"]))
    def compact(self, watches):
        self.standin.admin("compact", {"watches": watches})

    @rule(chosen=st.sampled_from(POLICIES))
    def swap_policy(self, chosen):
        self.policy = chosen
        body = {"resource": "dynamicschedulerpolicies", "object": copy.deepcopy(chosen)}
        self.standin.admin("objects", body)

    def expected(self, pod, now_ms):
        policy = Policy(self.policy["spec"])
        nodes = {name: dict(values) for name, values in self.annotations.items()}
        for name, values in nodes.items():
            hot = policy.hot([now_ms] * self.bound[name], now_ms)
            values[HOT] = f"{hot},{ago()}"
        labels = {name: {"pool": label} for name, label in self.labels.items() if label}
        return reply(policy, nodes, ASKED, now_ms, pod, labels)

    @invariant()
    def agrees(self):
        asked = [self.real(name) for name in ASKED]

        def check():
            for pod in PODS:
                rejected, scores = self.expected(pod, int(time.time() * 1000))
                _, told = self.scheduler.filter(asked, pod)
                told = {name.split(".")[0]: reason.split()[0] for name, reason in told.items()}
                assert told == rejected, (pod, told, rejected)
                told = self.scheduler.prioritize(asked, pod)
                told = {name.split(".")[0]: score for name, score in told.items()}
                assert told == scores, (pod, told, scores)
            return True

        try:
            wait_until(check, self.limit_s, "the table to agree", poll_s=0.01)
        except AssertionError:
            type(self).limit_s = 2  # what failed once is made shorter by failing many times
            raise


@pytest.mark.timeout(3600 if NIGHTLY else 300)
def test_the_table_agrees_after_every_step(start_standin, start_extender):
    standin = start_standin()
    standin.admin("objects", {"resource": "dynamicschedulerpolicies", "object": POLICIES[0]})
    extender = start_extender(standin, build="release")
    extender.wait_live()
    with extender.scheduler() as scheduler:

        class Run(Cluster):
            peers = standin, scheduler

        run_state_machine_as_test(
            Run,
            settings=settings(
                max_examples=600 if NIGHTLY else 20,
                stateful_step_count=50 if NIGHTLY else 20,
                derandomize=not NIGHTLY,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
