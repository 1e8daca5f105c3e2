"""TCP relays: before the API server, whose connections a test can cut, and as a Service."""

import random
import socket
import threading

from .control_plane import API_PORT

CHUNK_BYTES = 1 << 16


class Relay:
    """Passes each connection on to the address that `pick()` returns."""

    def __init__(self, address, pick):
        self.pick = pick
        self.lock = threading.Lock()
        self.sockets = set()
        self.listener = socket.create_server(address)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self.pick(), timeout=10)
            except OSError:
                # Nobody there: the client sees its connection end.
                client.close()
                continue
            server.settimeout(None)
            with self.lock:
                self.sockets |= {client, server}
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
        """End connections; anybody who reads from them is woken by that."""
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


class ApiRelay(Relay):
    """Listens on a port of the API server's own address: its certificate is good for both."""

    def __init__(self, plane, port):
        super().__init__((plane.address, port), lambda: (plane.address, API_PORT))
        self.url = f"https://{plane.address}:{port}"


class Service(Relay):
    """What kube-proxy makes of a Service: each connection, not each request, goes to one of the
    programs by lot. One that died is among them until forget()."""

    def __init__(self, programs):
        self.ports = {int(program.url.rpartition(":")[2]): program for program in programs}
        self.picked = []  # ports, oldest first
        super().__init__(("127.0.0.1", 0), self._by_lot)
        self.url = f"http://127.0.0.1:{self.port}"

    def _by_lot(self):
        self.picked.append(random.choice(list(self.ports)))
        return "127.0.0.1", self.picked[-1]

    def in_use(self):
        """The program that the newest connection went to."""
        return self.ports[self.picked[-1]]

    def forget(self, program):
        self.ports = {port: found for port, found in self.ports.items() if found is not program}
