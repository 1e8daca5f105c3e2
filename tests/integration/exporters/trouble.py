"""How an exporter misbehaves. A trouble is an object with a `kind`:

    hang       reads the request and never answers
    mute       never even reads
    rst        RST as soon as the connection is made (targets by path: instead of an answer)
    close      FIN instead of an answer
    drip       the real page at `bytes` (1) per `seconds` (1), the head included
    cut        the first `bytes` of the real page; then FIN, or RST with `reset`, or with `clean` a
               well-formed end, so that only the page itself is cut
    garbage    `mebibytes` (16) of it; `form`: binary (default), line (one endless line), series
               (valid series with ever new labels), braces
    values     the real page with each value of `family` (default node_cpu_seconds_total) replaced
               by `value`: NaN, +Inf, -1, 1e999, text..; `label` limits it to lines with that
    duplicate  every series of `family` twice, the second time half as large
    missing    the page without `family`
    extra      the page followed by `text`
    status     the status `code` (500) with a short text, and `retry_after` if given
    redirect   302 to itself; `location` to somewhere else
    gzip_bomb  a gzip body that unpacks to `mebibytes` (1024)
    html       200 with a web page
    empty      200 with nothing
    not_http   bytes that are no HTTP
    headers    200 with `kibibytes` (1024) of headers
    stuck      the counters stand still
"""

import os
import re
import zlib

from httpd import Shape as Flow

KINDS = {
    "hang",
    "mute",
    "rst",
    "close",
    "drip",
    "cut",
    "garbage",
    "values",
    "duplicate",
    "missing",
    "extra",
    "status",
    "redirect",
    "gzip_bomb",
    "html",
    "empty",
    "not_http",
    "headers",
    "stuck",
}
ON_CONNECT = {"mute", "rst"}
_KEYS = {
    "kind",
    "seconds",
    "bytes",
    "reset",
    "clean",
    "mebibytes",
    "kibibytes",
    "form",
    "family",
    "value",
    "label",
    "text",
    "code",
    "retry_after",
    "location",
}
MEBIBYTE = 1024 * 1024
TEXT = "text/plain; version=0.0.4; charset=utf-8"
_made = {}


class Order:
    """One trouble that was ordered, for however many targets."""

    def __init__(self, number, spec):
        self.id, self.spec = number, spec
        self.hits = 0
        self.is_ended = False


def check(spec):
    unknown = set(spec) - _KEYS
    if unknown:
        raise ValueError(f"unknown trouble keys {sorted(unknown)}")
    if spec.get("kind") not in KINDS:
        raise ValueError(f"kind must be one of {sorted(KINDS)}")
    return spec


def _garbage(form, mebibytes):
    key = (form, mebibytes)
    if key not in _made:
        size = mebibytes * MEBIBYTE
        if form == "line":
            data = b"x" * size
        elif form == "braces":
            data = b'{="' * (size // 3)
        elif form == "series":
            rows, total, i = [], 0, 0
            while total < size:
                row = b'node_cpu_seconds_total{cpu="%d",mode="m%d"} %d\n' % (i % 512, i, i)
                rows.append(row)
                total += len(row)
                i += 1
            data = b"".join(rows)
        else:
            block = os.urandom(65536)
            data = block * (size // len(block))
        _made.clear()
        _made[key] = data
    return _made[key]


def _bomb(mebibytes):
    """A gzip stream of zeros: one flushed deflate block repeated. Its checksum is wrong, which no
    reader finds out before it has unpacked everything."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(MEBIBYTE)) + packer.flush(zlib.Z_FULL_FLUSH)
    head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    return head + block * mebibytes + b"\x03\x00" + b"\x00" * 8


def _rewrite(page, spec):
    """The page with the lines of one family changed."""
    family = spec.get("family", "node_cpu_seconds_total").encode()
    label = spec.get("label", "").encode()
    pattern = re.compile(rb"^(%b(?:\{[^}\n]*\})?) (\S+)\n" % re.escape(family), re.MULTILINE)
    kind = spec["kind"]

    def change(match):
        line = match.group(0)
        if label not in line:
            return line
        if kind == "missing":
            return b""
        if kind == "duplicate":
            return line + b"%b %b\n" % (match.group(1), repr(float(match.group(2)) / 2).encode())
        return b"%b %b\n" % (match.group(1), str(spec.get("value", "NaN")).encode())

    return pattern.sub(change, page)


def act(spec, request, page, reply):
    """Answer `request` with trouble; `page()` renders the real page, `reply(page)` sends it."""
    kind = spec["kind"]
    if kind in ("hang", "mute"):
        return
    if kind == "rst":
        request.conn.reset()
    elif kind == "close":
        request.conn.close()
    elif kind == "drip":
        request.shape = Flow(
            drip_s=spec.get("seconds", 1), drip_bytes=spec.get("bytes", 1), drip_head=True
        )
        reply(page())
    elif kind == "cut":
        if spec.get("clean"):
            reply(page()[: spec["bytes"]])
        else:
            # With a length, so that the reader knows how much is missing.
            request.shape = Flow(cut_bytes=spec["bytes"], reset=spec.get("reset", False))
            request.reply(200, page(), TEXT, chunked=False)
    elif kind == "garbage":
        request.reply(200, _garbage(spec.get("form", "binary"), spec.get("mebibytes", 16)), TEXT)
    elif kind in ("values", "duplicate", "missing"):
        reply(_rewrite(page(), spec))
    elif kind == "extra":
        reply(page() + spec["text"].encode())
    elif kind == "status":
        headers = [("Retry-After", spec["retry_after"])] if "retry_after" in spec else []
        text = b"Trouble on command.\n"
        request.reply(spec.get("code", 500), text, "text/plain; charset=utf-8", headers)
    elif kind == "redirect":
        location = spec.get("location", request.target)
        request.reply(302, b"", "text/html", [("Location", location)])
    elif kind == "gzip_bomb":
        packed = _bomb(spec.get("mebibytes", 1024))
        request.reply(200, packed, TEXT, [("Content-Encoding", "gzip")])
    elif kind == "html":
        request.reply(200, b"<html><body><h1>It works!</h1></body></html>\n", "text/html")
    elif kind == "empty":
        request.reply(200, b"", TEXT)
    elif kind == "not_http":
        request.reply_raw(b"\x15\x03\x01\x00\x02\x02\x16 this is no HTTP\r\n")
    elif kind == "headers":
        filler = [(f"X-Filler-{i}", "x" * 1000) for i in range(spec.get("kibibytes", 1024))]
        request.reply(200, page(), TEXT, filler)
    else:
        reply(page())
