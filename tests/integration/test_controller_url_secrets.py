"""What may be a secret in an URL is neither logged nor shown: user and password are refused, a query
is cut off."""


import pytest

from controller_kit import write_sources
from programs import complete


SECRET = "hunter2"
URLS = {
    "target": ["--dry-run", "--target=web-1=http://{}127.0.0.1:1/metrics{}"],
    "template": ["--target-url-template=http://{}{{address}}:1/metrics{}"],
}


def flags(kind, user="", query=""):
    return [flag.format(user, query) for flag in URLS[kind]]


@pytest.mark.parametrize("kind", URLS)
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


def test_the_query_is_not_logged(start_standin, start_controller):
    query = flags("template", query=f"?token={SECRET}")
    controller = start_controller(start_standin("--nodes", 1), 1, *query)
    line = controller.process.wait_log(r"node is failing.*$").group(0)
    assert "/metrics reason=connect" in line
    assert SECRET not in controller.process.text()


def test_a_file_of_sources(start_standin, start_controller, tmp_path):
    """Of a URL in it, the same holds."""
    source = {"kind": "node-exporter", "url": f"http://user:{SECRET}@{{address}}/"}
    path = write_sources(tmp_path / "sources", source)
    done = complete("plimsoll-controller", "--check-config", "--sources", path, status=2)
    assert "must not contain a user or password" in done.stderr
    source["url"] = f"http://{{address}}:1/metrics?token={SECRET}"
    path = write_sources(tmp_path / "sources", source)
    fine = complete("plimsoll-controller", "--check-config", "--sources", path)
    controller = start_controller(start_standin("--nodes", 1), 1, sources=[source])
    controller.process.wait_log(r"url=http://127.1.0.1:1/metrics reason=connect")
    assert SECRET not in done.stderr + fine.stdout + fine.stderr + controller.process.text()


def test_a_url_that_gets_too_long(start_standin, start_controller):
    """It is said to be that, and not that the node has no address."""
    template = "--target-url-template=http://127.0.0.1:1/" + "{node}" * 600
    controller = start_controller(start_standin("--nodes", 1), 1, template)
    line = controller.process.wait_log(r"node is failing.*reason=url_too_long.*").group(0)
    assert "--node-address-types" not in line
