"""Following the commands of our pages (tests/integration/pages.py), as they stand there."""

import os
import subprocess

from harness import clean_environment
from pages import TOP, block
from programs import find_program
from tools import build

PROGRAMS = ("plimsoll-controller", "plimsoll-extender", "kubectl-plimsoll")


def environment(plane, kubeconfig=None):
    """What commands need to mean this cluster by kubectl and helm, and our programs by their names."""
    programs = [*map(build.program, ("kubectl", "helm")), *map(find_program, PROGRAMS)]
    return {
        **clean_environment(),
        "KUBECONFIG": kubeconfig or plane.kubeconfig,
        "KUBECACHEDIR": plane.path("kubectl-cache"),
        **{f"HELM_{what}_HOME": plane.path("helm") for what in ("CACHE", "CONFIG", "DATA")},
        "PATH": os.pathsep.join([*map(os.path.dirname, programs), os.environ["PATH"]]),
    }


def owners_overlay(directory):
    """The overlay that the page for owners of an extender shows, in a folder of its own."""
    directory.mkdir()
    deploy = os.path.relpath(TOP / "deploy", directory.resolve())
    text = block("deploy/coming-from/hand-written-extender.md", "component")
    (directory / "kustomization.yaml").write_text(text.replace(".../deploy", deploy))
    return directory


def follow(plane, commands, directory=TOP, kubeconfig=None):
    """Run commands of a page, at the top of the tree as it says; what they print."""
    done = subprocess.run(
        ["bash", "-euxc", commands], cwd=directory, capture_output=True, text=True, check=False,
        env=environment(plane, kubeconfig),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def follow_on(plane, commands, program, run):
    """The same, of commands whose last one is a program that stays; its process."""
    commands = commands.replace(f"\n{program} ", f"\nexec {program} ")
    return run(["bash", "-euc", commands], program, environment(plane))
