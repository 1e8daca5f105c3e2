"""Addresses of synthetic nodes, which both peers count alike, and addresses in URLs."""

import ipaddress


def url_host(address):
    """An address as the host of a URL."""
    return f"[{address}]" if ":" in address else address


def address_of(first, index):
    """The `index`-th address from `first` on, skipping those that end in .0 or .255."""
    base = ipaddress.ip_address(first)
    if base.version == 6:
        return str(base + index)
    offset = (int(base) & 0xFF) - 1 + index
    return str(ipaddress.ip_address((int(base) & ~0xFF) + offset // 254 * 256 + offset % 254 + 1))
