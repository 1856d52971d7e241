"""Addresses of models and the keys for them, as configurations name them.

Rule 1: a key comes out of the one variable that a configuration names.
"""

import ipaddress
import os
from typing import Final
from urllib.parse import urlsplit

from protocol.settings import HttpSettings, ProxySettings


def is_loopback(url: str | None) -> bool:
    """Return whether an address is on this machine."""
    host = urlsplit(url).hostname if url is not None else None
    try:
        return host == "localhost" or (host is not None and ipaddress.ip_address(host).is_loopback)
    except ValueError:
        return False


OPEN: Final = "an address that others reach needs allow_remote = true and allowed_hosts"
OWN: Final = "is this proxy's own address"


def is_open_unasked(settings: HttpSettings | ProxySettings, bind: str) -> bool:
    """Return whether a door at that address would be open to other machines without the settings that allow it."""
    bare = bind.strip("[]")
    is_here = is_loopback(f"http://{f'[{bare}]' if ':' in bare else bare}")
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
