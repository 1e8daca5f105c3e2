"""What a change is about: the unit tests and the integration file that are nearest to it."""

import pathlib
import re
import subprocess

import lanes

# A file that takes longer is left to make test.
FILE_MAX_S = 25

# A folder -> the integration file that sees most of it, where no name says more. The longest counts.
NEAREST = {
    "common": "test_both_policy_files",
    "common/net": "test_extender_protocol",
    "common/kube": "test_both_policy_object",
    "policy": "test_both_policy_files",
    "policy/live": "test_both_policy_object",
    "controller": "test_controller_command_line",
    "extender": "test_extender_protocol",
    "cli": "test_kubectl_verbs",
}


def changed_files(top):
    """Files that differ from the last commit, new ones included; if none do, those of that commit."""

    def git(*argv):
        said = subprocess.run(["git", *argv], cwd=top, capture_output=True, text=True, check=True)
        return said.stdout.split()

    found = git("diff", "--name-only", "HEAD") + git("ls-files", "-o", "--exclude-standard")
    return [pathlib.Path(path) for path in found or git("diff", "--name-only", "HEAD~1", "HEAD")]


def nearest_of(path):
    """The file that NEAREST has for a path's folder; None: it is no program's."""
    found = [folder for folder in NEAREST if path.is_relative_to(folder)]
    return NEAREST[max(found, key=len)] if found else None


def suites(changed):
    """The suites of unit tests that a change concerns: a folder's is called as the folder."""
    found = set()
    for path in changed:
        if path.is_relative_to(UNIT):
            folder = path.parent.relative_to(UNIT)
            found.add(folder.as_posix() if nearest_of(folder) else "unit")
        elif nearest_of(path):
            found.add(path.parent.as_posix())
    return sorted(found)


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
        nearest = nearest_of(path)
        if not nearest:
            continue
        for name, file in by_name.items():
            if lanes.expected_s(file) > FILE_MAX_S and name != nearest:
                continue
            shared = len(words(str(path)) & words(name))
            best = max(best, (2 * shared + (name == nearest), name, file))
    return best[2]
