#!/usr/bin/python3
"""Pictures of the status page with 200 nodes, by headless Chromium.

    pictures.py OUT    into the folder OUT: at three widths, light and dark, whole, and of one node
    pictures.py        docs/status-page.png, of this version of the page
"""

import hashlib
import json
import pathlib
import struct
import sys
import tempfile
import zlib

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests" / "integration")]
# pylint: disable=wrong-import-position
import status_sample  # noqa: E402
from browser import Browser  # noqa: E402
from status_site import PAGE, Site, sources  # noqa: E402

PICTURE = TOP / "docs" / "status-page.png"
NODES = 200
SIZES = [(360, 780), (768, 1024), (1280, 800)]
SCHEMES = ("light", "dark")
HEAD_BYTES = 33  # the signature, and the first chunk
NOTE = b"Page\0"  # of a chunk of text, which says what the picture is of


def page_hash():
    """Of all that decides what the picture shows, but the time."""
    content = [*sources(PAGE), pathlib.Path(status_sample.__file__).read_text("utf-8")]
    return hashlib.sha256("\0".join(content).encode()).hexdigest()


def noted(path):
    """The page_hash() of when a picture was taken."""
    _, _, rest = path.read_bytes().partition(b"tEXt" + NOTE)
    return rest[:64].decode("ascii", "replace")


def note(path):
    data = path.read_bytes()
    chunk = b"tEXt" + NOTE + page_hash().encode()
    length, crc = struct.pack(">I", len(chunk) - 4), struct.pack(">I", zlib.crc32(chunk))
    path.write_bytes(data[:HEAD_BYTES] + length + chunk + crc + data[HEAD_BYTES:])


def open_page(browser, site, size, scheme):
    browser.show(site.url, *size, scheme, is_phone=size[0] < 720)
    browser.wait("document.querySelectorAll('tr.row').length > 0", "the rows")


def look(browser, site, out):
    for width, height in SIZES:
        for scheme in SCHEMES:
            name = f"{width}-{scheme}"
            open_page(browser, site, (width, height), scheme)
            whole = browser.evaluate("document.documentElement.scrollHeight")
            browser.picture(out / f"{name}-top.png")
            browser.evaluate("document.getElementById('nodes').scrollIntoView()")
            browser.picture(out / f"{name}-table.png")
            browser.evaluate("scrollTo(0, document.body.scrollHeight)")
            browser.picture(out / f"{name}-end.png")
            browser.evaluate("document.querySelector('tr.row').click()")
            browser.picture(out / f"{name}-node.png")
            print(f"{name}: {whole} px high")


def main():
    site = Site()
    site.status = json.dumps(status_sample.sample(NODES)).encode()
    with tempfile.TemporaryDirectory() as folder, Browser(folder) as browser:
        if len(sys.argv) > 1:
            out = pathlib.Path(sys.argv[1])
            out.mkdir(parents=True, exist_ok=True)
            look(browser, site, out)
        else:
            open_page(browser, site, SIZES[-1], "light")
            browser.picture(PICTURE)
            note(PICTURE)
            print(PICTURE)
    site.close()


if __name__ == "__main__":
    main()
