#!/usr/bin/python3
"""Schedulers, any by path, play the same pods in real clusters side by side; see docs/arena.md.

    tests/e2e/sandbox tests/e2e/arena.py OUT [NAME:BINARY:CONFIG ...]

OUT/SCENARIO/NAME-SEED.json is a finished run, which is not repeated while programs, configuration,
scenario and pace are the same. OUT/table.md is the table of all of them, which is also printed.
"""

import argparse
import contextlib
import dataclasses
import functools
import hashlib
import itertools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integration"), str(HERE.parent / "placement")]

from cluster import sides as sides_of  # noqa: E402
from cluster.arrivals import Arrivals  # noqa: E402
from cluster.koordlets import Koordlets  # noqa: E402
from cluster.metrics_server import PORT, MetricsServer, ask_exporters  # noqa: E402
from cluster.plimsoll import Plimsoll  # noqa: E402
from programs import find_program, log_folder, running  # noqa: E402
from prometheus_kit import RealPrometheus, crane_rules  # noqa: E402
from ratios import jackknife, total  # noqa: E402
from runs import ARENA  # noqa: E402
from tools import build  # noqa: E402

BASELINE = "default"
SCENARIOS = "loop-small burst-small hetero-small batch-small burst clumps loop stale"
RECORDINGS = " replay-planetlab-small replay-azure-small"
KIND, GROUP = "KubeSchedulerConfiguration", "kubescheduler.config.k8s.io/"
EXTRAS = {"metricsServer": bool, "apply": list, "nodeMetrics": bool, "run": list}
KUBECONFIG, PROMETHEUS = "ARENA_KUBECONFIG", "ARENA_PROMETHEUS"
LAST_LINES = 15
# The names that load-watcher asks for, of the rules of kube-prometheus.
LOAD_WATCHER_RULES = """
- name: load-watcher
  interval: 15s
  rules:
  - record: instance:node_cpu:ratio
    expr: 1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[1m]))
  - record: instance:node_memory_utilisation:ratio
    expr: 1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes
"""


class Trouble(Exception):
    """Something that the person who runs this has to fix."""


# -- who plays -------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Contender:
    """`start` is called with its side, its Plimsoll and the seat at the table: a number."""

    name: str
    start: object
    programs: tuple  # paths, the scheduler first
    config: str = ""


def built_in(pace):
    def start(how, side, plimsoll, _seat):
        how(side, plimsoll, sides_of.policy(pace, "estimate"))

    scheduler = build.program("kube-scheduler", "kubernetes")
    ours = [find_program(f"plimsoll-{name}", "release") for name in ("controller", "extender")]
    ways = {
        BASELINE: (sides_of.start_default, ()),
        "most-allocated": (sides_of.start_most_allocated, ()),
        "extender": (sides_of.start_extender, ours),
        "admission": (sides_of.start_admission, ours),
    }
    return [
        Contender(name, functools.partial(start, how), (scheduler, *programs))
        for name, (how, programs) in ways.items()
    ]


def read_config(path):
    """Its text, if it is a KubeSchedulerConfiguration, perhaps with what it wants next to it."""
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
        documents = list(yaml.safe_load_all(text))
    except OSError as error:
        raise Trouble(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise Trouble(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    content, extras, *more = [*documents, {}, {}][: max(2, len(documents))]
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind != KIND or not str(content.get("apiVersion")).startswith(GROUP):
        raise Trouble(f"{path}: the first document is no {KIND} of {GROUP}*, but {kind}")
    known = isinstance(extras, dict) and all(
        isinstance(value, EXTRAS.get(key, ())) for key, value in extras.items()
    )
    if more or not known:
        raise Trouble(f"{path}: behind it, only {', '.join(EXTRAS)} in one more document")
    return text


def contender_of(words):
    name, _, rest = words.partition(":")
    binary, _, config = rest.partition(":")
    if not re.fullmatch(r"[a-z0-9.-]+", name) or not binary or not config:
        raise Trouble(f"{words}: not NAME:BINARY:CONFIG with a name of a-z, 0-9, '-' and '.'")
    if not os.path.isfile(binary):
        raise Trouble(f"{name}: no program {binary}")
    if not os.access(binary, os.X_OK):
        raise Trouble(f"{name}: {binary} is not executable")
    binary, text = os.path.abspath(binary), read_config(config)
    _, extras, *_ = [*yaml.safe_load_all(text), {}]
    programs = [shlex.split(command)[0] for command in extras.get("run", ())]
    for path in (*extras.get("apply", ()), *programs):
        if not os.path.isfile(path):
            raise Trouble(f"{name}: {config} wants {path}, which is no file")
    return Contender(name, functools.partial(start_peer, binary, text), (binary,), text)


def start_peer(binary, text, side, plimsoll, seat):
    """A scheduler of any project, and what it wants next to it."""
    plane = side.plane
    for node in side.nodes:  # kubelets count CPUs
        side.exporters.set([side.fleet.addresses[node]], cpus=side.cores[node])
    if PROMETHEUS in text:
        targets = {
            f"{address}:{side.exporters.port}": {"instance": node}
            for node, address in side.fleet.addresses.items()
        }
        rules = crane_rules("15s", "15s", "1m") + LOAD_WATCHER_RULES
        scrape = {"scrape_interval": "10s", "scrape_timeout": "5s"}
        directory = plane.path("prometheus")
        os.makedirs(directory)
        prometheus = RealPrometheus(plimsoll.run, directory, targets, rules, scrape=scrape)
        text = text.replace(PROMETHEUS, prometheus.url)
    content, extras, *_ = [*yaml.safe_load_all(text.replace(KUBECONFIG, plane.kubeconfig)), {}]
    if extras.get("metricsServer"):
        metrics_server = MetricsServer(plane, PORT + seat)
        metrics_server.register()
        metrics_server.start(*ask_exporters(side.exporters))
        metrics_server.wait_items(side.nodes)
    for path in extras.get("apply", ()):
        plane.kubectl("apply", "--server-side", "-f", path)
    if extras.get("nodeMetrics"):
        Koordlets(side)
    for number, command in enumerate(extras.get("run", ())):
        program, *flags = shlex.split(command)
        plane.run(os.path.abspath(program), *flags, name=f"extra-{number}")
    # The pods ask for nobody by name.
    profile, *others = content.get("profiles") or [{}]
    content["profiles"] = [{**profile, "schedulerName": "default-scheduler"}, *others]
    plane.run_scheduler(content, plane.kubeconfig, "scheduler", binary)


def contenders(options):
    found = built_in(options.pace) + [contender_of(words) for words in options.schedulers]
    names = [contender.name for contender in found]
    for name in names:
        if names.count(name) > 1:
            raise Trouble(f"{name}: two schedulers have this name")
    only = options.only.split() or names
    if set(only) - set(names):
        raise Trouble(f"no scheduler is called {' or '.join(sorted(set(only) - set(names)))}")
    return [contender for contender in found if contender.name in only]


# -- runs ------------------------------------------------------------------------------------


def scenario_path(name):
    path = pathlib.Path(name if name.endswith(".yaml") else HERE / "scenarios" / f"{name}.yaml")
    if not path.is_file():
        known = ", ".join(sorted(path.stem for path in (HERE / "scenarios").glob("*.yaml")))
        raise Trouble(f"{name}: no file of this name, and none of {known}")
    return path


@functools.cache
def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:16]


@functools.cache
def version(path):
    """The last word that it says when it is asked."""
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, check=False, timeout=30
        )
    except OSError as error:
        raise Trouble(f"{path}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        return "?"
    return (done.stdout.split() or ["?"])[-1]


@dataclasses.dataclass(frozen=True)
class Run:
    """One who plays, with one draw of a scenario."""

    contender: Contender
    scenario: pathlib.Path
    seed: int
    options: argparse.Namespace

    @property
    def path(self):
        return self.options.out / self.scenario.stem / f"{self.contender.name}-{self.seed}.json"

    def conditions(self):
        """What its result is of: a run with the same need not be repeated."""
        return {
            "scheduler": self.contender.name,
            "programs": [
                {"name": os.path.basename(path), "version": version(path), "sha256": digest(path)}
                for path in self.contender.programs
            ],
            "configSha256": hashlib.sha256(self.contender.config.encode()).hexdigest()[:16],
            "scenario": self.scenario.stem,
            "scenarioSha256": digest(self.scenario),
            "seed": self.seed,
            "pace": self.options.pace,
            "warmUpSeconds": self.options.warm,
        }

    def result(self):
        """None if it is not finished."""
        try:
            found = json.loads(self.path.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return found if self.conditions().items() <= found.items() else None

    def finish(self, found):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.conditions() | found, indent=1) + "\n", "utf-8")
        new.rename(self.path)
        print(
            f"  {self.contender.name}: {found['hot']:.1f} hot node-minutes, standard deviation "
            f"{found['stddev']:.3f}, busiest {found['busiest']:.0%}, mean {found['mean']:.0%}, "
            f"{found['bound']} of {found['pods']} pods, the latest {found['late_s']:.1f} s late",
            flush=True,
        )


def play(batch, scenario, seed, options):
    """Runs of the same draw, side by side."""
    try:
        arrivals = Arrivals(scenario, options.pace, seed, options.traces)
    except subprocess.CalledProcessError as error:
        raise Trouble(f"{scenario.stem}: {error.stderr.strip()}") from None
    names = [run.contender.name for run in batch]
    directory = log_folder(str(options.out), "logs", f"{scenario.stem}-{seed}-{names[0]}")
    takes_s = options.warm + arrivals.end_s + 10 * len(batch)
    end = time.strftime("%H:%M", time.localtime(time.time() + takes_s))
    print(f"{scenario.stem}, seed {seed}: {', '.join(names)}: until {end}", flush=True)
    ours = functools.partial(find_program, build="release")
    with contextlib.ExitStack() as stack:
        sides = stack.enter_context(sides_of.open_sides(names, arrivals, directory))
        start = stack.enter_context(contextlib.contextmanager(running)(directory))
        for seat, (name, side) in enumerate(sides.items()):
            plimsoll = Plimsoll(side.plane, directory, start, ours, name)
            try:
                batch[seat].contender.start(side, plimsoll, seat)
            except RuntimeError as error:
                raise Trouble(f"{name}: {shortened(error)}") from error
        measured = sides_of.play(sides, options.warm)
    for run in batch:
        run.finish(measured[run.contender.name] | {"pods": len(arrivals.pods)})


def shortened(error):
    """A program's last lines, behind what became of it."""
    first, *lines = str(error).splitlines()
    return "\n".join([first, *lines[-LAST_LINES:]])


# -- the table -------------------------------------------------------------------------------


def cell(rows, base):
    """What is left of the baseline's hot minutes, over the seeds that both have."""
    seeds = sorted(rows.keys() & base.keys())
    ours, theirs = ([of[seed]["hot"] for seed in seeds] for of in (rows, base))
    if not total(theirs):
        return "-"
    left = jackknife(lambda without: total(ours, without) / total(theirs, without), len(seeds))
    return f"{left} ({min(ours):.1f} to {max(ours):.1f})"


def table(found):
    """Its lines; `found` is {scenario: {scheduler: {seed: result}}}."""
    names = list(dict.fromkeys(name for rows in found.values() for name in rows))
    lines = [f"| scenario | runs | {' | '.join(names)} |", "| --- " * (len(names) + 2) + "|"]
    for scenario, rows in found.items():
        base = rows.get(BASELINE, {})
        cells = [cell(rows.get(name, {}), base) for name in names]
        if base:
            hot = [row["hot"] for row in base.values()]
            mean = sum(hot) / len(hot)
            cells[names.index(BASELINE)] = f"{mean:.1f} ({min(hot):.1f} to {max(hot):.1f})"
        runs = max(len(seeds) for seeds in rows.values())
        lines.append(f"| {scenario} | {runs} | {' | '.join(cells)} |")
    return lines


def footnotes(found):
    results = [row for rows in found.values() for of in rows.values() for row in of.values()]
    yield (
        f"{BASELINE}: node-minutes above 65% CPU, the mean over runs. Others: what they leave of them, "
        "with the standard error. In brackets: the smallest and the largest run, in node-minutes."
    )
    late_s = max(row["late_s"] * row["pace"] for row in results)
    yield (
        f"Pace {results[0]['pace']:g}, {results[0]['warmUpSeconds']:g} s of warm-up; the latest pod "
        f"was sent {late_s:.0f} s of its scenario late."
    )
    pending = {row["scheduler"] for row in results if row["bound"] < row["pods"]}
    if pending:
        yield f"Left pods pending, so that their load is missing: {', '.join(sorted(pending))}."
    yield ""
    said = {
        (row["scheduler"], program["name"], program["version"], program["sha256"])
        for row in results
        for program in row["programs"]
    }
    yield from (
        f"- {who}: {name} {version} (sha256 {sha256})"
        for who, name, version, sha256 in sorted(said)
    )


# -- the program -----------------------------------------------------------------------------


def parse_options(arguments):
    parser = argparse.ArgumentParser(prog="arena", description=__doc__.split("\n", maxsplit=1)[0])
    add = parser.add_argument
    add("out", type=pathlib.Path, help="where results are")
    add("schedulers", nargs="*", metavar="NAME:BINARY:CONFIG")
    add("--runs", type=int, default=5, help="of each scenario, each with other pods")
    add("--scenarios", help="names in tests/e2e/scenarios, or paths")
    add("--pace", type=float, default=1, help="how many times as fast time passes")
    add("--warm", type=float, default=0, help="seconds before the first pod")
    add("--traces", default="", help="the folder of recordings, see tests/placement/traces.md")
    add("--only", default="", help="names of those that play; all")
    add(
        "--at-once", type=int, default=2 * (os.cpu_count() or 1),
        help="how many clusters run at a time",
    )  # fmt: skip
    return parser.parse_args(arguments)


def main(arguments):
    options = parse_options(arguments)
    all_of_them = SCENARIOS + RECORDINGS * bool(options.traces)
    paths = [scenario_path(name) for name in (options.scenarios or all_of_them).split()]
    players = contenders(options)
    found = {path.stem: {one.name: {} for one in players} for path in paths}
    # In turns, so that what disturbs the machine for an hour disturbs all of them.
    for seed, path in itertools.product(ARENA[: options.runs], paths):
        runs = [Run(one, path, seed, options) for one in players]
        missing = [run for run in runs if not run.result()]
        for first in range(0, len(missing), options.at_once):
            play(missing[first : first + options.at_once], path, seed, options)
        for run in runs:
            found[path.stem][run.contender.name][seed] = run.result()
    text = "\n".join([*table(found), "", *footnotes(found)])
    (options.out / "table.md").write_text(f"{text}\n", "utf-8")
    print(f"\n{text}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (Trouble, build.Trouble) as error:
        sys.exit(f"arena: {error}")
    except (AssertionError, RuntimeError) as error:
        sys.exit(f"arena: {shortened(error)}")
