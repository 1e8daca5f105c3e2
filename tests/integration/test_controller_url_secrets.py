"""What may be a secret in an URL is neither logged nor shown: user and password are refused, a query
is cut off."""


import pytest

from controller_kit import policy
from programs import complete


SECRET = "hunter2"
URLS = {
    "target": ["--dry-run", "--target=web-1=http://{}127.0.0.1:1/metrics{}"],
    "template": ["--target-url-template=http://{}{{address}}:1/metrics{}"],
    "path": ["--node-exporter-path=/metrics{1}"],
    "exporter": ["--exporter=dcgm=http://{}{{address}}:1/metrics{}"],
    "node-metrics": [
        "--metrics-source=node-metrics",
        "--node-metrics-url-template=http://{}{{address}}:1/metrics{}",
    ],
}
CONTENT = policy({"gpu_usage_avg_5m": "1m", "cpu_usage_avg_5m": "1m"})
GPU = {"name": "gpu", "exporter": "dcgm", "series": "GPU_UTIL", "kind": "gauge", "capacity": 100}
CONTENT["spec"]["metrics"] = [GPU]


def flags(kind, user="", query=""):
    return [flag.format(user, query) for flag in URLS[kind]]


@pytest.mark.parametrize("kind", [kind for kind in URLS if kind != "path"])
def test_user_and_password_are_refused(kind):
    user = flags(kind, user=f"user:{SECRET}@")
    done = complete("plimsoll-controller", "--check-config", *user, status=2)
    assert "user" in done.stderr and "password" in done.stderr
    assert SECRET not in done.stdout + done.stderr


@pytest.mark.parametrize("kind", URLS)
def test_the_query_is_not_shown(kind):
    query = flags(kind, query=f"?token={SECRET}")
    done = complete("plimsoll-controller", "--check-config", *query)
    assert "/metrics?... (flag)" in done.stdout
    assert SECRET not in done.stdout + done.stderr


@pytest.mark.parametrize("kind", [kind for kind in URLS if kind != "target"])
def test_the_query_is_not_logged(start_standin, start_controller, kind):
    controller = start_controller(
        start_standin("--nodes", 1), 1, *flags(kind, query=f"?token={SECRET}"), content=CONTENT
    )
    line = controller.process.wait_log(r"node is failing.*$").group(0)
    assert "/metrics reason=connect" in line
    if kind == "exporter":
        controller.process.wait_log(r"url=http://127.1.0.1:1/metrics reason=connect")
    assert SECRET not in controller.process.text()


def test_the_query_of_a_target_is_not_logged(run, binary):
    argv = [binary("plimsoll-controller"), "--scrape-interval=1s"]
    process = run([*argv, *flags("target", query=f"?token={SECRET}")], "controller")
    process.wait_log(r"url=http://127.0.0.1:1/metrics reason=connect")
    assert SECRET not in process.text()


def test_a_url_that_gets_too_long(start_standin, start_controller):
    """It is said to be that, and not that the node has no address."""
    template = "--target-url-template=http://127.0.0.1:1/" + "{node}" * 600
    controller = start_controller(start_standin("--nodes", 1), 1, template)
    line = controller.process.wait_log(r"node is failing.*reason=url_too_long.*").group(0)
    assert "--node-address-types" not in line
