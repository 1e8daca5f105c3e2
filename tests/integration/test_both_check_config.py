"""--check-config opens what it is given: certificates, tokens, passwords and the kubeconfig."""

import json
import pathlib

import pytest

from controller_kit import write_sources
from pages import block
from programs import complete
from tls_kit import Authority

SOURCES = {
    "node-exporter": {},
    "node-metrics": {},
    "kubelet": {},
    "prometheus": {"url": "http://127.0.0.1:1"},
}


def check_config(program, *arguments):
    return complete(program, "--check-config", *arguments, status=None)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"), "anybody").client()


@pytest.fixture
def kubeconfig(tmp_path):
    """One whose user has a token file, which is not there yet."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"tokenFile": "token"}}],
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(config))
    return path


@pytest.mark.parametrize("kind", SOURCES)
def test_files_of_a_source(pair, tmp_path, kind):
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n")
    cert, key = map(str, pair)
    none = f"{tmp_path}/none"

    def check(part, fields):
        sources = write_sources(tmp_path / "sources", {"kind": kind, **SOURCES[kind], part: fields})
        return sources, check_config("plimsoll-controller", "--sources", sources)

    for part, good in (
        ("tls_config", {"ca_file": cert, "cert_file": cert, "key_file": key}),
        ("basic_auth", {"username": "a", "password_file": str(secret)}),
        ("authorization", {"credentials_file": str(secret)}),
    ):
        _, done = check(part, good)
        assert done.returncode == 0, done.stderr
        for field in good.keys() - {"username"}:
            path, done = check(part, good | {field: none})
            assert (done.returncode, done.stdout) == (2, "")
            assert f"{path}: line 1: sources[0].{part}.{field}: {none}: cannot open" in done.stderr
    _, done = check("tls_config", {"ca_file": str(secret)})
    assert done.returncode == 2 and "not in PEM form" in done.stderr


def test_the_sources_of_the_documentation(pair, tmp_path):
    cert, key = (pathlib.Path(path).read_bytes() for path in pair)
    files = {"ca.crt": cert, "tls.crt": cert, "tls.key": key, "password": b"a", "token": b"b"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    path = tmp_path / "sources"
    text = block("docs/configuration.md", "sources").replace("/etc/sources", str(tmp_path))
    path.write_text(text, "utf-8")
    done = check_config("plimsoll-controller", "--sources", path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["plimsoll-controller", "plimsoll-extender"])
def test_the_kubeconfig(kubeconfig, tmp_path, name):
    done = check_config(name, f"--kubeconfig={tmp_path}/none")
    assert (done.returncode, done.stdout) == (2, "") and f"{tmp_path}/none" in done.stderr
    done = check_config(name, f"--kubeconfig={kubeconfig}")
    assert done.returncode == 2 and f"{tmp_path}/token: cannot open: No such file" in done.stderr
    (tmp_path / "token").write_text("s3cret")
    done = check_config(name, f"--kubeconfig={kubeconfig}")
    assert done.returncode == 0 and "s3cret" not in done.stdout + done.stderr


def test_what_the_extender_serves_with(pair, tmp_path):
    program, (cert, key) = "plimsoll-extender", pair
    flags = [f"--tls-cert-file={cert}", f"--tls-private-key-file={key}"]
    assert check_config(program, *flags, f"--client-ca-file={cert}").returncode == 0
    for bad in (
        flags[:1],
        flags[1:],
        [f"--client-ca-file={cert}"],
        [f"--tls-cert-file={tmp_path}/none", flags[1]],
        [flags[0], f"--tls-private-key-file={cert}"],
        [*flags, f"--client-ca-file={key}"],
    ):
        done = check_config(program, *bad)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr


def test_without_arguments():
    """All of it from the environment."""
    env = {"PLIMSOLL_CHECK_CONFIG": "true", "PLIMSOLL_BIND_ADDRESS": "127.0.0.9"}
    done = complete("plimsoll-extender", env=env)
    assert done.stderr == ""
    assert "bind-address=127.0.0.9 (env)\n" in done.stdout


@pytest.mark.parametrize("name, words, variable", [
    ("plimsoll-controller", ["--check-config"], "ANNOTATION_PREFIX"),
    ("plimsoll-controller", ["--dry-run", "--once", "--target=a=http://127.0.0.1:1"], "ANNOTATION_PREFIX"),
    ("plimsoll-extender", ["--check-config"], "ANNOTATION_PREFIX"),
    ("kubectl-plimsoll", ["top", "--help"], "NAMESPACE"),
])  # fmt: skip
def test_a_misspelt_variable(name, words, variable):
    """Those of Kubernetes' Services are none."""
    misspelt = variable.replace("N", "", 1)
    env = {f"PLIMSOLL_{misspelt}": "a", "PLIMSOLL_EXTENDER_SERVICE_HOST": "10.0.0.1"}
    env["PLIMSOLL_EXTENDER_PORT"] = "tcp://10.0.0.1:8010"
    said = complete(name, *words, env=env, status=None).stderr
    (line,) = [line for line in said.splitlines() if "variable" in line]
    assert f"PLIMSOLL_{misspelt}; did you mean PLIMSOLL_{variable}?" in line
