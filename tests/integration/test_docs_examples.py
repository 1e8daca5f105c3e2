"""What pages show as run or printed is that: flags, policies, rules, an explained node, the demo."""

import os
import re
import sys

import pytest
import yaml
from harness import fetch, wait_until  # noqa: F401, for the example
from pages import TOP, block, shown_policies
from programs import PROGRAMS, complete, find_program


def test_flags_of_the_page_exist():
    """docs/configuration.md names no flag that neither program has."""
    there = set()
    for program in ("plimsoll-controller", "plimsoll-extender"):
        said = complete(program, "--help").stdout
        there |= set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", said, re.M))
    page = (TOP / "docs/configuration.md").read_text("utf-8")
    named = set(re.findall(r"`(--[\w-]+)", page))
    assert len(named) > 15 and named <= there, named - there


def test_explained_node(cluster, plimsoll, start_standin, start_extender):
    """What a page shows of explain is what it prints of the annotations that another page shows."""
    page = (TOP / "docs/kubectl/explain.md").read_text("utf-8")
    (at,) = re.findall(r"by `policy/crane.yaml`, at (\S+):", page)
    node = yaml.safe_load(block("docs/annotations.md", "annotations"))
    policy = (TOP / "policy/crane.yaml").read_text("utf-8")
    extender = start_extender(start_standin())
    extender.wait_ready()
    cluster.explain(extender, {"nodes": [node], "policy": policy, "at": at})
    shown = plimsoll("explain", "nodes").partition("\n\n")[2]
    assert shown == block("docs/kubectl/explain.md", "explained")


def test_images_of_kustomize():
    """The page shows the component's file, with names for the images."""
    shown = yaml.safe_load(block("docs/install.md", "images"))
    ours = yaml.safe_load((TOP / "deploy/images/kustomization.yaml").read_text("utf-8"))
    named = [{**row, "newName": f"REGISTRY/{row['name']}"} for row in ours["images"]]
    assert shown["images"] == named


def test_installing_the_plugin(tmp_path):
    """Its files are where the page copies them from, once `make build` has made them."""
    make, install = block("docs/kubectl-plugin.md", "plugin").splitlines()
    assert make == "make build"
    (program,) = re.findall(r"build/\S+", install)
    commands = install.replace("sudo ", "").replace("/usr/local/bin/", str(tmp_path))
    complete(
        "bash", "-euc", commands.replace(program, str(find_program("kubectl-plimsoll"))), cwd=TOP
    )
    assert {path.name for path in tmp_path.iterdir()} == {
        program.rpartition("/")[2],
        "kubectl_complete-plimsoll",
    }


def test_checking_a_configuration():
    """The page's command, with the program where this build has it."""
    command = block("docs/configuration.md", "check-config")
    program = "plimsoll-controller"
    command = command.replace(f"build/controller/{program}", str(find_program(program)))
    assert "maxLimitPecent" in complete("bash", "-euc", command, cwd=TOP).stdout


# -- other people's tools: that what is shown fits what deploy/ has ---------------------------------


def test_gitops():
    """Argo CD and Flux are told what the manifests, the CRD and a policy's status are."""
    crd = yaml.safe_load((TOP / "deploy/base/crd.yaml").read_text("utf-8"))["spec"]
    kind, (version,) = crd["names"]["kind"], [row["name"] for row in crd["versions"]]
    assert '"InForce"' in (TOP / "policy/live/policy_status.c").read_text("utf-8")

    shown = yaml.safe_load(block("deploy/gitops.md", "gitops"))
    url, folder, tag = re.fullmatch(r"(https.*)//(\w+)\?ref=v(.*)", shown["resources"][0]).groups()
    assert url.endswith("/plimsoll") and (TOP / folder / "kustomization.yaml").exists()
    assert f"version: '{tag}'," in (TOP / "meson.build").read_text("utf-8")
    manifests = "".join(path.read_text("utf-8") for path in (TOP / "deploy/base").glob("*.yaml"))
    for image in shown["images"]:
        assert f"image: {image['name']}" in manifests

    (key,) = yaml.safe_load(block("deploy/gitops.md", "argocd"))
    assert key == f"resource.customizations.health.{crd['group']}_{kind}"
    assert 'condition.type == "InForce"' in block("deploy/gitops.md", "argocd")

    first, second = yaml.safe_load_all(block("deploy/gitops.md", "flux"))
    assert second["spec"]["dependsOn"] == [{"name": first["metadata"]["name"]}]
    (check,) = second["spec"]["healthCheckExprs"]
    assert (check["apiVersion"], check["kind"]) == (f"{crd['group']}/{version}", kind)
    assert all("c.type == 'InForce'" in check[state] for state in ("current", "failed"))


# -- policies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", PROGRAMS[:2])
def test_policies_of_our_pages(program, tmp_path):
    for number, content in enumerate(shown_policies()):
        path = tmp_path / f"{number}.yaml"
        path.write_text(yaml.safe_dump(content))
        done = complete(program, "--check-config", "--strict", f"--policy-config-path={path}")
        assert done.stderr == ""
        printed = yaml.safe_load(done.stdout.partition("# Policy\n")[2])
        shown = content["spec"].get("syncPolicy", [])
        assert (printed["spec"].get("syncPolicy") or []) == shown


def test_rules_for_those_who_come_from_crane(tmp_path):
    """Prometheus takes them; the tests of the source record by them."""
    path = tmp_path / "rules.yaml"
    path.write_text(block("deploy/coming-from/crane-scheduler.md", "rules"))
    complete("promtool", "check", "rules", path)


# -- things to try ---------------------------------------------------------------------------------

# test_annotations_appear(), as the README of these tests has it
exec(block("tests/integration/README.md", "example"))  # pylint: disable=exec-used


@pytest.mark.nightly
@pytest.mark.parametrize("demo, limit", [("once", "above 0.8"), ("once crane", "above 0.65")])
def test_demo(demo, limit):
    """`make demo`, of programs that are built already, and so that it ends by itself."""
    build = {"BUILD": os.environ["PLIMSOLL_RELEASE_DIR"], "DEMO": demo}
    done = complete("bash", "-euxc", block("README.md", "demo"), cwd=TOP, env=build, timeout=600)
    assert limit in done.stdout and "keeps all of this running" in done.stdout


@pytest.mark.nightly
def test_demo_opens_a_page(run):
    """Without DEMO=once it says where the page is and what to look at, and goes on."""
    argv = [
        sys.executable,
        TOP / "tests/demo/demo.py",
        "--build",
        os.environ["PLIMSOLL_RELEASE_DIR"],
    ]
    demo = run(argv, "demo")
    url = demo.wait_log(r"in a browser: (http\S+)\n\n  Beyond the line: .*hot-cpu", 90)[1]
    assert "<title>" in fetch(url).text
