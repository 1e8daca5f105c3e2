"""The extender's wire protocol, byte by byte, as kube-scheduler speaks it and as strangers do."""

import signal
import time

import pytest

from extender_kit import POD, Connection, annotate, go_json, policy
from harness import wait_until
from policies import CPU, MEM, ago, node_names

NODES = node_names(5)
IDLE, HALF, BUSY, FULL, BARE = NODES
RULES = policy(limits={CPU: 0.65, MEM: 0.8}, period="1h")


@pytest.fixture(scope="module")
def cluster(module_start_standin):
    """Nodes at 10, 50, 70 (over the limit) and 90% (memory over the limit as well), one bare.

    This and `extender` are for the tests that only ask.
    """
    standin = module_start_standin("--nodes", len(NODES))
    for name, usage in zip(NODES, (0.1, 0.5, 0.7, 0.9)):
        annotate(standin, name, usage, **{MEM: usage})
    return standin


@pytest.fixture(scope="module")
def extender(cluster, module_start_extender):
    extender = module_start_extender(cluster, content=RULES)
    extender.wait_live()
    return extender


def test_the_bytes_of_a_reply(extender):
    with Connection(extender.port) as connection:
        args = {"Pod": POD, "Nodes": None, "NodeNames": [HALF, BUSY, FULL, IDLE]}
        reply = connection.call("/v1/filter", go_json(args))
        assert reply.status == 200
        assert reply.body == (
            b'{"Nodes":null,"NodeNames":["node-0001","node-0000"],"FailedNodes":{},'
            b'"FailedAndUnresolvableNodes":{"node-0002":"cpu_usage_avg_5m above 0.65",'
            b'"node-0003":"cpu_usage_avg_5m above 0.65"},"Error":""}'
        )
        args["NodeNames"] = [HALF, IDLE]
        reply = connection.call("/v1/prioritize", go_json(args))
        assert reply.body == b'[{"Host":"node-0001","Score":5},{"Host":"node-0000","Score":9}]'


def test_twenty_calls_on_one_connection(cluster, extender):
    items = cluster.get("/api/v1/nodes")["items"]
    with extender.scheduler() as scheduler:
        for i in range(20):
            whole = i % 4 >= 2
            nodes = items if whole else NODES
            if i % 2:
                scores = scheduler.prioritize(nodes, cache_capable=not whole)
                assert scores == {IDLE: 9, HALF: 5, BUSY: 3, FULL: 1, BARE: 0}
            else:
                passing, rejected = scheduler.filter(nodes, cache_capable=not whole)
                assert passing == [IDLE, HALF, BARE]
                assert set(rejected) == {BUSY, FULL}


def test_errors_have_no_body_and_keep_the_connection(extender):
    good = go_json({"Pod": POD, "Nodes": None, "NodeNames": [IDLE]})
    with Connection(extender.port) as connection:
        for path, body, method, status in (
            ("/v1/filter", b"", "POST", 400),
            ("/v1/filter", b"{", "POST", 400),
            ("/v1/prioritize", b"[]", "POST", 400),
            ("/v1/bind", good, "POST", 404),
            ("/v1/preempt", good, "POST", 400),
            ("/v1/filters", good, "POST", 404),
            ("/v1?verb=/filter", good, "POST", 404),
            ("/", b"", "POST", 404),
            ("/v1/filter", b"", "GET", 405),
            ("/v1/filter", good, "PUT", 405),
        ):
            reply = connection.call(path, body, method)
            assert (reply.status, reply.body) == (status, b""), (path, method, reply.head)
            assert (b"\r\nAllow: POST\r\n" in reply.head) == (status == 405)
            assert connection.call("/v1/filter", good).status == 200


def test_whole_nodes_come_back_as_they_were(extender):
    """Fields that we have never heard of included, byte for byte."""
    items = [
        '{"metadata":{"name":"node-0000"},"x":[1e400,-0.0,12345678901234567890,"\\ud83d\\ude00"]}',
        '{ "status" : {"name":"decoy"} , "metadata" : { "annotations":{"name":"decoy"},'
        ' "name" : "node-0001" } }',
        '{"metadata":{"name":"node-0002","labels":{"a":"\\u003c\\"\\\\"}}}',
        '{"metadata":{"name":"not-seen-yet"},"spec":{"metadata":{"name":"node-0002"}}}',
    ]
    body = '{"Pod":{},"NodeNames":null,"Nodes":{"metadata":{},"items":[%s]}}' % ",".join(items)
    with Connection(extender.port) as connection:
        reply = connection.call("/filter", body.encode())
    assert reply.status == 200
    for item, passes in zip(items, (True, True, False, True)):
        assert (item.encode() in reply.body) == passes, item


def test_slow_clients_do_not_hold_up_others(extender):
    """More of them than there are workers, stuck in every stage of an exchange.

    That they all have their reply in the end shows that nobody had to wait for them to go.
    """
    body = go_json({"Pod": POD, "Nodes": None, "NodeNames": NODES})
    filler = [{"metadata": {"name": f"n{i}"}, "x": "y" * 10000} for i in range(1000)]
    big = go_json({"Pod": POD, "Nodes": {"items": filler}, "NodeNames": None})
    slow = [Connection(extender.port) for _ in range(24)]
    rests = []
    for i, connection in enumerate(slow):
        # In the head, in the body, or taking nothing of a reply of 10 MB.
        sent = big if i in (2, 5, 8, 11) else body
        request = connection.head("/filter", len(sent)) + sent
        keep = {0: len(request) - 5 - i, 1: 1 + i, 2: 0}[i % 3]
        connection.send(request[: len(request) - keep])
        rests.append(request[len(request) - keep :])
    with extender.scheduler() as scheduler:
        for i in range(40):
            drip = i % 24
            slow[drip].send(rests[drip][:1])
            rests[drip] = rests[drip][1:]
            assert scheduler.filter(NODES)[0] == [IDLE, HALF, BARE]
    for i, connection in enumerate(slow):
        connection.send(rests[i])
        document = connection.receive().json()
        if i in (2, 5, 8, 11):
            assert document["Nodes"]["items"] == filler
        else:
            assert document["NodeNames"] == [IDLE, HALF, BARE]
        connection.close()


# -- scores and reasons -----------------------------------------------------------------------


def test_everything_passes_while_the_api_server_is_down(start_standin, start_extender):
    standin = start_standin("--nodes", len(NODES))
    annotate(standin, BUSY, 0.9)
    standin.admin("listen", {"on": False})
    extender = start_extender(standin, content=RULES)
    with extender.scheduler() as scheduler:
        for _ in range(20):
            assert scheduler.filter(NODES) == (NODES, {})
            assert scheduler.prioritize(NODES) == dict.fromkeys(NODES, 0)
        assert not extender.ready()[0]
        standin.admin("listen", {"on": True})
        extender.wait_ready()
        wait_until(lambda: BUSY in scheduler.filter(NODES)[1], what="the first rejection")


# -- the end ----------------------------------------------------------------------------------


def test_a_request_under_way_is_answered_after_sigterm(cluster, start_extender):
    extender = start_extender(cluster, content=RULES)
    extender.wait_live()
    body = go_json({"Pod": POD, "Nodes": None, "NodeNames": NODES})
    with Connection(extender.port) as half, extender.scheduler() as idle:
        idle.filter(NODES)
        half.send_head("/filter", len(body))
        half.send(body[:50])
        extender.process.expect_death = True
        extender.process.popen.send_signal(signal.SIGTERM)
        extender.process.wait_log('msg="shutting down"')

        def is_refused():
            try:
                Connection(extender.port, timeout_s=5).close()
                return False
            except ConnectionRefusedError:
                return True
            except ConnectionResetError:
                return False  # the socket was closed with us in its queue

        wait_until(is_refused, what="the listening socket to be closed")
        half.send(body[50:])
        reply = half.receive()
        assert reply.status == 200
        assert reply.json()["NodeNames"] == [IDLE, HALF, BARE]
    assert extender.process.wait_exit() == 0


SHUTDOWN_DELAY_S = 3  # unless only a scheduler on the same host can call


def test_new_calls_are_answered_for_the_shutdown_delay(cluster, start_extender):
    extender = start_extender(cluster, "--bind-address=0.0.0.0", content=RULES)
    extender.wait_live()
    extender.process.expect_death = True
    stopped = time.monotonic()
    extender.process.popen.send_signal(signal.SIGTERM)
    extender.process.wait_log('msg="shutting down"')
    with extender.scheduler() as scheduler:
        assert scheduler.filter(NODES)[0] == [IDLE, HALF, BARE]
    assert not extender.ready()[0]
    assert extender.process.wait_exit() == 0
    assert time.monotonic() - stopped >= SHUTDOWN_DELAY_S


def test_a_second_signal_ends_the_shutdown_delay(cluster, start_extender):
    extender = start_extender(cluster, "--bind-address=0.0.0.0", content=RULES)
    extender.wait_live()
    extender.process.expect_death = True
    stopped = time.monotonic()
    extender.process.popen.send_signal(signal.SIGTERM)
    extender.process.wait_log('msg="shutting down"')
    assert extender.ready()[1]
    extender.process.popen.send_signal(signal.SIGINT)
    assert extender.process.wait_exit() == 0
    assert time.monotonic() - stopped < SHUTDOWN_DELAY_S


def test_what_changes_of_a_node_arrives(start_standin, start_extender):
    """Its readings to the edge of their time, period 3 m and 5 m more, and its end."""
    standin = start_standin("--nodes", len(NODES))
    extender = start_extender(standin, content=policy())
    extender.wait_live()
    with extender.scheduler() as scheduler:
        annotate(standin, BARE, 0.9, at=ago(8 * 60 - 30))
        wait_until(lambda: BARE in scheduler.filter(NODES)[1], what="the rejection")
        annotate(standin, BARE, 0.9, at=ago(8 * 60 + 1))
        wait_until(lambda: BARE in scheduler.filter(NODES)[0], what="the value to expire")
        annotate(standin, BARE, 0.9, at=ago(8 * 60 - 2))
        wait_until(lambda: BARE in scheduler.filter(NODES)[1], what="the rejection", poll_s=0.005)
        wait_until(lambda: BARE in scheduler.filter(NODES)[0], what="its end, by time alone")
        annotate(standin, BARE, 0.9)
        wait_until(lambda: BARE in scheduler.filter(NODES)[1], what="the rejection")
        standin.admin("delete", {"resource": "nodes", "names": [BARE]})
        wait_until(lambda: BARE in scheduler.filter(NODES)[0], what="the deleted node to pass")
    wait_until(
        lambda: extender.metric("plimsoll_extender_table_nodes") == len(NODES) - 1,
        what="the table to shrink",
    )
