"""What /status.json could be of a cluster of any size, for a look at the page: the loads of nodes from a seeded
random number, with some above a limit, some that cannot be scraped, and names that nobody should use."""

import math
import random
import time

LIMIT = 0.8
STEPS = 30
POOLS = ("web", "batch", "data", "edge")
HOSTILE = "<img src=x onerror=alert(1)>"
POLICY_POOLS = [{"nodeSelector": {"x" * 100: HOSTILE}, "limits": [0.7, None, None, None, 0.9]}]
FAILURES = (
    ("timeout", "the source's interval"),
    ("connect", "--node-address-types, and the source's url (--target-url-template)"),
)


def metric(resource, window, **more):
    name = f"{resource}_usage_{window}"
    period = 900 if window == "max_avg_1h" else 420
    found = {"name": name, "resource": resource, "periodSeconds": period, "weight": 0}
    return {**found, "windowSeconds": 3600 if window == "max_avg_1h" else 300, **more}


# As in policy/policy.yaml.
DECIDES = {"limit": LIMIT, "weight": 1}
METRICS = [
    metric("cpu", "avg_5m", **DECIDES), metric("cpu", "avg_2m"), metric("cpu", "max_avg_1h"),
    metric("mem", "avg_5m", **DECIDES), metric("mem", "max_avg_1h"),
]  # fmt: skip


def history(rng, mean):
    drift, values = mean, []
    for _ in range(STEPS):
        drift += rng.gauss(0, 0.035) + 0.1 * (mean - drift)
        values.append(max(0, min(100, round(100 * drift))))
    return values


def node(rng, name, index, dead):
    pool = POOLS[index % len(POOLS)]
    row = {"name": name, "labels": {"topology.kubernetes.io/zone": f"zone-{'abc'[index % 3]}"}}
    row["labels"]["pool"] = pool
    if dead:
        reason = FAILURES[index % len(FAILURES)][0]
        missing = {m["name"]: "no scrape so far" for m in METRICS}
        return row | {"verdict": "unknown", "reason": reason, "usage": [None] * len(METRICS),
                      "missing": missing, "history": [[], []], "hot": 0, "failure": reason}  # fmt: skip
    base = {"web": 0.45, "batch": 0.55, "data": 0.4, "edge": 0.2}[pool]
    cpu, mem = (min(0.97, max(0.02, rng.gauss(base, 0.15))) for _ in range(2))
    past = [history(rng, cpu), history(rng, mem)]
    # The last step is where the load is now.
    past[0][-1], past[1][-1] = round(100 * cpu), round(100 * mem)
    peaks = [max(max(past[0]) / 100, cpu), max(max(past[1]) / 100, mem)]
    row |= {"verdict": "passes", "limitShare": max(cpu, mem) / LIMIT, "history": past}
    over = "cpu" if cpu > LIMIT else "mem" if mem > LIMIT else None
    if over:
        row |= {"verdict": "rejected", "reason": f"{over}_usage_avg_5m above {LIMIT}"}
    hot = max(0, math.floor(rng.gauss(0, 1.2)))
    lately = (past[0][-2] / 100 + cpu) / 2
    row |= {"usage": [cpu, lately, peaks[0], mem, peaks[1]], "hot": hot, "source": "node-exporter"}
    row["taintLevel"] = 2 if over else 0
    offered = 32 * max(0, 0.65 - peaks[0])
    row["idle"] = {
        "offeredCores": offered,
        "roomCores": offered,
        "takenCores": 0.75 * offered,
        "usedCores": 0.5 * offered,
    }
    return row | {"ageSeconds": rng.uniform(0.2, 15)}


def sample(count, hostile=False):
    """The object of `count` nodes."""
    rng = random.Random(count)
    names = [f"ip-10-0-{i // 250}-{i % 250}.eu-west-1.compute.internal" for i in range(count)]
    if hostile:
        names[0] = HOSTILE
        names[1] = "n" * 253
    rows = [node(rng, name, i, count > 3 and rng.random() < 0.015) for i, name in enumerate(names)]
    if hostile:
        rows[0]["labels"] = {HOSTILE: HOSTILE, "long": "x" * 900}
    for row in rows if not hostile else ():
        del row["hot"]  # which is there with hotValue alone
    verdicts = {"passes": 0, "rejected": 0, "closed": 0, "unknown": 0}
    failing = {}
    for row in rows:
        verdicts[row["verdict"]] += 1
        if "failure" in row:
            failing.setdefault(row["failure"], []).append(row["name"])
    failures = [
        {"source": "node-exporter", "reason": reason, "see": see,
         "nodes": len(failing[reason]), "examples": failing[reason][:5]}
        for reason, see in FAILURES if reason in failing
    ]  # fmt: skip
    dead = verdicts["unknown"]
    checks = [
        f"[+] policy: DynamicSchedulerPolicy default, {len(METRICS)} metrics, generation 1",
        f"[+] nodes: {count} nodes",
        f"[+] scrapes: {count - dead} of {count} nodes have recent samples",
        "[+] writes: no repeated failures",
        f"[+] sources: node-exporter {count - dead}{f', none {dead}' if dead else ''}",
        "[+] leader: plimsoll-controller-6b7f9c5d4-x2x7k, this replica",
    ]
    warning = "line 11: spec.predicate[2].name: mem_usage_max_avg_1d blocks a node for 1d after it was full once"
    yaml = "\n".join(
        f"  - {{name: {row['name']}, period: {row['periodSeconds'] // 60}m}}" for row in METRICS
    )
    return {
        "program": "plimsoll-controller", "version": "0.2.0", "role": "writer", "ready": True,
        "at": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()), "checks": checks,
        "policy": {"name": "default", "scoring": "estimate", "whenAllOver": "pass",
                   "hasHotValue": hostile, "metrics": METRICS, "pools": POLICY_POOLS * hostile,
                   "warningCount": int(hostile),
                   "warnings": [warning] * hostile, "text": f"spec:\n  syncPolicy:\n{yaml}\n"},
        "historyStepSeconds": 120, "historyResources": ["cpu", "mem"], "nodes": rows,
        "nodeCount": count, "nodesShown": count, "verdicts": verdicts, "isAllOver": False,
        "sources": [{"name": "node-exporter", "isUsed": True, "intervalSeconds": 15,
                     "nodesServed": count - dead, "nodesFailing": dead}],
        "failures": failures,
    }  # fmt: skip
