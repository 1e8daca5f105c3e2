"""The parts of a release that need neither root nor a compiler: the chart, texts.

tests/release looks at two whole releases: that they are the same, at images, packages and units.
"""

import hashlib
import json
import sys
import tarfile

import pytest
import yaml

from pages import TOP

sys.path.insert(0, str(TOP / "deploy" / "release"))
# pylint: disable=wrong-import-position
import chart  # noqa: E402
import target  # noqa: E402
import texts  # noqa: E402

EPOCH = 1700000000


@pytest.fixture(name="release")
def fixture_release(tmp_path, monkeypatch):
    for name, value in (
        ("SOURCE_DATE_EPOCH", str(EPOCH)), ("REVISION", "0" * 40),
        ("REPOSITORY", "https://code.test/plimsoll"), ("REGISTRY", "registry.test/tools"),
        ("ARTIFACTHUB_ID", "6d5b7c9e"),
    ):  # fmt: skip
        monkeypatch.setenv(name, value)
    (tmp_path / "dist").mkdir()
    (tmp_path / "source").symlink_to(TOP)
    return target.read_release(tmp_path)


class Archive:
    """An OCI layout: every descriptor leads to a blob of its size and hash, and no blob is left."""

    def __init__(self, path):
        with tarfile.open(path) as archive:
            self.files = {m.name: archive.extractfile(m).read() for m in archive if m.isfile()}
        assert json.loads(self.files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
        (self.top,) = json.loads(self.files["index.json"])["manifests"]
        self.asked = set()

    def blob(self, descriptor):
        name = f"blobs/{descriptor['digest'].replace(':', '/')}"
        content = self.files[name]
        assert f"sha256:{hashlib.sha256(content).hexdigest()}" == descriptor["digest"]
        assert len(content) == descriptor["size"]
        self.asked.add(name)
        return content

    def check_no_other(self):
        assert {name for name in self.files if name.startswith("blobs/")} == self.asked


def test_the_chart(release):
    chart.write_chart(release)
    package = release.dist / f"plimsoll-{release.version}.tgz"
    with tarfile.open(package) as files:
        held = {m.name: files.extractfile(m).read() for m in files if m.isfile()}
        assert not [m.name for m in files if m.issym()], "helm does not take links"
    there = TOP / "deploy" / "chart"
    followed = [path for path in there.glob("**/*") if path.is_file()]
    links = (there / "files").iterdir()
    followed += [path for link in links for path in link.rglob("*") if path.is_file()]
    assert {f"plimsoll/{path.relative_to(there)}" for path in followed} == set(held)
    values = yaml.safe_load(held["plimsoll/values.yaml"])
    assert values.pop("images")["registry"] == "registry.test/tools"
    ours = yaml.safe_load((there / "values.yaml").read_text("utf-8"))
    ours.pop("images")
    assert values == ours
    described = yaml.safe_load(held["plimsoll/Chart.yaml"])
    assert described["version"] == described["appVersion"] == release.version
    assert described["home"] == "https://code.test/plimsoll"
    images = yaml.safe_load(described["annotations"]["artifacthub.io/images"])
    assert images[0]["image"] == f"registry.test/tools/plimsoll-controller:{release.version}"
    assert all(isinstance(value, str) for value in described["annotations"].values())

    archive = Archive(release.dist / f"plimsoll-chart-{release.version}.oci.tar")
    manifest = json.loads(archive.blob(archive.top))
    assert archive.blob(manifest["layers"][0]) == package.read_bytes()
    config = json.loads(archive.blob(manifest["config"]))
    assert config == {key: value for key, value in described.items() if key != "annotations"}
    archive.check_no_other()
    assert (release.dist / "artifacthub-repo.yml").read_text() == "repositoryID: 6d5b7c9e\n"


def test_notes():
    changelog = (
        "# Changelog\n\n## 1.10.0\n\nnewer\n\n## 1.1.0 (date)\n\n### New\n\n- a\n\n## 1.0\n\nb\n"
    )
    assert texts.notes(changelog, "1.1.0") == "### New\n\n- a\n"
    with pytest.raises(SystemExit, match="no chapter about 1.1$"):
        texts.notes(changelog, "1.1")
    ours = (TOP / "CHANGELOG.md").read_text("utf-8")
    version = target.re.search(r"version: '(.+)'", (TOP / "meson.build").read_text("utf-8"))[1]
    assert "### " in texts.notes(ours, version)


def test_krew(release):
    archive = release.dist / "kubectl-plimsoll-0.2.0-linux-amd64.tar.gz"
    archive.write_bytes(b"content")
    manifest = yaml.safe_load(texts.krew(release, [("linux", "amd64", archive)]))
    (platform,) = manifest["spec"]["platforms"]
    assert manifest["spec"]["version"] == f"v{release.version}"
    assert platform["selector"] == {"matchLabels": {"os": "linux", "arch": "amd64"}}
    assert platform["uri"] == release.asset(archive.name)
    assert platform["uri"].startswith("https://code.test/plimsoll/releases/download/v")
    assert platform["sha256"] == hashlib.sha256(b"content").hexdigest()
    assert len(manifest["spec"]["shortDescription"]) <= 80


def test_the_list_of_files_says_what_each_is():
    text = (TOP / "deploy/release/README.md").read_text("utf-8")
    page = text.partition("## What is made\n")[2].partition("\n## ")[0]
    names = [row.split("`")[1] for row in page.splitlines() if row.startswith("| `")]
    kinds = [texts.kind(name) for name in names]
    assert len(names) > 20 and set(kinds) >= {
        what for _, what in texts.KINDS if "Artifact Hub" not in what
    }
    for name, what in zip(names, kinds):
        assert f"| {what} |" in page, name
