"""The named statements of this house, and what its columns have in common.

Rule 1: every function of this room is synchronous and works in the transaction it is given.
Rule 2: nothing is decided in this room.
"""

from typing import Any, Final

from protocol.base import encode
from protocol.seams.checks import format_vouching
from protocol.statements import Statements

_OF_ITEM: Final = (
    "text", "item_id", "turn_id", "thread_id", "position", "kind", "role", "status", "at", "name", "tool",
)  # fmt: skip
"""The columns that an item's digest vouches for."""
_VOUCHED: Final = format_vouching([f"item.{name}" for name in _OF_ITEM])
_SHOWN: Final = ("item_id", "turn_id", "thread_id", "kind", "role", "status", "text", "at", "name", "tool")
"""The columns of an item that is shown; whether it is as it was written stands behind them."""
SQL = Statements(
    "agent",
    {
        "shown_item": ", ".join([*(f"item.{name}" for name in _SHOWN), f"item.digest IS {_VOUCHED}"]),
        "vouched_item": _VOUCHED,
        "vouched_new_item": format_vouching(_OF_ITEM, _OF_ITEM),
        "vouched_redacted_item": format_vouching(_OF_ITEM, {"text", "tool"}),
        "vouched_said_item": format_vouching(_OF_ITEM, {"text", "name", "tool"}),
    },
)
LAST = 2**62
"""Beyond every row: the beginning of a newest-first page."""


def to_json(value: Any) -> str:
    """Return JSON text for a column."""
    return encode(value).decode()
