"""What `make release` made: the same bytes each time, and programs that run where they are said to run."""

import hashlib
import json
import re
import shutil
import ssl

import pytest

from hardening import missing
from pages import TOP
from release_kit import DAEMONS, EMULATORS, ENV, PROGRAMS, output
from resolver_kit import Resolver
from tls_kit import Authority

ACCOUNT = "var/run/secrets/kubernetes.io/serviceaccount"


def sums(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_two_runs_make_the_same_bytes(dists):
    one, two = map(sums, dists)
    assert {name for name in one.keys() | two.keys() if one.get(name) != two.get(name)} == set()


def test_every_file_has_its_sum(dist):
    listed = (line.split("  ") for line in (dist / "SHA256SUMS").read_text().splitlines())
    found = sums(dist)
    del found["SHA256SUMS"]
    assert {name: hashed for hashed, name in listed} == found


def test_each_program_for_each_processor(dist, version):
    names = set(sums(dist))
    for architecture in EMULATORS:
        for program in PROGRAMS:
            stem = f"{program}-{version}-linux-{architecture}"
            assert {f"{stem}.tar.gz", f"{stem}.spdx.json"} <= names
            assert f"{program}_{version}_{architecture}.deb" in names
        for program in DAEMONS:
            assert f"{program}-image-{version}-linux-{architecture}.spdx.json" in names


def test_the_page_lists_every_file(dist):
    """With its size: within a tenth, and a kilobyte, of what came out."""
    rows = re.findall(
        r"^\| `(\S+)` \| ([\d,]+) \|", (TOP / "deploy/release/README.md").read_text(), re.M
    )
    told = {name: int(size.replace(",", "")) for name, size in rows}
    made = {path.name: path.stat().st_size / 1000 for path in dist.iterdir()}
    assert told.keys() == made.keys()
    wrong = {n: (told[n], size) for n, size in made.items() if abs(told[n] - size) > size / 10 + 1}
    assert wrong == {}, "release.py prints the table anew"


@pytest.fixture(name="empty")
def fixture_empty(unpacked, tmp_path):
    """A root with nothing but the plugin: no loader, no library, no /dev, no /proc."""
    root = tmp_path / "root"
    root.mkdir()
    shutil.copy(unpacked("kubectl-plimsoll", "amd64") / "kubectl-plimsoll", root)
    return root


@pytest.fixture(name="pod")
def fixture_pod(cluster, empty, tmp_path):
    """That root as a pod's, of a cluster behind TLS as api.test: the environment."""
    authority = Authority(tmp_path / "ca", "ca")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.server("api", names="DNS:api.test"))
    cluster.server.socket = context.wrap_socket(cluster.server.socket, server_side=True)
    (empty / ACCOUNT).mkdir(parents=True)
    shutil.copy(authority.cert, empty / ACCOUNT / "ca.crt")
    (empty / ACCOUNT / "token").write_text("secret")
    (empty / "etc").mkdir()
    (empty / "tmp").mkdir()
    port = cluster.server.server_address[1]
    return {**ENV, "KUBERNETES_SERVICE_HOST": "api.test", "KUBERNETES_SERVICE_PORT": str(port)}


def test_the_plugin_runs_in_an_empty_root(empty, pod, tmp_path):
    """A name is resolved without a library of the machine."""
    ask = ("chroot", empty, "/kubectl-plimsoll", "top")
    with Resolver(tmp_path, "timeout:1 attempts:1") as resolver:
        resolver.addresses["api.test"] = ["127.0.0.1"]
        shutil.copy(tmp_path / "resolv.conf", empty / "etc/resolv.conf")
        assert "4 nodes" in output(*ask, env=pod)
        assert resolver.asked["api.test"] > 0
    assert "cannot run kubectl" in output(*ask, env=ENV, status=2)


def test_the_plugin_reads_the_table_of_hosts(empty, pod):
    (empty / "etc" / "hosts").write_text("127.0.0.1 api.test\n")
    assert "4 nodes" in output("chroot", empty, "/kubectl-plimsoll", "top", env=pod)


def test_the_plugin_for_the_other_processor(unpacked, cluster):
    program = unpacked("kubectl-plimsoll", "arm64") / "kubectl-plimsoll"
    assert "AArch64" in output("readelf", "--file-header", program)
    said = output("qemu-aarch64", program, "top", f"--server={cluster.url}", env=ENV)
    assert "4 nodes" in said


def test_the_plugin_needs_no_library_and_is_hardened(unpacked):
    program = unpacked("kubectl-plimsoll", "amd64") / "kubectl-plimsoll"
    assert "NEEDED" not in output("readelf", "--dynamic", program)
    # These two are told by the symbols of shared libraries, and there are none.
    assert set(missing(program)) <= {"stack protector", "checked C library functions"}


def test_the_archives_say_whose_code_is_in_them(unpacked, dist, version):
    for architecture in EMULATORS:
        folder = unpacked("kubectl-plimsoll", architecture)
        stem = f"kubectl-plimsoll-{version}-linux-{architecture}"
        document = json.loads((dist / f"{stem}.spdx.json").read_text())
        named = {package["name"] for package in document["packages"]} - {"kubectl-plimsoll"}
        assert {"curl", "libssl-dev", "libc-ares-dev", "libc6-dev", "libjansson-dev"} <= named
        assert {path.name for path in (folder / "licences").iterdir()} == named
        assert all((path / "copyright").stat().st_size for path in (folder / "licences").iterdir())
        links = {row["relationshipType"] for row in document["relationships"]}
        assert links == {"DESCRIBES", "STATIC_LINK"}


def test_lintian_has_nothing_to_say(dist):
    said = output("lintian", "--allow-root", "--fail-on=error,warning", *dist.glob("*.deb"))
    assert said == ""
