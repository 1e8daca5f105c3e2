"""Make one HTML document of page.html, page.css and page_*.js, as a C array: embed.py DIRECTORY OUTPUT.

Its Content-Security-Policy allows this very style and this very script, and nothing from elsewhere.
"""

import base64
import hashlib
import pathlib
import sys

MAX_BYTES = 80_000
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Cpath d='M1 8h14M8 3a5 5 0 100 10A5 5 0 008 3' fill='none' stroke='%230b6bcb'"
    " stroke-width='1.6'/%3E%3C/svg%3E"
)


def source_hash(text):
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


SCRIPTS = ("page_base.js", "page_table.js", "page_map.js", "page_parts.js", "page_main.js")


def sources(directory):
    """The texts that document() takes."""
    return [(directory / name).read_text("utf-8") for name in ("page.html", "page.css", *SCRIPTS)]


def document(html, css, *scripts):
    """The document, and the policy that goes with it."""
    script = '"use strict";\n(() => {\n' + "\n".join(scripts) + "})();\n"
    for text in (css, script):
        assert "</" not in text, "it would end the element that it is in"
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src {source_hash(css)}",
            f"script-src {source_hash(script)}",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ]
    )
    page = html.replace("@CSS@", css).replace("@JS@", script).replace("@ICON@", ICON)
    assert len(page.encode()) <= MAX_BYTES, f"{len(page.encode())} bytes"
    return page, policy


def main(directory, target):
    page, policy = document(*sources(pathlib.Path(directory)))
    data = page.encode()
    lines = ['#include "controller/web/status_html.h"', "", "#include <stdint.h>", ""]
    lines.append(f'const char status_html_policy[] = "{policy}";')
    lines.append("static const unsigned char html[] = {")
    for start in range(0, len(data), 16):
        lines.append("        " + " ".join(f"{byte}," for byte in data[start : start + 16]))
    lines += ["};", "const struct iovec status_html = {(void *)(uintptr_t)html, sizeof(html)};", ""]
    pathlib.Path(target).write_text("\n".join(lines), encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
