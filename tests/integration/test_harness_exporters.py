"""The synthetic exporters look like Debian's node_exporter, and misbehave only on command."""

import http.client
import socket
import time
import urllib.error

import pytest

from harness import fetch, parse_page


@pytest.fixture(scope="module")
def exporters(module_start_exporters):
    """One for all tests; each has targets of its own."""
    return module_start_exporters()


SMALL = "?collect[]=cpu&collect[]=meminfo&collect[]=loadavg"


def cpu_seconds(page):
    """(seconds idle, seconds in all modes) of a page."""
    series, _, _ = parse_page(page)
    rows = {k: v[0] for k, v in series.items() if k.startswith("node_cpu_seconds_total{")}
    return sum(v for k, v in rows.items() if 'mode="idle"' in k), sum(rows.values())


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


def test_collect_parameters_as_the_real_one_answers_them(exporters, real_node_exporter):
    for query in (SMALL, "?collect[]=cpu", "?collect[]=nonsense", "?collect[]=cpu&collect[]=wifi"):
        real, ours = fetch(f"{real_node_exporter}/metrics{query}"), exporters.page("some", query)
        assert real.status == ours.status, query
        if real.status == 400:
            assert real.body == ours.body
            assert real.headers["Content-Type"] == ours.headers["Content-Type"]
        else:
            real_types, our_types = parse_page(real.text)[2], parse_page(ours.text)[2]
            prefixes = {name.split("_")[1] for name in our_types if name.startswith("node_")}
            assert prefixes == {n.split("_")[1] for n in real_types if n.startswith("node_")}
    exporters.set(["some"], disabled=["pressure"])
    answer = exporters.page("some", "?collect[]=cpu&collect[]=pressure")
    assert (answer.status, answer.text.endswith("disabled collector: pressure")) == (400, True)
    assert "node_pressure" not in exporters.page("some").text


def test_reboot_and_hotplug(exporters):
    name = "reboots"
    before = cpu_seconds(exporters.page(name).text)
    exporters.admin("reboot", {"targets": [name]})
    after = cpu_seconds(exporters.page(name).text)
    assert before[1] > 100_000 and after[1] < 1000
    exporters.set([name], cpus=[0, 2])
    page = exporters.page(name).text
    assert 'cpu="2",mode="idle"' in page and 'cpu="1",mode="idle"' not in page


def test_trouble_with_the_page(exporters):
    name = "troubled"
    good = exporters.page(name).text
    for value in ("NaN", "+Inf", "-1", "1e999", "abc"):
        exporters.trouble([name], "values", value=value, label='mode="idle"')
        page = exporters.page(name).text
        lines = [line for line in page.splitlines() if 'mode="idle"' in line]
        assert lines and all(line.endswith(" " + value) for line in lines)
    exporters.trouble([name], "duplicate", family="node_memory_MemTotal_bytes")
    series, _, _ = parse_page(exporters.page(name).text)
    assert series["node_memory_MemTotal_bytes"] == [32 * 2**30, 16 * 2**30]
    exporters.trouble([name], "missing")
    assert "node_cpu_seconds_total{" not in exporters.page(name).text
    exporters.trouble([name], "cut", bytes=1000, clean=True)
    assert exporters.page(name).text == good[:1000]
    exporters.trouble([name], "empty")
    assert exporters.page(name).body == b""
    exporters.trouble([name], "stuck")
    assert cpu_seconds(exporters.page(name).text) == cpu_seconds(exporters.page(name).text)
    exporters.trouble([name], "status", code=503)
    assert [exporters.page(where).status for where in (name, "other")] == [503, 200]


def test_trouble_on_the_wire(exporters):
    exporters.trouble(["127.3.0.1"], "cut", bytes=5000)
    with pytest.raises(http.client.IncompleteRead):
        exporters.page("127.3.0.1")
    exporters.trouble(["127.3.0.1"], "rst")
    with pytest.raises((ConnectionResetError, urllib.error.URLError)):
        exporters.page("127.3.0.1")
    for kind in ("hang", "mute"):
        exporters.trouble(["127.3.0.1"], kind)
        with pytest.raises(OSError):
            fetch(f"http://127.3.0.1:{exporters.port}/metrics", timeout_s=0.3)
    exporters.trouble(["127.3.0.1"], "redirect")
    with socket.create_connection(("127.3.0.1", exporters.port)) as sock:
        sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"Location: /metrics\r\n" in sock.recv(4096)
    exporters.trouble(["127.3.0.1"], "gzip_bomb", mebibytes=512)
    bomb = exporters.page("127.3.0.1").body
    assert len(bomb) < 1024 * 1024
    exporters.trouble(["127.3.0.1"], "drip", bytes=1, seconds=0.01)
    began = time.monotonic()
    with socket.create_connection(("127.3.0.1", exporters.port)) as sock:
        sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert sum(len(sock.recv(1)) for _ in range(20)) == 20
    assert time.monotonic() - began > 0.1
    exporters.well()
    assert exporters.page("127.3.0.1").status == 200
    assert exporters.page("127.3.0.2").status == 200


def test_typos_are_errors(exporters):
    for path, body in [
        ("trouble", {"targets": "all", "kind": "hangs"}),
        ("trouble", {"targets": "all", "kind": "hang", "second": 1}),
        ("targets", {"targets": "all", "loads": {}}),
        ("targets", {"targets": ["n"], "load": {"gpus": 1}}),
    ]:
        with pytest.raises(AssertionError, match="400"):
            exporters.admin(path, body)
