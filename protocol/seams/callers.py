"""The caller of the running code: the door that a request came through, and the program that sent it.

Rule 1: a door sets it once for each request; rows of changes are stored with it in the same request.
Rule 2: work that no request caused has no caller; what it does is attributed by the turn that it works on.
"""

from contextvars import ContextVar
from typing import NamedTuple

import msgspec

from protocol.base import DoorName

MAX_CLIENT_CHARS = 128


class RequestCaller(NamedTuple):
    """A door, and the name by which a client introduced itself; None where it gave none."""

    door: DoorName
    client: str | None = None


CALLER: ContextVar[RequestCaller | None] = ContextVar("request_caller", default=None)
"""The caller of the running request, if there is one."""

_STORED = msgspec.json.Decoder(RequestCaller)


def enter(door: DoorName, client: str | None = None) -> None:
    """Set the caller for the rest of the running request."""
    CALLER.set(RequestCaller(door, client[:MAX_CLIENT_CHARS] if client else None))


def encode_caller() -> str | None:
    """Return the present caller as a row keeps it; None where no request runs."""
    caller = CALLER.get()
    return msgspec.json.encode(caller).decode() if caller is not None else None


def caller_of(text: str | None) -> RequestCaller | None:
    """Return the caller that a row kept; None for a row without a readable one."""
    if text is None:
        return None
    try:
        return _STORED.decode(text)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
