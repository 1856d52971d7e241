"""The named statements of this house, and what its columns have in common.

Rule 1: every function of this room is synchronous and works in the transaction it is given.
Rule 2: nothing is decided in this room.
"""

from typing import Any

from protocol.base import encode
from protocol.statements import Statements

SQL = Statements("agent")
LAST = 2**62
"""Beyond every row: the beginning of a newest-first page."""


def to_json(value: Any) -> str:
    """Return JSON text for a column."""
    return encode(value).decode()
