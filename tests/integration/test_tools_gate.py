"""What the gate counts: which failure has a second try; and what is in the parts of `make nightly`."""

import pathlib
import re
import sys

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[1] / "tools"
sys.path.insert(0, str(TOOLS))
import gate  # the folder of tools has to be in the path first
import ledger

SLOW = "AssertionError: waited 30 s for the node's taint; last seen: None"


def outcome(tmp_path, **said):
    """What a pytest run leaves whose tests failed with these words; None: it passed."""
    cases = [
        f'<testcase classname="integration.test_x" name="{name}" time="1">'
        + ("" if words is None else f'<failure message="{words}">the source</failure>')
        + "</testcase>"
        for name, words in said.items()
    ]
    path = tmp_path / "results.xml"
    path.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>", "utf-8")
    return ledger.read_junit(path)


@pytest.fixture(name="book")
def book_fixture(tmp_path):
    return ledger.Ledger(tmp_path)


def test_one_failure_has_a_second_try(tmp_path, book):
    outcomes = [outcome(tmp_path, good=None), outcome(tmp_path, slow=SLOW)]
    assert book.second_try(outcomes) == ("test_x.slow", SLOW)
    assert not book.failures, "the second try counts"


def test_the_second_of_a_run_has_none(tmp_path, book):
    """Two tests that need another try make the run red, in whichever groups they are."""
    assert book.second_try([outcome(tmp_path, slow=SLOW)])
    assert book.second_try([outcome(tmp_path, late=SLOW)]) is None
    assert book.failures == [("test_x.late", SLOW)]


@pytest.mark.parametrize(
    "words",
    [
        "AssertionError: controller: ==7==ERROR: AddressSanitizer: heap-use-after-free on ..",
        "RuntimeError: extender ended with 134 before 'listening':&#10;the log",
        "failed on teardown with AssertionError: controller: status -6 after SIGTERM",
        "subprocess.CalledProcessError: Command 'x' died with &lt;Signals.SIGSEGV: 11&gt;.",
        # In the words of the second of several programs.
        "AssertionError: a: status 1 after SIGTERM&#10;b ended with 1:",
    ],
)
def test_a_program_that_died_has_none(tmp_path, book, words):
    assert book.second_try([outcome(tmp_path, gone=words)]) is None
    assert len(book.failures) == 1


def test_death_is_seen_in_either_part_of_a_test(tmp_path, book):
    """pytest writes a failure and the error of the test's end as two, with one name."""
    died = outcome(tmp_path, slow="AssertionError: controller ended with -6:")
    assert book.second_try([outcome(tmp_path, slow=SLOW), died]) is None


def test_parts_are_those_of_the_page():
    page = (gate.TOP / "tests/README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| ((?:`[\w-]+`(?:, )?)+) \| .* \| (\d+) \|$", page, re.MULTILINE)
    assert [int(number) for number, _, _ in rows] == list(range(1, len(gate.PARTS) + 1))
    assert [tuple(re.findall(r"[\w-]+", names)) for _, names, _ in rows] == list(gate.PARTS)
    assert all(int(minutes) <= 80 for _, _, minutes in rows)
    help_text = (gate.TOP / "Makefile").read_text(encoding="utf-8")
    assert f"one of {len(gate.PARTS)} parts" in help_text


def test_the_night_leaves_no_group_out():
    """A group that is in two parts, or in none, is `quick`."""
    named = sorted(name for part in gate.PARTS for name in part)
    assert named == sorted(set(gate.GROUPS) - {"quick"})


def test_the_night_leaves_no_file_out():
    night = {path.stem for path in gate.integration_files(is_nightly=True)}
    day = {path.stem for path in gate.integration_files(is_nightly=False)}
    every = {path.stem for path in gate.test_files("integration")}
    assert night.isdisjoint(gate.LONG_FILES) and night | set(gate.LONG_FILES) == every
    assert day == every
    older = {gate.OLDER_FILE, *(stem for stem, _ in gate.SINCE)}
    assert older <= {path.stem for path in gate.test_files("e2e")}
