"""Programs that speak to models, as `clients.toml` lists them.

Rule 1: pure but for one file of the package, which is read once.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

UNKNOWN = "unknown"


class ClientRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The row of a program; `clients.toml` says what each member is."""

    agent: list[str]
    session: list[str] = []
    wrappers: list[str] = []
    utility: list[str] = []


@cache
def client_rows() -> Mapping[str, ClientRow]:
    """Return every known program by its name."""
    text = Path(__file__).with_name("clients.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, ClientRow])


def list_clients() -> frozenset[str]:
    """Return the names of known programs."""
    return frozenset(client_rows())


def name_of(user_agent: str, agent_id: str | None = None) -> str:
    """Return the name of a program by its `User-Agent`, else by `agent_id`, which its address names; else `unknown`."""
    said = user_agent.lower()
    named = agent_id if agent_id in client_rows() else None
    known = (name for name, row in client_rows().items() if any(map(said.startswith, row.agent)))
    return next(known, named) or UNKNOWN
