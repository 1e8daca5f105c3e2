"""What the roles of deploy/ permit, one right at a time, and taking some of it away under way."""

import contextlib
import itertools
from typing import NamedTuple

import yaml
from harness import wait_until

from .plimsoll import TOP

RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
ACCOUNT = "system:serviceaccount:kube-system:"


class Right(NamedTuple):
    account: str
    verb: str
    resource: str  # behind its API group: "/pods/binding", "metrics.k8s.io/nodes"

    @property
    def refusal(self):
        """How the API server says that somebody lacks it."""
        group, _, resource = self.resource.partition("/")
        return f'cannot {self.verb} resource "{resource}" in API group "{group}"'


class Grant(NamedTuple):
    role: str  # its path
    namespace: str  # "" for all of them
    name: str  # of the one object that it is for, or ""


def role_path(kind, name, namespace):
    where = f"namespaces/{namespace}/" if kind == "Role" else ""
    return f"{RBAC}/{where}{kind.lower()}s/{name}"


def deployed():
    """{Right: Grant} of every account that the manifests of deploy/ bind a role of theirs to.

    The chart's templates take their roles from the same files. Those of plugin-users are for people,
    and nobody has them before an administrator binds them.
    """
    rules, bindings = {}, []
    for path in (TOP / "deploy").rglob("*.yaml"):
        text = path.read_text("utf-8")
        if "plugin-users" in path.parts:
            continue
        if "templates" in path.parts:
            assert "roleRef" not in text, path
            continue
        for item in filter(None, yaml.safe_load_all(text)):
            kind, metadata = item.get("kind", ""), item.get("metadata", {})
            namespace = metadata.get("namespace", "")
            if kind.endswith("RoleBinding"):
                role = role_path(item["roleRef"]["kind"], item["roleRef"]["name"], namespace)
                bindings += [(subject["name"], role, namespace) for subject in item["subjects"]]
            elif kind.endswith("Role"):
                rules[role_path(kind, metadata["name"], namespace)] = item["rules"]
    assert rules.keys() <= {role for _, role, _ in bindings}, "a role that nobody has"
    return {
        Right(account, verb, f"{group}/{resource}"): Grant(
            role, namespace, rule.get("resourceNames", [""])[0]
        )
        for account, role, namespace in bindings
        for rule in rules.get(role, [])  # none: a role that Kubernetes has
        for group, resource, verb in itertools.product(
            rule["apiGroups"], rule["resources"], rule["verbs"]
        )
    }


def remaining(rules, taken):
    """Rules without {(resource behind its group, verb)}; one without a verb would be refused."""
    split = [
        {**rule, "apiGroups": [group], "resources": [resource],
         "verbs": [verb for verb in rule["verbs"] if (f"{group}/{resource}", verb) not in taken]}
        for rule in rules
        for group, resource in itertools.product(rule["apiGroups"], rule["resources"])
    ]  # fmt: skip
    return [rule for rule in split if rule["verbs"]]


def is_allowed(plane, user, verb, resource, namespace="", name=""):
    """What the API server says of a user (a dict as TokenReviews have it)."""
    group, _, kind = resource.partition("/")
    kind, _, subresource = kind.partition("/")
    attributes = {"verb": verb, "group": group, "resource": kind, "subresource": subresource}
    attributes |= {"namespace": namespace, "name": name}
    spec = {"user": user["username"], "groups": user["groups"], "resourceAttributes": attributes}
    return plane.api.create(REVIEWS, {"spec": spec})["status"]["allowed"]


@contextlib.contextmanager
def without(plane, rights):
    """Take these rights away, and give them back at the end; the API server knows it each time."""
    granted, before = deployed(), {}

    def are_there(wanted):
        return all(
            is_allowed(plane, {"username": ACCOUNT + right.account, "groups": []},
                       right.verb, right.resource, *granted[right][1:]) == wanted
            for right in rights
        )  # fmt: skip

    try:
        for role in {granted[right].role for right in rights}:
            rules = plane.api.get(role)["rules"]
            taken = {(r.resource, r.verb) for r in rights if granted[r].role == role}
            before[role] = rules
            plane.api.patch(role, {"rules": remaining(rules, taken)})
        wait_until(lambda: are_there(False), what="the rights to be gone")
        yield
    finally:
        for role, rules in before.items():
            plane.api.patch(role, {"rules": rules})
    wait_until(lambda: are_there(True), what="the rights to be back")
