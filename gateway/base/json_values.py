"""JSON that others wrote: each value is taken for what it should be, or for nothing."""

from typing import Any, cast


def table_of(value: Any) -> dict[str, Any]:
    """Return an object of JSON; an empty one for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """Return a list of JSON; an empty one for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """Return a text of JSON; an empty one for anything else."""
    return value if isinstance(value, str) else ""
