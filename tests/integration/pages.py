"""The fenced blocks of our pages, as they stand there, for the tests that run them.

A block has a name when a line above it gives one: `run` for commands, `check` for what is validated.

    <!-- run: NAME -->

    ```
    commands
    ```

test_docs_pages.py checks that every block of every page has a test, and that links resolve.
"""

import pathlib
import re
import textwrap
from typing import NamedTuple

import yaml

from programs import complete, find_program

TOP = pathlib.Path(__file__).resolve().parents[2]
REFERENCE = "docs/policy.md"
METRICS = "docs/policy-metrics.md"
BLOCK = re.compile(
    r"(?:^ *<!-- (?P<mark>\w+): (?P<name>[\w -]+) -->\n+)?"
    r"^(?P<indent> *)```(?P<kind>\w*)\n(?P<text>.*?)^(?P=indent)```$",
    re.M | re.S,
)


class Block(NamedTuple):
    """`mark` and `name` are None where nothing names it; `kind` is what stands behind the fence."""

    page: str
    line: int
    mark: str
    name: str
    kind: str
    text: str


def pages():
    """Every page of the tree, by its path from the top."""
    found = (path.relative_to(TOP) for path in TOP.rglob("*.md"))
    # Nothing of a build, a virtual environment or git.
    own = (path for path in found if not re.match(r"\.|build", path.parts[0]))
    return sorted(str(path) for path in own)


def blocks(page):
    """Every fenced block of a page."""
    text = (TOP / page).read_text("utf-8")
    found = [
        Block(
            page,
            text.count("\n", 0, match.start("indent")) + 1,
            match["mark"],
            match["name"],
            match["kind"],
            textwrap.dedent(match["text"]),
        )
        for match in BLOCK.finditer(text)
    ]
    assert 2 * len(found) == len(re.findall(r"^ *```", text, re.M)), f"{page}: a fence that we miss"
    return found


def block(page, name):
    """The text of the one block of a page that is called `name`."""
    (found,) = (block.text for block in blocks(page) if block.name == name)
    return found


def shown_policies():
    """The recommended policy, and the same with each of the specs that the reference shows; specs
    without a syncPolicy get that of the recommended one, since the CRD demands it."""
    policy = yaml.safe_load(block(REFERENCE, "recommended"))
    specs = (
        block(REFERENCE, "predicate"),
        block(REFERENCE, "over-limit"),
        block(REFERENCE, "priority"),
        block(REFERENCE, "target"),
        block(REFERENCE, "pools"),
        block(REFERENCE, "rules"),
        block(REFERENCE, "hot-value"),
        block(METRICS, "own-metrics"),
        block(METRICS, "own-counter"),
    )
    syncs = {"syncPolicy": policy["spec"]["syncPolicy"]}
    shown = (yaml.safe_load(spec)["spec"] for spec in specs)
    return [policy, *({**policy, "spec": syncs | spec} for spec in shown)]


def anchors(page):
    """What a link to a heading of the page may end in, as GitHub makes it."""
    text = BLOCK.sub("", (TOP / page).read_text("utf-8"))
    found = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.M):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        found.add(re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-"))
    return found


def links(page):
    """(line, target) of every relative link of a page."""
    # A regular expression in code can look like a link.
    text = re.sub(r"`[^`\n]+`", "", (TOP / page).read_text("utf-8"))
    return [
        (text.count("\n", 0, match.start()) + 1, match[1])
        for match in re.finditer(r"\]\(([^)\s]+)\)", text)
        if not re.match(r"[a-z]+:", match[1])
    ]


def run_commands(commands, flags="", **more):
    """What a page's commands print; kubectl plimsoll has these flags as well."""
    plugin = find_program("kubectl-plimsoll")
    script = f'kubectl() {{ shift; {plugin} "$@" {flags}; }}\n{commands}'
    env = {"KUBECONFIG": "", "HOME": "/proc/none", **more.pop("env", {})}
    argv = ("-euo", "pipefail", "-c", script)
    return complete("/bin/bash", *argv, env=env, **more).stdout
