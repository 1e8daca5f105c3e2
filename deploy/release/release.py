#!/usr/bin/python3
"""Makes everything that users install: release.py OUTPUT

Of the last commit, in a Debian 12 root of its own without a network, so that neither this machine nor
the path of this folder is in what comes out: two runs give the same bytes. deploy/release/README.md has the
variables (REPOSITORY, REGISTRY, ARTIFACTHUB_ID, PLIMSOLL_DEBIAN) and what is made. It needs root,
mmdebstrap and git.
"""

import os
import pathlib
import secrets
import shutil
import subprocess
import sys
import tempfile
import time

import debian_root

TOP = pathlib.Path(__file__).resolve().parents[2]
VARIABLES = ("REPOSITORY", "REGISTRY", "ARTIFACTHUB_ID")


def git(*argv):
    done = subprocess.run(["git", *argv], cwd=TOP, capture_output=True, check=True)
    return done.stdout


def export(folder):
    """The last commit's files."""
    folder.mkdir(parents=True)
    subprocess.run(["tar", "-x", "-C", folder], input=git("archive", "HEAD"), check=True)


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    if os.geteuid() != 0:
        sys.exit("release.py: it makes a Debian root and mounts in it, which needs root")
    output = pathlib.Path(sys.argv[1]).resolve()
    if git("status", "--porcelain"):
        print("what is not committed is not released")
    root = debian_root.make()
    started_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="plimsoll-release-") as scratch:
        work = pathlib.Path(scratch)
        # Another path each time: what would get into the bytes shows in the next run.
        place = pathlib.Path(secrets.token_hex(4))
        export(work / place / "source")
        env = {name: os.environ[name] for name in VARIABLES if os.environ.get(name)}
        env["SOURCE_DATE_EPOCH"] = git("log", "-1", "--format=%ct").decode().strip()
        env["REVISION"] = git("rev-parse", "HEAD").decode().strip()
        assemble = pathlib.Path("/work") / place / "source/deploy/release/assemble.py"
        status = debian_root.run(root, work, env, "python3", assemble, f"/work/{place}")
        if status != 0:
            return 1
        shutil.rmtree(output, ignore_errors=True)
        shutil.copytree(work / place / "dist", output)
    print(f"{output}: {time.monotonic() - started_s:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
