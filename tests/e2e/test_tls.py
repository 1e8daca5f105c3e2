"""kube-scheduler and the extender over HTTPS and mutual TLS, and certificates replaced in the meantime."""

import os
import ssl

import pytest
from cluster.certificates import Authority
from cluster.nodes import CALM, HOT
from cluster.plimsoll import fast_policy, page, total
from cluster.workloads import Background
from harness import wait_until
from tls_kit import Volume

SERVER_NAME = "plimsoll-extender.kube-system.svc"
# What kube-scheduler says of an extender that fails and is ignorable.
SKIPPED = "Skipping extender"


@pytest.fixture
def authority(log_dir):
    return Authority(os.path.join(log_dir, "pki"))


@pytest.fixture
def hot_and_calm(fleet):
    return fleet.add(1, load=HOT), fleet.add(2, load=CALM)


def server_pair(authority, name):
    return authority.server(name, ["127.0.0.1"], [SERVER_NAME])


def client_context(authority, pair=None):
    context = ssl.create_default_context(cafile=authority.cert)
    if pair:
        context.load_cert_chain(*pair)
    return context


def start_extender(plimsoll, exporters, volume, context):
    """Both programs; returns the extender once it rejects the hot node."""
    policy = plimsoll.write_policy(fast_policy(hot_value=False))
    plimsoll.controller(policy, exporters)
    extender = plimsoll.extender(policy, *volume.flags(), scheme="https", context=context)
    wait_until(
        lambda: total(extender, "plimsoll_extender_readings", state="usable") >= 6,
        what="readings of three nodes and two metrics",
    )
    return extender


def entry(plimsoll, extender, authority, pair=None):
    """As deploy/scheduler/ has it."""
    tls = {"caFile": authority.cert, "serverName": SERVER_NAME}
    if pair:
        tls.update(certFile=pair[0], keyFile=pair[1])
    return plimsoll.scheduler_entry(extender, enableHTTPS=True, tlsConfig=tls)


def filtered(extender):
    return total(extender, "plimsoll_extender_requests_total", verb="filter", code="200")


class Arrivals:
    """Pods that arrive one after the other."""

    def __init__(self, namespace):
        self.namespace, self.count = namespace, 0

    def once(self, ended):
        self.namespace.create_pod(f"web-{self.count:04}")
        self.count += 1
        ended.wait(0.2)

    def wait_more(self, count=10):
        """Until so many more have a node."""
        self.namespace.wait_bound(self.count + count)


def wait_reloaded(extender, count):
    """Wait until certificates have been put in force so many times."""
    wait_until(
        lambda: total(extender, "plimsoll_tls_reloads_total") >= count,
        what=f"certificates to be reloaded {count} times",
    )


def is_served(extender, pair):
    """A new connection is shown this certificate."""
    host, _, port = extender.url.removeprefix("https://").partition(":")
    with open(pair[0], encoding="ascii") as file:
        return ssl.get_server_certificate((host, int(port))).strip() == file.read().strip()


def expect_all_by_us(namespace, extender, scheduler, calm, before, count):
    """Every pod has a calm node, we were asked for each, and no call failed."""
    places = namespace.wait_bound(count)
    assert set(places.values()) == set(calm)
    assert filtered(extender) - before >= count
    assert SKIPPED not in scheduler.text()


def test_mutual_tls(
    plimsoll, namespace, scheduler, exporters, authority, hot_and_calm, log_dir, figure
):
    """The CA of the clients is replaced, as one does it, and both certificates: no call fails."""
    _, calm = hot_and_calm
    new_authority = Authority(os.path.join(log_dir, "new-pki"))
    server, new_server = (server_pair(authority, f"server-{i}") for i in range(2))
    watcher = authority.client("watcher", "watcher")
    old = authority.client("scheduler", "kube-scheduler")
    new = new_authority.client("scheduler", "kube-scheduler")
    volume = Volume(os.path.join(log_dir, "secret"), server, authority.cert)
    extender = start_extender(plimsoll, exporters, volume, client_context(authority, watcher))
    keys = Volume(os.path.join(log_dir, "scheduler-secret"), old)
    pair = (keys.path("tls.crt"), keys.path("tls.key"))
    ours = scheduler(extenders=[entry(plimsoll, extender, authority, pair)])
    before, arrivals = filtered(extender), Arrivals(namespace)
    with Background(arrivals.once):
        arrivals.wait_more()
        keys.write(new)
        volume.write(server, [authority.cert, new_authority.cert])
        wait_reloaded(extender, 1)
        arrivals.wait_more()
        volume.write(new_server, new_authority.cert)
        new_watcher = new_authority.client("watcher", "watcher")
        extender.context = client_context(authority, new_watcher)
        wait_until(lambda: is_welcome(extender), what="the new CA's clients alone to be let in")
        wait_reloaded(extender, 2)
        assert is_served(extender, new_server)
        arrivals.wait_more()
    expect_all_by_us(namespace, extender, ours, calm, before, arrivals.count)
    extender.context = client_context(authority, watcher)
    assert not is_welcome(extender)
    figure(
        f"{arrivals.count} pods over mutual TLS, all on calm nodes, while the clients' CA and "
        "both certificates were replaced; no call failed"
    )


def is_welcome(extender):
    try:
        return page(extender, "/livez").status == 200
    except OSError:
        return False
