"""A man page from a program's --help.

    man.py PROGRAM TEMPLATE VERSION OUTPUT

The template has what --help does not say. In it, `@VERSION@` is replaced, and the line `@help@` by the
sections SYNOPSIS, DESCRIPTION and OPTIONS of PROGRAM --help, and COMMANDS of PROGRAM VERB --help.
"""

import re
import subprocess
import sys
import textwrap

HEADING = re.compile(r"([A-Z][^.]*):\n(?=  -|  \w+  )", re.M)
# A flag or verb, and what it does, after it or on the next lines.
ENTRY = re.compile(r"  (-\S.*?|\w+)(?:  +(\S.*))?\n((?: {6,}\S.*\n)*)")
EXAMPLE = re.compile(r"(?:  .*\n)+")
PARAGRAPH = re.compile(r"(?:\S.*\n)+?(?=\n|  |\Z)")


def escape(text):
    for plain, roff in (
        ("\\", "\\e"),
        ("-", "\\-"),
        ("'", "\\(aq"),
        ("~", "\\(ti"),
        ("^", "\\(ha"),
    ):
        text = text.replace(plain, roff)
    return re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)


def filled(text):
    """Lines of running text, none of which is a request."""
    # A variable's or flag's name is not hyphenated, so that it can be copied.
    words = [("\\%" if "_" in word or "--" in word else "") + escape(word) for word in text.split()]
    lines = textwrap.wrap(" ".join(words), 78, break_on_hyphens=False, break_long_words=False)
    return "".join(("\\&" if line[0] in ".'" else "") + line + "\n" for line in lines)


def rendered(text, heading):
    """Roff of what follows a usage; `heading` is the form of a group's name."""
    out, at = [], 0
    while at < len(text):
        if text[at] == "\n":
            at += 1
            continue
        if found := HEADING.match(text, at):
            out.append(heading.format(escape(found[1])))
        elif found := ENTRY.match(text, at):
            out.append(f".TP\n.B {escape(found[1])}\n{filled((found[2] or '') + ' ' + found[3])}")
        elif found := EXAMPLE.match(text, at):
            out.append(f".PP\n.EX\n{escape(textwrap.dedent(found[0]))}.EE\n")
        else:
            found = PARAGRAPH.match(text, at)
            out.append((".PP\n" if out else "") + filled(found[0]))
        at = found.end()
    return "".join(out)


def help_of(argv):
    """(usages, what follows) of --help."""
    said = subprocess.run([*argv, "--help"], capture_output=True, text=True, check=True).stdout
    usage, _, rest = said.partition("\n\n")
    return [line.removeprefix("Usage:").strip() for line in usage.splitlines()], rest + "\n"


def bold_usages(usages):
    return "\n.br\n".join(f".B {escape(usage)}" for usage in usages) + "\n"


def sections(program):
    usages, rest = help_of([program])
    verbs = re.findall(r"^  (\w+)  +\S", rest, re.M)
    verbs += [found[1] for usage in usages if (found := re.match(r"\S+ ([a-z]+) \[", usage))]
    first_group = re.search(r"^[A-Z].*:\n  -|\Z", rest, re.M).start()
    parts = [".SH SYNOPSIS\n", bold_usages(usages)]
    parts += [".SH DESCRIPTION\n", rendered(rest[:first_group], "")]
    if rest[first_group:]:
        parts += [".SH OPTIONS\n", rendered(rest[first_group:], ".SS {}\n")]
    for verb in verbs:
        usages, rest = help_of([program, verb])
        parts.append(".SH COMMANDS\n" if verb == verbs[0] else "")
        parts.append(f".SS {escape(verb)}\n{bold_usages(usages)}.PP\n")
        parts.append(rendered(rest, ".PP\n.B {}\n"))
    return "".join(parts)


def main():
    program, template, version, output = sys.argv[1:]
    with open(template, encoding="utf-8") as file:
        text = file.read()
    page = text.replace("@VERSION@", version).replace("@help@\n", sections(program))
    with open(output, "w", encoding="utf-8") as file:
        file.write(page)


if __name__ == "__main__":
    main()
