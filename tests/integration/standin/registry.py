"""Which resources exist: one row each. A custom resource needs a row and nothing else."""

from dataclasses import dataclass, field


METADATA_FIELDS = {"metadata.name": ("metadata", "name")}


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
    kind: str
    namespaced: bool = False
    status: bool = False
    status_keeps_metadata: bool = True
    unconditional_update: bool = True
    create_on_update: bool = False
    generation: bool = False
    typed: bool = True
    empty: dict = field(default_factory=dict)
    fields: dict = field(default_factory=lambda: METADATA_FIELDS)

    @property
    def group_version(self):
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def list_kind(self):
        return self.kind + "List"


NODE_INFO = (
    *("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion"),
    *("kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture"),
)

RESOURCES = (
    Resource(
        "",
        "v1",
        "nodes",
        "Node",
        status=True,
        empty={
            "spec": {},
            "status": {
                "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
                "nodeInfo": dict.fromkeys(NODE_INFO, ""),
            },
        },
    ),
    Resource(
        "",
        "v1",
        "pods",
        "Pod",
        namespaced=True,
        status=True,
        generation=True,
        empty={"spec": {"containers": None}, "status": {}},
        fields={
            **METADATA_FIELDS,
            "spec.nodeName": ("spec", "nodeName"),
            "status.phase": ("status", "phase"),
        },
    ),
    Resource(
        "",
        "v1",
        "configmaps",
        "ConfigMap",
        namespaced=True,
    ),
    Resource(
        "",
        "v1",
        "namespaces",
        "Namespace",
        status=True,
        empty={"spec": {}, "status": {}},
    ),
    Resource(
        "coordination.k8s.io",
        "v1",
        "leases",
        "Lease",
        namespaced=True,
        unconditional_update=False,
        create_on_update=True,
        empty={"spec": {}},
    ),
    # Custom resources.
    Resource(
        "scheduler.policy.crane.io",
        "v1alpha1",
        "dynamicschedulerpolicies",
        "DynamicSchedulerPolicy",
        status=True,
        status_keeps_metadata=False,
        unconditional_update=False,
        generation=True,
        typed=False,
    ),
    Resource(
        "plimsoll.io",
        "v1alpha1",
        "preferrednodes",
        "PreferredNodes",
        unconditional_update=False,
        generation=True,
        typed=False,
    ),
)


class Registry:
    """All rows, found by (group, version, plural)."""

    def __init__(self):
        self.rows = {(row.group, row.version, row.plural): row for row in RESOURCES}

    def find(self, group, version, plural):
        return self.rows.get((group, version, plural))

    def by_name(self, name):
        """`nodes`, or `plural.group`, as the admin endpoints name a resource."""
        for resource in self.rows.values():
            if name in (resource.plural, f"{resource.plural}.{resource.group}"):
                return resource
        return None

    def of_version(self, group, version):
        return [r for r in self.rows.values() if (r.group, r.version) == (group, version)]
