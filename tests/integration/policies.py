"""Policies, annotations and names of nodes, as the tests of every program have them."""

import json
import os
import time

CPU, MEM, HOT = "cpu_usage_avg_5m", "mem_usage_avg_5m", "node_hot_value"
IDLE = "plimsoll.io/idle-milli-cpu"
API_VERSION, KIND = "scheduler.policy.crane.io/v1alpha1", "DynamicSchedulerPolicy"


def policy_object(metrics, predicate=None, priority=None, hot=None, name=None, **spec):
    """Of {metric: period}, {metric: limit}, {metric: weight}, {timeRange: count} and more of a spec."""
    lists = {
        "syncPolicy": [{"name": n, "period": v} for n, v in metrics.items()],
        "predicate": [{"name": n, "maxLimitPecent": v} for n, v in (predicate or {}).items()],
        "priority": [{"name": n, "weight": v} for n, v in (priority or {}).items()],
        "hotValue": [{"timeRange": n, "count": v} for n, v in (hot or {}).items()],
    }
    named = {"metadata": {"name": name}} if name else {}
    spec = {key: value for key, value in {**lists, **spec}.items() if value}
    return {"apiVersion": API_VERSION, "kind": KIND, **named, "spec": spec}


def write_policy(path, content):
    """Put a policy (or bytes) there in one step, as an editor does."""
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    with open(f"{path}.new", "wb") as file:
        file.write(data)
    os.rename(f"{path}.new", path)
    return str(path)


def ago(seconds=0.0):
    """The timestamp of an annotation that is so old."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds))


def node_names(count, start=0):
    return [f"node-{i:04d}" for i in range(start, start + count)]
