"""The memory limit of a program in the manifests, and how a kubelet sets it: a cgroup of its own, of
either version."""

import contextlib
import os
import pathlib

import yaml

from pages import TOP

V1, V2 = pathlib.Path("/sys/fs/cgroup/memory"), pathlib.Path("/sys/fs/cgroup")


def limit_of_the_manifests(program):
    """Bytes, of deploy/base/<program>.yaml."""
    documents = yaml.safe_load_all((TOP / f"deploy/base/{program}.yaml").read_text("utf-8"))
    (deployment,) = (one for one in documents if one["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    text = container["resources"]["limits"]["memory"]
    assert text.endswith("Mi"), text
    return int(text[:-2]) << 20


@contextlib.contextmanager
def memory_limit(process, limit_bytes):
    """The kernel kills the program if it wants more; it is stopped at the end. Whether this user can
    make a cgroup on this machine: without one nothing is limited."""
    is_v1 = (V1 / "memory.limit_in_bytes").exists()
    path = (V1 if is_v1 else V2) / f"plimsoll-test-{os.getpid()}-{process.pid}"
    with contextlib.suppress(OSError):
        path.mkdir()
        limit = path / ("memory.limit_in_bytes" if is_v1 else "memory.max")
        limit.write_text(str(limit_bytes), encoding="ascii")
        (path / "cgroup.procs").write_text(str(process.pid), encoding="ascii")
    try:
        yield str(process.pid) in members(path)
    finally:
        process.stop()
        if path.exists():
            path.rmdir()


def members(path):
    try:
        return (path / "cgroup.procs").read_text(encoding="ascii").split()
    except OSError:
        return []
