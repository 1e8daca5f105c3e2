"""House rules that a compiler does not know: who may include whom, functions we do not use, and that every C
source is built.

Prints one line per breach, `file:line: what`, and fails if there is any.
"""

import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]


# A row of ARCHITECTURE.md: the folder of a library, its contents, and the libraries that it may use.
ROW = re.compile(r"^\| `([\w/]+)/` \| (.+) \| (.+) \|$", re.MULTILINE)
IS_PURE = re.compile("; (pure|no I/O)$")
NOT_IN_PURE = {"common/metrics", "common/net", "common/kube", "common/daemon"}
# These return errors and leave the telling to their callers; so do pure libraries.
NEVER_LOG = {"common/base", "common/codec", "policy/pods"}

# library header -> the libraries that may see it
LIBRARY_USERS = {
    "curl/curl.h": {"common/net"},
    "microhttpd.h": {"common/net"},
    "yaml.h": {"common/codec"},
}

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


class Libraries:
    """By their folders: which others each may include, and which are pure."""

    def __init__(self, text):
        rows = ROW.findall(text)
        self.pure = {folder for folder, contents, _ in rows if IS_PURE.search(contents)}
        self.below = {folder: set() for folder, _, _ in rows}
        for folder, _, words in rows:
            for word in words.partition(";")[0].split(", "):
                self.below[folder] |= set(self._named(word.strip("`"), folder))
        for lower in [*self.below.values()] * 2:  # what a library uses may use others
            lower |= {lowest for library in lower for lowest in self.below[library]}

    def _named(self, word, folder):
        room = {"common": "common/", "all of its own": f"{folder}/"}.get(word)
        for name in self.below:
            if name.startswith(room) if room else f"/{name}".endswith(f"/{word}"):
                yield name

    def folder_of(self, included):
        """Of a header as an #include names it; None: it is not ours."""
        folder = pathlib.PurePosixPath(included).parent.as_posix()
        return next((name for name in (folder, f"common/{folder}") if name in self.below), None)

    def breach(self, library, included):
        """What is wrong with an #include, or None."""
        used = self.folder_of(included)
        if used and used != library:
            if used not in self.below[library]:
                return f"{library} may not use {used} ({included}), by ARCHITECTURE.md"
            if library in self.pure and used in NOT_IN_PURE:
                return f"{library} is pure, and {used} is not ({included})"
        users = LIBRARY_USERS.get(included)
        if users is not None and library not in users:
            return f"only {', '.join(sorted(users))} may include {included}"
        return None


def without_comments(text):
    """Blank out comments and string literals, keeping line numbers."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))

    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


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
    name = re.sub("^(test|fuzz)_", "", path.stem)
    if not re.search(rf"\b{name}\b", build.read_text(encoding="utf-8")):
        yield 1, f"{build.relative_to(TOP)} does not name it"


def check_file(path, libraries):
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
        library = path.parent.as_posix()
        if library not in libraries.below:
            yield number, f"{library} is not known: give it a row in ARCHITECTURE.md"
            break
        include = INCLUDE.match(raw_line)
        if include and (breach := libraries.breach(library, include.group(1))):
            yield number, breach
        for pattern, instead in BANNED.items():
            if "base/mem.h" in instead and str(path) in MAY_ALLOCATE:
                continue
            if re.search(pattern, line):
                yield number, f"{line.strip()}: {instead}"
        if re.search(r"\bexit\(", line) and path.name != "main.c":
            yield number, "exit() belongs in main.c"
        if library in NEVER_LOG | libraries.pure and path.stem != "log" and LOG_CALL.search(line):
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
    libraries = Libraries((TOP / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    for library, lower in libraries.below.items():
        if library in lower:
            print(f"ARCHITECTURE.md: {library} may use itself by a circle")
            breaches += 1
    for path in paths:
        for number, what in check_file(path, libraries):
            print(f"{path}:{number}: {what}")
            breaches += 1
    print(f"{len(paths)} files read, {breaches} breaches")
    return 1 if breaches or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
