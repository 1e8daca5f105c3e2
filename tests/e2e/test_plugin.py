"""kubectl plimsoll with the real kubectl and API server: a healthy installation, and faults in it.

kwok lets our pods "run", so nobody answers on their ports: what needs their metrics is unknown here.
"""

import json
import os
import re
import shutil
import subprocess

import pytest
import yaml
from cluster import extender_pod
from cluster.nodes import Fleet
from cluster.pages import environment, follow
from cluster.plimsoll import fast_policy
from harness import clean_environment, wait_until
from pages import TOP, block
from tools import build, windows

LOADS = (0.2, 0.4, 0.9)
CPU = "cpu_usage_avg_5s"


@pytest.fixture
def own_fleet(bare, exporters):
    return Fleet(bare, exporters)


@pytest.fixture
def plimsoll(bare, make_plimsoll):
    return make_plimsoll(bare)


@pytest.fixture
def installed(bare, own_fleet, plimsoll, exporters):
    """As docs/install.md has it, with a policy of seconds; the names of its nodes."""
    fleet = own_fleet
    names = [fleet.add(1, load={"cpu": load, "mem": 0.1})[0] for load in LOADS]
    follow(bare, block("docs/install.md", "installing"))
    bare.kubectl("apply", "-f", plimsoll.write_policy(fast_policy()))
    plimsoll.controller(None, exporters, "--leader-elect-resource-namespace=kube-system")
    wait_until(lambda: all(CPU in fleet.annotations(name) for name in names), 60, "annotations")
    return names


@pytest.fixture
def plimsoll_verb(bare, binary, tmp_path):
    """Runs `kubectl plimsoll ...` as a user does, with the plugin on the PATH."""
    os.symlink(binary("kubectl-plimsoll"), tmp_path / "kubectl-plimsoll")
    env = {
        **clean_environment(),
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "KUBECONFIG": str(bare.kubeconfig),
        "KUBECACHEDIR": str(tmp_path / "cache"),
    }

    def call(*words, is_refused=False):
        """@is_refused: None if either will do"""
        argv = [build.program("kubectl"), "plimsoll", *words]
        done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False, cwd=TOP)
        assert is_refused is None or bool(done.stderr) == is_refused, done.stderr
        return done

    return call


@pytest.fixture
def answering(bare, own_fleet, plimsoll, installed):  # pylint: disable=unused-argument
    """kwok's pods run nothing: one extender that answers, on a node of its own."""
    extender = plimsoll.extender(None, "--bind-address=0.0.0.0")
    with extender_pod.published(bare, own_fleet, extender_pod.ports_of(extender)):
        yield extender


# The check that must find it, and how a user would do it.
FAULTS = [
    ("node-guard", "delete validatingadmissionpolicy plimsoll-controller-nodes"),
    ("extender-service", "-n kube-system delete service plimsoll-extender"),
    ("extender-replicas", "-n kube-system scale deployment plimsoll-extender --replicas=1"),
]


def test_plugin(bare, installed, plimsoll_verb, figure):
    def findings(*flags):
        rows = json.loads(plimsoll_verb("doctor", "-o", "json", *flags).stdout)["checks"]
        return {row["id"]: row for row in rows}

    def faults():
        found = findings()
        odd = {key for key, row in found.items() if row["state"] in ("warning", "error")}
        # kwok's pods run nothing, and so answer nobody.
        return odd - {"metrics-pages"}

    # The Deployments' status and the policy's come a moment after the objects.
    wait_until(lambda: not faults(), 60, "a healthy cluster", poll_s=1)
    found = findings()
    unknown = [key for key, row in found.items() if row["state"] == "unknown"]
    seen_by_other = findings("--as=jane", "--as-group=ops")["unread"]
    assert seen_by_other["state"] == "unknown" and 'User "jane"' in seen_by_other["what"]

    for check, command in FAULTS:
        bare.kubectl(*command.split())
        # Replicas take a moment to be counted.
        wait_until(lambda: check in faults(), 30, check, poll_s=0.5)
    figure(
        f"{len(found)} checks: none fires, {len(unknown)} unknown without pods that answer; "
        f"{len(FAULTS)} faults found"
    )


def test_asking(bare, installed, answering, plimsoll_verb):  # pylint: disable=unused-argument
    def by_load():
        """Values expire after seconds here."""
        shown = json.loads(plimsoll_verb("top", "-o", "json", "--sort-by=cpu").stdout)["nodes"]
        above = [row["node"] for row in shown if row["over"]]
        return [row["node"] for row in shown if row["node"] in installed], above

    wanted = installed[::-1], installed[2:]
    wait_until(lambda: by_load() == wanted, 60, "the nodes by their load")
    explained = plimsoll_verb("explain", "node", installed[2]).stdout
    assert f"\n{installed[2]}: rejected: {CPU} above 0.65" in explained, explained

    explained = follow(bare, block("docs/troubleshooting.md", "explain"))
    assert all(f"\n{name}: " in explained for name in installed), explained

    said = plimsoll_verb("trial").stdout
    assert said.startswith("since ") and "\nno pod is judged: the policy" in said, said

    # Nobody has asked about the extenders' own pods, which are explained by the nodes of now.
    selector = "-lapp.kubernetes.io/name=plimsoll-extender"
    pod = bare.kubectl("-nkube-system", "get", "pods", selector, "-oname").split()[-1]
    name = pod.removeprefix("pod/")
    explained = plimsoll_verb("explain", "pod", name, "-n", "kube-system").stdout.splitlines()
    print(explained)
    assert explained[0].startswith(f"kube-system/{name}: on "), explained[0]
    assert explained[1].startswith("no decision: "), explained[1]
    named = [line.split(":")[0] for line in explained if line.split(":")[0] in installed]
    assert sorted(named) == sorted(installed)
    assert named[0] == explained[0].split()[2].rstrip(","), "the pod's node comes first"


def test_changing_a_limit(bare, installed, answering, tmp_path):
    """By the commands of docs/policy.md."""
    os.symlink(TOP / "policy", tmp_path / "policy")
    shown = follow(bare, block("docs/policy.md", "change"), tmp_path)
    assert "simulated: " in shown, shown
    policy = json.loads(bare.kubectl("get", "dsp", "default", "-ojson"))
    assert policy["spec"]["predicate"][0]["maxLimitPecent"] == 0.7
    (condition,) = [c for c in policy["status"]["conditions"] if c["type"] == "InForce"]
    assert condition["observedGeneration"] == policy["metadata"]["generation"]


def check_every_verb(bare, node, plimsoll_verb, somebody, give):
    """`give` gives this user what the page says: it is enough, and is needed."""
    bare.kubectl("run", "probe", "--image=probe")
    calls = (("top",), ("explain", "node", node))
    calls += (("explain", "pod", "probe"), ("simulate", "-f", "policy/policy.yaml"))
    for words in calls:
        assert plimsoll_verb(*words, *somebody, is_refused=True).returncode == 2, words
    give()

    def works():
        return plimsoll_verb("top", *somebody, is_refused=None).returncode == 0

    wait_until(works, 30, "the roles")
    for words in calls:
        done = plimsoll_verb(*words, *somebody)
        assert done.returncode in (0, 1) and "forbidden" not in done.stdout, words + (done.stdout,)


def test_as_one_of_a_group(bare, installed, answering, plimsoll_verb):
    somebody = ("--as=somebody", "--as-group=GROUP")
    commands = block("docs/kubectl-plugin.md", "plugin-users")
    check_every_verb(bare, installed[0], plimsoll_verb, somebody, lambda: follow(bare, commands))


def test_in_the_cluster(bare, installed, answering, plimsoll_verb):
    """As the account that the pods of cli/in-cluster have."""
    somebody = ("--as=system:serviceaccount:kube-system:plimsoll-doctor",)
    commands = block("docs/kubectl-plugin.md", "in-the-cluster")
    check_every_verb(bare, installed[0], plimsoll_verb, somebody, lambda: follow(bare, commands))


# What docs/kubectl-plugin.md says that somebody needs who runs the plugin in the cluster.
RUNNERS = {
    "deployments": "get",
    "pods": "create,get,list,watch,delete",
    "pods/attach": "create",
    "pods/log": "get",
}


def script_of_sh(bare, kubeconfig, _):
    return ["sh", TOP / "cli/in-cluster/kubectl-plimsoll"], environment(bare, kubeconfig)


def script_of_windows(_, kubeconfig, folder):
    """kubectl.exe finds it as its plugin, and cmd.exe runs it, both in Wine."""
    assert windows.home().exists(), "run tests/e2e/tools/windows.py (make nightly does)"
    with open(kubeconfig, encoding="utf-8") as file:
        config = yaml.safe_load(file)
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    for where, key in ((cluster, "certificate-authority"), (user, "tokenFile")):
        shutil.copy(where[key], folder / key)
        where[key] = key
    (folder / "config").write_text(yaml.safe_dump(config), "utf-8")
    shutil.copy(windows.home() / "kubectl.exe", folder)
    shutil.copy(TOP / "cli/in-cluster/kubectl-plimsoll.cmd", folder)
    call = ("wine", "kubectl.exe", "plimsoll")
    env = ("KUBECONFIG=Z:\\srv\\config",)
    return windows.wine(windows.home() / "root", folder, *call, env=env), None


@pytest.mark.parametrize(
    "script", [script_of_sh, pytest.param(script_of_windows, marks=pytest.mark.nightly)]
)
def test_the_script_of_other_machines(bare, installed, tmp_path, script):
    """cli/in-cluster by the real kubectl, with no more rights than the page says: the API server takes its pod,
    which keeps to the restricted standard, and the pod does not stay. Nobody can attach to a pod of kwok, so what the plugin prints is not seen.
    """
    assert installed
    follow(bare, block("docs/kubectl-plugin.md", "in-the-cluster"))
    inside = ("--namespace=kube-system",)
    level = "pod-security.kubernetes.io/enforce=restricted"
    bare.kubectl("label", "--overwrite", "namespace", "kube-system", level)
    secret = '{"imagePullSecrets":[{"name":"NAME"}]}'
    bare.kubectl("patch", "serviceaccount", "plimsoll-doctor", "-p", secret, *inside)
    bare.kubectl("create", "serviceaccount", "jane", *inside)
    for number, (resource, verbs) in enumerate(RUNNERS.items()):
        role = f"runner-{number}"
        bare.kubectl("create", "role", role, f"--resource={resource}", f"--verb={verbs}", *inside)
        account = "--serviceaccount=kube-system:jane"
        bare.kubectl("create", "rolebinding", role, f"--role={role}", account, *inside)
    token = tmp_path / "token"
    token.write_text(bare.kubectl("create", "token", "jane", *inside).strip(), "ascii")
    kubeconfig = bare.write_kubeconfig("jane", token_file=str(token))
    watch = [
        build.program("kubectl"),
        "get",
        "pods",
        "-ojson",
        "--watch",
        "--selector=run",
        *inside,
    ]
    seen = tmp_path / "seen"
    folder = tmp_path / "folder"
    folder.mkdir()
    argv, env = script(bare, kubeconfig, folder)
    with open(seen, "wb") as out, subprocess.Popen(
        watch, stdout=out, env=environment(bare)
    ) as watcher:
        try:
            done = subprocess.run(
                [*argv, "top", "--sort-by=a b"], timeout=120, check=False, env=env,
                stdin=subprocess.DEVNULL, capture_output=True, text=True,
            )  # fmt: skip
            said = done.stdout + done.stderr
            wait_until(lambda: seen.read_text("utf-8").endswith("}\n"), 60, f"its pod; {said}")
        finally:
            watcher.terminate()
    started, _ = json.JSONDecoder().raw_decode(seen.read_text("utf-8"))
    assert "couldn't attach to pod/" in said and "forbidden" not in said.lower(), said
    assert not json.loads(bare.kubectl("get", "pods", "-ojson", "--selector=run", *inside))["items"]
    assert started["spec"]["serviceAccountName"] == "plimsoll-doctor"
    assert started["spec"]["imagePullSecrets"] == [{"name": "NAME"}]
    (container,) = started["spec"]["containers"]
    deployment = json.loads(
        bare.kubectl("get", "deployment/plimsoll-controller", "-ojson", *inside)
    )
    assert container["image"] == deployment["spec"]["template"]["spec"]["containers"][0]["image"]
    assert container["command"] == ["/usr/bin/kubectl-plimsoll", "top", "--sort-by=a b"]
    page = (TOP / "docs/kubectl-plugin.md").read_text("utf-8")
    assert f"patch serviceaccount plimsoll-doctor -p '{secret}'" in page
    for resource, verbs in RUNNERS.items():
        *others, last = [f"`{verb}`" for verb in verbs.split(",")]
        told = f"{', '.join(others)} and {last}" if others else last
        assert re.search(rf"{told}\s+on\s+`?{resource}`?", page), (resource, told)
