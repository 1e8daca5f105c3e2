"""A small HTTP/1.1 server on raw asyncio transports, shared by the two synthetic peers.

Why not a web framework: a peer that misbehaves on command has to own the bytes. It must be able to
cut a body after N bytes, send one byte a second, or reset the connection; and it must be cheap
enough to leave the machine to the programs under test.

A handler is a plain function `handler(request)`. It answers at once or later (a watch, a hang) by
calling `request.reply()` or `request.stream()`; the connection reads its next request when the
answer is complete.
"""

import asyncio
import email.utils
import json
import re
import resource
import socket
import ssl
import struct
import time
from http import HTTPStatus
from urllib.parse import parse_qs, unquote, urlsplit

MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 64 * 1024 * 1024
CHUNK_BYTES = 256 * 1024
# Go's net/http chunks every answer that does not fit its first buffer and whose length the handler
# did not state; API servers and node_exporters therefore chunk nearly everything that matters.
GO_BUFFER_BYTES = 2048

REASONS = {status.value: status.phrase for status in HTTPStatus}


def raise_fd_limit():
    """Thousands of keep-alive peers need descriptors: lift the soft limit to the hard one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


_date_cache = (0, b"")


def http_date():
    global _date_cache
    now = int(time.time())
    if _date_cache[0] != now:
        _date_cache = (now, email.utils.formatdate(now, usegmt=True).encode())
    return _date_cache[1]


def frame(data):
    """One HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


class Shape:
    """How the bytes of one answer leave the server.

    cut_bytes      after this many body bytes the connection ends, by FIN or (reset) by RST
    drip_s         the answer leaves `drip_bytes` at a time, one portion per `drip_s` seconds
    drip_head      the head drips as well
    """

    def __init__(self, cut_bytes=None, reset=False, drip_s=None, drip_bytes=1, drip_head=False):
        self.cut_bytes = cut_bytes
        self.reset = reset
        self.drip_s = drip_s
        self.drip_bytes = drip_bytes
        self.drip_head = drip_head
        self.queue = bytearray()
        self.ended = None
        self.timer = None

    def feed(self, conn, data):
        if self.cut_bytes is not None:
            data = data[: self.cut_bytes]
            self.cut_bytes -= len(data)
        if self.drip_s is None:
            conn.write(data)
        else:
            self.queue += data
            if self.timer is None:
                self._arm(conn, 0)
        if self.cut_bytes == 0:
            self.end(conn, conn.reset if self.reset else conn.close)

    def end(self, conn, done):
        """Call `done` when everything that was fed has left."""
        if self.ended is not None:
            return
        self.ended = done
        if not self.queue:
            done()

    def _arm(self, conn, after_s):
        self.timer = asyncio.get_running_loop().call_later(after_s, self._tick, conn)

    def _tick(self, conn):
        self.timer = None
        if conn.closed:
            return
        conn.write(bytes(self.queue[: self.drip_bytes]))
        del self.queue[: self.drip_bytes]
        if self.queue:
            self._arm(conn, self.drip_s)
        elif self.ended:
            self.ended()


class Request:
    __slots__ = (
        "method",
        "target",
        "path",
        "headers",
        "body",
        "conn",
        "at_unix",
        "shape",
        "status",
        "info",
        "on_abandon",
        "_query",
        "_raw_query",
        "started",
    )

    def __init__(self, method, target, headers, conn):
        self.method = method
        self.target = target
        parts = urlsplit(target)
        self.path = unquote(parts.path) if "%" in parts.path else parts.path
        self._raw_query = parts.query
        self._query = None
        self.headers = headers
        self.body = b""
        self.conn = conn
        self.at_unix = time.time()
        self.shape = None
        self.status = 0
        self.info = None
        self.on_abandon = None
        self.started = False

    @property
    def query(self):
        """Decoded parameters: name -> list of values."""
        if self._query is None:
            self._query = parse_qs(self._raw_query, keep_blank_values=True)
        return self._query

    def param(self, name, default=None):
        values = self.query.get(name)
        return values[0] if values else default

    def _head(self, status, content_type, headers, length):
        self.started = True
        self.status = status
        lines = [
            b"HTTP/1.1 %d %b\r\n" % (status, REASONS.get(status, "Unknown").encode()),
            b"Content-Type: %b\r\nDate: %b\r\n" % (content_type.encode(), http_date()),
        ]
        for name, value in headers:
            lines.append(f"{name}: {value}\r\n".encode())
        if length is None:
            lines.append(b"Transfer-Encoding: chunked\r\n")
        else:
            lines.append(b"Content-Length: %d\r\n" % length)
        if not self.conn.keep_alive:
            lines.append(b"Connection: close\r\n")
        lines.append(b"\r\n")
        return b"".join(lines)

    def reply(self, status, body=b"", content_type="application/json", headers=(), chunked=None):
        """Send a whole answer. Returns once it is handed to the transport (or to the shape)."""
        if self.conn.closed:
            return
        if chunked is None:
            chunked = len(body) > GO_BUFFER_BYTES
        chunked = chunked and self.conn.http_1_1
        head = self._head(status, content_type, headers, None if chunked else len(body))
        if self.method == "HEAD":
            body = b""
        elif chunked:
            pieces = [frame(body[at : at + CHUNK_BYTES]) for at in range(0, len(body), CHUNK_BYTES)]
            body = b"".join(pieces) + b"0\r\n\r\n"
        self._send_all(head, body)

    def reply_raw(self, data, close=True):
        """Send bytes that need not be HTTP at all."""
        if self.conn.closed:
            return
        self.started = True
        self.conn.keep_alive = self.conn.keep_alive and not close
        self._send_all(b"", data)

    def _send_all(self, head, body):
        conn = self.conn
        if self.shape is None:
            conn.write(head + body if len(body) < 65536 else head)
            if len(body) >= 65536:
                conn.write(body)
            conn.finished(self)
            return
        if self.shape.drip_head:
            self.shape.feed(conn, head)
        else:
            conn.write(head)
        self.shape.feed(conn, body)
        self.shape.end(conn, lambda: conn.finished(self))

    def stream(self, status=200, content_type="application/json", headers=()):
        """Begin a chunked answer of unknown length."""
        self.conn.write(self._head(status, content_type, headers, None))
        return Stream(self)


class Stream:
    """A chunked answer. `on_close` is called once, when the peer leaves or the stream ends."""

    def __init__(self, request):
        self.request = request
        self.conn = request.conn
        self.on_close = None
        self.open = True
        request.on_abandon = self._closed

    def write(self, data):
        self.write_framed(frame(data))

    def write_framed(self, data):
        """Bytes that already are whole chunks: shared among streams, framed only once."""
        if not self.open:
            return
        if self.request.shape is None:
            self.conn.write(data)
        else:
            self.request.shape.feed(self.conn, data)

    def backlog_bytes(self):
        return self.conn.transport.get_write_buffer_size() if self.open else 0

    def finish(self):
        if self.open:
            self._closed()
            self.conn.write(b"0\r\n\r\n")
            self.conn.finished(self.request)

    def cut(self, reset=False):
        """End without the last chunk: a broken connection."""
        if self.open:
            self._closed()
            self.conn.reset() if reset else self.conn.close()

    def _closed(self):
        if self.open:
            self.open = False
            if self.on_close:
                self.on_close()


class Connection(asyncio.Protocol):
    def __init__(self, server):
        self.server = server
        self.transport = None
        self.inbox = bytearray()
        self.current = None
        self.pending = None
        self.keep_alive = True
        self.http_1_1 = True
        self.closed = False
        self.muted = False
        self.local_address = None

    def connection_made(self, transport):
        self.transport = transport
        self.local_address = transport.get_extra_info("sockname")[0]
        self.server.connections.add(self)
        if self.server.on_connect:
            self.server.on_connect(self)

    def data_received(self, data):
        if self.muted:
            return
        self.inbox += data
        if self.current is None:
            self._next()

    def connection_lost(self, exc):
        self.closed = True
        self.server.connections.discard(self)
        request, self.current = self.current, None
        if request and request.on_abandon:
            request.on_abandon()
        if request:
            self.server.done(request, abandoned=True)

    def write(self, data):
        if not self.closed and data:
            self.transport.write(data)

    def close(self):
        if not self.closed:
            self.transport.close()

    def reset(self):
        """End with an RST instead of a FIN."""
        if self.closed:
            return
        sock = self.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def finished(self, request):
        if self.closed or self.current is not request:
            return
        self.current = None
        self.server.done(request)
        if not self.keep_alive:
            self.close()
        elif self.inbox:
            asyncio.get_running_loop().call_soon(self._next)

    def _bad(self, status):
        self.keep_alive = False
        self.inbox.clear()
        self.muted = True
        self.write(
            b"HTTP/1.1 %d %b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            % (status, REASONS[status].encode())
        )
        self.close()

    def _next(self):
        if self.current is not None or self.closed:
            return
        if self.pending is None:
            end = self.inbox.find(b"\r\n\r\n")
            if end < 0:
                if len(self.inbox) > MAX_HEAD_BYTES:
                    self._bad(431)
                return
            head = bytes(self.inbox[:end]).decode("latin-1")
            del self.inbox[: end + 4]
            if not self._parse_head(head):
                return
        request, need = self.pending
        if len(self.inbox) < need:
            return
        request.body = bytes(self.inbox[:need])
        del self.inbox[:need]
        self.pending = None
        self.current = request
        self.server.dispatch(request)

    def _parse_head(self, head):
        lines = head.split("\r\n")
        try:
            method, target, version = lines[0].split(" ")
        except ValueError:
            self._bad(400)
            return False
        headers = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon or not name or name != name.strip():
                self._bad(400)
                return False
            name = name.lower()
            value = value.strip()
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        self.http_1_1 = version == "HTTP/1.1"
        connection = headers.get("connection", "").lower()
        self.keep_alive = "close" not in connection if self.http_1_1 else "keep-alive" in connection
        if self.http_1_1 and "host" not in headers:
            self._bad(400)
            return False
        if "transfer-encoding" in headers:
            self._bad(501)
            return False
        length = headers.get("content-length", "0")
        if not length.isdigit():
            self._bad(400)
            return False
        need = int(length)
        if need > MAX_BODY_BYTES:
            self._bad(413)
            return False
        if headers.get("expect", "").lower() == "100-continue" and need != 0:
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.pending = (Request(method, target, headers, self), need)
        return True


class Server:
    """Listens on one or more addresses and hands each request to `handler`.

    on_connect(conn)          called before the first byte is read; may reset or mute the connection
    on_done(request, abandoned)   called once per request, when its answer is complete or given up
    """

    def __init__(self, handler, on_connect=None, on_done=None):
        self.handler = handler
        self.on_connect = on_connect
        self.on_done = on_done
        self.connections = set()
        self.listeners = []
        self.places = []
        self.kept = []  # the places' sockets while we are away
        self.held = None

    async def listen(self, host, port, tls=None, device=None):
        """Serve on an address (port 0: a free one); returns the port."""
        sock = bound_socket(host, port, device)
        port = sock.getsockname()[1]
        await self._serve(sock, tls)
        self.places.append((host, port, tls, device))
        return port

    async def _serve(self, sock, tls):
        loop = asyncio.get_running_loop()
        self.listeners.append(
            await loop.create_server(lambda: Connection(self), sock=sock, ssl=tls, backlog=4096)
        )

    def go_away(self):
        """Refuse connections and break those that there are, as if the program had died."""
        if not self.listeners:
            return
        for listener in self.listeners:
            listener.close()
        self.listeners.clear()
        # Nobody may have the port in the meantime, not even as the near end of a connection; one
        # that is bound and does not listen refuses as a closed one does.
        for host, port, tls, device in self.places:
            self.kept.append((bound_socket(host, port, device), tls))
        for conn in list(self.connections):
            conn.reset()

    async def come_back(self):
        """Listen again where it did before."""
        kept, self.kept = self.kept, []
        for sock, tls in kept:
            await self._serve(sock, tls)

    def dispatch(self, request):
        if self.held is not None:
            self.held.append(request)
            return
        try:
            self.handler(request)
        except Exception as error:
            # A defect of the peer itself must never look like the misbehaviour a test asked for.
            if not request.started:
                text = f"the synthetic peer failed: {type(error).__name__}: {error}"
                request.reply(599, text.encode(), "text/plain")
            raise

    def freeze(self):
        """Accept and read, but answer nothing until thaw()."""
        if self.held is None:
            self.held = []

    def thaw(self):
        held, self.held = self.held, None
        for request in held or ():
            if not request.conn.closed:
                self.dispatch(request)

    def done(self, request, abandoned=False):
        if self.on_done:
            self.on_done(request, abandoned)


class AdminEndpoints:
    """The endpoints of a peer's `server`: POST /root/a/b with a JSON object is post_a_b(**object),
    so that an unknown key is an error; GET get_a_b(request)."""

    root = None

    def handle_admin(self, request):
        path = request.path.rstrip("/")
        name = path.removeprefix(self.root).strip("/").replace("/", "_")
        handler = getattr(self, f"{request.method.lower()}_{name or 'index'}", None)
        if not path.startswith(self.root) or handler is None:
            text = f"no such admin endpoint; see GET {self.root}/"
            request.reply(404, json.dumps({"error": text}).encode() + b"\n")
            return
        try:
            if request.method == "POST":
                answer = handler(**json.loads(request.body or b"{}"))
            else:
                answer = handler(request)
        except (ValueError, KeyError, TypeError, re.error) as error:
            text = f"{type(error).__name__}: {error}"
            request.reply(400, json.dumps({"error": text}).encode() + b"\n")
            return
        if asyncio.iscoroutine(answer):
            task = asyncio.get_running_loop().create_task(answer)
            task.add_done_callback(lambda done: self._reply(request, done.result()))
        else:
            self._reply(request, answer)

    @staticmethod
    def _reply(request, answer):
        if isinstance(answer, str):
            request.reply(200, answer.encode(), "text/plain; charset=utf-8")
        else:
            answer = {"ok": True} if answer is None else answer
            text = json.dumps(answer, separators=(",", ":"), ensure_ascii=False)
            request.reply(200, text.encode() + b"\n")

    async def post_listen(self, on):
        if on:
            await self.server.come_back()
        else:
            self.server.go_away()

    def post_close(self):
        idle = [conn for conn in self.server.connections if conn.current is None]
        for conn in idle:
            conn.close()
        return {"connections": len(idle)}


def bound_socket(host, port, device=None):
    """A socket to listen on; `device` ("lo") restricts a wildcard address to loopback traffic."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    if device:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
    sock.bind((host, port))
    sock.setblocking(False)
    return sock


def server_tls(cert_file, key_file):
    """A TLS context that offers HTTP/1.1 only."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(cert_file, key_file)
    context.set_alpn_protocols(["http/1.1"])
    return context
