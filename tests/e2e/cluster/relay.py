"""A TCP relay before the API server, whose connections a test can cut."""

import socket
import threading

from .control_plane import API_PORT

CHUNK_BYTES = 1 << 16


class Relay:
    """Listens on a port of the API server's own address: its certificate is good for both."""

    def __init__(self, plane, port):
        self.target = (plane.address, API_PORT)
        self.url = f"https://{plane.address}:{port}"
        self.lock = threading.Lock()
        self.sockets = set()
        self.accepted = 0
        self.listener = socket.create_server((plane.address, port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self.target, timeout=10)
            except OSError:
                # Nobody there: the client sees its connection end.
                client.close()
                continue
            server.settimeout(None)
            with self.lock:
                self.sockets |= {client, server}
                self.accepted += 1
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    def _pump(self, source, sink):
        try:
            while chunk := source.recv(CHUNK_BYTES):
                sink.sendall(chunk)
        except OSError:
            pass
        self._end({source, sink})

    def _end(self, sockets):
        """End connections; whoever reads from them is woken by that."""
        with self.lock:
            ended = self.sockets & sockets
            self.sockets -= ended
        for one in ended:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()

    def cut(self):
        """End every connection, in the middle of whatever it says; how many there were."""
        with self.lock:
            sockets = set(self.sockets)
        self._end(sockets)
        return len(sockets) // 2

    def stop(self):
        self.listener.close()
        self.cut()
