"""What the extender keeps in memory when a request is over, and what the largest take of the limit
that it has in the manifests."""

import collections
import concurrent.futures
import http.client
import itertools
import json
import resource
import statistics
import time

from extender_kit import POD, annotate, go_json, policy
from harness import fetch, wait_until
from memory_limit import limit_of_the_manifests, memory_limit
from policies import node_names

MIB = 1 << 20
MOST_BYTES = 128 * MIB  # of a request that is admitted
NODE_BYTES = 8400
PODS, POD_MAX_BYTES = 10000, 300
EXPLAIN_MAX_MIB = 250


def request_of_whole_nodes(most_bytes):
    """As many nodes as it may have, which all pass: the reply is as large."""
    nodes = [
        f'{{"metadata":{{"name":"stranger-{i:06d}","labels":{{"pad":"{"x" * NODE_BYTES}"}}}}}}'
        for i in range(most_bytes // (NODE_BYTES + 100))
    ]
    pod = go_json(POD).decode()
    body = (
        f'{{"Pod":{pod},"Nodes":{{"metadata":{{}},"items":[{",".join(nodes)}]}},"NodeNames":null}}'
    )
    return len(nodes), body.ljust(most_bytes).encode()


def test_largest_requests_within_the_limit_of_the_manifests(start_standin, start_extender):
    """One is read at a time, and others are told to come again: the limit is enough for any number."""
    extender = start_extender(start_standin(), content=policy(), build="release")
    extender.wait_live()
    count, body = request_of_whole_nodes(MOST_BYTES)
    limit_bytes = limit_of_the_manifests("extender")
    with (
        memory_limit(extender.process, limit_bytes) as is_limited,
        concurrent.futures.ThreadPoolExecutor(4) as pool,
    ):
        calls = [
            pool.submit(fetch, f"{extender.url}/v1/filter", "POST", body, timeout_s=120)
            for _ in range(4)
        ]
        answers = [call.result() for call in calls]
        peak_mib = extender.process.peak_rss_kib() / 1024
        statuses = sorted(answer.status for answer in answers)
        print(
            f"{count} whole nodes in {len(body) / MIB:.0f} MiB, four at once: {statuses}, peak "
            f"{peak_mib:.0f} of {limit_bytes / MIB:.0f} MiB, held to it by a cgroup: {is_limited}"
        )
        assert extender.process.is_running()
        assert set(statuses) <= {200, 503} and statuses[0] == 200
        assert all(a.body.count(b"stranger-") == count for a in answers if a.status == 200)
        assert 128 < peak_mib < limit_bytes / MIB


def test_the_largest_explanation_within_the_limit_of_the_manifests(start_standin, start_extender):
    """Of nodes of the request, by a policy with as many metrics as there may be."""
    extender = start_extender(start_standin(), content=policy(), build="release")
    extender.wait_live()
    names = [f"cpu_usage_avg_{minutes}m" for minutes in range(1, 65)]
    wide = policy(limits=dict.fromkeys(names, 0.8), weights=dict.fromkeys(names, 1))
    limit_bytes = limit_of_the_manifests("extender")
    for count in (20000, 99000):
        pad = "x" * (60 * MIB // count - 100)
        nodes = [{"metadata": {"name": f"n{i}", "labels": {"pad": pad}}} for i in range(count)]
        for terms in (False, True):
            asked = {"policy": json.dumps(wide), "nodes": nodes, "terms": terms}
            answer = fetch(f"{extender.url}/explain", "POST", go_json(asked), timeout_s=60)
            peak_mib = extender.process.peak_rss_kib() / 1024
            print(f"{count} nodes, terms: {terms}: {answer.status}, peak {peak_mib:.0f} MiB")
            assert answer.status == 413 if count > 20000 else answer.status in (200, 413, 503)
            assert peak_mib < EXPLAIN_MAX_MIB < limit_bytes / MIB


def test_memory_of_bound_pods(start_standin, start_extender):
    """By the policy that is built in: what each of them takes more, once they have been listed."""
    nodes = [f"node-{i:04d}" for i in range(400)]
    standin = start_standin("--nodes", len(nodes), "--images", 0)
    extender = start_extender(standin, build="release")
    extender.wait_live()
    before_kib = extender.process.rss_kib()
    for number in range(10):
        standin.add_pods(PODS // 10, prefix=f"app-{number}-", nodes=nodes, phase="Running")
    wait_until(
        lambda: extender.metric("plimsoll_extender_pods") == PODS, 60, "all pods to be known"
    )
    more = (extender.process.peak_rss_kib() - before_kib) * 1024 / PODS
    print(f"{PODS} pods on {len(nodes)} nodes: {more:.0f} bytes more for each")
    assert more < POD_MAX_BYTES


SENDERS = 8
CANDIDATES, CANDIDATE_MAX_BYTES = 1 << 17, 100  # the most of one request
HOSTILE_MAX_MIB, KEPT_MAX_MIB = 250, 80
BODIES_EACH = 4
MEDIAN_MAX_MS = 50


def test_memory_of_candidates(start_standin, start_extender):
    """Of a request with the most that there may be, in addition to its text."""
    extender = start_extender(start_standin(), build="release")
    extender.wait_live()
    names = ",".join(f'"{i}"' for i in range(CANDIDATES))
    body = f'{{"Pod":{go_json(POD).decode()},"NodeNames":[{names}]}}'.encode()
    before_kib = extender.process.rss_kib()
    for verb in ("filter", "prioritize"):
        assert fetch(f"{extender.url}/v1/{verb}", "POST", body).status == 200
    more = ((extender.process.peak_rss_kib() - before_kib) * 1024 - len(body)) / CANDIDATES
    print(f"{CANDIDATES} candidates: {more:.0f} bytes for each")
    assert more < CANDIDATE_MAX_BYTES


def filled(most_bytes, head, items, tail):
    """As many items as there is room for."""
    left = most_bytes - len(head) - len(tail)
    taken = []
    for item in items:
        left -= len(item) + 1
        if left < 0:
            break
        taken.append(item)
    return f"{head}{','.join(taken)}{tail}".ljust(most_bytes).encode()


def hostile_bodies(most_bytes, hot):
    """(verb, body): what costs most when it is read, when it is judged, and in the reply."""
    numbers = range(CANDIDATES)
    hot_node = f'{{"metadata":{{"name":"{hot}"}}}}'
    copied = f'"}},"x":"{"x" * 900}"}},{hot_node}'
    shapes = [
        ("filter", '{"\\u0050od":[', itertools.repeat("{}"), "]}"),
        ("filter", '{"NodeNames":[', itertools.repeat('""'), "]}"),
        ("filter", '{"NodeNames":[', (f'"{i:0118}"' for i in numbers), "]}"),
        ("prioritize", '{"NodeNames":[', (f'"\\u0061{i}"' for i in numbers), "]}"),
        (
            "filter",
            '{"Nodes":{"items":[',
            (f'{{"metadata":{{"name":"{i}{copied}' for i in numbers),
            "]}}",
        ),
        (
            "preempt",
            '{"NodeNameToVictims":{"stranger":{"Pods":[',
            itertools.repeat('{"metadata":{"uid":"1"}}'),
            "]}}}",
        ),
        (
            "preempt",
            '{"NodeNameToMetaVictims":{',
            (f'"{i:0107}":{{"Pods":[]}}' for i in numbers),
            "}}",
        ),
    ]
    return [(verb, filled(most_bytes, *shape)) for verb, *shape in shapes]


def send(port, bodies, statuses):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    for verb, body in bodies:
        connection.request("POST", f"/v1/{verb}", body)
        reply = connection.getresponse()
        reply.read()
        statuses.append(reply.status)
    connection.close()


def test_hostile_bodies_beside_a_scheduler(start_standin, start_extender):
    """Whatever the bodies are, the extender has enough of the manifests' limit, and a scheduler gets
    its answers in time."""
    standin = start_standin("--nodes", 500, "--images", 0)
    annotate(standin, "node-0000", 0.9)
    extender = start_extender(standin, content=policy(), build="release")
    extender.wait_live()
    limit_bytes = limit_of_the_manifests("extender")
    resource.prlimit(extender.process.pid, resource.RLIMIT_DATA, (limit_bytes, limit_bytes))
    bodies = [body for size in (8, 16) for body in hostile_bodies(size * MIB, "node-0000")]
    names = node_names(500)
    statuses, took_ms = [], []
    before_kib = extender.process.rss_kib()
    with (
        extender.scheduler(timeout_s=120) as scheduler,
        concurrent.futures.ThreadPoolExecutor(SENDERS) as pool,
    ):
        senders = [
            pool.submit(
                send,
                extender.port,
                [bodies[(first + SENDERS * i) % len(bodies)] for i in range(BODIES_EACH)],
                statuses,
            )
            for first in range(SENDERS)
        ]
        while not all(sender.done() for sender in senders):
            began = time.monotonic()
            assert len(scheduler.filter(names)[0]) == 499
            took_ms.append((time.monotonic() - began) * 1000)
        for sender in senders:
            sender.result()
    peak_mib = extender.process.peak_rss_kib() / 1024
    kept_mib = (extender.process.rss_kib() - before_kib) / 1024
    median_ms = statistics.median(took_ms)
    print(
        f"{len(statuses)} bodies of 8 and 16 MiB, {SENDERS} at a time: "
        f"{dict(collections.Counter(statuses))}, peak {peak_mib:.0f} MiB, {kept_mib:.0f} MiB kept; "
        f"{len(took_ms)} calls beside them, median {median_ms:.1f} ms, longest {max(took_ms):.0f} ms"
    )
    assert set(statuses) <= {200, 413, 500, 503}
    assert peak_mib < HOSTILE_MAX_MIB
    assert kept_mib < KEPT_MAX_MIB
    assert median_ms < MEDIAN_MAX_MS
