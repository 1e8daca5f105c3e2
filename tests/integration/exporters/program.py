"""The program: options, listeners, the readiness line."""

import argparse
import asyncio
import errno
import signal

from httpd import raise_fd_limit, server_tls

from . import __doc__ as about
from .fleet import Fleet, ready_line


def parse_options(arguments=None):
    parser = argparse.ArgumentParser(
        prog="exporters",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--port", type=int, default=0, help="on every address of 127.0.0.0/8; 0 takes a free one")
    add(
        "--host", action="append", default=[],
        help="on these addresses alone; the first has --port, and is ::1 where there is no IPv4",
    )  # fmt: skip
    add("--speed", type=float, default=1.0, help="how many seconds of counters pass in one")
    add("--cpus", type=int, default=4)
    add("--agent", action="store_true", help="pages of crane-scheduler-plus's agent: agent.py")
    add("--tls-cert", help="serve TLS with this certificate..")
    add("--tls-key", help="..and key")
    add("--basic-auth", metavar="USER:PASSWORD")
    add("--bearer-token", metavar="TOKEN")
    return parser.parse_args(arguments)


async def run(options):
    fleet = Fleet(options)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    tls = server_tls(options.tls_cert, options.tls_key) if options.tls_cert else None
    if options.host:
        port = options.port
        for host in options.host:
            port = await fleet.server.listen(host, port, tls)
    else:
        port = await listen_everywhere(fleet, options.port, tls)
    loopback = "::1" if "::1" in options.host[:1] else "127.0.0.1"
    admin_port = await fleet.admin_server.listen(loopback, 0)
    ready_line("https" if tls else "http", loopback, port, admin_port)
    await stop.wait()


async def listen_everywhere(fleet, port, tls):
    """Any address of 127.0.0.0/8, and nothing that comes in by another device."""
    port = await fleet.server.listen("0.0.0.0", port, tls, "lo")
    try:
        await fleet.server.listen("::1", port, tls)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
            raise
    return port


def main(arguments=None):
    raise_fd_limit()
    asyncio.run(run(parse_options(arguments)))
