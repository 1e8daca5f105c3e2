"""How kubectl plimsoll reaches a cluster: as kubectl does, by the same kubeconfig and flags."""

import json
import os
import socket
import ssl
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread
from urllib.parse import urlsplit

import pytest

from paper_cluster import CLUSTER_IP, POLICY_PATH, SYSTEM
from programs import complete, piped, stop_reading
from tls_kit import Authority


def test_a_server_without_a_context(cluster, plimsoll, tmp_path):
    config = tmp_path / "config"
    assert "4 nodes" in plimsoll("top", "-s", cluster.url), "there is no kubeconfig"
    config.write_text("kind: Config\n")
    assert "4 nodes" in plimsoll("top", "-s", cluster.url), "it is empty"
    assert "no current-context" in plimsoll("top", status=2)
    assert "no context named 'x'" in plimsoll("top", "--context=x", "-s", cluster.url, status=2)


def test_request_timeout(cluster, plimsoll):
    """As kubectl's: a duration, or seconds; 0 is none."""
    for timeout in ("0", "0s", "30", "1m30s", "99999999999999"):
        shown = plimsoll("top", "-s", cluster.url, f"--request-timeout={timeout}")
        assert "4 nodes" in shown
    for timeout in ("-1", "-100us", "soon", "1 s", ""):
        said = plimsoll("top", "-s", cluster.url, f"--request-timeout={timeout}", status=2)
        assert f"--request-timeout: '{timeout}': expected a duration" in said


def test_files_that_are_pipes(cluster, plimsoll, binary, tmp_path):
    policy = json.dumps(cluster.objects[POLICY_PATH])
    server = ("-s", cluster.url)
    shown = plimsoll("top", "-f", "-", *server, input=policy)
    assert "by standard input" in shown
    shown = plimsoll("simulate", "-f", "-", *server, "--placements=0", input=policy)
    assert shown.startswith("standard input in place of ")
    record = tmp_path / "record.json"
    plimsoll("record", str(record), *server)
    (tmp_path / "policy").write_text(policy)
    shown = plimsoll(
        "simulate", "-f", str(tmp_path / "policy"), "--replay=-", input=record.read_text()
    )
    assert "0 newly rejected" in shown
    config = cluster.objects[f"{SYSTEM}/configmaps"][0]["data"]["config.yaml"]
    config = config.replace("127.0.0.1", CLUSTER_IP)
    plimsoll("doctor", "--scheduler-config=-", *server, "--fail-on=error", input=config)
    commands = '"$0" top -f <(cat policy) -s "$1" && "$0" simulate -f <(cat policy) -s "$1"'
    argv = ["/bin/bash", "-c", commands, binary("kubectl-plimsoll"), cluster.url]
    shown = complete(*argv, env={"HOME": "/none", "KUBECONFIG": ""}, cwd=tmp_path).stdout
    assert "by /dev/fd/" in shown and "/dev/fd/" in shown.partition("nodes:")[2]
    said = plimsoll("top", "-f", "-", *server, input="kind: Pod", status=2)
    assert "top: standard input: " in said
    replay = plimsoll("simulate", "-f", "-", "--replay=/none.json", input=policy, status=2)
    assert "simulate: /none.json: " in replay
    for argv in (("explain", "-", "-f", "-"), ("simulate", "-f", "-", "--replay", "-")):
        assert "standard input " in plimsoll(*argv, input=policy, status=2)


def test_a_policy_of_a_pipe_is_kept(cluster, binary, run, tmp_path):
    """For as long as --watch goes on."""
    pipe = tmp_path / "policy"
    os.mkfifo(pipe)
    flags = ("--watch", "--interval=1s", "-f", pipe, "-s", cluster.url)
    process = run(
        piped([binary("kubectl-plimsoll"), "top", *flags]),
        env={**os.environ, "HOME": "/none", "KUBECONFIG": ""},
        clean_exit=False,
    )
    policy = json.dumps(cluster.objects[POLICY_PATH])
    Thread(target=pipe.write_text, args=(policy, "utf-8"), daemon=True).start()
    process.wait_log(r"(?s)4 nodes.*4 nodes.*4 nodes")
    assert "plimsoll top: " not in process.text()
    stop_reading(process)


def pump(source, sink):
    try:
        while piece := source.recv(65536):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class Passer(BaseRequestHandler):
    """Both kinds of an HTTP proxy: CONNECT, and GET of a whole URL. All names are one address."""

    def handle(self):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.request.recv(1)
        self.server.heads.append(head.decode())
        method, target, rest = head.decode().split(" ", 2)
        with socket.create_connection(self.server.behind) as behind:
            if method == "CONNECT":
                self.request.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                path = f"{urlsplit(target).path}?{urlsplit(target).query}"
                behind.sendall(f"{method} {path} {rest}".encode())
            Thread(target=pump, args=(self.request, behind), daemon=True).start()
            pump(behind, self.request)


@pytest.fixture
def proxy(cluster):
    server = ThreadingTCPServer(("127.0.0.1", 0), Passer)
    server.daemon_threads = True
    server.behind = cluster.server.server_address
    server.heads = []
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def write_config(tmp_path, cluster, user):
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }
    (tmp_path / "config").write_text(json.dumps(config))


def test_a_proxy_of_the_kubeconfig(cluster, proxy, plimsoll, tmp_path):
    """With TLS it is a tunnel, and the proxy sees neither token nor name."""
    authority = Authority(tmp_path / "ca", "ca")
    cert, key = authority.server("api", names="DNS:api.test")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    cluster.server.socket = context.wrap_socket(cluster.server.socket, server_side=True)
    access = {"server": "https://api.test:6443", "proxy-url": proxy.url}
    write_config(tmp_path, {**access, "certificate-authority": authority.cert}, {"token": "secret"})
    assert "4 nodes" in plimsoll("top", env={"NO_PROXY": "*"})
    assert proxy.heads[0].startswith("CONNECT api.test:6443 HTTP/1.1\r\n")
    assert "secret" not in "".join(proxy.heads)
    proxy.behind = ("127.0.0.1", 1)
    proxy.shutdown()
    proxy.server_close()
    assert proxy.url.rpartition("/")[2].partition(":")[0] in plimsoll("top", status=2)


def test_a_proxy_of_the_environment(cluster, proxy, plimsoll):
    """As kubectl; hosts of NO_PROXY and the loopback are reached without it."""
    env = {"HTTP_PROXY": proxy.url, "NO_PROXY": "other.test"}
    assert "4 nodes" in plimsoll("top", "-s", "http://api.test:6443", env=env)
    assert proxy.heads[0].startswith("GET http://api.test:6443/")
    proxy.heads.clear()
    said = plimsoll("top", "-s", "http://api.test", env={**env, "NO_PROXY": "api.test"}, status=2)
    assert "api.test" in said
    assert "4 nodes" in plimsoll("top", "-s", cluster.url, env=env)
    assert not proxy.heads


def test_the_cas_of_this_machine(cluster, plimsoll, tmp_path):
    """What a kubeconfig without a CA trusts; SSL_CERT_FILE names another file, as for kubectl."""
    authority = Authority(tmp_path / "ca", "ca")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.server("api"))
    cluster.server.socket = context.wrap_socket(cluster.server.socket, server_side=True)
    port = cluster.server.server_address[1]
    write_config(tmp_path, {"server": f"https://localhost:{port}"}, {"token": "secret"})
    assert "certificate" in plimsoll("top", status=2)
    assert "4 nodes" in plimsoll("top", env={"SSL_CERT_FILE": authority.cert})
    missing = str(tmp_path / "missing.pem")
    assert missing in plimsoll("top", env={"SSL_CERT_FILE": missing}, status=2)
