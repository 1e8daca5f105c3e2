"""What both programs' metrics could have been for three hours in a cluster of any size, as text that promtool makes
blocks of: two controllers, two extenders, loads from a seeded random number, half an hour of many pods."""

import random

SPAN_S, STEP_S = 3 * 3600, 120
STEPS = SPAN_S // STEP_S
REPLICAS = {
    "plimsoll-controller": ("10.0.3.17:8090", "10.0.8.4:8090"),
    "plimsoll-extender": ("10.0.3.21:8010", "10.0.8.9:8010"),
}
METRICS = ("cpu_usage_avg_5m", "cpu_usage_max_avg_1h", "mem_usage_avg_5m", "mem_usage_max_avg_1h")
LIMITS = {"cpu_usage_avg_5m": 0.8, "mem_usage_avg_5m": 0.8}
API = [("patch", "nodes", "200", 1.1), ("patch", "nodes", "409", 0.01), ("watch", "nodes", "200", 0.004),
       ("watch", "pods", "200", 0.004), ("put", "leases", "200", 0.5), ("post", "events", "201", 0.02)]  # fmt: skip
CALLS = [("filter", "200", 1), ("prioritize", "200", 1), ("filter", "400", 0.002)]
BUCKETS, AGES = ("0.001", "0.01", "0.1", "1", "+Inf"), ("1", "10", "15", "30", "+Inf")


def busyness(step):
    return 6 if STEPS // 2 < step < STEPS * 2 // 3 else 1


def walk(rng, mean, sigma=0.02):
    value = mean
    for _ in range(STEPS):
        value += rng.gauss(0, sigma) + 0.08 * (mean - value)
        yield max(0.01, min(0.99, value))


def counted(rate, is_busy=False):
    total = 0
    for step in range(STEPS):
        total += rate * STEP_S * (busyness(step) if is_busy else 1)
        yield total


def steady(value):
    return [value] * STEPS


def node_series(rng, node):
    loads = {name: list(walk(rng, rng.betavariate(4, 4))) for name in METRICS if "_avg_5m" in name}
    for name, values in loads.items():
        peaks = [max(values[max(0, i - 30) : i + 1]) for i in range(STEPS)]
        yield "plimsoll_node_usage_ratio", {"node": node, "metric": name}, values
        peak = name.replace("_avg_5m", "_max_avg_1h")
        yield "plimsoll_node_usage_ratio", {"node": node, "metric": peak}, peaks
    scores = [int(100 * (1 - max(pair))) for pair in zip(*loads.values())]
    yield "plimsoll_node_score", {"node": node}, scores
    yield "plimsoll_node_hot_value", {"node": node}, [rng.choice((0, 0, 0, 1, 2)) for _ in scores]


def histogram(name, labels, rate, is_busy=False, bounds=BUCKETS):
    for share, bound in zip((0.1, 0.8, 0.99, 1, 1), bounds):
        yield f"{name}_bucket", {**labels, "le": bound}, counted(rate * share, is_busy)


def controller_series(nodes, is_leader):
    for source, share in (("node-exporter", 0.9), ("kubelet", 0.1)):
        yield "plimsoll_nodes_served", {"source": source}, steady(int(nodes * share))
        yield "plimsoll_targets_failing", {"source": source}, steady(int(3 * share))
        for result, part in (("ok", 0.99), ("timeout", 0.01)):
            labels = {"source": source, "result": result}
            yield "plimsoll_scrapes_total", labels, counted(nodes / 15 * share * part)
    values = {"nodes": nodes, "nodes_stale": 2, "leader": is_leader, "sample_age_max_seconds": 14.2}
    for name, value in values.items():
        yield f"plimsoll_{name}", {}, steady(value)
    yield "plimsoll_patches_waiting", {}, [is_leader * 3 * (busyness(i) - 1) for i in range(STEPS)]
    yield "plimsoll_patches_total", {"outcome": "ok"}, counted(nodes / 180 * is_leader)
    yield "plimsoll_patches_total", {"outcome": "conflict"}, counted(nodes / 9000 * is_leader)
    yield from histogram("plimsoll_scrape_duration_seconds", {}, nodes / 15)
    yield from histogram("plimsoll_sample_age_seconds", {}, nodes / 180 * is_leader, bounds=AGES)
    for metric, limit in LIMITS.items():
        yield "plimsoll_node_limit_ratio", {"metric": metric}, steady(limit)


def extender_series(nodes):
    for verb, code, rate in CALLS:
        yield "plimsoll_extender_requests_total", {"verb": verb, "code": code}, counted(rate, True)
        if code == "200":
            labels = {"verb": verb}
            yield from histogram("plimsoll_extender_request_duration_seconds", labels, 1, True)
    for predicate, share in (
        ("none", 0.95),
        ("cpu_usage_avg_5m", 0.04),
        ("mem_usage_avg_5m", 0.01),
    ):
        labels = {"predicate": predicate}
        yield "plimsoll_extender_verdicts_total", labels, counted(nodes * share, True)
    for state, share in (("usable", 3.9), ("missing", 0.06), ("expired", 0.04)):
        yield "plimsoll_extender_readings", {"state": state}, steady(int(nodes * share))
    for resource, ratio in (("cpu", 0.43), ("mem", 0.71)):
        yield "plimsoll_extender_usage_to_request_ratio", {"resource": resource}, steady(ratio)
    for kind, rate in (("short", 0.7), ("whole", 0.2)):
        yield "plimsoll_extender_shortlists_total", {"list": kind}, counted(rate, True)
    for name in ("all_over", "unknown_nodes", "table_publications"):
        yield f"plimsoll_extender_{name}_total", {}, counted(0.6 if name[0] == "t" else 0)
    values = {"pods": 30 * nodes, "workloads": 4 * nodes, "reservations": 3, "skewed_readings": 0}
    for name, value in values.items():
        yield f"plimsoll_extender_{name}", {}, steady(value)


def program_series(rng, program):
    yield "plimsoll_build_info", {"program": program}, steady(1)
    for verb, resource, code, rate in API:
        labels = {"verb": verb, "resource": resource}
        yield "plimsoll_api_requests_total", {**labels, "code": code}, counted(rate)
        if code[0] == "2":
            yield from histogram("plimsoll_api_request_duration_seconds", labels, rate)
    for resource in ("nodes", "pods", "dynamicschedulerpolicies"):
        yield "plimsoll_list_total", {"resource": resource, "result": "ok"}, counted(0.001)
    yield "process_cpu_seconds_total", {}, counted(0.02, True)
    yield "process_resident_memory_bytes", {}, [(20 + 9 * x) * 2**20 for x in walk(rng, 0.5)]
    values = {"plimsoll_http_connections": 4, "process_open_fds": 61, "plimsoll_policy_failed": 0,
              "plimsoll_policy_generation": 1, "process_start_time_seconds": 1.7e9}  # fmt: skip
    for name, value in values.items():
        yield name, {}, steady(value)


def series(nodes):
    """(metric, labels, STEPS values); those of the nodes are told by both controllers alike."""
    rng = random.Random(nodes)
    names = [f"ip-10-0-{i // 250}-{i % 250}.eu-west-1.compute.internal" for i in range(nodes)]
    of_nodes = [row for name in names for row in node_series(rng, name)]
    for program, instances in REPLICAS.items():
        for number, instance in enumerate(instances):
            where = {"instance": instance, "job": program}
            own = list(program_series(rng, program))
            if program == "plimsoll-controller":
                own += [
                    *controller_series(nodes, int(number == 0)),
                    *(of_nodes if number == 0 else ()),
                ]
            else:
                own += extender_series(nodes)
            yield from ((name, {**labels, **where}, values) for name, labels, values in own)


def text(nodes, end_unix):
    lines = []
    for name, labels, values in series(nodes):
        told = ",".join(f'{key}="{value}"' for key, value in labels.items())
        for step, value in enumerate(values):
            lines.append(f"{name}{{{told}}} {value:.6g} {end_unix - SPAN_S + (step + 1) * STEP_S}")
    return "\n".join([*lines, "# EOF\n"])
