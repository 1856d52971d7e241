"""`capture/prepare` and `capture/finish`: a message that a program without memory passes on, and its answer.

Rule 1: one transaction finds or makes conversation and turn, so that two doors which get one message meet in one turn.
Rule 2: of a request only the last message of the user and its answer are kept, never what stands before.
Rule 3: what a message was given is stored piece by piece with the marks of its sources: it gets the same bytes again,
without what was forgotten or changed since, and what was left out once stays out.
"""

import weakref
from collections.abc import Collection
from functools import partial

import anyio
import msgspec

from agent.capture.identity import (
    AskedAgain,
    AskedMessage,
    Continues,
    Forks,
    NextTurn,
    OfSubagent,
    Place,
    find_place,
    may_meet,
)
from agent.capture.means import CaptureMeans, FoundMessage, options_of
from agent.capture.recalls import BRIEF_CHARS, GivenMemory, Recalls, standing_in
from agent.prompt.compiler import unspend
from agent.rows.captures import (
    KnownCapture,
    NewCapture,
    add_capture,
    answer_capture,
    capture_of_turn,
    copy_brief,
    find_captures,
    first_shown,
    get_capture,
    hide_capture,
    idle_captures,
    keep_recall,
    move_recall,
    prune_captures,
    renew_capture,
    texts_of_recent,
)
from agent.rows.injections import remove_injections
from agent.rows.items import add_item, items_of_turn, read_items, turn_items
from agent.rows.spoken_texts import list_texts, take_out_of_event
from agent.rows.threads import add_thread, add_workspace, get_thread, get_workspace, new_thread
from agent.rows.turns import TurnLeft, end_turn, get_turn, keep_manifest, running_turn, supersede_turn
from agent.states import TURNS, TurnEvent
from agent.turns.turns import FINISHED, ITEM_STATUS, CapturedEnd
from protocol import methods as m
from protocol.base import DAY_MS, DEFAULT_WORKSPACE
from protocol.capture.calls import (
    CaptureFinishParams,
    CaptureFinishResult,
    CapturePrepareParams,
    CapturePrepareResult,
    CaptureSource,
)
from protocol.conversation.items import Item
from protocol.conversation.manifests import ManifestRecall
from protocol.conversation.threads import ThreadFork
from protocol.conversation.turns import TextInput, Turn, TurnStartParams
from protocol.conversation.values import MemoryMode
from protocol.errors import CallerError, Refused
from protocol.methods import Bound, bind
from protocol.seams.callers import enter
from protocol.seams.ports import Tx

IDLE_MS = 15 * 60 * 1000
"""A turn that no request came for in this time is interrupted: its client went on with something else."""
IDLE_AT_ONCE = 20
"""Idle turns that one captured message interrupts, so that it does not wait for many; `tidy` takes the others."""
IDLE_PER_TIDY = 1000
UNKEPT_DAYS = 30
"""Days for which a message is known again of which nothing is kept."""
QUOTED_MS = 10 * 60 * 1000
QUOTED_TURNS = 20
MIN_QUOTED_CHARS = 24
"""A message that quotes one of the last turns whole is a program's own, such as a request for a title.

Programs ask right after the turn. A turn of fewer characters is quoted by chance.
"""
NEAR = 16
"""Messages right before one among which its conversation is looked for first."""
MOST_DIGESTS = 8192
"""Keyed digests that are cached: those of sixteen of the longest conversations."""
NOTHING = CapturePrepareResult(turn=None, is_continuation=False, brief=None, blocks=[], recall_status="off")


class Captures:
    """The wire methods of captured messages."""

    def __init__(self, means: CaptureMeans) -> None:
        self._means, self._recalls = means, Recalls(means)
        self._locks: weakref.WeakValueDictionary[int, anyio.Lock] = weakref.WeakValueDictionary()
        self._digests: dict[bytes, bytes] = {}

    def bindings(self) -> list[Bound]:
        """Return the methods of the wire that are answered here."""
        return [
            bind(m.CAPTURE_PREPARE, self.capture_prepare),
            bind(m.CAPTURE_FINISH, self.capture_finish),
        ]

    # -- before the model ----------------------------------------------------------------------------------------------

    async def capture_prepare(self, params: CapturePrepareParams) -> CapturePrepareResult:
        """Find or make a message's turn; return it and what the message is given."""
        found = await self._find(params)
        if found is None:
            return NOTHING
        is_first = not found.is_continuation and found.row not in self._locks
        async with self._lock(found.row):
            now = found if is_first else await self._means.db.read(lambda tx: _refresh(tx, found))
            return await self._prepare(params, now)

    async def _prepare(self, params: CapturePrepareParams, found: FoundMessage) -> CapturePrepareResult:
        given: GivenMemory | None = None
        if found.turn_id is not None and not found.is_stored:
            given = await self._begin(params, found, found.turn_id, shows=True)
        elif found.turn_id is None and found.recall is None:
            given = await self._recalls.recall_unkept(params, found)
        if given is not None and found.begins and given.status in {"recalled", "empty"}:
            given = given._replace(project=await self._means.project_rules(found.workspace_id, BRIEF_CHARS))
        return await self._recalls.answer(params, found, given)

    def _lock(self, row: int) -> anyio.Lock:
        lock = self._locks.get(row)
        if lock is None:
            lock = self._locks[row] = anyio.Lock()
        return lock

    async def _find(self, params: CapturePrepareParams, answer: bytes | None = None) -> FoundMessage | None:
        """Find or make a message's row, conversation and turn; return None for one that is neither answered nor kept.

        `answer` is the digest with its answer, where that is known: the same message with the same answer is the same
        turn.
        """
        if params.user_index >= len(params.chain) or params.chain[params.user_index].role != "user":
            raise CallerError.at("$.user_index", "It is the place of a message of the user")
        if not params.user_text.strip():
            raise CallerError.at("$.user_text", "It has a word of the user")
        mode = params.memory_mode or self._means.settings().proxy.memory_mode
        if mode == "ignored" or params.source.role == "task":
            return None
        return await self._means.db.write(partial(self._find_in, params=params, mode=mode, answer=answer))

    def to_asked_message(self, params: CapturePrepareParams) -> AskedMessage:
        """Return a message by the keyed digests by which it is looked for."""
        chain = [self.digest(bytes.fromhex(link.hash)) for link in params.chain]
        source = params.source
        is_of_subagent = source.role == "subagent"
        return AskedMessage(chain, params.user_index, self.session_of(source), source.thread_id, is_of_subagent)

    def digest(self, chain_hash: bytes) -> bytes:
        """Return the keyed digest of a hash of a chain, cached: each message brings all hashes before it again."""
        found = self._digests.get(chain_hash)
        if found is None:
            if len(self._digests) >= MOST_DIGESTS:
                self._digests.clear()
            found = self._digests[chain_hash] = self._means.keyed.digest("capture", chain_hash.hex())
        return found

    def session_of(self, source: CaptureSource) -> bytes | None:
        """Return the keyed digest of a client's session; None where the client names none."""
        if source.session_id is None:
            return None
        return self._means.keyed.digest("capture_session", f"{source.client}\n{source.session_id}")

    def _find_in(
        self, tx: Tx, params: CapturePrepareParams, mode: MemoryMode, answer: bytes | None
    ) -> FoundMessage | None:
        now = self._means.clock.now()
        for turn_id in idle_captures(tx, now - IDLE_MS, IDLE_AT_ONCE):
            self._means.background.interrupt(tx, turn_id)
        asked = self.to_asked_message(params)
        workspace_id = self.workspace_of(tx, params.source)
        answers = [answer] if answer is not None else []
        known = self._find_known(tx, workspace_id, asked, asked.newest(NEAR), answers)
        if answer is not None:
            done = [one for one in known if one.user_hash == asked.user_hash and one.answer_hash == answer]
            if done:
                return _to_found_message(done[0], workspace_id, asked)
        elif self._quotes_turn(tx, workspace_id, params.user_text, now):
            return None
        near = set(asked.newest(NEAR))
        if asked.user_index >= NEAR and not any(one.user_hash in near or one.answer_hash in near for one in known):
            known = self._find_known(tx, workspace_id, asked, asked.newest(len(asked.chain)), answers)
        place = find_place(asked, known)
        if isinstance(place, Continues):
            renew_capture(tx, place.known.row, now)
            return _to_found_message(place.known, workspace_id, asked)
        keeps = mode == "normal" and not isinstance(place, OfSubagent)
        return self._make(
            tx,
            params,
            FoundMessage(
                0,
                workspace_id,
                self._thread_of(tx, place, workspace_id),
                self._means.ids.new("trn") if keeps else None,
                asked,
                is_continuation=False,
                is_of_subagent=isinstance(place, OfSubagent),
            ),
            place,
        )

    def _find_known(
        self, tx: Tx, workspace_id: str, asked: AskedMessage, said: Collection[bytes], answers: Collection[bytes]
    ) -> list[KnownCapture]:
        found = find_captures(tx, workspace_id, said, answers, name=asked.chain[0], session=asked.session)
        return [one for one in found if may_meet(asked, one)]

    def _make(self, tx: Tx, params: CapturePrepareParams, found: FoundMessage, place: Place) -> FoundMessage:
        """Store the row of a message that is new, and its conversation where that is new as well."""
        now = self._means.clock.now()
        fork = None
        if isinstance(place, Forks):
            fork = ThreadFork(thread_id=place.known.thread_id, turn_id=place.known.turn_id)
        running = None
        if found.turn_id is not None:
            self.ensure_thread(tx, found.workspace_id, found.thread_id, params.source.agent_id, fork)
            running = running_turn(tx, found.thread_id)
        asked, begins = found.asked, first_shown(tx, found.thread_id) is None
        row = add_capture(
            tx,
            NewCapture(
                found.workspace_id,
                found.thread_id,
                found.turn_id,
                asked.session,
                asked.chain[0],
                asked.user_hash,
                found.is_of_subagent,
            ),
            now,
        )
        if isinstance(place, Forks) and (first := first_shown(tx, place.known.thread_id)) is not None:
            copy_brief(tx, first, row)
        if isinstance(place, AskedAgain):
            move_recall(tx, place.known.row, row)
            keep_recall(tx, row, place.known.recall or "skipped")
            if place.known.turn_id is not None and found.turn_id is not None:
                supersede_turn(tx, place.known.turn_id, found.turn_id)
                items = turn_items(tx, [place.known.turn_id])[place.known.turn_id]
                self._means.neighbours.on_items_removed(tx, items)
        return found._replace(row=row, running=running, begins=begins, is_repeated=isinstance(place, AskedAgain))

    def workspace_of(self, tx: Tx, source: CaptureSource) -> str:
        """Return the workspace of a message. Raises `Refused` where its conversation lies in another one."""
        named = get_thread(tx, source.thread_id) if source.thread_id is not None else None
        if named is None:
            workspace_id = source.workspace_id or DEFAULT_WORKSPACE
            found = get_workspace(tx, workspace_id)
            if found is not None and found.state != "active":
                raise CallerError.missing("workspace")
            return workspace_id
        if source.workspace_id not in {None, named.thread.workspace_id}:
            raise Refused("scope_out_of_context", "The conversation lies in another workspace.")
        return named.thread.workspace_id

    def _thread_of(self, tx: Tx, place: Place, workspace_id: str) -> str:
        if isinstance(place, AskedAgain):
            return place.known.thread_id
        if isinstance(place, OfSubagent) and place.thread_id is not None:
            return place.thread_id
        if isinstance(place, NextTurn):
            found = get_thread(tx, place.thread_id)
            if found is not None and found.thread.workspace_id != workspace_id:
                raise Refused("scope_out_of_context", "The conversation lies in another workspace.")
            return place.thread_id
        return self._means.ids.new("thr")

    def ensure_thread(
        self, tx: Tx, workspace_id: str, thread_id: str, agent_id: str | None, fork: ThreadFork | None
    ) -> None:
        """Make a conversation and its workspace where they are not there."""
        if get_thread(tx, thread_id) is not None:
            return
        now = self._means.clock.now()
        add_workspace(tx, workspace_id, now)
        add_thread(tx, new_thread(thread_id, workspace_id, now, agent_id=agent_id, forked_from=fork))

    def _quotes_turn(self, tx: Tx, workspace_id: str, text: str, now: int) -> bool:
        """Return whether a message quotes one of the last turns whole."""
        for said in texts_of_recent(tx, workspace_id, now - QUOTED_MS, QUOTED_TURNS):
            is_long = sum(map(len, said)) >= MIN_QUOTED_CHARS
            if len(said) > 1 and is_long and all(one in text for one in said):
                return True
        return False

    # -- recall --------------------------------------------------------------------------------------------------------

    async def _begin(
        self, params: CapturePrepareParams, found: FoundMessage, turn_id: str, *, shows: bool
    ) -> GivenMemory | None:
        """Begin a message's turn; return what it is given, where that is chosen now."""
        # the turn is of the program that asked, not of the door that handed it on
        enter(params.source.door, params.source.client)
        if found.running is not None and not await self._means.turns.interrupt(found.running):
            running = found.running
            await self._means.db.write(lambda tx: self._means.background.interrupt(tx, running))
        recalls = shows and not found.is_repeated and found.recall is None
        prepared = await self._means.turns.turn_prepare(
            TurnStartParams(
                thread_id=found.thread_id,
                turn_id=turn_id,
                input=[TextInput(text=params.user_text)],
                options=options_of(self._means, params.source, skip_recall=not recalls),
            )
        )
        if not recalls:
            return None
        refs = standing_in(prepared.prompt_manifest.sections)
        return GivenMemory(prepared.prompt_sections, refs, prepared.context_blocks, prepared.recall_status)

    # -- the answer ----------------------------------------------------------------------------------------------------

    async def capture_finish(self, params: CaptureFinishParams) -> CaptureFinishResult:
        """Keep the answer to a message; the same call again returns the same turn."""
        answer = self.digest(bytes.fromhex(params.answer_hash)) if params.answer_hash is not None else None
        if params.turn_id is not None:
            row = await self._means.db.read(lambda tx: capture_of_turn(tx, params.turn_id or ""))
            if row is None and params.capture is None:
                raise CallerError.missing("turn")
            if row is not None:
                async with self._lock(row):
                    return CaptureFinishResult(turn=await self._end(params, row, params.turn_id, answer))
        if params.capture is None:
            raise CallerError.at("$", "It names a turn, or the message itself")
        seen = await self._find(params.capture, answer)
        if seen is None:
            return CaptureFinishResult(turn=None)
        async with self._lock(seen.row):
            found = await self._means.db.read(lambda tx: _refresh(tx, seen))
            if found.turn_id is not None and not found.is_stored:
                await self._begin(params.capture, found, found.turn_id, shows=False)
            return CaptureFinishResult(turn=await self._end(params, found.row, found.turn_id, answer))

    async def _end(
        self, params: CaptureFinishParams, row: int, turn_id: str | None, answer: bytes | None
    ) -> Turn | None:
        """Keep the answer, and that the memory was not shown where it was not; return the turn as it ended."""
        recall = None
        if not params.shown:
            reason = params.recall.reason if params.recall is not None else "late"
            recall = ManifestRecall(status="skipped", reason=reason, memory_ids=[], chunk_ids=[])
        name = self.digest(bytes.fromhex(params.answer_name)) if params.answer_name is not None else None

        def settle(tx: Tx) -> Turn | None:
            """Keep what was shown and answered, unless that is known; return the turn as it was."""
            stored = get_turn(tx, turn_id) if turn_id is not None else None
            if stored is not None and stored.turn.status == "completed":
                return stored.turn
            if recall is not None:
                hide_capture(tx, row)
                if turn_id is not None:
                    remove_injections(tx, turn_id)
                if stored is not None and (manifest := stored.turn.prompt_manifest) is not None:
                    budgets = unspend(manifest.budgets)
                    manifest = msgspec.structs.replace(manifest, sections=[], budgets=budgets, recall=recall)
                    keep_manifest(tx, stored.turn.turn_id, manifest)
            if answer is not None:
                answer_capture(tx, row, answer, self._means.clock.now(), name)
            return stored.turn if stored is not None else None

        turn = await self._means.db.write(settle)
        if turn_id is None or turn is None or turn.status == "completed":
            return turn
        end = CapturedEnd(
            params.status, params.assistant_text, params.tool_events, params.usage, params.upstream, recall
        )
        ended = await self._means.turns.end_captured(turn_id, end)
        return ended if ended is not None else await self._means.db.write(lambda tx: self._end_lost(tx, turn_id, end))

    def _end_lost(self, tx: Tx, turn_id: str, end: CapturedEnd) -> Turn:
        """Store the end of a turn that this process does not run; return the turn."""
        stored = get_turn(tx, turn_id)
        if stored is None:
            raise CallerError.missing("turn")
        before = stored.turn.status
        event: TurnEvent = FINISHED[end.status]
        if event == "complete" and before != "awaiting_host":
            event = "deliver"
        if event not in TURNS[before]:
            return stored.turn
        now = self._means.clock.now()
        known = items_of_turn(tx, turn_id)
        events = self._means.turns.mask_events(end.events)
        saying = self._means.turns.find_erased(tx, turn_id, [end.text or "", *list_texts([], events)])
        if end.text:
            item = Item(
                item_id=self._means.ids.new("itm"),
                turn_id=turn_id,
                thread_id=stored.turn.thread_id,
                kind="agent_message",
                role="assistant",
                status=ITEM_STATUS.get(event, "completed"),
                text=saying.take_out(end.text),
                at=now,
                name=None,
                artifacts=[],
                tool=None,
            )
            add_item(tx, item, len(known))
        events = [take_out_of_event(one, saying) for one in events]
        left = msgspec.structs.replace(
            stored.turn, usage=end.usage or stored.turn.usage, tool_events=events, upstream=end.upstream
        )
        end_turn(tx, turn_id, before, event, now, TurnLeft(left, stored.last_seq))
        facts = read_items(tx, turn_items(tx, [turn_id])[turn_id]).values()
        self._means.neighbours.on_items(tx, [fact for fact in facts if fact.indexable])
        self._means.background.queue(tx, stored.turn.thread_id, turn_id)
        ended = get_turn(tx, turn_id)
        return ended.turn if ended is not None else stored.turn

    async def tidy(self) -> None:
        """Interrupt idle turns, and drop old messages of which nothing is kept."""
        now = self._means.clock.now()

        def work(tx: Tx) -> None:
            for turn_id in idle_captures(tx, now - IDLE_MS, IDLE_PER_TIDY):
                self._means.background.interrupt(tx, turn_id)
            prune_captures(tx, now - UNKEPT_DAYS * DAY_MS)

        await self._means.db.note(work)


def _to_found_message(one: KnownCapture, workspace_id: str, asked: AskedMessage) -> FoundMessage:
    return FoundMessage(
        one.row,
        workspace_id,
        one.thread_id,
        one.turn_id,
        asked,
        is_continuation=True,
        is_of_subagent=one.is_of_subagent,
        is_stored=one.status is not None,
        recall=one.recall,
    )


def _refresh(tx: Tx, found: FoundMessage) -> FoundMessage:
    """Return a message as it is now: another request with it may have come first."""
    now = get_capture(tx, found.row)
    if now is None:
        raise CallerError.missing("conversation")
    return found._replace(is_stored=now.status is not None, recall=now.recall)
