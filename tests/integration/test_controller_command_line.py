"""What is said to plimsoll-controller on its command line: a single pass, a look without writing,
credentials for exporters, and what cannot be meant."""

import json

import pytest

from controller_kit import CPU_AND_MEM, write_sources
from programs import PROGRAMS, complete, table
from standin import certs

# Long enough for a handshake on a machine that has other things to do.
LOOK = ("--dry-run", "--once", "--output=json")


@pytest.fixture
def begin(run, binary):
    """Start one with these arguments; .end() of it is (status, stdout, stderr)."""

    class Pass:
        def __init__(self, *arguments):
            self.process = run([binary("plimsoll-controller"), *arguments])

        def end(self):
            status = self.process.wait_exit()
            return status, self.process.stdout(), self.process.stderr()

    return Pass


def sources(path, **more):
    return "--sources", write_sources(path, {"kind": "node-exporter", **more}, interval="3s")


def target(exporters, name="a"):
    return f"--target={name}={exporters.url}/metrics"


def test_a_single_pass(begin, standin, exporters):
    """It prints every node that it can read, writes nothing, and ends: with status 1 if one could not be read."""
    exporters.trouble(["127.9.0.1"], "close")
    for name, address in (("fine", "127.1.0.1"), ("silent", "127.9.0.1")):
        standin.add_nodes(None, names=[name], first_address=address, labels={"pool": name})
    flags = [
        f"--kubeconfig={standin.kubeconfig}",
        f"--target-url-template=http://{{address}}:{exporters.port}/metrics",
        "--scrape-interval=2s",
    ]
    passes = {
        pool: begin(*flags, *LOOK, *([f"--node-selector=pool={pool}"] if pool else []))
        for pool in ("fine", None)
    }
    for pool, one in passes.items():
        status, out, err = one.end()
        rows = {row["node"]: row["annotations"] for row in map(json.loads, out.splitlines())}
        assert status == (0 if pool else 1), err
        assert rows["fine"].keys() > set(CPU_AND_MEM)
    assert rows.keys() == {"fine", "silent"} and not rows["silent"].keys() & set(CPU_AND_MEM)
    assert standin.patches() == []
    _, _, err = begin(*flags, "--once").end()
    assert "--once: needs --dry-run" in err


def test_looking_without_writing(begin, exporters):
    """One that is silent is reported in addition to the one that is not; without --once it goes on looking."""
    exporters.set(["127.0.0.1"], load={"mem": 0.25})
    gone = "--target=gone=http://127.0.0.1:1/metrics"
    single = begin(*LOOK, "--scrape-interval=3s", target(exporters, "web-1"), gone)
    table = begin("--dry-run", "--scrape-interval=1s", target(exporters, "web-1")).process
    status, out, err = single.end()
    assert status == 1 and "reason=connect" in err
    silent, web = [json.loads(line) for line in out.splitlines()]
    assert (silent["node"], silent["annotations"], silent["failure"]) == ("gone", {}, "connect")
    assert web["node"] == "web-1" and web["unusable"] == {} and "failure" not in web
    assert web["annotations"]["mem_usage_avg_5m"].startswith("0.25000,")
    table.wait_log(r"^web-1 .*only one scrape so far")
    table.wait_log(r"^web-1 +\d+\.\d%.* ok$")


def test_credentials_for_exporters(begin, start_exporters, tmp_path):
    (tmp_path / "password").write_text("s3cret\n")
    (tmp_path / "token").write_text("t0ken\n")
    basic = start_exporters("--basic-auth", "scraper:s3cret")
    bearer = start_exporters("--bearer-token", "t0ken")
    user = {"basic_auth": {"username": "scraper", "password_file": f"{tmp_path}/password"}}
    token = {"authorization": {"credentials_file": f"{tmp_path}/token"}}
    passes = [
        (begin(*LOOK, target(exporters), *sources(tmp_path / str(i), **more)), wanted)
        for i, (exporters, more, wanted) in enumerate(
            (
                (basic, user, 0),
                (bearer, token, 0),
                (basic, {}, 1),
                (bearer, {}, 1),
                (basic, token, 1),
            )
        )
    ]
    for one, wanted in passes:
        status, out, err = one.end()
        assert status == wanted, err
        assert ("reason=unauthorized" in err) == (wanted == 1)
        assert "s3cret" not in out + err and "t0ken" not in out + err


def test_exporters_by_tls(begin, start_exporters, tmp_path):
    directory = str(tmp_path)
    certs.make(directory)
    exporters = start_exporters(
        "--tls-cert", f"{directory}/server.crt", "--tls-key", f"{directory}/server.key"
    )
    ca = {"ca_file": f"{directory}/ca.crt"}
    passes = [
        (begin(*LOOK, target(exporters), *sources(tmp_path / str(i), tls_config=tls)), wanted)
        for i, (tls, wanted) in enumerate(
            (
                (ca, 0),
                (ca | {"server_name": "kubernetes"}, 0),
                ({"insecure_skip_verify": True}, 0),
                ({}, 1),
                (ca | {"server_name": "elsewhere"}, 1),
            )
        )
    ]
    for one, wanted in passes:
        status, _, err = one.end()
        assert status == wanted, err
        assert ("reason=tls" in err) == (wanted == 1)


@pytest.mark.parametrize("text", ["", "pool=web", "zone in (a,b), !gpu,x notin (c)"])
def test_node_selectors(text):
    complete("plimsoll-controller", "--check-config", f"--node-selector={text}")


@pytest.mark.parametrize(
    "flags, complaint", [row[1:] for row in table("wrong-flags.tsv") if row[0] == PROGRAMS[0]]
)
def test_wrong_flags(flags, complaint):
    words = flags.split()
    env = dict(word.split("=", 1) for word in words if word.startswith("PLIMSOLL_"))
    words = [word for word in words if not word.startswith("PLIMSOLL_")]
    done = complete("plimsoll-controller", *words, status=2, env=env)
    assert complaint in done.stderr.replace('\\"', '"') and done.stdout == ""
    assert "s3cret" not in done.stderr
