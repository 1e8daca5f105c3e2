"""tests/placement/traces.py and planetlab.py: recordings, as what the simulator reads."""

import lzma
import os
import pathlib
import sys

import pytest
from pages import TOP, complete

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "placement"))
import planetlab  # the folder of the simulator has to be in the path first
import traces

PLANETLAB = [
    "workload=princeton_codeen request=1000 step=300 cpu=50,0,120x2\n",
    "workload=root request=1000 step=300 cpu=1000,990,10,20\n",
]
BITBRAINS = ["workload=vm-1 request=2000 step=300 memory=8192 cpu=30,10x2 used=1010,448x2\n"]
REPACKED = {
    "planetlab-2011-cpu-5min.csv.xz": "# head\n"
    "20110303,planet_a_edu,princeton_codeen,5,0,12,12\n20110303,planet_a_edu,root,100,99,1,2\n",
    "bitbrains-rnd-2013-7-cpu-mem-5min.csv.xz": "# head\n"
    "1,cpu,2,5852,1372629600,15,5,\n1,mem,8388608,1372629600,1010,448,\n"
    "2,cpu,0,0,1372629600,0,0,0\n2,mem,0,1372629600,0,0,0\n",
    "bitbrains-rnd-2013-8-cpu-mem-5min.csv.xz": "# head\n"
    "1,cpu,2,5852,1375308176,15,5,\n1,mem,8388608,1375308176,1010,448,\n",
    "azure-2017-vm-cpu-5min.csv.xz": "# head\nmicr-1,445,,479\n",
    "surf-2022-week-jobs-cpu-30s.csv.xz": "# head\n9,60,100,16,100000,1000x3,20\n",
    "google-2011-jobs-cpu-mem-5min.csv.xz": "# head\n7,1,cpu,6.76,15,15\n7,1,mem,5.1,5,5\n",
}


@pytest.fixture(name="folder")
def folder_fixture(tmp_path, monkeypatch):
    monkeypatch.setenv("PLIMSOLL_TRACES", str(tmp_path / "in"))
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def written(folder, name):
    out = traces.prepare(folder.parent / "out")
    return (out / f"{name}.trace").read_text(encoding="utf-8").splitlines(keepends=True)


def test_each_source(folder):
    for name, text in REPACKED.items():
        (folder / name).write_bytes(lzma.compress(text.encode()))
    assert traces.available() == list(traces.SOURCES)
    assert written(folder, "planetlab") == PLANETLAB
    assert written(folder, "bitbrains") == BITBRAINS
    assert written(folder, "bitbrains_august") == BITBRAINS
    assert written(folder, "azure") == ["workload=micr-1 request=1000 step=300 cpu=445x2,479\n"]
    assert written(folder, "surf") == [
        "workload=job-9 request=16000 step=30 arrives=60 lasts=100 cpu=16000x3,320\n"
    ]
    assert written(folder, "google") == ["workload=job-7 request=1000 step=300 cpu=68,150x2\n"]


def test_what_is_missing_is_said(folder):
    scenario = folder / "scenario.yaml"
    scenario.write_text(
        "pods:\n- {kind: replay, trace: surf, life: {mean: 1h}}\n", encoding="utf-8"
    )
    assert traces.available() == []
    assert traces.missing(scenario) == f"{folder} does not have surf: tests/placement/traces.md"
    (folder / "surf-2022-week-jobs-cpu-30s.csv.xz").write_bytes(lzma.compress(b"9,60,30,1,1,5\n"))
    assert traces.missing(scenario) is None
    scenario.write_text("pods:\n- {kind: steady}\n", encoding="utf-8")
    assert traces.missing(scenario) is None


def test_every_scenario_replays_a_source():
    paths = list((TOP / "tests" / "placement" / "scenarios").glob("replay-*.yaml"))
    assert {name for path in paths for name in traces.needed(path)} == set(traces.SOURCES)


def said_by(tool, *arguments):
    env = {"PLIMSOLL_TRACES": os.environ["PLIMSOLL_TRACES"]}
    return complete(TOP / "tests" / "placement" / tool, *arguments, env=env).stdout


def test_public_files_of_planetlab(folder, tmp_path):
    """Repacked, they are read, and `traces.py` says that they are not those of the figures."""
    for day in planetlab.DAYS:
        (tmp_path / day).mkdir()
    for name in ("h4_edu_ rnp_dcc_ufjf", "h3_mpi-sws_de_arizona_stork_install", "h2_il_nyu_d"):
        (tmp_path / planetlab.DAYS[1] / name).write_text("34\n100\n")
    said_by("planetlab.py", tmp_path, folder)
    assert list(traces.repacked(traces.source_of("planetlab"))) == [
        ["20110306", "h3_mpi-sws_de", "arizona_stork_install", "34", "100"],
        ["20110306", "h2_il", "nyu_d", "34", "100"],
        ["20110306", "h4_edu", "rnp_dcc_ufjf", "34", "100"],
    ]
    told = said_by("traces.py", tmp_path / "out")
    assert "differs from the recording of the published figures" in told
    missing = str(TOP / "tests" / "placement" / "planetlab.py"), tmp_path / "none", folder
    assert str(tmp_path / "none" / "20110303") in complete(*missing, status=1).stderr


def test_digests_and_names_of_the_recordings():
    assert traces.digests().keys() == traces.SOURCES.keys()
    for name in traces.available():
        assert traces.digest(traces.source_of(name)) == traces.digests()[name], name
    if "planetlab" in traces.available():
        for _, host, slice_name, *_ in traces.repacked(traces.source_of("planetlab")):
            assert planetlab.split(f"{host}_{slice_name}") == (host, slice_name)
