"""Finding the active record that says the same in other words.

Rule 1: only within one scope and category, and only one that is alike in everything but its wording.
Rule 2: whether two statements are one fact is decided by `likeness` alone; here is only which ones are compared.
"""

import json
import re
import zlib
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from memory.likeness import is_same_fact
from memory.likeness_words import languages
from memory.matching import match_of
from memory.ports import Collaborators
from memory.proposal import Proposed
from memory.record_terms import SQL, words_of
from memory.statement_figures import is_unit
from memory.store import Stored
from memory.vectors import records_by_row
from promt.patterns import compile_late
from protocol.ports import Lexicon, Tx

COMPARED_BY_WORDS = 8
"""The records that share the most telling words: a paraphrase of known words is among them."""
SHARED_WORDS = 0.4
"""Of the telling words of the longer statement; with fewer in common two statements are no paraphrase that a table knows. A comparison takes a third
of a millisecond, this takes a hundredth."""
_FIGURES = compile_late(r"\d+")
_GROUPS = compile_late(r"(?<=\d),(?=\d{3}(?!\d))")
_CLOCK = compile_late(r"\d:\d|\d[\s-]?[ap]\.?m\b", re.IGNORECASE)
_COUNTED = compile_late(r"\d[\s-]?([^\W\d_]+)")
NEWEST = 40  # records that a word is looked up in; one that is in more tells little
LOOKED_THROUGH = 1000  # the most that a word is looked up in where other categories and older states use it


class _Said(NamedTuple):
    """What of a statement is compared before its meaning is."""

    terms: frozenset[str]
    figures: Sequence[str]


def find_paraphrase(
    tx: Tx, means: Collaborators, scope_id: int, proposed: Proposed, gist: Sequence[str]
) -> Stored | None:
    """The one active record that the proposal, of that gist, restates; None when there is none, or more than one."""
    if proposed.alias is not None:
        return None  # under a name of the caller's other words are news
    cosines = _nearest(tx, proposed)
    rows = [*cosines, *(row for row in _sharing(tx, scope_id, proposed, gist) if row not in cosines)]
    if not rows:
        return None
    said = _Said(frozenset(gist), _figures_of(proposed.content))
    place = {"rows": json.dumps(rows), "scope_id": scope_id, "category": proposed.semantic.category}
    may_be = [
        row
        for row, content, terms in tx.all(SQL["comparable_records"], place)
        if _may_be_same(said, content.decode("utf-8", "replace"), terms, means.lexicon, is_near=row in cosines)
    ]
    alike = [
        stored
        for row, stored in (records_by_row(tx, may_be) if may_be else {}).items()
        if stored.is_intact
        and stored.record.value == proposed.value
        and is_same_fact(stored.record.content, proposed.content, cosines.get(row)).is_same
    ]
    return alike[0] if len(alike) == 1 else None


def sharing_words(tx: Tx, scope_id: int, proposed: Proposed, gist: Sequence[str]) -> list[Stored]:
    """The active records of the scope and category that share the most telling words with the proposal, the closest first."""
    rows = _sharing(tx, scope_id, proposed, gist)
    place = {"rows": json.dumps(rows), "scope_id": scope_id, "category": proposed.semantic.category}
    comparable = {row for row, *_ in tx.all(SQL["comparable_records"], place)}
    found = records_by_row(tx, [row for row in rows if row in comparable])
    return [stored for row in rows if (stored := found.get(row)) is not None and stored.is_intact]


def _nearest(tx: Tx, proposed: Proposed) -> dict[int, float]:
    """The rows of what is nearest in meaning, with their cosines."""
    cosines = {found.memory_id: found.cosine for found in proposed.near}
    if not cosines:
        return {}
    found = tx.all(SQL["rows_of_records"], {"memory_ids": json.dumps(list(cosines))})
    return {row: cosines[memory_id] for row, memory_id in found}


def _sharing(tx: Tx, scope_id: int, proposed: Proposed, terms: Sequence[str]) -> list[int]:
    """The rows of what shares the most telling words; the fewer records a word is in, the more it tells."""
    told: defaultdict[int, float] = defaultdict(float)
    for term in terms:
        rows = tx.all(SQL["newest_with_term"], {
            "match": match_of([scope_id], [term]), "scope_id": scope_id, "category": proposed.semantic.category,
            "budget": LOOKED_THROUGH, "limit": NEWEST,
        })  # fmt: skip
        for (row,) in rows:
            told[row] += 1 / len(rows)
    return sorted(told, key=told.__getitem__, reverse=True)[:COMPARED_BY_WORDS]


def _figures_of(text: str) -> list[str]:
    """The figures, sorted as text; none where another figure may tell the same: `14 days`, `2 weeks`; `4 pm`, `16:00`."""
    if _CLOCK.search(text) or any(map(_is_unit, _COUNTED.findall(text))):
        return []
    return sorted(_FIGURES.findall(_GROUPS.sub("", text)))


def _is_unit(word: str) -> bool:
    table = languages()["en"]  # the language whose amounts are compared in one unit
    return is_unit(table.concept_of(word.lower())) or is_unit(table.stem(word.lower()))


def _may_be_same(said: _Said, content: str, terms: bytes | None, lexicon: Lexicon, *, is_near: bool) -> bool:
    """Whether a comparison could find them the same: figures written as such agree, and enough is in common."""
    figures = _figures_of(content)
    is_figured = bool(said.figures and figures)
    if is_figured and said.figures != figures:
        return False
    if is_near:
        return True
    try:
        known = frozenset(words_of(terms or b"")[1])
    except (zlib.error, UnicodeDecodeError):  # lost or damaged: what they were made of is still there
        known = frozenset(lexicon.query_terms(content))
    told = said.terms
    if not is_figured:  # each may tell the same by a figure of its own
        known, told = (frozenset(term for term in side if not term[0].isdigit()) for side in (known, told))
    return len(known & told) >= SHARED_WORDS * max(len(told), len(known))
