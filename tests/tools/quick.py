"""What a change is about: the unit tests that it relinks, and the integration file that is nearest to it."""

import json
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


def relinked(top, directory, changed):
    """The unit tests whose programs ninja has linked since the first of these files was changed."""
    since_unix = min([(top / p).stat().st_ctime for p in changed if (top / p).exists()], default=0)
    argv = ["meson", "introspect", "--tests", str(directory)]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    programs = {row["name"]: pathlib.Path(row["cmd"][0]) for row in json.loads(said)}
    return sorted(name for name, path in programs.items() if path.stat().st_mtime >= since_unix)


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
