"""Diagnostics that hooks may give: registered codes, counts, and short sentences without a secret.

Rule 1: a diagnostic is read by people who may not read what was said; so text is kept only where its code is known.
"""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from promt.patterns import compile_late
from promt.render import shorten
from protocol.base import Diagnostic
from protocol.hooks import DIAGNOSTIC_CODES, Contribution, diagnostics_of

MAX_MESSAGE_CHARS = 500
UNREGISTERED = "unregistered"

_CODE = compile_late(r"[a-z][a-z0-9_.]{0,63}\Z")


class Vetted(Struct, frozen=True):
    """Diagnostics as they are kept, and whether anything had to be cut for that."""

    diagnostics: list[Diagnostic]
    is_clean: bool


def vet(contributions: Sequence[Contribution], mask: Callable[[str], str]) -> Vetted:
    """Return the diagnostics among contributions, without what may not be kept."""
    given = diagnostics_of(contributions)
    kept = [_cut(diagnostic, mask) for diagnostic in given]
    return Vetted(kept, all(diagnostic.code in DIAGNOSTIC_CODES for diagnostic in given) and kept == given)


def _cut(diagnostic: Diagnostic, mask: Callable[[str], str]) -> Diagnostic:
    if diagnostic.code not in DIAGNOSTIC_CODES:
        return Diagnostic(code=diagnostic.code if _CODE.match(diagnostic.code) else UNREGISTERED)
    message = diagnostic.message
    return Diagnostic(
        code=diagnostic.code,
        message=shorten(mask(message), MAX_MESSAGE_CHARS) if message is not None else None,
        data=_keep_plain_members(diagnostic.data) if diagnostic.data is not None else None,
    )


def _keep_plain_members(data: dict[str, Any]) -> dict[str, Any]:
    """Return the members that are numbers, codes or lists of ids; a sentence belongs into the message."""
    return {name: value for name, value in data.items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):  # ids of what was left out
        return all(isinstance(one, str) and _CODE.match(one) for one in value)  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, str):
        return _CODE.match(value) is not None
    return value is None or isinstance(value, (bool, int, float))
