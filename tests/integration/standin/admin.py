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

    POST   /standin/faults           a rule; see faults.py
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
    POST   /standin/pods             {count, prefix, namespace, nodes?, phase, owner_kind}; with
                                      `nodes` they are bound round robin
    POST   /standin/bind             {nodes, prefix?}
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
        self.requests.append(
            {
                "at_unix": request.at_unix,
                "verb": route.verb,
                "resource": route.plural,
                "namespace": route.namespace,
                "name": route.name,
                "code": code,
                "user_agent": agent,
                "method": request.method,
                "target": request.target,
                "request_bytes": len(request.body),
                "duration_s": time.time() - request.at_unix,
                "abandoned": abandoned,
                "user": user,
            }
        )
        if route.verb == "patch":
            self.patches.append(
                {
                    "at_unix": request.at_unix,
                    "resource": route.plural,
                    "name": route.name,
                    "code": code,
                    "user_agent": agent,
                    "user": user,
                    "content_type": request.headers.get("content-type", ""),
                    "target": request.target,
                    "bytes": len(request.body),
                    "body": request.body,
                }
            )


def _shown(body):
    try:
        return json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")


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

    def post_stats_reset(self):
        self.journal.reset()

    def get_requests(self, request):
        since = float(request.param("since", "0"))
        agent = re.compile(request.param("agent", ""))
        verb, plural = request.param("verb"), request.param("resource")
        rows = [
            row
            for row in self.journal.requests
            if row["at_unix"] >= since
            and verb in (None, row["verb"])
            and plural in (None, row["resource"])
            and agent.search(row["user_agent"])
        ]
        return rows[-int(request.param("limit", "1000")) :]

    def get_patches(self, request):
        since, name = float(request.param("since", "0")), request.param("name")
        return [
            {**row, "body": _shown(row["body"])}
            for row in self.journal.patches
            if row["at_unix"] >= since and name in (None, row["name"])
        ]

    def get_patches_summary(self, request):
        since = float(request.param("since", "0"))
        per_object, per_second, codes = {}, {}, {}
        for row in self.journal.patches:
            if row["at_unix"] >= since:
                name, second, code = row["name"], int(row["at_unix"]), row["code"]
                per_object[name] = per_object.get(name, 0) + 1
                per_second[second] = per_second.get(second, 0) + 1
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

    def post_faults(self, **spec):
        return self.faults.add(spec).describe()

    def get_faults(self, _request):
        return [fault.describe() for fault in self.faults.rules]

    def delete_faults(self, _request):
        self.faults.clear()

    def post_freeze(self):
        self.store.freeze()
        self.server.freeze()

    def post_certificate(self, directory):
        self.tls.load_cert_chain(f"{directory}/server.crt", f"{directory}/server.key")

    def post_thaw(self):
        self.server.thaw()
        self.store.thaw()

    def _watchers(self, resource):
        return [
            w for w in self.store.watchers() if resource in (None, w.collection.resource.plural)
        ]

    def post_watches_cut(self, reset=False, resource=None):
        watchers = self._watchers(resource)
        for watcher in watchers:
            watcher.stream.cut(reset)
        return {"watches": len(watchers)}

    def post_watches_finish(self, resource=None):
        watchers = self._watchers(resource)
        for watcher in watchers:
            watcher.finish()
        return {"watches": len(watchers)}

    def post_compact(self, watches="cut"):
        if watches not in ("keep", "cut", "expire"):
            raise ValueError("watches must be keep, cut or expire")
        self.store.compact()
        watchers = self.store.watchers() if watches != "keep" else []
        for watcher in watchers:
            watcher.expire() if watches == "expire" else watcher.stream.cut()
        return {"revision": str(self.store.revision), "watches": len(watchers)}

    def post_auth(self, tokens=(), reset=False):
        auth = self.api.authenticator
        if reset:
            auth.tokens.clear()
        for row in tokens:
            auth.set_token(**row)

    # -- bulk --------------------------------------------------------------------------------

    def _put_new(self, resource_name, obj):
        collection = self.store.named(resource_name)
        Api.complete(collection.resource, obj)
        return collection.put(obj)

    def post_nodes(
        self, count=None, names=None, prefix="node-", start=0, first_address="127.1.0.1", **shape
    ):
        if names is None:
            names = [f"{prefix}{start + i:04d}" for i in range(count)]
        now = patch.now_rfc3339()
        rows = []
        for i, name in enumerate(names):
            address = address_of(first_address, start + i) if first_address else None
            self._put_new("nodes", fabricate.node(name, address, now=now, **shape))
            rows.append({"name": name, "address": address})
        return rows

    def ensure_namespace(self, name):
        if self.store.named("namespaces").get("", name) is None:
            self._put_new("namespaces", {"metadata": {"name": name}})

    def post_pods(
        self,
        count,
        prefix="pod-",
        namespace="default",
        nodes=(),
        phase="Pending",
        owner_kind="ReplicaSet",
    ):
        self.ensure_namespace(namespace)
        for i in range(count):
            obj = fabricate.pod(f"{prefix}{i}", namespace, owner_kind=owner_kind)
            version = self._put_new("pods", obj)
            if nodes:
                version = bind(self.store.named("pods"), version, nodes[i % len(nodes)])
            if phase != "Pending":
                self._set_phase(version, phase)
        return self._job(count, count)

    def _pods(self, prefix, namespace=None):
        return [
            v
            for v in self.store.named("pods").all()
            if v.obj["metadata"]["name"].startswith(prefix)
            and namespace in (None, v.obj["metadata"]["namespace"])
        ]

    def post_bind(self, nodes, prefix=""):
        waiting = [v for v in self._pods(prefix) if not v.obj["spec"].get("nodeName")]
        for i, version in enumerate(waiting):
            bind(self.store.named("pods"), version, nodes[i % len(nodes)])

    def _set_phase(self, version, phase):
        status = {**version.obj.get("status", {}), "phase": phase}
        metadata = dict(version.obj["metadata"])
        return self.store.named("pods").put({**version.obj, "metadata": metadata, "status": status})

    def post_phase(self, phase, prefix="", namespace=None):
        pods = self._pods(prefix, namespace)
        for version in pods:
            self._set_phase(version, phase)
        return {"pods": len(pods)}

    def post_nodemetrics(self, **what):
        self.api.node_metrics.set(what)

    def post_delete(self, resource, names=None, prefix="", namespace=None):
        collection = self.store.named(resource)
        doomed = [
            key
            for key in collection.keys
            if namespace in (None, key[0])
            and key[1].startswith(prefix)
            and (names is None or key[1] in names)
        ]
        for key in doomed:
            collection.remove(*key)
        return {"deleted": len(doomed)}

    def post_mutate(self, per_second, seconds, nodes=None, keys=("cpu_usage_avg_5m",)):
        names = nodes or [name for _, name in self.store.named("nodes").keys]
        nodes = self.store.named("nodes")

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

        job = self._job(0, int(per_second * seconds))
        asyncio.get_running_loop().create_task(self._paced(job, step, per_second))
        return job

    def post_objects(self, resource, object):  # pylint: disable=redefined-builtin
        collection = self.store.named(resource)
        obj = dict(object)
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

    def _job(self, done, total):
        job = {"id": len(self.jobs), "done": done, "total": total, "running": done < total}
        self.jobs.append(job)
        return job

    @staticmethod
    async def _paced(job, step, per_second):
        """Run step(0..total-1), spread evenly."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while job["done"] < job["total"]:
            due = min(job["total"], int((loop.time() - began) * per_second) + 1)
            while job["done"] < due:
                step(job["done"])
                job["done"] += 1
            await asyncio.sleep(max(0.005, 1 / per_second))
        job["running"] = False

    def get_jobs(self, _request):
        return self.jobs
