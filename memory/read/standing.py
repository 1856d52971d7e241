"""The standing block: the records that stand in every prompt of a turn's scopes.

Rule 1: every record passes the visibility gate; regulated ones never stand in a prompt.
Rule 2: a record stands there only if its words count as the user's own: by a row of `VOUCHERS`, and nothing else.
Rule 3: records are read again only when one of them has changed.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from memory.ports import Collaborators
from memory.rows.listings import standing_marks
from memory.rows.record_columns import Stored
from memory.rows.records import records_by_row
from memory.rows.store import scope_ids_of
from memory.rules.actors import APPROVER, EXTRACTOR, RULES
from memory.rules.categories import BRIEF_ORDER
from memory.rules.visibility import ACTIVE, View, is_visible
from promt.brief import Brief, StandingStatement, choose, compose
from protocol.base import Scope
from protocol.record import ActorKind, Provenance, Record, SourceKind
from protocol.seams.ports import Tx
from protocol.shown import ShownLine

KEPT_BRIEFS = 64
"""The most blocks that are kept: one for each set of scopes that hold records, mostly one a workspace."""

_OWN_AUTHORS: frozenset[ActorKind] = frozenset({"user", "import"})
_OWN_SOURCES: frozenset[SourceKind] = frozenset({"explicit_user_request", "user_correction", "import"})


class Voucher(Struct, frozen=True):
    """A reason for which a record's words count as the user's own, and its test."""

    reason: str
    holds: Callable[[Provenance], bool]


def _is_own(provenance: Provenance) -> bool:
    """Return whether a person or their host wrote it. A record of a message is not judged here, but by that message."""
    author = provenance.created_by.kind if provenance.created_by is not None else "import"
    return author in _OWN_AUTHORS and provenance.source_kind in _OWN_SOURCES and provenance.item_id is None


def _is_supported_claim(provenance: Provenance) -> bool:
    """Return whether a model claimed it, and it was compared with the user's own words of a turn."""
    is_found = provenance.created_by == EXTRACTOR and provenance.item_id is not None
    author = provenance.created_by.kind if provenance.created_by is not None else None
    is_wished = author == "assistant" and provenance.source_kind == "explicit_user_request"
    return provenance.turn_id is not None and (is_found or is_wished)


VOUCHERS: tuple[Voucher, ...] = (
    Voucher("written by a person or their host, corrected by them, or brought in with their bundle", _is_own),
    Voucher("approved by a person", lambda provenance: provenance.created_by == APPROVER),
    Voucher("stated in so many words, found by rule", lambda provenance: provenance.created_by == RULES),
    Voucher("kept by a model, and borne out by the user's own words of its turn", _is_supported_claim),
)
"""No row holds for a record that a model inferred, or found in words that are not the user's own."""


def voucher_of(provenance: Provenance) -> Voucher | None:
    """Return the reason for which a record's words may stand in every prompt; None where there is none."""
    return next((voucher for voucher in VOUCHERS if voucher.holds(provenance)), None)


class _Kept(Struct, frozen=True):
    """A block that holds while the marks of its records are the same, from `since` until before `until`."""

    state: str
    """The marks of its records, as `standing_marks` returns them."""
    records: Mapping[str, Stored]
    """Its records by their marks."""
    since: int
    until: float
    """Unix milliseconds at which the first record expires, or infinity."""
    brief: Brief


_BriefKey: TypeAlias = tuple[tuple[int, ...], int]
"""The rows of the scopes that a brief is of, and its budget."""


class Standing:
    """Reads the standing block of a turn's scopes; one in a process, since it keeps blocks."""

    def __init__(self, means: Collaborators) -> None:
        self._means = means
        self._kept: OrderedDict[_BriefKey, _Kept] = OrderedDict()

    async def read(self, scopes: Sequence[Scope]) -> Brief:
        """Return the block of these scopes, within the budget of the settings."""
        room, now = self._means.settings().standing_chars, self._means.clock.now()

        def read(tx: Tx) -> tuple[_BriefKey, _Kept]:
            key = (tuple(scope_ids_of(tx, scopes)), room)
            return key, _refresh(tx, key, now, self._kept.get(key))

        key, kept = await self._means.db.read(read)
        self._kept[key] = kept
        self._kept.move_to_end(key)
        while len(self._kept) > KEPT_BRIEFS:
            self._kept.popitem(last=False)
        return kept.brief


def _refresh(tx: Tx, key: _BriefKey, now: int, before: _Kept | None) -> _Kept:
    """Return the block as it was, if none of its records has changed or expired; else a new one."""
    ids, room = key
    state = standing_marks(tx, ids)
    if before is not None and before.state == state and before.since <= now < before.until:
        return before
    records = _read_marked(tx, state.split(",") if state else [], before.records if before is not None else {})
    view = View(frozenset(ids), ACTIVE, now, shows_regulated=False)
    shown = [one for one in records.values() if is_visible(one.seen, view)]
    until = min((one.record.expires_at for one in shown if one.record.expires_at is not None), default=math.inf)
    statements = (_to_statement(one.record) for one in shown if _may_stand(one.record))
    return _Kept(state, records, now, until, compose(statements, room))


def _read_marked(tx: Tx, marks: Sequence[str], known: Mapping[str, Stored]) -> dict[str, Stored]:
    """Return the records of these marks, by mark; a mark begins with the row. Known ones are not read again."""
    rows = {mark: int(mark.partition(":")[0]) for mark in marks}
    found = records_by_row(tx, [row for mark, row in rows.items() if mark not in known])
    return {mark: known[mark] if mark in known else found[row] for mark, row in rows.items()}


def project_lines(records: Sequence[Record], max_chars: int) -> Sequence[ShownLine]:
    """Return the rules of a project as lines of a brief, without those whose words are not the user's own."""
    return compose(map(_to_statement, filter(_may_stand, records)), max_chars).lines


def order_brief(records: Sequence[Record]) -> list[Record]:
    """Return the newest record of each key, in the order of `BRIEF_ORDER`, and in each category the oldest first."""
    known = {record.memory_id: record for record in records}
    return [known[one.memory_id] for one in choose(map(_to_statement, records))]


def _may_stand(record: Record) -> bool:
    return voucher_of(record.provenance) is not None


def _to_statement(record: Record) -> StandingStatement:
    """Return a record as a brief takes it: its key without the scope, so that two scopes' records of one thing meet."""
    key = record.key.removeprefix(f"{record.scope.kind}:{record.scope.key}:")
    return StandingStatement(
        record.memory_id, BRIEF_ORDER.index(record.category), key, record.content, record.updated_at, record.created_at
    )
