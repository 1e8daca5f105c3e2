"""Clusters that get the same pods side by side, and the ways to choose nodes that are compared in them."""

import concurrent.futures
import contextlib
import os
import shutil
import time

from controller_kit import exporter_url
from harness import Exporters, wait_until
from policies import policy_object

from .admission import install_and_start
from .closed_loop import ClosedLoop
from .meters import Meters
from .plimsoll import kubelet_source, new_plane

ADDRESS = "127.100.{}.1"
TOKENS_S = 3 * 3600  # nobody writes new ones
FIRST_ADDRESS = 70  # lower ones are other control planes of the sandbox


@contextlib.contextmanager
def open_sides(names, arrivals, directory):
    """{name: ClosedLoop}, each with a control plane and exporters of its own, until it is left."""
    with contextlib.ExitStack() as stack:
        sides = {}
        for number, name in enumerate(names, FIRST_ADDRESS):
            plane = new_plane(os.path.join(directory, f"cluster-{name}"), ADDRESS.format(number))
            # More than a hundred megabytes, which tell nobody anything.
            stack.callback(shutil.rmtree, plane.path("etcd-data"), ignore_errors=True)
            stack.callback(plane.stop)
            exporters = Exporters(directory, name=f"{name}-exporters")
            stack.callback(exporters.stop)
            sides[name] = ClosedLoop(plane, arrivals, exporters)
            stack.callback(sides[name].stop)
            stack.callback(Meters(sides[name]).stop)
        yield sides
        for side in sides.values():
            side.plane.check()


def play(sides, warm_s=0):
    """To the end: {name: what was measured}, with how late its latest pod was sent."""
    begin = time.monotonic() + warm_s
    with concurrent.futures.ThreadPoolExecutor(len(sides)) as pool:
        sent = {name: pool.submit(side.play, begin) for name, side in sides.items()}
        done, _ = concurrent.futures.wait(sent.values(), return_when="FIRST_EXCEPTION")
        if any(future.exception() for future in done):
            for side in sides.values():
                side.ended.set()
    late_s = {name: future.result() for name, future in sent.items()}
    for side in sides.values():
        side.dump(begin)
    return {name: side.measure(begin) | {"late_s": late_s[name]} for name, side in sides.items()}


def policy(pace, scoring=None):
    """policy/policy.yaml or policy/crane.yaml with windows and periods that much shorter.

    Without maxima: those are of means of five minutes, which nothing makes shorter.
    """
    cpu, mem = (f"{name}_usage_avg_{round(300 / pace)}s" for name in ("cpu", "mem"))
    limit, period = (0.8, f"{round(420 / pace)}s") if scoring else (0.65, f"{round(180 / pace)}s")
    hot = {f"{round(300 / pace)}s": 5, f"{round(60 / pace)}s": 2}
    extender = {"scoring": scoring} if scoring else None
    metrics, limits, weights = ({cpu: value, mem: value} for value in (period, limit, 1))
    hot = None if scoring else hot
    return policy_object(metrics, limits, weights, hot, "default", extender=extender)


# -- who chooses -----------------------------------------------------------------------------


def start_default(side, _plimsoll, _content):
    side.plane.start_scheduler()


def start_most_allocated(side, _plimsoll, _content):
    resources = [{"name": name, "weight": 1} for name in ("cpu", "memory")]
    fit = {"scoringStrategy": {"type": "MostAllocated", "resources": resources}}
    profile = {"pluginConfig": [{"name": "NodeResourcesFit", "args": fit}]}
    side.plane.start_scheduler(profile=profile)


def start_controller(side, plimsoll, content):
    """It, and annotations on every node; the policy's path."""
    path = plimsoll.write_policy(content)
    token = plimsoll.write_token("plimsoll-controller", TOKENS_S)
    plimsoll.write_token("plimsoll-extender", TOKENS_S)
    exporters = {"kind": "node-exporter", "url": exporter_url(side.exporters.port)}
    sources = [exporters, kubelet_source(token)]
    interval = f"{15 / side.arrivals.pace:g}s"
    side.controller = plimsoll.controller(path, None, sources=sources, interval=interval)
    key = content["spec"]["syncPolicy"][0]["name"]
    wait_until(
        lambda: all(key in found for found in side.fleet.all_annotations().values()),
        timeout_s=120,
        what="annotations on every node",
        poll_s=0.2,
    )
    return path


def start_extender(side, plimsoll, content):
    """Both programs, and the scheduler that asks them; the extender."""
    path = start_controller(side, plimsoll, content)
    extender = plimsoll.extender(path)
    side.plane.start_scheduler(extenders=[plimsoll.scheduler_entry(extender)])
    return extender


def start_taints(side, plimsoll, content):
    content["spec"]["taints"] = {}
    start_controller(side, plimsoll, content)
    side.plane.start_scheduler()


def start_admission(side, plimsoll, content):
    path = start_controller(side, plimsoll, content)
    install_and_start(plimsoll, side.namespace, path)
    side.plane.start_scheduler()
