"""What the extender keeps in memory when a request is over."""

from extender_kit import FILTER_KEYS, POD, annotate, go_json, policy
from harness import fetch, wait_until

MIB = 1 << 20
# A little over what is kept of request bodies: of the largest nothing stays.
REQUEST_BYTES = 100 * MIB


def large_request(hot):
    """Whole nodes that pass, each followed by one that is rejected, so that no two go out in one."""
    label = "x" * 3800
    names = [f"stranger-{i:06d}" for i in range(REQUEST_BYTES // 4000)]
    hot_node = f',{{"metadata":{{"name":"{hot}"}}}}'
    nodes = ",".join(
        f'{{"metadata":{{"name":"{name}","labels":{{"pad":"{label}"}}}}}}{hot_node}'
        for name in names
    )
    pod = go_json(POD).decode()
    body = f'{{"Pod":{pod},"Nodes":{{"metadata":{{}},"items":[{nodes}]}},"NodeNames":null}}'
    return names, body.encode()


def test_large_reply_is_given_back(start_standin, start_extender):
    standin = start_standin("--nodes", 1, "--images", 0)
    annotate(standin, "node-0000", 0.9)
    extender = start_extender(standin, content=policy(), build="release")
    extender.wait_live()
    with extender.scheduler() as scheduler:
        assert scheduler.filter(["node-0000"])[0] == []
        before_kib = extender.process.rss_kib()
        names, body = large_request("node-0000")
        answer = fetch(f"{extender.url}/v1/filter", "POST", body)
        assert answer.status == 200
        result = answer.json()
        assert list(result) == FILTER_KEYS
        assert [node["metadata"]["name"] for node in result["Nodes"]["items"]] == names
        assert list(result["FailedAndUnresolvableNodes"]) == ["node-0000"]

    def kept_mib():
        kept = (extender.process.rss_kib() - before_kib) / 1024
        assert kept < 50, f"{kept:.0f} MiB"
        return True

    wait_until(kept_mib, what="the memory to be given back")
