"""The API server's way of saying no: Status objects.

Every refusal is an ApiError; the request handler turns it into the Status body that client-go (and
our C client) reads. Messages follow the real server's, since people grep for them.
"""


import json


class ApiError(Exception):
    def __init__(self, code, reason, message, details=None, headers=(), metadata=None):
        super().__init__(message)
        self.code = code
        self.headers = headers
        self.status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata or {},
            "status": "Failure",
            "message": message,
        }
        if reason:
            self.status["reason"] = reason
        if details is not None:
            self.status["details"] = details
        self.status["code"] = code


# The reason that the real server gives with each code, for faults on command.
REASON_BY_CODE = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def _qualified(resource):
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


def _details(resource, name, **more):
    details = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.plural
    details.update(more)
    return details


def bad_request(message):
    return ApiError(400, "BadRequest", message)


def unauthorized():
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(message, details):
    return ApiError(403, "Forbidden", message, details)


def not_found(resource, name):
    return ApiError(
        404, "NotFound", f'{_qualified(resource)} "{name}" not found', _details(resource, name)
    )


class NotServed(Exception):
    """Nobody serves this group: the answer is not a Status but Go's plain text."""

    TEXT = b"404 page not found\n"


def no_such_path():
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def no_such_method():
    return ApiError(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        {},
    )


def not_acceptable(message):
    return ApiError(406, "NotAcceptable", message)


def already_exists(resource, name):
    return ApiError(
        409,
        "AlreadyExists",
        f'{_qualified(resource)} "{name}" already exists',
        _details(resource, name),
    )


def conflict(resource, name, why=None):
    why = why or (
        "the object has been modified; please apply your changes to the latest version and try "
        "again"
    )
    return ApiError(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {_qualified(resource)} "{name}": {why}',
        _details(resource, name),
    )


def wrong_precondition(resource, metadata, field, wanted):
    """`field` is uid or resourceVersion; the words are those of the storage below the API."""
    name, shown = metadata["name"], "UID" if field == "uid" else "ResourceVersion"
    place = f"{metadata['namespace']}/{name}" if "namespace" in metadata else name
    return conflict(
        resource,
        name,
        f"StorageError: invalid object, Code: 4, Key: /registry/{resource.plural}/{place}, "
        f"ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {shown} in precondition: "
        f"{wanted}, {shown} in object meta: {metadata[field]}",
    )


def expired(message, metadata=None):
    return ApiError(410, "Expired", message, metadata=metadata)


def too_old(wanted, oldest):
    return expired(f"too old resource version: {wanted} ({oldest})")


def too_large_version(wanted, current):
    return ApiError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {wanted}, current: {current}",
        {
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ],
            "retryAfterSeconds": 1,
        },
        headers=[("Retry-After", "1")],
    )


def too_large_body(limit_bytes):
    return ApiError(
        413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit_bytes}"
    )


def unsupported_media_type():
    why = "the body of the request was in an unknown format"
    return ApiError(415, "UnsupportedMediaType", why)


class Causes:
    """Field errors of one object, collected before they are raised together as one 422."""

    def __init__(self):
        self.rows = []

    def add(self, reason, field, message):
        self.rows.append({"reason": reason, "message": message, "field": field})

    def invalid(self, field, value, why):
        shown = json.dumps(value, ensure_ascii=False)
        self.add("FieldValueInvalid", field, f"Invalid value: {shown}: {why}")

    def required(self, field, why):
        self.add("FieldValueRequired", field, f"Required value: {why}")

    def raise_if_any(self, kind, group, name):
        if not self.rows:
            return
        texts = [f"{row['field']}: {row['message']}" for row in self.rows]
        text = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
        qualified = f"{kind}.{group}" if group else kind
        details = {"name": name} if name else {}
        if group:
            details["group"] = group
        if kind:
            details["kind"] = kind
        details["causes"] = self.rows
        raise ApiError(422, "Invalid", f'{qualified} "{name}" is invalid: {text}', details)
