"""Fixtures of the integration tests.

log_dir              where this test's logs go: $PLIMSOLL_LOG_DIR/<file>/<test>, else a scratch folder
run(argv, name, env) start a program: a harness.Process; stopped and checked after the test; told to
                     end, then or before, it must do so with status 0, unless clean_exit=False
binary(name, build)  path of one of our programs: of $PLIMSOLL_BUILD_DIR (with sanitizers), or with
                     build="release" or "tsan" of $PLIMSOLL_RELEASE_DIR, $PLIMSOLL_TSAN_DIR
standin              an API server stand-in without nodes: harness.StandIn
start_standin(..)    the same with arguments of your own, as often as you like
exporters            synthetic node_exporters: harness.Exporters
start_exporters(..)  the same with arguments of your own
module_log_dir, module_run, module_start_standin, module_start_exporters
                     the same for all tests of a file: for programs that tests only ask
real_node_exporter   Debian's prometheus-node-exporter on a free port: its URL
start_real_exporter  the same with flags of your own
start_prometheus(..) Debian's prometheus for {target: labels}: a prometheus_kit.RealPrometheus
pretended            a prometheus_kit.PretendedPrometheus; start_pretended(..) for those with arguments
start_controller(..) plimsoll-controller for a stand-in and exporters: a controller_kit.Controller
start_extender(..)   plimsoll-extender for a stand-in: an extender_kit.Extender; module_start_extender(..)
cluster              an API server for kubectl-plimsoll: a paper_cluster.PaperCluster, if a file has no other
plimsoll(..)         kubectl-plimsoll with these words, of `cluster`, to its end: what it says

Tests marked `nightly` run only in `make nightly`. A missing prerequisite is an error, never a skip.
After each test every program is stopped. The test fails if a sanitizer complained, if a program ended
that the test did not end, or if a peer has a traceback; a failure's report has the ends of all logs.
"""

import itertools
import os
import shutil
import subprocess

import pytest

from controller_kit import SCRAPE_S, Controller, exporter_url, policy, write_sources
from extender_kit import Extender
from harness import NIGHTLY, Exporters, StandIn
from paper_cluster import PaperCluster
from policies import write_policy
from programs import complete, find_program, log_folder, peers, running, show_logs
from prometheus_kit import PretendedPrometheus, RealPrometheus

pytest.register_assert_rewrite("api_kit", "api_cases_read", "api_cases_write")
LOGS = pytest.StashKey[list]()


def pytest_collection_modifyitems(config, items):
    left_out = [item for item in items if item.get_closest_marker("nightly") and not NIGHTLY]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed:
        show_logs(report, [*item.stash.get(LOGS, []), *item.parent.stash.get(LOGS, [])])


@pytest.fixture(scope="session")
def log_root(tmp_path_factory):
    return os.environ.get("PLIMSOLL_LOG_DIR") or str(tmp_path_factory.mktemp("logs"))


@pytest.fixture
def log_dir(request, log_root):
    path = log_folder(log_root, request.module.__name__, request.node.name)
    request.node.stash[LOGS] = [path]
    return path


@pytest.fixture(scope="module")
def module_log_dir(request, log_root):
    path = log_folder(log_root, request.module.__name__, "module")
    request.node.stash[LOGS] = [path]
    return path


@pytest.fixture(scope="session")
def binary():
    return find_program


@pytest.fixture
def run(log_dir):
    yield from running(log_dir)


@pytest.fixture(scope="module")
def module_run(module_log_dir):
    yield from running(module_log_dir)


@pytest.fixture
def start_standin(log_dir):
    yield from peers(StandIn, log_dir)


@pytest.fixture(scope="module")
def module_start_standin(module_log_dir):
    yield from peers(StandIn, module_log_dir)


@pytest.fixture
def standin(start_standin):
    return start_standin()


@pytest.fixture
def start_exporters(log_dir):
    yield from peers(Exporters, log_dir)


@pytest.fixture(scope="module")
def module_start_exporters(module_log_dir):
    yield from peers(Exporters, module_log_dir)


@pytest.fixture
def exporters(start_exporters):
    return start_exporters()


@pytest.fixture
def start_real_exporter(run):
    program = shutil.which("prometheus-node-exporter")
    assert program, "apt-get install prometheus-node-exporter"

    def start(*flags):
        argv = [program, "--web.listen-address=127.0.0.1:0", *flags]
        # It does not handle SIGTERM: dying of it is its ordinary end.
        process = run(argv, clean_exit=False)
        port = process.wait_port(r'Listening on" address=[\d.]+:(\d+)')
        return f"http://127.0.0.1:{port}"

    return start


@pytest.fixture
def real_node_exporter(start_real_exporter):
    return start_real_exporter()


@pytest.fixture
def start_prometheus(run, tmp_path):
    for program in ("prometheus", "promtool"):
        assert shutil.which(program), "apt-get install prometheus"

    def start(targets, **more):
        return RealPrometheus(run, str(tmp_path), targets, **more)

    return start


@pytest.fixture
def start_pretended():
    started = []

    def start(**more):
        started.append(PretendedPrometheus(**more))
        return started[-1]

    yield start
    for server in started:
        server.close()
    missed = [trouble for server in started for trouble in server.never_hit()]
    assert not missed, f"ordered, but no request ran into it: {missed}"


@pytest.fixture
def pretended(start_pretended):
    return start_pretended()


@pytest.fixture
def start_controller(run, binary, log_dir):
    """Starts it with short intervals on ports of its own; flags given later win.

    `content` is the policy: an object, or the path of a file. `exporters` may be a port. `within` is
    what its command line begins with, such as a namespace.
    """
    numbers = itertools.count()

    def start(
        standin,
        exporters,
        *flags,
        content=None,
        sources=None,
        build="build",
        env=None,
        within=(),
        **more,
    ):
        name = f"plimsoll-controller-{next(numbers)}"
        path = content
        if not isinstance(content, str):
            path = write_policy(os.path.join(log_dir, f"{name}.policy"), content or policy())
        port = exporters if isinstance(exporters, int) else exporters.port
        if sources:
            asked = ("--sources", write_sources(f"{log_dir}/{name}.sources", *sources, port=port))
        else:
            asked = (
                f"--target-url-template={exporter_url(port)}",
                f"--scrape-interval={SCRAPE_S}s",
            )
        argv = [
            *within,
            binary("plimsoll-controller", build),
            *("--kubeconfig", standin if isinstance(standin, str) else standin.kubeconfig),
            *("--policy-config-path", path),
            *asked,
            "--bind-address=127.0.0.1",
            "--health-port=0",
            # One of its kind, and after a kill the next must not wait for a lease to run out.
            "--leader-elect=false",
            *flags,
        ]
        return Controller(run(argv, name, env, **more))

    return start


def extenders(run, directory):
    """The life of a fixture start_extender: `content` is the policy, an object or the path of a file."""
    numbers = itertools.count()

    def start(standin, *flags, content=None, name=None, **more):
        name, path = name or f"plimsoll-extender-{next(numbers)}", content
        if content is not None:
            if not isinstance(content, str):
                path = write_policy(os.path.join(directory, f"{name}.policy"), content)
            flags = (f"--policy-config-path={path}", *flags)
        extender = Extender(run, standin, *flags, name=name, **more)
        extender.policy_path = path
        return extender

    return start


@pytest.fixture
def start_extender(run, log_dir):
    return extenders(run, log_dir)


@pytest.fixture(scope="module")
def module_start_extender(module_run, module_log_dir):
    return extenders(module_run, module_log_dir)


@pytest.fixture(scope="session", autouse=True)
def kubectl(tmp_path_factory):
    """Debian 12's kubectl does not know a flag that only servers with a path need."""
    program = shutil.which("kubectl")
    argv = [program, "proxy", "--help"]
    known = program and subprocess.run(argv, capture_output=True, check=True).stdout
    if known and b"--append-server-path" not in known:
        path = tmp_path_factory.mktemp("kubectl") / "kubectl"
        script = f'#!/bin/bash\nexec {program} "${{@/--append-server-path/--v=0}}"\n'
        path.write_text(script, "utf-8")
        path.chmod(0o755)
        os.environ["KUBECTL"] = str(path)


@pytest.fixture
def cluster():
    paper = PaperCluster()
    yield paper
    paper.close()


@pytest.fixture
def plimsoll(cluster, tmp_path):
    """What it says is its output, or else its errors; with status=None, the CompletedProcess.

    It has the cluster's kubeconfig, or the test's (`config` in tmp_path), or else --server.
    """

    def call(*words, status=0, env=None, **more):
        config = getattr(cluster, "kubeconfig", str(tmp_path / "config"))
        has_config = os.path.exists(config)
        server = [] if "-s" in words or has_config else [f"--server={cluster.url}"]
        env = {"HOME": "/proc/none", "KUBECONFIG": config if has_config else "", **(env or {})}
        more = {"cwd": tmp_path, **more}
        done = complete("kubectl-plimsoll", *words, *server, status=status, env=env, **more)
        return done if status is None else done.stdout or done.stderr

    return call
