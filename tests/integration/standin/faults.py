"""Misbehaviour on command: rules that match requests and spoil their answers.

A rule is a JSON object. What it matches (all given parts must match; `count` requests, then it is
spent; -1 = until cleared):

    verb        get, list, watch, create, update, patch, delete, or * (default)
    resource    nodes, pods, leases.. (default: any, discovery included)
    name        regular expression on the object's name
    path        regular expression searched in the request target
    user_agent  regular expression searched in the User-Agent
    sends       regular expression searched in the request's Content-Type
    user        name of the user whose token it is
    count       default 1

What it does, by `action`:

    status       `status` (default 500) with a Status body, or `plain` text as priority and fairness
                 sends it; `retry_after` seconds (absent: no header); `message`
    reset        RST without an answer
    close        FIN without an answer
    hang         no answer; after `seconds`, if given, the real one
    delay        the real answer after `seconds`
    truncate     the real head, then `bytes` of the real body, then FIN (`reset`: RST)
    garbage      200 with text that is not JSON
    empty        200 with an empty body
    huge         200 with a JSON string of `mebibytes` (default 64)
    deep         200 with 100,000 opening brackets
    html         `status` (default 200) with a login page as text/html; `location`: a redirect to it
    mute         200, and then nothing, for a watch
    expired      200 and an ERROR event with code 410, as for a watch from too long ago
    not_http     bytes that are no HTTP at all
"""

import asyncio
import itertools
import re

from httpd import Shape
from .errors import REASON_BY_CODE, ApiError

ACTIONS = {
    "status",
    "reset",
    "close",
    "hang",
    "delay",
    "truncate",
    "garbage",
    "empty",
    "huge",
    "deep",
    "html",
    "expired",
    "mute",
    "not_http",
}
_KEYS = {
    "verb",
    "resource",
    "name",
    "path",
    "user_agent",
    "sends",
    "user",
    "count",
    "action",
    "status",
    "plain",
    "retry_after",
    "message",
    "seconds",
    "bytes",
    "reset",
    "mebibytes",
    "location",
}


class Fault:
    ids = itertools.count(1)

    def __init__(self, spec):
        unknown = set(spec) - _KEYS
        if unknown:
            raise ValueError(f"unknown fault keys: {sorted(unknown)}")
        if spec.get("action") not in ACTIONS:
            raise ValueError(f"action must be one of {sorted(ACTIONS)}")
        self.id = next(self.ids)
        self.spec = spec
        self.left = spec.get("count", 1)
        self.hits = 0
        self.patterns = [
            (key, re.compile(spec[key]))
            for key in ("name", "path", "user_agent", "sends")
            if key in spec
        ]

    def matches(self, request, route):
        spec = self.spec
        if self.left == 0 or spec.get("verb", "*") not in ("*", route.verb):
            return False
        if "resource" in spec and spec["resource"] != route.plural:
            return False
        if "user" in spec and spec["user"] != (route.user.name if route.user else ""):
            return False
        seen = {
            "name": route.name,
            "path": request.target,
            "user_agent": request.headers.get("user-agent", ""),
            "sends": request.headers.get("content-type", ""),
        }
        if not all(pattern.search(seen[key]) for key, pattern in self.patterns):
            return False
        self.hits += 1
        if self.left > 0:
            self.left -= 1
        return True

    def describe(self):
        return {"id": self.id, "hits": self.hits, "left": self.left, **self.spec}


class Faults:
    """The rules in force; the first that matches a request has it."""

    def __init__(self):
        self.rules = []

    def add(self, spec):
        fault = Fault(spec)
        self.rules.append(fault)
        return fault

    def clear(self):
        self.rules.clear()

    def take(self, request, route):
        for fault in self.rules:
            if fault.matches(request, route):
                return fault
        return None


def act(fault, request, go_on, refuse):
    """Answer `request` as the rule says; `go_on()` produces the real answer."""
    spec = fault.spec
    action = spec["action"]
    loop = asyncio.get_running_loop()
    if action == "status":
        _status(spec, request, refuse)
    elif action == "reset":
        request.conn.reset()
    elif action == "close":
        request.conn.close()
    elif action in ("hang", "delay"):
        if "seconds" in spec or action == "delay":
            loop.call_later(
                spec.get("seconds", 1), lambda: None if request.conn.closed else go_on()
            )
    elif action == "truncate":
        request.shape = Shape(cut_bytes=spec.get("bytes", 100), reset=spec.get("reset", False))
        go_on()
    elif action == "garbage":
        request.reply(200, b'{"kind":"NodeList","items":[{"metadata":{"name":\x00\xff}} <<<')
    elif action == "empty":
        request.reply(200, b"")
    elif action == "huge":
        request.reply(200, b'"' + b"x" * (spec.get("mebibytes", 64) * 1024 * 1024) + b'"')
    elif action == "deep":
        request.reply(200, b'{"items":' + b"[" * 100_000)
    elif action == "html":
        headers = [("Location", spec["location"])] if "location" in spec else []
        page = b"<html><body>Please log in</body></html>"
        request.reply(spec.get("status", 200), page, "text/html", headers)
    elif action == "mute":
        request.stream()
    elif action == "expired":
        stream = request.stream()
        stream.write(b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n')
        stream.finish()
    elif action == "not_http":
        request.reply_raw(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")


def _status(spec, request, refuse):
    code = spec.get("status", 500)
    headers = [("Retry-After", spec["retry_after"])] if "retry_after" in spec else []
    if spec.get("plain"):
        text = spec.get("message", "Too many requests, please try again later.\n")
        request.reply(code, text.encode(), "text/plain; charset=utf-8", headers)
        return
    reason = REASON_BY_CODE.get(code, "Unknown")
    message = spec.get("message", f"{reason} on command")
    refuse(request, ApiError(code, reason, message, headers=headers))
