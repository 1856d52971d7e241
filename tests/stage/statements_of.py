"""The statements of every house as the product has them: loaded, with the lists of columns filled in."""

from collections.abc import Mapping

from agent.rows.statements import SQL as AGENT
from memory.rows.record_columns import SQL as MEMORY
from protocol.statements import Statements

_FILLED: Mapping[str, Statements] = {"agent": AGENT, "memory": MEMORY}


def statements_of(house: str) -> Statements:
    """Return the statements of a house."""
    return _FILLED.get(house) or Statements(house)
