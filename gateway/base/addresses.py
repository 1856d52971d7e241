"""Addresses of models and the keys for them, as configurations name them.

Rule 1: a key comes out of the one variable that a configuration names.
"""

import ipaddress
import os
import socket
from typing import Final
from urllib.parse import urlsplit

from protocol.settings import HttpSettings, ProxySettings


def is_loopback(url: str | None) -> bool:
    """Return whether an address leads to this machine: a loopback one in any spelling, or the unspecified 0.0.0.0."""
    host = urlsplit(url).hostname if url is not None else None
    return host is not None and (_is_loopback_host(host) or ((ip := _read_ip(host)) is not None and ip.is_unspecified))


def _is_loopback_host(host: str) -> bool:
    ip = _read_ip(host)
    return host.rstrip(".") == "localhost" if ip is None else ip.is_loopback


def _read_ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address that a host is, also as an operating system reads it: 127.1, 0x7f000001, ::ffff:127.0.0.1."""
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        try:
            return ipaddress.IPv4Address(socket.inet_aton(host))
        except OSError:
            return None
    return ip.ipv4_mapped or ip if isinstance(ip, ipaddress.IPv6Address) else ip


OPEN: Final = "an address that others reach needs allow_remote = true and allowed_hosts"
"""The complaint about a door for which `is_open_unasked` holds."""
OWN: Final = "is this proxy's own address"
"""The complaint about an upstream that `find_own_upstream` finds."""


def is_open_unasked(settings: HttpSettings | ProxySettings, bind: str) -> bool:
    """Return whether a door at that address would be open to other machines without the settings that allow it."""
    is_here = _is_loopback_host(bind.strip("[]"))
    return not is_here and not (settings.allow_remote and settings.allowed_hosts)


def find_own_upstream(settings: ProxySettings, port: int) -> str | None:
    """Return the upstream of a proxy at that port which is the proxy itself."""
    own = (name for name, one in settings.upstreams.items() if _port_here(one.base_url) == port)
    return next(own, None)


def _port_here(url: str) -> int | None:
    return urlsplit(url).port if is_loopback(url) else None


def key_in(variable: str | None) -> str | None:
    """Return the key in a variable of the environment; None where there is none that could stand in a header."""
    key = os.environ.get(variable, "").strip() if variable else ""
    return key if key and key.isascii() and key.isprintable() else None
