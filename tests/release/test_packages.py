"""The Debian packages of a release, installed in Debian 12 and in Debian 13, each a root of its own."""

import re
import shutil

import pytest

from debian_kit import Booted, Debian
from harness import Exporters, StandIn, fetch, wait_until
from programs import peers

SECTIONS = {"plimsoll-controller": 8, "plimsoll-extender": 8, "kubectl-plimsoll": 1}
DAEMONS = ("plimsoll-controller", "plimsoll-extender")
# A name and an address: what is too hot, and what is not.
NODES = {"hot": "127.1.0.1", "calm": "127.1.0.2"}


@pytest.fixture(name="debian", scope="module", params=["bookworm", "trixie"])
def fixture_debian(request, dist, version, tmp_path_factory):
    """With the packages, with systemd, which the units need, and man, which looks for pages."""
    root = tmp_path_factory.mktemp(request.param) / "root"
    debian = Debian.make(request.param, root, dist, "systemd", "man-db")
    debian.apt("update")
    debian.apt("install", *(f"/srv/{name}_{version}_amd64.deb" for name in SECTIONS))
    yield debian
    debian.remove()


@pytest.fixture(name="start_standin")
def fixture_start_standin(tmp_path):
    yield from peers(StandIn, str(tmp_path))


@pytest.fixture(name="start_exporters")
def fixture_start_exporters(tmp_path):
    yield from peers(Exporters, str(tmp_path))


def unit_path(name):
    return f"/lib/systemd/system/{name}.service"


def unit(debian, name):
    """[(key, value)] of a unit."""
    text = debian.path(unit_path(name)).read_text("ascii")
    return re.findall(r"^(\w+)=(.*)$", text, re.M)


def values(settings, key):
    return [value for name, value in settings if name == key]


def test_they_are_installed_whole(debian, version):
    for name in SECTIONS:
        said = debian.run("dpkg-query", "--show", "--showformat=${Status} ${Version}", name)
        assert said == f"install ok installed {version}"
    assert debian.run("dpkg", "--audit") == ""
    assert debian.run("dpkg", "--verify", *SECTIONS) == ""


@pytest.mark.parametrize("name", SECTIONS)
def test_a_program_answers_and_has_its_page(debian, version, name):
    assert debian.run(name, "--version") == f"{name} {version}\n"
    assert "usage" in debian.run(name, "--help").lower()
    page = f"/usr/share/man/man{SECTIONS[name]}/{name}.{SECTIONS[name]}.gz"
    assert debian.run("man", "--where", str(SECTIONS[name]), name) == f"{page}\n"


@pytest.mark.parametrize("name", DAEMONS)
def test_systemd_takes_the_unit(debian, name):
    """What it says of a unit is what it would not do: also a page or a program that is not there."""
    analyze = ("env", "SYSTEMD_LOG_TARGET=console", "systemd-analyze")
    assert debian.run(*analyze, "verify", unit_path(name)) == ""
    said = debian.run(*analyze, "security", "--offline=true", unit_path(name))
    exposure = re.search(rf"exposure level for {name}.service: ([\d.]+) ", said)
    assert float(exposure[1]) < 2, said


@pytest.mark.parametrize("name", DAEMONS)
def test_what_the_unit_names_is_there(debian, name):
    """Its user is made by systemd; of its paths only the kubeconfig is for the administrator to put there."""
    settings = unit(debian, name)
    assert values(settings, "DynamicUser") == ["yes"] and not values(settings, "User")
    paths = [path for _, value in settings for path in re.findall(r"(?<![\w%])/\S+", value)]
    missing = [path for path in paths if not debian.path(path).exists()]
    short = name.removeprefix("plimsoll-")
    assert missing == [f"/etc/plimsoll/{short}.kubeconfig"]
    assert debian.path("/etc/plimsoll").is_dir()


class Scene:
    """Two nodes as exporters show them, and the pod that asks where it may go."""

    def __init__(self, standin, exporters):
        self.kubeconfig, self.port = standin.kubeconfig, exporters.port
        for name, address in NODES.items():
            standin.admin("nodes", {"names": [name], "first_address": address})
            exporters.set([address], load={"cpu": 0.9 if name == "hot" else 0.1, "mem": 0.2})

    def is_filtered(self, extender_url):
        pod = {"metadata": {"name": "a", "namespace": "default"}}
        pod["spec"] = {"containers": [{"name": "c"}]}
        question = {"Pod": pod, "Nodes": None, "NodeNames": list(NODES)}
        answer = fetch(f"{extender_url}/v1/filter", "POST", question).json()
        rejected = answer["FailedNodes"] | answer["FailedAndUnresolvableNodes"]
        assert answer["NodeNames"] == ["calm"], answer
        return "cpu_usage_avg_5m" in rejected["hot"]


@pytest.fixture(name="scene")
def fixture_scene(start_standin, start_exporters):
    hosts = [word for address in NODES.values() for word in ("--host", address)]
    return Scene(start_standin(), start_exporters("--speed=10", *hosts))


def test_they_run_under_systemd(debian, scene, tmp_path):
    """As docs/outside-the-cluster.md has it: a kubeconfig, flags as variables. The controller writes what exporters show,
    the extender filters by it; a removal stops both."""
    copy = debian.copy(tmp_path / "booted")
    target = f"http://{{address}}:{scene.port}/metrics"
    flags = {
        "controller": {"TARGET_URL_TEMPLATE": target, "SCRAPE_INTERVAL": "1s", "HEALTH_PORT": 0},
        "extender": {"PORT": 0},
    }
    for short, given in flags.items():
        kubeconfig = copy.path(f"/etc/plimsoll/{short}.kubeconfig")
        shutil.copy(scene.kubeconfig, kubeconfig)
        kubeconfig.chmod(0o600)
        with open(copy.path(f"/etc/default/plimsoll-{short}"), "a", encoding="ascii") as file:
            file.writelines(f"PLIMSOLL_{name}={value}\n" for name, value in given.items())
    with Booted(copy, tmp_path) as machine:

        def log(name):
            return machine.run("journalctl", f"--unit={name}", "--output=cat", "--no-pager")

        machine.run("systemctl", "enable", "--now", *DAEMONS, status=None)
        assert "failed" not in machine.run("systemctl", "is-active", *DAEMONS, status=None), [
            log(name) for name in DAEMONS
        ]

        def extender_port():
            return re.search(r"\bport=(\d+)", log("plimsoll-extender"))

        port = wait_until(extender_port, 60, "the extender to listen", 0.5)[1]
        wait_until(
            lambda: scene.is_filtered(f"http://127.0.0.1:{port}"), 90, "a filtered node", 0.5
        )
        for name in DAEMONS:
            machine.run("systemctl", "reload", name)
            shown = machine.run("systemctl", "show", "--property=NRestarts,MainPID", name)
            found = dict(row.split("=") for row in shown.splitlines())
            assert found["NRestarts"] == "0", log(name)
            status = machine.run("cat", f"/proc/{found['MainPID']}/status")
            assert int(re.search(r"^Uid:\s+(\d+)", status, re.M)[1]) >= 61184, "DynamicUser's"
            assert re.search(r"^CapBnd:\s+0+$", status, re.M)
        machine.run("dpkg", "--remove", *DAEMONS)
        for name in DAEMONS:
            assert "inactive" in machine.run("systemctl", "is-active", name, status=None)
            assert "Deactivated successfully" in log(name)
    copy.remove()


def test_nothing_is_left_of_them(debian, tmp_path):
    """Not even what an administrator adds to make them run: a kubeconfig, and that they start with the machine."""
    left = debian.copy(tmp_path / "left")
    added = [f"etc/plimsoll/{name.removeprefix('plimsoll-')}.kubeconfig" for name in DAEMONS]
    for path in added:
        left.path(path).touch()
    left.run("systemctl", "enable", *DAEMONS)
    added += [f"etc/systemd/system/multi-user.target.wants/{name}.service" for name in DAEMONS]

    def files():
        """Those whose paths have our name; man's cache knows of a page that was read."""
        found = (path for path in left.root.rglob("*") if not path.is_dir() or path.is_symlink())
        names = {str(path.relative_to(left.root)) for path in found}
        return {name for name in names if "plimsoll" in name and not name.startswith("var/cache")}

    assert files() > {*added, *(f"usr/bin/{name}" for name in SECTIONS)}
    left.run("dpkg", "--remove", *SECTIONS)
    lists = {f"var/lib/dpkg/info/{name}.{kind}" for name in DAEMONS for kind in ("list", "postrm")}
    assert files() == {*added, *(f"etc/default/{name}" for name in DAEMONS), *lists}
    left.run("dpkg", "--purge", *SECTIONS)
    assert files() == set() and not left.path("/etc/plimsoll").exists()
    assert left.run("dpkg", "--audit") == ""
    left.remove()
