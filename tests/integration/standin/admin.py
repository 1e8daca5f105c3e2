"""The admin endpoints, on a port of their own that no fault, token or freeze touches.

Bodies and answers are JSON. An unknown key in a body is an error, so that a typo in a test cannot
silently test nothing.

    GET    /standin/                 this text
    GET    /standin/stats            requests by verb, resource, code and user agent
    POST   /standin/stats/reset
    GET    /standin/requests         ?since=UNIX &verb= &resource= &agent=REGEX &limit=1000
    GET    /standin/patches          ?name=NODE &since=UNIX: every patch with its body and time; those of
                                     Events are not kept
    GET    /standin/patches/summary  ?since=UNIX: how many, of how many objects, the most of one,
                                     codes, and the count per second
    GET    /standin/watches          active watches

    POST   /standin/faults           one rule (or a list); see faults.py
    GET    /standin/faults           with hits
    DELETE /standin/faults
    POST   /standin/freeze           accept and read, answer nothing
    POST   /standin/thaw
    POST   /standin/listen           {on: bool}: refuse and break connections, as when it is down
    POST   /standin/watches/cut      {reset?, resource?}: break all watches
    POST   /standin/watches/finish   {resource?}: end them cleanly, as after timeoutSeconds
    POST   /standin/compact          {watches: keep | cut (default) | expire}: old revisions get 410,
                                     as when etcd is compacted and the API server starts afresh
    POST   /standin/certificate      {directory}: serve the one there (certs.py) from now on
    POST   /standin/close            {}: close every idle API connection

    POST   /standin/auth             {tokens: [{token, user, groups, rules}], reset?}
    POST   /standin/nodes            {count | names, prefix, start, first_address, labels,
                                      annotations, cpus, memory_gib, images}
    POST   /standin/pods             {count, prefix, namespace, nodes?, phase, owner_kind,
                                      per_second?}; with `nodes` they are bound round robin
    POST   /standin/bind             {nodes, prefix?, per_second?}
    POST   /standin/phase            {phase, prefix?, namespace?}
    POST   /standin/delete           {resource, names | prefix, namespace?}
    POST   /standin/mutate           {per_second, seconds, nodes?, keys?}: change annotations of
                                      nodes in the background
    POST   /standin/nodemetrics      what metrics.k8s.io says of the nodes; see node_metrics.py
    POST   /standin/objects          {resource, object}: store as it is, unvalidated
    GET    /standin/objects          ?resource= &namespace= &name=: as stored
    GET    /standin/jobs             background jobs: id, done, total, running
"""

import asyncio
import json
import random
import re
import time
from collections import deque

from addresses import address_of
from httpd import AdminEndpoints

from . import fabricate, patch
from .api import Api, route_of
from .writes import bind

REQUESTS_MAX = 50_000
PATCHES_MAX = 200_000


class Journal:
    """What was asked of the API server."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.counts = {}
        self.requests = deque(maxlen=REQUESTS_MAX)
        self.patches = deque(maxlen=PATCHES_MAX)

    def record(self, request, abandoned):
        # A request that was given up while frozen has not been routed yet.
        route = request.info or route_of(request)
        agent = request.headers.get("user-agent", "")
        user = route.user.name if route.user else ""
        code = request.status
        key = (route.verb, route.plural, route.subresource, code, agent)
        self.counts[key] = self.counts.get(key, 0) + 1
        row = (
            request.at_unix,
            route.verb,
            route.plural,
            route.namespace,
            route.name,
            code,
            agent,
            request.method,
            request.target,
            len(request.body),
            time.time() - request.at_unix,
            abandoned,
            user,
        )
        self.requests.append(row)
        if route.verb == "patch":
            media = request.headers.get("content-type", "")
            self.patches.append(
                (
                    request.at_unix,
                    route.plural,
                    route.name,
                    code,
                    agent,
                    media,
                    request.target,
                    request.body,
                    user,
                )
            )


_REQUEST_FIELDS = (
    "at_unix",
    "verb",
    "resource",
    "namespace",
    "name",
    "code",
    "user_agent",
    "method",
    "target",
    "request_bytes",
    "duration_s",
    "abandoned",
    "user",
)


def _only(body, *known):
    unknown = set(body) - set(known)
    if unknown:
        raise ValueError(f"unknown keys {sorted(unknown)}; known are {sorted(known)}")
    return body


class Admin(AdminEndpoints):
    root = "/standin"

    def __init__(self, server, store, api, faults, journal):
        self.server = server
        self.store = store
        self.api = api
        self.faults = faults
        self.journal = journal
        self.jobs = []
        self.tls = None

    # -- looking -----------------------------------------------------------------------------

    def get_index(self, _request):
        return __doc__

    def get_stats(self, _request):
        rows = [
            {
                "verb": verb,
                "resource": plural,
                "subresource": sub,
                "code": code,
                "user_agent": agent,
                "count": count,
            }
            for (verb, plural, sub, code, agent), count in sorted(self.journal.counts.items())
        ]
        return {"now_unix": time.time(), "requests": rows}

    def post_stats_reset(self, body):
        _only(body)
        self.journal.reset()

    def get_requests(self, request):
        since = float(request.param("since", "0"))
        agent = re.compile(request.param("agent", ""))
        verb, plural = request.param("verb"), request.param("resource")
        rows = [
            dict(zip(_REQUEST_FIELDS, row))
            for row in self.journal.requests
            if row[0] >= since
            and verb in (None, row[1])
            and plural in (None, row[2])
            and agent.search(row[6])
        ]
        return rows[-int(request.param("limit", "1000")) :]

    def get_patches(self, request):
        since, name = float(request.param("since", "0")), request.param("name")
        rows = []
        for row in self.journal.patches:
            at, plural, target_name, code, agent, media, target, body, user = row
            if at < since or name not in (None, target_name):
                continue
            try:
                shown = json.loads(body)
            except ValueError:
                shown = body.decode("utf-8", "replace")
            rows.append(
                {
                    "at_unix": at,
                    "resource": plural,
                    "name": target_name,
                    "code": code,
                    "user_agent": agent,
                    "user": user,
                    "content_type": media,
                    "target": target,
                    "bytes": len(body),
                    "body": shown,
                }
            )
        return rows

    def get_patches_summary(self, request):
        since = float(request.param("since", "0"))
        per_object, per_second, codes = {}, {}, {}
        for at, _, name, code, *_ in self.journal.patches:
            if at >= since:
                per_object[name] = per_object.get(name, 0) + 1
                per_second[int(at)] = per_second.get(int(at), 0) + 1
                codes[code] = codes.get(code, 0) + 1
        counts = per_object.values()
        return {
            "total": sum(counts),
            "objects": len(per_object),
            "most": max(counts, default=0),
            "codes": codes,
            "per_second": per_second,
        }

    def get_watches(self, _request):
        return [w.describe() for w in self.store.watchers()]

    # -- misbehaving -------------------------------------------------------------------------

    def post_faults(self, body):
        specs = body if isinstance(body, list) else [body]
        return [self.faults.add(spec).describe() for spec in specs]

    def get_faults(self, _request):
        return [fault.describe() for fault in self.faults.rules]

    def delete_faults(self, _request):
        self.faults.clear()

    def post_freeze(self, body):
        _only(body)
        self.store.freeze()
        self.server.freeze()

    def post_certificate(self, body):
        _only(body, "directory")
        where = body["directory"]
        self.tls.load_cert_chain(f"{where}/server.crt", f"{where}/server.key")

    def post_thaw(self, body):
        _only(body)
        self.server.thaw()
        self.store.thaw()

    def _watchers(self, body):
        return [
            w
            for w in self.store.watchers()
            if body.get("resource") in (None, w.collection.resource.plural)
        ]

    def post_watches_cut(self, body):
        _only(body, "reset", "resource")
        watchers = self._watchers(body)
        for watcher in watchers:
            watcher.stream.cut(body.get("reset", False))
        return {"watches": len(watchers)}

    def post_watches_finish(self, body):
        _only(body, "resource")
        watchers = self._watchers(body)
        for watcher in watchers:
            watcher.finish()
        return {"watches": len(watchers)}

    def post_compact(self, body):
        _only(body, "watches")
        mode = body.get("watches", "cut")
        if mode not in ("keep", "cut", "expire"):
            raise ValueError("watches must be keep, cut or expire")
        self.store.compact()
        watchers = self.store.watchers() if mode != "keep" else []
        for watcher in watchers:
            watcher.expire() if mode == "expire" else watcher.stream.cut()
        return {"revision": str(self.store.revision), "watches": len(watchers)}

    def post_auth(self, body):
        _only(body, "tokens", "reset")
        auth = self.api.authenticator
        if body.get("reset"):
            auth.tokens.clear()
        for row in body.get("tokens", ()):
            auth.set_token(**_only(row, "token", "user", "groups", "rules"))

    # -- bulk --------------------------------------------------------------------------------

    def _put_new(self, resource_name, obj):
        collection = self.store.named(resource_name)
        Api.complete(collection.resource, obj)
        return collection.put(obj)

    def post_nodes(self, body):
        shape = ("labels", "annotations", "cpus", "memory_gib", "images")
        _only(body, "count", "names", "prefix", "start", "first_address", *shape)
        start = body.get("start", 0)
        names = body.get("names")
        if names is None:
            prefix = body.get("prefix", "node-")
            names = [f"{prefix}{start + i:04d}" for i in range(body["count"])]
        first = body.get("first_address", "127.1.0.1")
        now = patch.now_rfc3339()
        wanted = {key: body[key] for key in shape if key in body}
        rows = []
        for i, name in enumerate(names):
            address = address_of(first, start + i) if first else None
            self._put_new("nodes", fabricate.node(name, address, now=now, **wanted))
            rows.append({"name": name, "address": address})
        return rows

    def ensure_namespace(self, name):
        if self.store.named("namespaces").get("", name) is None:
            self._put_new("namespaces", {"metadata": {"name": name}})

    def post_pods(self, body):
        _only(body, "count", "prefix", "namespace", "nodes", "phase", "owner_kind", "per_second")
        namespace = body.get("namespace", "default")
        self.ensure_namespace(namespace)
        prefix, nodes = body.get("prefix", "pod-"), body.get("nodes")

        def step(i):
            kind = body.get("owner_kind", "ReplicaSet")
            obj = fabricate.pod(f"{prefix}{i}", namespace, owner_kind=kind)
            version = self._put_new("pods", obj)
            if nodes:
                version = bind(self.store.named("pods"), version, nodes[i % len(nodes)])
            if body.get("phase", "Pending") != "Pending":
                self._set_phase(version, body["phase"])

        return self._job("pods", step, body["count"], body.get("per_second"))

    def _pods(self, body):
        pods = self.store.named("pods")
        return [
            v
            for v in pods.all()
            if v.obj["metadata"]["name"].startswith(body.get("prefix", ""))
            and body.get("namespace") in (None, v.obj["metadata"]["namespace"])
        ]

    def post_bind(self, body):
        _only(body, "nodes", "prefix", "per_second")
        waiting = [v for v in self._pods(body) if not v.obj["spec"].get("nodeName")]
        pods, nodes = self.store.named("pods"), body["nodes"]

        def step(i):
            metadata = waiting[i].obj["metadata"]
            version = pods.get(metadata["namespace"], metadata["name"])
            if version is not None and not version.obj["spec"].get("nodeName"):
                bind(pods, version, nodes[i % len(nodes)])

        return self._job("bind", step, len(waiting), body.get("per_second"))

    def _set_phase(self, version, phase):
        status = {**version.obj.get("status", {}), "phase": phase}
        metadata = dict(version.obj["metadata"])
        return self.store.named("pods").put({**version.obj, "metadata": metadata, "status": status})

    def post_phase(self, body):
        _only(body, "phase", "prefix", "namespace")
        pods = self._pods(body)
        for version in pods:
            self._set_phase(version, body["phase"])
        return {"pods": len(pods)}

    def post_nodemetrics(self, body):
        self.api.node_metrics.set(body)

    def post_delete(self, body):
        _only(body, "resource", "names", "prefix", "namespace")
        collection = self.store.named(body["resource"])
        doomed = []
        for namespace, name in list(collection.keys):
            if "names" in body and name not in body["names"]:
                continue
            if name.startswith(body.get("prefix", "")):
                if body.get("namespace") in (None, namespace):
                    doomed.append((namespace, name))
        for key in doomed:
            collection.remove(*key)
        return {"deleted": len(doomed)}

    def post_mutate(self, body):
        _only(body, "per_second", "seconds", "nodes", "keys")
        nodes = self.store.named("nodes")
        names = body.get("nodes") or [name for _, name in nodes.keys]
        keys = body.get("keys", ["cpu_usage_avg_5m"])

        def step(i):
            version = nodes.get("", names[i % len(names)])
            if version is None:
                return
            obj = version.obj
            metadata = dict(obj["metadata"])
            now = patch.now_rfc3339()
            values = {key: f"{random.random():.5f},{now}" for key in keys}
            metadata["annotations"] = {**metadata.get("annotations", {}), **values}
            nodes.put({**obj, "metadata": metadata})

        total = int(body["per_second"] * body["seconds"])
        return self._job("mutate", step, total, body["per_second"])

    def post_objects(self, body):
        _only(body, "resource", "object")
        collection = self.store.named(body["resource"])
        obj = dict(body["object"])
        obj.pop("kind", None)
        obj.pop("apiVersion", None)
        metadata = dict(obj.pop("metadata"))
        old = collection.get(metadata.get("namespace"), metadata["name"])
        for key in ("uid", "creationTimestamp"):
            if old is not None:
                metadata.setdefault(key, old.obj["metadata"][key])
        obj = {"metadata": metadata, **obj}
        if old is None:
            kept = {key: metadata[key] for key in ("uid", "creationTimestamp") if key in metadata}
            status = obj.get("status")
            Api.complete(collection.resource, obj)
            metadata.update(kept)
            if status is not None:
                obj["status"] = status
        return collection.put(obj).obj

    def get_objects(self, request):
        collection = self.store.named(request.param("resource", "nodes"))
        name = request.param("name")
        if name is None:
            return [v.obj for v in collection.all()]
        version = collection.get(request.param("namespace", ""), name)
        return version.obj if version else {}

    # -- background jobs ---------------------------------------------------------------------

    def _job(self, kind, step, total, per_second):
        """Run step(0..total-1) at once, or spread evenly at `per_second` in the background."""
        job = {"id": len(self.jobs) + 1, "kind": kind, "done": 0, "total": total, "running": True}
        self.jobs.append(job)
        if per_second:
            asyncio.get_running_loop().create_task(self._paced(job, step, per_second))
        else:
            for i in range(total):
                step(i)
            job.update(done=total, running=False)
        return job

    @staticmethod
    async def _paced(job, step, per_second):
        loop = asyncio.get_running_loop()
        began = loop.time()
        while job["running"] and job["done"] < job["total"]:
            due = min(job["total"], int((loop.time() - began) * per_second) + 1)
            while job["done"] < due:
                step(job["done"])
                job["done"] += 1
            await asyncio.sleep(max(0.005, 1 / per_second))
        job["running"] = False
        job["took_s"] = loop.time() - began

    def get_jobs(self, _request):
        return self.jobs
