"""The extender under parallel clients while its node table changes a thousand times a second (by
day a third of that, by half as many clients)."""

import random
import threading
import time

import pytest

from extender_kit import POD, annotate, policy
from harness import NIGHTLY, wait_until
from policies import ago, node_names, write_policy

CLIENTS, CHANGES_PER_S = (8, 1000) if NIGHTLY else (4, 300)


class Client(threading.Thread):
    """A scheduler that asks without a pause, for a few hundred nodes at a time.

    What comes back is checked by Scheduler: no name lost, doubled or unknown, scores in range.
    """

    def __init__(self, extender, names, is_over, seed):
        super().__init__()
        self.extender, self.names, self.is_over = extender, names, is_over
        self.rng = random.Random(seed)
        self.problem, self.asked = None, 0

    def run(self):
        try:
            with self.extender.scheduler() as scheduler:
                while not self.is_over.is_set():
                    count = self.rng.randint(200, min(1000, len(self.names)))
                    start = self.rng.randrange(len(self.names))
                    asked = (self.names[start:] + self.names[:start])[:count]
                    scheduler.filter(asked)
                    scheduler.prioritize(asked)
                    self.asked += 1
        except Exception as error:  # a thread's end must not go unnoticed, whatever it is
            self.problem = f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(
    "build", ["tsan", "build", pytest.param("release", marks=pytest.mark.nightly)]
)
def test_parallel_clients(start_standin, start_extender, build):
    standin = start_standin("--nodes", 1000, "--images", 0)
    began = time.monotonic()
    content = policy(hot={"5m": 2})
    extender = start_extender(standin, content=content, build=build)
    extender.wait_live()
    names = node_names(1000)
    is_over = threading.Event()
    clients = [Client(extender, names, is_over, seed) for seed in range(CLIENTS)]
    job = standin.admin("mutate", {"per_second": CHANGES_PER_S, "seconds": 15 if NIGHTLY else 4})
    for client in clients:
        client.start()
    # Bindings, ends, new and deleted nodes and another policy go on at the same time.
    for i in range(4):
        standin.add_pods(50, prefix=f"burst-{i}-", nodes=names[:10])
        standin.add_nodes(20, prefix=f"late-{i}-", images=0)
        scoring = ("estimate", "absolute")[i % 2]
        content = policy(limits={"cpu_usage_avg_5m": 0.4 + i / 10}, hot={"5m": 2}, scoring=scoring)
        content["spec"]["extender"] |= {"shortlist": 0, "whenAllOver": "reject"}
        write_policy(extender.policy_path, content)
        extender.reload()
        wait_until(
            lambda: extender.metric("plimsoll_policy_generation") >= i + 2,
            timeout_s=100,
            what="the policy to be read again",
        )
        assert extender.page("/nodes").status == 200
        standin.admin("delete", {"resource": "nodes", "prefix": f"late-{i}-"})
        standin.admin("delete", {"resource": "pods", "prefix": f"burst-{i}-1"})
    row = standin.wait_job(job, 120)
    is_over.set()
    for client in clients:
        client.join(60)
    assert [client.problem for client in clients] == [None] * CLIENTS
    assert not any(client.is_alive() for client in clients)
    answered = {
        series: value
        for series, value in extender.metrics().items()
        if series.startswith("plimsoll_extender_requests_total") and value
    }
    asked = sum(client.asked for client in clients)
    assert answered == {
        f'plimsoll_extender_requests_total{{verb="{verb}",code="200"}}': asked
        for verb in ("filter", "prioritize")
    }
    # It kept up with the changes, not only with the clients.
    annotate(standin, names[0], 0.99)
    with extender.scheduler() as scheduler:
        wait_until(lambda: names[0] in scheduler.filter(names)[1], what="the last change")
    # However many changes there are, the table is copied a hundred times a second at most.
    publications = extender.metric("plimsoll_extender_table_publications_total")
    assert publications < 100 * (time.monotonic() - began) + 10
    print(
        f"{build}: {2 * asked} requests of {CLIENTS} clients beside {row['done']} changes, "
        f"{publications:.0f} publications, RSS {extender.process.rss_kib() / 1024:.0f} MiB"
    )


def test_memory_with_five_thousand_nodes(start_standin, start_extender):
    """The default policy; the first list, relists, requests and changes included."""
    count = 5000
    standin = start_standin()
    keys = [
        f"{resource}_usage_{window}"
        for resource in ("cpu", "mem")
        for window in ("avg_5m", "max_avg_1h")
    ]
    standin.add_nodes(count, images=0, annotations={key: f"0.25,{ago()}" for key in keys})
    extender = start_extender(standin, build="release")
    extender.wait_live()
    after_list_mib = extender.process.peak_rss_kib() / 1024
    readings = count * len(keys)
    wait_until(
        lambda: extender.metric("plimsoll_extender_readings", state="usable") == readings,
        what="every reading to be counted",
    )
    names = node_names(count)
    conditions = [{"type": "PodScheduled", "status": "False"}]
    refused = {**POD, "status": {"conditions": conditions}}  # gets the whole list
    with extender.scheduler() as scheduler:
        for _ in range(5):
            scheduler.filter(names, refused)
            scheduler.prioritize(names)
        job = standin.admin(
            "mutate", {"per_second": CHANGES_PER_S, "seconds": 2, "keys": keys, "nodes": names}
        )
        standin.wait_job(job, 60)
        lists = standin.count(verb="list", resource="nodes")
        standin.admin("compact", {"watches": "expire"})
        wait_until(
            lambda: standin.count(verb="list", resource="nodes") >= lists + count // 500,
            what="the second list",
        )
        extender.wait_live()
        scheduler.filter(names, refused)
    peak_mib = extender.process.peak_rss_kib() / 1024
    print(f"{count} nodes: {after_list_mib:.1f} MiB after the first list, {peak_mib:.1f} MiB peak")
    assert peak_mib < 26  # tests/bench/results.md
