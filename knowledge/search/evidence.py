"""Places in files as evidence of memories. Satisfies `FileEvidence`.

Rule 1: words are compared without case, line ends, blanks and the marks of Markdown: a quotation has none of them.
Rule 2: only what is indexed and visible is looked at, by the one safe way of opening files.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import anyio.to_thread

from knowledge.index.cutting import line_starts
from knowledge.index.hidden import decode_part
from knowledge.ports import KnowledgeMeans
from knowledge.rows.collections import KnownCollection, find_collection
from knowledge.rows.files import FileRow, find_file
from knowledge.search.reading import READABLE
from knowledge.search.verifying import read_range
from knowledge.search.visible import visible_collections
from promt.patterns import compile_late
from protocol.memory.values import Context
from protocol.seams.file_evidence import FilePlace, PlaceState
from protocol.seams.ports import Tx
from protocol.seams.safe_files import UnsafeFileError
from protocol.unicode_forms import normalize

_MARKS = compile_late(r"[*_`#>~|\[\]\\]+|^\s*(?:[-+]|\d+[.)])\s", re.MULTILINE)
_BLANKS = compile_late(r"\s+")


class _Found(NamedTuple):
    known: KnownCollection
    file: FileRow


def fold_quotation(text: str) -> str:
    """Return a text as quotations are compared."""
    plain = _MARKS.sub(" ", normalize("NFKC", text)).casefold()
    return _BLANKS.sub(" ", plain).strip().rstrip(".!?")


def state_in(text: str, place: FilePlace) -> PlaceState:
    """Return where in a file's text the words of a place stand; pure."""
    quote = fold_quotation(place.quote)
    if place.from_line is not None:
        starts = line_starts(text) if text else []
        last = place.to_line or place.from_line
        begin = starts[place.from_line - 1] if place.from_line <= len(starts) else len(text)
        end = starts[last] if last < len(starts) else len(text)
        if quote in fold_quotation(text[begin:end]):
            return "same"
        return "moved" if quote in fold_quotation(text) else "changed"
    return "same" if quote in fold_quotation(text) else "changed"


class EvidenceReader:
    """Reads files that memories name."""

    def __init__(self, means: KnowledgeMeans) -> None:
        self._means = means

    async def state_of(self, place: FilePlace, context: Context) -> PlaceState:
        """Return the state of a place; `gone` too for what is not visible in that context."""

        def look(tx: Tx) -> _Found | None:
            visible = {known.collection_id: known for known in visible_collections(tx, self._means, context)}
            return _find_readable(tx, visible.get(place.collection_id), place)

        found = await self._means.db.read(look)
        return "gone" if found is None else await anyio.to_thread.run_sync(partial(self._state, found, place))

    async def still_holding(self, places: list[FilePlace]) -> list[FilePlace]:
        """Return those places whose files still hold the words, wherever in them."""

        def look(tx: Tx) -> Sequence[_Found | None]:
            return [_find_readable(tx, find_collection(tx, place.collection_id), place) for place in places]

        kept: list[FilePlace] = []
        for place, found in zip(places, await self._means.db.read(look), strict=True):
            if found is not None:
                state = await anyio.to_thread.run_sync(partial(self._state, found, place))
                kept += [place] if state in {"same", "moved"} else []
        return kept

    def _state(self, found: _Found, place: FilePlace) -> PlaceState:
        try:
            with self._means.open_root(found.known.path) as root, root.open_file(found.file.path) as opened:
                data = read_range(opened, 0, self._means.settings().max_file_bytes)
        except (UnsafeFileError, OSError):
            return "gone"
        return state_in(decode_part(data, found.file.encoding or "utf-8"), place)


def _find_readable(tx: Tx, known: KnownCollection | None, place: FilePlace) -> _Found | None:
    file = find_file(tx, known.id, place.path) if known is not None else None
    is_there = file is not None and file.state in READABLE and file.content is not None
    return _Found(known, file) if known is not None and file is not None and is_there else None
