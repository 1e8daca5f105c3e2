"""The newest node_exporter, next to Debian's: what is read from its page, and what stands on its Node."""

import shutil

from harness import wait_until
from policies import policy_object
from tools import build

PORT = 26910
CPU, MEM = "cpu_usage_avg_30s", "mem_usage_avg_30s"
APART = {CPU: 0.03, MEM: 0.01}


def start_exporter(run, program, address):
    assert program, "apt-get install prometheus-node-exporter"
    # Debian's does not handle SIGTERM: dying of it is its ordinary end.
    argv = [program, f"--web.listen-address={address}:{PORT}"]
    run(argv, f"node-exporter-{address}", clean_exit=False).wait_log("Listening on")


def test_two_versions_say_the_same(plimsoll, run, fleet, figure):
    """Two nodes that are this machine, as two node_exporters see it."""
    nodes = []
    for name in ("prometheus-node-exporter", build.program("node_exporter")):
        address = f"127.2.0.{2 + len(nodes)}"
        start_exporter(run, shutil.which(name), address)
        nodes += fleet.add(1, name="real", address=address)
    policy = plimsoll.write_policy(policy_object({CPU: "2s", MEM: "2s"}))
    flag = f"--target-url-template=http://{{address}}:{PORT}/metrics"
    controller = plimsoll.controller(policy, None, flag)

    def agree():
        found = {key: [fleet.annotations(node).get(key, "") for node in nodes] for key in APART}
        assert all(text for texts in found.values() for text in texts), found
        for key, texts in found.items():
            debian, newest = (float(text.split(",")[0]) for text in texts)
            assert abs(debian - newest) < APART[key], found
        return found

    figure(f"by Debian's and by the newest: {wait_until(agree, 90, 'both to agree', poll_s=0.2)}")
    assert "node is failing" not in controller.text()
