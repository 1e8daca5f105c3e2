"""Discovery: what kubectl reads before it asks for anything.

Only the unaggregated form exists; a client that asks for aggregated discovery gets plain JSON and
falls back, as against servers before 1.27.
"""

VERSION = {
    "major": "1",
    "minor": "37",
    "gitVersion": "v1.37.2-standin",
    "gitCommit": "0000000000000000000000000000000000000000",
    "gitTreeState": "clean",
    "buildDate": "2026-07-14T16:03:58Z",
    "goVersion": "go1.26.6",
    "compiler": "gc",
    "platform": "linux/amd64",
}


def _group(group, versions):
    listed = [{"groupVersion": f"{group}/{v}", "version": v} for v in versions]
    return {"name": group, "versions": listed, "preferredVersion": listed[0]}


def _resource(resource):
    row = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource.verbs,
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.categories:
        row["categories"] = list(resource.categories)
    return row


def _subresources(resource):
    if resource.status:
        yield {
            "name": f"{resource.plural}/status",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": ["get", "patch", "update"],
        }
    if (resource.group, resource.plural) == ("", "pods"):
        yield {
            "name": "pods/binding",
            "singularName": "",
            "namespaced": True,
            "kind": "Binding",
            "verbs": ["create"],
        }


def _resource_list(registry, group, version):
    rows = []
    for resource in registry.of_version(group, version):
        rows.append(_resource(resource))
        rows.extend(_subresources(resource))
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": rows,
    }


def _openapi_root(registry):
    paths = {}
    for group, versions in registry.groups().items():
        for version in versions:
            path = f"apis/{group}/{version}" if group else f"api/{version}"
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash=standin"}
    return {"paths": paths}


def _openapi_group(registry, group, version):
    """Just enough for kubectl to learn that the server validates fields itself."""
    base = f"/apis/{group}/{version}" if group else f"/api/{version}"
    parameters = [
        {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
        for name in ("dryRun", "fieldManager", "fieldValidation")
    ]
    paths = {}
    for resource in registry.of_version(group, version):
        place = f"{base}/namespaces/{{namespace}}" if resource.namespaced else base
        kind = {"group": group, "version": version, "kind": resource.kind}
        paths[f"{place}/{resource.plural}/{{name}}"] = {
            "patch": {
                "parameters": parameters,
                "responses": {"200": {"description": "OK"}},
                "x-kubernetes-action": "patch",
                "x-kubernetes-group-version-kind": kind,
            }
        }
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": VERSION["gitVersion"]},
        "paths": paths,
        "components": {"schemas": {}},
    }


def answer(registry, path):
    """The document at a discovery path, or None."""
    parts = path.strip("/").split("/")
    groups = registry.groups()
    if path == "/version":
        return VERSION
    if parts[:2] == ["openapi", "v3"]:
        if len(parts) == 2:
            return _openapi_root(registry)
        group = parts[3] if parts[2] == "apis" and len(parts) == 5 else ""
        if parts[-1] in groups.get(group, ()):
            return _openapi_group(registry, group, parts[-1])
        return None
    if parts == ["api"]:
        return {"kind": "APIVersions", "versions": groups.get("", [])}
    if parts == ["apis"]:
        rows = [_group(group, versions) for group, versions in groups.items() if group]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": rows}
    if parts[0] == "apis" and len(parts) == 2 and parts[1] in groups:
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(parts[1], groups[parts[1]])}
    if parts[0] == "api" and len(parts) == 2 and parts[1] in groups.get("", ()):
        return _resource_list(registry, "", parts[1])
    if parts[0] == "apis" and len(parts) == 3 and parts[2] in groups.get(parts[1], ()):
        return _resource_list(registry, parts[1], parts[2])
    return None
