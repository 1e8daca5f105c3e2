"""Accept headers: whole objects or PartialObjectMetadata, in the order of quality.

As in the real server the first acceptable clause wins, and only then is it checked against the
request: asking a list for `as=PartialObjectMetadata` is 406 even when a plain clause follows.
"""

import functools

from . import protobuf
from .errors import not_acceptable
from .store import View

_FORMS = {
    "PartialObjectMetadata": "partial",
    "PartialObjectMetadataList": "partial",
}


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


@functools.lru_cache(maxsize=1000)
def negotiate(header):
    """The chosen (as, version) of an Accept header; ("", "") is the plain object."""
    for media, values in _clauses(header) if header else ():
        if media not in ("application/json", "application/*", "*/*"):
            continue
        wanted, version = values.get("as", ""), values.get("v", "")
        if not wanted and not version:
            return "", ""
        if wanted in _FORMS and values.get("g") == "meta.k8s.io" and version in ("v1", "v1beta1"):
            return wanted, version
    if header:
        raise not_acceptable(f"none of these media types: {header}")
    return "", ""


def _protobuf_as(header):
    """The `as` of a client that would rather have protobuf than JSON; None for others."""
    if protobuf.MEDIA_TYPE not in (header or ""):
        return None
    media, values = _clauses(header)[0]
    return values.get("as", "") if media == protobuf.MEDIA_TYPE else None


def has_errors_in_protobuf(plural, header):
    """Not for a client that asks for metadata: a Status is not shown as that."""
    return _protobuf_as(header) == "" and protobuf.kind_of(plural) is not None


def view_for(resource, header, is_list):
    """The View that this request asked for. A watch shows single objects."""
    wanted = _protobuf_as(header)
    proto = None if wanted is None else protobuf.kind_of(resource.plural, wanted)
    if proto:
        header = header.replace(protobuf.MEDIA_TYPE, "application/json")
    wanted, version = negotiate(header)
    if not wanted:
        return View(resource, proto=proto)
    if wanted.endswith("List") != is_list:
        raise not_acceptable(f"you requested {wanted}, but the requested object is another")
    return View(resource, _FORMS[wanted], version, proto)
