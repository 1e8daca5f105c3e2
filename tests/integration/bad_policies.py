"""The policies of tests/data/bad-policies, which are refused with a message each."""

import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "data" / "bad-policies"


def write(directory):
    """Each as a file in that directory: {file: what must be said about it}.

    A row of table.tsv is a file's name and the message; or a name, a text of base.yaml (none: its
    end), what takes its place, and the message. A newline is \\n, a backslash two.
    """
    base = (FOLDER / "base.yaml").read_text("utf-8")
    expected = {}
    for row in (FOLDER / "table.tsv").read_text("utf-8").splitlines():
        name, *change, message = row.split("\t")
        if change:
            name += ".yaml"
            old, new = (text.encode().decode("unicode_escape") for text in change)
            text = (base.replace(old, new) if old else base + new).encode()
        else:
            text = (FOLDER / name).read_bytes()
        (directory / name).write_bytes(text)
        expected[name] = message
    return expected
