"""What tests/tools/mutate.py makes of a source, and that each of its mutants runs when it is told to."""

import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import mutants  # the folder of tools has to be in the path first
import mutate

SOURCE = """\
#include <assert.h>
#include <stdio.h> /* 1 < 2 */

enum { MOST = 7 };

static int clamp(const char *text, int value) {
        char room[8] = "a < 1";

        assert(value < 100);
        if (value > MOST && text)
                return MOST;
        value = value * 2 - (int)sizeof(room);
        return value < -1 ? -1 : value;
}

int main(void) {
        printf("%d %d", clamp("", 5), clamp("", 20));
        return 0;
}
"""


def test_all_at_once(tmp_path):
    chosen = dict(enumerate(mutate.inside_functions(SOURCE, mutate.mutants(SOURCE)), 1))
    assert len(chosen) == 21, "all but the two outside"
    (tmp_path / "all.c").write_text(mutate.schemata(SOURCE, chosen), encoding="ascii")
    subprocess.run(["gcc", "-w", "-fPIC", "-o", "all", "all.c"], cwd=tmp_path, check=True)

    def said(number):
        env = os.environ | {"MUTANT": str(number)}
        return subprocess.run(
            [tmp_path / "all"], env=env, stdout=subprocess.PIPE, text=True, check=False
        ).stdout

    numbers = {mutant.what: i for i, mutant in chosen.items()}
    assert said(0) == "2 7"
    assert said(numbers["clamp() returns (int){0}"]) == "0 0"
    assert said(numbers["without return MOST;"]) == "2 32"
    assert said(numbers["- becomes +"]) == "18 7"
    assert said(numbers["main() returns (int){0}"]) == ""


@pytest.mark.parametrize(
    "program, outcome",
    [
        ("exit 0", "survived"),
        ("exit 1", "noticed"),
        ("kill -SEGV $$", "noticed"),
        ("while :; do :; done", "timed out"),  # by its processor time
        ("sleep 60", "timed out"),
    ],
)
def test_what_becomes_of_a_mutant(tmp_path, program, outcome):
    path = tmp_path / "test"
    path.write_text(f"#!/bin/bash\n{program}\n", encoding="ascii")
    path.chmod(0o700)
    test = mutants.Test(path, took_s=0.1, limit_s=2.0 if "sleep" in program else 60)
    assert test.run(tmp_path) == outcome
