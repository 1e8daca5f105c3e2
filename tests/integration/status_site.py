"""The controller's status page, served with a made status.json, and with no controller."""

import sys

from local_server import Handler, LocalServer
from pages import TOP

PAGE = TOP / "controller" / "web"
sys.path.insert(0, str(PAGE))
from embed import document, sources  # noqa: E402  pylint: disable=wrong-import-position


class Site:
    """Serves the page with its policy, and a sample as its status.json."""

    def __init__(self):
        html, self.policy = document(*sources(PAGE))
        self.html, self.status, self.asked = html.encode(), b"", 0
        site = self

        class Answering(Handler):
            def do_GET(self):  # pylint: disable=invalid-name
                is_html = self.path == "/"
                site.asked += self.path == "/status.json"
                body = site.html if is_html else site.status
                kind = "text/html" if is_html else "application/json"
                headers = {"Content_Type": kind, "Content_Security_Policy": site.policy}
                self.reply(200 if body else 503, body, **headers)

        server = LocalServer(Answering)
        self.url, self.close = f"{server.url}/", server.close
