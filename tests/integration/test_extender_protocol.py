"""The extender's wire protocol, byte by byte, as kube-scheduler speaks it and as strangers do."""

import collections
import json
import random
import signal
import threading

import pytest

from extender_kit import (
    CPU,
    MEM,
    POD,
    Connection,
    Extender,
    annotate,
    go_json,
    node_names,
    policy,
    stamp,
    write_policy,
)
from harness import wait_until

NODES = node_names(5)
IDLE, HALF, BUSY, FULL, BARE = NODES
STRANGERS = ["not-seen-yet", "tomorrow's", "Ünïcode"]


@pytest.fixture(scope="module")
def cluster(module_start_standin):
    """Nodes at 10, 50, 70 (over the limit) and 90 % (memory over the limit as well), one bare.

    This and `extender` are for the tests that only ask.
    """
    standin = module_start_standin("--nodes", len(NODES))
    for name, usage in zip(NODES, (0.1, 0.5, 0.7, 0.9)):
        annotate(standin, name, usage, **{MEM: usage})
    return standin


@pytest.fixture(scope="module")
def policy_path(tmp_path_factory):
    limits = {CPU: 0.65, MEM: 0.8}
    return write_policy(
        tmp_path_factory.mktemp("policy") / "policy.yaml", policy(limits=limits, period="1h")
    )


@pytest.fixture(scope="module")
def extender(cluster, module_run, binary, policy_path):
    extender = Extender(module_run, binary, cluster, f"--policy-config-path={policy_path}")
    extender.wait_live()
    return extender


@pytest.fixture
def start_extender(run, binary, policy_path):
    def start(standin, *flags, **more):
        return Extender(run, binary, standin, f"--policy-config-path={policy_path}", *flags, **more)

    return start


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
        assert reply.body == b'[{"Host":"node-0000","Score":4}]'


def test_twenty_calls_on_one_connection(cluster, extender):
    items = cluster.get("/api/v1/nodes")["items"]
    with extender.scheduler() as scheduler:
        for i in range(20):
            whole = i % 4 >= 2
            nodes = items if whole else NODES
            if i % 2:
                scores = scheduler.prioritize(nodes, cache_capable=not whole)
                assert scores == {IDLE: 9, HALF: 5, BUSY: 3, FULL: 1}
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
            assert connection.call("/v1/filter", good).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/filter",
        "//filter",
        "/x/y/filter",
        "/v1//filter",
        "/v1/filter/",
        "/a%20b/filter",
        "/filter?x=1",
    ],
)
def test_any_prefix(extender, path):
    args = {"Pod": POD, "Nodes": None, "NodeNames": NODES}
    with Connection(extender.port) as connection:
        reply = connection.call(path, go_json(args))
        assert reply.status == 200
        assert reply.json()["NodeNames"] == [IDLE, HALF, BARE]


def test_unknown_nodes_pass(extender):
    with extender.scheduler() as scheduler:
        passing, rejected = scheduler.filter([STRANGERS[0], BUSY, *STRANGERS[1:]])
        assert (passing, list(rejected)) == (STRANGERS, [BUSY])
        assert scheduler.prioritize([*STRANGERS, IDLE]) == {IDLE: 9}
        # case counts in names of nodes
        assert scheduler.filter([BUSY.upper(), BUSY])[0] == [BUSY.upper()]


def test_pods_of_a_daemonset_pass(extender):
    def owned_by(*kinds):
        owners = [{"apiVersion": "apps/v1", "kind": kind, "name": "x"} for kind in kinds]
        return {**POD, "metadata": {**POD["metadata"], "ownerReferences": owners}}

    with extender.scheduler() as scheduler:
        for pod in (owned_by("DaemonSet"), owned_by("ReplicaSet", "DaemonSet")):
            assert scheduler.filter(NODES, pod) == (NODES, {})
            assert scheduler.filter([BUSY], pod) == ([BUSY], {})
        labelled = {"metadata": {"name": "DaemonSet", "labels": {"kind": "DaemonSet"}}}
        for pod in (owned_by(), owned_by("ReplicaSet"), owned_by("daemonset"), labelled):
            assert scheduler.filter(NODES, pod)[0] == [IDLE, HALF, BARE]


def test_a_name_twice_comes_back_once(extender):
    with extender.scheduler() as scheduler:
        names = [IDLE, "new", BUSY, IDLE, "new", BUSY, HALF, IDLE]
        passing, rejected = scheduler.filter(names)
        assert (passing, list(rejected)) == ([IDLE, "new", HALF], [BUSY])
        assert scheduler.prioritize(names) == {IDLE: 9, HALF: 5, BUSY: 3}
        whole = [{"metadata": {"name": name}} for name in names]
        assert scheduler.filter(whole, cache_capable=False)[0] == [IDLE, "new", HALF]


@pytest.mark.parametrize(
    "args, names",
    [
        ({"NodeNames": []}, []),
        ({"NodeNames": None, "Nodes": None}, []),
        ({}, []),
        ({"Nodes": {}}, []),
        ({"Nodes": {"metadata": {}, "items": None}}, []),
        ({"Nodes": {"items": []}, "NodeNames": None}, []),
        ({"Pod": None, "NodeNames": [IDLE]}, [IDLE]),
        ({"Pod": {"metadata": None}, "NodeNames": [IDLE]}, [IDLE]),
        ({"Pod": {"metadata": {"ownerReferences": None}}, "NodeNames": [IDLE]}, [IDLE]),
        ({"Nodes": None, "NodeNames": [IDLE], "Pod": POD}, [IDLE]),
        ({"Future": {"NodeNames": ["x"]}, "NodeNames": [IDLE]}, [IDLE]),
        ({"nodenames": [IDLE]}, [IDLE]),  # Go's decoder would not mind either
        ({"Nodes": {"items": [{"metadata": {"name": IDLE}}]}, "NodeNames": [HALF]}, [HALF]),
    ],
)
def test_lists_that_are_null_or_odd(extender, args, names):
    with Connection(extender.port) as connection:
        reply = connection.call("/filter", go_json(args))
        assert reply.status == 200
        document = reply.json()
        if "NodeNames" in args or "nodenames" in args:
            given = args.get("NodeNames", args.get("nodenames"))
        else:
            given = None
        if given is None:
            assert document["Nodes"]["items"] == names
        else:
            assert document["NodeNames"] == names
        # One candidate is no better than the others, and so has no points.
        reply = connection.call("/prioritize", go_json(args))
        assert (reply.status, reply.body) == (200, b"[]")


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


# -- unreadable requests ----------------------------------------------------------------------


REPLY = b'{"Nodes":%b,"NodeNames":%b,"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}'


def two_requests():
    """(request, its reply with %b for the nodes, the nodes): by name and as whole Nodes."""
    names = [IDLE, STRANGERS[0], BARE]
    items = [
        {"metadata": {"name": IDLE}, "status": {"images": [{"names": ["a", "b"]}]}},
        {"metadata": {"name": STRANGERS[0], "annotations": {CPU: "1,x"}}},
    ]
    whole = {"Pod": POD, "Nodes": {"metadata": {}, "items": items}, "NodeNames": None}
    return [
        (
            go_json({"Pod": POD, "Nodes": None, "NodeNames": names}),
            REPLY % (b"null", b"%b"),
            go_json(names),
        ),
        (go_json(whole), REPLY % (b'{"metadata":{},"items":%b}', b"null"), go_json(items)),
    ]


def test_requests_cut_at_every_byte(extender):
    with Connection(extender.port) as connection:
        for body, form, nodes in two_requests():
            assert connection.call("/filter", body).body == form % nodes
            for end in range(len(body)):
                reply = connection.call("/filter", body[:end])
                assert (reply.status, reply.body) == (400, b""), body[:end]


def test_wrong_utf8_at_every_byte(extender):
    with Connection(extender.port) as connection:
        for body, _, _ in two_requests():
            for at in range(len(body)):
                spoilt = body[:at] + b"\xff" + body[at + 1 :]
                reply = connection.call("/filter", spoilt)
                assert (reply.status, reply.body) == (400, b""), spoilt


def member(args, name):
    """Go's rules: the exact spelling, else any."""
    if name in args:
        return args[name]
    return next((v for k, v in reversed(args.items()) if k.lower() == name.lower()), None)


def no_json(text):
    raise ValueError(f"{text} is no JSON")


def passing(body):
    """The candidates in filter's reply, None if there must be none; ValueError: it is no JSON."""
    args = json.loads(body.decode(), parse_constant=no_json)
    names, nodes = member(args, "NodeNames"), member(args, "Nodes")
    if names is not None:
        listed, kind = names, str
    elif nodes is None or isinstance(nodes, dict):
        listed, kind = (nodes or {}).get("items") or [], dict
    else:
        return None
    if not isinstance(listed, list) or not all(isinstance(item, kind) for item in listed):
        return None
    first = {}
    for item in listed:
        first.setdefault(item if kind is str else item.get("metadata", {}).get("name"), item)
    return [item for name, item in first.items() if name not in (BUSY, FULL)]


def test_requests_with_wrong_bytes(extender):
    """Everything that is JSON has the one right answer, and what is not is refused."""
    rng, counts = random.Random(7), collections.Counter()
    requests = two_requests()
    with Connection(extender.port) as connection:
        for i in range(3000):
            body = spoil(rng, requests[i % 2][0])
            reply = connection.call("/filter", body)
            try:
                wanted = passing(body)
            except ValueError:
                wanted = None
            counts[wanted is not None] += 1
            if wanted is None:
                assert (reply.status, reply.body) == (400, b""), (body, reply.head)
                continue
            assert reply.status == 200, (body, reply.head)
            document = reply.json()
            assert (document["Nodes"] or {"items": document["NodeNames"]})["items"] == wanted, body
    print(f"requests with wrong bytes, refused and answered: {counts}")
    assert min(counts.values()) > 200 and len(counts) == 2, counts


def spoil(rng, body):
    """Up to five changes: other bytes, fewer, more, or the same again."""
    body = bytearray(body)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at = rng.randrange(len(body))
        kind = rng.randrange(4)
        if kind == 0:
            body[at] = rng.randrange(256)
        elif kind == 1:
            body[at] = rng.choice(b'{}[]",:\\0-e\x00\xff ')
        elif kind == 2:
            del body[at : at + rng.choice((1, 2, 10))]
        else:
            body[at:at] = body[at : at + rng.choice((1, 3, 20))]
    return bytes(body)


ODD = {
    "brackets": b"[" * (1 << 20),
    "braces": b'{"a":' * 200000,
    "nested names": b'{"NodeNames":[' + b"[" * 100000 + b"]" * 100000 + b"]}",
    "nested pod": b'{"Pod":' + b"[" * 100000 + b"]" * 100000 + b',"NodeNames":["a"]}',
    "names a string": b'{"NodeNames":"a"}',
    "names a number": b'{"NodeNames":7}',
    "names an object": b'{"NodeNames":{"a":1}}',
    "names of numbers": b'{"NodeNames":["a",7]}',
    "names of null": b'{"NodeNames":["a",null]}',
    "names of lists": b'{"NodeNames":["a",["b"]]}',
    "nodes a list": b'{"Nodes":[{"metadata":{"name":"a"}}]}',
    "nodes a string": b'{"Nodes":"a"}',
    "items an object": b'{"Nodes":{"items":{"a":1}}}',
    "items of strings": b'{"Nodes":{"items":["a"]}}',
    "items of null": b'{"Nodes":{"items":[null]}}',
    "a list": b'[{"NodeNames":["a"]}]',
    "null": b"null",
    "a string": b'"NodeNames"',
    "two documents": b'{"NodeNames":["a"]}{"NodeNames":["b"]}',
    "no JSON": b"NodeNames=a",
    "a form": b"a=b&c=d",
    "zeros": bytes(1000),
    "noise": random.Random(1).randbytes(10000),
    "a byte order mark": b'\xef\xbb\xbf{"NodeNames":["a"]}',
    "half a surrogate": b'{"NodeNames":["\\ud800"]}',
    "broken UTF-8": b'{"NodeNames":["\xff\xfe"]}',
    "a raw newline": b'{"NodeNames":["a\nb"]}',
    "a comma too many": b'{"NodeNames":["a",]}',
    "single quotes": b"{'NodeNames':['a']}",
    "a comment": b'{"NodeNames":["a"]/*b*/}',
    "NaN": b'{"NodeNames":["a"],"x":NaN}',
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_requests(extender, kind):
    with Connection(extender.port) as connection:
        for path in ("/filter", "/prioritize"):
            reply = connection.call(path, ODD[kind])
            assert (reply.status, reply.body) == (400, b""), (path, reply.head, reply.body[:200])
        assert connection.call("/filter", b'{"NodeNames":["a"]}').status == 200


def test_escapes_and_long_names(extender):
    names = ["a" * 253, "b" * 254, "c" * 100000, 'quo"te', "back\\slash", "nul\0", "\u00e9", ""]
    with extender.scheduler() as scheduler:
        assert scheduler.filter(names) == (names, {})
        assert scheduler.prioritize(names) == {}
    body = b'{"NodeNames":["\\u006eode-0002","node\\u002d0000"]}'
    with Connection(extender.port) as connection:
        document = connection.call("/filter", body).json()
    assert document["NodeNames"] == [IDLE]
    assert list(document["FailedAndUnresolvableNodes"]) == [BUSY]


def test_a_body_above_the_ceiling(extender):
    with Connection(extender.port) as connection:
        # Announced only: nobody has to read 128 MiB to know.
        connection.send(connection.head("/filter", (128 << 20) + 1))
        reply = connection.receive()
        assert (reply.status, reply.body) == (413, b"")
    for length, status in (("-1", 400), ("abc", 400), ("99999999999999999999999", 413)):
        with Connection(extender.port) as connection:
            head = connection.head("/filter", 0).replace(b"Length: 0", f"Length: {length}".encode())
            connection.send(head)
            assert connection.receive().status == status, length
    with extender.scheduler() as scheduler:
        assert scheduler.filter(NODES)[0] == [IDLE, HALF, BARE]


def test_a_chunked_body_is_read(extender):
    """kube-scheduler never sends one; a proxy in between may."""
    body = go_json({"Pod": POD, "Nodes": None, "NodeNames": NODES})
    parts = [body[i : i + 100] for i in range(0, len(body), 100)]
    with Connection(extender.port) as connection:
        head = connection.head("/filter", 0).replace(
            b"Content-Length: 0", b"Transfer-Encoding: chunked"
        )
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
        connection.send(head + chunks + b"0\r\n\r\n")
        reply = connection.receive()
        assert reply.status == 200 and reply.json()["NodeNames"] == [IDLE, HALF, BARE]


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


def test_compact_scores_rank_the_same(start_standin, start_extender):
    names = node_names(60)
    standin = start_standin("--nodes", len(names))
    rng = random.Random(3)
    for name in names[:50]:
        annotate(standin, name, rng.random())
    compact = start_extender(standin, name="compact")
    full = start_extender(standin, "--compact-scores=false", name="full")
    for extender in (compact, full):
        extender.wait_live()
    with compact.scheduler() as one, full.scheduler() as other:
        for _ in range(50):
            asked = rng.sample(names, rng.randint(1, len(names)))
            scores, full_scores = one.prioritize(asked), other.prioritize(asked)
            assert set(full_scores) == set(asked)
            least = min(full_scores.values())
            assert 0 not in scores.values()
            assert {n: scores.get(n, 0) + least for n in asked} == full_scores


def test_spread_scores(cluster, run, binary, tmp_path):
    path = write_policy(tmp_path / "spread.yaml", policy(scoring="spread"))
    extender = Extender(
        run, binary, cluster, f"--policy-config-path={path}", "--compact-scores=false"
    )
    extender.wait_live()
    with extender.scheduler() as scheduler:
        # score100: 90, 50, 30, 10 and 0
        assert scheduler.prioritize([IDLE, HALF]) == {IDLE: 10, HALF: 0}
        assert scheduler.prioritize([IDLE, HALF, BUSY]) == {IDLE: 10, HALF: 3, BUSY: 0}
        assert scheduler.prioritize([HALF, HALF]) == {HALF: 10}
        assert scheduler.prioritize([BARE, "new"]) == {BARE: 10, "new": 10}
        assert scheduler.prioritize([IDLE, "new"]) == {IDLE: 10, "new": 0}


def test_relative_scores(cluster, run, binary, tmp_path):
    document = policy()
    document["spec"]["priority"] = [{"name": CPU, "weight": 1, "scale": "relative"}]
    path = write_policy(tmp_path / "relative.yaml", document)
    extender = Extender(
        run, binary, cluster, f"--policy-config-path={path}", "--compact-scores=false"
    )
    extender.wait_live()
    with extender.scheduler() as scheduler:
        # cpu: 0.1, 0.5 and 0.7; the busiest of each call is what counts as full
        assert scheduler.prioritize([IDLE, HALF]) == {IDLE: 8, HALF: 0}
        assert scheduler.prioritize([IDLE, HALF, BUSY]) == {IDLE: 9, HALF: 3, BUSY: 0}
        assert scheduler.prioritize([HALF, HALF]) == {HALF: 0}
        assert scheduler.prioritize([IDLE, BARE, "new"]) == {IDLE: 0, BARE: 0, "new": 0}


def test_reasons_are_constant(start_standin, start_extender):
    """The scheduler counts equal reasons in one line of its event."""
    names = node_names(100)
    standin = start_standin("--nodes", len(names))
    rng = random.Random(5)
    for name in names:
        annotate(standin, name, rng.random(), **{MEM: f"{rng.random():.5f}"})
    extender = start_extender(standin)
    extender.wait_live()
    with extender.scheduler() as scheduler:
        passing, rejected = scheduler.filter(names)
    assert len(passing) > 10 and len(rejected) > 10
    assert set(rejected.values()) == {"cpu_usage_avg_5m above 0.65", "mem_usage_avg_5m above 0.8"}


def test_everything_passes_while_the_api_server_is_down(start_standin, start_extender):
    standin = start_standin("--nodes", len(NODES))
    annotate(standin, BUSY, 0.9)
    standin.admin("listen", {"on": False})
    extender = start_extender(standin, "--compact-scores=false")
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
    extender = start_extender(cluster)
    extender.wait_live()
    body = go_json({"Pod": POD, "Nodes": None, "NodeNames": NODES})
    with Connection(extender.port) as half, extender.scheduler() as idle:
        idle.filter(NODES)
        half.send(half.head("/filter", len(body)) + body[:50])
        # Its head has been read when another request behind it has been answered.
        idle.filter(NODES)
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


def test_sigterm_under_load(cluster, start_extender):
    """Every request that has been accepted is answered; none is torn off in between."""
    extender = start_extender(cluster)
    extender.wait_live()
    answered, torn, stop = [], [], threading.Event()

    body = go_json({"Pod": POD, "Nodes": None, "NodeNames": NODES})

    def ask():
        with Connection(extender.port) as connection:
            while not stop.is_set():
                try:
                    reply = connection.call("/filter", body)
                except ConnectionError as error:
                    # Closed between two exchanges is fair, within one is not.
                    if connection.pending:
                        torn.append(repr(error))
                    return
                if reply.status != 200 or reply.json()["NodeNames"] != [IDLE, HALF, BARE]:
                    torn.append(repr(reply.head))
                answered.append(1)
                if "close" in reply.headers.get("connection", ""):
                    return

    clients = [threading.Thread(target=ask) for _ in range(4)]
    for client in clients:
        client.start()
    wait_until(lambda: len(answered) > 100, what="a hundred answers")
    code = extender.process.stop()
    stop.set()
    for client in clients:
        client.join(60)
    assert (code, torn) == (0, [])
    assert not any(client.is_alive() for client in clients)


def test_what_changes_of_a_node_arrives(start_standin, run, binary, tmp_path):
    """Its readings to the edge of their time, period 3 m and 5 m more, and its end."""
    standin = start_standin("--nodes", len(NODES))
    path = write_policy(tmp_path / "policy.yaml", policy())
    extender = Extender(run, binary, standin, f"--policy-config-path={path}")
    extender.wait_live()
    with extender.scheduler() as scheduler:
        annotate(standin, BARE, 0.9, at=stamp(-8 * 60 + 30))
        wait_until(lambda: BARE in scheduler.filter(NODES)[1], what="the rejection")
        annotate(standin, BARE, 0.9, at=stamp(-8 * 60 - 1))
        wait_until(lambda: BARE in scheduler.filter(NODES)[0], what="the value to expire")
        annotate(standin, BARE, 0.9, at=stamp(-8 * 60 + 2))
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
