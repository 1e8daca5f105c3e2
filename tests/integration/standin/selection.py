"""Label and field selectors, parsed once per request into predicates over objects."""

import re

from .errors import bad_request

_TERM = re.compile(
    r"(?P<not>!?)(?P<key>[A-Za-z0-9][-A-Za-z0-9_./]*)"
    r"(?:\s*(?P<equals>==?|!=)\s*(?P<value>[-A-Za-z0-9_.]*)|\s+(?P<set>in|notin)\s*\((?P<values>[^)]*)\))?"
)


def _label_check(term):
    match = _TERM.fullmatch(term.strip())
    if not match:
        raise bad_request(f"unable to parse requirement: {term!r}")
    key, values = match["key"], None
    if match["equals"]:
        values = {match["value"]}
    elif match["set"]:
        values = {value.strip() for value in match["values"].split(",")}
    is_wanted = not (match["not"] or match["equals"] == "!=" or match["set"] == "notin")
    if values is None:
        return lambda labels: (key in labels) is is_wanted
    return lambda labels: (labels.get(key) in values) is is_wanted


def parse_labels(text):
    """A predicate over a labels mapping, or None when everything matches.

    Accepts `=`, `==`, `!=`, `in (..)`, `notin (..)`, `key` and `!key`, joined by commas.
    """
    checks = (
        [_label_check(term) for term in re.split(r",(?![^(]*\))", text) if term] if text else []
    )
    return (lambda labels: all(check(labels) for check in checks)) if checks else None


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
