"""What the API server checks before it stores an object, as far as our programs could get it wrong."""

import re

from .errors import Causes, bad_request

ANNOTATIONS_MAX_BYTES = 256 * 1024
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
# Without regard to case: the real server lower-cases the key before it looks.
_KEY = re.compile(rf"({_SUBDOMAIN}/)?([a-z0-9]([-a-z0-9_.]{{0,61}}[a-z0-9])?)", re.IGNORECASE)
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
_TIMES = {
    "leases": ((("spec", "acquireTime"), _MICRO_TIME), (("spec", "renewTime"), _MICRO_TIME)),
}


def decode_check(resource, obj):
    """What fails already while Go decodes the JSON into its struct: 400."""

    def wrong(why):
        return bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a '
            f"{resource.kind}: {why}"
        )

    if not isinstance(obj, dict) or not isinstance(obj.get("metadata", {}), dict):
        raise wrong("json: cannot unmarshal into Go value")
    for field in ("labels", "annotations"):
        values = obj.get("metadata", {}).get(field) or {}
        if not isinstance(values, dict):
            raise wrong(f"json: cannot unmarshal into Go struct field {field} of a map")
        for value in values.values():
            if not isinstance(value, str):
                kind = "number" if isinstance(value, (int, float)) else type(value).__name__
                raise wrong(f"json: cannot unmarshal {kind} into Go struct field {field}")
    for path, pattern in _TIMES.get(resource.plural, ()):
        value = obj
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None and not pattern.fullmatch(str(value)):
            raise wrong(f'parsing time "{value}"')


def validate(resource, obj):
    """What fails in validation: 422, every cause listed."""
    causes = Causes()
    metadata = obj["metadata"]
    name = metadata.get("name", "")
    if not name:
        causes.required("metadata.name", "name or generateName is required")
    elif not re.fullmatch(_SUBDOMAIN, name) or len(name) > 253:
        causes.invalid("metadata.name", name, "a lowercase RFC 1123 subdomain must consist of ..")
    annotations = metadata.get("annotations") or {}
    for key in annotations:
        if not _KEY.fullmatch(key):
            causes.invalid("metadata.annotations", key, "no qualified name")
    if sum(len(k.encode()) + len(v.encode()) for k, v in annotations.items()) > (
        ANNOTATIONS_MAX_BYTES
    ):
        causes.add("FieldValueTooLong", "metadata.annotations", "Too long")
    if resource.plural == "leases" and (obj.get("spec") or {}).get("leaseDurationSeconds", 1) <= 0:
        causes.invalid("spec.leaseDurationSeconds", 0, "must be greater than 0")
    if resource.plural == "pods" and not obj.get("spec", {}).get("containers"):
        causes.required("spec.containers", "")
    causes.raise_if_any(resource.kind, resource.group, name)
