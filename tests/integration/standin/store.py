"""Objects, revisions, history and the fan-out to watchers.

An object is never changed in place: every write makes a new Version that shares what did not
change. That makes list snapshots (paging) free, and lets the bytes of an unchanged spec and status
be encoded once for all versions of an object. An event is encoded once per (view, type) and the
framed bytes are shared by all its watchers.
"""

import asyncio
import itertools
import json
from bisect import bisect_right, insort
from collections import deque

from . import protobuf
from .errors import too_old
from httpd import frame

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"
FIRST_REVISION = 10000
HISTORY_MAX = 20000  # events that a watch can look back, a resource
SNAPSHOTS_MAX = 256
WATCH_BACKLOG_BYTES = 256 * 1024 * 1024

_encoder = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


def dumps(value):
    return _encoder.encode(value).encode()


class Version:
    """One state of one object: {"metadata": .., the rest..}, without kind and apiVersion."""

    __slots__ = ("obj", "revision", "_metadata", "_rest")

    def __init__(self, obj, revision, like=None):
        """`like` is the version before: what is identical to it is not encoded again."""
        self.obj = obj
        self.revision = revision
        self._metadata = None
        self._rest = None
        if like is not None and like._rest is not None and len(obj) == len(like.obj):
            if all(v is like.obj.get(k) for k, v in obj.items() if k != "metadata"):
                self._rest = like._rest

    def metadata_json(self):
        if self._metadata is None:
            self._metadata = dumps(self.obj["metadata"])
        return self._metadata

    def item_json(self, head=b""):
        """The object; `head` is b'"kind":..,"apiVersion":..,' where the place asks for it."""
        if self._rest is None:
            rest = dumps({k: v for k, v in self.obj.items() if k != "metadata"})
            self._rest = b"," + rest[1:] if rest != b"{}" else b"}"
        return b'{%b"metadata":%b%b' % (head, self.metadata_json(), self._rest)

    def with_revision(self, revision):
        metadata = {**self.obj["metadata"], "resourceVersion": str(revision)}
        return Version({**self.obj, "metadata": metadata}, revision, like=self)


class View:
    """How objects are shown: whole or as metadata (one per content type); in JSON, or as a
    protobuf.Kind.
    """

    def __init__(self, resource, form="object", version="v1", proto=None):
        self.resource = resource
        self.proto = proto
        self.form = form
        self.version = version
        self.key = (form, version, proto is not None)
        head = {"kind": resource.kind, "apiVersion": resource.group_version}
        if not resource.typed:
            # These are maps to the real server, which it writes in the order of their keys.
            head = dict(sorted(head.items()))
        self._head = dumps(head)[1:-1] + b","
        self._partial_head = (
            b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/%b","metadata":'
            % version.encode()
        )

    def single(self, version):
        if self.proto:
            return protobuf.single(self.proto, version.obj)
        if self.form == "object":
            return version.item_json(self._head)
        return self._partial_head + version.metadata_json() + b"}"

    def item(self, version):
        if self.form == "partial":
            return self._partial_head + version.metadata_json() + b"}"
        return version.item_json(b"" if self.resource.typed else self._head)

    def list(self, metadata, versions):
        if self.proto:
            return protobuf.list_of(self.proto, metadata, [version.obj for version in versions])
        if self.form == "partial":
            kind, group_version = "PartialObjectMetadataList", f"meta.k8s.io/{self.version}"
        else:
            kind, group_version = self.resource.list_kind, self.resource.group_version
            if not self.resource.typed:
                return b'{"apiVersion":%b,"items":[%b],"kind":%b,"metadata":%b}' % (
                    dumps(group_version),
                    b",".join(map(self.item, versions)),
                    dumps(kind),
                    dumps({"continue": "", **metadata}),
                )
        return b'{"kind":%b,"apiVersion":%b,"metadata":%b,"items":[%b]}' % (
            dumps(kind),
            dumps(group_version),
            dumps(metadata),
            b",".join(map(self.item, versions)),
        )

    def bookmark(self, revision, initial_events_end=False):
        kind, group_version = self.resource.kind, self.resource.group_version
        rest = self.resource.empty
        if self.form == "partial":
            kind, group_version = "PartialObjectMetadata", f"meta.k8s.io/{self.version}"
            rest = {}
        metadata = {"resourceVersion": str(revision)}
        if initial_events_end:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        if self.proto:
            return protobuf.single(self.proto, {"metadata": metadata})
        head = {"kind": kind, "apiVersion": group_version, "metadata": metadata}
        return dumps({**head, **rest})

    def event(self, kind, body):
        """An event of a watch, of single() or of status()."""
        if self.proto:
            return protobuf.event(kind, body)
        return b'{"type":"%b","object":%b}\n' % (kind.encode(), body)

    def status(self, status):
        return protobuf.status(status) if self.proto else dumps(status)

    @property
    def media_type(self):
        return protobuf.MEDIA_TYPE if self.proto else "application/json"

    @property
    def stream_type(self):
        return self.media_type + (";stream=watch" if self.proto else "")


class Event:
    """One change: `new` is None for a deletion, `old` for a creation."""

    __slots__ = ("revision", "new", "old", "lines")

    def __init__(self, revision, new, old):
        self.revision = revision
        self.new = new
        self.old = old
        self.lines = {}

    def seen_by(self, matches):
        """The type of event that a watcher with this selector gets, or None."""
        if matches is None:
            now, before = self.new is not None, self.old is not None
        else:
            now = self.new is not None and matches(self.new.obj)
            before = self.old is not None and matches(self.old.obj)
        if now:
            return MODIFIED if before else ADDED
        return DELETED if before else None

    def framed(self, kind, view):
        key = (kind, view.key)
        line = self.lines.get(key)
        if line is None:
            # A deletion, and leaving a selector, show the last matching state at the new revision.
            version = self.new if kind != DELETED else self.old.with_revision(self.revision)
            line = frame(view.event(kind, view.single(version)))
            self.lines[key] = line
        return line


class Watcher:
    """One watch request. Events are gathered for one turn of the loop, then written at once."""

    ids = itertools.count(1)

    def __init__(self, store, collection, view, matches, since, bookmarks, about):
        self.id = next(self.ids)
        self.store = store
        self.collection = collection
        self.view = view
        self.matches = matches
        self.since = since
        self.bookmarks = bookmarks
        self.about = about
        self.stream = None
        self.buffer = []
        self.flushing = False
        self.events_sent = 0
        self.bookmarks_sent = 0

    def offer(self, event):
        if event.revision <= self.since:
            return
        kind = event.seen_by(self.matches)
        if kind is None:
            return
        self.since = event.revision
        self.events_sent += 1
        self.push(event.framed(kind, self.view))

    def push(self, framed):
        self.buffer.append(framed)
        if not self.flushing and not self.store.frozen:
            self.flushing = True
            asyncio.get_running_loop().call_soon(self.flush)

    def send(self, kind, body):
        self.push(frame(self.view.event(kind, body)))

    def send_bookmark(self, initial_events_end=False):
        if not self.bookmarks:
            return
        self.bookmarks_sent += 1
        self.since = max(self.since, self.store.revision)
        self.send("BOOKMARK", self.view.bookmark(self.since, initial_events_end))

    def flush(self):
        self.flushing = False
        if self.store.frozen or not self.buffer:
            return
        data = b"".join(self.buffer)
        self.buffer.clear()
        if self.stream.backlog_bytes() > WATCH_BACKLOG_BYTES:
            # As the real server: a watcher that does not keep up is dropped.
            self.stream.cut()
        else:
            self.stream.write_framed(data)

    def finish(self):
        self.flush()
        self.stream.finish()

    def expire(self):
        """Tell the watcher that its revision is gone, and end."""
        self.send("ERROR", self.view.status(too_old(self.since, self.store.revision).status))
        self.finish()

    def describe(self):
        return {
            "id": self.id,
            "resource": self.collection.resource.plural,
            "form": self.view.form,
            "since": str(self.since),
            "events": self.events_sent,
            "bookmarks": self.bookmarks_sent,
            **self.about,
        }


class Collection:
    """All objects of one resource."""

    def __init__(self, store, resource):
        self.store = store
        self.resource = resource
        self.items = {}
        self.keys = []
        self.history = deque()
        self.oldest = store.revision
        self.revision = store.revision
        self.watchers = set()

    def get(self, namespace, name):
        return self.items.get((namespace or "", name))

    def put(self, obj):
        """Store a new state and tell the watchers; returns its Version."""
        metadata = obj["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        old = self.items.get(key)
        revision = self.store.next_revision()
        metadata["resourceVersion"] = str(revision)
        new = Version(obj, revision, like=old)
        if old is None:
            insort(self.keys, key)
        self.items[key] = new
        self._publish(Event(revision, new, old))
        return new

    def remove(self, namespace, name):
        key = (namespace or "", name)
        old = self.items.pop(key)
        self.keys.remove(key)
        revision = self.store.next_revision()
        self._publish(Event(revision, None, old))
        return old.with_revision(revision)

    def _publish(self, event):
        self.revision = event.revision
        self.history.append(event)
        while len(self.history) > HISTORY_MAX:
            self.oldest = self.history.popleft().revision
        for watcher in self.watchers:
            watcher.offer(event)
        # The history keeps states, not their encodings.
        event.lines.clear()

    def forget_history(self):
        self.history.clear()
        self.oldest = self.store.revision

    def events_since(self, revision):
        """Events after `revision`; a 410 when some of them are gone."""
        if revision < self.oldest:
            raise too_old(revision, self.oldest)
        events = []
        for event in reversed(self.history):
            if event.revision <= revision:
                break
            events.append(event)
        return reversed(events)

    def all(self):
        return [self.items[key] for key in self.keys]


class Store:
    """All collections under one revision counter, as in one etcd."""

    def __init__(self, registry):
        self.registry = registry
        self.revision = FIRST_REVISION
        self.collections = {}
        self.frozen = False
        self.snapshots = {}

    def next_revision(self):
        self.revision += 1
        return self.revision

    def of(self, resource):
        found = self.collections.get(resource)
        if found is None:
            found = self.collections[resource] = Collection(self, resource)
        return found

    def named(self, name):
        """The collection of `nodes`, `pods`, `dynamicschedulerpolicies`.."""
        return self.of(self.registry.by_name(name))

    def watchers(self):
        return [w for c in self.collections.values() for w in c.watchers]

    def keep_snapshot(self, resource, revision, versions):
        """Remember a consistent list so that its next pages can be served."""
        self.snapshots[(resource, revision)] = versions
        while len(self.snapshots) > SNAPSHOTS_MAX:
            self.snapshots.pop(next(iter(self.snapshots)))

    def snapshot(self, resource, revision):
        return self.snapshots.get((resource, revision))

    def compact(self):
        """Forget everything but the present: old watches and continue tokens get 410."""
        self.next_revision()
        self.snapshots.clear()
        for collection in self.collections.values():
            collection.forget_history()

    def freeze(self):
        self.frozen = True

    def thaw(self):
        self.frozen = False
        for watcher in self.watchers():
            watcher.flush()


def page(versions, matches, after, limit):
    """One page: (matching versions, key of the last one or None at the end, how many remain)."""
    keys = [(v.obj["metadata"].get("namespace", ""), v.obj["metadata"]["name"]) for v in versions]
    at = bisect_right(keys, after) if after is not None else 0
    out = []
    while at < len(versions):
        if limit and len(out) == limit:
            if matches is None or any(matches(v.obj) for v in versions[at:]):
                return out, keys[at - 1], len(versions) - at
            break
        if matches is None or matches(versions[at].obj):
            out.append(versions[at])
        at += 1
    return out, None, 0
