"""The commands of our pages, as they stand there.

    <!-- run: NAME -->

    ```
    commands
    ```

    <!-- end -->
"""

import os
import pathlib
import re
import subprocess

from tools import build

TOP = pathlib.Path(__file__).resolve().parents[3]


def block(page, name):
    """The commands called `name` of a page below deploy/."""
    text = (TOP / "deploy" / page).read_text("utf-8")
    return re.search(rf"<!-- run: {name} -->\n+```\n(.*?)```", text, re.S)[1]


def environment(plane):
    """What commands need to mean this cluster by kubectl."""
    return {
        **os.environ,
        "KUBECONFIG": plane.kubeconfig,
        "KUBECACHEDIR": plane.path("kubectl-cache"),
        "PATH": f"{os.path.dirname(build.program('kubectl'))}:{os.environ['PATH']}",
    }


def follow(plane, commands, directory=TOP):
    """Run commands of a page, at the top of the tree as it says; what they print."""
    done = subprocess.run(
        ["bash", "-euxc", commands], cwd=directory, capture_output=True, text=True, check=False,
        env=environment(plane),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
