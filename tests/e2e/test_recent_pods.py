"""--pods=recent with a real API server: what it shows of pods that run, begin and finish."""

from datetime import datetime, timezone

from cluster.plimsoll import ask, fast_policy, total
from cluster.workloads import job_object, pod_object
from harness import wait_until

CPU, MEM = "cpu_usage_avg_5m", "mem_usage_avg_5m"
JOB_PODS = 5


def test_samples_and_ends(fleet, namespace, plimsoll, figure):
    """Two nodes of 8 CPUs, alike: pods use half of what they request."""
    nodes = fleet.add(2)
    other = nodes[1]
    for node in nodes:
        at = f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
        fleet.annotate(node, {CPU: f"0.40000,{at}", MEM: f"0.10000,{at}"})
        namespace.create_pods(f"on-{node}", 16, cpu="400m", nodeName=node)
    wait_until(
        lambda: all(pod["status"]["phase"] == "Running" for pod in namespace.pods()),
        60,
        "the pods to run",
    )
    policy = fast_policy(hot_value=False, limit=0.9, period="3h", window="5m")
    policy["spec"]["extender"] = {"scoring": "estimate"}
    extender = plimsoll.extender(
        plimsoll.write_policy(policy), "--pods=recent", "--compact-scores=false"
    )

    def factor():
        return total(extender, "plimsoll_extender_usage_to_request_ratio", resource="cpu")

    wait_until(lambda: 0.5 < factor() < 0.65, 60, "the factor to be learned")
    learned = factor()
    waiting = namespace.create_pod("waits", scheduler="nobody", cpu="1")

    def score():
        answer = {row["Host"]: row["Score"] for row in ask(extender, "prioritize", waiting, nodes)}
        return answer[other]

    assert score() == 10
    pod = pod_object("job", cpu="1", nodeName=other, restartPolicy="Never")
    pod["metadata"]["annotations"] = {"e2e/lives": " ".join(["10s"] * JOB_PODS)}
    namespace.create_job(job_object("job", JOB_PODS, pod))
    wait_until(lambda: score() < 5, 30, "the Job's pods to count")
    wait_until(lambda: score() == 10, 60, "them to have finished")
    figure(f"factor {learned:.2f} from one node's pods; a Job's pods counted until they finished")
