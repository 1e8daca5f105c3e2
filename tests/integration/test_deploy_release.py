"""The parts of a release that need neither root nor a compiler: archives, images, the chart, texts.

tests/release makes two releases whole, and looks at what came out.
"""

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import types

import pytest
import yaml

from pages import TOP

sys.path.insert(0, str(TOP / "deploy" / "release"))
# pylint: disable=wrong-import-position
import chart  # noqa: E402
import debian_root  # noqa: E402
import debs  # noqa: E402
import oci  # noqa: E402
import tarball  # noqa: E402
import target  # noqa: E402
import texts  # noqa: E402

EPOCH = 1700000000
CREATED = "2023-11-14T22:13:20Z"


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


def make_tree(folder, mode, at_s):
    (folder / "b" / "c").mkdir(parents=True)
    (folder / "b" / "c" / "program").write_text("x")
    (folder / "b" / "c" / "program").chmod(0o700 | mode)
    (folder / "a").write_text("text")
    (folder / "a").chmod(0o600 | mode)
    (folder / "link").symlink_to("b/c/program")
    for path in folder.rglob("*"):
        os.utime(path, (at_s, at_s), follow_symlinks=False)
    return folder


def test_an_archive_has_no_trace_of_the_machine(tmp_path):
    one = make_tree(tmp_path / "one", 0o0, 1)
    two = make_tree(tmp_path / "another" / "two", 0o66, 2000000000)
    made = [tarball.tar(tarball.entries_below(folder), EPOCH) for folder in (one, two)]
    assert made[0] == made[1] and tarball.compress(made[0]) == tarball.compress(made[1])
    with tarfile.open(fileobj=io.BytesIO(made[0])) as archive:
        rows = [(m.name, m.mode, m.uid, m.uname, m.mtime, m.linkname) for m in archive]
    assert rows == [
        ("a", 0o644, 0, "", EPOCH, ""),
        ("b", 0o755, 0, "", EPOCH, ""),
        ("b/c", 0o755, 0, "", EPOCH, ""),
        ("b/c/program", 0o755, 0, "", EPOCH, ""),
        ("link", 0o777, 0, "", EPOCH, "b/c/program"),
    ]


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


def test_an_image(release, tmp_path):
    roots = {}
    for architecture in ("amd64", "arm64"):
        roots[architecture] = tmp_path / architecture
        roots[architecture].mkdir()
        (roots[architecture] / "program").write_text(architecture)
    path = tmp_path / "image.tar"
    oci.write_image(release, path, "plimsoll-extender", "lets pods be placed", roots)
    archive = Archive(path)
    name = archive.top["annotations"]["org.opencontainers.image.ref.name"]
    assert name == f"registry.test/tools/plimsoll-extender:{release.version}"
    index = json.loads(archive.blob(archive.top))
    assert [row["platform"]["architecture"] for row in index["manifests"]] == ["amd64", "arm64"]
    for row in index["manifests"]:
        manifest = json.loads(archive.blob(row))
        config = json.loads(archive.blob(manifest["config"]))
        assert config["architecture"] == row["platform"]["architecture"]
        assert config["created"] == CREATED
        # Said by the Dockerfile, for who builds it himself.
        assert config["config"]["User"] == "65532:65532"
        assert config["config"]["Entrypoint"] == ["/usr/bin/plimsoll-extender"]
        assert config["config"]["ExposedPorts"] == {"8010/tcp": {}}
        labels = config["config"]["Labels"]
        assert labels["org.opencontainers.image.source"] == "https://code.test/plimsoll"
        assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
        (layer,) = manifest["layers"]
        content = gzip.decompress(archive.blob(layer))
        assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(content).hexdigest()}"]
        with tarfile.open(fileobj=io.BytesIO(content)) as files:
            assert files.extractfile("program").read().decode() == config["architecture"]
    archive.check_no_other()


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


@pytest.mark.parametrize("name", debs.DAEMONS)
def test_a_unit(name):
    """Its program, its page, its kubeconfig, and that the two units differ in these alone."""
    text = (TOP / "deploy" / "systemd" / f"{name}.service").read_text("utf-8")
    short = name.removeprefix("plimsoll-")
    assert f"ExecStart=/usr/bin/{name}\n" in text
    assert f"Documentation=man:{target.MAN_PAGES[name][:-2]}(8)\n" in text
    assert f"LoadCredential=kubeconfig:/etc/plimsoll/{short}.kubeconfig\n" in text
    other = next(daemon for daemon in debs.DAEMONS if daemon != name)
    beside = (TOP / "deploy" / "systemd" / f"{other}.service").read_text("utf-8")

    def rest(unit):
        return [row for row in unit.splitlines() if "plimsoll" not in row.lower()]

    assert rest(text) == rest(beside)


def test_the_list_of_files_says_what_each_is():
    text = (TOP / "docs" / "releasing.md").read_text("utf-8")
    page = text.partition("## What is made\n")[2].partition("\n## ")[0]
    names = [row.split("`")[1] for row in page.splitlines() if row.startswith("| `")]
    kinds = [texts.kind(name) for name in names]
    assert len(names) > 20 and set(kinds) >= {
        what for _, what in texts.KINDS if "Artifact Hub" not in what
    }
    for name, what in zip(names, kinds):
        assert f"| {what} |" in page, name


def test_folders_may_have_spaces(monkeypatch):
    """Those of the cache and of what is temporary belong to the user who makes the release."""
    started = []
    with monkeypatch.context() as patch:
        patch.setattr(debian_root, "ENTER", 'printf "%s|" "$root" "$work" "$@"')
        done = types.SimpleNamespace(returncode=0)
        patch.setattr(debian_root.subprocess, "run", lambda argv, **_: started.append(argv) or done)
        debian_root.run("/my cache/root", "/its $1 work", {}, "python3", "a b")
    (argv,) = started
    said = subprocess.run(argv[argv.index("bash") :], capture_output=True, text=True, check=True)
    assert said.stdout == "/my cache/root|/its $1 work|python3|a b|"
