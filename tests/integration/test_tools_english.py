"""tests/tools/english.py sees a word where it stands for a reader, and can tell hard sentences from easy ones."""

import sys

import pytest

from pages import TOP

sys.path[:0] = [str(TOP / "tests" / "tools")]
import english  # noqa: E402


@pytest.mark.parametrize(
    "name, text, is_found",
    [
        ("docs/a.md", "It ends without\na word.\n", True),
        ("docs/a.md", "| cell | without a word |\n", True),
        ("docs/a.md", "```\nwithout a word\n```\n`without a word`\n", False),
        ("cli/a.c", '.help = "End without "\n        "a word"', True),
        ("cli/a.c", "/* It ends without\n * a word. */", True),
        ("cli/a.c", "int without_a_word;", False),
        ("tests/a.c", "/* without a word */", True),
        ("tests/a.c", 'assert_string_equal(text, "without a word");', False),
        ("tests/a.py", '"""It ends without\n    a word."""', True),
        ("tests/a.py", "# without a word", True),
        ("tests/a.py", "said = 'without a word'", False),
        ("docs/a.md", "Above 65 % no pod comes.\n", True),
        ("docs/a.md", "Above 65% no pod comes.\n", False),
        ("deploy/a.yaml", "a: b # without\n# a word\n", True),
        ("deploy/a.yaml", "a: without a word\n", False),
    ],
)
def test_where_a_word_is_found(name, text, is_found, monkeypatch, capsys):
    page = "Put the pod on a node that has room. " * english.MIN_WORDS
    files = {"README.md": page, name: text}

    def tracked(*patterns):
        ends = {pattern[pattern.rindex(".") :].replace("[ch]", "c") for pattern in patterns}
        return {path: text for path, text in files.items() if path[path.rindex(".") :] in ends}

    monkeypatch.setattr(english, "tracked", tracked)
    assert english.main() == is_found
    assert (f"{name}: " in capsys.readouterr().out) == is_found
