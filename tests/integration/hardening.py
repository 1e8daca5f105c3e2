"""What a program of ours lacks of what makes an attack on it harder, by readelf."""

import pathlib
import re
import subprocess

PAGE = 4096
ENDBR64 = b"\xf3\x0f\x1e\xfa"
# A program with branch tracking has one at each function whose address is taken or that is not
# static: ours have more than 500. One without has those of the compiler's own few.
ENDBR64_LEAST = 100


def readelf(path, *options):
    done = subprocess.run(
        ["readelf", "--wide", *options, str(path)], capture_output=True, text=True, check=True
    )
    return done.stdout


def segments(path):
    """[(type, offset in the file, bytes in the file, flags)]"""
    found = re.findall(
        r"^ +([A-Z_]+) +(0x\w+) 0x\w+ 0x\w+ (0x\w+) 0x\w+ ([RWE ]{3}) ",
        readelf(path, "--program-headers"),
        re.MULTILINE,
    )
    return [(kind, int(start, 16), int(size, 16), flags) for kind, start, size, flags in found]


def pages(segment):
    _, start, size, _ = segment
    return set(range(start // PAGE, (start + size + PAGE - 1) // PAGE))


def missing(path):
    """Names of what is missing: empty, if nothing is."""
    headers = readelf(path, "--file-header", "--dynamic")
    symbols = set(re.findall(r" UND (\w+)@", readelf(path, "--dyn-syms")))
    parts = segments(path)
    flags = {kind: flags for kind, _, _, flags in parts}
    loads = [part for part in parts if part[0] == "LOAD"]
    code = [part for part in loads if "E" in part[3]]
    apart = not any(pages(a) & pages(b) for a in code for b in loads if a is not b)
    # The linker marks the whole program only if all of it has branch tracking, and the C library's
    # first instructions have none in Debian: so the instructions are counted.
    tracks = pathlib.Path(path).read_bytes().count(ENDBR64) >= ENDBR64_LEAST
    checks = {
        "position-independent": re.search(r"FLAGS_1.*\bPIE\b", headers),
        "relocations read-only": "GNU_RELRO" in flags,
        "bound at the start": re.search(r"\(FLAGS\).*BIND_NOW|FLAGS_1.*\bNOW\b", headers),
        "no stack of code": "E" not in flags.get("GNU_STACK", "E"),
        "nothing both written and run": code and not any("W" in part[3] for part in code),
        "code on pages of its own": apart,
        "stack protector": "__stack_chk_fail" in symbols,
        "checked C library functions": {"__vsnprintf_chk", "__explicit_bzero_chk"} <= symbols,
        "no search path, no relocation of code": not re.search("RPATH|RUNPATH|TEXTREL", headers),
        "branch tracking": tracks or "X86-64" not in headers,
    }
    return [name for name, holds in checks.items() if not holds]
