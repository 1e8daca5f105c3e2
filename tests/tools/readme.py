#!/usr/bin/python3
"""Keeps what is generated in pages and in the CRD equal to its source.

    readme.py BUILD            fail with a diff when one differs
    readme.py BUILD --apply    rewrite the marked places

A marked place begins with `<!-- flags: PROGRAM [VERB] -->` or `<!-- metrics: PROGRAM -->` and ends
with `<!-- end -->`. Metrics are those that a program has from its start, before its first peer answers.
Built-in resources are the rows of policy/metric_resource.h, the chart's values those of its values.yaml.
policy/README.md is made of the CRD (policy_reference.py).
"""

import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "integration"))

import policy_reference  # noqa: E402
from harness import Process, fetch, wait_until  # noqa: E402

# How many marked places each has.
PAGES = {"controller/README.md": 2, "extender/README.md": 2, "cli/README.md": 9}
RESOURCE_PAGE = TOP / "docs" / "policy-metrics.md"
RESOURCE_ROWS = TOP / "policy" / "metric_resource.h"
CRD = TOP / "deploy" / "base" / "crd.yaml"
CHART = TOP / "deploy" / "chart"
VALUES_PLACE = re.compile(r"<!-- values -->\n.*?<!-- end -->", re.DOTALL)
ROW = re.compile(r'\bROW\(\w+, \.name = "(\w+)",\s*\.what = ((?:"[^"]*"\s*)+),')
RESOURCE_PLACE = re.compile(r"<!-- resources -->\n.*?<!-- end -->", re.DOTALL)
RESERVED_NAMES = re.compile(r"( +)!\(self in \[[^]]*\]\)")
PLACE = re.compile(r"<!-- (flags|metrics): ([\w -]+) -->\n.*?<!-- end -->", re.DOTALL)
PORT_FLAGS = {
    "plimsoll-controller": [
        "--health-port=0",
        "--bind-address=127.0.0.1",
        "--metrics-source=node-exporter,prometheus,metrics-server",
        "--prometheus-address=http://127.0.0.1:1",
    ],
    "plimsoll-extender": ["--port=0", "--bind"],
}
# Of families that have no series before the first node, or lack a label without pools.
LABELS = {
    "plimsoll_node_limit_ratio": {"pool"},
    "plimsoll_node_usage_ratio": {"node", "metric", "pool"},
    "plimsoll_node_hot_value": {"node"},
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
    folder = "cli" if program == "kubectl-plimsoll" else program.removeprefix("plimsoll-")
    return pathlib.Path(build) / folder / program


def flags(build, command):
    program, *verb = command.split()
    argv = [program_path(build, program), *verb, "--help"]
    said = subprocess.run(argv, capture_output=True, text=True, check=True)
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
    labels = {name: set(of) for name, of in LABELS.items()}
    for name, inner in re.findall(r"^(\w+)\{(.*)\} ", page, re.MULTILINE):
        found = set(re.findall(r"(\w+)=\"", inner)) - {"le"}
        family = re.sub(r"_(bucket|sum|count)$", "", name)
        labels.setdefault(name if name in types else family, set()).update(found)
    rows = ["| metric | type | labels | what |", "| --- | --- | --- | --- |"]
    for name, text in sorted(re.findall(r"^# HELP (\S+) (.*)$", page, re.MULTILINE)):
        if name.startswith("process_"):
            continue
        named = ", ".join(sorted(labels.get(name, ())))
        rows.append(f"| `{name}` | {types[name]} | {named} | {text} |")
    return "\n".join(rows) + "\n"


def bring_up_to_date(build, page, is_applied):
    """Rewrite or compare one page; false when it differs."""
    path = TOP / page
    makers = {"flags": flags, "metrics": metrics}
    old = path.read_text(encoding="utf-8")

    def fill(match):
        kind, program = match.groups()
        made = makers[kind](build, program)
        return f"<!-- {kind}: {program} -->\n\n{made}\n<!-- end -->"

    new, places = PLACE.subn(fill, old)
    if places != PAGES[page]:
        print(f"{page} has {places} marked places, expected {PAGES[page]}")
        return False
    return write_or_compare(path, old, new, is_applied)


def resources():
    """(name, what it is) of every built-in resource."""
    text = RESOURCE_ROWS.read_text(encoding="utf-8").replace("\\\n", "\n")
    found = [(name, "".join(re.findall(r'"([^"]*)"', what))) for name, what in ROW.findall(text)]
    assert len(found) == len(re.findall(r"^ +ROW\(", text, re.MULTILINE)), found
    return found


def bring_resources_up_to_date(is_applied):
    """The table in docs/policy-metrics.md, and the names that the CRD reserves."""
    rows = [f"| `{name}` | {what} |" for name, what in resources()]
    table = "\n".join(["| resource | usage |", "| --- | --- |", *rows])
    names = ", ".join(f"'{name}'" for name, _ in resources())

    def reserve(match):
        indent = match.group(1)
        return textwrap.fill(
            f"!(self in [{names}])", 99, initial_indent=indent, subsequent_indent=indent
        )

    is_same = True
    for path, place, fill in (
        (
            RESOURCE_PAGE,
            RESOURCE_PLACE,
            lambda _: f"<!-- resources -->\n\n{table}\n\n<!-- end -->",
        ),
        (CRD, RESERVED_NAMES, reserve),
    ):
        old = path.read_text(encoding="utf-8")
        new, places = place.subn(fill, old)
        assert places == 1, path
        is_same &= write_or_compare(path, old, new, is_applied)
    return is_same


def values():
    """(name, default, what it is) of every value of the chart, from the comments that begin with --."""
    path, what = [], ""
    for line in (CHART / "values.yaml").read_text(encoding="utf-8").splitlines():
        note = re.match(r" *# -- (.*)", line)
        key = re.match(r"( *)(\w+):(?: (.*))?$", line)
        if note:
            what = note.group(1)
        elif key:
            path[len(key.group(1)) // 2 :] = [key.group(2)]
            if key.group(3):
                yield ".".join(path), key.group(3), what
                what = ""


def bring_values_up_to_date(is_applied):
    rows = [f"| `{name}` | `{default}` | {what} |" for name, default, what in values()]
    table = "\n".join(["| value | default | what |", "| --- | --- | --- |", *rows])
    page = CHART / "README.md"
    old = page.read_text(encoding="utf-8")
    new, places = VALUES_PLACE.subn(lambda _: f"<!-- values -->\n\n{table}\n\n<!-- end -->", old)
    assert places == 1
    return write_or_compare(page, old, new, is_applied)


def bring_reference_up_to_date(build, is_applied):
    new = policy_reference.page(os.path.join(build, "tests", "print_policy"))
    return write_or_compare(
        policy_reference.PAGE, policy_reference.PAGE.read_text("utf-8"), new, is_applied
    )


def write_or_compare(path, old, new, is_applied):
    name = str(path.relative_to(TOP))
    if is_applied:
        path.write_text(new, encoding="utf-8")
        return True
    if new != old:
        sys.stdout.writelines(
            difflib.unified_diff(old.splitlines(True), new.splitlines(True), name, "the program")
        )
        print("run: tests/tools/readme.py BUILD --apply")
    return new == old


def main():
    build = sys.argv[1]
    is_applied = "--apply" in sys.argv
    is_same = [bring_up_to_date(build, page, is_applied) for page in PAGES]
    is_same += [bring_resources_up_to_date(is_applied), bring_values_up_to_date(is_applied)]
    is_same.append(bring_reference_up_to_date(build, is_applied))
    return 0 if all(is_same) else 1


if __name__ == "__main__":
    sys.exit(main())
