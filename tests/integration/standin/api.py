"""Requests against the resources: routing, verbs, and the rules of list and watch."""

import asyncio
import base64
import binascii
import json
import random
import secrets
import string
import uuid
import zlib

from . import discovery, patch, validate
from .auth import authorize
from .errors import (
    ApiError,
    Causes,
    already_exists,
    bad_request,
    conflict,
    expired,
    method_not_allowed,
    no_such_path,
    not_acceptable,
    not_found,
    too_large_body,
    too_large_version,
    unsupported_media_type,
)
from .negotiate import negotiate, view_for
from .selection import compile_selector
from .store import View, Watcher, dumps, page

BODY_MAX_BYTES = 3 * 1024 * 1024
GZIP_MIN_BYTES = 128 * 1024
HEADERS = [("Cache-Control", "no-cache, private")]


class Route:
    """What a request is about, as the authorizer and the statistics see it."""

    __slots__ = ("verb", "group", "version", "namespace", "plural", "name", "subresource", "user")

    def __init__(self, verb, group="", version="", namespace="", plural="", name="", sub=""):
        self.verb = verb
        self.group = group
        self.version = version
        self.namespace = namespace
        self.plural = plural
        self.name = name
        self.subresource = sub
        self.user = None


_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def route_of(request):
    """Parse the path; a path that names no resource has an empty `plural`."""
    parts = request.path.strip("/").split("/")
    if parts[0] == "api" and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        verb = "get" if request.method in ("GET", "HEAD") else request.method.lower()
        return Route(verb)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) >= 3 and rest[2] != "status":
        namespace, rest = rest[1], rest[2:]
    plural = rest[0]
    name = rest[1] if len(rest) > 1 else ""
    subresource = "/".join(rest[2:])
    verb = _VERBS.get(request.method)
    if verb is None:
        if request.method not in ("GET", "HEAD"):
            verb = request.method.lower()
        elif request.param("watch", "") in ("1", "true"):
            verb = "watch"
        else:
            verb = "get" if name else "list"
    elif verb == "delete" and not name:
        verb = "deletecollection"
    return Route(verb, group, version, namespace, plural, name, subresource)


def _loads(body):
    def no_constant(text):
        raise ValueError(f"invalid character {text[0]!r} looking for beginning of value")

    try:
        return json.loads(body, parse_constant=no_constant)
    except (ValueError, UnicodeDecodeError) as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None


def _revision(text, name="resourceVersion"):
    if not text.isdigit():
        raise bad_request(f'{name}: Invalid value: "{text}": strconv.ParseUint: invalid syntax')
    return int(text)


class Api:
    def __init__(self, store, authenticator, options):
        self.store = store
        self.registry = store.registry
        self.authenticator = authenticator
        self.options = options

    # -- entry -------------------------------------------------------------------------------

    def handle(self, request):
        """Answer one request; `request.info` is its Route."""
        try:
            self._handle(request, request.info)
        except ApiError as error:
            self.refuse(request, error)

    def refuse(self, request, error):
        request.reply(
            error.code,
            self._pretty(request, dumps(error.status)),
            headers=[*HEADERS, *error.headers],
        )

    def _handle(self, request, route):
        route.user = self.authenticator.user_of(request)
        authorize(
            route.user,
            route.verb,
            route.group,
            route.plural,
            route.subresource,
            route.namespace,
            route.name,
            request.path,
        )
        if not route.plural:
            self._not_a_resource(request)
            return
        resource = self.registry.find(route.group, route.version, route.plural)
        if resource is None or (resource.namespaced and not route.namespace and route.name):
            if not (route.plural == "bindings" and route.verb == "create"):
                raise no_such_path()
        if route.namespace and resource is not None and not resource.namespaced:
            raise no_such_path()
        if len(request.body) > BODY_MAX_BYTES:
            raise too_large_body(BODY_MAX_BYTES)
        if route.plural == "pods" and route.subresource == "binding" or route.plural == "bindings":
            self._bind(request, route)
            return
        if route.subresource and not (route.subresource == "status" and resource.status):
            raise no_such_path()
        handler = getattr(self, f"_{route.verb}", None)
        if handler is None:
            raise method_not_allowed(resource, route.verb)
        handler(request, route, resource, self.store.of(resource))

    def _not_a_resource(self, request):
        if request.method not in ("GET", "HEAD"):
            raise no_such_path()
        path = request.path
        if path in ("/healthz", "/readyz", "/livez"):
            request.reply(200, b"ok", "text/plain; charset=utf-8")
            return
        found = discovery.answer(self.registry, path)
        if found is None:
            raise no_such_path()
        if not path.startswith("/openapi"):
            try:
                negotiate(request.headers.get("accept"), transforms=False)
            except ApiError:
                if "as=APIGroupDiscoveryList" not in request.headers.get("accept", ""):
                    raise
        self._answer(request, 200, dumps(found))

    # -- answers -----------------------------------------------------------------------------

    @staticmethod
    def _pretty(request, body):
        """The real server indents for people's tools, told by their User-Agent, or when asked."""
        wanted = request.param("pretty")
        if wanted is None:
            agent = request.headers.get("user-agent", "")
            if not agent.startswith(("curl/", "Wget/", "Mozilla/5.0")):
                return body
        elif wanted not in ("1", "true", "True"):
            return body
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False).encode() + b"\n"

    def _answer(self, request, status, body):
        headers = [*HEADERS, ("Audit-Id", str(uuid.UUID(int=random.getrandbits(128))))]
        body = self._pretty(request, body)
        if len(body) > GZIP_MIN_BYTES and request.method in ("GET", "HEAD"):
            accepted = request.headers.get("accept-encoding", "")
            if "gzip" in accepted:
                packer = zlib.compressobj(1, zlib.DEFLATED, 31)
                body = packer.compress(body) + packer.flush()
                headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
        request.reply(status, body, headers=headers)

    def _answer_object(self, request, status, resource, version):
        include = request.param("includeObject", "Metadata")
        view = view_for(resource, request.headers.get("accept"), False, include)
        self._answer(request, status, view.single(version))

    def _found(self, collection, route):
        version = collection.get(route.namespace, route.name)
        if version is None:
            raise not_found(collection.resource, route.name)
        return version

    # -- get, list, watch --------------------------------------------------------------------

    def _get(self, request, route, resource, collection):
        self._answer_object(request, 200, resource, self._found(collection, route))

    def _selector(self, request, route, resource):
        return compile_selector(
            resource,
            request.param("labelSelector"),
            request.param("fieldSelector"),
            route.namespace or None,
            route.name or None,
        )

    def _list_options(self, request, watch):
        """Check the combination of list options as the real server does; 422 for a wrong one."""
        version = request.param("resourceVersion", "")
        match = request.param("resourceVersionMatch", "")
        token = request.param("continue", "")
        initial = request.param("sendInitialEvents")
        causes = Causes()
        if initial is not None:
            if not watch:
                causes.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
            elif not self.options.watch_list:
                causes.forbidden(
                    "sendInitialEvents",
                    "sendInitialEvents is forbidden for watch unless the WatchList feature gate "
                    "is enabled",
                )
            elif match != "NotOlderThan":
                causes.forbidden(
                    "resourceVersionMatch",
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                )
        elif match and watch:
            causes.forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )
        if match and not watch:
            if token:
                causes.forbidden(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden when continue is provided",
                )
            if not version:
                causes.forbidden(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                )
            if match not in ("Exact", "NotOlderThan"):
                causes.add(
                    "FieldValueNotSupported",
                    "resourceVersionMatch",
                    f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan"',
                )
            if match == "Exact" and version == "0":
                causes.forbidden(
                    "resourceVersionMatch",
                    'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
                )
        causes.raise_if_any("ListOptions", "meta.k8s.io", "")
        return version, match, token

    def _list(self, request, route, resource, collection):
        include = request.param("includeObject", "Metadata")
        view = view_for(resource, request.headers.get("accept"), True, include)
        matches = self._selector(request, route, resource)
        version, match, token = self._list_options(request, watch=False)
        limit_text = request.param("limit", "") or "0"
        if not limit_text.lstrip("-").isdigit():
            raise bad_request(f'strconv.ParseInt: parsing "{limit_text}": invalid syntax')
        limit = max(0, int(limit_text))
        after = None
        store = self.store
        if token:
            revision, after, versions = self._continued(token, version, collection, limit)
        elif version in ("", "0"):
            revision, versions = store.revision, collection.all()
            if version == "0":
                # Served from the watch cache, which knows no pages.
                limit = 0
        else:
            wanted = _revision(version)
            if wanted > store.revision:
                raise too_large_version(wanted, store.revision)
            if match == "Exact" or (limit and not match):
                revision, versions = wanted, collection.at(wanted)
            else:
                revision, versions = store.revision, collection.all()
        shown, last, remaining = page(versions, matches, after, limit)
        metadata = {"resourceVersion": str(revision)}
        if last is not None:
            store.keep_snapshot(resource, revision, versions)
            metadata["continue"] = _continue_token(revision, last)
            if not request.param("labelSelector") and not request.param("fieldSelector"):
                metadata["remainingItemCount"] = remaining
        self._answer(request, 200, view.list(metadata, shown))

    def _continued(self, token, version, collection, limit):
        """(revision, key to go on after, versions) of a continue token."""
        if version not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        try:
            parsed = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
            revision, after = parsed["rv"], tuple(parsed["start"])
        except (ValueError, KeyError, TypeError, binascii.Error):
            raise bad_request("continue key is not valid") from None
        if revision < 0:
            return self.store.revision, after, collection.all()
        versions = self.store.snapshot(collection.resource, revision)
        if versions is None:
            inconsistent = _continue_token(-1, after)
            raise expired(
                "The provided continue parameter is too old to display a consistent list result. "
                "You can start a new list without the continue parameter, or use the continue "
                "token in this response to retrieve the remainder of the results. Continuing with "
                "the provided token results in an inconsistent list - objects that were created, "
                "modified, or deleted between the time the first chunk was returned and now may "
                "show up in the list.",
                metadata={"continue": inconsistent},
            )
        return revision, after, versions

    def _watch(self, request, route, resource, collection):
        include = request.param("includeObject", "Metadata")
        view = view_for(resource, request.headers.get("accept"), False, include)
        matches = self._selector(request, route, resource)
        version, _, _ = self._list_options(request, watch=True)
        timeout_text = request.param("timeoutSeconds", "")
        timeout_s = int(timeout_text) if timeout_text.isdigit() else 0
        if timeout_s <= 0:
            timeout_s = random.uniform(1800, 3600)
        initial = request.param("sendInitialEvents") in ("1", "true")
        bookmarks = request.param("allowWatchBookmarks") in ("1", "true")
        about = {
            "path": request.target,
            "user_agent": request.headers.get("user-agent", ""),
            "opened_at_unix": request.at_unix,
        }
        watcher = Watcher(self.store, collection, view, matches, 0, bookmarks, about)
        try:
            if version in ("", "0") or initial:
                events = []
                self._initial_events(watcher, collection, matches)
                if initial:
                    watcher.send_bookmark(initial_events_end=True)
            else:
                watcher.since = _revision(version)
                events = list(collection.events_since(watcher.since))
        except ApiError as error:
            # The status line is out before the watch cache looks: 200 and an ERROR event.
            stream = request.stream(headers=HEADERS)
            stream.write(b'{"type":"ERROR","object":%b}\n' % dumps(error.status))
            stream.finish()
            return
        watcher.stream = request.stream(headers=HEADERS)
        for event in events:
            watcher.offer(event)
        collection.watchers.add(watcher)
        loop = asyncio.get_running_loop()
        timers = [loop.call_later(timeout_s, watcher.finish)]
        if bookmarks and timeout_s > 2:
            timers.append(loop.call_later(timeout_s - 2, self._last_bookmark, watcher))

        def closed():
            collection.watchers.discard(watcher)
            for timer in timers:
                timer.cancel()

        watcher.stream.on_close = closed

    def _last_bookmark(self, watcher):
        if self.store.bookmarks_on:
            watcher.send_bookmark()

    @staticmethod
    def _initial_events(watcher, collection, matches):
        """A watch from nowhere begins with everything that exists, as ADDED."""
        for version in collection.all():
            if matches is None or matches(version.obj):
                with_columns = watcher.first and watcher.view.form == "table"
                watcher.first = False
                watcher.send("ADDED", watcher.view.single(version, with_columns))
                watcher.events_sent += 1
        watcher.since = watcher.store.revision

    # -- writes ------------------------------------------------------------------------------

    @staticmethod
    def _manager(request):
        manager = request.param("fieldManager")
        if manager is None:
            manager = request.headers.get("user-agent", "unknown").split("/")[0][:128]
        if len(manager) > 128:
            causes = Causes()
            causes.add("FieldValueTooLong", "fieldManager", "Too long: may not be longer than 128")
            causes.raise_if_any("PatchOptions", "meta.k8s.io", "")
        return manager

    @staticmethod
    def _dry_run(request):
        value = request.param("dryRun")
        if value not in (None, "All"):
            causes = Causes()
            causes.add("FieldValueNotSupported", "dryRun", f'Unsupported value: "{value}"')
            causes.raise_if_any("Options", "meta.k8s.io", "")
        return value == "All"

    def _body(self, request, resource, route):
        """The object that a POST or PUT carries, checked against the URL, without kind."""
        media = request.headers.get("content-type", "application/json").split(";")[0].strip()
        if media != "application/json":
            raise unsupported_media_type(["application/json"])
        obj = _loads(request.body)
        validate.decode_check(resource, obj)
        kind = obj.pop("kind", resource.kind)
        api_version = obj.pop("apiVersion", resource.group_version)
        if (kind, api_version) != (resource.kind, resource.group_version):
            raise bad_request(
                f"the object provided is unrecognized (must be of type {resource.kind}): "
                f"{api_version}, Kind={kind}"
            )
        metadata = obj.setdefault("metadata", {})
        if route.namespace and metadata.setdefault("namespace", route.namespace) != route.namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        return {"metadata": obj.pop("metadata"), **obj}

    def _create(self, request, route, resource, collection):
        if route.name:
            raise method_not_allowed(resource, "create")
        if resource.namespaced and not route.namespace:
            raise method_not_allowed(resource, "create")
        obj = self._body(request, resource, route)
        self._store_new(request, route, resource, collection, obj)

    def _store_new(self, request, route, resource, collection, obj):
        metadata = obj["metadata"]
        if metadata.get("resourceVersion"):
            raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
        if not metadata.get("name") and metadata.get("generateName"):
            alphabet = "bcdfghjklmnpqrstvwxz2456789"
            metadata["name"] = metadata["generateName"] + "".join(
                secrets.choice(alphabet) for _ in range(5)
            )
        if resource.namespaced:
            namespaces = self.store.named("namespaces")
            if namespaces.get("", route.namespace) is None:
                raise not_found(namespaces.resource, route.namespace)
        self.complete(resource, obj)
        validate.validate(resource, obj)
        if collection.get(route.namespace, metadata["name"]) is not None:
            raise already_exists(resource, metadata["name"])
        patch.own(None, obj, self._manager(request), resource.group_version)
        if self._dry_run(request):
            version = _unstored(obj)
        else:
            version = collection.put(obj)
        self._answer_object(request, 201, resource, version)

    @staticmethod
    def complete(resource, obj):
        """Fill in what the server sets on every new object."""
        metadata = obj["metadata"]
        metadata.pop("managedFields", None)
        metadata["uid"] = str(uuid.UUID(int=random.getrandbits(128), version=4))
        metadata["creationTimestamp"] = patch.now_rfc3339()
        if resource.generation:
            metadata["generation"] = 1
        if resource.status and not resource.typed:
            obj.pop("status", None)
        if resource.plural == "pods":
            status = obj.setdefault("status", {})
            status.setdefault("phase", "Pending")
            status.setdefault("qosClass", "BestEffort")
            obj.get("spec", {}).setdefault("schedulerName", "default-scheduler")
        elif resource.plural == "namespaces":
            obj.setdefault("status", {"phase": "Active"})

    def _update(self, request, route, resource, collection):
        if not route.name:
            raise method_not_allowed(resource, "update")
        new = self._body(request, resource, route)
        if new["metadata"].get("name") != route.name:
            raise bad_request(
                f"the name of the object ({new['metadata'].get('name', '')}) does not match the "
                f"name on the URL ({route.name})"
            )
        version = collection.get(route.namespace, route.name)
        if version is None:
            if resource.create_on_update and not route.subresource:
                new["metadata"].pop("resourceVersion", None)
                self._store_new(request, route, resource, collection, new)
                return
            raise not_found(resource, route.name)
        wanted = new["metadata"].get("resourceVersion", "")
        if not wanted and not resource.unconditional_update:
            causes = Causes()
            causes.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            causes.raise_if_any(resource.kind, resource.group, route.name)
        self._store_change(request, route, resource, collection, version, new)

    def _patch(self, request, route, resource, collection):
        if not route.name:
            raise method_not_allowed(resource, "patch")
        media = request.headers.get("content-type", "").split(";")[0].strip()
        accepted = [patch.JSON, patch.MERGE] + ([patch.STRATEGIC] if resource.typed else [])
        if media not in accepted:
            raise unsupported_media_type(accepted)
        try:
            change = json.loads(request.body, parse_constant=_no_constant)
        except ValueError as error:
            raise bad_request(f"error decoding patch: {error}") from None
        version = self._found(collection, route)
        if media == patch.JSON:
            new = patch.apply_json_patch(version.obj, change)
        elif not isinstance(change, dict):
            raise bad_request("error decoding patch: json: cannot unmarshal into Go value")
        else:
            for field, wanted in (("kind", resource.kind), ("apiVersion", resource.group_version)):
                if change.pop(field, wanted) != wanted:
                    raise bad_request(f"{field} does not match the object")
            new = patch.merge(version.obj, change, media == patch.STRATEGIC)
        try:
            validate.decode_check(resource, new)
        except ApiError as error:
            message = error.status["message"]
            causes = Causes()
            causes.invalid("patch", request.body.decode(errors="replace")[:1000], message)
            causes.raise_if_any(resource.kind, resource.group, "")
        metadata = new.setdefault("metadata", {})
        if metadata.get("name") != route.name:
            raise bad_request(
                f"the name of the object ({metadata.get('name')}) does not match the name on the "
                f"URL ({route.name})"
            )
        self._store_change(request, route, resource, collection, version, new)

    def _store_change(self, request, route, resource, collection, version, new):
        """The common end of PUT and PATCH: preconditions, strategy, validation, no-op, store."""
        old = version.obj
        new = {**new, "metadata": dict(new["metadata"])}
        metadata = new["metadata"]
        uid = metadata.get("uid") or old["metadata"]["uid"]
        if uid != old["metadata"]["uid"]:
            raise conflict(
                resource,
                route.name,
                f"Precondition failed: UID in precondition: {uid}, UID in object meta: "
                f"{old['metadata']['uid']}",
            )
        wanted = metadata.get("resourceVersion") or old["metadata"]["resourceVersion"]
        if not isinstance(wanted, str) or not wanted.isdigit():
            causes = Causes()
            causes.invalid("metadata.resourceVersion", wanted, "must be an unsigned integer")
            causes.raise_if_any(resource.kind, resource.group, route.name)
        if wanted != old["metadata"]["resourceVersion"]:
            raise conflict(resource, route.name)
        for field in ("uid", "creationTimestamp", "resourceVersion", "generation", "namespace"):
            if field in old["metadata"]:
                metadata[field] = old["metadata"][field]
            else:
                metadata.pop(field, None)
        for field in ("annotations", "labels"):
            if field in metadata and not metadata[field]:
                del metadata[field]
        self._keep_other_half(resource, route, old, new)
        # Ownership is the server's business; what a client sends of it is not looked at.
        metadata["managedFields"] = old["metadata"].get("managedFields", [])
        validate.validate(resource, new)
        validate.validate_update(resource, old, new)
        if new == old:
            # No write, no event, no new revision.
            self._answer_object(request, 200, resource, version)
            return
        if resource.generation and new.get("spec") != old.get("spec"):
            metadata["generation"] = old["metadata"].get("generation", 0) + 1
        patch.own(old, new, self._manager(request), resource.group_version, route.subresource)
        stored = _unstored(new) if self._dry_run(request) else collection.put(new)
        self._answer_object(request, 200, resource, stored)

    @staticmethod
    def _keep_other_half(resource, route, old, new):
        """Writes to the object leave the status alone, writes to /status everything else."""
        if not resource.status:
            return
        if route.subresource != "status":
            kept = ["status"]
        else:
            kept = [key for key in {*old, *new} if key not in ("status", "metadata")]
            if not resource.status_keeps_metadata:
                kept.append("metadata")
        for key in kept:
            if key in old:
                new[key] = dict(old[key]) if key == "metadata" else old[key]
            else:
                new.pop(key, None)

    # -- delete and bind ---------------------------------------------------------------------

    def _delete(self, request, route, resource, collection):
        version = self._found(collection, route)
        options = _loads(request.body) if request.body else {}
        metadata = version.obj["metadata"]
        wanted = options.get("preconditions") or {}
        for field, shown in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
            if wanted.get(field) and wanted[field] != metadata[field]:
                raise conflict(
                    resource,
                    route.name,
                    f"Precondition failed: {shown} in precondition: {wanted[field]}, {shown} in "
                    f"object meta: {metadata[field]}",
                )
        if not self._dry_run(request):
            version = collection.remove(route.namespace, route.name)
        if resource.plural == "pods":
            self._answer_object(request, 200, resource, version)
            return
        details = {"name": route.name}
        if resource.group:
            details["group"] = resource.group
        details.update(kind=resource.plural, uid=metadata["uid"])
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": details,
        }
        self._answer(request, 200, dumps(status))

    def _deletecollection(self, request, route, resource, collection):
        matches = self._selector(request, route, resource)
        gone = [v for v in collection.all() if matches is None or matches(v.obj)]
        for version in gone:
            metadata = version.obj["metadata"]
            collection.remove(metadata.get("namespace"), metadata["name"])
        metadata = {"resourceVersion": str(self.store.revision)}
        self._answer(request, 200, View(resource).list(metadata, gone))

    def _bind(self, request, route):
        if route.verb != "create":
            raise no_such_path()
        binding = _loads(request.body)
        pods = self.store.named("pods")
        name = route.name or binding.get("metadata", {}).get("name", "")
        if binding.get("metadata", {}).get("name", name) != name:
            raise bad_request("the name of the object does not match the name on the URL")
        version = pods.get(route.namespace, name)
        target = binding.get("target") or {}
        causes = Causes()
        if target.get("kind", "Node") not in ("", "Node"):
            causes.add(
                "FieldValueNotSupported",
                "target.kind",
                f'Unsupported value: "{target["kind"]}": supported values: "Node", "<empty>"',
            )
        if not target.get("name"):
            causes.required("target.name", "")
        causes.raise_if_any("Binding", "", name)
        if version is None:
            raise not_found(pods.resource, name)
        uid = binding.get("metadata", {}).get("uid")
        if uid and uid != version.obj["metadata"]["uid"]:
            raise conflict(
                pods.resource,
                name,
                f"Precondition failed: UID in precondition: {uid}, UID in object meta: "
                f"{version.obj['metadata']['uid']}",
            )
        if version.obj["spec"].get("nodeName"):
            error = conflict(
                pods.resource,
                name,
                f'pod {name} is already assigned to node "{version.obj["spec"]["nodeName"]}"',
            )
            error.status["message"] = error.status["message"].replace("pods ", "pods/binding ", 1)
            raise error
        if not self._dry_run(request):
            bind(pods, version, target["name"], binding["metadata"].get("annotations"))
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "code": 201,
        }
        self._answer(request, 201, dumps(status))


def bind(pods, version, node, annotations=None):
    """Assign a pod: node name and condition in one step, hence in one event."""
    old = version.obj
    status = dict(old.get("status", {}))
    status["conditions"] = [
        c for c in status.get("conditions", ()) if c.get("type") != "PodScheduled"
    ] + [
        {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": patch.now_rfc3339(),
        }
    ]
    metadata = dict(old["metadata"])
    if annotations:
        metadata["annotations"] = {**metadata.get("annotations", {}), **annotations}
    spec = {**old["spec"], "nodeName": node}
    return pods.put({**old, "metadata": metadata, "spec": spec, "status": status})


def _unstored(obj):
    from .store import Version

    return Version(obj, 0)


def _no_constant(text):
    raise ValueError(f"invalid character {text[0]!r} looking for beginning of value")


def _continue_token(revision, last):
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": last})
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
