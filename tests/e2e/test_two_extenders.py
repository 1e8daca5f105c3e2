"""Two extenders behind one Service, as deploy/ runs them, and one of them fails while pods arrive.

The Service is a relay of this test (cluster.relay.Service): it does per connection what kube-proxy
does, and forgets a failed extender as late.
"""

import re
import signal
import time
from datetime import datetime

import pytest
from cluster.nodes import CALM, HOT
from cluster.plimsoll import fast_policy, wait_judged
from cluster.relay import Service
from cluster.workloads import Background
from harness import wait_until

TIMEOUT_S = 1  # httpTimeout; the examples of deploy/ have 200 ms, which a busy machine may take
PODS_EVERY_S = 0.1
BEFORE, AFTER = 30, 60  # pods
# A kubelet notices within a second, and the EndpointSlice goes through two watches.
FORGOTTEN_AFTER_S = 3
BOUND = re.compile(r'I(\d{4} [\d:.]+) .*"Successfully bound pod to node" pod="[^/]+/([^"]+)"')
SKIPPED = "Skipping extender"


class Load:
    """Pods, one after the other."""

    def __init__(self, namespace):
        self.namespace = namespace
        self.made_unix = {}

    def once(self, ended):
        name = f"load-{len(self.made_unix):04}"
        self.namespace.create_pod(name)
        self.made_unix[name] = time.time()
        ended.wait(PODS_EVERY_S)


def bound_unix(log):
    """{pod: when the scheduler had bound it}, by its log, which leaves out the year."""
    year = datetime.now().year
    return {
        pod: datetime.strptime(f"{year}{at}", "%Y%m%d %H:%M:%S.%f").timestamp()
        for at, pod in BOUND.findall(log)
    }


@pytest.fixture
def world(fleet, plimsoll, exporters, scheduler):
    """The hot nodes, the Service and the scheduler that asks it."""
    hot = fleet.add(2, load=HOT)
    calm = fleet.add(3, load=CALM)
    policy = plimsoll.write_policy(fast_policy())
    plimsoll.controller(policy, exporters)
    extenders = [plimsoll.extender(policy) for _ in range(2)]
    for extender in extenders:
        wait_judged(extender, hot, calm)
    service = Service(extenders)
    entry = plimsoll.scheduler_entry(service, httpTimeout=f"{TIMEOUT_S}s")
    yield hot, service, scheduler(extenders=[entry])
    service.stop()


def kill(program):
    program.kill()


def hang(program):
    """As one whose node has lost the network: connections stand, nothing comes back."""
    program.popen.send_signal(signal.SIGSTOP)


@pytest.mark.alone
@pytest.mark.parametrize("fail", [kill, hang])
def test_one_of_two_fails(world, namespace, figure, fail):
    hot, service, kube_scheduler = world
    load = Load(namespace)
    with Background(load.once):
        namespace.wait_bound(BEFORE)
        failed, before = service.in_use(), len(service.picked)
        began_unix = time.time()
        fail(failed)
        time.sleep(FORGOTTEN_AFTER_S)
        service.forget(failed)
        wait_until(lambda: len(load.made_unix) >= BEFORE + AFTER, what="pods")
    places = namespace.wait_bound(len(load.made_unix))
    failed.kill()
    bound = bound_unix(kube_scheduler.text())
    held_s = {name: bound[name] - made for name, made in load.made_unix.items()}
    usual_s = max(took for name, took in held_s.items() if bound[name] < began_unix)
    longest_s = max(held_s.values())
    # The one that was on its way, and those whose connection the lot gave to the failed one.
    calls = 1 + sum(port not in service.ports for port in service.picked[before:])
    skipped = kube_scheduler.text().count(SKIPPED)
    on_hot = sum(node in hot for node in places.values())
    figure(
        f"of {len(held_s)} pods none waited longer than {longest_s:.2f} s ({usual_s:.2f} s before); httpTimeout "
        f"{TIMEOUT_S} s; {calls} calls to the failed one, {skipped} pods not filtered, {on_hot} on hot nodes"
    )
    assert usual_s < TIMEOUT_S, "nothing was slow before"
    # A dead one refuses at once. Of one that hangs each call takes its time, and the pods behind wait too.
    waits = 0 if fail is kill else calls
    assert longest_s < (waits + 1) * TIMEOUT_S
    assert waits <= 2 + FORGOTTEN_AFTER_S / TIMEOUT_S
    assert on_hot <= skipped <= calls
