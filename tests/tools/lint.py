"""House rules that a compiler does not know: who may include whom, functions we do not use, and that every C
source is built.

Prints one line per breach, `file:line: what`, and fails if there is any.
"""

import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]

COMMON = ["base", "codec", "metrics", "net", "kube", "daemon", "program"]
SOURCES = [f"controller/source/{name}" for name in ("scrape", "prometheus", "metrics_api")]

# library -> the libraries it may include, in addition to itself. A library stands below those that it uses, so
# there is no circle.
MAY_USE = {
    "base": [],
    "codec": ["base"],
    "metrics": ["base"],
    "net": ["base", "metrics"],
    "kube": ["base", "codec", "metrics", "net"],
    "daemon": ["base", "metrics", "net", "kube"],
    "program": ["base", "kube"],
    "policy": ["base", "codec"],
    "policy/estimate": ["base", "policy"],
    "policy/pods": [*("base", "codec", "metrics", "net", "kube"), "policy/estimate"],
    "policy/judge": ["base", "codec", "policy", "policy/estimate", "policy/pods"],
    "policy/rebalance": ["base", "policy", "policy/estimate", "policy/judge", "policy/pods"],
    "policy/live": [*COMMON, "policy"],
    "controller/window": ["base", "policy"],
    "controller/exposition": ["base", "policy", "controller/window"],
    "controller/node": [
        *("base", "codec", "kube", "policy", "policy/pods", "controller/exposition"),
    ],
    "controller/source": [
        *("base", "codec", "metrics", "kube", "net", "policy", "controller/window"),
        "controller/node",
    ],
    "controller/source/scrape": [
        *COMMON,
        "policy",
        "controller/exposition",
        "controller/node",
        "controller/source",
    ],
    "controller/source/prometheus": [
        *(*COMMON, "policy", "controller/window", "controller/exposition", "controller/node"),
        "controller/source",
    ],
    "controller/source/metrics_api": [*COMMON, "controller/source"],
    "controller/track": [
        "base",
        "policy",
        "policy/estimate",
        "controller/window",
        "controller/node",
        "controller/source",
    ],
    "controller/series": [*COMMON, "policy", "policy/estimate", "controller/track"],
    "controller/print": ["base", "program", "policy", "controller/track"],
    "controller/web": [
        *(*COMMON, "policy", "policy/estimate", "controller/window", "controller/source"),
        "controller/track",
    ],
    "controller/writing": [*COMMON, "policy", "controller/node", "controller/track"],
    "controller": [
        *(
            *COMMON,
            "policy/live",
            "controller/exposition",
            "controller/node",
            "controller/source",
            *SOURCES,
        ),
        *("controller/track", "controller/series", "controller/print"),
        *("controller/web", "controller/writing"),
    ],
    "extender/estimator": ["base", "policy/estimate"],
    "extender/table": [
        *(
            *COMMON,
            "policy",
            "policy/estimate",
            "policy/judge",
            "extender/estimator",
            "policy/pods",
        ),
    ],
    "extender/answer": [
        *("base", "codec", "policy", "policy/estimate", "policy/judge", "extender/estimator"),
        *("policy/pods", "extender/table"),
    ],
    "extender/decisions": [
        *(
            "base",
            "net",
            "daemon",
            "policy",
            "policy/estimate",
            "policy/judge",
            "extender/estimator",
        ),
        *("policy/pods", "extender/table", "extender/answer"),
    ],
    "extender/estimate_page": [
        *("base", "codec", "net", "policy", "policy/estimate", "policy/judge", "policy/pods"),
        *("extender/estimator", "extender/table"),
    ],
    "extender/bind": COMMON,
    "extender": [
        *(*COMMON, "policy", "policy/live", "extender/table", "extender/answer", "extender/bind"),
        *("extender/decisions", "extender/estimate_page"),
    ],
    "cli/cluster": [*COMMON, "policy", "policy/live"],
    "cli/verb": ["base", "codec", "program"],
    "cli/cleanup": ["base", "codec", "kube", "program", "policy", "cli/cluster", "cli/verb"],
    "cli/explanation": [
        *("base", "codec", "program", "policy", "policy/estimate", "policy/judge", "policy/pods"),
        *("extender/estimator", "extender/table"),
    ],
    "cli/nodes": [
        *("base", "codec", "kube", "policy", "policy/pods", "extender/estimate_page"),
        *("extender/table", "cli/explanation", "cli/cluster"),
    ],
    "cli/top": [
        *("base", "codec", "kube", "program", "policy", "policy/estimate", "policy/pods"),
        *("extender/table", "cli/explanation", "cli/cluster", "cli/verb", "cli/nodes"),
    ],
    "cli/explain": [
        *("base", "codec", "kube", "program", "extender/table", "cli/explanation"),
        *("cli/cluster", "cli/verb", "cli/nodes"),
    ],
    "cli/doctor": [
        *("base", "codec", "kube", "program", "policy", "policy/live", "controller/exposition"),
        *("policy/pods", "extender/table", "cli/cluster", "cli/verb"),
    ],
    "cli/simulate": [
        *("base", "program", "extender/table", "cli/explanation"),
        *("cli/cluster", "cli/verb", "cli/nodes"),
    ],
    "cli/rebalance": [
        *("base", "codec", "kube", "program", "policy", "policy/estimate", "policy/judge"),
        *("policy/pods", "policy/rebalance", "extender/estimator", "extender/table"),
        *("cli/cluster", "cli/explanation", "cli/nodes", "cli/verb"),
    ],
    "cli/workloads": [
        *("base", "codec", "program", "policy/estimate", "extender/estimate_page", "cli/cluster"),
        *("cli/verb", "cli/nodes"),
    ],
    "cli": [
        *("base", "program", "cli/cluster", "cli/verb"),
        *("cli/top", "cli/explain", "cli/doctor", "cli/simulate", "cli/rebalance"),
        *("cli/cleanup", "cli/workloads"),
    ],
}

# library header -> the libraries that may see it
LIBRARY_USERS = {
    "curl/curl.h": {"net"},
    "microhttpd.h": {"net"},
    "yaml.h": {"codec"},
}

# Rooms that return errors and leave the telling to their callers.
NEVER_LOG = {"base", "codec", "policy", "controller/window", "controller/exposition", "policy/pods"}

BANNED = {
    r"\b(?:strtol|strtoul|strtoll|strtoull|atoi|atol|atof)\(": "use base/number.h",
    r"\bv?sprintf\(": "use snprintf or base/buf.h",
    r"\b(?:strcpy|strcat|strncpy|strtok)\(": "use base/buf.h or memcpy with a length",
    r"\bsetlocale\(": "the decimal point is '.', always",
    r"\b(?:localtime|gmtime|asctime|ctime)\(": "use base/timestamp.h",
    r"\b(?:malloc|calloc|realloc|strdup|strndup|asprintf)\(": "use base/mem.h",
}
MAY_ALLOCATE = {"common/base/mem.c"}

# In a page's script: whatever comes from the cluster is set as text.
PAGE_BANNED = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\(\"on"
)
PAGE_SUFFIXES = (".html", ".css", ".js")

MARKS = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
INCLUDE = re.compile(r'#include [<"]([^>"]+)[>"]')
LOG_CALL = re.compile(r"\blog_(?:debug|info|warn|error)\(")
# A function that a header declares, at the left margin.
FUNCTION = re.compile(r"^(?![#/ ]|typedef)[A-Za-z_][\w \t*]*?\b([a-z_]\w*)\s*\(", re.MULTILINE)
NO_FUNCTIONS = {"_printf_", "__attribute__", "static_assert"}
# Names that are used everywhere need no prefix.
MAY_BE_SHORT = {"common/base/attributes.h", "common/base/mem.h"}
MAX_LINES = 800


def library_of(path):
    return path.parent.as_posix().removeprefix("common/")


def without_comments(text):
    """Blank out comments and string literals, keeping line numbers."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))

    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def check_include(library, included):
    used = pathlib.PurePosixPath(included).parent.as_posix()
    if used in MAY_USE and used != library and used not in MAY_USE[library]:
        return f"{library} may not use {used} ({included})"
    users = LIBRARY_USERS.get(included)
    if users is not None and library not in users:
        return f"only {', '.join(sorted(users))} may include {included}"
    return None


def check_prefixes(path, text):
    """A header's functions begin with its name, or with the first word of it."""
    first_word = path.stem.split("_")[0]
    for match in FUNCTION.finditer(text):
        name = match.group(1)
        if name in NO_FUNCTIONS or name.startswith((path.stem, f"{first_word}_")):
            continue
        number = text.count("\n", 0, match.start()) + 1
        yield number, f"{name}(): expected a name that begins with {first_word}_"


def check_page_source(path):
    """A source of a page for browsers."""
    lines = (TOP / path).read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines, 1):
        if MARKS.search(line):
            yield number, "a mark for later without an owner"
        if path.suffix == ".js" and PAGE_BANNED.search(line):
            yield number, f"{line.strip()}: use textContent or append()"
        if line != line.rstrip() or "\t" in line:
            yield number, "spaces at the end, or a tab"
    if len(lines) > MAX_LINES:
        yield MAX_LINES, f"{len(lines)} lines: split by idea"


def check_is_built(path):
    """A test that nobody builds is never red; a unit test stands as what it tests does in the tree."""
    if path.is_relative_to("tests/unit") and path.stem.startswith("test_"):
        folder = path.parent.relative_to("tests/unit")
        if not (TOP / folder).is_dir():
            yield 1, f"there is no folder {folder} that it could test"
    build = TOP / path.parent / "meson.build"
    while not build.exists():
        build = build.parent.parent / "meson.build"
    name = re.sub("^(test|fuzz|bench)_", "", path.stem)
    if not re.search(rf"\b{name}\b", build.read_text(encoding="utf-8")):
        yield 1, f"{build.relative_to(TOP)} does not name it"


def check_file(path):
    if path.suffix in PAGE_SUFFIXES:
        if path.parts[0] != "tests":
            yield from check_page_source(path)
        return
    if path.suffix == ".c":
        yield from check_is_built(path)
    raw = (TOP / path).read_text(encoding="utf-8")
    lines = without_comments(raw).split("\n")
    for number, (line, raw_line) in enumerate(zip(lines, raw.split("\n")), 1):
        if MARKS.search(raw_line):
            yield number, "a mark for later without an owner"
        if path.parts[0] == "tests":
            continue
        library = library_of(path)
        if library not in MAY_USE:
            yield number, f"{library} is not known: give it a row in MAY_USE"
            break
        include = INCLUDE.match(raw_line)
        if include and (breach := check_include(library, include.group(1))):
            yield number, breach
        for pattern, instead in BANNED.items():
            if "base/mem.h" in instead and str(path) in MAY_ALLOCATE:
                continue
            if re.search(pattern, line):
                yield number, f"{line.strip()}: {instead}"
        if re.search(r"\bexit\(", line) and path.name != "main.c":
            yield number, "exit() belongs in main.c"
        if library in NEVER_LOG and path.stem != "log" and LOG_CALL.search(line):
            yield number, f"{library} returns errors; its caller logs"
    if path.suffix == ".h" and path.parts[0] != "tests" and str(path) not in MAY_BE_SHORT:
        yield from check_prefixes(path, "\n".join(lines))
    if len(lines) > MAX_LINES:
        yield MAX_LINES, f"{len(lines)} lines: split by idea"


def main():
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.c", "*.h", "*.html", "*.css", "*.js"],
        cwd=TOP,
        check=True,
        capture_output=True,
        text=True,
    )
    paths = [pathlib.Path(p) for p in listed.stdout.split() if (TOP / p).exists()]
    breaches = 0
    libraries = list(MAY_USE)
    for library, used in MAY_USE.items():
        if any(libraries.index(lower) >= libraries.index(library) for lower in used):
            print(f"MAY_USE: {library} uses a library that stands below it")
            breaches += 1
    for path in paths:
        for number, what in check_file(path):
            print(f"{path}:{number}: {what}")
            breaches += 1
    print(f"{len(paths)} files read, {breaches} breaches")
    return 1 if breaches or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
