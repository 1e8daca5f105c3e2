"""Pods and nodes, lists of them, their watch events and Status in protobuf, for clients that accept it.

The tables have the field numbers of Kubernetes' generated.proto for what tests write into these
objects; a field that is not in them is left out. The real server speaks protobuf for all built-in
resources.
"""

import collections
import datetime
import struct

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

TEXT, NUMBER, TIME, TEXTS, AMOUNTS = "text", "number", "time", "texts", "amounts"

_OWNER = {
    "kind": (1, TEXT),
    "name": (3, TEXT),
    "uid": (4, TEXT),
    "apiVersion": (5, TEXT),
    "controller": (6, NUMBER),
    "blockOwnerDeletion": (7, NUMBER),
}
_META = {
    "name": (1, TEXT),
    "generateName": (2, TEXT),
    "namespace": (3, TEXT),
    "uid": (5, TEXT),
    "resourceVersion": (6, TEXT),
    "generation": (7, NUMBER),
    "creationTimestamp": (8, TIME),
    "deletionTimestamp": (9, TIME),
    "labels": (11, TEXTS),
    "annotations": (12, TEXTS),
    "ownerReferences": (13, _OWNER),
}
_RESOURCES = {"limits": (1, AMOUNTS), "requests": (2, AMOUNTS)}
_CONTAINER = {
    "name": (1, TEXT),
    "image": (2, TEXT),
    "resources": (8, _RESOURCES),
    "restartPolicy": (24, TEXT),
}
_CONDITION = {
    "type": (1, TEXT),
    "status": (2, TEXT),
    "lastProbeTime": (3, TIME),
    "lastTransitionTime": (4, TIME),
    "reason": (5, TEXT),
    "message": (6, TEXT),
}
_POD = {
    "metadata": (1, _META),
    "spec": (
        2,
        {
            "containers": (2, _CONTAINER),
            "restartPolicy": (3, TEXT),
            "nodeName": (10, TEXT),
            "schedulerName": (19, TEXT),
            "initContainers": (20, _CONTAINER),
            "priority": (25, NUMBER),
            "overhead": (32, AMOUNTS),
            "resources": (40, _RESOURCES),
        },
    ),
    "status": (
        3,
        {
            "phase": (1, TEXT),
            "conditions": (2, _CONDITION),
            "message": (3, TEXT),
            "reason": (4, TEXT),
            "hostIP": (5, TEXT),
            "podIP": (6, TEXT),
        },
    ),
}
_TAINT = {"key": (1, TEXT), "value": (2, TEXT), "effect": (3, TEXT)}
_NODE_CONDITION = {
    "type": (1, TEXT),
    "status": (2, TEXT),
    "lastHeartbeatTime": (3, TIME),
    "lastTransitionTime": (4, TIME),
    "reason": (5, TEXT),
    "message": (6, TEXT),
}
_NODE = {
    "metadata": (1, _META),
    "spec": (2, {"podCIDR": (1, TEXT), "unschedulable": (4, NUMBER), "taints": (5, _TAINT)}),
    "status": (
        3,
        {
            "capacity": (1, AMOUNTS),
            "allocatable": (2, AMOUNTS),
            "conditions": (4, _NODE_CONDITION),
            "addresses": (5, {"type": (1, TEXT), "address": (2, TEXT)}),
            "daemonEndpoints": (6, {"kubeletEndpoint": (1, {"Port": (1, NUMBER)})}),
            "nodeInfo": (7, {"swap": (11, {"capacity": (1, NUMBER)})}),
        },
    ),
}
_LIST_META = {
    "resourceVersion": (2, TEXT),
    "continue": (3, TEXT),
    "remainingItemCount": (4, NUMBER),
}
_STATUS = {
    "metadata": (1, _LIST_META),
    "status": (2, TEXT),
    "message": (3, TEXT),
    "reason": (4, TEXT),
    "code": (6, NUMBER),
}


def _varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _bytes(number, data):
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _number(number, value):
    return _varint(number << 3) + _varint(int(value))


def _text(number, value):
    return _bytes(number, value.encode())


def _time(text):
    if not text:
        return b""
    at = datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    return _number(1, at.replace(tzinfo=datetime.timezone.utc).timestamp())


def _field(number, kind, value):
    if isinstance(kind, dict):
        items = value if isinstance(value, list) else [value]
        return b"".join(_bytes(number, message(kind, item)) for item in items)
    if kind is TEXT:
        return _text(number, value)
    if kind is NUMBER:
        return _number(number, value)
    if kind is TIME:
        return _bytes(number, _time(value))
    entries = value.items()
    if kind is AMOUNTS:
        entries = [(key, _text(1, str(amount))) for key, amount in entries]
        return b"".join(_bytes(number, _text(1, k) + _bytes(2, v)) for k, v in entries)
    return b"".join(_bytes(number, _text(1, k) + _text(2, v)) for k, v in entries)


def message(table, obj):
    """What the table has of an object."""
    known = ((table[key], value) for key, value in obj.items() if key in table)
    return b"".join(_field(*place, value) for place, value in known if value is not None)


# How the objects of a resource are shown.
Kind = collections.namedtuple("Kind", "group_version name table")
_KINDS = {"pods": Kind("v1", "Pod", _POD), "nodes": Kind("v1", "Node", _NODE)}
_PARTIAL = Kind("meta.k8s.io/v1", "PartialObjectMetadata", {"metadata": (1, _META)})


def kind_of(plural, wanted=""):
    """None for what has no protobuf here; @wanted is the Accept header's `as`."""
    if plural not in _KINDS or wanted not in ("", _PARTIAL.name, _PARTIAL.name + "List"):
        return None
    return _PARTIAL if wanted else _KINDS[plural]


def _envelope(group_version, kind, body):
    return b"k8s\0" + _bytes(1, _text(1, group_version) + _text(2, kind)) + _bytes(2, body)


def single(kind, obj):
    return _envelope(kind.group_version, kind.name, message(kind.table, obj))


def list_of(kind, metadata, objs):
    items = b"".join(_bytes(2, message(kind.table, obj)) for obj in objs)
    body = _bytes(1, message(_LIST_META, metadata)) + items
    return _envelope(kind.group_version, kind.name + "List", body)


def status(obj):
    return _envelope("v1", "Status", message(_STATUS, obj))


def event(kind, body):
    """A frame of a watch."""
    data = _text(1, kind) + _bytes(2, _bytes(1, body))
    return struct.pack(">I", len(data)) + data
