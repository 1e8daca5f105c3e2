"""Who asks, and what they may do.

Without tokens everyone is let in, as behind `kubectl proxy`. Otherwise a request counts as that of
the user whose bearer token it brings, and a user with rules may do only what the rules say; they have
the form of RBAC's PolicyRule, so that a test can feed the rules of a ClusterRole from deploy/ as they
stand. A request that brings none is anonymous, as by default, and may do next to nothing.
"""

from dataclasses import dataclass

from .errors import ApiError, forbidden, unauthorized


@dataclass
class User:
    name: str
    groups: tuple = ()
    rules: list = None


ANYONE = User("system:anonymous", ("system:unauthenticated",))
ANONYMOUS = User("system:anonymous", ("system:unauthenticated",), [])


class Authenticator:
    def __init__(self):
        self.tokens = {}

    def set_token(self, token, user="test", groups=(), rules=None):
        self.tokens[token] = User(user, tuple(groups), rules)

    def user_of(self, request):
        if not self.tokens:
            return ANYONE
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            user = self.tokens.get(token.strip())
            if user is None:
                raise unauthorized()
            return user
        return ANONYMOUS

    def known_user_of(self, request):
        """The same, or None for those who will be refused."""
        try:
            return self.user_of(request)
        except ApiError:
            return None


def _listed(values, wanted):
    return values is not None and ("*" in values or wanted in values)


def authorize(user, verb, group, resource, subresource, namespace, name, path):
    """Raise a 403 unless one of the user's rules allows it; no rules at all allow everything."""
    if user.rules is None or "system:masters" in user.groups:
        return
    full = f"{resource}/{subresource}" if subresource else resource
    if path == "/version":
        return  # for everybody, by default
    for rule in user.rules:
        if not _listed(rule.get("verbs"), verb):
            continue
        if not _listed(rule.get("apiGroups"), group):
            continue
        names = rule.get("resources") or ()
        if not ("*" in names or full in names or (subresource and f"*/{subresource}" in names)):
            continue
        if rule.get("resourceNames") and name not in rule["resourceNames"]:
            continue
        return
    if not resource:
        raise forbidden(f'forbidden: User "{user.name}" cannot {verb} path "{path}"', {})
    qualified = f"{resource}.{group}" if group else resource
    subject = f'{qualified} "{name}"' if name else qualified
    place = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    details = {"name": name} if name else {}
    if group:
        details["group"] = group
    raise forbidden(
        f'{subject} is forbidden: User "{user.name}" cannot {verb} resource "{full}" '
        f'in API group "{group}" {place}',
        {**details, "kind": resource},
    )
