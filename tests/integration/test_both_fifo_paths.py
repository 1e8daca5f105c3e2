"""A FIFO in the place of a file that a flag names: nobody writes it, and nobody waits for it."""

import os
import ssl

import pytest

from harness import fetch, wait_until
from tls_kit import Authority, Volume


@pytest.fixture
def fifo(tmp_path):
    path = str(tmp_path / "fifo")
    os.mkfifo(path)
    return path


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    return Authority(str(tmp_path_factory.mktemp("ours")), "ours")


@pytest.mark.parametrize("name", Volume.FILES)
def test_extender_reload(start_standin, start_extender, tmp_path, ours, fifo, name):
    volume = Volume(str(tmp_path), ours.server(), ours.cert)
    context = ssl.create_default_context(cafile=ours.cert)
    context.load_cert_chain(*ours.client())
    extender = start_extender(start_standin(), *volume.flags(), scheme="https")
    os.rename(fifo, volume.path(name))
    extender.process.wait_log(f"error=.*/{name}: not a regular file")
    assert fetch(f"{extender.url}/livez", context=context).text == "ok"
    assert extender.process.stop() == 0


@pytest.mark.parametrize("flag", ["tls-cert-file", "tls-private-key-file", "client-ca-file"])
def test_extender_start(start_standin, run, binary, ours, fifo, flag):
    cert, key = ours.server()
    files = {"tls-cert-file": cert, "tls-private-key-file": key, "client-ca-file": ours.cert}
    files[flag] = fifo
    argv = [binary("plimsoll-extender"), f"--kubeconfig={start_standin().kubeconfig}", "--port=0"]
    process = run([*argv, *(f"--{name}={path}" for name, path in files.items())])
    assert process.wait_exit() == 2
    assert "fifo: not a regular file" in process.stderr()


@pytest.mark.parametrize("what", ["ca", "cert", "key"])
@pytest.mark.parametrize("source", ["node-exporter", "prometheus"])
def test_controller(standin, exporters, start_controller, ours, fifo, source, what):
    """What it was to be used for fails and says so; all else goes on."""
    standin.add_nodes(1)
    cert, key = ours.client()
    files = {"ca": ours.cert, "cert": cert, "key": key, what: fifo}
    tls = {f"{name}_file": str(path) for name, path in files.items()}
    url = "https://127.0.0.1:1" if source == "prometheus" else "https://{address}:1/metrics"
    sources = [{"kind": source, "url": url, "tls_config": tls}]
    controller = start_controller(standin, exporters, sources=sources)
    wait_until(lambda: "fifo: not a regular file" in controller.process.stderr(), what="the reason")
    assert fetch(f"{controller.url}/livez").text == "ok"
    assert controller.process.stop() == 0
