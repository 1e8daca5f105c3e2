"""What a change is about: the unit tests and the integration file that are nearest to it."""

import pathlib
import re
import subprocess

# A library -> the integration file that sees most of it, where no name says more.
NEAREST = {
    "base": "test_policy_files",
    "codec": "test_policy_files",
    "net": "test_extender_protocol",
    "kube": "test_controller_api_faults",
    "policy": "test_policy_files",
    "program": "test_policy_object",
    "controller": "test_controller_annotations",
    "extender": "test_extender_protocol",
}
# A folder -> the suites of its unit tests, where that is not the folder's own name.
SUITES = {"controller": ["windows", "controller"]}


def changed_files(top):
    """Files that differ from the last commit, new ones included; if none do, those of that commit."""

    def git(*argv):
        said = subprocess.run(["git", *argv], cwd=top, capture_output=True, text=True, check=True)
        return said.stdout.split()

    found = git("diff", "--name-only", "HEAD") + git("ls-files", "-o", "--exclude-standard")
    return [pathlib.Path(path) for path in found or git("diff", "--name-only", "HEAD~1", "HEAD")]


def library_of(path):
    parts = path.parts
    return parts[1] if parts[0] == "common" and len(parts) > 2 else parts[0]


def suites(changed):
    """The suites of unit tests that a change concerns."""
    found = []
    for path in changed:
        library = library_of(path)
        if path.parts[:2] == ("tests", "unit"):
            # The test of a module belongs to a suite of its own name, too.
            library = "unit"
        if library in NEAREST or library == "unit":
            found += SUITES.get(library, [library])
    return sorted(set(found))


def nearest_integration_file(changed, files):
    """The changed test file itself, else the one whose name shares most with what changed."""
    by_name = {path.stem: path for path in files}
    for path in changed:
        if path.stem in by_name:
            return by_name[path.stem]

    def words(text):
        return set(re.split(r"[^a-z]+", text.lower())) - {"", "test", "c", "h"}

    best = (0, "", None)
    for path in changed:
        library = library_of(path)
        if library not in NEAREST:
            continue
        for name, file in by_name.items():
            shared = len(words(f"{library} {path.stem}") & words(name))
            best = max(best, (2 * shared + (name == NEAREST[library]), name, file))
    return best[2]
