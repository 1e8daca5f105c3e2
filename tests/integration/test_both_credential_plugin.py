"""A kubeconfig's credential plugin: what it does wrong is not in anybody's way."""

import json
import os
import pty
import signal
import subprocess
import time

import pytest

from harness import wait_until
from programs import complete

SECRET = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjQyIn0.eyJpc3MiOiJrdWJlcm5ldGVzIn0"
LIFE_S = 8


class Plugin:
    """A script that prints a token of a few seconds until it is told to hang."""

    def __init__(self, directory):
        self.path = str(directory / "plugin")
        self.token = str(directory / "token")
        self.pids = str(directory / "pids")
        with open(self.path, "w", encoding="ascii") as file:
            file.write(
                "#!/bin/sh\n"
                f"echo $$ >>{self.pids}\n"
                f"echo 'refreshing {SECRET}' >&2\n"
                f"test -e {self.token} || exec sleep 1000\n"
                f"cat {self.token}\n"
            )
        os.chmod(self.path, 0o755)

    def give(self, token):
        expires = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + LIFE_S))
        credential = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": {"token": token, "expirationTimestamp": expires},
        }
        with open(f"{self.token}.new", "w", encoding="ascii") as file:
            json.dump(credential, file)
        os.rename(f"{self.token}.new", self.token)

    def hang(self):
        os.unlink(self.token)

    def runs(self):
        if not os.path.exists(self.pids):
            return []
        with open(self.pids, encoding="ascii") as file:
            return [int(line) for line in file]

    def user(self):
        exec_ = {"apiVersion": "client.authentication.k8s.io/v1", "command": self.path}
        return {"token": None, "exec": exec_}


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.fixture
def plugin(tmp_path):
    return Plugin(tmp_path)


@pytest.fixture
def cluster(start_standin, plugin, tmp_path):
    standin = start_standin("--nodes", 2, "--token", "good=plimsoll")
    standin.edit_kubeconfig(tmp_path / "kubeconfig", user=plugin.user())
    return standin


def test_plugin_begins_to_hang(cluster, plugin, exporters, start_controller, tmp_path):
    """The old token serves while it lasts, and beyond that all but the API goes on."""
    plugin.give("good")
    flags = ("--leader-elect=true", "--leader-elect-lease-duration=6s")
    flags += ("--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=500ms")
    controller = start_controller(str(tmp_path / "kubeconfig"), exporters, *flags)
    controller.process.wait_log("started leading")
    plugin.hang()
    runs = len(plugin.runs())
    wait_until(lambda: len(plugin.runs()) > runs, what="the plugin to be asked before the end")
    pid = plugin.runs()[-1]
    assert controller.metric("plimsoll_leader") == 1
    scrapes = len(exporters.scrapes("127.1.0.1"))
    wait_until(lambda: len(exporters.scrapes("127.1.0.1")) > scrapes + 2, what="more scrapes")
    assert is_running(pid)
    controller.process.wait_log("credential plugin .* timed out after 10 s, killed")
    assert not is_running(pid)
    assert SECRET not in controller.process.text()
    assert 'stderr="refreshing ***\\n"' in controller.process.text()

    # And it recovers by itself.
    plugin.give("good")
    controller.process.wait_log("credential plugin works again")
    wait_until(lambda: controller.metric("plimsoll_leader") == 1, what="it to lead again")


def login(cluster, plugin, tmp_path, mode, *commands):
    """The plugin asks somebody to log in; commands come before its credential."""
    plugin.give("good")
    with open(plugin.path, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\necho $$ >>{plugin.pids}\necho 'visit example.test' >&2\n")
        file.write("\n".join(commands) + f"\ncat {plugin.token}\n")
    user = plugin.user()
    user["exec"]["interactiveMode"] = mode
    cluster.edit_kubeconfig(tmp_path / "kubeconfig", user=user)
    return {**os.environ, "KUBECONFIG": str(tmp_path / "kubeconfig")}


def test_login_takes_its_time(cluster, plugin, binary, tmp_path):
    """What the plugin says is seen at once, and no timeout is for it."""
    done = tmp_path / "done"
    wait = f"until test -e {done}; do sleep 0.02; done"
    env = login(cluster, plugin, tmp_path, "IfAvailable", wait)
    argv = [binary("kubectl-plimsoll"), "top", "--request-timeout=100ms"]
    with subprocess.Popen(
        argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr.readline() == b"visit example.test\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        done.touch()
        shown, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (0, b"") and b"2 nodes" in shown, said


def test_login_after_a_token_that_is_refused(cluster, plugin, tmp_path):
    """However long it takes."""
    plugin.give("refused")
    refused = f"{plugin.token}.refused"
    os.rename(plugin.token, refused)
    first = f"test $(wc -l <{plugin.pids}) -gt 1 || exec cat {refused}"
    env = login(cluster, plugin, tmp_path, "Never", first, "sleep 1")
    done = complete("kubectl-plimsoll", "top", "--request-timeout=100ms", env=env)
    assert "2 nodes" in done.stdout, done.stderr
    assert len(plugin.runs()) == 2


def test_login_with_an_old_token(cluster, plugin, tmp_path):
    """A clock is wrong: the token is used, and nobody is asked again and again."""
    env = login(cluster, plugin, tmp_path, "Never")
    with open(plugin.token, encoding="ascii") as file:
        credential = json.load(file)
    credential["status"]["expirationTimestamp"] = "2020-01-01T00:00:00Z"
    with open(plugin.token, "w", encoding="ascii") as file:
        json.dump(credential, file)
    assert "2 nodes" in complete("kubectl-plimsoll", "top", env=env).stdout
    assert len(plugin.runs()) < 3


def test_login_that_fails(cluster, plugin, tmp_path):
    env = login(cluster, plugin, tmp_path, "Never", "exit 3")
    first, second = complete("kubectl-plimsoll", "top", status=2, env=env).stderr.splitlines()
    assert first == "visit example.test"
    assert second.endswith(f"credential plugin {plugin.path}: exit status 3")


def test_login_needs_a_terminal(cluster, plugin, tmp_path):
    env = login(cluster, plugin, tmp_path, "Always", "read code")
    done = complete("kubectl-plimsoll", "top", status=2, env=env, stdin=subprocess.DEVNULL)
    assert "interactiveMode: standard input is no terminal" in done.stderr


def on_terminal(argv, env):
    """A process whose terminal we hold: (pid, descriptor)."""
    pid, terminal = pty.fork()
    if pid == 0:
        # A shell that has started the tests in the background ignores it, and so do its children.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.execve(argv[0], argv, env)
    return pid, terminal


def read_until(terminal, wanted):
    shown = b""
    while wanted not in shown:
        shown += os.read(terminal, 65536)
    return shown


@pytest.mark.parametrize("mode", ["Always", "IfAvailable"])
def test_login_at_the_terminal(cluster, plugin, binary, tmp_path, mode):
    """The plugin reads what somebody types."""
    env = login(cluster, plugin, tmp_path, mode, "read code", 'test "$code" = 1234 || exit 7')
    pid, terminal = on_terminal([binary("kubectl-plimsoll"), "top"], env)
    read_until(terminal, b"visit example.test")
    os.write(terminal, b"1234\n")
    read_until(terminal, b"2 nodes")
    assert os.waitpid(pid, 0)[1] == 0
    os.close(terminal)


def test_interrupt_ends_the_login(cluster, plugin, binary, tmp_path):
    """Ctrl-C: both are gone."""
    env = login(cluster, plugin, tmp_path, "IfAvailable", "exec sleep 1000")
    pid, terminal = on_terminal([binary("kubectl-plimsoll"), "top"], env)
    read_until(terminal, b"visit example.test")
    (login_pid,) = plugin.runs()
    assert is_running(login_pid)
    os.write(terminal, b"\x03")
    assert os.waitpid(pid, 0)[1] == signal.SIGINT
    wait_until(lambda: not is_running(login_pid), what="the plugin to be gone")
    os.close(terminal)


@pytest.mark.parametrize("program", ["controller", "extender"])
def test_end_while_it_hangs(
    cluster, plugin, exporters, start_controller, start_extender, tmp_path, program
):
    """SIGTERM is heard at once, and the plugin ends with the program."""
    kubeconfig = str(tmp_path / "kubeconfig")
    if program == "controller":
        process = start_controller(kubeconfig, exporters).process
    else:
        process = start_extender(kubeconfig).process
    pid = wait_until(plugin.runs, what="the plugin to be run")[0]
    wait_until(lambda: is_running(pid), what="it to hang")
    assert process.stop() == 0
    assert "timed out after" not in process.text()
    wait_until(lambda: not is_running(pid), what="the plugin to be gone")
