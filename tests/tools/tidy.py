"""clang-tidy over every source of ours: tidy.py BUILD, with the compile commands of that build.

A file that was clean is not read again until its text, that of a header, the compile command or the
checks change: stamps in the user's cache, named by a hash of all that, say so.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

from lanes import CACHE

TOP = pathlib.Path(__file__).resolve().parents[2]
STAMPS = CACHE / "tidy"
LIBRARIES = ("common", "policy", "controller", "extender", "cli")
UNUSED_DAYS = 30


def compile_commands(build):
    """{source below the top: (directory, arguments)} of our own sources."""
    found = {}
    for row in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        directory = pathlib.Path(row["directory"])
        path = (directory / row["file"]).resolve()
        if path.is_relative_to(TOP) and path.relative_to(TOP).parts[0] in LIBRARIES:
            found[path.relative_to(TOP)] = (directory, shlex.split(row["command"]))
    return found


def stamp_of(directory, arguments, checks):
    """Where it is noted that this source is clean, by all that clang-tidy would look at."""
    # Without the compiler, ccache in front of it, and what is written.
    written = (".o", ".o.d")
    flags = [part for part in arguments if part.startswith("-") and not part.endswith(written)]
    flags = [part for part in flags if part not in ("-o", "-c", "-MD", "-MQ", "-MF")]
    # What names the folder of this build changes nothing that clang-tidy sees.
    flags = [part for part in flags if "-prefix-map=" not in part]
    source = next(part for part in arguments if part.endswith(".c"))
    # -CC: comments count, since NOLINT is one.
    argv = ["clang", "-E", "-CC", *flags, source]
    text = subprocess.run(argv, cwd=directory, capture_output=True, check=True).stdout
    digest = hashlib.sha256()
    for part in (checks, " ".join(flags).encode(), text):
        digest.update(part + b"\0")
    return STAMPS / digest.hexdigest()


def examine(program, build, source, directory, arguments, checks):
    """What clang-tidy has to say of one source; None when it was clean and is as it was."""
    stamp = stamp_of(directory, arguments, checks)
    if stamp.exists():
        os.utime(stamp)
        return None
    done = subprocess.run(
        [program, "--quiet", "--warnings-as-errors=*", "-p", str(build), str(source)],
        cwd=TOP, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == 0:
        stamp.touch()
        return ""
    return done.stdout + done.stderr


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    STAMPS.mkdir(parents=True, exist_ok=True)
    for stamp in STAMPS.iterdir():
        if time.time() - stamp.stat().st_mtime > UNUSED_DAYS * 86400:
            stamp.unlink()
    pinned = subprocess.run([TOP / "tests/tools/pinned", "clang-tidy"], stdout=-1, check=True)
    program = pinned.stdout.decode().strip()
    version = subprocess.run([program, "--version"], capture_output=True, check=True).stdout
    checks = version + (TOP / ".clang-tidy").read_bytes()
    commands = compile_commands(build)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(
            pool.map(
                lambda item: examine(program, build, item[0], *item[1], checks), commands.items()
            )
        )
    for text in filter(None, said):
        print(text)
    print(
        f"{len(said)} files, {said.count(None)} of them as they were, {sum(map(bool, said))} with warnings"
    )
    return 1 if any(said) or not said else 0


if __name__ == "__main__":
    sys.exit(main())
