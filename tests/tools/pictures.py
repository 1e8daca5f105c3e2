#!/usr/bin/python3
"""The pictures of the status page with 200 nodes, by headless Chromium.

    pictures.py        the one that docs/ has
    pictures.py OUT    the status page at three widths, light and dark, into the folder OUT: to look at

That of docs/ has the hash of what it was made of, so that a test sees when it is old.
"""

import hashlib
import json
import pathlib
import struct
import sys
import tempfile
import zlib

TOP = pathlib.Path(__file__).resolve().parents[2]
MODULES = TOP / "tests" / "integration"
sys.path[:0] = [str(MODULES)]
# pylint: disable=wrong-import-position
import status_sample  # noqa: E402
from browser import Browser  # noqa: E402
from status_site import PAGE, Site  # noqa: E402

DOCS = TOP / "docs"
# What decides what a picture shows, except for the time.
MADE_OF = {
    "status-page.png": (*sorted(PAGE.glob("page*")), MODULES / "status_sample.py"),
}
NODES = 200
SIZES = [(360, 780), (768, 1024), (1280, 800)]
SCHEMES = ("light", "dark")
HEAD_BYTES = 33  # of a PNG: the signature, and the first chunk
NOTE = b"Source\0"  # of a chunk of text


def made_of(name):
    content = b"\0".join(path.read_bytes() for path in MADE_OF[name])
    return hashlib.sha256(content).hexdigest()


def noted(name):
    """The made_of() of when a picture was taken."""
    _, _, rest = (DOCS / name).read_bytes().partition(b"tEXt" + NOTE)
    return rest[:64].decode("ascii", "replace")


def take(browser, name):
    """What the browser shows, with the note."""
    path = DOCS / name
    browser.picture(path)
    data = path.read_bytes()
    chunk = b"tEXt" + NOTE + made_of(name).encode()
    length, crc = struct.pack(">I", len(chunk) - 4), struct.pack(">I", zlib.crc32(chunk))
    path.write_bytes(data[:HEAD_BYTES] + length + chunk + crc + data[HEAD_BYTES:])
    print(path)


def open_status(browser, size, scheme):
    site = Site()
    site.status = json.dumps(status_sample.sample(NODES)).encode()
    browser.show(site.url, *size, scheme, is_phone=size[0] < 720)
    browser.wait("document.querySelectorAll('tr.row').length > 0", "the rows")
    site.close()


def look(browser, out):
    out.mkdir(parents=True, exist_ok=True)
    for width, height in SIZES:
        for scheme in SCHEMES:
            name = f"{width}-{scheme}"
            open_status(browser, (width, height), scheme)
            browser.picture(out / f"{name}-top.png")
            browser.evaluate("document.getElementById('nodes').scrollIntoView()")
            browser.picture(out / f"{name}-table.png")
            browser.evaluate("scrollTo(0, document.body.scrollHeight)")
            browser.picture(out / f"{name}-end.png")
            browser.evaluate("document.querySelector('tr.row').click()")
            browser.picture(out / f"{name}-node.png")


def main():
    with tempfile.TemporaryDirectory() as folder, Browser(folder) as browser:
        if len(sys.argv) > 1:
            look(browser, pathlib.Path(sys.argv[1]))
            return
        open_status(browser, SIZES[-1], "light")
        take(browser, "status-page.png")


if __name__ == "__main__":
    main()
