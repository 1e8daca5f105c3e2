"""The page of node-metrics, the agent of crane-scheduler-plus, of a synthetic target.

As https://github.com/kubeservice-stack/node-metrics documents it in pkg/collector and pkg/schedule:
each 15 s it notes how busy the node is in percent; the gauges are the mean of the notes of the last
301 s and the largest one of the last 3,601 and 86,401 s. (Its own note of the CPU is the mean since
boot; here it is that of the 15 s.) Without a note there is no gauge. The rest of its page is
node_exporter's cpu and meminfo, which collect[] can ask for.
"""

NOTE_S = 15
WINDOWS = {  # suffix: (seconds, reduction)
    "active": (NOTE_S + 1, "mean"),
    "avg_5m": (301, "mean"),
    "max_avg_1h": (3601, "max"),
    "max_avg_1d": (86401, "max"),
}
COLLECTORS = ("base", "cpu", "meminfo")  # the gauges, and node_exporter's


def notes(signal, since, now):
    """What was noted after `since`."""
    first = max(1, int(since // NOTE_S) + 1)
    return [
        100 * signal.mean((i - 1) * NOTE_S, i * NOTE_S)
        for i in range(first, int(now // NOTE_S) + 1)
    ]


def page(target, collectors):
    """Its whole page, or some collectors of it."""
    series = target.page(tuple(name for name in collectors if name != "base"))
    if "base" not in collectors:
        return series
    now = target.clock.now()
    lines = []
    for resource in ("cpu", "mem"):
        for suffix, (seconds, reduction) in WINDOWS.items():
            found = notes(target.signals[resource], now - seconds, now)
            if not found:
                continue
            value = max(found) if reduction == "max" else sum(found) / len(found)
            words = f"{resource} usage {suffix.replace('_', ' ')}."
            name = f"node_{resource}_usage_{suffix}"
            lines += [f"# HELP {name} {words}", f"# TYPE {name} gauge", f"{name} {value}"]
    return "".join(f"{line}\n" for line in lines).encode() + series
