#!/usr/bin/python3
"""The names that users lean on: promised_names.py BUILD, a line each, as tests/data/promised-names.txt has those of
the last release. `--record` writes that file: when a release is made, and never else.

docs/deprecation.md says what is promised of them. They are read from where they are made: flags from what the
programs of a build print for --help, metrics from the pages that tests/tools/readme.py keeps true, fields from the
CRD, JSON keys from the sources that write a document.
"""

import pathlib
import re
import subprocess
import sys

import policy_reference

TOP = pathlib.Path(__file__).resolve().parents[2]
RECORD = TOP / "tests" / "data" / "promised-names.txt"
HEAD = "# Names that {} has; docs/deprecation.md. By tests/tools/promised_names.py --record.\n"
VERBS = ("top", "explain", "workloads", "doctor", "simulate", "record", "completion")
# Forms of each program that have a --help of their own.
PROGRAMS = {
    "controller/plimsoll-controller": [[]],
    "extender/plimsoll-extender": [[], ["explain"]],
    "cli/kubectl-plimsoll": [[], *([verb] for verb in VERBS)],
}
FLAG = re.compile(r"^  (?:-\w, )?(--[a-z][a-z-]*)", re.MULTILINE)
METRIC = re.compile(r"^\| `(plimsoll_\w+)` \| \w+ \| (.*?) \|", re.MULTILINE)
# The documents that programs print or serve, and who writes their members.
DOCUMENTS = {
    "top -o json": ("cli/top/top_print.c",),
    "top --requests -o json": ("cli/top/top_requests_print.c",),
    "explain -o json": ("extender/explain/explain_json.c",),
    "explain pod -o json": (
        "cli/explain/explain_place.c",
        "cli/explain/explain_verb.c",
        "cli/explain/explain_decision.c",
    ),
    "doctor -o json": ("cli/doctor/doctor_report.c",),
    "workloads -o json": ("cli/workloads/workloads.c",),
    "simulate -o json": ("cli/simulate/simulation_json.c",),
    "/decisions": ("extender/decisions/decision_json.c", "extender/decisions/decisions_page.c"),
    "/estimate": ("extender/estimate_page/estimate_json.c",),
    "/status.json": ("controller/web/status_view.c", "controller/web/status_text.c"),
}
STRING = r'"((?:[^"\\]|\\.)*)"'
KEY = r'"([A-Za-z]\w*)"'
# By the writers of common/base/json_write.h and functions around them, which have `out` first; of jansson by
# json_object_set_new().
WRITTEN = re.compile(
    rf"\b(?:(?!buf_)\w+\(out|json_write_\w+\((?:[^(),\"]|\([^()]*\))+|json_object_set\w*\([^(),]+),\s*{KEY}"
)
PACKED = re.compile(rf"\bjson_pack\(\s*((?:{STRING}\s*)+),")


def flags(build):
    for program, forms in PROGRAMS.items():
        for form in forms:
            argv = [build / program, *form, "--help"]
            said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
            for flag in FLAG.findall(said):
                yield f"flag {' '.join([pathlib.Path(program).name, *form])} {flag}"


def metrics():
    for program in ("controller", "extender"):
        page = (TOP / program / "README.md").read_text("utf-8")
        for name, labels in METRIC.findall(page):
            yield f"metric {name}"
            yield from (f"label {name} {label}" for label in re.findall(r"\w+", labels))


def annotations():
    header = (TOP / "policy/annotation.h").read_text("utf-8")
    for name in re.findall(r'^#define ANNOTATION_\w+ "(\w+)"', header, re.MULTILINE):
        yield f"annotation {name}"
    rows = (TOP / "policy/metric_resource.h").read_text("utf-8")
    for name in re.findall(r'\bROW\(\w+, \.name = "(\w+)"', rows):
        yield f"annotation resource {name}"
    source = (TOP / "policy/metric_name.c").read_text("utf-8")
    for name in re.findall(r'\[METRIC_\w+\] = "(\w+)"', source):
        yield f"annotation statistic {name}"
    header = (TOP / "policy/policy.h").read_text("utf-8")
    yield f"taint {re.search(STRING, header[header.index('POLICY_TAINT_PREFIX') :])[1]}"


def fields():
    for path, schema in policy_reference.objects(policy_reference.root()):
        for name in schema["properties"]:
            yield f"field {path}.{name}".replace(" .", " ")


def arguments(text):
    """The arguments of a call whose text begins behind its first one, each with its blanks."""
    depth, begin, found, i = 0, 0, [], 0
    while depth >= 0:
        if text[i] == '"':
            i = i + re.match(STRING, text[i:]).end()
            continue
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[i], 0)
        if depth < 0 or (depth == 0 and text[i] == ","):
            found.append(text[begin:i])
            begin = i + 1
        i += 1
    return found


def packed_keys(pattern, given):
    """Which of the arguments of json_pack() are keys: within braces every other value is one."""
    objects, is_key, at = [], False, 0
    for letter in pattern:
        if letter in "{[":
            objects.append(letter == "{")
            is_key = objects[-1]
        elif letter in "}]":
            objects.pop()
            is_key = bool(objects) and objects[-1]
        elif letter.isalpha():
            if is_key:
                yield given[at]
            is_key = not is_key and bool(objects) and objects[-1]
            at += letter not in "n"
        elif letter in "#%+":
            at += letter != "+"


def keys():
    for document, sources in DOCUMENTS.items():
        for source in sources:
            text = (TOP / source).read_text("utf-8")
            for key in WRITTEN.findall(text):
                yield f"json {document} {key}"
            for match in PACKED.finditer(text):
                pattern = "".join(re.findall(STRING, match[1]))
                for key in packed_keys(pattern, arguments(text[match.end() :])):
                    name = re.search(KEY, key)
                    if name:
                        yield f"json {document} {name[1]}"


def names(build):
    found = {*flags(build), *metrics(), *annotations(), *fields(), *keys()}
    return sorted(found)


def recorded():
    lines = RECORD.read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--record"]):
        print(__doc__)
        return 2
    text = "\n".join(names(pathlib.Path(sys.argv[1]))) + "\n"
    if len(sys.argv) == 2:
        print(text, end="")
    else:
        version = re.search(r"version: '(.*)'", (TOP / "meson.build").read_text("utf-8"))[1]
        RECORD.write_text(HEAD.format(version) + text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
