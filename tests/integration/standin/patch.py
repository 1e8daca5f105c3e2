"""Patches and field ownership.

A patch returns a new object that shares whatever it did not touch with the old one.
"""

import json
from datetime import datetime, timezone

from .errors import ApiError, bad_request

MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


def now_rfc3339():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def merge(target, change):
    """RFC 7386."""
    if not isinstance(change, dict):
        return change
    out = dict(target) if isinstance(target, dict) else {}
    for key, value in change.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merge(out.get(key), value)
    return out


def _resolve(document, pointer):
    """The container of an RFC 6901 pointer and the last token."""
    tokens = [t.replace("~1", "/").replace("~0", "~") for t in pointer.split("/")[1:]]
    for token in tokens[:-1]:
        try:
            document = document[int(token) if isinstance(document, list) else token]
        except (KeyError, IndexError, ValueError, TypeError):
            raise _unprocessable() from None
    return document, tokens[-1]


def _unprocessable():
    return ApiError(
        422, "Invalid", "the server rejected our request due to an error in our request", {}
    )


def apply_json_patch(obj, operations):
    """RFC 6902: add, remove, replace and test."""
    document = json.loads(json.dumps(obj))
    if not isinstance(operations, list):
        raise bad_request("error decoding patch: not a list")
    for operation in operations:
        kind, pointer = operation.get("op"), operation.get("path", "")
        place, token = _resolve(document, pointer)
        if isinstance(place, list):
            token = len(place) if token == "-" else int(token)
            exists = 0 <= token < len(place)
        elif isinstance(place, dict):
            exists = token in place
        else:
            raise _unprocessable()
        if kind == "test" and operation.get("value") is None and not exists:
            continue  # as the API server's library has it: what is absent is null
        if kind != "add" and not exists:
            raise _unprocessable()
        if kind == "add" and isinstance(place, list):
            place.insert(token, operation.get("value"))
        elif kind in ("add", "replace"):
            place[token] = operation.get("value")
        elif kind == "remove":
            del place[token]
        elif kind == "test":
            if place[token] != operation.get("value"):
                raise _unprocessable()
        else:
            raise bad_request(f"error decoding patch: operation {kind!r}")
    return document


# Maps, which can be owned while empty; any other object counts by its fields.
_MAPS = ("annotations", "labels", "allocatable", "capacity", "limits", "requests")


def field_set(value, name=""):
    """The FieldsV1 tree of everything that `value` sets; lists are leaves."""
    if not isinstance(value, dict):
        return {}
    tree = {f"f:{key}": field_set(child, key) for key, child in value.items()}
    if name in _MAPS:
        tree["."] = {}
    return tree


def _changes(old, new):
    """(tree of fields that were set or changed, tree of fields that are gone)."""
    changed, gone = {}, {}
    for key, value in new.items():
        if key not in old:
            changed[f"f:{key}"] = field_set(value, key)
        elif old[key] is not value and old[key] != value:
            if isinstance(value, dict) and isinstance(old[key], dict):
                inner_changed, inner_gone = _changes(old[key], value)
                if inner_changed:
                    changed[f"f:{key}"] = inner_changed
                if inner_gone:
                    gone[f"f:{key}"] = inner_gone
            else:
                changed[f"f:{key}"] = {}
    for key in old:
        if key not in new:
            gone[f"f:{key}"] = {}
    return changed, gone


def _union(a, b):
    out = dict(a)
    for key, child in b.items():
        out[key] = _union(out.get(key, {}), child) if child else out.get(key, {})
    return out


def _without(tree, taken):
    out = {}
    for key, child in tree.items():
        if key not in taken:
            out[key] = child
        elif taken[key] and child:
            rest = _without(child, taken[key])
            if any(name != "." for name in rest):
                out[key] = rest
    return out


# What the server itself writes is owned by nobody.
_UNOWNED = {
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "selfLink",
}


def _ownable(obj):
    metadata = {k: v for k, v in obj.get("metadata", {}).items() if k not in _UNOWNED}
    rest = {k: v for k, v in obj.items() if k != "metadata"}
    return {"metadata": metadata, **rest} if metadata else rest


def own(old, new, manager, api_version, subresource="", operation="Update"):
    """Set new["metadata"]["managedFields"] as the server does for a write by `manager`.

    One entry per (manager, operation, apiVersion, subresource); what a manager changes is taken
    from the others.
    """
    changed, gone = _changes(_ownable(old) if old else {}, _ownable(new))
    entries = list((old or {}).get("metadata", {}).get("managedFields") or ())
    if not changed and not gone:
        new["metadata"]["managedFields"] = entries
        return
    identity = (manager, operation, api_version, subresource)
    kept, mine = [], {}
    for entry in entries:
        if (
            entry["manager"],
            entry["operation"],
            entry["apiVersion"],
            entry.get("subresource", ""),
        ) == identity:
            mine = _without(entry["fieldsV1"], gone)
            continue
        fields = _without(_without(entry["fieldsV1"], changed), gone)
        if fields:
            kept.append({**entry, "fieldsV1": fields} if fields != entry["fieldsV1"] else entry)
    mine = _union(mine, changed)
    if mine:
        entry = {
            "manager": manager,
            "operation": operation,
            "apiVersion": api_version,
            "time": now_rfc3339(),
            "fieldsType": "FieldsV1",
            "fieldsV1": mine,
        }
        if subresource:
            entry["subresource"] = subresource
        kept.append(entry)
    new["metadata"]["managedFields"] = sorted(kept, key=_entry_order)


def _entry_order(entry):
    version = entry["apiVersion"]
    return (
        entry["operation"],
        entry["time"],
        entry["manager"],
        version,
        entry.get("subresource", ""),
    )
