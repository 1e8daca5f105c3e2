"""What our pages tell to try before there is a cluster: the windows of one exporter, the peers of the
integration tests, a shell in a cluster of one's own. In the sandbox their fixed ports are free."""

import json
import os
import re
import shlex
import shutil
import time

from cluster.nodes import node_object
from harness import fetch, wait_until
from pages import TOP, block
from programs import complete

QUICK_START = "docs/quick-start.md"


def start_node_exporter(run, address):
    # It does not handle SIGTERM: dying of it is its ordinary end.
    argv = [shutil.which("prometheus-node-exporter"), f"--web.listen-address={address}"]
    run(argv, "node-exporter", clean_exit=False).wait_log("Listening on")


def test_windows_of_one_exporter(run, tmp_path):
    start_node_exporter(run, "127.0.0.1:9100")
    (tmp_path / "build").symlink_to(os.environ["PLIMSOLL_BUILD_DIR"])
    done = complete("bash", "-euxc", block(QUICK_START, "windows"), cwd=tmp_path, timeout=600)
    # Two windows of CPU and two of memory.
    assert re.search(r"^web-1( +[\d.]+%){4} .* ok$", done.stdout, re.M), done.stdout


def test_a_cluster_without_installing(unscheduled, run, binary, tmp_path, monkeypatch, figure):
    """The lines of the page, in a cluster of kwok in which nothing is installed."""
    for number in range(10):
        node = node_object(f"node-{number}", f"10.0.0.{number}")
        unscheduled.api.create("/api/v1/nodes", node)
    lines = block(QUICK_START, "cluster").splitlines()
    assert len(lines) <= 6, "with git clone and cd, eight"
    commands = [shlex.split(line.rstrip(" &")) for line in lines]
    making, exporter, controller, extender, looking = commands
    assert making == ["make", "build"]
    monkeypatch.setenv("KUBECONFIG", unscheduled.kubeconfig)

    started = time.monotonic()
    run(exporter, "node-exporter", clean_exit=False).wait_log("Listening on")
    ours = {name: binary(os.path.basename(name)) for name, *_ in commands[2:]}
    controlling = run([ours[controller[0]], *controller[1:]], "controller")
    answering = run([ours[extender[0]], *extender[1:]], "extender")
    answering.wait_log(r"initial list complete.*resource=nodes")
    shown = run([ours[looking[0]], *looking[1:]], "top", clean_exit=False)

    def loads():
        """Nodes with their CPU and their memory. On a busy machine they are above the limit."""
        return set(re.findall(r"^(node-\d) +\S+ +[\d.]+% +[\d.]+%", shown.text(), re.M))

    wait_until(lambda: len(loads()) == 10, 60, "ten nodes with their load")
    figure(f"ten nodes with their load after {time.monotonic() - started:.1f} s")
    shown.stop()

    def annotations():
        return [node["metadata"]["annotations"] for node in unscheduled.api.items("/api/v1/nodes")]

    assert all("cpu_usage_avg_5m" in found for found in annotations())
    answering.stop()
    controlling.stop()
    cleanup = shlex.split(block(QUICK_START, "cluster-cleanup"))
    run([ours[cleanup[0]], *cleanup[1:]], "cleanup").wait_exit()
    assert not any("cpu_usage_avg_5m" in found for found in annotations())


def test_peers_by_themselves(run):
    standin, exporters = block("tests/integration/README.md", "peers").splitlines()
    ready = {}
    for name, command in {"standin": standin, "exporters": exporters}.items():
        program, path, *arguments = shlex.split(command)
        process = run([program, TOP / path, *arguments], name)
        ready[name] = json.loads(process.wait_log(r"^\{.*\}$").group(0))
        assert "GET" in fetch(f"{ready[name]['admin_url']}/{name}/").text
    nodes = fetch(f"{ready['standin']['url']}/api/v1/nodes").json()["items"]
    assert nodes[1]["status"]["addresses"][0]["address"] == "127.1.0.2"
    assert "node_cpu_seconds_total" in fetch("http://127.1.0.2:9100/metrics").text


def test_shell(tmp_path):
    commands, env = block("tests/e2e/README.md", "shell"), {"TMPDIR": str(tmp_path)}
    said = """kubectl get nodes --output=name
        kubectl get dsp
        kubectl run probe --image=probe
        start-scheduler
        kubectl wait --for=condition=PodScheduled --timeout=60s pod/probe
        until curl --silent --fail http://127.0.0.1:8010/readyz; do sleep 0.1; done
    """
    env |= {"SHELL": "/bin/bash", "PLIMSOLL_BUILD_DIR": os.environ["PLIMSOLL_BUILD_DIR"]}
    more = {"input": said, "env": env, "cwd": TOP, "timeout": 600}
    done = complete("bash", "-euxc", commands, **more)
    assert [line for line in done.stdout.splitlines() if line.startswith("node/")] == [
        f"node/node-{index}" for index in range(3)
    ]
    assert "No resources found" in done.stderr, "the CRD is there, and no policy"
    assert "pod/probe condition met" in done.stdout
    assert not list(tmp_path.iterdir()), "nothing is left behind"
