"""The export walk: what the scopes hold, page by page, as lines of bundles.

Rule 1: what is forgotten is in no export but as a tombstone without content; a candidate with its words goes the same
way.
Rule 2: a record or candidate travels whole; where it is larger than a page, every part says again what it belongs to.
Rule 3: what is damaged, or holds a number that is not kept any more, is left out and named.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from memory.bundles.text import PAGE_BYTES, count_entries, parts_of, seal
from memory.ports import Collaborators
from memory.rows.bundles import (
    candidates_from,
    forgotten_from,
    hanging_on_candidate,
    hanging_on_record,
    read_touch_time,
    records_from,
    tombstones_from,
)
from memory.rows.store import Stored, StoredCandidate, scope_ids_of
from memory.rows.withheld import holds_number, is_shown
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

_PROPOSAL: Final = msgspec.json.Decoder(BundledProposal)
"""Made at import: msgspec does not guard two threads of the database that meet a type for the first time at once."""


def key_hash(keyed: KeyedHash, scope: Scope, key: str) -> bytes:
    """Return the hash of a record's key that its tombstone keeps."""
    return keyed.digest("key", f"{scope}\n{key}")


def bare_record(stored: Stored, now: int) -> BundleRecord:
    """Return a record without what hangs on it, as it is at this moment."""
    names = set(BundleRecord.__struct_fields__) & set(stored.record.__struct_fields__)
    own: dict[str, Any] = {name: getattr(stored.record, name) for name in names}
    own["status"] = status_at(stored.record, now)
    return BundleRecord(**own, alias=stored.alias, is_single=stored.is_single)


def bare_candidate(found: StoredCandidate, touched_at: int) -> BundleCandidate:
    """Return a candidate without what hangs on it."""
    names = set(BundleCandidate.__struct_fields__) & set(found.candidate.__struct_fields__)
    own: dict[str, Any] = {name: getattr(found.candidate, name) for name in names}
    proposal = _PROPOSAL.decode(found.proposal)
    return BundleCandidate(**own, turn_id=found.turn_id, touched_at=touched_at, proposal=proposal)


class _Walk(Struct, frozen=True):
    """An export on one snapshot."""

    tx: Tx
    keyed: KeyedHash
    view: View
    damaged: list[str]
    withheld: list[str]
    scanner: SecretScanner

    def records(self, begin: int) -> Entries:
        """Records with everything that hangs on them."""
        for stored in records_from(self.tx, self.view.scope_ids, begin):
            if not is_visible(stored.seen, self.view):
                (self.withheld if stored.seen.is_withheld else self.damaged).append(stored.record.memory_id)
                continue
            if not is_shown(self.tx, stored, self.view, self.scanner):
                self.withheld.append(stored.record.memory_id)
                continue
            hanging = hanging_on_record(self.tx, stored.record.memory_id)
            yield stored.row, msgspec.structs.replace(bare_record(stored, self.view.now), **hanging)

    def candidates(self, begin: int) -> Entries:
        """Candidates with everything that hangs on them."""
        for row, found in candidates_from(self.tx, self.view.scope_ids, begin):
            if holds_number(found.candidate, self.scanner):
                continue
            hanging = hanging_on_candidate(self.tx, found.candidate.candidate_id)
            yield row, msgspec.structs.replace(bare_candidate(found, read_touch_time(self.tx, found)), **hanging)

    def forgotten(self, begin: int) -> Entries:
        """Return the forgotten records that are not erased yet: to any other home both are the same."""
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
                    key_hash=key_hash(self.keyed, r.scope, r.key).hex(),
                ),
            )

    def list_tombstones(self, begin: int) -> Entries:
        """Tombstones of what was erased, those that came in a bundle included."""
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
    _Walk.records,
    _Walk.candidates,
    _Walk.forgotten,
    _Walk.list_tombstones,
)


class ExportCursor(NamedTuple):
    """The start of a page: a table, a row, and how much that belongs to the row was exported before."""

    phase: int = 0
    row: int = 0
    attached: int = 0


def _lines(walk: _Walk, place: ExportCursor) -> Iterator[tuple[ExportCursor, BundleEntry, bytes]]:
    for phase in range(place.phase, len(_PHASES)):
        begin = place.row if phase == place.phase else 0
        for row, entry in _PHASES[phase](walk, begin):
            told = place.attached if (phase, row) == (place.phase, place.row) else 0
            for attached, line in parts_of(entry, told):
                yield ExportCursor(phase, row, attached), entry, line


class Exporter:
    """Answers `memory/export`."""

    def __init__(self, means: Collaborators) -> None:
        self._means = means

    async def export(self, params: ExportParams, scopes: Sequence[Scope]) -> ExportResult:
        """Return a page of everything in the scopes."""
        place = ExportCursor(*place_of(params.cursor, ExportCursor()))
        if not 0 <= place.phase < len(_PHASES) or min(place) < 0:
            raise CallerError.at("$.cursor", "This is not a cursor of a page before")
        now = self._means.clock.now()

        def read(tx: Tx) -> ExportResult:
            view = View(frozenset(scope_ids_of(tx, scopes)), KEPT, now, shows_regulated=True)
            return _page(_Walk(tx, self._means.keyed, view, [], [], self._means.scanner), place)

        return await self._means.db.read(read)


def _page(walk: _Walk, begin: ExportCursor) -> ExportResult:
    entries: list[BundleEntry] = []
    lines: list[bytes] = []
    size, following = 0, None
    for place, entry, line in _lines(walk, begin):
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
