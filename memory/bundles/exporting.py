"""Exports the rows of some scopes as bundles, one a page.

Rule 1: a forgotten record is exported as a tombstone without content; a candidate that was forgotten with it is not.
Rule 2: a record or candidate is exported with its evidence, events and decisions; where that is larger than a page,
each part repeats the row that it belongs to.
Rule 3: a record that is damaged, or holds a number of a kind that is never kept, is left out and named.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from memory.bundles.text import PAGE_BYTES, count_entries, parts_of, seal
from memory.ports import Collaborators
from memory.rows.bundles import (
    attachments_of_candidate,
    attachments_of_record,
    candidates_from,
    forgotten_from,
    read_touch_time,
    records_from,
    tombstones_from,
)
from memory.rows.record_columns import Stored
from memory.rows.store import StoredCandidate, scope_ids_of
from memory.rows.withheld import holds_number, is_shown
from memory.rules.identity import key_hash_of
from memory.rules.visibility import KEPT, View, is_visible, status_at
from protocol.base import Diagnostic, Scope
from protocol.bundle import (
    BundleCandidate,
    BundledProposal,
    BundleEntry,
    BundleRecord,
    BundleTombstone,
)
from protocol.cursors import cursor_of, place_of
from protocol.errors import CallerError
from protocol.memory.bundles import ExportParams, ExportResult
from protocol.seams.ports import KeyedHash, SecretScanner, Tx, key_id

Entries = Iterator[tuple[int, BundleEntry]]
"""Entries, each with the number of its row."""

_PROPOSAL: Final = msgspec.json.Decoder(BundledProposal)
"""Made at import: msgspec does not guard two threads of the database that meet a type for the first time at once."""


def bare_record(stored: Stored, now: int) -> BundleRecord:
    """Return a record as it is at a moment, without its evidence, events and decisions."""
    names = set(BundleRecord.__struct_fields__) & set(stored.record.__struct_fields__)
    own: dict[str, Any] = {name: getattr(stored.record, name) for name in names}
    own["status"] = status_at(stored.record, now)
    return BundleRecord(**own, alias=stored.alias, is_single=stored.is_single)


def bare_candidate(found: StoredCandidate, touched_at: int) -> BundleCandidate:
    """Return a candidate without its evidence and decisions."""
    names = set(BundleCandidate.__struct_fields__) & set(found.candidate.__struct_fields__)
    own: dict[str, Any] = {name: getattr(found.candidate, name) for name in names}
    proposal = _PROPOSAL.decode(found.proposal)
    return BundleCandidate(**own, turn_id=found.turn_id, touched_at=touched_at, proposal=proposal)


class _Walk(Struct, frozen=True):
    """The walk through the rows of an export on one snapshot; it collects the ids of records that are left out."""

    tx: Tx
    keyed: KeyedHash
    view: View
    damaged: list[str]
    withheld: list[str]
    scanner: SecretScanner

    def list_records(self, begin: int) -> Entries:
        """Yield the records with their evidence, events and decisions, from a row on."""
        for stored in records_from(self.tx, self.view.scope_ids, begin):
            if not is_visible(stored.seen, self.view):
                (self.withheld if stored.seen.is_withheld else self.damaged).append(stored.record.memory_id)
                continue
            if not is_shown(self.tx, stored, self.view, self.scanner):
                self.withheld.append(stored.record.memory_id)
                continue
            attached = attachments_of_record(self.tx, stored.record.memory_id)
            yield stored.row, msgspec.structs.replace(bare_record(stored, self.view.now), **attached)

    def list_candidates(self, begin: int) -> Entries:
        """Yield the candidates with their evidence and decisions, from a row on."""
        for row, found in candidates_from(self.tx, self.view.scope_ids, begin):
            if holds_number(found.candidate, self.scanner):
                continue
            attached = attachments_of_candidate(self.tx, found.candidate.candidate_id)
            yield row, msgspec.structs.replace(bare_candidate(found, read_touch_time(self.tx, found)), **attached)

    def list_forgotten(self, begin: int) -> Entries:
        """Yield tombstones of forgotten records that are not erased yet: for another home there is no difference."""
        for stored in forgotten_from(self.tx, self.view.scope_ids, begin):
            r = stored.record
            yield (
                stored.row,
                BundleTombstone(
                    memory_id=r.memory_id,
                    scope=r.scope,
                    forgotten_at=stored.deleted_at or r.updated_at,
                    key_id=key_id(self.keyed),
                    fingerprint=stored.fingerprint.hex(),
                    text_hash=stored.text_hash.hex(),
                    key_hash=key_hash_of(r.scope, r.key, self.keyed).hex(),
                ),
            )

    def list_tombstones(self, begin: int) -> Entries:
        """Yield the tombstones of erased records, with those that came in a bundle."""
        for one in tombstones_from(self.tx, self.view.scope_ids, begin):
            yield (
                one.row,
                BundleTombstone(
                    memory_id=one.memory_id,
                    scope=one.scope,
                    forgotten_at=one.erased_at,
                    key_id=one.key_id or key_id(self.keyed),
                    fingerprint=one.fingerprint.hex(),
                    text_hash=one.text_hash.hex(),
                    key_hash=one.key_hash.hex(),
                ),
            )


_PHASES: tuple[Callable[[_Walk, int], Entries], ...] = (
    _Walk.list_records,
    _Walk.list_candidates,
    _Walk.list_forgotten,
    _Walk.list_tombstones,
)


class ExportCursor(NamedTuple):
    """The start of a page."""

    phase: int = 0
    """The place in `_PHASES`."""
    row: int = 0
    attached: int = 0
    """The number of events, decisions and pieces of evidence of the row that were exported before."""


def _list_lines(walk: _Walk, place: ExportCursor) -> Iterator[tuple[ExportCursor, BundleEntry, bytes]]:
    """Yield (place, entry, line) of a walk, from a place on."""
    for phase in range(place.phase, len(_PHASES)):
        begin = place.row if phase == place.phase else 0
        for row, entry in _PHASES[phase](walk, begin):
            done = place.attached if (phase, row) == (place.phase, place.row) else 0
            for attached, line in parts_of(entry, done):
                yield ExportCursor(phase, row, attached), entry, line


class Exporter:
    """Answers `memory/export`."""

    def __init__(self, means: Collaborators) -> None:
        self._means = means

    async def export(self, params: ExportParams, scopes: Sequence[Scope]) -> ExportResult:
        """Return a page of everything in the scopes. Raises `CallerError` for a cursor of no page."""
        place = ExportCursor(*place_of(params.cursor, ExportCursor()))
        if not 0 <= place.phase < len(_PHASES) or min(place) < 0:
            raise CallerError.at("$.cursor", "This is not a cursor of a page before")
        now = self._means.clock.now()

        def read(tx: Tx) -> ExportResult:
            view = View(frozenset(scope_ids_of(tx, scopes)), KEPT, now, shows_regulated=True)
            return _build_page(_Walk(tx, self._means.keyed, view, [], [], self._means.scanner), place)

        return await self._means.db.read(read)


def _build_page(walk: _Walk, begin: ExportCursor) -> ExportResult:
    """Return the bundle of a page: at least one line, and as many as `PAGE_BYTES` holds."""
    entries: list[BundleEntry] = []
    lines: list[bytes] = []
    size, following = 0, None
    for place, entry, line in _list_lines(walk, begin):
        if lines and size + len(line) > PAGE_BYTES:
            following = cursor_of(*place)
            break
        entries.append(entry)
        lines.append(line)
        size += len(line)
    return ExportResult(
        bundle=seal(lines, count_entries(entries), walk.view.now),
        next_cursor=following,
        diagnostics=_build_diagnostics(walk),
    )


def _build_diagnostics(walk: _Walk) -> list[Diagnostic]:
    left_out = (("damaged_left_out", walk.damaged), ("withheld_left_out", walk.withheld))
    return [Diagnostic(code=code, data={"memory_ids": memory_ids}) for code, memory_ids in left_out if memory_ids]
