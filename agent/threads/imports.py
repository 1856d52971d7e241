"""Bringing in conversations of other programs, again and again, without doubling anything.

Rule 1: every id is made from the source's id, so the same source gives the same ids.
Rule 2: a turn that says what a live turn of the thread says is that turn: a host may give back what it was given.
Rule 3: what is to be done is a plan made by a pure function; one transaction applies it.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from agent.prompt.ledger import Ledger
from agent.rows.items import add_item, items_of_turn, read_items, turn_items
from agent.rows.spoken_texts import take_out_of_item
from agent.rows.threads import StoredThread, add_thread, get_thread, new_thread, touch_thread, workspace_exists
from agent.rows.turns import (
    KnownTurn,
    NewTurn,
    add_turn,
    move_turn,
    remove_turn,
    status_of_turn,
    turns_by_source,
)
from agent.threads.threads import Neighbours
from protocol import methods as m
from protocol.conversation.artifacts import ArtifactRef, ArtifactRefInput
from protocol.conversation.imports import ImportItem, ImportTurn, ThreadImportParams, ThreadImportResult
from protocol.conversation.items import Item
from protocol.conversation.threads import Thread
from protocol.conversation.values import ItemKind
from protocol.errors import CallerError, Refused
from protocol.methods import Bound, bind
from protocol.saying import Saying
from protocol.seams.forgettings import Forgettings
from protocol.seams.ports import Clock, Transact, Tx

KINDS: Mapping[str, ItemKind] = {"user": "user_message", "assistant": "agent_message"}


def derive_id(prefix: str, *parts: str) -> str:
    """Return an id that is the same for the same parts, and different for any others."""
    digest = hashlib.sha256(msgspec.json.encode(parts)).hexdigest()
    return f"{prefix}_{digest[:26]}"


def content_hash(turn: ImportTurn) -> bytes:
    """Return a digest that is equal for turns that say the same at the same time."""
    return hashlib.sha256(msgspec.json.encode(turn)).digest()


class Incoming(Struct, frozen=True):
    """A turn of the source with its id and content hash."""

    turn_id: str
    turn: ImportTurn
    content: bytes


class ThreadImportPlan(NamedTuple):
    """The changes that an import makes in a thread."""

    add: list[Incoming]
    replace: list[Incoming]
    remove: list[str]
    skipped: int
    order: list[str]
    is_moving: bool


Words: TypeAlias = tuple[tuple[str, str], ...]
"""The words of a turn, message by message with its role, without what was injected."""


def find_echoes(live: Mapping[str, Words], incoming: Sequence[tuple[str | None, Words | None]]) -> set[int]:
    """Return the places of the incoming turns that say nothing of their own, or give back a live turn.

    Each live turn is given back once at most. An incoming turn without words to compare (None) is no echo.
    """
    there: dict[Words, list[str]] = {}
    for turn_id, words in live.items():
        there.setdefault(words, []).append(turn_id)
    places: set[int] = set()
    for place, (turn_id, words) in enumerate(incoming):
        same = there.get(words, []) if words is not None else []
        if words == ():
            places.add(place)
        elif same and (turn_id is None or turn_id in same):
            same.remove(turn_id or same[0])
            places.add(place)
    return places


def plan_import(
    known: Sequence[KnownTurn],
    incoming: Sequence[Incoming],
    *,
    is_replacing: bool,
    source: str | None = None,
    offset: int = 0,
    has_more: bool = False,
) -> ThreadImportPlan:
    """Compare a source, or a part of one, with a thread.

    Replacing makes the turns of that source equal to it, in the place where they stood; those of other sources stay,
    and live ones come behind all. A part leaves the `offset` turns before it alone, and with `has_more` those behind
    it. Appending only adds.

    Raises:
        CallerError: two turns of the source have one id.
        Refused: "conflict", the source names a live turn.

    """
    present = {turn.turn_id: turn for turn in known}
    named = {entry.turn_id for entry in incoming}
    if len(named) != len(incoming):
        raise CallerError.at("$.turns", "Two turns have one id")
    if any(present[turn_id].driver != "import" for turn_id in named & set(present)):
        raise Refused("conflict", "A turn of that id was not imported.")
    add = [entry for entry in incoming if entry.turn_id not in present]
    changed = [
        entry for entry in incoming if entry.turn_id in present and present[entry.turn_id].content != entry.content
    ]
    if not is_replacing:
        order = [turn.turn_id for turn in known] + [entry.turn_id for entry in add]
        return ThreadImportPlan(add, [], [], len(incoming) - len(add), order, is_moving=False)
    own = [turn for turn in known if turn.driver == "import" and (turn.source == source or turn.turn_id in named)]
    before = [turn.turn_id for turn in own[:offset] if turn.turn_id not in named]
    behind = [turn.turn_id for turn in own[offset:] if turn.turn_id not in named]
    remove, kept = ([], behind) if has_more else (behind, [])
    first = min((turn.position for turn in own), default=len(known) + 1)
    others = [turn for turn in known if turn.driver == "import" and turn not in own]
    order = [
        *(turn.turn_id for turn in others if turn.position < first),
        *before,
        *(entry.turn_id for entry in incoming),
        *kept,
        *(turn.turn_id for turn in others if turn.position > first),
        *(turn.turn_id for turn in known if turn.driver != "import"),
    ]
    stays = [turn.turn_id for turn in known if turn.turn_id in {*order}]
    is_moving = [turn_id for turn_id in order if turn_id in present] != stays
    return ThreadImportPlan(add, changed, remove, len(incoming) - len(add) - len(changed), order, is_moving=is_moving)


def identify_turns(
    known: Sequence[KnownTurn],
    turns: Sequence[ImportTurn],
    source: Sequence[str],
    *,
    is_replacing: bool,
    echoes: Collection[int] = (),
    offset: int | None = None,
) -> list[Incoming]:
    """Return each turn that is no echo with its id: the one it has, else one made from the source and its place.

    Turns appended without an `offset` may be any part of the source: a turn that is there already is recognised by its
    content. Where another turn has the place, the content becomes a part of the id.
    """
    taken = {turn.turn_id for turn in known} | {turn.turn_id for turn in turns if turn.turn_id is not None}
    there: dict[bytes | None, list[str]] = {}
    for turn in known:
        there.setdefault(turn.content, []).append(turn.turn_id)
    incoming: list[Incoming] = []
    for index, turn in enumerate(turns):
        if index in echoes:
            continue
        content, place = content_hash(turn), str(index + (offset or 0))
        turn_id = turn.turn_id or derive_id("trn", *source, place)
        if turn.turn_id is None and not is_replacing:
            if offset is None and there.get(content):
                turn_id = there[content].pop(0)
            elif turn_id in taken and turn_id not in there.get(content, []):
                turn_id = derive_id("trn", *source, place, content.hex())
        incoming.append(Incoming(turn_id, turn, content))
    return incoming


class Imports:
    """Answers `thread/import`."""

    def __init__(
        self, *, db: Transact, clock: Clock, ledger: Ledger, neighbours: Neighbours, forgettings: Forgettings
    ) -> None:
        self._forgettings = forgettings
        self._db = db
        self._clock = clock
        self._ledger = ledger
        self._neighbours = neighbours

    def bindings(self) -> list[Bound]:
        """Return the methods of the wire that are answered here."""
        return [
            bind(m.THREAD_IMPORT, self.thread_import),
        ]

    async def thread_import(self, params: ThreadImportParams) -> ThreadImportResult:
        """Bring turns in; importing twice changes nothing."""
        source = (params.source.kind, params.source.id)
        thread_id = params.thread_id or derive_id("thr", params.workspace_id, *source)
        began = await self._db.read(self._forgettings.generation) if params.generation is None else params.generation
        work = _Import(params, thread_id, self._ledger, self._neighbours, self._clock.now(), began)

        def apply(tx: Tx) -> ThreadImportResult:
            if self._forgettings.is_forgotten(tx, params.workspace_id, thread_id, began):
                raise Refused("conflict", "The thread or its workspace was forgotten while it was on its way in.")
            return work.apply(tx, self._forgettings.find_erased(tx, work.list_texts(), began))

        return await (self._db.read(work.rehearse) if params.dry_run else self._db.write(apply))


class _Import:
    """One import on one transaction."""

    def __init__(
        self, params: ThreadImportParams, thread_id: str, ledger: Ledger, neighbours: Neighbours, now: int, began: int
    ) -> None:
        self._began = began
        self._params = params
        self._thread_id = thread_id
        self._origin = derive_id("src", params.source.kind, params.source.id)
        self._ledger = ledger
        self._neighbours = neighbours
        self._now = now

    def _plan(self, tx: Tx) -> ThreadImportPlan:
        if not workspace_exists(tx, self._params.workspace_id):
            raise CallerError.missing("workspace")
        found = get_thread(tx, self._thread_id)
        if found is not None and found.thread.workspace_id != self._params.workspace_id:
            raise Refused("conflict", "A thread of that id exists in another workspace.")
        known = turns_by_source(tx, self._thread_id)
        source, is_replacing = self._params.source, self._params.mode == "replace"
        place = (self._thread_id, source.kind, source.id)
        turns = self._params.turns
        echoes = self._echoes(tx, known, turns)
        offset = self._params.offset
        incoming = identify_turns(known, turns, place, is_replacing=is_replacing, echoes=echoes, offset=offset)
        plan = plan_import(
            known,
            incoming,
            is_replacing=is_replacing,
            source=self._origin,
            offset=offset or 0,
            has_more=self._params.has_more,
        )
        return plan._replace(skipped=plan.skipped + len(echoes))

    def _echoes(self, tx: Tx, known: Sequence[KnownTurn], turns: Sequence[ImportTurn]) -> set[int]:
        live = [turn.turn_id for turn in known if turn.driver != "import"]
        if not live:
            return set()
        imported = {turn.content for turn in known if turn.driver == "import"}
        words = {turn_id: self._words(tx, _messages(tx, turn_id)) for turn_id in live}
        given = [
            (turn.turn_id, None if content_hash(turn) in imported else self._words(tx, turn.items)) for turn in turns
        ]
        return find_echoes(words, given)

    def _words(self, tx: Tx, messages: Sequence[Item | ImportItem]) -> Words:
        said = [
            (one.role, one.text, self._ledger.remove_injected(tx, self._params.workspace_id, one.text))
            for one in messages
        ]
        # a message that is all injected text is left out; one that was empty from the start is compared
        return tuple((role, words.strip()) for role, text, words in said if words.strip() or text == words)

    def rehearse(self, tx: Tx) -> ThreadImportResult:
        """Return the result that an import would have, and store nothing."""
        plan = self._plan(tx)
        found = get_thread(tx, self._thread_id)
        stored = found or _new_thread(self._params, self._thread_id, self._now, Saying(()))
        return _result(plan, stored.thread, self._began)

    def list_texts(self) -> list[str]:
        """Return the texts that the import brings."""
        said = [text for turn in self._params.turns for item in turn.items for text in (item.text, item.name)]
        return [text for text in (self._params.name, *said) if text]

    def apply(self, tx: Tx, erased: Saying) -> ThreadImportResult:
        """Make the changes that are planned, without what was erased since the import began; return their numbers."""
        plan = self._plan(tx)
        if get_thread(tx, self._thread_id) is None:
            add_thread(tx, _new_thread(self._params, self._thread_id, self._now, erased))
        for turn_id, items in turn_items(tx, [*plan.remove, *(entry.turn_id for entry in plan.replace)]).items():
            self._neighbours.on_items_removed(tx, items)
            remove_turn(tx, turn_id)
        places = {turn_id: position for position, turn_id in enumerate(plan.order, 1)}
        for entry in [*plan.replace, *plan.add]:
            self._add(tx, entry, places[entry.turn_id], erased)
        if plan.add or plan.replace or plan.remove or plan.is_moving:
            for turn_id, position in places.items():
                move_turn(tx, turn_id, position)
            fresh = turn_items(tx, [entry.turn_id for entry in [*plan.replace, *plan.add]])
            self._neighbours.on_items(tx, list(read_items(tx, list(chain.from_iterable(fresh.values()))).values()))
            touch_thread(tx, self._thread_id, self._now)
        stored = get_thread(tx, self._thread_id)
        if stored is None:
            raise CallerError.missing("thread")
        return _result(plan, stored.thread, self._began)

    def _add(self, tx: Tx, entry: Incoming, position: int, erased: Saying) -> None:
        if status_of_turn(tx, entry.turn_id) is not None:
            raise Refused("conflict", "A turn of that id exists in another thread.")
        at = entry.turn.at
        place = (entry.turn_id, self._thread_id, position)
        add_turn(tx, NewTurn(*place, "import", "agent", entry.content, at, origin=self._origin))
        for index, said in enumerate(entry.turn.items):
            item_id = said.item_id or derive_id("itm", entry.turn_id, str(index))
            if read_items(tx, [item_id]):
                raise Refused("conflict", "An item of that id exists already.")
            item = _item(said, item_id, entry.turn_id, self._thread_id, at)
            add_item(tx, take_out_of_item(item, erased), index)


def _result(plan: ThreadImportPlan, thread: Thread, began: int) -> ThreadImportResult:
    return ThreadImportResult(
        thread=thread,
        imported=len(plan.add),
        skipped=plan.skipped,
        replaced=len(plan.replace),
        removed=len(plan.remove),
        generation=began,
    )


def _messages(tx: Tx, turn_id: str) -> list[Item]:
    return [item for item in items_of_turn(tx, turn_id) if item.kind in KINDS.values()]


def _item(said: ImportItem, item_id: str, turn_id: str, thread_id: str, at: int) -> Item:
    return Item(
        item_id=item_id,
        turn_id=turn_id,
        thread_id=thread_id,
        kind=KINDS[said.role],
        role=said.role,
        status="completed",
        text=said.text,
        at=at,
        name=said.name,
        artifacts=[artifact_ref(ref) for ref in said.artifacts],
        tool=None,
    )


def artifact_ref(given: ArtifactRefInput) -> ArtifactRef:
    """Return a reference as stored; a missing version is named after the file."""
    version = given.version_id or derive_id("ver", given.artifact_id, given.sha256 or given.name)
    return ArtifactRef(
        artifact_id=given.artifact_id,
        version_id=version,
        name=given.name,
        kind=given.kind,
        mime=given.mime,
        size_bytes=given.size_bytes,
        role=given.role,
        sha256=given.sha256,
    )


def _new_thread(params: ThreadImportParams, thread_id: str, now: int, erased: Saying) -> StoredThread:
    name = erased.take_out(params.name) if params.name else params.name
    return new_thread(thread_id, params.workspace_id, now, name=name)
