"""Archives of the Open Container Initiative's image layout, written without a daemon.

An archive has one index: of an image for each processor, or of one artifact. Its bytes depend on its
content alone.
"""

import hashlib
import json
import pathlib
import re
import tempfile
import time

import tarball

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def digest(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def timestamp(epoch):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))


def as_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


class Layout:
    """An archive while it is filled: its blobs by their hashes."""

    def __init__(self):
        self.blobs = {}

    def add(self, media_type, content, **more):
        """Its descriptor."""
        self.blobs[digest(content)] = content
        return {"mediaType": media_type, "digest": digest(content), "size": len(content), **more}

    def add_manifest(self, config, layers, annotations, **more):
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers}
        return self.add(MANIFEST, as_json(manifest | {"annotations": annotations}), **more)

    def write(self, path, manifests, tag, epoch, annotations):
        """One index, which the layout calls @tag: of @manifests, or the only one of them itself."""
        (entry, *others) = manifests
        if others or "platform" in entry:
            index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests}
            entry = self.add(INDEX, as_json(index | {"annotations": annotations}))
        entry = entry | {"annotations": {"org.opencontainers.image.ref.name": tag}}
        top = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            blobs = folder / "blobs" / "sha256"
            blobs.mkdir(parents=True)
            for name, content in self.blobs.items():
                (blobs / name.partition(":")[2]).write_bytes(content)
            (folder / "index.json").write_bytes(as_json(top))
            (folder / "oci-layout").write_bytes(as_json({"imageLayoutVersion": "1.0.0"}))
            path.write_bytes(tarball.tar(tarball.entries_below(folder), epoch))


def stage_settings(dockerfile, stage):
    """What a stage of the Dockerfile says of how the image is run, so that it is said once."""
    text = re.search(rf"^FROM scratch AS {stage}\n((?:.+\n)+)", dockerfile, re.M)[1]
    words = dict(line.split(" ", 1) for line in text.splitlines())
    return {
        "User": words["USER"],
        "ExposedPorts": {f"{words['EXPOSE']}/tcp": {}},
        "Entrypoint": json.loads(words["ENTRYPOINT"]),
        "WorkingDir": "/",
    }


def labels(release, title, summary):
    return {
        "org.opencontainers.image.created": timestamp(release.epoch),
        "org.opencontainers.image.description": summary,
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.revision": release.revision,
        "org.opencontainers.image.source": release.repository,
        "org.opencontainers.image.title": title,
        "org.opencontainers.image.version": release.version,
    }


def write_image(release, path, title, summary, roots):
    """An image: @roots has the folder with its files for each processor."""
    layout = Layout()
    dockerfile = (release.source / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    settings = stage_settings(dockerfile, title.removeprefix("plimsoll-"))
    described = labels(release, title, summary)
    manifests = []
    for architecture, root in roots.items():
        content = tarball.tar(tarball.entries_below(root), release.epoch)
        created = timestamp(release.epoch)
        config = {
            "architecture": architecture,
            "config": settings | {"Labels": described},
            "created": created,
            "history": [{"created": created, "created_by": "deploy/release"}],
            "os": "linux",
            "rootfs": {"type": "layers", "diff_ids": [digest(content)]},
        }
        layer = layout.add(LAYER, tarball.compress(content))
        platform = {"os": "linux", "architecture": architecture}
        manifests.append(
            layout.add_manifest(
                layout.add(CONFIG, as_json(config)), [layer], described, platform=platform
            )
        )
    layout.write(path, manifests, release.image(title), release.epoch, described)
