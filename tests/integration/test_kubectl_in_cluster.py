"""The scripts that run kubectl-plimsoll in the cluster, for machines where it does not run itself.

kubectl is a stand-in here, which notes how it is called, and runs what the pod would run.
"""

import json
import os
import re
import shlex
import shutil

import pytest

from pages import TOP
from programs import complete

SCRIPTS = TOP / "cli" / "in-cluster"
IMAGE = "registry.test/plimsoll-controller:0.2.0"
KUBECTL = """\
#!/bin/bash
printf '%s\\n' "$*" >>"$CALLS"
case " $* " in
*" get deployment plimsoll-controller "*) [ -z "$MISSING" ] && printf {image} ;;
*" run "*)
  while [ "$1" != -- ]; do shift; done
  [ "$2" = /usr/bin/kubectl-plimsoll ] || exit 99
  exec {program} "${{@:3}}"
  ;;
esac
"""


@pytest.fixture(name="call")
def fixture_call(binary, cluster, tmp_path):
    """Runs the script with these words; (what it prints, the calls of kubectl)."""
    kubectl = tmp_path / "bin" / "kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text(KUBECTL.format(image=IMAGE, program=binary("kubectl-plimsoll")))
    kubectl.chmod(0o755)
    calls = tmp_path / "calls"

    def call(*words, status=0, **env):
        calls.unlink(missing_ok=True)
        env = {"PATH": f"{kubectl.parent}:/usr/bin:/bin", "CALLS": str(calls), **env}
        env["KUBECTL"] = os.environ.get("KUBECTL", shutil.which("kubectl"))
        env |= {"PLIMSOLL_SERVER": cluster.url, "PLIMSOLL_NAMESPACE": env.get("NAMESPACE", "")}
        argv = ["/bin/sh", SCRIPTS / "kubectl-plimsoll", *words]
        said = complete(*argv, status=status, env={"MISSING": "", **env})
        return said.stdout + said.stderr, calls.read_text().splitlines()

    return call


def test_a_pod_runs_it(call):
    said, (_, run) = call("top", "-o", "json", "--sort-by=cpu")
    assert len(json.loads(said)["nodes"]) == 4
    assert f" --image={IMAGE} " in run and run.startswith("-n kube-system run plimsoll-")
    overrides = json.loads(re.search(r"--overrides=(\{.*\}) --command", run)[1])
    spec = overrides["spec"]
    assert spec["serviceAccountName"] == "plimsoll-doctor"
    assert spec["nodeSelector"] == {"kubernetes.io/os": "linux"}
    # tests/e2e/test_plugin.py has that it keeps to the restricted standard.
    assert f" run {spec['containers'][0]['name']} " in run, "its container is changed, not added"
    assert "--rm --stdin --quiet --restart=Never" in run, "the pod's status, and no pod is left"


def test_words_are_passed_on_as_they_are(call):
    said, (_, run) = call("top", "--sort-by=a b", status=2)
    assert "a b" in said and run.endswith("-- /usr/bin/kubectl-plimsoll top --sort-by=a b")


def test_another_namespace(call):
    _, (get, run) = call("--help", NAMESPACE="load")
    assert get.startswith("-n load get ") and run.startswith("-n load run ")
    assert " --env=PLIMSOLL_NAMESPACE=load " in run


def test_without_an_installation(call):
    _, calls = call("top", status=1, MISSING="1")
    assert len(calls) == 1, "no pod without an image"


def test_the_one_for_windows_makes_the_same_calls(call):
    """It is not run here, but by tests/e2e/test_plugin.py at night: its lines are compared, once its quotes and variables
    are read."""
    content = (SCRIPTS / "kubectl-plimsoll.cmd").read_bytes()
    assert content.count(b"\n") == content.count(b"\r\n"), "cmd.exe skips lines that end otherwise"
    text = content.decode("ascii")
    _, (get, run) = call("top")
    text = text.replace("%PLIMSOLL_NAMESPACE%", "kube-system").replace("%PLIMSOLL_IMAGE%", IMAGE)
    asked = re.search(r"in \('kubectl (.*)'\) do @set PLIMSOLL_IMAGE=%%i", text)[1]
    assert " ".join(shlex.split(asked)) == get
    (started,) = re.findall(r"^@kubectl (-n .*?)\r", text, re.M)
    started = " ".join(shlex.split(started)).replace("%*", "top")
    assert started == re.sub(r"plimsoll-\d+", "%PLIMSOLL_POD%", run)
