"""Requests against the resources: routing, verbs, and the rules of list and watch."""

import asyncio
import base64
import binascii
import http.client
import json
import random
import re
import uuid
import zlib

from . import protobuf
from .auth import authorize
from .errors import (
    ApiError,
    NotServed,
    bad_request,
    expired,
    no_such_method,
    no_such_path,
    not_found,
    too_large_body,
    too_large_version,
)
from .negotiate import has_errors_in_protobuf, view_for
from .node_metrics import GROUP as METRICS_GROUP
from .node_metrics import NodeMetrics
from .selection import compile_selector
from .store import Watcher, dumps, page
from .writes import Writes

BODY_MAX_BYTES = 3 * 1024 * 1024
GZIP_MIN_BYTES = 128 * 1024
VERSION = {"major": "1", "minor": "37", "gitVersion": "v1.37.2-standin"}
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


class Api(Writes):
    def __init__(self, store, authenticator):
        self.store = store
        self.registry = store.registry
        self.authenticator = authenticator
        self.node_metrics = NodeMetrics()

    # -- entry -------------------------------------------------------------------------------

    def handle(self, request):
        """Answer one request; `request.info` is its Route."""
        try:
            self._handle(request, request.info)
        except ApiError as error:
            self.refuse(request, error)
        except NotServed:
            request.reply(404, NotServed.TEXT, "text/plain; charset=utf-8", HEADERS)

    def refuse(self, request, error):
        headers = [*HEADERS, *error.headers]
        accept = request.headers.get("accept")
        if has_errors_in_protobuf(request.info.plural, accept):
            body = protobuf.status(error.status)
            request.reply(error.code, body, protobuf.MEDIA_TYPE, headers=headers)
            return
        request.reply(error.code, dumps(error.status) + b"\n", headers=headers)

    def _handle(self, request, route):
        route.user = self.authenticator.user_of(request)
        authorize(
            route.user,
            route.verb,
            route.group,
            route.plural,
            route.subresource,
            route.namespace,
            route.name or _selected_name(request, route),
            request.path,
        )
        if not route.plural:
            self._not_a_resource(request)
            return
        if route.group == METRICS_GROUP:
            self._node_metrics(request, route)
            return
        if route.plural == "pods" and route.subresource.startswith("proxy/"):
            self._forward(request, route)
            return
        resource = self.registry.find(route.group, route.version, route.plural)
        if resource is None or (resource.namespaced and not route.namespace and route.name):
            if not (route.plural == "bindings" and route.verb == "create"):
                raise self._unknown(route)
        if route.namespace and resource is not None and not resource.namespaced:
            raise self._unknown(route)
        if len(request.body) > BODY_MAX_BYTES:
            raise too_large_body(BODY_MAX_BYTES)
        if route.plural == "pods" and route.subresource == "binding" or route.plural == "bindings":
            self._bind(request, route)
            return
        if route.subresource and not (route.subresource == "status" and resource.status):
            raise no_such_path()
        handler = getattr(self, f"_{route.verb}", None)
        if handler is None:
            raise no_such_method()
        handler(request, route, resource, self.store.of(resource))

    def _forward(self, request, route):
        """To a port of a pod, which is one of this machine here."""
        port = int(route.name.partition(":")[2])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        target = request.target.partition("/proxy")[2]
        connection.request(request.method, target, request.body)
        answer = connection.getresponse()
        request.reply(answer.status, answer.read(), answer.headers["Content-Type"])
        connection.close()

    def _unknown(self, route):
        """What answers for a path below a group's version that is not there."""
        rows = self.registry.of_version(route.group, route.version)
        return no_such_path() if any(row.typed for row in rows) else NotServed()

    def _node_metrics(self, request, route):
        """Of the server behind the aggregator; see node_metrics.py."""
        asked = (route.version, route.name, route.verb)
        is_there = route.plural in ("nodes", "pods") and asked == ("v1beta1", "", "list")
        if not self.node_metrics.on or not is_there:
            raise NotServed()
        if not self.node_metrics.available:
            request.reply(503, b"service unavailable\n", "text/plain; charset=utf-8")
            return
        nodes = [version.obj for version in self.store.named("nodes").all()]
        is_of_pods = route.plural == "pods"
        found = self.node_metrics.list_pods() if is_of_pods else self.node_metrics.list(nodes)
        self._answer(request, 200, dumps(found))

    def _not_a_resource(self, request):
        if request.method != "GET" or request.path != "/version":
            raise NotServed()
        self._answer(request, 200, dumps(VERSION))

    # -- answers -----------------------------------------------------------------------------

    def _answer(self, request, status, body, media_type="application/json"):
        headers = [*HEADERS, ("Audit-Id", str(uuid.UUID(int=random.getrandbits(128))))]
        if media_type == "application/json":
            body += b"\n"
        if len(body) > GZIP_MIN_BYTES and request.method in ("GET", "HEAD"):
            accepted = request.headers.get("accept-encoding", "")
            if "gzip" in accepted:
                packer = zlib.compressobj(1, zlib.DEFLATED, 31)
                body = packer.compress(body) + packer.flush()
                headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
        request.reply(status, body, media_type, headers=headers)

    def _view(self, request, resource, is_list):
        accept = request.headers.get("accept")
        return view_for(resource, accept, is_list)

    def _answer_object(self, request, status, resource, version):
        view = self._view(request, resource, False)
        self._answer(request, status, view.single(version), view.media_type)

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

    def _list(self, request, route, resource, collection):
        view = self._view(request, resource, True)
        matches = self._selector(request, route, resource)
        version, token = request.param("resourceVersion", ""), request.param("continue", "")
        limit = int(request.param("limit", "") or "0")
        after = None
        store = self.store
        revision, versions = store.revision, collection.all()
        if token:
            revision, after, versions = self._continued(token, version, collection)
        elif version == "0":
            limit = 0  # Served from the watch cache, which knows no pages.
        elif version:
            wanted = int(version)
            if wanted > store.revision:
                raise too_large_version(wanted, store.revision)
        shown, last, remaining = page(versions, matches, after, limit)
        metadata = {"resourceVersion": str(revision)}
        if last is not None:
            store.keep_snapshot(resource, revision, versions)
            metadata["continue"] = _continue_token(revision, last)
            if not request.param("labelSelector") and not request.param("fieldSelector"):
                metadata["remainingItemCount"] = remaining
        self._answer(request, 200, view.list(metadata, shown), view.media_type)

    def _continued(self, token, version, collection):
        """(revision, key to go on after, versions) of a continue token."""
        try:
            parsed = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
            revision, after = int(parsed["rv"]), _key_of(parsed["start"], collection.resource)
        except (ValueError, KeyError, TypeError, binascii.Error) as error:
            raise bad_request(
                f"invalid continue token: continue key is not valid: {error}"
            ) from None
        if version not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
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
        view = self._view(request, resource, False)
        matches = self._selector(request, route, resource)
        version = request.param("resourceVersion", "")
        timeout_text = request.param("timeoutSeconds", "")
        timeout_s = int(timeout_text) if timeout_text.isdigit() else 0
        if timeout_s <= 0:
            timeout_s = random.uniform(1800, 3600)
        # Anybody who watches from nowhere has these by default.
        initial = request.param("sendInitialEvents", str(version in ("", "0"))).lower()
        initial = initial in ("1", "true")
        bookmarks = request.param("allowWatchBookmarks") in ("1", "true")
        about = {
            "path": request.target,
            "user_agent": request.headers.get("user-agent", ""),
            "opened_at_unix": request.at_unix,
        }
        since = int(version) if version else self.store.revision
        watcher = Watcher(self.store, collection, view, matches, 0, bookmarks, about)
        try:
            if initial:
                events = []
                self._initial_events(watcher, collection, matches)
                watcher.send_bookmark(initial_events_end=True)
            else:
                watcher.since = since
                events = list(collection.events_since(watcher.since))
        except ApiError as error:
            # The status line is out before the watch cache looks: 200 and an ERROR event.
            stream = request.stream(content_type=view.stream_type, headers=HEADERS)
            stream.write(view.event("ERROR", view.status(error.status)))
            stream.finish()
            return
        watcher.stream = request.stream(content_type=view.stream_type, headers=HEADERS)
        for event in events:
            watcher.offer(event)
            event.lines.clear()
        collection.watchers.add(watcher)
        loop = asyncio.get_running_loop()
        timers = [loop.call_later(timeout_s, watcher.finish)]
        if bookmarks and timeout_s > 2:
            timers.append(loop.call_later(timeout_s - 2, watcher.send_bookmark))

        def closed():
            collection.watchers.discard(watcher)
            for timer in timers:
                timer.cancel()

        watcher.stream.on_close = closed

    @staticmethod
    def _initial_events(watcher, collection, matches):
        """A watch from nowhere begins with everything that exists, as ADDED."""
        for version in collection.all():
            if matches is None or matches(version.obj):
                watcher.send("ADDED", watcher.view.single(version))
                watcher.events_sent += 1
        watcher.since = watcher.store.revision


def _selected_name(request, route):
    """A list or watch of one object by field selector counts as naming it, for resourceNames."""
    if route.verb not in ("list", "watch", "deletecollection"):
        return ""
    match = re.fullmatch(r"metadata\.name==?([^,=]+)", request.param("fieldSelector", ""))
    return match.group(1) if match else ""


def _continue_token(revision, last):
    """As the real server writes it: what comes first that is larger than the last key."""
    start = "/".join(part for part in last if part) + "\0"
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": start})
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _key_of(start, resource):
    namespace, _, name = start.rstrip("\0").rpartition("/")
    if resource.namespaced != bool(namespace):
        raise ValueError(start)
    return namespace, name
