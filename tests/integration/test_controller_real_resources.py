"""What plimsoll-controller says of this machine agrees with /proc and /sys over the same interval.

By Debian's real prometheus-node-exporter; tests/e2e/test_node_exporter.py does the same with the newest.
measured_machine.py says how, and makes the load: network traffic on a veth pair in a network
namespace, some writing and some computing.
"""

import shutil

import pytest

from machine_kit import check, measure_well
from measured_machine import RESOURCES


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    exporter = shutil.which("prometheus-node-exporter")
    assert exporter, "apt-get install prometheus-node-exporter"
    return measure_well(lambda: tmp_path_factory.mktemp("measured"), exporter)


@pytest.mark.parametrize("resource", RESOURCES)
def test_agrees_with_the_kernel(measured, resource):
    check(resource, measured[resource])


def test_there_was_something_to_measure(measured):
    assert measured["net_tx"]["ours"] > 0.02 and measured["net_rx"]["ours"] > 0.005
    assert measured["cpu"]["ours"] > 0.2 and measured["load"]["ours"] > 0
    if measured["disk"]["low"] is None or measured["disk"]["high"] == 0:
        pytest.skip("the kernel counts no time of any disk")
    assert measured["disk"]["ours"] > 0
