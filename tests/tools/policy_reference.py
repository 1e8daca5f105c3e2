"""policy/README.md: every field of the policy, from the CRD's schema.

The defaults are those that a program prints for SAMPLE, which has one entry of each list and no
optional field.
"""

import pathlib
import re
import subprocess

import yaml

TOP = pathlib.Path(__file__).resolve().parents[2]
CRD = TOP / "deploy" / "base" / "crd.yaml"
PAGE = TOP / "policy" / "README.md"
SAMPLE = """
apiVersion: scheduler.policy.crane.io/v1alpha1
kind: DynamicSchedulerPolicy
spec:
  metrics: [{name: x, series: x, kind: gauge, capacity: 1}]
  syncPolicy: [{name: x_usage_avg_5m, period: 1m}, {name: cpu_usage_max_avg_1h, period: 15m}]
  predicate: [{name: x_usage_avg_5m, maxLimitPecent: 1}]
  priority: [{name: x_usage_avg_5m, weight: 1}]
  pools:
  - nodeSelector: {x: y}
    predicate: [{name: x_usage_avg_5m, maxLimitPecent: 1}]
    priority: [{name: x_usage_avg_5m, weight: 1}]
  rules: [{match: {namespaces: [x]}, limits: [{name: x_usage_avg_5m, maxLimitPecent: 1}]}]
  taints: {}
  idle: {}
  hotValue: [{timeRange: 1m, count: 1}]
  extender: {}
"""
HEAD = """\
# Policy reference

Every field of a `DynamicSchedulerPolicy`. [docs/policy.md](../docs/policy.md) explains what the fields are for, with
examples. In a cluster, `kubectl explain dsp.spec.priority` shows the same.

The API server and `--check-config` refuse what this page does not allow. Only a file may omit `syncPolicy`.

This page is generated from the schema in [deploy/base/crd.yaml](../deploy/base/crd.yaml).
"""


def root():
    (version,) = yaml.safe_load(CRD.read_text("utf-8"))["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]


def objects(schema, path=""):
    """(path, schema) of every object with named fields, status aside."""
    if "items" in schema:
        yield from objects(schema["items"], f"{path}[]")
    elif "properties" in schema:
        yield path, schema
        for name, field in schema["properties"].items():
            if (path, name) != ("", "status"):
                yield from objects(field, f"{path}.{name}".lstrip("."))


def code(text):
    return "`" + text.replace("|", "\\|") + "`"


def prose(text):
    return re.sub(r"(?=[<|*])", r"\\", " ".join(text.split()))


def messages(schema, field_path=None):
    """Of the rules that apply to the object itself, or to its field `field_path`."""
    rules = schema.get("x-kubernetes-validations", [])
    said = [rule["message"] for rule in rules if rule.get("fieldPath") == field_path]
    return [prose(text.removeprefix("expected ")) for text in dict.fromkeys(said)]


def amount(schema, what):
    """Of Items or Properties."""
    least, most = schema.get(f"min{what}", 0), schema[f"max{what}"]
    return f"{least} to {most}" if least else f"at most {most}"


def allowed(schema):
    kind = schema.get("type")
    said = messages(schema)
    if "enum" in schema:
        said.insert(
            0,
            ", ".join(
                code(str(word).lower()) if word is True else code(str(word))
                for word in schema["enum"]
            ),
        )
    elif kind == "array":
        is_flat = "properties" not in schema["items"]
        of_each = f", each {scalar(schema['items'])}" if is_flat else ""
        said.insert(0, f"a list of {amount(schema, 'Items')}{of_each}")
    elif kind == "object" and "additionalProperties" in schema:
        of_each = scalar(schema["additionalProperties"])
        said.insert(0, f"{amount(schema, 'Properties')} names, each with {of_each}")
    elif kind == "object":
        said.insert(0, "an object, not an empty one" if "minProperties" in schema else "an object")
    elif not said or "pattern" in schema:
        said.insert(0, scalar(schema))
    keys = schema.get("x-kubernetes-list-map-keys")
    return "; ".join([*said, *([f"no {keys[0]} twice"] if keys else [])])


def scalar(schema):
    if schema.get("x-kubernetes-int-or-string"):
        parts = [code(schema["pattern"].strip("^$")) + " or a whole number"]
    else:
        names = {"integer": "a whole number", "number": "a number", "string": "a text"}
        parts = [names[schema["type"]]]
        if "maxLength" in schema:
            parts.append(f"of at most {schema['maxLength']} characters")
        if "pattern" in schema:
            parts.append("that matches " + code(schema["pattern"]))
    if "minimum" in schema:
        is_above = schema.get("exclusiveMinimum", False)
        parts.append(("above " if is_above else "from ") + str(schema["minimum"]))
    if "maximum" in schema:
        is_below = schema.get("exclusiveMaximum", False)
        parts.append(("below " if is_below else "to ") + str(schema["maximum"]))
    return " ".join(parts)


def at(document, path):
    """The value at "spec.priority[].scale", of the first entry of each list; None: there is none."""
    for step in re.findall(r"\w+", path):
        if isinstance(document, list):
            document = document[0]
        document = document.get(step) if isinstance(document, dict) else None
    return document


def table(path, schema, printed):
    rows = ["| field | allowed | default | meaning |", "| --- | --- | --- | --- |"]
    for name, field in schema["properties"].items():
        default = at(printed, f"{path}.{name}")
        if name in schema.get("required", ()):
            default = "required"
        elif default is None or at(yaml.safe_load(SAMPLE), f"{path}.{name}") is not None:
            has_default = len(field.get("enum", ())) > 1
            assert not has_default, f"SAMPLE has no {path}, or print_policy.c does not print it"
            default = ""
        else:
            default = code(str(default))
        limits = "; ".join([allowed(field), *messages(schema, f".{name}")])
        meaning = prose(field.get("description", ""))
        assert meaning, f"{path}.{name} has no description"
        rows.append(f"| {code(name)} | {limits} | {default} | {meaning} |")
    return "\n".join(rows)


def page(program):
    """@program: print_policy.c"""
    said = subprocess.run([program], input=SAMPLE, capture_output=True, text=True, check=True)
    printed = yaml.safe_load(said.stdout)
    parts = [HEAD]
    for path, schema in objects(root()):
        if not path.startswith("spec"):
            continue
        parts.append(f"## {path}\n")
        rules = messages(schema)
        if rules:
            parts.append("Expected: " + "; ".join(rules) + ".\n")
        parts.append(table(path, schema, printed) + "\n")
    return "\n".join(parts)
