"""The synthetic exporters look like Debian's node_exporter."""

from harness import fetch, parse_page


def test_page_has_the_real_ones_format(exporters, real_node_exporter):
    """Every family that both have is described alike, and the labels have the same names."""
    real_page = fetch(f"{real_node_exporter}/metrics")
    our_page = exporters.page("127.1.0.1")
    assert our_page.headers["Content-Type"] == real_page.headers["Content-Type"]
    assert our_page.headers["Transfer-Encoding"] == real_page.headers["Transfer-Encoding"]
    real_series, real_helps, real_types = parse_page(real_page.text)
    our_series, our_helps, our_types = parse_page(our_page.text)
    shared = set(real_helps) & set(our_helps)
    # What depends on the machine (devices, pressure, meminfo's fields) may be missing on a side.
    required = {
        "node_cpu_seconds_total",
        "node_memory_MemTotal_bytes",
        "node_memory_MemAvailable_bytes",
        "node_load5",
        "node_boot_time_seconds",
        "node_time_seconds",
        "node_scrape_collector_success",
        "go_info",
        "process_cpu_seconds_total",
    }
    assert required <= shared, required - shared
    assert {f: real_helps[f] for f in shared} == {f: our_helps[f] for f in shared}
    assert {f: real_types[f] for f in shared} == {f: our_types[f] for f in shared}

    def labels(series):
        found = {}
        for name in series:
            family, _, rest = name.partition("{")
            found.setdefault(family, set()).add(
                tuple(part.split("=")[0] for part in rest.rstrip("}").split('",') if part)
            )
        return found

    real_labels, our_labels = labels(real_series), labels(our_series)
    for family in sorted(set(real_labels) & set(our_labels)):
        assert real_labels[family] == our_labels[family], family
    # Families appear in order, each described before its first series.
    ours = [line.split(" ")[2] for line in our_page.text.splitlines() if line.startswith("# HELP")]
    assert ours == sorted(ours)
