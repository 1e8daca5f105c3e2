#!/usr/bin/python3
"""Keeps the flags and metrics in the rooms' README.md equal to what the programs say of themselves.

    readme.py BUILD            fail with a diff when one differs
    readme.py BUILD --apply    rewrite the marked places

A marked place begins with `<!-- flags: PROGRAM -->` or `<!-- metrics: PROGRAM -->` and ends with
`<!-- end -->`. Metrics are those that a program has from its start, before it has met anyone.
"""

import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "integration"))

from harness import Process, fetch, wait_until  # noqa: E402

READMES = [TOP / "controller" / "README.md", TOP / "extender" / "README.md"]
PLACE = re.compile(r"<!-- (flags|metrics): ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)
PORT_FLAGS = {
    "plimsoll-controller": [
        "--health-port=0",
        "--bind-address=127.0.0.1",
        "--metrics-source=node-exporter,prometheus,metrics-server",
        "--prometheus-address=http://127.0.0.1:1",
    ],
    "plimsoll-extender": ["--port=0", "--bind"],
}
# Nobody listens there: the programs start and wait.
NO_SERVER = "--master=http://127.0.0.1:1"
EMPTY_KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: none
clusters: [{name: none, cluster: {server: 'http://127.0.0.1:1'}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
users: [{name: none, user: {}}]
"""


def program_path(build, program):
    return pathlib.Path(build) / program.removeprefix("plimsoll-") / program


def flags(build, program):
    said = subprocess.run(
        [program_path(build, program), "--help"], capture_output=True, text=True, check=True
    )
    return f"```\n{said.stdout.strip()}\n```\n"


def metrics(build, program):
    with tempfile.TemporaryDirectory() as directory:
        kubeconfig = os.path.join(directory, "kubeconfig")
        pathlib.Path(kubeconfig).write_text(EMPTY_KUBECONFIG, encoding="utf-8")
        argv = [program_path(build, program), f"--kubeconfig={kubeconfig}", NO_SERVER]
        process = Process(argv + PORT_FLAGS[program], program, directory)
        try:
            url = f"http://127.0.0.1:{process.wait_port()}/metrics"
            # Until the first call to the API server has failed: from then on the page is complete.
            wait_until(lambda: "plimsoll_list_total" in fetch(url).text, what="a first list")
            page = fetch(url).text
        finally:
            process.stop()
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", page, re.MULTILINE))
    labels = {}
    for name, inner in re.findall(r"^(\w+)\{(.*)\} ", page, re.MULTILINE):
        found = set(re.findall(r"(\w+)=\"", inner)) - {"le"}
        family = re.sub(r"_(bucket|sum|count)$", "", name)
        labels.setdefault(name if name in types else family, set()).update(found)
    rows = ["| metric | type | labels | what |", "| --- | --- | --- | --- |"]
    for name, text in re.findall(r"^# HELP (\S+) (.*)$", page, re.MULTILINE):
        if name.startswith("process_"):
            continue
        named = ", ".join(sorted(labels.get(name, ())))
        rows.append(f"| `{name}` | {types[name]} | {named} | {text} |")
    return "\n".join(rows) + "\n"


def bring_up_to_date(build, path, is_applied):
    """Rewrite or compare one file; false when it differs."""
    makers = {"flags": flags, "metrics": metrics}
    old = path.read_text(encoding="utf-8")
    name = path.relative_to(TOP)

    def fill(match):
        kind, program = match.groups()
        made = makers[kind](build, program)
        return f"<!-- {kind}: {program} -->\n\n{made}\n<!-- end -->"

    new, places = PLACE.subn(fill, old)
    if places != 2:
        print(f"{name} has {places} marked places, expected 2")
        return False
    if is_applied:
        path.write_text(new, encoding="utf-8")
        return True
    if new != old:
        sys.stdout.writelines(
            difflib.unified_diff(
                old.splitlines(True), new.splitlines(True), str(name), "the program"
            )
        )
        print("run: tests/tools/readme.py BUILD --apply")
    return new == old


def main():
    build = sys.argv[1]
    is_applied = "--apply" in sys.argv
    return 0 if all([bring_up_to_date(build, path, is_applied) for path in READMES]) else 1


if __name__ == "__main__":
    sys.exit(main())
