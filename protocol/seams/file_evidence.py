"""A place in a file of the user as the evidence of a memory: checked when it is given, looked up again when asked.

Rule 1: durable memory knows no file; who searches files says whether words stand there.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

from protocol.memory.values import Context

PlaceState: TypeAlias = Literal["same", "moved", "changed", "gone"]
"""The words stand at those lines, elsewhere in the file, nowhere in it, or the file is not there to be read."""


class FilePlace(NamedTuple):
    """Lines of a file of a collection, from 1, and the words that stand there. Without lines: anywhere in it."""

    collection_id: str
    path: str
    quote: str
    from_line: int | None = None
    to_line: int | None = None
    sha256: str | None = None
    """The digest of the file in which the words stood."""


class FileEvidence(Protocol):
    """Looks whether files say what memory took from them."""

    async def stands_there(self, place: FilePlace, context: Context) -> bool:
        """Return whether the words stand at a place, in the very file whose digest it names."""
        ...

    async def state_of(self, place: FilePlace, context: Context) -> PlaceState:
        """Return the state of a place; `gone` too for what is not visible in that context."""
        ...

    async def still_holding(self, places: Sequence[FilePlace], context: Context | None) -> list[FilePlace]:
        """Return every file that still holds the words of one of the places, the places' own files first.

        Others are looked for in the collections that are visible in the context; without one, in those of the places.
        """
        ...
