"""The images of deploy/Dockerfile run as the manifests run them: read-only root, no capabilities, a
user who is nobody. tools/images.py has built them, or has said why this machine cannot."""

import hashlib
import json
import os
import pathlib
import re
import stat

import pytest
import yaml
from cluster.plimsoll import fast_policy
from hardening import missing
from harness import fetch, wait_until
from tools import images

PROGRAMS = ("plimsoll-controller", "plimsoll-extender")
MAX_MB = 30
RESTRICTED = ("--read-only", "--cap-drop=all", "--security-opt=no-new-privileges")


@pytest.fixture(autouse=True)
def built():
    if images.UNABLE.exists():
        reason = images.UNABLE.read_text(encoding="utf-8")
        pytest.skip(f"this machine cannot build or run images: {reason}")
    for program in PROGRAMS:
        found = images.podman("image", "exists", images.image(program))
        assert found.returncode == 0, "no images: run tests/e2e/tools/images.py (make e2e does)"


def run_once(program, *argv, options=()):
    return images.podman(
        "run", "--rm", "--network=none", *RESTRICTED, *options, images.image(program), *argv
    )


@pytest.mark.parametrize("program", PROGRAMS)
def test_runs_with_nothing(program, figure):
    done = run_once(program, "--version")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(rf"{program} \d+\.\d+\.\d+.*\n", done.stdout)
    if program == "plimsoll-controller":
        done = run_once(program, "doctor", options=["--entrypoint=/usr/bin/kubectl-plimsoll"])
        assert done.returncode == 2 and "kubectl" in done.stderr, "outside of a pod it is needed"
    # Time zones are there, and a library that is missing would show at the latest here.
    done = run_once(program, "--check-config", "--annotation-timezone=Asia/Shanghai")
    assert done.returncode == 0, done.stderr
    assert "cpu_usage_avg_5m" in done.stdout
    size = images.podman("image", "inspect", "--format={{.Size}}", images.image(program))
    figure(f"{program}: {int(size.stdout) / 1e6:.1f} MB")
    assert int(size.stdout) < MAX_MB * 10**6


@pytest.mark.parametrize("program", PROGRAMS)
def test_holds_nothing_else(program):
    image = images.image(program)
    user = images.podman("image", "inspect", "--format={{.User}}", image)
    assert user.stdout.strip() == "65532:65532", "runAsNonRoot wants a number"
    done = run_once(program, "-c", "true", options=["--entrypoint=/bin/sh"])
    assert done.returncode == 127, f"there is a shell: {done}"
    root = images.podman("image", "mount", image).stdout.strip()
    try:
        executable = []
        for directory, _, names in os.walk(root):
            for name in names:
                path = os.path.join(directory, name)
                mode = os.lstat(path).st_mode
                if stat.S_ISLNK(mode):
                    continue
                assert not mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWOTH), path
                if mode & 0o111 and not re.search(r"\.so(\.|$)", name):
                    executable.append(os.path.relpath(path, root))
        plugin = ["usr/bin/kubectl-plimsoll"] if program == "plimsoll-controller" else []
        assert sorted(executable) == [*plugin, f"usr/bin/{program}"]
        for path in executable:
            assert not missing(os.path.join(root, path)), path
        packages = json.loads(read(f"{root}/usr/share/plimsoll.spdx.json"))["packages"]
        listed = {p["packageFileName"]: p["checksums"] for p in packages if "checksums" in p}
        assert sorted(listed) == sorted(executable)
        for path, sums in listed.items():
            content = pathlib.Path(root, path).read_bytes()
            for row in sums:
                hashed = hashlib.new(row["algorithm"], content).hexdigest()
                assert hashed == row["checksumValue"], path
        assert {"libc6", "libcurl4", "tzdata"} <= {package["name"] for package in packages}
    finally:
        images.podman("image", "umount", image)


@pytest.mark.nightly
def test_the_same_bytes_on_two_paths():
    """Two builds from nothing, with the same time given."""
    one, two = (
        images.podman("image", "inspect", "--format={{.Digest}}", images.again(PROGRAMS[0], name))
        for name in images.PATHS
    )
    assert one.returncode == two.returncode == 0, "no images: run it with PLIMSOLL_NIGHTLY=1"
    assert one.stdout == two.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_gets_ready_in_a_cluster(plane, program, tmp_path, log_dir):
    """With the API server: TLS, a token, and not a byte written to the root."""
    config = yaml.safe_load(read(plane.write_kubeconfig("image", token_file="token")))
    config["clusters"][0]["cluster"]["certificate-authority"] = "ca.crt"
    token = plane.kubectl("create", "token", program, "--namespace=kube-system")
    ca = read(plane.authority.cert)
    for name, text in (
        ("config", yaml.safe_dump(config)), ("token", token), ("ca.crt", ca),
        ("policy.yaml", yaml.safe_dump(fast_policy())),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o444)
    tmp_path.chmod(0o755)
    port = 26400 + PROGRAMS.index(program)
    flag = {"plimsoll-controller": "--health-port", "plimsoll-extender": "--port"}[program]
    name = f"e2e-{program}-{os.getpid()}"
    started = images.podman(
        "run", "--detach", f"--name={name}", "--network=host", "--log-driver=k8s-file", *RESTRICTED,
        f"--log-opt=path={log_dir}/{program}.log", f"--volume={tmp_path}:/etc/plimsoll:ro",
        images.image(program), "--kubeconfig=/etc/plimsoll/config", "--bind-address=127.0.0.1",
        "--policy-config-path=/etc/plimsoll/policy.yaml", f"{flag}={port}",
    )  # fmt: skip
    assert started.returncode == 0, started.stderr
    try:

        def ready():
            answer = fetch(f"http://127.0.0.1:{port}/readyz?verbose")
            assert answer.status == 200, answer.text
            return True

        wait_until(lambda: answers(port), what=f"{program} to listen, see {log_dir}")
        wait_until(ready, what=f"{program} to be ready, see {log_dir}")
    finally:
        stopped = images.podman("stop", "--time=10", name)
        code = images.podman("wait", name).stdout.strip()
        images.podman("rm", "--force", name)
    assert stopped.returncode == 0 and code == "0", f"status {code} on SIGTERM"


def read(path):
    return pathlib.Path(path).read_text(encoding="utf-8")


def answers(port):
    try:
        return fetch(f"http://127.0.0.1:{port}/livez").status == 200
    except OSError:
        return False
