"""Accept headers: whole objects or PartialObjectMetadata, in the order of quality.

As in the real server the first acceptable clause wins, and only then is it checked against the
request: asking a list for `as=PartialObjectMetadata` is 406 even when a plain clause follows.
"""

from . import protobuf
from .errors import not_acceptable
from .store import View

_FORMS = {
    "PartialObjectMetadata": "partial",
    "PartialObjectMetadataList": "partial",
}
_cache = {}


def _clauses(header):
    clauses = []
    for position, text in enumerate(header.split(",")):
        media, *parameters = [part.strip() for part in text.split(";")]
        values = {}
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            values[name.strip()] = value.strip().strip('"')
        try:
            quality = float(values.pop("q", "1"))
        except ValueError:
            quality = 0.0
        clauses.append((-quality, position, media.lower(), values))
    return [(media, values) for quality, _, media, values in sorted(clauses, key=lambda c: c[:2])]


# What the real server speaks; the stand-in has the first, and the last for pods and nodes.
MEDIA_TYPES = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")


def negotiate(header, transforms=True):
    """The chosen (as, version) of an Accept header; ("", "") is the plain object."""
    if not header:
        return "", ""
    found = _cache.get((header, transforms))
    if found is None:
        found = _choose(header, transforms)
        if len(_cache) < 1000:
            _cache[(header, transforms)] = found
    return found


def _choose(header, transforms):
    for media, values in _clauses(header):
        if media not in ("application/json", "application/*", "*/*"):
            continue
        if values.get("stream", "watch") != "watch" or values.get("sv"):
            continue
        wanted = values.get("as", "")
        if not wanted and not values.get("g") and not values.get("v"):
            return "", ""
        known = wanted in _FORMS and values.get("g") == "meta.k8s.io"
        if transforms and known and values.get("v") in ("v1", "v1beta1"):
            return wanted, values["v"]
    raise not_acceptable("only the following media types are accepted: " + ", ".join(MEDIA_TYPES))


def _protobuf_as(header):
    """The `as` of a client that would rather have protobuf than JSON; None for others."""
    if protobuf.MEDIA_TYPE not in (header or ""):
        return None
    media, values = _clauses(header)[0]
    return values.get("as", "") if media == protobuf.MEDIA_TYPE else None


def has_errors_in_protobuf(plural, header):
    """Not for a client that asks for metadata: a Status is not shown as that."""
    return _protobuf_as(header) == "" and protobuf.kind_of(plural) is not None


def view_for(resource, header, is_list, has_protobuf=True):
    """The View that this request asked for. A watch shows single objects."""
    wanted = _protobuf_as(header) if has_protobuf else None
    proto = None if wanted is None else protobuf.kind_of(resource.plural, wanted)
    if proto:
        header = header.replace(protobuf.MEDIA_TYPE, "application/json")
    wanted, version = negotiate(header)
    if not wanted:
        return View(resource, proto=proto)
    if wanted == "PartialObjectMetadata" and is_list:
        raise not_acceptable(
            "you requested PartialObjectMetadata, but the requested object is a list "
            f"(*{resource.group or 'core'}.{resource.list_kind})"
        )
    if wanted == "PartialObjectMetadataList" and not is_list:
        raise not_acceptable(
            "you requested PartialObjectMetadataList, but the requested object is not a list "
            f"(*{resource.group or 'core'}.{resource.kind})"
        )
    return View(resource, _FORMS[wanted], version, proto)
