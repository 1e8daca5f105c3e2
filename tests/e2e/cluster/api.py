"""A client of the API server for tests: one kept connection per thread, JSON in and out.

What a user would do is done with kubectl (control_plane.kubectl); this is for the many small
requests of a harness.
"""

import http.client
import json
import ssl
import threading
import urllib.parse

TIMEOUT_S = 30.0
MERGE_PATCH = "application/merge-patch+json"


class ApiError(AssertionError):
    """An answer that is none: `status` and the API server's words."""

    def __init__(self, status, text):
        super().__init__(f"{status}: {text}")
        self.status = status


class Api:
    def __init__(self, url, ca, cert=None, key=None, token=None):
        self.url = url
        self.parts = urllib.parse.urlsplit(url)
        self.context = ssl.create_default_context(cafile=ca)
        if cert:
            self.context.load_cert_chain(cert, key)
        self.token = token
        self.local = threading.local()
        self.connections = []

    def _connection(self):
        conn = getattr(self.local, "conn", None)
        if conn is None:
            conn = http.client.HTTPSConnection(
                self.parts.hostname, self.parts.port, context=self.context, timeout=TIMEOUT_S
            )
            self.local.conn = conn
            self.connections.append(conn)
        return conn

    def close(self):
        """Close the connections of every thread; the next request opens another."""
        for conn in self.connections:
            conn.close()

    def request(self, method, path, body=None, content_type="application/json"):
        """(status, text) of one request; raises OSError while nobody answers."""
        headers = {"Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            headers["Content-Type"] = content_type
            body = json.dumps(body)
        for attempt in (1, 2):
            conn = self._connection()
            kept = conn.sock is not None
            try:
                conn.request(method, path, body, headers)
                answer = conn.getresponse()
                return answer.status, answer.read().decode()
            except (OSError, http.client.HTTPException) as error:
                conn.close()
                # A kept connection that the server had closed in the meantime says nothing about it now.
                if not kept or attempt == 2:
                    raise OSError(f"{method} {path}: {error!r}") from error
        raise AssertionError("unreachable")

    def call(self, method, path, body=None, content_type="application/json"):
        status, text = self.request(method, path, body, content_type)
        if status >= 300:
            raise ApiError(status, f"{method} {path}: {text}")
        return json.loads(text)

    def get(self, path, **query):
        return self.call("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))

    def items(self, path, **query):
        return self.get(path, **query)["items"]

    def create(self, path, body):
        return self.call("POST", path, body)

    def patch(self, path, body, content_type=MERGE_PATCH):
        return self.call("PATCH", path, body, content_type)

    def delete(self, path, body=None):
        """Delete; what is gone already is as good."""
        try:
            return self.call("DELETE", path, body)
        except ApiError as error:
            if error.status != 404:
                raise
            return None
