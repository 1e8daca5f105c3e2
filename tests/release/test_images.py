"""The images of a release: those for the other processor run by qemu."""

import json
import tempfile

import pytest

from harness import PYTHON
from pages import TOP
from release_kit import DAEMONS, EMULATORS, ENV, output, unpack


@pytest.mark.parametrize("program", DAEMONS)
@pytest.mark.parametrize("architecture", EMULATORS)
def test_the_image_starts(dist, version, program, architecture, tmp_path):
    """Its files alone, as a root: the loader and each library are there."""
    archive = dist / f"{program}-{version}.oci.tar"
    root, start = unpack(archive, architecture, tmp_path / "image")
    if architecture == "amd64":
        run = ("chroot", "--userspec=65532:65532", root)
    else:
        run = ("qemu-aarch64", "-L", root)
        start = root / start.lstrip("/")
    assert output(*run, start, "--version", env=ENV) == f"{program} {version}\n"
    assert "cpu_usage_avg_5m" in output(*run, start, "--check-config", env=ENV)
    document = json.loads((root / "usr/share/plimsoll.spdx.json").read_text())
    for package in document["packages"]:
        folder = root / "usr/share/doc" / package["name"]
        assert package["versionInfo"] == version or (folder / "copyright").exists()


EMULATED = """\
#!/bin/sh
exec qemu-aarch64 -L {root} {root}{start} "$@"
"""


def emulated(script, root, start):
    script.parent.mkdir()
    script.write_text(EMULATED.format(root=root, start=start), "ascii")
    script.chmod(0o755)


def test_the_demo_on_the_other_processor(dist, version, unpacked, tmp_path):
    """Both programs and the plugin are those for arm64; the exporters and the API server are native. Nodes are
    scraped and annotated, and the extender's answers over HTTP place a burst of pods."""
    plugin = unpacked("kubectl-plimsoll", "arm64")
    emulated(tmp_path / "cli" / "kubectl-plimsoll", plugin, "/kubectl-plimsoll")
    for program in DAEMONS:
        archive = dist / f"{program}-{version}.oci.tar"
        image = unpack(archive, "arm64", tmp_path / program)
        script = tmp_path / program.removeprefix("plimsoll-") / program
        emulated(script, image.root, image.start)
        said = output(script, "--version")
        assert said == f"{program} {version}\n" and "AArch64" in output(
            "readelf", "--file-header", f"{image.root}{image.start}"
        )
    demo = [PYTHON, TOP / "tests/demo/demo.py", "--build", tmp_path, "--once"]
    assert "A burst: 16 pods" in output(*demo, cwd=TOP, timeout=600)


@pytest.fixture(name="storage")
def fixture_storage():
    """Podman's, on a path that is short enough for it."""
    with tempfile.TemporaryDirectory(prefix="podman-") as folder:
        yield [f"--root={folder}/root", f"--runroot={folder}/run", "--storage-driver=vfs"]


def test_podman_takes_the_images(dist, version, storage):
    for architecture in EMULATORS:
        source = f"oci-archive:{dist}/plimsoll-controller-{version}.oci.tar"
        output("podman", *storage, "pull", f"--arch={architecture}", source)
        name = f"localhost/plimsoll-controller:{version}"
        described = json.loads(output("podman", *storage, "image", "inspect", name))[0]
        assert described["Architecture"] == architecture
        assert described["Labels"]["org.opencontainers.image.version"] == version
