"""A scheduler calls while strangers send the extender what costs most, from the same address."""

import http.client
import multiprocessing
import statistics
import threading
import time

from extender_kit import POD, go_json, policy
from harness import wait_until
from policies import node_names

NODES = 5000
SECONDS, PAUSE_S = 3, 0.005  # with each of them, and without
MEDIAN_MAX_MS = 20


def named(count):
    return go_json({"Pod": POD, "NodeNames": [f"stranger-{i:06d}" for i in range(count)]})


# what: (connections, body)
ATTACKS = {
    "8 MiB of objects": (2, b'{"Nodes":{"items":[%s{}]}}' % (b"{}," * ((8 << 20) // 3))),
    "100,000 names": (6, named(100000)),
    "20,000 names": (300, named(20000)),
}


def send(port, body, answered):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    while True:
        connection.request("POST", "/v1/filter", body)
        connection.getresponse().read()
        with answered.get_lock():
            answered.value += 1


def attack(port, connections, body, answered):
    """A process of its own, so that the senders do not hold up the scheduler of the test."""
    senders = [
        threading.Thread(target=send, args=(port, body, answered)) for _ in range(connections)
    ]
    for sender in senders:
        sender.start()


def median_ms(scheduler, body):
    end = time.monotonic() + SECONDS
    took_ms = []
    while time.monotonic() < end:
        began = time.monotonic()
        assert scheduler.connection.call("/v1/filter", body).status == 200
        took_ms.append((time.monotonic() - began) * 1000)
        time.sleep(PAUSE_S)
    return statistics.median(took_ms)


def test_a_scheduler_among_strangers(start_standin, start_extender):
    standin = start_standin("--nodes", NODES, "--images", 0)
    extender = start_extender(standin, content=policy(), build="release")
    extender.wait_live()
    body = go_json({"Pod": POD, "Nodes": None, "NodeNames": node_names(NODES)})
    fork = multiprocessing.get_context("fork")
    medians = {}
    with extender.scheduler(timeout_s=120) as scheduler:
        medians["none"] = median_ms(scheduler, body)
        for what, (connections, hostile) in ATTACKS.items():
            answered = fork.Value("q", 0)
            strangers = fork.Process(
                target=attack, args=(extender.port, connections, hostile, answered)
            )
            strangers.start()
            wait_until(lambda: answered.value >= connections, 60, "the strangers to be under way")
            medians[what] = median_ms(scheduler, body)
            strangers.kill()
            strangers.join()
    print(", ".join(f"{what}: {ms:.2f} ms at the median" for what, ms in medians.items()))
    assert max(medians.values()) < MEDIAN_MAX_MS
