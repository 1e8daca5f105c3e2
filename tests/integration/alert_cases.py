"""For each alert of deploy/monitoring/rules.yaml, series with which it fires, and those with which it does not.

Values are in promtool's notation, one a minute: "0+1x9" is 0, 1, ... 9.
"""

ALWAYS = "x400"


def stands(value):
    return f"{value}+0{ALWAYS}"


def grows(per_minute):
    return f"0+{per_minute}{ALWAYS}"


def controller(name, value, **labels):
    labels = {"namespace": "kube-system", "pod": "c-0", "instance": "c-0", "job": "c"} | labels
    return {f"{name}{{{','.join(f'{k}={v!r}' for k, v in labels.items())}}}": value}


def usage(node, ratio, metric="cpu_usage_avg_5m", **labels):
    labels = {"node": node, "metric": metric} | labels
    return controller("plimsoll_node_usage_ratio", stands(ratio), **labels)


def limit(ratio, **labels):
    labels = {"metric": "cpu_usage_avg_5m"} | labels
    return controller("plimsoll_node_limit_ratio", stands(ratio), **labels)


LIMIT = limit(0.8)
POOLS = LIMIT | limit(0.2, pool="1") | limit(0.95, pool="2")
INFO = "plimsoll_build_info"
LEADER = "plimsoll_leader"
STALE = "plimsoll_nodes_stale"
PATCHES = "plimsoll_patches_total"
CALLS = "plimsoll_extender_requests_total"
READINGS = "plimsoll_extender_readings"
DURATION = "plimsoll_extender_request_duration_seconds_bucket"
START = "process_start_time_seconds"
NODES = controller("plimsoll_nodes", stands(100))

# alert: (fires, does not)
CASES = {
    "PlimsollControllerAbsent": (
        controller(INFO, stands(1), program="plimsoll-extender"),
        controller(INFO, stands(1), program="plimsoll-controller"),
    ),
    "PlimsollNoLeader": (
        controller(LEADER, stands(0)) | controller(LEADER, stands(0), pod="c-1"),
        controller(LEADER, stands(0)) | controller(LEADER, stands(1), pod="c-1"),
    ),
    "PlimsollSeveralLeaders": (
        controller(LEADER, stands(1)) | controller(LEADER, stands(1), pod="c-1"),
        # Two installations, each with a leader of its own.
        controller(LEADER, stands(1)) | controller(LEADER, stands(1), namespace="other"),
    ),
    # One replica that sees nothing is enough: it may be the leader.
    "PlimsollLoadStale": (
        NODES | controller(STALE, stands(60)) | controller(STALE, stands(0), pod="c-1"),
        NODES | controller(STALE, stands(40)),
    ),
    "PlimsollSomeLoadStale": (
        NODES | controller(LEADER, stands(1)) | controller(STALE, stands(1)),
        # It comes and goes; and a standby has some all the time.
        NODES
        | controller(LEADER, stands(1))
        | controller(STALE, f"1+0x9 0+0{ALWAYS}")
        | controller(LEADER, stands(0), pod="c-1")
        | controller(STALE, stands(2), pod="c-1"),
    ),
    "PlimsollPatchesFail": (
        controller(PATCHES, grows(10), outcome="ok")
        | controller(PATCHES, grows(2), outcome="forbidden"),
        controller(PATCHES, grows(10), outcome="ok")
        | controller(PATCHES, grows(9), outcome="not_found"),
    ),
    "PlimsollPatchesLate": (
        controller("plimsoll_patches_waiting", stands(3)),
        # Every fourth look finds the queue empty.
        controller("plimsoll_patches_waiting", " ".join(["5", "9", "2", "0"] * 100)),
    ),
    "PlimsollScrapesSkipped": (
        controller("plimsoll_scrapes_skipped_total", grows(1), source="node-exporter"),
        controller("plimsoll_scrapes_skipped_total", stands(7), source="node-exporter"),
    ),
    "PlimsollNodeOverLimit": (
        # Both replicas see it, which is one alert; memory has no limit.
        POOLS
        | usage("a", 0.3, pool="1")
        | usage("a", 0.31, pool="1", pod="c-1")
        | usage("b", 0.5)
        | usage("c", 0.9, pool="2"),
        LIMIT | usage("a", 0.8) | usage("a", 0.99, metric="mem_usage_avg_5m"),
    ),
    "PlimsollClusterOverLimit": (
        POOLS | usage("a", 0.9) | usage("b", 0.9, pool="1"),
        LIMIT | usage("a", 0.9) | usage("b", 0.9) | usage("c", 0.9) | usage("d", 0.1),
    ),
    "PlimsollExtenderAbsent": (
        controller(INFO, stands(1), program="plimsoll-controller"),
        controller(INFO, stands(1), program="plimsoll-extender"),
    ),
    "PlimsollExtenderNotCalled": (
        controller(CALLS, stands(12), verb="filter", code="200"),
        # Once in four hours is enough.
        controller(CALLS, "0+0x240 1+0x159", verb="filter", code="200"),
    ),
    "PlimsollExtenderErrors": (
        controller(CALLS, grows(90), verb="filter", code="200")
        | controller(CALLS, grows(3), verb="filter", code="400"),
        controller(CALLS, grows(990), verb="filter", code="200")
        | controller(CALLS, grows(3), verb="filter", code="400"),
    ),
    "PlimsollExtenderSlow": (
        controller(DURATION, grows(90), verb="filter", le="0.1")
        | controller(DURATION, grows(100), verb="filter", le="0.25")
        | controller(DURATION, grows(100), verb="filter", le="+Inf"),
        # A bind waits for the API server.
        controller(DURATION, grows(90), verb="bind", le="0.1")
        | controller(DURATION, grows(100), verb="bind", le="0.25")
        | controller(DURATION, grows(100), verb="bind", le="+Inf"),
    ),
    "PlimsollReadingsUnusable": (
        controller(READINGS, stands(70), state="usable")
        | controller(READINGS, stands(20), state="expired")
        | controller(READINGS, stands(10), state="missing"),
        controller(READINGS, stands(85), state="usable")
        | controller(READINGS, stands(15), state="missing"),
    ),
    "PlimsollClocksDiffer": (
        controller("plimsoll_extender_skewed_readings", stands(4)),
        controller("plimsoll_extender_skewed_readings", stands(0)),
    ),
    "PlimsollNodesUnknown": (
        controller("plimsoll_extender_unknown_nodes_total", grows(2)),
        # Of nodes that had just come.
        controller("plimsoll_extender_unknown_nodes_total", f"0+2x5 10+0{ALWAYS}"),
    ),
    # promtool begins at the epoch.
    "PlimsollCertificateExpires": (
        controller("plimsoll_tls_certificate_expiry_timestamp_seconds", stands(6 * 86400)),
        controller("plimsoll_tls_certificate_expiry_timestamp_seconds", stands(30 * 86400)),
    ),
    "PlimsollPolicyRefused": (
        controller("plimsoll_policy_failed", stands(1)),
        controller("plimsoll_policy_failed", stands(0)),
    ),
    "PlimsollRestarts": (
        controller(START, grows(60)) | controller(INFO, stands(1), program="plimsoll-extender"),
        # Of another program.
        controller(START, grows(60)) | controller(INFO, stands(1), instance="another"),
    ),
}


def info(program, value, **labels):
    return controller(INFO, value, program=f"plimsoll-{program}", **labels)


# Likewise, of several clusters in one Prometheus.
IN_SEVERAL_CLUSTERS = {
    "PlimsollControllerAbsent": (
        info("controller", stands(1), cluster="a") | info("extender", stands(1), cluster="b"),
        # A replica takes the place of another.
        info("controller", stands(1), cluster="a")
        | info("controller", "1+0x3 stale", cluster="b")
        | info("controller", stands(1), cluster="b", pod="c-1"),
    ),
    "PlimsollExtenderAbsent": (
        info("extender", stands(1), cluster="a") | info("extender", "1+0x3 stale", cluster="b"),
        # The other one has a second scheduler, whose extender cannot be scraped.
        info("extender", stands(1), cluster="a") | info("controller", stands(1), cluster="b"),
    ),
}
