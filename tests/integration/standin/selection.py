"""Label and field selectors, parsed once per request into predicates over objects."""

import re

from .errors import bad_request

_TOKEN = re.compile(r"\s*(?:(==|=|!=|!|\(|\)|,)|([A-Za-z0-9][-A-Za-z0-9_./]*))")


def _tokens(text):
    at, out = 0, []
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            raise bad_request(f"unable to parse requirement: unexpected {text[at:]!r}")
        out.append(match.group(1) or match.group(2))
        at = match.end()
    return out


def _values(tokens, at):
    """The values of `in (a, b)`, starting at the parenthesis."""
    if at >= len(tokens) or tokens[at] != "(":
        found = tokens[at] if at < len(tokens) else ""
        raise bad_request(f"unable to parse requirement: found '{found}' expected: '('")
    end = tokens.index(")", at) if ")" in tokens[at:] else -1
    if end < 0:
        raise bad_request("unable to parse requirement: expected: ')'")
    return frozenset(token for token in tokens[at + 1 : end] if token != ","), end + 1


def parse_labels(text):
    """A predicate over a labels mapping, or None when everything matches.

    Accepts `=`, `==`, `!=`, `in (..)`, `notin (..)`, `key` and `!key`, joined by commas.
    """
    tokens = _tokens(text or "")
    at, checks = 0, []
    while at < len(tokens):
        negated = tokens[at] == "!"
        at += negated
        if at >= len(tokens) or not tokens[at][0].isalnum():
            raise bad_request(f"unable to parse requirement: {text!r}")
        key = tokens[at]
        at += 1
        follows = tokens[at] if at < len(tokens) else ","
        if negated:
            checks.append(lambda labels, key=key: key not in labels)
        elif follows == ",":
            checks.append(lambda labels, key=key: key in labels)
        elif follows in ("=", "==", "!="):
            value = ""
            at += 1
            if at < len(tokens) and tokens[at] != ",":
                value = tokens[at]
                at += 1
            if follows == "!=":
                checks.append(lambda labels, key=key, value=value: labels.get(key) != value)
            else:
                checks.append(lambda labels, key=key, value=value: labels.get(key) == value)
        elif follows in ("in", "notin"):
            values, at = _values(tokens, at + 1)
            if follows == "in":
                checks.append(lambda labels, key=key, values=values: labels.get(key) in values)
            else:
                checks.append(lambda labels, key=key, values=values: labels.get(key) not in values)
        else:
            raise bad_request(f"unable to parse requirement: found {follows!r}")
        if at < len(tokens):
            if tokens[at] != ",":
                raise bad_request(f"unable to parse requirement: found {tokens[at]!r}")
            at += 1
    if not checks:
        return None
    return lambda labels: all(check(labels) for check in checks)


def lookup(obj, path):
    """The string at `path` as field selectors see it: absent fields read as ''."""
    for key in path:
        obj = obj.get(key) if isinstance(obj, dict) else None
    if obj is None:
        return ""
    if isinstance(obj, bool):
        return "true" if obj else "false"
    return str(obj)


def parse_fields(text, resource):
    """A predicate over an object, or None when everything matches."""
    checks = []
    for term in (text or "").split(","):
        if not term.strip():
            continue
        match = re.fullmatch(r"\s*([^=!]+?)\s*(==|=|!=)\s*(.*?)\s*", term)
        if not match:
            raise bad_request(f"invalid selector: {text!r}; can't understand {term!r}")
        field, operator, value = match.groups()
        path = resource.fields.get(field)
        if path is None:
            raise bad_request(f"field label not supported: {field}")
        wanted = operator != "!="
        checks.append(
            lambda obj, path=path, value=value, wanted=wanted: (lookup(obj, path) == value)
            is wanted
        )
    if not checks:
        return None
    return lambda obj: all(check(obj) for check in checks)


def compile_selector(resource, label_text, field_text, namespace=None, name=None):
    """One predicate over objects for everything that narrows a list or a watch, or None."""
    labels = parse_labels(label_text)
    fields = parse_fields(field_text, resource)
    if labels is None and fields is None and namespace is None and name is None:
        return None

    def matches(obj):
        metadata = obj["metadata"]
        if namespace is not None and metadata.get("namespace") != namespace:
            return False
        if name is not None and metadata["name"] != name:
            return False
        if labels is not None and not labels(metadata.get("labels") or {}):
            return False
        return fields is None or fields(obj)

    return matches
