"""TLS and credentials of further exporters, and of the node-metrics agent, as the file of sources has them."""


import pytest

from controller_kit import policy, reading
from harness import wait_until
from tls_kit import Authority

CPU = "cpu_usage_avg_5m"
GPU = "gpu_usage_avg_5m"
NODES = {"kind": "node-exporter"}


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path / "ca", "exporters")


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret"
    path.write_text("s3cret\n")
    return path


def gpu_policy():
    rules = policy({CPU: "2s", GPU: "2s"})
    gpu = {"name": "gpu", "exporter": "dcgm", "series": "GPU_UTIL", "kind": "gauge"}
    rules["spec"]["metrics"] = [{**gpu, "capacity": 100}]
    return rules


def test_an_exporter_with_tls_and_a_token(
    authority, secret, start_standin, start_exporters, exporters, start_controller
):
    cert, key = authority.server()
    guarded = start_exporters("--tls-cert", cert, "--tls-key", key, "--bearer-token", "s3cret")
    guarded.trouble("all", "extra", text="GPU_UTIL 40\n")
    standin = start_standin("--nodes", 1)
    url = f"https://{{address}}:{guarded.port}/metrics"
    dcgm = {"kind": "exporter", "name": "dcgm", "url": url}
    controller = start_controller(standin, exporters, sources=[NODES, dcgm], content=gpu_policy())
    controller.process.wait_log(r"node is failing.*reason=tls")
    controller.process.stop()
    dcgm["tls_config"] = {"ca_file": str(authority.cert), "server_name": "localhost"}
    dcgm["authorization"] = {"credentials_file": str(secret)}
    start_controller(standin, exporters, sources=[NODES, dcgm], content=gpu_policy())
    wait_until(lambda: reading(standin, "node-0000", GPU), what="the GPU's usage")
    assert reading(standin, "node-0000", GPU).value == 0.4
    # The node's own exporter is another: it is asked without all that.
    wait_until(lambda: reading(standin, "node-0000", CPU), what="the CPU's usage")


def test_the_agent_with_a_password(
    authority, secret, start_standin, start_exporters, start_controller
):
    cert, key = authority.server()
    agents = start_exporters(
        *("--agent", "--speed", "20", "--tls-cert", cert, "--tls-key", key),
        *("--basic-auth", "scraper:s3cret"),
    )
    standin = start_standin("--nodes", 1)
    start_controller(
        standin,
        1,
        sources=[
            {
                "kind": "node-metrics",
                "url": f"https://{{address}}:{agents.port}/metrics",
                "tls_config": {"insecure_skip_verify": True},
                "basic_auth": {"username": "scraper", "password_file": str(secret)},
            }
        ],
        content=policy({CPU: "2s"}),
    )
    wait_until(lambda: reading(standin, "node-0000", CPU), what="the agent's gauge")
