"""What the tests of a release share: what is in one, and how to look at it."""

import json
import os
import subprocess
import tarfile
from typing import NamedTuple


PROGRAMS = {
    "plimsoll-controller": "plimsoll-controller.8",
    "plimsoll-extender": "plimsoll-extender.8",
    "kubectl-plimsoll": "kubectl-plimsoll.1",
}
DAEMONS = ("plimsoll-controller", "plimsoll-extender")
EMULATORS = {"amd64": (), "arm64": ("qemu-aarch64",)}
# Of a test: not this machine's SSL_CERT_FILE or proxy.
ENV = {"PATH": os.environ["PATH"], "HOME": "/"}


def output(*argv, status=0, **more):
    done = subprocess.run(
        [str(word) for word in argv], capture_output=True, text=True, check=False, **more
    )
    assert done.returncode == status, f"{argv}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


class Image(NamedTuple):
    """`root` has its files, `start` is the path in there of what it starts."""

    root: object
    start: str


def unpack(archive, architecture, folder):
    """What an archive of dist/ has for a processor; `folder` is made."""
    folder.mkdir()
    layout, root = folder / "layout", folder / "root"
    with tarfile.open(archive) as file:
        file.extractall(layout)

    def blob(descriptor):
        path = layout / "blobs" / descriptor["digest"].replace(":", "/")
        return path if descriptor["mediaType"].endswith("gzip") else json.loads(path.read_text())

    top = json.loads((layout / "index.json").read_text())
    index = blob(top["manifests"][0])
    (entry,) = (
        row for row in index["manifests"] if row["platform"]["architecture"] == architecture
    )
    manifest = blob(entry)
    root.mkdir()
    for layer in manifest["layers"]:
        output("tar", "-xzf", blob(layer), "-C", root)
    (start,) = blob(manifest["config"])["config"]["Entrypoint"]
    return Image(root, start)
