"""Addresses of synthetic nodes: both peers count them alike."""

import ipaddress


def address_of(first, index):
    """The `index`-th address from `first` on, skipping those that end in .0 or .255."""
    base = ipaddress.ip_address(first)
    if base.version == 6:
        return str(base + index)
    offset = (int(base) & 0xFF) - 1 + index
    return str(ipaddress.ip_address((int(base) & ~0xFF) + offset // 254 * 256 + offset % 254 + 1))
