"""The mutants of a C source: every small change of it that a test should notice.

Works on tokens, and leans on clang-format: a binary operator has a blank on both sides, a unary one
has none after it. What is no program (comments, strings, preprocessor lines), and what tests need not
notice (assertions, log lines, the sizes of arrays) is left alone.
"""

import dataclasses
import re

TOKEN = re.compile(
    r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/|\#(?:\\\n|[^\n])*)
    |(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<sign>->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\.\.\.|.)
    """,
    re.VERBOSE | re.DOTALL,
)
SILENT = re.compile(r"assert|static_assert|_Static_assert|log_\w+")
INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)")
SWAPPED = {
    **{"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&"},
    **{"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "++": "--", "--": "++"},
    **{
        "true": "false",
        "false": "true",
        "fmin": "fmax",
        "fmax": "fmin",
        "MIN": "MAX",
        "MAX": "MIN",
    },
}
BINARY = {"+": "-", "-": "+", "*": "/", "/": "*"}
OTHER_END = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
# What follows the first word of a statement that is an expression.
EXPRESSION = {
    "(",
    "=",
    ".",
    "->",
    "[",
    "++",
    "--",
    "+=",
    "-=",
    "*=",
    "/=",
    "|=",
    "&=",
    "<<=",
    ">>=",
}
CONTROL = {"if", "while", "for", "switch"}
JUMPS = {"return", "continue", "break"}
KEYWORDS = CONTROL | JUMPS | {"else", "do", "case", "default", "goto", "sizeof"}
OPENING = {"(": ")", "[": "]", "{": "}"}


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


@dataclasses.dataclass(frozen=True)
class Mutant:
    """text[start:end] of the source becomes `new`."""

    line: int
    start: int
    end: int
    new: str
    what: str

    def apply(self, text):
        return text[: self.start] + self.new + text[self.end :]


class Source:
    """The tokens of a source, which bracket closes which, and what must not be changed."""

    def __init__(self, text):
        self.text = text
        self.tokens = [
            Token(m.lastgroup, m[0], m.start(), m.end())
            for m in TOKEN.finditer(text)
            if m.lastgroup != "skip"
        ]
        self.partner, self.braces, self.parens = {}, [], []
        opened = []
        for i, token in enumerate(self.tokens):
            if token.kind == "sign" and token.text in OPENING.values():
                self.partner[i] = opened.pop()
                self.partner[self.partner[i]] = i
            self.braces.append(sum(self.tokens[k].text == "{" for k in opened))
            self.parens.append(sum(self.tokens[k].text == "(" for k in opened))
            if token.kind == "sign" and token.text in OPENING:
                opened.append(i)
        self.silent = set()
        for i, token in enumerate(self.tokens[:-1]):
            if SILENT.fullmatch(token.text) and self.word(i + 1) == "(":
                self.silent.update(range(i, self.partner[i + 1] + 1))

    def word(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def functions(self):
        """(first token, name, opening brace, closing brace) of each that is defined here."""
        for i in range(len(self.tokens)):
            if self.word(i) == "{" and self.braces[i] == 0 and self.word(i - 1) == ")":
                name = self.partner[i - 1] - 1
                first = name
                while first > 0 and self.word(first - 1) not in (";", "}", ")"):
                    first -= 1
                yield first, name, i, self.partner[i]

    def mutants(self):
        """All of them, each once, in the order of the source."""
        found = {}
        for i in range(len(self.tokens)):
            if i in self.silent:
                continue
            for start, end, new, what in self._at(i):
                line = self.text.count("\n", 0, self.tokens[i].start) + 1
                found.setdefault((start, end, new), Mutant(line, start, end, new, what))
        for function in self.functions():
            for mutant in self._early_return(*function):
                found[mutant.start, mutant.end, mutant.new] = mutant
        return sorted(found.values(), key=lambda mutant: mutant.start)

    def _at(self, i):
        token = self.tokens[i]
        yield from self._token(token, i)
        if token.text in ("if", "while") and self.word(i + 1) == "(":
            inside = self.tokens[i + 1].end, self.tokens[self.partner[i + 1]].start
            condition = self.text[slice(*inside)]
            yield *inside, f"!({condition})", f"{token.text} not ({one_line(condition)})"
        if self.braces[i] > 0 and self.parens[i] == 0 and self._starts_statement(i):
            yield from self._deleted(i)

    def _token(self, token, i):
        def change(new):
            return token.start, token.end, new, f"{token.text} becomes {new or 'nothing'}"

        is_spaced = self.text[token.start - 1].isspace() and self.text[token.end].isspace()
        if token.kind == "number" and not self._is_array_size(i):
            match = INTEGER.fullmatch(token.text)
            for step in (1, -1):
                if match and (step > 0 or int(match[1], 0) > 1):
                    yield change(f"{int(match[1], 0) + step}{match[2]}")
                elif not match and step > 0:
                    yield change(f"({token.text} + 1)")
        elif token.kind in ("sign", "word") and token.text in SWAPPED:
            yield change(SWAPPED[token.text])
            if token.text in OTHER_END and self._chooses(i):
                yield change(OTHER_END[token.text])
        elif token.text in BINARY and is_spaced and token.kind == "sign":
            yield change(BINARY[token.text])
        elif token.text == "!":
            yield change("")

    def _chooses(self, i):
        """Is this comparison the a < b of a < b ? a : b?"""
        for k in range(i + 1, len(self.tokens)):
            if self.word(k) == "?":
                return True
            if self.word(k) in (";", ",", "{", "}", "&&", "||", ")"):
                return False
        return False

    def _is_array_size(self, i):
        """Is this the 8 of `char text[8]`, or of `int counts[static 8]`?"""
        if self.word(i - 1) == "static":
            return True
        before = self.tokens[i - 3] if i >= 3 else None
        return (
            self.word(i - 1) == "["
            and before is not None
            and (before.text == "*" or before.kind == "word" and before.text not in KEYWORDS)
        )

    def _early_return(self, first, name, opening, _):
        words = [self.word(i) for i in range(first, name)]
        kind = " ".join(word for word in words if word not in ("static", "inline"))
        value = "" if kind == "void" else f" ({kind}){{0}}"
        at = self.tokens[opening].end
        line = self.text.count("\n", 0, at) + 1
        what = f"{self.word(name)}() returns{value or ' early'}"
        yield Mutant(line, at, at, f" return{value};", what)

    def _starts_statement(self, i):
        before = self.word(i - 1)
        if before == ")":
            return self.word(self.partner[i - 1] - 1) in CONTROL
        if before == ":":
            return self.word(i - 3) == "case" or self.word(i - 2) == "default"
        return before in ("{", "}", ";", "else")

    def _deleted(self, i):
        first, end = self.tokens[i], i
        while end < len(self.tokens) and self.word(end) not in (";", "}"):
            end = self.partner[end] + 1 if self.word(end) in OPENING else end + 1
        if self.word(end) != ";":
            return
        is_last = first.text == "return" and self.word(end + 1) == "}" and self.braces[i] == 1
        is_expression = first.text in ("*", "++", "--") or (
            first.kind == "word" and first.text not in KEYWORDS and self.word(i + 1) in EXPRESSION
        )
        # _cleanup_(freep) char *x: what starts with an underscore is an attribute, or built in.
        is_attribute = first.text.startswith("_") and not first.text.startswith("__builtin")
        if is_last or is_attribute or not (is_expression or first.text in JUMPS):
            return
        span = first.start, self.tokens[end].end
        yield *span, ";", f"without {one_line(self.text[slice(*span)])}"


def one_line(text):
    return " ".join(text.split())


def mutants(text):
    return Source(text).mutants()


STORAGE = re.compile(r"^(?:(?:static|inline) )+")
# A jump leaves the arguments where they are, whatever they are.
JUMP = """\
__attribute__((used)) static void *{name}__at = {name}__0;
__asm__(".text\\n.globl {name}\\n{hidden}.type {name}, @function\\n"
        "{name}: jmp *{name}__at(%rip)\\n");
"""
CHOICE = """
#include <stdlib.h>
__attribute__((constructor)) static void choose_mutant(void) {{
        const char *chosen = getenv("MUTANT");
        switch (chosen ? atoi(chosen) : 0) {{
{cases}        }}
}}
"""


def schemata(text, chosen):
    """One C text that has many mutants of this one: the environment's MUTANT says which runs.

    `chosen`: {id: mutant}, each within a function, ids from 1. A function is kept next to its mutants
    under other names, and its own name jumps to one of them. An error of the compiler in mutant 7
    has the file name mutant-7. For x86-64.
    """
    source = Source(text)
    parts, cases, end = [], [], 0
    for first, name_at, opening, closing in source.functions():
        begin, next_end = source.tokens[first].start, source.tokens[closing].end
        name = source.word(name_at)
        mine = {i: m for i, m in chosen.items() if begin <= m.start < next_end}
        if not mine:
            continue
        parts.append(text[end:begin])
        end = next_end
        head = text[begin : source.tokens[opening].start]
        hidden = f".hidden {name}\\n" if STORAGE.search(head) else ""
        parts.append(STORAGE.sub("", head).rstrip() + ";\n")
        for i, mutant in {0: None, **mine}.items():
            whole = mutant.apply(text) if mutant else text
            length = next_end - begin + len(whole) - len(text)
            body = whole[begin + len(head) : begin + length]
            named = re.sub(rf"\b{name}\b", f"{name}__{i}", STORAGE.sub("", head), count=1)
            parts.append(f'#line 1 "mutant-{i}"\nstatic {named}{body}\n')
        parts.append(JUMP.format(name=name, hidden=hidden))
        cases += [f"        case {i}: {name}__at = {name}__{i}; break;\n" for i in mine]
    parts += [text[end:], CHOICE.format(cases="".join(cases))]
    forward = re.compile(r"^static (?=[^;{}=()]*\([^{}]*?\);)", re.MULTILINE)
    return forward.sub("", "".join(parts))


def inside_functions(text, found):
    """Those of the mutants `found` that change a function."""
    source = Source(text)
    spans = [
        (source.tokens[opening].start, source.tokens[closing].end)
        for _, _, opening, closing in source.functions()
    ]
    return [m for m in found if any(begin < m.start <= m.end < end for begin, end in spans)]


LABEL = re.compile(r"\.L(?!C)\w+")


def assembly(text):
    """{(function, id): its code} of the compiled schemata, comparable between mutants."""
    found = {}
    for match in re.finditer(r"^(\w+)__(\d+):\n(.*?)^\t\.size\t", text, re.MULTILINE | re.DOTALL):
        name, i, code = match.groups()
        labels = {}
        code = code.replace(f"{name}__{i}", name)
        code = LABEL.sub(lambda m: labels.setdefault(m[0], f"L{len(labels)}"), code)
        found[name, int(i)] = code
    return found


def is_same(code, i):
    """Did the compiler make of mutant i what it made of the original?"""
    return any(code[name, 0] == mine for (name, k), mine in code.items() if k == i)
