"""Names that users lean on stay: flags, metrics and their labels, annotations, fields of the policy, members of JSON
documents. What the last release had and this tree has not is named in CHANGELOG.md."""

import pathlib
import re
import sys

import pytest

from programs import find_program

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "tools"))
import promised_names  # noqa: E402  # the folder of tools has to be in the path first


def unreleased_changes():
    """The first section of CHANGELOG.md."""
    return (TOP / "CHANGELOG.md").read_text("utf-8").split("\n## ")[1]


def gone_untold(before, now, changes):
    """Names that are gone, and that nobody who reads the changes would know of."""
    told = set(re.findall(r"[\w./\[\]-]+", " ".join(re.findall(r"`([^`]+)`", changes))))
    return [name for name in before if name not in set(now) and name.split()[-1] not in told]


@pytest.fixture(scope="module", name="today")
def today_fixture():
    build = pathlib.Path(find_program("plimsoll-controller", "release")).parents[1]
    return promised_names.names(build)


def test_names_stay(today):
    gone = gone_untold(promised_names.recorded(), today, unreleased_changes())
    assert not gone, "docs/deprecation.md; name them in CHANGELOG.md:\n" + "\n".join(gone)


def test_names_are_found(today):
    """Some of each kind, by the way in which it is found."""
    assert {
        "flag plimsoll-controller --metrics-source",
        "flag plimsoll-extender explain --output",
        "flag kubectl-plimsoll top --watch",
        "metric plimsoll_extender_requests_total",
        "label plimsoll_api_requests_total code",
        "annotation node_hot_value",
        "annotation resource psi_io",
        "annotation statistic p95",
        "taint load.plimsoll.io/",
        "field spec.syncPolicy[].period",
        "json explain -o json lastBy",
        "json simulate -o json rankAfter",
        "json top -o json aboveLimit",
        "json workloads -o json learnedCores",
        "json /decisions bestNodes",
        "json /estimate podsLoad",
        "json /status.json historyStepSeconds",
    } <= set(today)


@pytest.mark.parametrize(
    "now, changes, gone",
    [
        (["flag x --a", "json y z"], "", []),
        (["flag x --a", "json y z", "json y new"], "", []),
        (["json y z"], "", ["flag x --a"]),
        (["json y z"], "`--a` is gone", []),
        (["json y z"], "`--a=FILE` is gone", []),
        (["json y z"], "--a is gone, `--ab` too", ["flag x --a"]),
        (["flag x --a", "json other z"], "", ["json y z"]),
    ],
)
def test_a_name_that_is_gone_has_to_be_told(now, changes, gone):
    assert gone_untold(["flag x --a", "json y z"], now, changes) == gone


def test_keys_of_a_packed_object():
    """As json_pack() reads its arguments; a value that is a string is no key."""
    call = '"policy", "from", text(1, "x"), "pods", 1, "items", "a", "b", "last, ", o);'
    given = [text.strip() for text in promised_names.arguments(call)]
    keys = list(promised_names.packed_keys("{s:{s:s, s:i}, s:[ss], s:o*}", given))
    assert keys == ['"policy"', '"from"', '"pods"', '"items"', '"last, "']
