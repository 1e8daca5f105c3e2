"""What the API server checks before it stores an object."""

import re

from .errors import Causes, bad_request

ANNOTATIONS_MAX_BYTES = 256 * 1024
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"

_NAME_RULE = (
    "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.',"
    " and must start and end with an alphanumeric character"
)


def _mismatch(rule, pattern, *examples):
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"


def _too_long(value, limit):
    return [f"must be no more than {limit} bytes"] if len(value.encode()) > limit else []


def subdomain_errors(value):
    """Why it cannot be an object's name."""
    errors = _too_long(value, 253)
    if not re.fullmatch(_SUBDOMAIN, value):
        errors.append(_mismatch(_SUBDOMAIN_RULE, _SUBDOMAIN, "example.com"))
    return errors


def label_key_errors(key):
    """Why it cannot be the key of a label or, except for its case, of an annotation."""
    name_help = f"must {_NAME_RULE}", _NAME, "MyName", "my.name", "123-abc"
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        optional = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return ["a valid label key " + _mismatch(*name_help) + optional]
    errors = []
    if slash:
        of_prefix = subdomain_errors(prefix) if prefix else ["must be non-empty"]
        errors += [f"prefix part {why}" for why in of_prefix]
    of_name = _too_long(name, 63) if name else ["must be non-empty"]
    if not re.fullmatch(_NAME, name):
        of_name.append(_mismatch(*name_help))
    return errors + [f"name part {why}" for why in of_name]


def label_value_errors(value):
    errors = _too_long(value, 63)
    if value and not re.fullmatch(_NAME, value):
        rule = f"a valid label must be an empty string or {_NAME_RULE}"
        errors.append(_mismatch(rule, f"({_NAME})?", "MyValue", "my_value", "12345"))
    return errors


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
        values = obj.get("metadata", {}).get(field)
        if values is not None and not isinstance(values, dict):
            raise wrong(
                f"json: cannot unmarshal into Go struct field ObjectMeta.metadata.{field} "
                "of type map[string]string"
            )
        for value in (values or {}).values():
            if not isinstance(value, str):
                kind = "number" if isinstance(value, (int, float)) else type(value).__name__
                raise wrong(
                    f"json: cannot unmarshal {kind} into Go struct field "
                    f"ObjectMeta.metadata.{field} of type string"
                )
    for path in _MICRO_TIMES.get(resource.plural, ()):
        _check_time(obj, path, _MICRO_TIME, _MICRO_LAYOUT, wrong)
    for path in _TIMES.get(resource.plural, ()):
        _check_time(obj, path, _TIME, "2006-01-02T15:04:05Z07:00", wrong)


_MICRO_TIMES = {
    "leases": (("spec", "acquireTime"), ("spec", "renewTime")),
    "events": (("eventTime",),),
}
_TIMES = {"events": (("firstTimestamp",), ("lastTimestamp",))}


def _where_it_fails(text, layout):
    """What of a time could not be read, and as which part of the layout."""
    for part in re.findall(r"\.0+|Z07:00|\d+|.", layout):
        shape = r"Z|[+-]\d\d:\d\d" if part == "Z07:00" else re.sub(r"\d", r"\\d", re.escape(part))
        match = re.match(shape, text)
        if not match:
            return text, part
        text = text[match.end() :]
    return text, ""


def _check_time(obj, path, pattern, layout, wrong):
    value = obj
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if value is None:
        return
    if not isinstance(value, str) or not pattern.fullmatch(value):
        rest, wanted = _where_it_fails(str(value), layout)
        raise wrong(f'parsing time "{value}" as "{layout}": cannot parse "{rest}" as "{wanted}"')


def validate(resource, obj):
    """What fails in validation: 422, every cause listed."""
    causes = Causes()
    metadata = obj["metadata"]
    name = metadata.get("name", "")
    if not name:
        causes.required("metadata.name", "name or generateName is required")
    for why in subdomain_errors(name) if name else ():
        causes.invalid("metadata.name", name, why)
    _validate_annotations(metadata.get("annotations") or {}, causes)
    _validate_labels(metadata.get("labels") or {}, causes)
    check = _KINDS.get(resource.plural)
    if check:
        check(obj, causes)
    causes.raise_if_any(resource.kind, resource.group, name)


def _validate_annotations(annotations, causes):
    total = 0
    for key, value in annotations.items():
        # The real server lower-cases the key before it looks.
        for why in label_key_errors(key.lower()):
            causes.invalid("metadata.annotations", key, why)
        total += len(key.encode()) + len(value.encode())
    if total > ANNOTATIONS_MAX_BYTES:
        causes.add(
            "FieldValueTooLong",
            "metadata.annotations",
            f"Too long: may not be more than {ANNOTATIONS_MAX_BYTES} bytes",
        )


def _validate_labels(labels, causes):
    for key, value in labels.items():
        for why in label_key_errors(key):
            causes.invalid("metadata.labels", key, why)
        for why in label_value_errors(value):
            causes.invalid("metadata.labels", value, why)


def _validate_lease(obj, causes):
    spec = obj.get("spec") or {}
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        causes.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    transitions = spec.get("leaseTransitions")
    if transitions is not None and transitions < 0:
        causes.invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")


def _validate_pod(obj, causes):
    if not obj.get("spec", {}).get("containers"):
        causes.required("spec.containers", "")


_KINDS = {"leases": _validate_lease, "pods": _validate_pod}

# The parts of a pod's spec that may change after creation.
_POD_SPEC_MUTABLE = {"activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds"}


def validate_update(resource, old, new):
    """What may not change."""
    causes = Causes()
    name = new["metadata"]["name"]
    if resource.plural == "pods" and old.get("spec") is not new.get("spec"):

        def frozen(obj):
            spec = {k: v for k, v in obj.get("spec", {}).items() if k not in _POD_SPEC_MUTABLE}
            for field in ("containers", "initContainers"):
                if field in spec:
                    spec[field] = [{**c, "image": ""} for c in spec[field]]
            return spec

        if frozen(old) != frozen(new):
            causes.forbidden("spec", "pod updates may not change fields other than images")
    causes.raise_if_any(resource.kind, resource.group, name)
