"""The man pages are well-formed, and have every flag and verb of --help."""

import json
import os
import pathlib
import re

import pytest

from programs import complete

PAGES = {
    "plimsoll-controller": ("plimsoll-controller.8", [[]]),
    "plimsoll-extender": ("plimsoll-extender.8", [[]]),
    "kubectl-plimsoll": ("kubectl-plimsoll.1", []),
}


@pytest.mark.parametrize("program", PAGES)
def test_man_page(binary, program):
    name, helps = PAGES[program]
    path = pathlib.Path(binary(program)).parents[1] / name
    said = complete("mandoc", "-Tlint", "-Wwarning", path)
    assert said.stdout + said.stderr == ""

    # One column of text, without the overstriking of bold letters.
    text = re.sub(r".\x08", "", complete("mandoc", "-Tascii", "-Owidth=1000", path).stdout)
    chapters = re.findall(r"^[A-Z].*$", text, re.M)
    wanted = ["NAME", "SYNOPSIS", "DESCRIPTION", "ENVIRONMENT", "FILES", "EXIT STATUS", "SEE ALSO"]
    assert [chapter for chapter in chapters if chapter in wanted] == wanted
    if program == "kubectl-plimsoll":
        verbs = re.findall(r"^  (\w+)  ", complete(program, "--help").stdout, re.M)
        assert "top" in verbs
        helps = [[verb] for verb in verbs]
    for verb in helps:
        said = complete(program, *verb, "--help").stdout
        flags = re.findall(r"^  (-.*?)(?:  .*)?$", said, re.M)
        assert len(flags) > 1
        for flag in flags:
            assert re.search(rf"^ {{7}}{re.escape(flag)}(?:\n| )", text, re.M), flag
        words = " ".join(text.split())
        for what in re.findall(r"^ {6}(\S.*)$", said, re.M):
            assert what in words, what


def test_they_are_installed():
    said = complete("meson", "introspect", "--installed", os.environ["PLIMSOLL_BUILD_DIR"]).stdout
    places = {pathlib.Path(path).parts[-3:] for path in json.loads(said).values()}
    assert {("man", f"man{page[-1]}", page) for page, _ in PAGES.values()} <= places
