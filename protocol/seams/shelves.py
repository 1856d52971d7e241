"""The shelves of a house: each table that may hold a forgotten memory's words, its search, the removal of the words.

Rule 1: a house lists its tables as `Shelf`; their search and change stand here, once.
Rule 2: every row is compared by its text. No index is asked: one may be late, damaged, or not cover the row at all.
Rule 3: a look is short: it returns where it stopped, and the next snapshot goes on there.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from protocol.memory.forgetting import ForgottenPlace
from protocol.saying import NOTHING, Saying
from protocol.seams.ports import Tx

CHARS_AT_ONCE = 250_000
"""Characters that one look reads in some milliseconds, so that it ends in time on a busy machine as well."""
ROW_CHARS = 100
"""The cost of a row beside its text, in characters."""
LAST = 2**62


class Column(Struct, frozen=True):
    """A column that holds text: a plain one, or JSON."""

    name: str
    free: tuple[str, ...] | None = None
    """Of JSON: the names of the members that hold text; without any name all of it is text."""
    named: tuple[str, ...] = ()
    """Of JSON: the names of the members that hold names, which are searched and never changed."""


class Shelf(Struct, frozen=True):
    """A table that holds text: how it is read a page at a time, and how a row is changed."""

    place: ForgottenPlace
    table: str
    page: str
    """Names the statement of rows by (row, id, texts…, names…) between two rows."""
    keep: str
    """Names the statement that gives a row other texts; empty where a row goes as a whole, or stays."""
    texts: tuple[Column, ...]
    names: tuple[str, ...] = ()
    """Columns with names: they are searched and never changed."""


class SayingRow(Struct, frozen=True):
    """A row with forgotten words; `in_names` are those in columns that are never changed."""

    place: ForgottenPlace
    row: int
    id: str
    in_texts: frozenset[str]
    in_names: frozenset[str] = frozenset()


Mark: TypeAlias = tuple[int, int]
"""(shelf, row): where a look goes on."""
FIRST: Mark = (0, 0)


class Searched(Protocol):
    """The part of a house in a forgetting."""

    def look(self, tx: Tx, saying: Saying, mark: Mark) -> tuple[list[SayingRow], Mark | None]:
        """Return the rows with the words, from a mark on, and the mark of the next look; None at the end."""
        ...

    def take_out(self, tx: Tx, saying: Saying, found: Sequence[SayingRow]) -> None:
        """Remove the words from the rows, and from all data that is derived of them."""
        ...


def _text_of(value: Any) -> str | None:
    """Return a column's text; a statement gives it as bytes, because what is not UTF-8 any more is searched, too."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


class Shelves:
    """The shelves of a house. Satisfies `Searched`."""

    def __init__(
        self, sql: Mapping[str, str], shelves: Sequence[Shelf], changed: Callable[[Tx, Sequence[SayingRow]], None]
    ) -> None:
        self._sql = sql
        self._shelves = shelves
        self._changed = changed

    def look(self, tx: Tx, saying: Saying, mark: Mark) -> tuple[list[SayingRow], Mark | None]:
        """Return the rows with the words, from a mark on, and the mark of the next look."""
        found: list[SayingRow] = []
        number, after = mark
        chars = 0
        while number < len(self._shelves):
            shelf = self._shelves[number]
            for row in self._rows(tx, shelf, after + 1, LAST):
                compared = _to_saying_row(shelf, row, saying)
                if compared.in_texts or compared.in_names:
                    found.append(compared)
                chars += ROW_CHARS + sum(len(value) for value in row[2:] if value)
                if chars >= CHARS_AT_ONCE:
                    return found, (number, row[0])
            number, after = number + 1, 0
        return found, None

    def take_out(self, tx: Tx, saying: Saying, found: Sequence[SayingRow]) -> None:
        """Remove the words from the rows, and from all data that is derived of them."""
        by_place = {shelf.place: shelf for shelf in self._shelves if shelf.keep}
        changed: list[SayingRow] = []
        for one in found:
            shelf = by_place.get(one.place)
            if shelf is not None and self._clean(tx, shelf, one.row, saying):
                changed.append(one)
        if changed:
            self._changed(tx, changed)

    def _clean(self, tx: Tx, shelf: Shelf, number: int, saying: Saying) -> bool:
        """Take the words out of a row; return whether it had them."""
        is_changed = False
        for row in [*self._rows(tx, shelf, number, number)]:
            texts = {column.name: text for column, text in zip(shelf.texts, row[2:], strict=False)}
            clean = {column.name: _clean_text(texts[column.name], column, saying) for column in shelf.texts}
            if clean != texts:
                is_changed = bool(tx.run(self._sql[shelf.keep], {"row": number, **clean}))
        return is_changed

    def _rows(self, tx: Tx, shelf: Shelf, first: int, last: int) -> Iterator[list[Any]]:
        for row in tx.each(self._sql[shelf.page], {"first": first, "last": last}):
            yield [row[0], *map(_text_of, row[1:])]


def _to_saying_row(shelf: Shelf, row: Sequence[Any], saying: Saying) -> SayingRow:
    said: set[str] = set()
    names = {phrase for name in row[2 + len(shelf.texts) :] if name for phrase in saying.find_phrases(name)}
    for text, column in zip(row[2 : 2 + len(shelf.texts)], shelf.texts, strict=True):
        if not text:
            continue
        said |= saying.find_phrases(text) if column.free is None else saying.find_phrases_in_json(text, column.free)
        names |= saying.find_phrases_in_json(text, column.named) if column.named else NOTHING
    return SayingRow(shelf.place, row[0], str(row[1]), frozenset(said), frozenset(names))


def _clean_text(text: str | None, column: Column, saying: Saying) -> str | None:
    if text is None:
        return None
    return saying.take_out(text) if column.free is None else saying.take_out_of_json(text, column.free)
