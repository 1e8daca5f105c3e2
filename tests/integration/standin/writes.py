"""Requests that change objects: create, update, patch, delete and bind."""

import json
import random
import uuid

from . import patch, validate
from .errors import (
    ApiError,
    Causes,
    already_exists,
    bad_request,
    conflict,
    no_such_method,
    not_found,
    unsupported_media_type,
    wrong_precondition,
)
from .store import View, dumps


def _no_constant(text):
    raise ValueError(f"invalid character {text[0]!r} looking for beginning of value")


def _loads(body):
    try:
        return json.loads(body, parse_constant=_no_constant)
    except (ValueError, UnicodeDecodeError) as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None


def _fill(obj, empty):
    for key, value in empty.items():
        if isinstance(value, dict):
            _fill(obj.setdefault(key, {}), value)
        elif value is not None:
            obj.setdefault(key, value)


class Writes:
    """The writing half of the Api, which provides the store and the answers."""

    @staticmethod
    def _manager(request):
        manager = request.param("fieldManager")
        if manager is None:
            manager = request.headers.get("user-agent", "unknown").split("/")[0][:128]
        return manager

    def _body(self, request, resource, route, wanted="application/json"):
        """The object that a POST or PUT carries, checked against the URL, without kind."""
        media = request.headers.get("content-type", "application/json").split(";")[0].strip()
        if media != wanted:
            raise unsupported_media_type()
        obj = _loads(request.body)
        validate.decode_check(resource, obj)
        kind = obj.pop("kind", resource.kind)
        api_version = obj.pop("apiVersion", resource.group_version)
        if (kind, api_version) != (resource.kind, resource.group_version):
            version = api_version.rpartition("/")[2]
            raise bad_request(
                f'{kind} in version "{version}" cannot be handled as a {resource.kind}: converting '
                f"({version}.{kind}) to ({resource.group or 'core'}.{resource.kind}): unknown "
                "conversion"
            )
        metadata = obj.setdefault("metadata", {})
        if route.namespace and metadata.setdefault("namespace", route.namespace) != route.namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the "
                "request"
            )
        return {"metadata": obj.pop("metadata"), **obj}

    def _create(self, request, route, resource, collection):
        if route.name or (resource.namespaced and not route.namespace):
            raise no_such_method()
        obj = self._body(request, resource, route)
        self._store_new(request, route, resource, collection, obj)

    def _store_new(self, request, route, resource, collection, obj, operation="Update"):
        metadata = obj["metadata"]
        if metadata.get("resourceVersion"):
            raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
        if resource.namespaced:
            namespaces = self.store.named("namespaces")
            if namespaces.get("", route.namespace) is None:
                raise not_found(namespaces.resource, route.namespace)
        self.complete(resource, obj)
        validate.validate(resource, obj)
        if collection.get(route.namespace, metadata["name"]) is not None:
            raise already_exists(resource, metadata["name"])
        # Anybody who makes an object is not the one who says how it is.
        owned = {k: v for k, v in obj.items() if k != "status" or not resource.status}
        patch.own(None, owned, self._manager(request), resource.group_version, "", operation)
        self._answer_object(request, 201, resource, collection.put(obj))

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
        _fill(obj, resource.empty)
        if resource.plural == "pods":
            status = obj.setdefault("status", {})
            status.setdefault("phase", "Pending")
            status.setdefault("qosClass", "BestEffort")
            obj.get("spec", {}).setdefault("schedulerName", "default-scheduler")
        elif resource.plural == "namespaces":
            obj.setdefault("status", {"phase": "Active"})

    def _update(self, request, route, resource, collection):
        if not route.name:
            raise no_such_method()
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
        uid = new["metadata"].get("uid")
        if uid and uid != version.obj["metadata"]["uid"]:
            raise wrong_precondition(resource, version.obj["metadata"], "uid", uid)
        wanted = new["metadata"].get("resourceVersion", "")
        if not wanted and not resource.unconditional_update:
            causes = Causes()
            causes.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            # So the real server calls the kind here.
            causes.raise_if_any(resource.plural, resource.group, route.name)
        self._store_change(request, route, resource, collection, version, new)

    def _patch(self, request, route, resource, collection):
        if not route.name:
            raise no_such_method()
        media = request.headers.get("content-type", "").split(";")[0].strip()
        if media == patch.APPLY:
            self._apply(request, route, resource, collection)
            return
        if media not in (patch.JSON, patch.MERGE):
            raise unsupported_media_type()
        try:
            change = json.loads(request.body, parse_constant=_no_constant)
        except ValueError:
            raise bad_request("invalid JSON patch") from None
        version = self._found(collection, route)
        if media == patch.JSON:
            new = patch.apply_json_patch(version.obj, change)
        elif not isinstance(change, dict):
            raise bad_request("error decoding patch: json: cannot unmarshal into Go value")
        else:
            for field, wanted in (("kind", resource.kind), ("apiVersion", resource.group_version)):
                if change.pop(field, wanted) != wanted:
                    raise bad_request(f"{field} does not match the object")
            new = patch.merge(version.obj, change)
        try:
            validate.decode_check(resource, new)
        except ApiError as error:
            causes = Causes()
            causes.invalid("patch", dumps(new).decode(), error.status["message"])
            causes.raise_if_any("", "", "")
        metadata = new.setdefault("metadata", {})
        if metadata.get("name") != route.name:
            raise bad_request(
                f"the name of the object ({metadata.get('name')}) does not match the name on the "
                f"URL ({route.name})"
            )
        self._store_change(request, route, resource, collection, version, new)

    def _apply(self, request, route, resource, collection):
        """Server-side apply of a built-in kind, in JSON, by one manager."""
        if not request.param("fieldManager"):
            causes = Causes()
            causes.required("fieldManager", "is required for apply patch")
            causes.raise_if_any("PatchOptions", "meta.k8s.io", "")
        new = self._body(request, resource, route, patch.APPLY)
        version = collection.get(route.namespace, route.name)
        if version is None:
            new["metadata"]["name"] = route.name
            self._store_new(request, route, resource, collection, new, "Apply")
        else:
            new = patch.merge(version.obj, new)
            self._store_change(request, route, resource, collection, version, new, "Apply")

    def _store_change(self, request, route, resource, collection, version, new, operation="Update"):
        """The common end of PUT and PATCH: preconditions, strategy, validation, no-op, store."""
        old = version.obj
        new = {**new, "metadata": dict(new["metadata"])}
        metadata = new["metadata"]
        wanted = metadata.get("resourceVersion") or old["metadata"]["resourceVersion"]
        if not isinstance(wanted, str) or not wanted.isdigit():
            causes = Causes()
            causes.invalid("metadata.resourceVersion", wanted, "must be an unsigned integer")
            causes.raise_if_any(resource.kind, resource.group, route.name)
        if wanted != old["metadata"]["resourceVersion"]:
            raise conflict(resource, route.name)
        uid = metadata.get("uid") or old["metadata"]["uid"]
        if uid != old["metadata"]["uid"]:
            causes = Causes()
            causes.invalid("metadata.uid", uid, "field is immutable")
            causes.raise_if_any(resource.kind, resource.group, route.name)
        for field in ("uid", "creationTimestamp", "resourceVersion", "generation", "namespace"):
            if field in old["metadata"]:
                metadata[field] = old["metadata"][field]
            else:
                metadata.pop(field, None)
        for field in ("annotations", "labels"):
            if field in metadata and not metadata[field]:
                del metadata[field]
        if resource.plural == "nodes" and new.get("spec", {}).get("taints") == []:
            new["spec"] = {key: value for key, value in new["spec"].items() if key != "taints"}
        self._keep_other_half(resource, route, old, new)
        # Ownership is the server's business; what a client sends of it is not looked at.
        metadata["managedFields"] = old["metadata"].get("managedFields", [])
        validate.validate(resource, new)
        if new == old:
            # No write, no event, no new revision.
            self._answer_object(request, 200, resource, version)
            return
        if resource.generation and new.get("spec") != old.get("spec"):
            metadata["generation"] = old["metadata"].get("generation", 0) + 1
        manager = self._manager(request)
        patch.own(old, new, manager, resource.group_version, route.subresource, operation)
        self._answer_object(request, 200, resource, collection.put(new))

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
        for field in ("uid", "resourceVersion"):
            if wanted.get(field) and wanted[field] != metadata[field]:
                raise wrong_precondition(resource, metadata, field, wanted[field])
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
            raise no_such_method()
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
            raise wrong_precondition(pods.resource, version.obj["metadata"], "uid", uid)
        if version.obj["spec"].get("nodeName"):
            error = conflict(
                pods.resource,
                name,
                f'pod {name} is already assigned to node "{version.obj["spec"]["nodeName"]}"',
            )
            error.status["message"] = error.status["message"].replace("pods ", "pods/binding ", 1)
            error.status["details"]["kind"] = "pods/binding"
            raise error
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
