"""What `kubectl get` prints: the columns of each resource, as rows of (name, type, wide, cell)."""

from datetime import datetime, timezone


def age(timestamp):
    """The server renders ages itself; the precision follows apimachinery's HumanDuration."""
    if not timestamp:
        return "<unknown>"
    then = datetime.fromisoformat(timestamp.replace("Z", "+00:00"))
    seconds = int((datetime.now(timezone.utc) - then).total_seconds())
    if seconds < 0:
        return "<invalid>"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    return f"{days}d"


def _name(obj):
    return obj["metadata"]["name"]


def _age(obj):
    return age(obj["metadata"].get("creationTimestamp"))


def _node_status(obj):
    ready = "Unknown"
    for condition in obj.get("status", {}).get("conditions", ()):
        if condition.get("type") == "Ready":
            ready = "Ready" if condition.get("status") == "True" else "NotReady"
    cordoned = obj.get("spec", {}).get("unschedulable")
    return ready + ",SchedulingDisabled" if cordoned else ready


def _node_roles(obj):
    prefix = "node-role.kubernetes.io/"
    labels = obj["metadata"].get("labels") or {}
    roles = sorted(key[len(prefix) :] for key in labels if key.startswith(prefix))
    return ",".join(roles) or "<none>"


def _node_info(key):
    return lambda obj: obj.get("status", {}).get("nodeInfo", {}).get(key) or "<unknown>"


def _node_kernel(obj):
    architecture = obj.get("status", {}).get("nodeInfo", {}).get("architecture")
    version = _node_info("kernelVersion")(obj)
    return f"{version} ({architecture})" if architecture else version


def _node_address(kind):
    def cell(obj):
        for address in obj.get("status", {}).get("addresses", ()):
            if address.get("type") == kind:
                return address.get("address")
        return "<none>"

    return cell


def _pod_ready(obj):
    total = len(obj.get("spec", {}).get("containers", ()))
    states = obj.get("status", {}).get("containerStatuses", ())
    return f"{sum(1 for state in states if state.get('ready'))}/{total}"


def _pod_restarts(obj):
    states = obj.get("status", {}).get("containerStatuses", ())
    return str(sum(state.get("restartCount", 0) for state in states))


def _at(*path):
    def cell(obj):
        for key in path:
            obj = obj.get(key) if isinstance(obj, dict) else None
        return obj if obj not in (None, "") else "<none>"

    return cell


def _event_object(obj):
    involved = obj.get("involvedObject", {})
    return f"{involved.get('kind', '').lower()}/{involved.get('name', '')}"


def _event_age(obj):
    return age(obj.get("lastTimestamp") or obj.get("eventTime"))


NAME = ("Name", "string", False, _name)
AGE = ("Age", "string", False, _age)

DEFAULT = (NAME, AGE)

NODES = (
    NAME,
    ("Status", "string", False, _node_status),
    ("Roles", "string", False, _node_roles),
    AGE,
    ("Version", "string", False, _node_info("kubeletVersion")),
    ("Internal-IP", "string", True, _node_address("InternalIP")),
    ("External-IP", "string", True, _node_address("ExternalIP")),
    ("OS-Image", "string", True, _node_info("osImage")),
    ("Kernel-Version", "string", True, _node_kernel),
    ("Container-Runtime", "string", True, _node_info("containerRuntimeVersion")),
)

PODS = (
    NAME,
    ("Ready", "string", False, _pod_ready),
    ("Status", "string", False, _at("status", "phase")),
    ("Restarts", "string", False, _pod_restarts),
    AGE,
    ("IP", "string", True, _at("status", "podIP")),
    ("Node", "string", True, _at("spec", "nodeName")),
    ("Nominated Node", "string", True, _at("status", "nominatedNodeName")),
    ("Readiness Gates", "string", True, lambda obj: "<none>"),
)

EVENTS = (
    ("Last Seen", "string", False, _event_age),
    ("Type", "string", False, _at("type")),
    ("Reason", "string", False, _at("reason")),
    ("Object", "string", False, _event_object),
    ("Subobject", "string", True, _at("involvedObject", "fieldPath")),
    ("Source", "string", True, _at("source", "component")),
    ("Message", "string", False, _at("message")),
    ("First Seen", "string", True, lambda obj: age(obj.get("firstTimestamp"))),
    ("Count", "string", True, _at("count")),
    ("Name", "string", True, _name),
)

LEASES = (NAME, ("Holder", "string", False, _at("spec", "holderIdentity")), AGE)

NAMESPACES = (NAME, ("Status", "string", False, _at("status", "phase")), AGE)


def definitions(resource):
    return [
        {
            "name": name,
            "type": kind,
            "format": "name" if name == "Name" else "",
            "description": "",
            "priority": 1 if wide else 0,
        }
        for name, kind, wide, _ in resource.columns
    ]


def cells(resource, obj):
    return [cell(obj) for _, _, _, cell in resource.columns]
