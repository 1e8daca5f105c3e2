"""Runs of the simulator, side by side, and which seeds are whose.

The five sets do not overlap: what a parameter was chosen by is not what it is judged by, and the
page does not repeat what the gates allow.
"""

import concurrent.futures
import dataclasses
import hashlib
import json
import math
import os
import pathlib
import random
import subprocess
import threading
import time

import traces

HERE = pathlib.Path(__file__).resolve().parent
TUNING = range(1, 1000)  # to try things; `placement` begins with them by itself
PAGE = range(1001, 1013)
GATES = range(2001, 2013)  # fewer, since `make check` simulates them each time
ARENA = range(6001, 7001)  # tests/e2e/arena.py's, as many as are asked for
TRIAL = range(5001, 5002)  # trial.py's; those from 4001 on are for trying things there
# What counts in a scenario, if not hot node-minutes: nodes are hot at best, or it is about memory.
METRICS = {"allhot": "throttledCoreSeconds", "leaks": "fullNodeMinutes"}
BASELINE, OURS, BY_ADMISSION = "default", "estimate", "admission"
# Those that know what nobody can know. They are no rivals.
IDEALS = ("workloads", "oracle")
CRANE_POLICY = HERE.parents[1] / "policy" / "crane.yaml"
SEEDS_AT_ONCE = 3
REPORT_S = 15


def metric_of(scenario):
    return METRICS.get(scenario, "hotNodeMinutes")


def digest_of(text):
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def libm():
    """How this machine's mathematical functions round: loads depend on it, in their last digit."""
    places = [place / 7 for place in range(1, 3000)]
    values = [function(place) for place in places for function in (math.log, math.cos, math.exp)]
    return digest_of(repr(values + [place**0.3 for place in places]))


def program(build):
    return build / "tests" / "placement" / "placement"


def scenarios():
    """Paths of all, by name."""
    return sorted((HERE / "scenarios").glob("*.yaml"))


def sentence(path):
    """What a scenario is: the comment that its file begins with."""
    lines = path.read_text(encoding="utf-8").splitlines()
    count = next(number for number, line in enumerate(lines) if not line.startswith("#"))
    return " ".join(line.removeprefix("#").strip() for line in lines[:count])


def algorithms(build):
    """Rows with `name`, `about` and `kind`, as the simulator lists them."""
    argv = [program(build), "-o", "algorithms"]
    return json.loads(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)


def of_kind(build, *kinds):
    return [row["name"] for row in algorithms(build) if row["kind"] in kinds]


def rivals(build):
    """Of the peers those that one could use instead."""
    return [name for name in of_kind(build, "peer") if name not in (BASELINE, OURS, *IDEALS)]


@dataclasses.dataclass(frozen=True)
class Run:
    """Some algorithms in a scenario, with each of the seeds."""

    path: pathlib.Path
    seeds: range
    algorithms: tuple
    arguments: tuple = ()

    @property
    def scenario(self):
        return self.path.stem

    def pieces(self):
        for first in range(0, len(self.seeds), SEEDS_AT_ONCE):
            part = self.seeds[first : first + SEEDS_AT_ONCE]
            yield dataclasses.replace(self, seeds=part)


def argv_of(build, run):
    argv = [program(build), "-o", "json", "--scenario", run.path, *run.arguments]
    argv += traces.arguments(run.path, build)
    argv += ["--first-seed", str(run.seeds[0]), "--seeds", str(len(run.seeds))]
    argv += [word for name in run.algorithms for word in ("--algorithm", name)]
    return [str(word) for word in argv]


def simulate(build, run):
    """{algorithm: {metric: its value of each seed}}"""
    argv = argv_of(build, run)
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: status {done.returncode}: {done.stderr}")
    return {
        row["algorithm"]: {
            metric: of["seeds"] for metric, of in row.items() if isinstance(of, dict)
        }
        for row in json.loads(done.stdout)
    }


class Kept:
    """Runs that are done, in a folder, so that one which was stopped goes on where it was: by what is
    run and what it reads."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.program = hashlib.sha256(program(build).read_bytes()).hexdigest()
        folder.mkdir(exist_ok=True)

    def simulate(self, run):
        argv = argv_of(self.build, run)
        files = [pathlib.Path(word) for word in argv if word.endswith((".yaml", ".json"))]
        files += [CRANE_POLICY, *traces.files(run.path, self.build)]
        read = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
        path = self.folder / f"{digest_of(repr([self.program, argv, read]))}.json"
        if not path.exists():
            part = path.with_suffix(".part")
            part.write_text(json.dumps(simulate(self.build, run)), encoding="utf-8")
            part.rename(path)
        return json.loads(path.read_text(encoding="utf-8"))


class Progress:
    """Says now and then how many runs are done, and how long the others may take."""

    def __init__(self, count):
        self.count, self.done = count, 0
        self.started_s = self.said_s = time.monotonic()
        self.lock = threading.Lock()

    def one_more(self, _):
        with self.lock:
            self.done += 1
            now_s = time.monotonic()
            if now_s - self.said_s < REPORT_S and self.done < self.count:
                return
            self.said_s = now_s
            left_s = (now_s - self.started_s) / self.done * (self.count - self.done)
            text = f"{self.done} of {self.count} runs, about {left_s / 60:.0f} min left"
            print(f"  {text}", flush=True)


def join(parts):
    """The rows of one run, of those of its pieces in the order of their seeds. All have the same metrics."""
    return {
        name: {
            metric: [seed for rows in parts for seed in rows[name][metric]]
            for metric in dict.fromkeys(metric for rows in parts for metric in rows[name])
        }
        for name in parts[0]
    }


def simulate_all(build, runs, kept=None, has_progress=True):
    """[what simulate() returns of each], on all processors; @kept: the folder of those that are done"""
    pieces = [piece for run in runs for piece in run.pieces()]
    progress = Progress(len(pieces))
    do = Kept(build, kept).simulate if kept else lambda run: simulate(build, run)
    # In no order, so that those which are done say how long the others take.
    order = random.Random(1).sample(range(len(pieces)), len(pieces))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        futures = {number: pool.submit(do, pieces[number]) for number in order}
        if has_progress:
            for future in futures.values():
                future.add_done_callback(progress.one_more)
        results = iter([futures[number].result() for number in range(len(pieces))])
    return [join([next(results) for _ in run.pieces()]) for run in runs]
