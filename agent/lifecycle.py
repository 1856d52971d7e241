"""The two ends of a turn, whoever runs its model.

Rule 1: a turn has two durable commits: the user's item before the model, everything else before the notification that ends it.
Neither is given up half way, whoever asked for it and whatever is cancelled.
Rule 2: one turn at a time in a thread, across all processes of the home.
Rule 3: a turn that the store says is this process's, and that is neither begun nor run here, is ended before anybody is
told that it runs.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import anyio
import msgspec

from agent.active import ActiveTurn
from agent.artifacts import Artifacts, ContentGoneError, Received
from agent.background import Background, context_of
from agent.compile import injected
from agent.history import RESERVED, read_history, rewritten, room_of, size_of
from agent.ledger import Ledger
from agent.model import NOTHING_SAID, History
from agent.pipeline import Prepared
from agent.store import SQL, StoredThread, add_item, add_run, encoded, get_turn, open_thread, read_items, turn_items
from protocol.errors import CallerError, Defect, GatewayError, Refused
from protocol.gateway import HookRun
from protocol.hooks import OnItems, TurnContext
from protocol.ports import Clock, Ids, Notify, Transact, Tx
from protocol.settings import GatewayConfig
from protocol.threads import (
    ArtifactInput,
    Driver,
    Item,
    Mode,
    TextInput,
    ToolEvent,
    Turn,
    TurnError,
    TurnStartParams,
    TurnStatus,
)

_encode = msgspec.json.Encoder().encode


class _Stored(NamedTuple):
    """The beginning of a turn as the transaction left it; no context for one that was known already."""

    turn: Turn
    context: TurnContext | None = None
    user_item: Item | None = None
    history: History = NOTHING_SAID


class _Asked(NamedTuple):
    """A turn that is asked for, and a digest of its input, by which it is known again."""

    params: TurnStartParams
    turn_id: str
    digest: bytes
    status: TurnStatus
    driver: Driver
    admit: Callable[[StoredThread], int | None]

    @property
    def text(self) -> str:
        """The user's words."""
        return "\n\n".join(part.text for part in self.params.input if isinstance(part, TextInput))


class Begun(NamedTuple):
    """A turn whose beginning is stored, or one that was known already."""

    turn: Turn
    active: ActiveTurn | None
    history: History


class TurnLifecycle:
    """Begins and ends turns."""

    def __init__(
        self,
        *,
        db: Transact,
        clock: Clock,
        ids: Ids,
        background: Background,
        ledger: Ledger,
        artifacts: Artifacts,
        notify: Notify,
        on_items: OnItems,
        settings: Callable[[], GatewayConfig],
        owner: str,
        time_zone: Callable[[], str],
        incident: Callable[[BaseException], str],
    ) -> None:
        self._db = db
        self._clock = clock
        self._ids = ids
        self._background = background
        self._ledger = ledger
        self._artifacts = artifacts
        self._notify = notify
        self._on_items = on_items
        self._settings = settings
        self._owner = owner
        self._time_zone = time_zone
        self._incident = incident
        self.running: dict[str, ActiveTurn] = {}
        """Turns that run in this process, by id."""
        self._beginning: dict[str, anyio.Event] = {}
        self._unsettled: dict[str, Callable[[Tx], None]] = {}

    async def find(self, turn_id: str) -> ActiveTurn | None:
        """A turn that runs in this process; one that is about to begin is waited for."""
        while (begun := self._beginning.get(turn_id)) is not None:
            await begun.wait()
        return self.running.get(turn_id)

    async def begin(
        self, params: TurnStartParams, status: TurnStatus, driver: Driver, admit: Callable[[StoredThread], int | None]
    ) -> Begun:
        """Admit a turn and store its beginning: the first of its two durable commits.

        `admit` raises where a turn that is not known yet may not begin in its thread; else it says how many tokens its model takes.
        """
        turn_id = params.turn_id or self._ids.new("trn")
        digest = hashlib.sha256(_encode([params.thread_id, params.input])).digest()
        asked = _Asked(params, turn_id, digest, status, driver, admit)
        while turn_id in self._beginning:  # asked for twice at once
            await self._beginning[turn_id].wait()
        begun = self._beginning[turn_id] = anyio.Event()
        try:
            while True:
                try:
                    return await self._begin(asked)
                except ContentGoneError:  # a sweep came between a file and the message that carries it
                    continue
        finally:
            del self._beginning[turn_id]
            begun.set()

    async def _begin(self, asked: _Asked) -> Begun:
        params, turn_id = asked.params, asked.turn_id
        workspace_id = await self._db.read(lambda tx: self._admit(tx, asked))
        files = [(n, part) for n, part in enumerate(params.input) if isinstance(part, ArtifactInput)]
        received = await self._artifacts.receive(files, workspace_id) if workspace_id is not None else []

        def begin(tx: Tx) -> _Stored:
            for left in self._stranded(tx, params.thread_id, beginning=turn_id):
                self._settle(tx, left)
            known = self._known(tx, asked)
            if known is not None:
                return _Stored(known)
            self._admit(tx, asked)
            self._artifacts.confirm(tx, received, params.thread_id, workspace_id or "")
            return self._store_beginning(tx, asked, received)

        stored: _Stored | None = None
        with anyio.CancelScope(shield=True):  # a beginning that is stored must have someone who ends it
            try:
                stored = await self._db.write(begin)
            except BaseException:
                await self._artifacts.discard(received)
                raise
        if stored is None:
            raise Defect
        if stored.context is None or stored.user_item is None:
            await self._artifacts.discard(received)
            return Begun(stored.turn, None, stored.history)
        active = self.running[turn_id] = ActiveTurn(
            turn=stored.turn, context=stored.context, user_item=stored.user_item, ids=self._ids, clock=self._clock,
            notify=self._notify,
        )  # fmt: skip
        return Begun(stored.turn, active, stored.history)

    # -- what nobody runs ------------------------------------------------------------------------------------------

    async def settle(self) -> None:
        """End the turns that are stored as this process's and that it does not run: how they ended could not be stored."""

        def settle(tx: Tx, turn_id: str) -> None:
            if turn_id in self._stranded(tx):
                self._settle(tx, turn_id)

        for turn_id in await self._db.read(self._stranded):
            await self._db.write(partial(settle, turn_id=turn_id))

    def _stranded(self, tx: Tx, thread_id: str | None = None, *, beginning: str | None = None) -> list[str]:
        """Turns that are stored as this process's and that nobody begins or runs here; of one thread, or all.

        Who begins a turn says so: to that one, a turn of the same id is one of an attempt that failed.
        """

        def is_here(turn_id: str) -> bool:
            return turn_id in self.running or (turn_id in self._beginning and turn_id != beginning)

        mine = tx.all(SQL["turns_of_owner"], {"owner": self._owner})
        return [turn_id for turn_id, of in mine if thread_id in {None, of} and not is_here(turn_id)]

    def _settle(self, tx: Tx, turn_id: str) -> None:
        """Store the end that could not be stored when it came; a turn of which none is known was interrupted."""
        store = self._unsettled.get(turn_id)
        if store is not None:
            store(tx)
        else:
            self._background.interrupt(tx, turn_id)
        tx.after_commit(lambda: self._forget_unsettled(turn_id))

    def _forget_unsettled(self, turn_id: str) -> None:
        self._unsettled.pop(turn_id, None)

    # -- the beginning ---------------------------------------------------------------------------------------------

    def _known(self, tx: Tx, asked: _Asked) -> Turn | None:
        found = get_turn(tx, asked.turn_id)
        if found is not None and found.input_hash != asked.digest:
            raise Refused("conflict", "A turn of that id exists with other input.")
        return found.turn if found is not None else None

    def _admit(self, tx: Tx, asked: _Asked) -> str | None:
        """The workspace of a turn that may begin; None for one that is known. Raises for one that may not."""
        thread_id = asked.params.thread_id
        found = open_thread(tx, thread_id)
        if found is None:
            raise CallerError.missing("thread")
        if self._known(tx, asked) is not None:
            return None
        asked.admit(found)
        running = tx.one(SQL["running_turn_of_thread"], {"thread_id": thread_id})
        if running is not None and running[0] not in self._stranded(tx, thread_id, beginning=asked.turn_id):
            raise Refused("turn_in_progress")
        return found.thread.workspace_id

    def _store_beginning(self, tx: Tx, asked: _Asked, received: Sequence[Received]) -> _Stored:
        params, turn_id = asked.params, asked.turn_id
        found = open_thread(tx, params.thread_id)
        if found is None:
            raise CallerError.missing("thread")
        now = self._clock.now()
        last = tx.one(SQL["last_position"], {"thread_id": params.thread_id})
        position = (last[0] if last else 0) + 1
        mode: Mode = params.mode or found.thread.mode
        tx.run(SQL["add_turn"], {
            "turn_id": turn_id, "thread_id": params.thread_id, "position": position, "driver": asked.driver, "mode": mode,
            "status": asked.status, "options": encoded(params.options), "input_hash": asked.digest, "started_at": now,
            "completed_at": None, "owner": self._owner, "origin": None,
        })  # fmt: skip
        tx.run(SQL["touch_thread"], {"thread_id": params.thread_id, "now": now})
        stored = get_turn(tx, turn_id)
        if stored is None:
            raise Defect
        item = Item(
            item_id=self._ids.new("itm"), turn_id=turn_id, thread_id=params.thread_id, kind="user_message", role="user",
            status="completed", text=asked.text, at=now, name=None, artifacts=[one.ref for one in received], tool=None,
        )  # fmt: skip
        add_item(tx, item, 0, keeps_files=True)
        said = self._said_before(tx, asked, found, position, sum(one.ref.kind == "image" for one in received))
        return _Stored(stored.turn, context_of(tx, stored, now, self._time_zone()), item, said)

    def _said_before(self, tx: Tx, asked: _Asked, found: StoredThread, position: int, pictures: int) -> History:
        """What may go into the request of what was said before, as far as it is known what else does."""
        settings = self._settings().agent
        words = f"{settings.system_prompt or ''}{found.instructions or ''}{asked.text}"
        history = read_history(
            tx,
            asked.params.thread_id,
            position,
            room=room_of(settings.context_chars, asked.admit(found)).minus(size_of(words)),
            reserved=RESERVED.plus(size_of("", pictures)),
            min_turns=settings.history_turns_min,
        )
        # a model that repeated its context does not read it again as its own words
        return rewritten(history, partial(self._ledger.said, tx, found.thread.workspace_id))

    # -- the end ---------------------------------------------------------------------------------------------------

    async def end(
        self,
        active: ActiveTurn,
        status: TurnStatus,
        prepared: Prepared | None,
        *,
        error: TurnError | None = None,
        tool_events: Sequence[ToolEvent] = (),
        runs: Sequence[HookRun] = (),
    ) -> Turn:
        """Store everything that a turn left and tell its end; `runs` are those of a turn that was never prepared.

        Who comes second waits for the end that the first one gave it. What is cancelled meanwhile is cancelled afterwards.
        """
        if active.is_ending:
            await active.ended.wait()
            return active.turn
        active.is_ending = True
        active.stop_working()
        with anyio.CancelScope(shield=True):
            self._abandon(active, status)
            turn, seq = active.turn, active.seq
            fresh = prepared if turn.prompt_manifest is None else None

            def store(tx: Tx) -> None:
                self._store_end(tx, active, turn, fresh, tool_events, runs)

            try:
                turn = self._turn_at_end(active, status, prepared, error)
                await self._db.write(_telling(store, active.terminal(turn)))
            except Exception as failed:  # noqa: BLE001  # whatever it was, who waits for the end of this turn hears of one
                turn = self._turn_without_end(turn, failed)
                if isinstance(failed, GatewayError):
                    self._unsettled[turn.turn_id] = store
                active.seq = seq
                active.terminal(turn)()
            finally:
                active.turn = turn
                self.running.pop(turn.turn_id, None)
                active.ended.set()
        return active.turn

    def _abandon(self, active: ActiveTurn, status: TurnStatus) -> None:
        """Keep what was said of an answer that did not come to its end, if it can be told."""
        try:
            active.abandon("interrupted" if status in {"cancelled", "interrupted"} else "failed")
        except Exception as failed:  # noqa: BLE001  # the rest of the turn is kept all the same
            self._incident(failed)

    def _turn_at_end(
        self, active: ActiveTurn, status: TurnStatus, prepared: Prepared | None, error: TurnError | None
    ) -> Turn:
        return msgspec.structs.replace(
            active.turn,
            status=status,
            completed_at=self._clock.now(),
            error=error if status == "failed" else None,
            rounds=active.rounds,
            usage=active.usage,
            prompt_manifest=prepared.manifest() if prepared is not None else active.turn.prompt_manifest,
        )

    def _turn_without_end(self, turn: Turn, failed: Exception) -> Turn:
        """What the client is told where the end could not be stored.

        If the store refused it, it is stored so when the store works again, and before anybody is told that the turn runs. A
        process that ends before that leaves an interrupted turn, and so does an end that our own defect keeps from being stored.
        """
        if isinstance(failed, GatewayError):
            error = TurnError.of(failed.reason, retryable=failed.retryable)
        else:
            self._incident(failed)
            error = TurnError.of("internal", retryable=False)
        return msgspec.structs.replace(turn, status="failed", completed_at=self._clock.now(), error=error)

    def _store_end(
        self, tx: Tx, active: ActiveTurn, turn: Turn, fresh: Prepared | None, tool_events: Sequence[ToolEvent],
        runs: Sequence[HookRun],
    ) -> None:  # fmt: skip
        """Store what a turn left; `fresh` is a preparation of which nothing is stored yet."""
        for position, item in enumerate(active.items, 1):
            add_item(tx, item, position)
        for run in fresh.runs if fresh is not None else runs:
            add_run(tx, run)
        if fresh is not None:
            self._ledger.record(tx, (turn.workspace_id, turn.thread_id, turn.turn_id), injected(fresh.compiled))
        tx.run(SQL["end_turn"], turn_values(turn, active.seq, None, tool_events))
        said = read_items(tx, turn_items(tx, [turn.turn_id])[turn.turn_id]).values()
        self._on_items(tx, [fact for fact in said if fact.indexable])
        self._background.queue(tx, turn.thread_id, turn.turn_id)


def _telling(store: Callable[[Tx], None], tell: Callable[[], None]) -> Callable[[Tx], None]:
    """The same, and told once it is committed."""

    def work(tx: Tx) -> None:
        tx.after_commit(tell)
        store(tx)

    return work


def turn_values(
    turn: Turn, seq: int, owner: str | None, tool_events: Sequence[ToolEvent]
) -> dict[str, str | int | None]:
    """What a turn is by now, as bindings."""
    return {
        "turn_id": turn.turn_id, "status": turn.status, "completed_at": turn.completed_at,
        "error_reason": turn.error.reason if turn.error else None,
        "error_retryable": turn.error.retryable if turn.error else None, "rounds": turn.rounds,
        "usage": encoded(turn.usage) if turn.usage else None,
        "manifest": encoded(turn.prompt_manifest) if turn.prompt_manifest else None, "last_seq": seq,
        "owner": owner, "tool_events": encoded(list(tool_events)),
    }  # fmt: skip
