"""deploy/monitoring: alerts that fire when they should, and dashboards of what there is.

tests/e2e/test_monitoring.py asks a real Prometheus all of their queries.
"""

import json
import re

import pytest
import yaml
from monitoring_kit import DASHBOARDS, dashboard, queries, rules, texts
from pages import TOP, anchors
from programs import complete, table

# {(alert, whether it fires): series} of tests/data/alerts.tsv
CASES = {}
for ALERT, WHAT, SERIES, VALUES in table("alerts.tsv"):
    CASES.setdefault((ALERT, WHAT), []).append({"series": SERIES, "values": VALUES})

RUNBOOKS = "docs/runbooks.md"
REPOSITORY = "https://github.com/OWNER/plimsoll"
SEVERITIES = {"warning", "info"}


def minutes(text):
    number, unit = re.fullmatch(r"(\d+)([mh])", text).groups()
    return int(number) * {"m": 1, "h": 60}[unit]


def own_metrics():
    """Every metric that a source file names, also those that appear when there is something to count."""
    found = set()
    for folder in ("common", "controller", "extender", "policy"):
        for path in (TOP / folder).rglob("*.[ch]"):
            found |= set(re.findall(r'"((?:plimsoll|process)_\w+)"', path.read_text("utf-8")))
    assert len(found) > 50, found
    return found


def test_alerts_are_complete():
    found = [rule for group in rules()["groups"] for rule in group["rules"]]
    names = [rule["alert"] for rule in found]
    assert len(names) == len(set(names))
    for rule in found:
        assert rule["labels"].keys() == {"severity"} and rule["labels"]["severity"] in SEVERITIES
        assert minutes(rule["for"]) >= 2, rule["alert"]
        notes = rule["annotations"]
        assert notes.keys() == {"summary", "description", "runbook_url"}, rule["alert"]
        assert notes["runbook_url"] == f"{REPOSITORY}/blob/main/{RUNBOOKS}#{rule['alert'].lower()}"
    sections = re.findall(r"^### (Plimsoll\w+)$", (TOP / RUNBOOKS).read_text("utf-8"), re.M)
    assert sorted(sections) == sorted(names)
    assert {name.lower() for name in names} <= set(anchors(RUNBOOKS))


def test_every_metric_is_one_that_the_programs_have():
    known = own_metrics()
    asked = {
        (where, re.sub(r"_(bucket|sum|count)$", "", name))
        for where, text in texts()
        for name in re.findall(r"\b(?:plimsoll|process)_\w+", text)
    }
    assert len(asked) > 40
    assert not {row for row in asked if row[1] not in known}


def told_minutes(rule):
    """For how long its summary says that it has been so; 0 if it does not."""
    match = re.search(r"for (\d+) ([mh])", rule["annotations"]["summary"])
    return minutes(match[1] + match[2]) if match else 0


def firing(alert, at_minutes, count):
    return {
        "expr": f'count(ALERTS{{alertname="{alert}", alertstate="firing"}}) or vector(0)',
        "eval_time": f"{at_minutes}m",
        "exp_samples": [{"labels": "{}", "value": count}],
    }


def promtool(folder, content, tests):
    (folder / "rules.yml").write_text(yaml.safe_dump(content), encoding="utf-8")
    content = {"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": tests}
    (folder / "tests.yml").write_text(yaml.safe_dump(content), encoding="utf-8")
    for argv in (["check", "rules", "rules.yml"], ["test", "rules", "tests.yml"]):
        complete("promtool", *argv, cwd=folder)


def test_alerts_fire_when_they_should(tmp_path):
    """Each with its series, after its `for` and not before, and no earlier than it tells of; and not with
    those of a healthy cluster."""
    every = [rule for group in rules()["groups"] for rule in group["rules"]]
    waits = {rule["alert"]: max(minutes(rule["for"]), told_minutes(rule)) for rule in every}
    assert {alert for alert, _ in CASES} == waits.keys()
    assert CASES.keys() >= {(alert, what) for alert in waits for what in ("fires", "does not fire")}
    tests = [
        {
            "name": f"{alert} {what}",
            "interval": "1m",
            "input_series": series,
            "promql_expr_test": [
                firing(alert, waits[alert] - 1, 0),
                # A rate needs two samples, and what comes and goes some minutes.
                firing(alert, waits[alert] + 12, int(what.startswith("fires"))),
            ],
        }
        for (alert, what), series in CASES.items()
    ]
    promtool(tmp_path, rules(), tests)


def test_without_an_extender_no_alert_fires(tmp_path):
    """Its overlay removes the group of the extender's alerts, and no other one fires."""
    path = TOP / "deploy/monitoring-without-extender/kustomization.yaml"
    (patch,) = yaml.safe_load(path.read_text("utf-8"))["patches"]
    expected, removed = yaml.safe_load(patch["patch"])
    assert expected["path"] == removed["path"] + "/name" == "/spec/groups/1/name"
    groups = rules()["groups"]
    assert groups[1]["name"] == expected["value"]

    def test(count):
        any_fires = 'count(ALERTS{alertstate="firing"}) or vector(0)'
        look = {
            "expr": any_fires,
            "eval_time": "6h",
            "exp_samples": [{"labels": "{}", "value": count}],
        }
        return {
            "interval": "1m",
            "input_series": CASES["PlimsollExtenderAbsent", "fires"],
            "promql_expr_test": [look],
        }

    promtool(tmp_path, {"groups": groups}, [test(1)])
    promtool(tmp_path, {"groups": groups[:1] + groups[2:]}, [test(0)])


@pytest.mark.parametrize("name", DASHBOARDS)
def test_dashboards_are_whole(name):
    board = dashboard(name)
    assert board["schemaVersion"] >= 39 and board["id"] is None
    assert board["uid"] == f"plimsoll-{name}"
    variables = {variable["name"]: variable for variable in board["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    own = {"type": "prometheus", "uid": "${datasource}"}
    asking = [*variables.values(), *board["panels"]]
    asking = [thing for thing in asking if thing["type"] not in ("row", "datasource")] + [
        target for panel in board["panels"] for target in panel.get("targets", ())
    ]
    assert all(thing["datasource"] == own for thing in asking)
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    used = {word for query in queries(board) for word in re.findall(r"\$(\w+)", query)}
    assert used - {"__rate_interval"} == variables.keys() - {"datasource"}
    taken = {}
    for panel in board["panels"]:
        at = panel["gridPos"]
        assert panel["title"] and at["x"] + at["w"] <= 24
        assert panel["type"] == "row" or panel["description"], panel["title"]
        for x in range(at["x"], at["x"] + at["w"]):
            for y in range(at["y"], at["y"] + at["h"]):
                assert taken.setdefault((x, y), panel["title"]) == panel["title"], "they overlap"


def test_config_map_holds_the_dashboards():
    """kustomize takes them from the files; Grafana's sidecar finds them by the label."""
    path = TOP / "deploy" / "monitoring" / "kustomization.yaml"
    (made,) = yaml.safe_load(path.read_text("utf-8"))["configMapGenerator"]
    assert sorted(made["files"]) == sorted(f"{name}.json" for name in DASHBOARDS)
    assert made["options"]["labels"]["grafana_dashboard"] == "1"
    for name in DASHBOARDS:
        text = (path.parent / f"{name}.json").read_text("utf-8")
        assert text == json.dumps(json.loads(text), indent=1) + "\n", f"{name}: not indented by one"
