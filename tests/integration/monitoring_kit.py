"""What deploy/monitoring asks of Prometheus."""

import json

import yaml
from pages import TOP

FOLDER = TOP / "deploy" / "monitoring"
DASHBOARDS = ("load", "programs")


def rules():
    """The content of a Prometheus rule file."""
    return yaml.safe_load((FOLDER / "rules.yaml").read_text("utf-8"))["spec"]


def dashboard(name):
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def queries(board):
    """Every PromQL expression of a dashboard, with its variables."""
    return [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]


def texts():
    """(where, text) of all that names metrics."""
    for group in rules()["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]
    for name in DASHBOARDS:
        board = dashboard(name)
        for query in queries(board):
            yield name, query
        for variable in board["templating"]["list"]:
            yield name, str(variable["query"])
