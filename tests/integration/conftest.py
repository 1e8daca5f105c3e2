"""Fixtures of the integration tests.

log_dir              where this test's logs go; below $PLIMSOLL_LOG_DIR if that is set
run(argv, name, env) start a program: a harness.Process; stopped and checked after the test; one
                     that still runs then must end with status 0 on SIGTERM, unless clean_exit=False
binary(name, build)  path of one of our programs: of $PLIMSOLL_BUILD_DIR (with sanitizers), or with
                     build="release" or "tsan" of $PLIMSOLL_RELEASE_DIR, $PLIMSOLL_TSAN_DIR
standin              an API server stand-in without nodes: harness.StandIn
start_standin(..)    the same with arguments of your own, as often as you like
exporters            synthetic node_exporters: harness.Exporters
start_exporters(..)  the same with arguments of your own
real_node_exporter   Debian's prometheus-node-exporter on a free port: its URL
start_real_exporter  the same with flags of your own
start_prometheus(..) Debian's prometheus for {target: labels}: a prometheus_kit.RealPrometheus
pretended            a prometheus_kit.PretendedPrometheus; start_pretended(..) for those with arguments
start_controller(..) plimsoll-controller for a stand-in and exporters: a controller_kit.Controller

A missing prerequisite is an error, never a skip. After each test every program is stopped, and
the test fails if a sanitizer spoke, if a program died that was not told to, or if a peer has a
traceback.
"""

import os
import re
import shutil

import pytest

from controller_kit import SCRAPE_S, Controller, policy, write_policy
from harness import Exporters, Process, StandIn
from prometheus_kit import PretendedPrometheus, RealPrometheus


@pytest.fixture
def log_dir(request, tmp_path):
    root = os.environ.get("PLIMSOLL_LOG_DIR")
    if not root:
        return str(tmp_path)
    path = os.path.join(root, re.sub(r"[^\w.-]+", "_", request.node.name))
    os.makedirs(path, exist_ok=True)
    return path


@pytest.fixture
def run(log_dir):
    started = []

    def start(argv, name=None, env=None, clean_exit=True, **more):
        name = name or f"{os.path.basename(str(argv[0]))}-{len(started)}"
        process = Process(argv, name, log_dir, env, **more)
        started.append((process, clean_exit))
        return process

    yield start
    problems = []
    for process, clean_exit in reversed(started):
        try:
            process.assert_clean()
            was_running = process.is_running()
            code = process.stop()
            process.assert_clean()
            if was_running and clean_exit:
                assert (
                    code == 0
                ), f"{process.name}: status {code} after SIGTERM\n{process.text()[-4000:]}"
        except AssertionError as error:
            problems.append(str(error))
        finally:
            if process.is_running():
                process.kill()
    assert not problems, "\n".join(problems)


@pytest.fixture(scope="session")
def binary():
    """Finds a program of ours; the build directories come from the environment."""

    def find(name, build="build"):
        variable = f"PLIMSOLL_{build.upper()}_DIR"
        root = os.environ.get(variable)
        assert root, f"set {variable} to a build directory (make test does)"
        part = name.removeprefix("plimsoll-")
        for path in (os.path.join(root, part, name), os.path.join(root, name)):
            if os.access(path, os.X_OK):
                return path
        raise AssertionError(f"no program {name} below {root}")

    return find


def _peers(kind, log_dir):
    started = []

    def start(*arguments):
        suffix = f"-{len(started)}" if started else ""
        peer = kind(log_dir, *arguments, name=kind.package + suffix)
        started.append(peer)
        return peer

    return started, start


@pytest.fixture
def start_standin(log_dir):
    started, start = _peers(StandIn, log_dir)
    yield start
    for peer in started:
        peer.stop()


@pytest.fixture
def standin(start_standin):
    return start_standin()


@pytest.fixture
def start_exporters(log_dir):
    started, start = _peers(Exporters, log_dir)
    yield start
    for peer in started:
        peer.stop()


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


@pytest.fixture
def pretended(start_pretended):
    return start_pretended()


@pytest.fixture
def start_controller(run, binary, log_dir):
    """Starts it with short intervals on ports of its own; flags given later win.

    `content` is the policy: an object, or the path of a file. `exporters` may be a port.
    """
    started = []

    def start(standin, exporters, *flags, content=None, build="build", env=None, **more):
        name = f"plimsoll-controller-{len(started)}"
        path = content
        if not isinstance(content, str):
            path = write_policy(os.path.join(log_dir, f"{name}.policy"), content or policy())
        argv = [
            binary("plimsoll-controller", build),
            *("--kubeconfig", standin if isinstance(standin, str) else standin.kubeconfig),
            *("--policy-config-path", path),
            *("--node-exporter-port", exporters if isinstance(exporters, int) else exporters.port),
            f"--scrape-interval={SCRAPE_S}s",
            "--bind-address=127.0.0.1",
            "--health-port=0",
            # One of its kind, and after a kill the next shall not wait for a lease to run out.
            "--leader-elect=false",
            *flags,
        ]
        started.append(argv)
        return Controller(run(argv, name, env, **more))

    return start
