"""A place in a file of the user as the evidence of a memory: checked when it is given, looked up again when asked.

Rule 1: durable memory knows no file; who searches files says whether words stand there.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

from protocol.memory.values import Context
from protocol.saying import Saying

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


class SayingFile(NamedTuple):
    """A file that says a forgotten memory's words, and whether who asks may see its collection."""

    collection_id: str
    path: str
    is_visible: bool


class FileEvidence(Protocol):
    """Looks whether files say what memory took from them."""

    async def stands_there(self, place: FilePlace, context: Context) -> bool:
        """Return whether the words stand at a place, in the very file whose digest it names."""
        ...

    async def state_of(self, place: FilePlace, context: Context) -> PlaceState:
        """Return the state of a place; `gone` too for what is not visible in that context."""
        ...

    async def list_saying(
        self, saying: Saying, places: Sequence[FilePlace], context: Context | None
    ) -> list[SayingFile]:
        """Return every file that says one of the phrases, those that the places mean first.

        They are looked for in all collections; without a context in those of the places, and none of them is visible.
        """
        ...
