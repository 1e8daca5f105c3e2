#!/usr/bin/python3
"""Words that we decided against, in pages, in the string literals of the programs (help, logs, errors) and in the
comments of programs, tests and manifests; and how easy each page is to read.

Prints the use of each such word and the pages that are hardest to read, and fails if there is any such word.
"""

import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
# What stands in a text, by a regular expression: what to write instead.
WORDS = {
    r"without a word": "without notice",
    r"in vain": "without success",
    r"many an? \w+": "many ...s",
    r"comes? new": "is added",
    r"for ever": "forever, permanently",
    r"mend(s|ed|ing)?": "fix",
    r"lately": "recently",
    r"load lines?": "load, limit",
    r"who(so)?ever": "the client that, anybody who",
    r"(is|are) believed to": "is estimated to",
    r"holes?": "vulnerability, gap",
    r"the night": "every night",
    r"counts? as none": "is ignored",
    r"upon": "on, after",
    r"shall": "must, should",
    r"meanwhile": "until then, in the meantime",
    r"but for": "except for",
    r"as ever": "as before",
    r"once more": "again",
    r"by then": "before that",
    r"anew": "again",
    r"jam(s|med)?": "pending pods",
    r"besides?": "next to, in addition to, except for",
    r"goe?s? by": "follows, uses",
    r"h[eo]lds? for": "applies to",
    r"\d+ %": "N%",
    r", too(?=[.;,)])": "also, as well",
}
MIN_WORDS = 100  # of a page that is rated
HARDEST = 5


def prose(page):
    """A page without code, tables, headings and the targets of links; a paragraph or an item is one line."""
    text = re.sub(r"^ *```.*?^ *```$|<!--.*?-->|^#.*?$|^ *\|.*?$", "", page, flags=re.M | re.S)
    text = re.sub(r"\]\([^)]*\)|[*_]", "", re.sub(r"`[^`]+`", "code", text))
    return re.sub(r"\n(?!\n| *([-+]|\d+\.) )\s*", " ", text)


def without_tables_of_runs(page):
    """Without what `make placement` writes; its words are those of tests/placement."""
    return re.sub(r"<!-- placement: [\w-]+ -->.*?<!-- end -->", "", page, flags=re.S)


def cells(page):
    return re.sub(r"`[^`]+`", "code", "\n".join(re.findall(r"^ *\|.*$", page, re.M)))


def ease(text):
    """Flesch's reading ease: 60 is plain English, 30 is for graduates."""
    words = re.findall(r"[A-Za-z]+", text)
    sentences = len(re.findall(r"[A-Za-z)\"][.!?](?=\s)|[^.!?\s]\n", f"{text}\n"))
    syllables = sum(
        max(1, len(re.findall(r"[aeiouy]+", re.sub(r"(?<!l)e$", "", word.lower()))))
        for word in words
    )
    return 206.835 - 1.015 * len(words) / sentences - 84.6 * syllables / len(words)


def tracked(*patterns):
    argv = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    said = subprocess.run(argv, cwd=TOP, capture_output=True, text=True, check=True).stdout
    return {
        name: (TOP / name).read_text("utf-8")
        for name in said.splitlines()
        if (TOP / name).is_file() and not (TOP / name).is_symlink()
    }


def texts():
    """(file, text) of all that is checked."""
    for name, page in tracked("*.md").items():
        written = without_tables_of_runs(page)
        yield name, f"{prose(written)}\n{cells(written)}"
    for name, source in tracked("*.[ch]").items():
        joined = re.sub(r'"\s+"', "", source)
        literals = re.findall(r'"((?:[^"\\\n]|\\.)*)"', joined)
        comments = re.findall(r"/\*(.*?)\*/", source, re.S)
        shown = [] if name.startswith("tests/") else literals
        yield name, "\n".join([*shown, *(re.sub(r"\s*\n[\s*]*", " ", text) for text in comments)])
    for name, source in tracked("*.py").items():
        if name != "tests/tools/english.py":
            docstrings = re.findall(r'"""(.*?)"""', source, re.S)
            comments = re.findall(r"(?:^|\s)# (.*)", source)
            yield name, "\n".join([*(" ".join(text.split()) for text in docstrings), *comments])
    for name, manifest in tracked(
        "deploy/*.yaml", "policy/*.yaml", "tests/placement/*.yaml"
    ).items():
        yield name, " ".join(re.findall(r"(?:^|\s)# ?(.*)", manifest))


def main():
    breaches = 0
    for name, text in texts():
        for pattern, instead in WORDS.items():
            for match in re.finditer(rf"\b(?:{pattern})(?!\w)", text, re.I):
                around = text[max(0, match.start() - 30) : match.end() + 30].strip()
                print(f"{name}: {' '.join(around.split())!r}: write {instead!r}")
                breaches += 1
    pages = {name: prose(page) for name, page in tracked("*.md").items()}
    rated = sorted(
        (ease(text), name) for name, text in pages.items() if len(text.split()) > MIN_WORDS
    )
    mean = sum(score for score, _ in rated) / len(rated)
    hardest = ", ".join(f"{name} {score:.0f}" for score, name in rated[:HARDEST])
    print(f"reading ease of {len(rated)} pages: {mean:.0f} on average; hardest: {hardest}")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
