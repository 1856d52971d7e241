"""Reads records by id, key or path, and lists of them in an order.

Rule 1: filter first, cut after; a record that is not visible takes no place in a result.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from memory.ports import Collaborators
from memory.read.gate import RecordGate, at_time
from memory.read.matching import agents_asked
from memory.read.pages import LAST, mark_of, page_place
from memory.rows.listings import places_after
from memory.rows.record_columns import Stored, to_column, to_csv
from memory.rows.records import note_access, records_by_row
from memory.rows.store import active_by_path, get_record, record_by_key, scope_id_of, scope_ids_of
from memory.rules.identity import key_part
from memory.rules.paths import require_path
from memory.rules.scopes import require_scope
from memory.rules.visibility import ACTIVE, ALL, KEPT, View, status_at
from protocol.base import Scope
from protocol.cursors import cursor_of
from protocol.errors import CallerError
from protocol.memory.reads import GetParams, GetResult, ListParams, ListResult
from protocol.record import Record
from protocol.seams.ports import Tx


class RecordReader:
    """Reads single records and lists within active scopes."""

    def __init__(self, means: Collaborators, gate: RecordGate) -> None:
        self._means, self._gate = means, gate

    async def get(
        self, params: GetParams, scopes: Sequence[Scope], counts: Callable[[str, int], bool] = lambda _id, _now: True
    ) -> GetResult:
        """Return one record by id, path or key, without the records like it; None where none may be seen.

        `counts(memory_id, now)` returns whether this read strengthens the record. Raises `CallerError` where the record
        is not named, and `Refused("scope_out_of_context")` for a key in a scope that is not active.
        """
        now = self._means.clock.now()
        statuses, aging = ALL if params.include_deleted else KEPT, self._means.settings().aging

        def read(tx: Tx) -> Record | None:
            view = View(frozenset(scope_ids_of(tx, scopes)), statuses, now, shows_regulated=True)
            stored = _find_named(tx, params, scopes, now)
            return (
                at_time(stored.record, now, aging)
                if stored is not None and self._gate.shows(tx, stored, view)
                else None
            )

        record = await self._gate.read(read)
        if record is None or not counts(record.memory_id, now):
            return GetResult(record=record)
        strengthened: list[Record] = []

        def strengthen(tx: Tx) -> None:
            note_access(tx, record.memory_id, now)
            if (found := get_record(tx, record.memory_id)) is not None:  # else it was erased meanwhile
                strengthened.append(at_time(found.record, now, aging))

        await self._means.db.jot(strengthen)
        return GetResult(record=strengthened[0] if strengthened else record)

    async def list_records(self, params: ListParams, scopes: Sequence[Scope]) -> ListResult:
        """Return a page of records in an order; each is on exactly one page."""
        now = self._means.clock.now()
        statuses = frozenset(params.statuses) - {"deleted"} if params.statuses is not None else ACTIVE
        mark = mark_of(params)
        *start, at, _ = page_place(params.cursor, (LAST, LAST, now, mark))

        def read(tx: Tx) -> ListResult:
            ids = scope_ids_of(tx, scopes)
            view = View(frozenset(ids), statuses, now, params.include_sensitive)
            agents = agents_asked(params, ids)
            page = list(islice(self._list_records(tx, params, view, agents, start, at), params.limit + 1))
            following = cursor_of(*page[params.limit - 1][1], at, mark) if len(page) > params.limit else None
            return ListResult(records=[record for record, _ in page[: params.limit]], next_cursor=following)

        return await self._gate.read(read)

    def _list_records(
        self,
        tx: Tx,
        params: ListParams,
        view: View,
        agents: Mapping[str, str | None],
        place: Sequence[int],
        began_at: int,
    ) -> Iterator[tuple[Record, tuple[int, int]]]:
        """Yield records after a place with their places, in the order that held when the first page was read."""
        limit = params.limit + 1
        asked = {
            "statuses": to_csv(view.statuses),
            "categories": to_csv(params.categories),
            "kinds": to_csv(params.kinds),
            "voices": to_csv(params.voices),
            **agents,
            "tags": to_column(params.tags) if params.tags is not None else None,
            "now": view.now,
            "shows_regulated": int(view.shows_regulated),
            "limit": limit,
            "at": began_at,
        }
        places = [tuple(place)]
        while places:
            asked |= {"place": places[-1][0], "row": places[-1][1]}
            found = [one for scope_id in view.scope_ids for one in places_after(tx, params.order, scope_id, asked)]
            places = sorted(found, reverse=True)[:limit]
            stored = records_by_row(tx, [row for _, row in places])
            for at, row in places:
                if self._gate.shows(tx, stored[row], view):
                    yield at_time(stored[row].record, view.now, self._means.settings().aging), (at, row)


def _find_named(tx: Tx, params: GetParams, scopes: Sequence[Scope], now: int) -> Stored | None:
    """Return the record that the params name, whether it may be seen or not; None where there is none."""
    if params.memory_id is not None:
        return get_record(tx, params.memory_id)
    if params.path is not None:
        found = active_by_path(tx, require_path(params.path))
        return found if found is not None and status_at(found.record, now) == "active" else None
    if params.scope is None or params.key is None:
        raise CallerError.at("$", "Give `memory_id`, `path`, or `scope` and `key`")
    scope_id = scope_id_of(tx, require_scope(scopes, params.scope))
    return record_by_key(tx, scope_id, params.key, key_part(params.key)) if scope_id is not None else None
