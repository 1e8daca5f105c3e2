"""Which resources exist: one row each.

A custom resource needs a row and nothing else, see custom_resource() and CUSTOM_RESOURCES.
"""

from dataclasses import dataclass, field


_METADATA_FIELDS = {"metadata.name": ("metadata", "name")}
_NAMESPACED_FIELDS = {**_METADATA_FIELDS, "metadata.namespace": ("metadata", "namespace")}


@dataclass(frozen=True, eq=False)
class Resource:
    """How one kind of object behaves.

    status                    has a /status subresource: writes to the object leave its status alone
    status_keeps_metadata     ... and writes to /status may still change labels and annotations
    unconditional_update      PUT without resourceVersion is allowed
    create_on_update          PUT of an absent object creates it
    generation                metadata.generation counts changes of the spec
    typed                     built in: list items carry neither kind nor apiVersion
    empty                     what an object without content has next to metadata, as a bookmark shows
    fields                    field selector -> path
    """

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool = False
    short_names: tuple = ()
    categories: tuple = ()
    status: bool = False
    status_keeps_metadata: bool = True
    unconditional_update: bool = True
    create_on_update: bool = False
    generation: bool = False
    typed: bool = True
    empty: dict = field(default_factory=dict)
    fields: dict = field(default_factory=dict)

    @property
    def group_version(self):
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def list_kind(self):
        return self.kind + "List"

    @property
    def verbs(self):
        return ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


def custom_resource(group, version, plural, kind, namespaced=False, status=True, **more):
    """The row of a CustomResourceDefinition."""
    return Resource(
        group,
        version,
        plural,
        kind.lower(),
        kind,
        namespaced=namespaced,
        status=status,
        status_keeps_metadata=False,
        unconditional_update=False,
        generation=True,
        typed=False,
        fields=_NAMESPACED_FIELDS if namespaced else _METADATA_FIELDS,
        **more,
    )


NODE_INFO = (
    *("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion"),
    *("kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture"),
)

BUILT_IN = (
    Resource(
        "",
        "v1",
        "nodes",
        "node",
        "Node",
        short_names=("no",),
        status=True,
        empty={
            "spec": {},
            "status": {
                "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
                "nodeInfo": dict.fromkeys(NODE_INFO, ""),
            },
        },
        fields={**_METADATA_FIELDS, "spec.unschedulable": ("spec", "unschedulable")},
    ),
    Resource(
        "",
        "v1",
        "pods",
        "pod",
        "Pod",
        namespaced=True,
        short_names=("po",),
        categories=("all",),
        status=True,
        generation=True,
        empty={"spec": {"containers": None}, "status": {}},
        fields={
            **_NAMESPACED_FIELDS,
            "spec.nodeName": ("spec", "nodeName"),
            "spec.restartPolicy": ("spec", "restartPolicy"),
            "spec.schedulerName": ("spec", "schedulerName"),
            "spec.serviceAccountName": ("spec", "serviceAccountName"),
            "status.phase": ("status", "phase"),
            "status.podIP": ("status", "podIP"),
            "status.nominatedNodeName": ("status", "nominatedNodeName"),
        },
    ),
    Resource(
        "",
        "v1",
        "events",
        "event",
        "Event",
        namespaced=True,
        short_names=("ev",),
        create_on_update=True,
        fields={
            **_NAMESPACED_FIELDS,
            "involvedObject.kind": ("involvedObject", "kind"),
            "involvedObject.namespace": ("involvedObject", "namespace"),
            "involvedObject.name": ("involvedObject", "name"),
            "involvedObject.uid": ("involvedObject", "uid"),
            "involvedObject.apiVersion": ("involvedObject", "apiVersion"),
            "involvedObject.resourceVersion": ("involvedObject", "resourceVersion"),
            "involvedObject.fieldPath": ("involvedObject", "fieldPath"),
            "reason": ("reason",),
            "reportingComponent": ("reportingComponent",),
            "source": ("source", "component"),
            "type": ("type",),
        },
    ),
    Resource(
        "",
        "v1",
        "namespaces",
        "namespace",
        "Namespace",
        short_names=("ns",),
        status=True,
        empty={"spec": {}, "status": {}},
        fields={**_METADATA_FIELDS, "status.phase": ("status", "phase")},
    ),
    Resource(
        "coordination.k8s.io",
        "v1",
        "leases",
        "lease",
        "Lease",
        namespaced=True,
        unconditional_update=False,
        create_on_update=True,
        empty={"spec": {}},
        fields=_NAMESPACED_FIELDS,
    ),
)

CUSTOM_RESOURCES = (
    custom_resource(
        "scheduler.policy.crane.io",
        "v1alpha1",
        "dynamicschedulerpolicies",
        "DynamicSchedulerPolicy",
        short_names=("dsp",),
    ),
)


class Registry:
    """All rows, found by (group, version, plural)."""

    def __init__(self):
        self.rows = {
            (row.group, row.version, row.plural): row for row in BUILT_IN + CUSTOM_RESOURCES
        }

    def find(self, group, version, plural):
        return self.rows.get((group, version, plural))

    def by_name(self, name):
        """`nodes`, or `plural.group`, as the admin endpoints name a resource."""
        for resource in self.rows.values():
            if name in (resource.plural, f"{resource.plural}.{resource.group}"):
                return resource
        return None

    def groups(self):
        """group -> versions, in the order of the rows; the core group is ''."""
        found = {}
        for group, version, _ in self.rows:
            versions = found.setdefault(group, [])
            if version not in versions:
                versions.append(version)
        return found

    def of_version(self, group, version):
        return [r for r in self.rows.values() if (r.group, r.version) == (group, version)]
