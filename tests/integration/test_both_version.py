"""The version: meson.build has it, and whatever else names one says the same."""

import re

import pytest
import yaml
from pages import TOP
from programs import PROGRAMS, complete

VERSION = re.search(r"^  version: '([\d.]+)'", (TOP / "meson.build").read_text("utf-8"), re.M)[1]
# A tag of an image, in kustomizations and in commands.
TAG = re.compile(
    r"plimsoll-(?:controller|extender)(?:, newTag: |:)(\d+\.[\w.]*)|(?<!GET )/version: (\d[\w.]*)"
)


@pytest.mark.parametrize("program", PROGRAMS)
def test_of_a_program(program):
    assert complete(program, "--version").stdout.split()[-1] == VERSION


def test_of_the_chart():
    chart = yaml.safe_load((TOP / "deploy/chart/Chart.yaml").read_text("utf-8"))
    assert (chart["version"], chart["appVersion"]) == (VERSION, VERSION)


def test_of_images():
    pages = [TOP / "README.md", *(TOP / "docs").glob("*.md"), *(TOP / "deploy").rglob("*")]
    found = {
        (path.name, match[1] or match[2])
        for path in pages
        if path.is_file()
        for match in TAG.finditer(path.read_text("utf-8"))
    }
    assert {name for name, _ in found} >= {"kustomization.yaml", "Dockerfile", "install.md"}
    assert {version for _, version in found} == {VERSION}, found


def test_of_the_changelog():
    newest = re.search(r"^## (\S+)", (TOP / "CHANGELOG.md").read_text("utf-8"), re.M)[1]
    assert newest == VERSION
