"""Addresses of models and the keys for them, as configurations name them.

Rule 1: a key comes out of the one variable that a configuration names.
"""

import ipaddress
import os
from urllib.parse import urlsplit


def is_loopback(url: str | None) -> bool:
    """Return whether an address is on this machine."""
    host = urlsplit(url).hostname if url is not None else None
    try:
        return host == "localhost" or (host is not None and ipaddress.ip_address(host).is_loopback)
    except ValueError:
        return False


def key_in(variable: str | None) -> str | None:
    """Return the key in a variable of the environment; None where there is none that could stand in a header."""
    key = os.environ.get(variable, "").strip() if variable else ""
    return key if key and key.isascii() and key.isprintable() else None
