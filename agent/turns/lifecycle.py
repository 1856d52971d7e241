"""The beginning and the end of a turn, for both drivers.

Rule 1: a turn has two durable commits: the user's item before the model, everything else before the notification that
ends it. Neither is given up half way, whoever asked for it and whatever is cancelled.
Rule 2: one turn at a time in a thread, across all processes of the home.
Rule 3: a turn that the store says is this process's, and that is neither begun nor run here, is ended before any
client is notified that it runs.
"""

import hashlib
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import anyio
import msgspec
from msgspec import Struct

from agent.files.artifacts import Artifacts, ContentGoneError
from agent.guidance.steering import NO_GUIDANCE, TurnGuidance
from agent.prompt.compiler import list_injected
from agent.prompt.ledger import Ledger
from agent.rows.items import add_item, read_items, turn_items
from agent.rows.runs import add_run
from agent.rows.spoken_texts import list_texts, take_out_of_event, take_out_of_item
from agent.rows.threads import StoredThread
from agent.rows.turns import TurnLeft, end_turn, generation_of_turn, status_of_turn, turns_of_owner
from agent.states import TURNS, TurnEvent
from agent.threads.unstored import Unstored, refusal_of
from agent.turns.active import ActiveTurn
from agent.turns.background import Background
from agent.turns.beginnings import AskedTurn, Beginnings, StoredBeginning
from agent.turns.pipeline import PreparedTurn
from agent.values import History
from protocol.base import encode
from protocol.conversation.turns import ArtifactInput, ToolEvent, Turn, TurnError, TurnStartParams
from protocol.conversation.values import Driver, TurnStatus
from protocol.errors import Defect, GatewayError, Unavailable
from protocol.gateway import HookRun
from protocol.saying import Saying
from protocol.seams.forgettings import FindErased
from protocol.seams.house_facts import OnItems
from protocol.seams.ports import Clock, Ids, Notify, Transact, Tx
from protocol.seams.transitions import after
from protocol.settings import GatewayConfig


class Begun(Struct, frozen=True):
    """A turn whose beginning is stored, or one that was known already."""

    turn: Turn
    active: ActiveTurn | None
    history: History


class TurnMeans(Struct, frozen=True, kw_only=True):
    """Collaborators that every part of a turn shares."""

    db: Transact
    clock: Clock
    ids: Ids
    background: Background
    ledger: Ledger
    artifacts: Artifacts
    notify: Notify
    on_items: OnItems
    settings: Callable[[], GatewayConfig]
    owner: str
    incident: Callable[[BaseException], str]
    unstored: Unstored
    find_erased: FindErased


class TurnLifecycle:
    """Begins and ends turns."""

    def __init__(self, means: TurnMeans) -> None:
        self._means = means
        self.unstored = means.unstored
        self._beginnings = Beginnings(
            clock=means.clock,
            ids=means.ids,
            ledger=means.ledger,
            settings=means.settings,
            owner=means.owner,
            unstored=means.unstored,
            find_stranded=lambda tx, thread_id, turn_id: self._find_stranded(tx, thread_id, beginning=turn_id),
        )
        self.running: dict[str, ActiveTurn] = {}
        """Turns that run in this process, by id."""
        self._beginning: dict[str, anyio.Event] = {}
        self._unsettled: dict[str, Callable[[Tx], None]] = {}

    async def find(self, turn_id: str) -> ActiveTurn | None:
        """Return a turn that runs in this process, None without one; a turn that is about to begin is waited for."""
        while (begun := self._beginning.get(turn_id)) is not None:
            await begun.wait()
        return self.running.get(turn_id)

    @asynccontextmanager
    async def expecting(self, turn_id: str | None) -> AsyncGenerator[None]:
        """Let `find` wait for a turn that is about to begin; a turn without an id cannot be asked for yet."""
        if turn_id is None:
            yield
            return
        while turn_id in self._beginning:  # asked for twice at once
            await self._beginning[turn_id].wait()
        begun = self._beginning[turn_id] = anyio.Event()
        try:
            yield
        finally:
            del self._beginning[turn_id]
            begun.set()

    async def begin(
        self,
        params: TurnStartParams,
        driver: Driver,
        admit: Callable[[StoredThread], int | None],
        guidance: TurnGuidance = NO_GUIDANCE,
    ) -> Begun:
        """Admit a turn and store its beginning: the first of its two durable commits.

        `admit` raises where a turn that is not known yet may not begin in its thread. Else it returns how many tokens
        its model takes.
        """
        turn_id = params.turn_id or self._means.ids.new("trn")
        digest = hashlib.sha256(encode([params.thread_id, params.input])).digest()
        asked = AskedTurn(params, turn_id, digest, driver, admit, guidance)
        asked.require_input()
        async with self.expecting(turn_id):
            while True:
                try:
                    return await self._begin(asked)
                except ContentGoneError:  # a sweep came between a file and the message that carries it
                    continue

    async def _begin(self, asked: AskedTurn) -> Begun:
        params, turn_id = asked.params, asked.turn_id
        workspace_id = await self._means.db.read(lambda tx: self._beginnings.admit(tx, asked))
        files = [(n, part) for n, part in enumerate(params.input) if isinstance(part, ArtifactInput)]
        received = await self._means.artifacts.receive(files, workspace_id) if workspace_id is not None else []

        def begin(tx: Tx) -> StoredBeginning:
            for left in self._find_stranded(tx, params.thread_id, beginning=turn_id):
                self._settle(tx, left)
            known = self._beginnings.find_known_turn(tx, asked)
            if known is not None:
                return StoredBeginning(known)
            self.unstored.store_thread(tx, params.thread_id)
            self._beginnings.admit(tx, asked)
            self._means.artifacts.confirm(tx, received, params.thread_id, workspace_id or "")
            return self._beginnings.store(tx, asked, received)

        stored: StoredBeginning | None = None
        with anyio.CancelScope(shield=True):  # a beginning that is stored and has no ActiveTurn would not be ended
            try:
                stored = await self._store_if_possible(
                    begin, partial(self._beginnings.begin_unstored, asked=asked, received=received)
                )
            except BaseException:
                await self._means.artifacts.discard(received)
                raise
        if stored is None:
            raise Defect
        if stored.context is None or stored.user_item is None:
            await self._means.artifacts.discard(received)
            return Begun(stored.turn, None, stored.history)
        if stored.turn.not_stored is not None:
            self.unstored.keep_turn(asked.digest, stored.turn)
        active = self.running[turn_id] = ActiveTurn(
            turn=stored.turn,
            context=stored.context,
            user_item=stored.user_item,
            ids=self._means.ids,
            clock=self._means.clock,
            notify=self._means.notify,
        )
        return Begun(stored.turn, active, stored.history)

    async def _store_if_possible(
        self, begin: Callable[[Tx], StoredBeginning], begin_unstored: Callable[..., StoredBeginning]
    ) -> StoredBeginning:
        """Store a beginning; where the store takes nothing, the turn goes on without it."""
        try:
            return await self._means.db.write(begin)
        except Unavailable as failure:
            if (why := refusal_of(failure)) is None:
                raise
        return await self._means.db.read(partial(begin_unstored, why=why))

    # -- turns that no process runs --------------------------------------------------------------------------------

    async def settle(self) -> None:
        """End each turn that is stored as this process's and that it does not run: its end could not be stored."""

        def settle(tx: Tx, turn_id: str) -> None:
            if turn_id in self._find_stranded(tx):
                self._settle(tx, turn_id)

        for turn_id in await self._means.db.read(self._find_stranded):
            await self._means.db.write(partial(settle, turn_id=turn_id))

    def _find_stranded(self, tx: Tx, thread_id: str | None = None, *, beginning: str | None = None) -> list[str]:
        """Return the ids of turns stored as this process's that are neither begun nor run here; of one thread, or all.

        `beginning` is the id of the turn that the caller begins: a stored turn of that id is left from a failed
        attempt.
        """

        def is_here(turn_id: str) -> bool:
            return turn_id in self.running or (turn_id in self._beginning and turn_id != beginning)

        mine = turns_of_owner(tx, self._means.owner)
        return [turn_id for turn_id, of in mine if thread_id in {None, of} and not is_here(turn_id)]

    def _settle(self, tx: Tx, turn_id: str) -> None:
        """Store the end that could not be stored when it came; a turn without such an end is interrupted."""
        store = self._unsettled.get(turn_id)
        if store is not None:
            store(tx)
        else:
            self._means.background.interrupt(tx, turn_id)
        tx.after_commit(lambda: self._forget_unsettled(turn_id))

    def _forget_unsettled(self, turn_id: str) -> None:
        self._unsettled.pop(turn_id, None)

    # -- the end ---------------------------------------------------------------------------------------------------

    async def end(
        self,
        active: ActiveTurn,
        event: TurnEvent,
        prepared: PreparedTurn | None,
        *,
        error: TurnError | None = None,
        tool_events: Sequence[ToolEvent] = (),
        runs: Sequence[HookRun] = (),
    ) -> Turn:
        """Store all that a turn left and notify of its end; return the turn. `runs` are those of one never prepared.

        A second caller waits for the end that the first one gave the turn. A cancellation that arrives meanwhile takes
        effect afterwards.
        """
        if active.is_ending:
            await active.ended.wait()
            return active.turn
        active.is_ending = True
        active.stop_working()
        with anyio.CancelScope(shield=True):
            self._abandon(active, event)
            turn, before, seq = active.turn, active.turn.status, active.seq
            fresh = prepared if turn.prompt_manifest is None else None

            def store(tx: Tx) -> None:  # `turn` and `event` are those of the failed end where it runs after that
                if status_of_turn(tx, turn.turn_id) != before:  # another process has ended it
                    return
                saying = self.find_erased(tx, turn.turn_id, list_texts(active.items, turn.tool_events))
                self._store_items(tx, active, fresh, runs, saying)
                events = [take_out_of_event(one, saying) for one in turn.tool_events]
                left = TurnLeft(msgspec.structs.replace(turn, tool_events=events), active.seq)
                end_turn(tx, turn.turn_id, before, event, turn.completed_at or 0, left)
                self._follow(tx, turn)

            try:
                turn = self._turn_at_end(active, event, prepared, error, tool_events)
                if turn.not_stored is None:
                    await self._means.db.write(_notifying(store, active.terminal(turn)))
                else:
                    active.terminal(turn)()
                    self._means.background.notify_without_runs(turn, active.seq + 1)
            except Exception as failed:  # noqa: BLE001  # clients wait for an end, whatever failed
                event = "fail"  # so it is stored, too, once the store works again
                turn = self._turn_without_end(turn, after(TURNS, before, event), failed)
                if isinstance(failed, GatewayError):
                    self._unsettled[turn.turn_id] = store
                active.seq = seq
                active.terminal(turn)()
                self._means.background.notify_unstored_end(turn, active.seq + 1)
            finally:
                active.turn = turn
                self.unstored.end_turn(turn)
                self.running.pop(turn.turn_id, None)
                active.ended.set()
        return active.turn

    def _abandon(self, active: ActiveTurn, event: TurnEvent) -> None:
        """Complete the item of an answer that was cut short, if its notification can be sent."""
        try:
            active.abandon("interrupted" if event in {"cancel", "interrupt"} else "failed")
        except Exception as failed:  # noqa: BLE001  # the rest of the turn is kept all the same
            self._means.incident(failed)

    def _turn_at_end(
        self,
        active: ActiveTurn,
        event: TurnEvent,
        prepared: PreparedTurn | None,
        error: TurnError | None,
        tool_events: Sequence[ToolEvent],
    ) -> Turn:
        return msgspec.structs.replace(
            active.turn,
            status=after(TURNS, active.turn.status, event),
            completed_at=self._means.clock.now(),
            error=error if event == "fail" else None,
            rounds=active.rounds,
            usage=active.usage,
            prompt_manifest=prepared.manifest() if prepared is not None else active.turn.prompt_manifest,
            tool_events=list(tool_events),
            upstream=active.upstream,
        )

    def _turn_without_end(self, turn: Turn, status: TurnStatus, failed: Exception) -> Turn:
        """Return the turn as the client sees it where its end could not be stored.

        If the store refused the end, it is stored so when the store works again, before any client is told that the
        turn runs. A process that ends before that leaves an interrupted turn. So does an end that a defect of the
        gateway keeps from being stored.
        """
        if isinstance(failed, GatewayError):
            error = TurnError.of(failed.reason, retryable=failed.retryable)
        else:
            self._means.incident(failed)
            error = TurnError.of("internal", retryable=False)
        return msgspec.structs.replace(turn, status=status, completed_at=self._means.clock.now(), error=error)

    def find_erased(self, tx: Tx, turn_id: str, texts: Sequence[str]) -> Saying:
        """Return the phrases of a turn's texts that were erased with their sources since it began."""
        since = generation_of_turn(tx, turn_id)
        return self._means.find_erased(tx, texts, since) if since is not None else Saying(())

    def _store_items(
        self, tx: Tx, active: ActiveTurn, fresh: PreparedTurn | None, runs: Sequence[HookRun], saying: Saying
    ) -> None:
        """Store what a turn left beside itself; `fresh` is a preparation of which nothing is stored yet."""
        turn = active.turn
        for position, item in enumerate(active.items, 1):
            add_item(tx, take_out_of_item(item, saying), position)
        for run in fresh.runs if fresh is not None else runs:
            add_run(tx, run)
        if fresh is not None:
            self._means.ledger.record(
                tx, (turn.workspace_id, turn.thread_id, turn.turn_id), list_injected(fresh.compiled)
            )

    def _follow(self, tx: Tx, turn: Turn) -> None:
        """Queue what follows a turn that is stored as ended."""
        said = read_items(tx, turn_items(tx, [turn.turn_id])[turn.turn_id]).values()
        self._means.on_items(tx, [fact for fact in said if fact.indexable])
        self._means.background.queue(tx, turn.thread_id, turn.turn_id)


def _notifying(store: Callable[[Tx], None], notify: Callable[[], None]) -> Callable[[Tx], None]:
    """Return the work of `store` followed by `notify` once it is committed."""

    def work(tx: Tx) -> None:
        tx.after_commit(notify)
        store(tx)

    return work
