"""The address of a door: whether it may have it, the socket that listens there, and the holder of a taken port.

Rule 1: an address that other machines reach needs the two settings that `is_open_unasked` names.
"""

import errno
import json
import socket
from ipaddress import ip_address
from pathlib import Path

from msgspec import Struct

from gateway.base.addresses import OPEN, is_open_unasked
from gateway.base.exit_codes import CONFIG, UNAVAILABLE
from gateway.home.run_files import living_doors
from gateway.home.starting import UnusableError
from protocol.settings import HttpSettings, ProxySettings

ASK_SECONDS = 2.0
"""The time that the holder of a taken port has to say what it is."""
TAKEN = frozenset({errno.EADDRINUSE, 10048})
"""The error numbers of a taken port; Windows has one of its own, WSAEADDRINUSE."""


class HttpOptions(Struct, frozen=True, kw_only=True):
    """The command line's options for a door; None leaves one to the configuration."""

    port: int | None = None
    bind: str | None = None


class DoorAddress(Struct, frozen=True, kw_only=True):
    """The address that the door listens at."""

    bind: str
    port: int

    @property
    def url(self) -> str:
        """Return the address of the door."""
        return f"http://{f'[{self.bind}]' if ':' in self.bind else self.bind}:{self.port}"


def address_of(asked: HttpOptions, settings: HttpSettings | ProxySettings, door: str = "http") -> DoorAddress:
    """Return the address to listen at: the command line's, else the settings'.

    `door` is the settings' table, for the message. Raises `UnusableError` for an address that is not allowed.
    """
    bind = asked.bind or settings.bind
    bind = "127.0.0.1" if bind == "localhost" else bind.strip("[]")
    try:
        ip_address(bind)
    except ValueError:
        raise UnusableError(CONFIG, f"gateway.{door}.bind: must be an address of this machine, as 127.0.0.1") from None
    if is_open_unasked(settings, bind):
        raise UnusableError(CONFIG, f"gateway.{door}.bind: {OPEN}")
    return DoorAddress(bind=bind, port=settings.port if asked.port is None else asked.port)


def listen_at(address: DoorAddress, run_folder: Path) -> socket.socket:
    """Return a socket that listens at an address. Raises `UnusableError`; for a taken port it names the holder."""
    from gateway.doors.http.server import listen  # noqa: PLC0415  # uvicorn is imported when a door opens

    try:
        return listen(address.bind, address.port)
    except PermissionError:
        raise UnusableError(UNAVAILABLE, f"port {address.port} is not open to this user") from None
    except OSError as error:
        if error.errno not in TAKEN:
            raise UnusableError(UNAVAILABLE, f"{address.bind} is no address of this machine") from None
        raise UnusableError(UNAVAILABLE, f"port {address.port} is taken by {_holder(address, run_folder)}") from None


def _holder(address: DoorAddress, run_folder: Path) -> str:
    """Return in words which program listens at an address already."""
    # its import takes a tenth of a start, and only a taken port needs it
    from http.client import HTTPConnection, HTTPException  # noqa: PLC0415

    connection = HTTPConnection(address.bind, address.port, timeout=ASK_SECONDS)
    try:
        connection.request("GET", "/health")
        found = json.loads(connection.getresponse().read(4096))
        version = found["version"] if found["service"] == "pioneer" else None
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return "another program"
    finally:
        connection.close()
    if not isinstance(version, str):
        return "another program"
    mine = [entry for entry in living_doors(run_folder) if entry.url == address.url]
    shown = "".join(c for c in version[:40] if c.isprintable())
    return f"pioneer {shown} " + (f"of this home (pid {mine[0].pid})" if mine else "of another home")
