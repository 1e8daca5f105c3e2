"""An HTTP server in a thread of the test, for peers that only have to answer."""

import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

STOP_S = 30


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # an answer is sent as one piece, not line by line
    timeout = 60

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def reply(self, status, body="", **headers):
        """A whole answer; names of headers have underscores."""
        data = body if isinstance(body, bytes) else body.encode()
        self.send_response(status)
        for name, value in {**headers, "Content_Length": len(data)}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class LocalServer(ThreadingHTTPServer):
    """Serves on a free port until close(); `tls` is a context."""

    daemon_threads = True

    def __init__(self, handler, address="127.0.0.1", tls=None):
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, 0), handler)
        self.port = self.server_address[1]
        self.url = f"{'https' if tls else 'http'}://{address}:{self.port}"
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.thread = Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def handle_error(self, *_):
        pass  # clients that give up are part of the tests

    def close(self):
        self.shutdown()
        self.server_close()
        self.thread.join(STOP_S)
        assert not self.thread.is_alive(), "the server does not end"
