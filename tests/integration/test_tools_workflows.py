"""The workflows of .github: what they may use, and that what they run is of this tree. The linters are
tests/tools/workflows, which the gate runs with the tests of a real cluster."""

import os
import re
import subprocess
import sys

import pytest
import yaml

from pages import TOP, block, pages

sys.path[:0] = [str(TOP / "tests" / "tools"), str(TOP / "tests" / "e2e")]
import gate  # noqa: E402  # the folders have to be in the path first
from tools import build  # noqa: E402

FOLDER = TOP / ".github" / "workflows"
VERSION = re.search(r"version: '(.*)'", (TOP / "meson.build").read_text("utf-8"))[1]
WRITES = {
    ("release", "publish"): {"contents", "packages", "id-token", "attestations"},
    ("scorecard", "analysis"): {"id-token"},
}


def workflows():
    return {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in FOLDER.iterdir()}


def jobs():
    for name, workflow in workflows().items():
        for job, body in workflow["jobs"].items():
            yield name, job, body


def steps(key):
    return [(n, step) for n, _, body in jobs() for step in body["steps"] if key in step]


def test_rights_are_the_fewest():
    for name, workflow in workflows().items():
        assert workflow["permissions"] == {}, name
    for name, job, body in jobs():
        writes = {what for what, right in body["permissions"].items() if right == "write"}
        assert writes == WRITES.get((name, job), set()), (name, job)
        assert body["permissions"]["contents"] in ("read", "write") and body["timeout-minutes"]
    for name, step in steps("uses"):
        if step["uses"].startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False, name


def test_what_runs_is_of_the_tree():
    """Commands of a workflow can be run, and are tested, without it."""
    makefile = (TOP / "Makefile").read_text("utf-8")
    for name, step in steps("run"):
        command = step["run"]
        target = re.fullmatch(r"make in-container TARGET=([\w-]+)", command)
        if target:
            assert re.search(rf"^{target[1]}:$", makefile, re.M), f"{name}: {command}"
        else:
            assert re.fullmatch(r"[\w/.-]+( \w+)*", command), f"{name}: {command}"
            assert os.access(TOP / command.split()[0], os.X_OK), f"{name}: {command}"


def test_the_night_has_every_part():
    matrix = workflows()["nightly"]["jobs"]["part"]["strategy"]["matrix"]
    assert matrix == {"part": list(range(1, len(gate.PARTS) + 1))}


def test_the_key_of_the_cache_is_of_all_that_is_built():
    """What build.directory() depends on: itself, and both files of each module."""
    keys = [s["with"]["key"] for _, s in steps("with") if "e2e" in str(s["with"].get("path"))]
    assert len(keys) == 2
    for key in keys:
        patterns = re.findall(r"'(.*?)'", key)
        found = {path for pattern in patterns for path in TOP.glob(pattern)}
        files = {build.HERE / m / f for m in build.MODULES for f in ("go.mod", "go.sum")}
        assert found == files | {build.HERE / "build.py"}


def test_older_versions_are_built_when_asked_for(monkeypatch):
    monkeypatch.setenv("PLIMSOLL_NIGHTLY", "1")  # as for the quick benchmark at night
    for options, is_older in (([], False), (["--older"], True)):
        said = subprocess.check_output([build.HERE / "build.py", "--where", *options], text=True)
        found = {line.split()[0] for line in said.splitlines()}
        older = {build.kubernetes_of(minor) for minor in build.OLDER}
        assert found == set(build.MODULES) - (set() if is_older else older)


class Bench:
    """A clone of what deploy/release/publish needs, and programs that note how they were called."""

    def __init__(self, folder):
        self.top, self.bin, self.log = folder / "top", folder / "bin", folder / "log"
        (self.top / "deploy/release").mkdir(parents=True)
        for name in ("deploy/release/publish", "meson.build"):
            target = self.top / name
            target.write_bytes((TOP / name).read_bytes())
            target.chmod(0o755)
        self.bin.mkdir()
        self.output = folder / "output"

    def program(self, name, text=""):
        path = self.bin / name
        path.write_text(f'#!/bin/bash\necho "{name} $*" >>{self.log}\n{text}\n', "ascii")
        path.chmod(0o755)

    def made(self, *names):
        (self.top / "dist").mkdir(exist_ok=True)
        for name in names:
            (self.top / "dist" / name).touch()

    def publish(self, step, **env):
        outside = {"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(self.top.parent)}
        return subprocess.run(
            [self.top / "deploy/release/publish", step], capture_output=True, text=True, check=False,
            env={**outside, "GITHUB_REF_NAME": f"v{VERSION}", "GITHUB_OUTPUT": str(self.output), **env},
        )  # fmt: skip

    def called(self):
        return self.log.read_text("ascii").splitlines()


@pytest.fixture(name="bench")
def bench_fixture(tmp_path):
    return Bench(tmp_path)


def test_a_tag_has_the_version_of_its_tree(bench):
    assert bench.publish("version").returncode == 0
    done = bench.publish("version", GITHUB_REF_NAME="v9.9.9")
    assert done.returncode == 1 and f"v9.9.9, and meson.build has {VERSION}" in done.stderr


LOGIN = {"REGISTRY": "host.example/owner", "REGISTRY_USER": "someone", "REGISTRY_TOKEN": "s3cret"}
WRITE_DIGEST = (
    r'[[ "$*" =~ --digestfile\ ([^ ]+)\ oci-archive:dist/([a-z-]+) ]] && '
    r'echo -n "sha256:of-${BASH_REMATCH[2]%-}" >"${BASH_REMATCH[1]}"; cat >/dev/null'
)


def test_images_are_pushed_and_signed_by_digest(bench):
    bench.program("skopeo", WRITE_DIGEST)
    bench.program("cosign")
    bench.made(
        f"plimsoll-controller-{VERSION}.oci.tar", f"plimsoll-extender-{VERSION}.oci.tar", "SHA256SUMS",
        *(f"plimsoll-controller-image-{VERSION}-linux-{arch}.spdx.json" for arch in ("amd64", "arm64")),
    )  # fmt: skip
    done = bench.publish("images", **LOGIN)
    assert done.returncode == 0, done.stderr
    auth = f"--authfile {bench.top.parent}/.docker/config.json"
    login, *calls = [re.sub(r"/tmp\S+tmp\.\w+", "FILE", line) for line in bench.called()]
    assert login == f"skopeo login --username someone --password-stdin {auth} host.example"
    one, two = (f"host.example/owner/plimsoll-{name}" for name in ("controller", "extender"))
    spdx = f"dist/plimsoll-controller-image-{VERSION}-linux"
    attest = "cosign attest --yes --type spdxjson --predicate"
    copies = [call for call in calls if call.startswith("skopeo copy --all")]
    assert [call.split()[-1] for call in copies] == [f"docker://{i}:{VERSION}" for i in (one, two)]
    assert [call for call in calls if call.startswith("cosign")] == [
        f"cosign sign --yes --recursive {one}@sha256:of-plimsoll-controller",
        f"{attest} {spdx}-amd64.spdx.json {one}@sha256:of-plimsoll-controller",
        f"{attest} {spdx}-arm64.spdx.json {one}@sha256:of-plimsoll-controller",
        f"cosign sign --yes --recursive {two}@sha256:of-plimsoll-extender",
    ]
    assert bench.output.read_text("ascii").splitlines() == [
        f"plimsoll-{name}=sha256:of-plimsoll-{name}" for name in ("controller", "extender")
    ]
    assert "s3cret" not in bench.log.read_text("ascii")
    workflow = (FOLDER / "release.yml").read_text("utf-8")
    assert set(re.findall(r"steps\.images\.outputs\.([\w-]+)", workflow)) == {
        "plimsoll-controller",
        "plimsoll-extender",
    }


def test_nothing_is_pushed_to_nowhere(bench):
    bench.program("skopeo")
    done = bench.publish("images", **LOGIN | {"REGISTRY": ""})
    assert done.returncode == 1 and "variable REGISTRY is not set" in done.stderr
    assert not bench.log.exists()


def test_how_to_verify(bench):
    """The pages' commands ask for the identity that this tree's workflow has for the tag."""
    environment = {"PATH": f"{bench.bin}:{os.environ['PATH']}"}
    bench.program("cosign")
    bench.program("gh")
    commands = block("SECURITY.md", "verify")
    subprocess.run(["sh", "-euc", commands], env=environment, check=True)
    *calls, gh = bench.called()
    image = f"HOST/OWNER/plimsoll-controller:{VERSION}"
    workflow = (FOLDER / "release.yml").relative_to(TOP)
    identity = f"https://github.com/OWNER/plimsoll/{workflow}@refs/tags/v{VERSION}"
    issuer = "https://token.actions.githubusercontent.com"
    for call, verb in zip(calls, ("verify", "verify-attestation"), strict=True):
        said = call.replace("=", " ")
        assert said.startswith(f"cosign {verb} ") and f" {image}" in said
        assert f"--certificate-identity {identity}" in said
        assert f"--certificate-oidc-issuer {issuer}" in said
    assert "--type spdxjson" in said, "what deploy/release/publish attests"
    assert gh == f"gh attestation verify oci://{image} --repo OWNER/plimsoll"


def test_the_owner_gets_a_name(tmp_path):
    """No page or manifest has a placeholder that the command does not fill in."""
    manifests = (str(path.relative_to(TOP)) for path in (TOP / "deploy").rglob("*.yaml"))
    waiting = {
        path
        for path in (*pages(), *manifests)
        if re.search(r"\bOWNER\b", (TOP / path).read_text("utf-8"))
    }
    filled = {"deploy/gitops.md", "SECURITY.md", "deploy/monitoring/rules.yaml"}
    # The chart's files are links to the manifests.
    assert {(TOP / path).resolve() for path in waiting} == {
        TOP / path for path in (*filled, "deploy/release/README.md")
    }
    for path in waiting:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes((TOP / path).read_bytes())
    commands = block("deploy/release/README.md", "owner")
    subprocess.run(["sh", "-euc", commands], cwd=tmp_path, check=True)
    for path in filled:
        text = (tmp_path / path).read_text("utf-8")
        assert "OWNER" not in text and "load-lines/plimsoll" in text
