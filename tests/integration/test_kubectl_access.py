"""How kubectl plimsoll reaches a cluster: kubectl finds it, logs in, and ends with it."""

import json
import os
import pathlib
import pty
import signal
import ssl
import subprocess
from threading import Thread

import pytest

from harness import clean_environment, wait_until
from paper_cluster import POLICY_PATH, Answering, PaperCluster, scheduler_config
from programs import children, complete, piped, stop_reading
from tls_kit import Authority

NO_CONFIG = {"HOME": "/proc/none", "KUBECONFIG": ""}


def test_a_server_without_a_context(cluster, plimsoll, tmp_path):
    config = tmp_path / "config"
    assert "4 nodes" in plimsoll("top", "-s", cluster.url), "there is no kubeconfig"
    config.write_text("kind: Config\n")
    assert "4 nodes" in plimsoll("top", "-s", cluster.url, env={"TMPDIR": ""}), "it is empty"


def test_errors_are_kubectls(cluster, plimsoll):
    """They are seen as kubectl prints them."""
    server = ("-s", cluster.url)
    for words in (["--context=x", "top"], ["--context", "x", "top"], ["top", "--context=x"]):
        said = plimsoll(*words, *server, status=2).splitlines()
        assert 'error: context "x" does not exist' in said
        assert said[-1] == "kubectl plimsoll top: kubectl proxy ended with status 1"
    for flag in ("--kubeconfig", "--certificate-authority", "--client-certificate"):
        assert "/proc/none" in plimsoll("top", f"{flag}=/proc/none/x", *server, status=2)
    said = plimsoll("top", *server, env={"KUBECTL": "/proc/none"}, status=2)
    assert said.startswith("kubectl plimsoll top: cannot run kubectl: ")
    said = plimsoll("top", "-s", "http://127.0.0.1:9", status=2)
    refused = "500 dial tcp 127.0.0.1:9: connect: connection refused"
    assert said.endswith(f"{refused}; see KUBECONFIG and --kubeconfig\n")
    said = complete("kubectl-plimsoll", "top", status=2, env=NO_CONFIG).stderr
    assert ":8080: connect: connection refused; see KUBECONFIG and" in said, "kubectl's default"


def test_files_that_are_pipes(cluster, plimsoll, binary, tmp_path):
    policy = json.dumps(cluster.objects[POLICY_PATH])
    server = ("-s", cluster.url)
    shown = plimsoll("simulate", "-f", "-", *server, input=policy)
    assert shown.startswith("in force: ")
    (tmp_path / "policy").write_text(policy)
    config = scheduler_config()
    plimsoll("doctor", "--scheduler-config=-", *server, "--fail-on=error", input=config)
    commands = '"$0" simulate -f <(cat policy) -s "$1"'
    argv = ["/bin/bash", "-c", commands, binary("kubectl-plimsoll"), cluster.url]
    shown = complete(*argv, env=NO_CONFIG, cwd=tmp_path).stdout
    assert shown.startswith("in force: ")


class Recording(Answering):
    """Keeps the headers of the plugin's requests; kubectl may make some of its own."""

    def do_GET(self):  # pylint: disable=invalid-name
        if self.headers["User-Agent"].startswith("kubectl-plimsoll/"):
            self.server.headers.append(self.headers)
        super().do_GET()


@pytest.fixture
def secure(tmp_path):
    """A cluster with TLS: kubectl sends no credentials in the clear."""
    authority = Authority(tmp_path / "ca", "ca")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.server("api", names="DNS:api.test"))
    paper = PaperCluster()
    paper.server.RequestHandlerClass = Recording
    paper.server.headers = []
    paper.server.socket = context.wrap_socket(paper.server.socket, server_side=True)
    paper.ca = authority.cert
    paper.url = paper.url.replace("http:", "https:")
    yield paper
    paper.close()


def test_flags_are_kubectls(secure, plimsoll):
    who = ("--token=secret", "--as=jane", "--as-group=ops", "--as-group=dev")
    trust = (f"--certificate-authority={secure.ca}", "--tls-server-name=api.test")
    server = ("-s", secure.url)
    assert "4 nodes" in plimsoll("top", *server, *trust, *who)
    assert secure.server.headers
    for headers in secure.server.headers:
        assert headers["Authorization"] == "Bearer secret"
        assert headers["Impersonate-User"] == "jane"
        assert headers.get_all("Impersonate-Group") == ["ops", "dev"]
    assert "4 nodes" in plimsoll("--insecure-skip-tls-verify", "top", *server, *who)
    assert "x509: " in plimsoll("top", *server, *who, status=2)


def test_kubectl_asks_for_a_user(secure, plimsoll):
    """One without credentials. A token of the environment is no flag: kubectl's are seen by all."""
    trust = (f"--certificate-authority={secure.ca}", "--tls-server-name=api.test")
    env = {"PLIMSOLL_TOKEN": "secret"}
    words = ("top", "-s", secure.url, *trust)
    said = plimsoll(*words, env=env, input="jane\n", status=2)
    assert "Please enter Username: " in said
    assert not secure.server.headers


def test_the_context_s_namespace(cluster, plimsoll, tmp_path):
    config = {
        "current-context": "c",
        "contexts": [
            {"name": "c", "context": {"cluster": "k", "namespace": "shop"}},
            {"name": "other", "context": {"cluster": "k"}},
        ],
        "clusters": [{"name": "k", "cluster": {"server": cluster.url}}],
    }
    (tmp_path / "config").write_text(json.dumps(config))
    assert "no pod shop/web, " in plimsoll("explain", "pod", "web", status=2)
    said = plimsoll("explain", "pod", "web", "--context=other", status=2)
    assert "no pod default/web, " in said
    assert "no pod x/web, " in plimsoll("explain", "pod", "web", "-n", "x", status=2)


# -- How it ends. ----------------------------------------------------------------------------------


def state(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def is_gone(pid):
    return state(pid) in ("", "Z", "X")


@pytest.fixture
def watching(cluster, binary, tmp_path):
    """(process, pid of kubectl) of `top --watch`, once it has shown something."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    # Tests that run in the background, or under nohup, ignore these, and so do their children.
    argv = ["env", "--default-signal=INT,HUP", binary("kubectl-plimsoll")]
    argv += ["top", "--watch", "--interval=1s", "-s", cluster.url]
    pipe = subprocess.PIPE
    env = clean_environment({**NO_CONFIG, "TMPDIR": str(temporary)})
    with subprocess.Popen(argv, env=env, stdout=pipe, stderr=pipe, text=True) as process:
        assert any("4 nodes" in line for line in iter(process.stdout.readline, ""))
        ((kubectl, _),) = children(process.pid)
        (folder,) = temporary.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        yield process, kubectl
        process.kill()
    wait_until(lambda: is_gone(kubectl), what="kubectl to be gone")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_kubectl_ends_with_it(watching, tmp_path, number):
    process, kubectl = watching
    process.send_signal(number)
    assert process.wait(30) == -number
    wait_until(lambda: is_gone(kubectl), what="kubectl to be gone")
    if number != signal.SIGKILL:
        assert not list((tmp_path / "temporary").iterdir()), "its socket"


def test_it_ends_with_kubectl(watching):
    process, kubectl = watching
    os.kill(kubectl, signal.SIGKILL)
    assert process.wait(30) == 2
    said = process.stderr.read().splitlines()
    assert said[-1] == "kubectl plimsoll top: kubectl proxy ended with status 137"


@pytest.mark.parametrize("words", ["doctor --wait=1h", "rebalance -w --interval=1s"])
def test_waiting_ends_with_kubectl(cluster, run, binary, words):
    del cluster.objects["/version"]
    argv = [binary("kubectl-plimsoll"), *words.split(), "-s", cluster.url]
    process = run(argv, env=NO_CONFIG)
    wait_until(process.stderr, what="something to wait for")
    ((kubectl, _),) = children(process.pid)
    os.kill(kubectl, signal.SIGKILL)
    assert process.wait_exit() == 2
    assert process.stderr().endswith(": kubectl proxy ended with status 137\n")


# -- Logging in, by a credential plugin of the kubeconfig. -----------------------------------------

CREDENTIAL = {
    "apiVersion": "client.authentication.k8s.io/v1beta1",
    "kind": "ExecCredential",
    "status": {"token": "good"},
}


@pytest.fixture
def login(secure, tmp_path):
    """login(mode, *commands): what runs before the plugin gives its token."""

    def configure(mode, *commands):
        plugin = tmp_path / "login"
        lines = ["#!/bin/sh", f"echo $$ >{tmp_path}/pid", "echo 'visit example.test' >&2"]
        lines += [*commands, f"echo '{json.dumps(CREDENTIAL)}'"]
        plugin.write_text("\n".join(lines))
        plugin.chmod(0o755)
        how = {"apiVersion": CREDENTIAL["apiVersion"], "command": str(plugin)}
        user = {"exec": {**how, "interactiveMode": mode}}
        access = {"server": secure.url, "certificate-authority": secure.ca}
        config = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "clusters": [{"name": "k", "cluster": {**access, "tls-server-name": "api.test"}}],
            "users": [{"name": "u", "user": user}],
        }
        (tmp_path / "config").write_text(json.dumps(config))
        return clean_environment({"HOME": "/proc/none", "KUBECONFIG": str(tmp_path / "config")})

    return configure


def test_a_login_takes_its_time(secure, login, binary, tmp_path):
    """What the plugin says is seen at once."""
    done = tmp_path / "done"
    env = login("IfAvailable", f"until test -e {done}; do sleep 0.02; done")
    argv = [binary("kubectl-plimsoll"), "top"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        argv, env=env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
    ) as process:
        assert process.stderr.readline() == b"visit example.test\n"
        assert process.poll() is None
        done.touch()
        shown, said = process.communicate(timeout=30)
    assert process.returncode == 0 and b"4 nodes" in shown, said
    assert secure.server.headers[0]["Authorization"] == "Bearer good"


def test_a_login_that_fails(login, plimsoll):
    login("Never", "exit 3")
    said = plimsoll("top", status=2)
    assert "visit example.test\n" in said and "failed with exit code 3" in said.splitlines()[-1]


def on_terminal(argv, env):
    """A process whose terminal we hold: (pid, descriptor)."""
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.execve(argv[0], argv, env)
    return pid, terminal


def read_until(terminal, wanted):
    shown = b""
    while wanted not in shown:
        shown += os.read(terminal, 65536)


@pytest.mark.parametrize("mode", ["Always", "IfAvailable"])
def test_a_login_at_the_terminal(login, binary, mode):
    """The plugin reads what somebody types; Debian 12's kubectl gives it no standard input."""
    env = login(mode, "read code || read code </dev/tty", 'test "$code" = 1234 || exit 7')
    pid, terminal = on_terminal([binary("kubectl-plimsoll"), "top"], env)
    read_until(terminal, b"visit example.test")
    os.write(terminal, b"1234\n")
    read_until(terminal, b"4 nodes")
    assert os.waitpid(pid, 0)[1] == 0
    os.close(terminal)


def test_an_interrupt_ends_the_login(login, binary, tmp_path):
    env = login("IfAvailable", "exec sleep 1000")
    pid, terminal = on_terminal([binary("kubectl-plimsoll"), "top"], env)
    read_until(terminal, b"visit example.test")
    login_pid = int((tmp_path / "pid").read_text("ascii"))
    os.write(terminal, b"\x03")
    assert os.waitpid(pid, 0)[1] == signal.SIGINT
    wait_until(lambda: is_gone(login_pid), what="the login to be gone")
    os.close(terminal)
