"""The release programs: hardened, free of the paths of the machine that built them, with an SBOM that is true."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from hardening import missing

TOP = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = {
    "plimsoll-controller": "controller/plimsoll-controller",
    "plimsoll-extender": "extender/plimsoll-extender",
    "kubectl-plimsoll": "cli/kubectl-plimsoll",
}
# What deploy/Dockerfile copies.
SOURCES = ("meson.build", "meson_options.txt", "common", "policy", "controller", "extender", "cli")
SOURCES += ("deploy", "tests")


@pytest.mark.parametrize("program", PROGRAMS)
def test_hardened(binary, program):
    assert not missing(binary(program, "release"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_path_of_the_build(binary, program):
    path = pathlib.Path(binary(program, "release"))
    content = path.read_bytes()
    for folder in (TOP, path.resolve().parents[1]):
        assert bytes(folder) not in content
    assert b"../common" not in content


def build_at(sources, build):
    """The hashes of the programs, built from a copy of the sources."""
    for name in SOURCES:
        copy = shutil.copytree if (TOP / name).is_dir() else shutil.copy
        copy(TOP / name, sources / name)
    env = {**os.environ, "CCACHE_DISABLE": "1", "CC": "gcc"}
    for argv in (
        ["meson", "setup", build, sources, "--buildtype=release", "-Ddebug=true"],
        ["ninja", "-C", build, *PROGRAMS.values()],
    ):
        done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:]
    return {name: sha256(build / path) for name, path in PROGRAMS.items()}


def sha256(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_the_same_bytes_on_two_paths(tmp_path):
    """With debugging information, which has more paths than a program without."""
    places = tmp_path / "one", tmp_path / "another" / "place"
    for place in places:
        place.mkdir(parents=True)
    one = build_at(places[0], places[0] / "build")
    assert one == build_at(places[1], tmp_path / "build-elsewhere")


@pytest.fixture(name="write_sbom", scope="module")
def fixture_write_sbom(binary, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sbom")

    def write(name, epoch="1700000000"):
        argv = [TOP / "deploy" / "sbom.py", folder / name, "--package=tzdata"]
        argv += [binary(program, "release") for program in PROGRAMS]
        subprocess.run(argv, env={**os.environ, "SOURCE_DATE_EPOCH": epoch}, check=True)
        return (folder / name).read_text(encoding="utf-8")

    return write


def installed(package):
    argv = ["dpkg-query", "--show", "--showformat=${Version}", package]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def test_sbom(binary, write_sbom):
    text = write_sbom("one.json")
    assert text == write_sbom("two.json"), "the same programs, another document"
    document = json.loads(text)
    assert document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0"
    assert document["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
    packages = {package["SPDXID"]: package for package in document["packages"]}
    assert len(packages) == len(document["packages"])
    for ident, package in packages.items():
        assert re.fullmatch(r"SPDXRef-[a-zA-Z0-9.-]+", ident)
        assert package["versionInfo"] and package["downloadLocation"] == "NOASSERTION"
    for program in PROGRAMS:
        package = packages[f"SPDXRef-Package-{program}"]
        assert package["licenseDeclared"] == "Apache-2.0"
        sums = {row["algorithm"]: row["checksumValue"] for row in package["checksums"]}
        assert sums["SHA256"] == sha256(binary(program, "release"))
    for name in ("libc6", "libcurl4", "libssl3", "tzdata"):
        assert packages[f"SPDXRef-Package-{name}"]["versionInfo"] == installed(name)
    relations = {
        (row["spdxElementId"], row["relationshipType"], row["relatedSpdxElement"])
        for row in document["relationships"]
    }
    for element, _, related in relations:
        assert related in packages and element in {*packages, document["SPDXID"]}
    extender = "SPDXRef-Package-plimsoll-extender"
    assert ("SPDXRef-DOCUMENT", "DESCRIBES", extender) in relations
    assert (extender, "DYNAMIC_LINK", "SPDXRef-Package-libmicrohttpd12") in relations
    assert {related for _, _, related in relations} == set(packages), "a package nobody needs"


def test_sbom_of_a_static_program(binary, tmp_path):
    """Its archives are named instead of shared libraries; one library is built from Debian's sources."""
    sources = tmp_path / "curl"
    (sources / "debian").mkdir(parents=True)
    (sources / "debian" / "changelog").write_text(
        "curl (7.88.1-10+deb12u15) bookworm; urgency=low\n"
    )
    (archive,) = pathlib.Path("/usr/lib").glob("*-linux-gnu/libjansson.a")
    argv = [TOP / "deploy" / "sbom.py", tmp_path / "sbom.json", f"--archive={archive}"]
    argv += [f"--source={sources}", binary("kubectl-plimsoll", "release")]
    subprocess.run(argv, check=True)
    document = json.loads((tmp_path / "sbom.json").read_text(encoding="utf-8"))
    packages = {package["name"]: package for package in document["packages"]}
    assert set(packages) == {"kubectl-plimsoll", "libjansson-dev", "curl"}
    assert packages["curl"]["versionInfo"] == "7.88.1-10+deb12u15"
    (reference,) = packages["curl"]["externalRefs"]
    assert reference["referenceLocator"] == "pkg:deb/debian/curl@7.88.1-10%2Bdeb12u15?arch=source"
    linked = {
        row["relatedSpdxElement"]
        for row in document["relationships"]
        if row["relationshipType"] == "STATIC_LINK"
    }
    assert linked == {"SPDXRef-Package-libjansson-dev", "SPDXRef-Package-curl"}
