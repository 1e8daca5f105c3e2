"""A pretended kubelet that lets the API server review who asks, as a real one does."""

import kubelet_kit

from .rights import is_allowed

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"


class ReviewingKubelet(kubelet_kit.Kubelet):
    """That of a node of the fleet."""

    def __init__(self, plane, node, address):
        super().__init__(plane.authority.server(node, [], [node]), address=address)
        self.plane = plane
        self.node = node
        port = {"daemonEndpoints": {"kubeletEndpoint": {"Port": self.port}}}
        plane.api.patch(f"/api/v1/nodes/{node}/status", {"status": port})

    def note(self, handler):
        super().note(handler)
        token = {"spec": {"token": self.asked[-1].token}}
        user = self.plane.api.create(TOKEN_REVIEWS, token)["status"]["user"]
        may = is_allowed(self.plane, user, "get", "/nodes/metrics", name=self.node)
        asked = f"user={user['username']}, verb=get, resource=nodes, subresource(s)=[metrics]"
        self.answer = None if may else (403, {}, f"Forbidden ({asked})")
