"""--once: the page that says how, and a policy that comes late."""

import json

import pytest

from controller_kit import policy
from pages import TOP, block
from policies import node_names, write_policy
from programs import complete, find_program

NODES = 3
OWN = ("psi_cpu_usage_avg_5m", "load_usage_avg_5m")
POLICIES = "/apis/scheduler.policy.crane.io/v1alpha1/dynamicschedulerpolicies"


@pytest.fixture
def once(exporters, tmp_path):
    def run_once(standin, content=None, status=0):
        flags = [
            f"--kubeconfig={standin.kubeconfig}",
            f"--target-url-template=http://{{address}}:{exporters.port}/metrics",
            *("--scrape-interval=1s", "--dry-run", "--once", "--output=json"),
        ]
        if content:
            flags.append(f"--policy-config-path={write_policy(tmp_path / 'policy', content)}")
        return complete("plimsoll-controller", *flags, status=status, timeout=240).stdout

    return run_once


def test_the_page(start_standin, exporters):
    """What docs/troubleshooting.md runs in the controller's container shows every node's windows."""
    program = "/usr/bin/plimsoll-controller"
    assert f'ENTRYPOINT ["{program}"]' in (TOP / "deploy" / "Dockerfile").read_text("utf-8")
    standin = start_standin("--nodes", NODES)
    command = block("docs/troubleshooting.md", "dry-run")
    in_the_container = "kubectl -n kube-system exec deployment/plimsoll-controller -- "
    command = command.replace(in_the_container + program, find_program("plimsoll-controller"))
    env = {
        "PLIMSOLL_KUBECONFIG": standin.kubeconfig,
        "PLIMSOLL_TARGET_URL_TEMPLATE": f"http://{{address}}:{exporters.port}/metrics",
        "PLIMSOLL_SCRAPE_INTERVAL": "1s",
    }
    shown = complete("/bin/bash", "-ec", command, env=env).stdout
    assert all(name in shown for name in node_names(NODES)) and "cpu avg_5m" in shown
    assert not standin.patches()


@pytest.mark.parametrize("late_s", [2.5, 6])
def test_the_policy_of_the_cluster_comes_late(once, start_standin, late_s):
    """After some scrapes, or when all are done. It wants what these did not ask for."""
    standin = start_standin("--nodes", NODES)
    own = policy(dict.fromkeys(OWN, "3m"), name="default")
    assert standin.call("POST", POLICIES, own).status == 201
    standin.fault("delay", verb="list", resource="dynamicschedulerpolicies", seconds=late_s)
    rows = [json.loads(line) for line in once(standin).splitlines()]
    assert [row["node"] for row in rows] == node_names(NODES)
    assert all(row["annotations"].keys() >= set(OWN) for row in rows)
