"""Places in files as evidence of memories. Satisfies `FileEvidence`.

Rule 1: a quotation is compared without case, line ends, repeated blanks and the marks of Markdown.
Rule 2: only indexed files of visible collections are read, by the one safe way of opening files.
Rule 3: a file that moved is still the evidence; its copies, and other files with the same words, count as well.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from itertools import islice

import anyio.to_thread
from msgspec import Struct

from knowledge.index.cutting import line_starts
from knowledge.index.hidden import decode_part
from knowledge.ports import KnowledgeMeans
from knowledge.rows.collections import KnownCollection, find_collection, list_collections
from knowledge.search.finding import FileQuestion, find_pieces
from knowledge.search.readable_files import ReadableFile, Whereabouts, find_readable, locate, read_bytes
from knowledge.search.visible import visible_collections
from knowledge.walk.collection_walks import open_indexed
from promt.patterns import compile_late
from protocol.files.knowledge import KnowledgeSearchArgs
from protocol.memory.values import Context
from protocol.saying import FIRST_UNSPACED, Saying
from protocol.seams.file_evidence import FilePlace, PlaceState, SayingFile
from protocol.seams.ports import Tx
from protocol.seams.safe_files import UnsafeFileError
from protocol.unicode_forms import normalize

MOST_SUSPECTS = 200
"""Files that are read in search of a phrase: the best hits for its words."""
PHRASES_AT_ONCE = 20
"""Phrases that are searched for in one read transaction: each costs as much as a search."""

_MARKS = compile_late(r"[*_`#>~|\[\]\\]+|^\s*(?:[-+]|\d+[.)])\s", re.MULTILINE)
_BLANKS = compile_late(r"\s+")


class _PresentText(Struct, frozen=True):
    """A file's present text and the digest of its bytes, in hexadecimal digits."""

    text: str
    sha256: str


def fold_quotation(text: str) -> str:
    """Return a text in the form in which quotations are compared."""
    plain = _MARKS.sub(" ", normalize("NFKC", text)).casefold()
    return _BLANKS.sub(" ", plain).strip().rstrip(".!?")


def state_in(text: str, place: FilePlace) -> PlaceState:
    """Return `same` where a text has a place's words at its lines, `moved` where elsewhere, else `changed`; pure."""
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
    """Reads the files that are evidence of memories."""

    def __init__(self, means: KnowledgeMeans) -> None:
        self._means = means

    async def stands_there(self, place: FilePlace, context: Context) -> bool:
        """Return whether the words stand at a place, in the file with the digest that it names, if it names one."""

        def look(tx: Tx) -> ReadableFile | None:
            known = self._find_visible(tx, place, context)
            return find_readable(tx, known, place.path) if known is not None else None

        file = await self._means.db.read(look)
        said = await anyio.to_thread.run_sync(self._read, file) if file is not None else None
        if said is None or place.sha256 not in {None, said.sha256}:
            return False
        return state_in(said.text, place) == "same"

    async def state_of(self, place: FilePlace, context: Context) -> PlaceState:
        """Return the state of a place; `gone` also where it is not visible in that context."""

        def look(tx: Tx) -> list[ReadableFile]:
            known = self._find_visible(tx, place, context)
            return _list_files(locate(tx, known, place.path)) if known is not None else []

        files = await self._means.db.read(look)
        return await anyio.to_thread.run_sync(self._state, place, files)

    async def list_saying(
        self, saying: Saying, places: Sequence[FilePlace], context: Context | None
    ) -> list[SayingFile]:
        """Return the files that hold one of the phrases, those of the places first.

        A phrase of a single word does not count, as a name stands in many files. All collections are searched; without
        a context only those of the places, and then no file is visible.
        """
        found: dict[tuple[str, str], ReadableFile] = {}
        visible: frozenset[str] = frozenset()
        saying = saying.without([phrase for phrase in saying.phrases if _is_bare_name(phrase)])
        phrases = sorted(saying.phrases)
        for n in range(0, max(len(phrases), 1), PHRASES_AT_ONCE):
            some = phrases[n : n + PHRASES_AT_ONCE]
            visible, suspects = await self._means.db.read(
                lambda tx, of=some: self._list_suspects(tx, of, places, context)
            )
            found |= {(one.known.collection_id, one.file.path): one for one in suspects}
        said = await anyio.to_thread.run_sync(self._list_saying, saying, found)
        return [SayingFile(name, path, is_visible=name in visible) for name, path in said]

    def _find_visible(self, tx: Tx, place: FilePlace, context: Context) -> KnownCollection | None:
        visible = {known.collection_id: known for known in visible_collections(tx, self._means, context)}
        return visible.get(place.collection_id)

    def _list_suspects(
        self, tx: Tx, phrases: Sequence[str], places: Sequence[FilePlace], context: Context | None
    ) -> tuple[frozenset[str], list[ReadableFile]]:
        """Return the ids of the visible collections, the files of the places, and the best hits for each phrase."""
        seen = visible_collections(tx, self._means, context) if context is not None else []
        own = {place: known for place in places if (known := find_collection(tx, place.collection_id)) is not None}
        others = list_collections(tx) if context is not None else own.values()
        searched = {known.collection_id: known for known in others}
        suspects = [one for place, known in own.items() for one in _list_files(locate(tx, known, place.path))]
        for phrase in phrases:
            asked, terms = KnowledgeSearchArgs(query=phrase), self._means.lexicon.query_terms(phrase)
            ranked = find_pieces(tx, FileQuestion(terms), self._means.meaning, list(searched.values()), None, asked)
            named = dict.fromkeys((at.collection_id, at.path) for one in ranked for at in one.places)
            found = (find_readable(tx, searched[name], path) for name, path in islice(named, MOST_SUSPECTS))
            suspects += [one for one in found if one is not None]
        return frozenset(known.collection_id for known in seen), suspects

    def _list_saying(self, saying: Saying, suspects: Mapping[tuple[str, str], ReadableFile]) -> list[tuple[str, str]]:
        """Return collection and path of the files that hold a phrase, also with marks of Markdown between its words."""
        texts = ((place, said.text) for place, one in suspects.items() if (said := self._read(one)) is not None)
        return [
            place
            for place, text in texts
            if saying.find_phrases(text) or saying.find_phrases(_MARKS.sub(" ", normalize("NFKC", text)))
        ]

    def _state(self, place: FilePlace, files: Sequence[ReadableFile]) -> PlaceState:
        """Return the state of a place in the first of the files that has its words, else in the very first one."""
        states: list[PlaceState] = []
        for one in files:
            said = self._read(one)
            state = state_in(said.text, place) if said is not None else "gone"
            if state in {"same", "moved"}:
                return state if one.file.path == place.path else "moved"
            states.append(state)
        return states[0] if states else "gone"

    def _read(self, one: ReadableFile) -> _PresentText | None:
        """Return a file's present text; None where it cannot be read."""
        try:
            with (
                self._means.open_root(one.known.path) as root,
                open_indexed(root, one.known, self._means.settings(), one.file.path) as opened,
            ):
                data = read_bytes(self._means, opened, one)
        except (UnsafeFileError, OSError):
            return None
        # the bytes of a PDF are those of its text; its file was just found to have the indexed digest
        indexed = one.file.sha256 if one.file.kind == "pdf" else None
        digest = indexed if indexed is not None else hashlib.sha256(data).digest()
        return _PresentText(decode_part(data, one.file.encoding or "utf-8"), digest.hex())


def _list_files(there: Whereabouts) -> list[ReadableFile]:
    return [*([there.current] if there.current is not None else ()), *there.earlier]


def _is_bare_name(phrase: str) -> bool:
    """Return whether a phrase is a single word of letters, in a script that has blanks between words."""
    return phrase.isalpha() and max(phrase) < FIRST_UNSPACED
