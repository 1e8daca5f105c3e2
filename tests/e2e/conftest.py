"""Fixtures of the tests with a real cluster.

plane              the control plane that the tests share, with kwok, and with deploy/ applied; its
                   API server and schedulers are $PLIMSOLL_KUBERNETES, such as 1.36, if that is set
own_plane          one for the tests of a file, whose `plane` it is if the file has this mark
start_plane(..)    one of the test's own, for tests that kill it, or want another address or version
bare               one of the test's own that has never heard of us, with kwok and a scheduler
unscheduled        the same without the scheduler
log_dir            where this test's logs go; below $PLIMSOLL_LOG_DIR if that is set
run, binary        start a program (harness.Process), find a program of ours
exporters          synthetic node_exporters (harness.Exporters)
fleet              nodes of this test (cluster.nodes.Fleet), removed after it
namespace          a namespace of this test (cluster.workloads.Namespace), removed after it
plimsoll           our programs with their ServiceAccounts (cluster.plimsoll.Plimsoll)
make_plimsoll(..)  the same for a control plane, or a build of ours, that the test chooses
scheduler(..)      start a kube-scheduler that ends with the test
stack(..)          start both programs, and a scheduler that asks the extender
verb(..)           run kubectl-plimsoll to its end
browser            a real one (browser.Browser)
figure(text)       what the test measured; printed at the end of the run

When a test fails, what the cluster holds is written into its log_dir, and the report names the
folder with the output of every process.
"""

import os
import pathlib
import signal
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integration")]

from browser import Browser  # noqa: E402
from cluster.control_plane import ControlPlane, object_name  # noqa: E402
from cluster.nodes import Fleet, start_kwok  # noqa: E402
from cluster.plimsoll import Plimsoll, fast_policy, new_plane  # noqa: E402
from cluster.workloads import Namespace  # noqa: E402
from harness import NIGHTLY, Exporters  # noqa: E402
from programs import complete, find_program, log_folder, running, show_logs  # noqa: E402
from tools import build  # noqa: E402

pytest.register_assert_rewrite("api_kit", "api_cases_read", "api_cases_write")
FIGURES = pytest.StashKey[list]()
LOGS = pytest.StashKey[str]()


def pytest_configure(config):
    config.stash[FIGURES] = []
    with open("/proc/net/dev", encoding="ascii") as file:
        devices = {line.split(":")[0].strip() for line in file if ":" in line}
    if devices != {"lo"}:
        raise pytest.UsageError(
            "these tests bind fixed ports and start programs that must not be left behind: run "
            "them as tests/e2e/sandbox /usr/bin/python3 -m pytest tests/e2e, or make e2e"
        )

    # As the first process of its namespace it would ignore SIGTERM.
    def terminate(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, terminate)


def pytest_collection_modifyitems(config, items):
    left_out = [item for item in items if item.get_closest_marker("nightly") and not NIGHTLY]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_runtestloop(session):
    """Lanes that were given the same files share them: a lane runs those that it claims first."""
    claims = os.environ.get("PLIMSOLL_CLAIMS")
    if not claims or session.config.option.collectonly or session.testsfailed:
        return None
    by_file = {}
    for item in session.items:
        by_file.setdefault(item.path, []).append(item)
    claimed = (item for path, items in by_file.items() if claim(claims, path) for item in items)
    item = next(claimed, None)
    while item:
        following = next(claimed, None)
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        item = following
    return True


def claim(directory, path):
    try:
        pathlib.Path(directory, path.stem).touch(exist_ok=False)
        return True
    except FileExistsError:
        return False


def pytest_terminal_summary(terminalreporter, config):
    # make e2e takes them from the XML, and shows of this output the end: that must be a failure.
    if config.stash[FIGURES] and not config.option.xmlpath:
        terminalreporter.section("figures")
        for text in config.stash[FIGURES]:
            terminalreporter.write_line(text)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if not report.failed:
        return
    directory = item.stash.get(LOGS, None)
    shared = item.session.stash.get(LOGS, None)
    report.sections.append(("logs of the shared cluster and of every test", str(shared)))
    if not directory:
        return
    plane = item.funcargs.get("plane")
    if plane and call.when == "call":
        plane.dump(directory)
    show_logs(report, [directory])


@pytest.fixture(scope="session")
def log_root(request, tmp_path_factory):
    root = os.environ.get("PLIMSOLL_LOG_DIR") or str(tmp_path_factory.mktemp("e2e"))
    os.makedirs(root, exist_ok=True)
    request.session.stash[LOGS] = root
    return root


@pytest.fixture
def log_dir(request, log_root):
    path = log_folder(log_root, request.module.__name__, request.node.name)
    request.node.stash[LOGS] = path
    return path


@pytest.fixture
def figure(request):
    def add(text):
        request.config.stash[FIGURES].append(f"{request.node.name}: {text}")
        request.node.user_properties.append(("figure", text))

    return add


@pytest.fixture(scope="session")
def binary():
    return find_program


@pytest.fixture
def run(log_dir):
    yield from running(log_dir)


@pytest.fixture(scope="session")
def shared_plane(log_root):
    minor = os.environ.get("PLIMSOLL_KUBERNETES", build.NEWEST)
    module = build.kubernetes_of(minor)
    plane = new_plane(log_folder(log_root, "cluster"), "127.100.0.1", module=module)
    yield plane
    plane.stop()


@pytest.fixture(scope="module")
def own_plane(request, log_root):
    plane = new_plane(log_folder(log_root, f"cluster-{request.module.__name__}"), "127.100.50.1")
    yield plane
    plane.stop()


@pytest.fixture
def plane(request):
    is_own = request.node.get_closest_marker("own_plane")
    plane = request.getfixturevalue("own_plane" if is_own else "shared_plane")
    yield plane
    assert not plane.died()


@pytest.fixture
def start_plane(log_dir):
    planes = []

    def start(address=None, **how):
        number = len(planes) + 1
        directory = log_folder(log_dir, f"cluster-{number}")
        planes.append(new_plane(directory, address or f"127.100.{number}.1", **how))
        return planes[-1]

    yield start
    problems = [line for plane in planes for line in plane.died()]
    for plane in planes:
        plane.stop()
    assert not problems, "\n".join(problems)


@pytest.fixture
def unscheduled(log_dir):
    """A cluster that has never heard of us, for tests that install as users do."""
    plane = ControlPlane(os.path.join(log_dir, "cluster"), "127.100.60.1")
    try:
        start_kwok(plane)
        yield plane
        assert not plane.died()
    finally:
        plane.stop()


@pytest.fixture
def bare(unscheduled):
    unscheduled.start_scheduler()
    return unscheduled


@pytest.fixture
def priority_class(plane, namespace):
    """The name of a class far above that of ordinary pods."""
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    plane.api.create(classes, {"metadata": {"name": namespace.name}, "value": 1000000})
    yield namespace.name
    plane.api.delete(f"{classes}/{namespace.name}")


@pytest.fixture
def exporters(log_dir):
    peer = Exporters(log_dir)
    yield peer
    peer.stop()


@pytest.fixture
def fleet(plane, exporters):
    nodes = Fleet(plane, exporters)
    yield nodes
    # A test that failed while the API server was away is one failure, not three.
    if plane.is_up():
        nodes.remove()


@pytest.fixture
def namespace(request, plane, fleet):
    # After the nodes, so that it goes before them.
    name = f"{object_name(request.node.name)}-{os.urandom(2).hex()}"
    space = Namespace(plane, name)
    yield space
    if plane.is_up():
        space.remove()


@pytest.fixture
def make_plimsoll(log_dir, run, binary):
    """For tests that choose the control plane, or the build, themselves."""

    def make(plane, build="build", name=""):
        return Plimsoll(plane, log_dir, run, lambda program: binary(program, build), name)

    return make


@pytest.fixture
def plimsoll(plane, make_plimsoll):
    return make_plimsoll(plane)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(str(tmp_path_factory.mktemp("chromium"))) as started:
        yield started


@pytest.fixture
def scheduler(plane):
    started = []

    def start(*args, **more):
        started.append(plane.start_scheduler(*args, **more))
        return started[-1]

    yield start
    for process in started:
        if process.is_running():
            process.kill()


@pytest.fixture
def stack(plimsoll, exporters, scheduler):
    """Call it when the nodes are there: (controller, extender)."""

    def start(content=None):
        policy = plimsoll.write_policy(content or fast_policy())
        controller = plimsoll.controller(policy, exporters)
        extender = plimsoll.extender(policy)
        scheduler(extenders=[plimsoll.scheduler_entry(extender)])
        return controller, extender

    return start


@pytest.fixture(scope="session", autouse=True)
def kubectl():
    """The one that kubectl-plimsoll starts is as old as the control plane."""
    os.environ["KUBECTL"] = str(build.directory("kubernetes") / "bin" / "kubectl")


@pytest.fixture
def verb(plane, tmp_path):
    """What kubectl-plimsoll prints about the cluster; status 1 is an answer as well."""

    def call(*words):
        env = {"KUBECONFIG": str(plane.kubeconfig)}
        done = complete("kubectl-plimsoll", *words, status=None, env=env, cwd=tmp_path)
        assert done.returncode in (0, 1) and not done.stderr, done.stderr
        return done.stdout

    return call
