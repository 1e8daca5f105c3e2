"""A DNS server that does what a test wants, and a program that asks no other.

The resolver serves port 53 of a loopback address. A program that is started behind `within` has a mount
namespace of its own, in which /etc/resolv.conf names that address alone: nobody else's is touched.
"""

import collections
import contextlib
import os
import socketserver
import struct
import threading

ADDRESS = "127.53.0.1"
A, CLASS_IN = 1, 1
ANSWER, TRUNCATED = 0x8180, 0x0200
RCODES = {"servfail": 2, "nxdomain": 3, "refused": 5}
# So many as fit into the largest message.
CROWD = [f"127.99.{i // 250}.{i % 250 + 1}" for i in range(4000)]
ITSELF = b"\xc0\x0c"  # the name of the question


def record(kind, data):
    return ITSELF + struct.pack(">HHIH", kind, CLASS_IN, 0, len(data)) + data


def host(address):
    return record(A, bytes(map(int, address.split("."))))


class Resolver:
    """Use as a context manager. Names that are in neither dictionary do not exist.

    addresses   {name: [IPv4 address]}
    faults      {name: fault}: what happens instead of an answer
                hang       nothing, until repair()
                servfail, nxdomain, refused
                truncated  by UDP; by TCP the message ends early
                malformed  a count of records that are not there, a name that points at itself
                noise      bytes that are no DNS, and else as hang
                alias      of itself
                crowd      4,000 addresses at which nobody listens, by TCP
    asked       {name: how many queries}
    waiting     {name: [a query that nobody has answered]}
    """

    def __init__(self, directory, options):
        self.addresses, self.faults = {}, {}
        self.asked = collections.Counter()
        self.waiting = collections.defaultdict(list)
        path = os.path.join(directory, "resolv.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"nameserver {ADDRESS}\noptions {options}\n")
        script = f'mount --bind "{path}" /etc/resolv.conf && exec "$@"'
        self.within = ["unshare", "--mount", "sh", "-c", script, "sh"]
        outer = self

        class Udp(socketserver.BaseRequestHandler):
            def handle(self):
                data, _ = self.request
                name = outer.question(data)[0]
                outer.asked[name] += 1
                fault = outer.faults.get(name)
                if fault == "noise":
                    self.answer(b"\x15\x03\x01\x00\x02\x02\x16 this is no DNS")
                if fault in ("hang", "noise"):
                    outer.waiting[name].append(self)
                else:
                    self.answer(outer.reply(data, by_tcp=False))

            def answer(self, reply):
                self.request[1].sendto(reply, self.client_address)

        class Tcp(socketserver.StreamRequestHandler):
            def handle(self):
                # A query for each family, over one connection.
                while head := self.rfile.read(2):
                    data = self.rfile.read(*struct.unpack(">H", head))
                    reply = outer.reply(data, by_tcp=True)
                    is_cut = outer.faults.get(outer.question(data)[0]) == "truncated"
                    with contextlib.suppress(OSError):  # its other answer was enough
                        self.wfile.write(struct.pack(">H", len(reply) + 500 * is_cut) + reply)
                    if is_cut:
                        return

        self.servers = [
            socketserver.UDPServer((ADDRESS, 53), Udp),
            type("Tcp", (socketserver.ThreadingTCPServer,), {"allow_reuse_address": True,
                 "daemon_threads": True})((ADDRESS, 53), Tcp),
        ]  # fmt: skip
        self.threads = [threading.Thread(target=s.serve_forever) for s in self.servers]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        for server, thread in zip(self.servers, self.threads):
            server.shutdown()
            thread.join()
            with contextlib.suppress(OSError):
                server.server_close()

    @staticmethod
    def question(data):
        """(name, type, where it ends)"""
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode("ascii"))
            at += 1 + data[at]
        return ".".join(labels), struct.unpack(">H", data[at + 1 : at + 3])[0], at + 5

    def repair(self, *names):
        """End the faults of these names, or of all, and answer who waits."""
        for name in names or list(self.faults):
            self.faults.pop(name)
            for handler in self.waiting.pop(name, ()):
                handler.answer(self.reply(handler.request[0], by_tcp=False))

    def is_waiting(self, name):
        """Whether the first of those that hang is still under way: its socket is open."""
        port = self.waiting[name][0].client_address[1]
        with open("/proc/net/udp", encoding="ascii") as file:
            return f":{port:04X} " in file.read()

    def reply(self, data, by_tcp):
        name, kind, end = self.question(data)
        fault, flags, records, claimed = self.faults.get(name), ANSWER, [], 0
        addresses = self.addresses.get(name, [])
        if fault in RCODES or not addresses:
            flags |= RCODES.get(fault, RCODES["nxdomain"])
        elif fault == "malformed":
            records, claimed = [record(A, b"\x7f")[:-1], b"\xc0" + bytes([end])], 7
        elif fault == "alias":
            records = [record(5, ITSELF)]
        elif fault in ("truncated", "crowd") and not by_tcp:
            flags |= TRUNCATED
        elif kind == A:
            records = [host(address) for address in (CROWD if fault == "crowd" else addresses)]
        counts = struct.pack(">HHHHH", flags, 1, len(records) + claimed, 0, 0)
        return data[:2] + counts + data[12:end] + b"".join(records)
