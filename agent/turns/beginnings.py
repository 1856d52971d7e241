"""The beginning of a turn: whether it may begin, the earlier conversation that it is given, and its first row.

Rule 1: one turn at a time in a thread, across all processes of the home.
"""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct

from agent.files.artifacts import Received
from agent.guidance.steering import NO_GUIDANCE, TurnGuidance
from agent.prompt.history import RESERVED, read_history, rewrite_history, room_of, size_beside, size_of
from agent.prompt.ledger import Ledger
from agent.rows.items import add_item
from agent.rows.threads import StoredThread, keep_agent, touch_thread
from agent.rows.turns import NewTurn, add_turn, get_turn, last_position, running_turn
from agent.states import BEGINNINGS
from agent.threads.unstored import Unstored
from agent.turns.background import context_in
from agent.values import NOTHING_SAID, History
from protocol.conversation.items import Item
from protocol.conversation.turns import TextInput, Turn, TurnStartParams
from protocol.conversation.values import Driver, NotStored
from protocol.errors import CallerError, Refused, Unavailable
from protocol.hooks import TurnContext
from protocol.seams.ports import Clock, Ids, Tx
from protocol.settings import GatewayConfig


class StoredBeginning(Struct, frozen=True):
    """The beginning of a turn as the transaction left it; no context for one that was known already."""

    turn: Turn
    context: TurnContext | None = None
    user_item: Item | None = None
    history: History = NOTHING_SAID


class AskedTurn(Struct, frozen=True):
    """A turn that is asked for, and a digest of its input, by which it is known again.

    `admit` is that of `TurnLifecycle.begin`.
    """

    params: TurnStartParams
    turn_id: str
    digest: bytes
    driver: Driver
    admit: Callable[[StoredThread], int | None]
    guidance: TurnGuidance = NO_GUIDANCE

    @property
    def text(self) -> str:
        """Return the user's words: the text parts of the input, a blank line between them."""
        return "\n\n".join(part.text for part in self.params.input if isinstance(part, TextInput))

    def require_input(self) -> None:
        """Raise `CallerError` where the user said nothing: neither a word nor a file."""
        if not self.text.strip() and all(isinstance(part, TextInput) for part in self.params.input):
            raise CallerError.at("$.input", "It has a word of the user, or a file")


class Beginnings:
    """Plans and stores the beginnings of turns."""

    def __init__(
        self,
        *,
        clock: Clock,
        ids: Ids,
        ledger: Ledger,
        settings: Callable[[], GatewayConfig],
        owner: str,
        unstored: Unstored,
        find_stranded: Callable[[Tx, str, str], Sequence[str]],
    ) -> None:
        """`find_stranded` returns a thread's turns that are this process's by the store and do not run here.

        It takes the thread's id, and that of the turn that is about to begin.
        """
        self._clock = clock
        self._ids = ids
        self._ledger = ledger
        self._settings = settings
        self._owner = owner
        self._unstored = unstored
        self._find_stranded = find_stranded

    def find_known_turn(self, tx: Tx, asked: AskedTurn) -> Turn | None:
        """Return the turn of that id. Raises `Refused` where it has other input."""
        stored = get_turn(tx, asked.turn_id)
        found = (stored.input_hash, stored.turn) if stored is not None else self._unstored.find_turn(asked.turn_id)
        if found is not None and found[0] != asked.digest:
            raise Refused("conflict", "A turn of that id exists with other input.")
        return found[1] if found is not None else None

    def admit(self, tx: Tx, asked: AskedTurn) -> str | None:
        """Return the workspace of a turn that may begin, None for a turn that is known.

        Raises:
            CallerError: the call is not valid.
            Refused: the turn may not begin now.

        """
        thread_id = asked.params.thread_id
        found = self._unstored.open_thread(tx, thread_id)
        if found is None:
            raise CallerError.missing("thread")
        if self.find_known_turn(tx, asked) is not None:
            return None
        asked.admit(found)
        running = running_turn(tx, thread_id)
        is_stored = running is not None and running not in self._find_stranded(tx, thread_id, asked.turn_id)
        # a turn that a read-only home holds as running may have ended long ago, and this one is not stored beside it
        is_in_the_way = is_stored and not self._unstored.is_read_only
        if is_in_the_way or self._unstored.is_running_in(thread_id):
            raise Refused("turn_in_progress")
        return found.thread.workspace_id

    def plan(
        self, tx: Tx, asked: AskedTurn, received: Sequence[Received], not_stored: NotStored | None = None
    ) -> tuple[StoredBeginning, int]:
        """Return a turn as it begins, and its position in its thread; nothing is stored. Raises `CallerError`."""
        params, turn_id = asked.params, asked.turn_id
        found = self._unstored.open_thread(tx, params.thread_id)
        if found is None:
            raise CallerError.missing("thread")
        now = self._clock.now()
        position = last_position(tx, params.thread_id) + 1
        turn = Turn(
            turn_id=turn_id,
            thread_id=params.thread_id,
            workspace_id=found.thread.workspace_id,
            driver=asked.driver,
            mode=params.mode or found.thread.mode,
            status=BEGINNINGS[asked.driver],
            started_at=now,
            completed_at=None,
            error=None,
            rounds=0,
            usage=None,
            prompt_manifest=None,
            not_stored=not_stored,
        )
        item = Item(
            item_id=self._ids.new("itm"),
            turn_id=turn_id,
            thread_id=params.thread_id,
            kind="user_message",
            role="user",
            status="completed",
            text=asked.text,
            at=now,
            name=None,
            artifacts=[one.ref for one in received],
            tool=None,
        )
        context = context_in(found.thread, turn, params.options, now, asked.guidance.memory_mode)
        said = self._read_earlier_conversation(
            tx, asked, found, position, sum(one.ref.kind == "image" for one in received)
        )
        return StoredBeginning(turn, context, item, said), position

    def store(self, tx: Tx, asked: AskedTurn, received: Sequence[Received]) -> StoredBeginning:
        """Store a turn as it begins."""
        stored, position = self.plan(tx, asked, received)
        turn, item = stored.turn, stored.user_item
        place = (turn.turn_id, turn.thread_id, position)
        add_turn(
            tx,
            NewTurn(
                *place,
                turn.driver,
                turn.mode,
                asked.digest,
                turn.started_at,
                options=asked.params.options,
                owner=self._owner,
                memory_mode=asked.guidance.memory_mode,
            ),
        )
        if asked.guidance.agent is not None:
            keep_agent(tx, turn.thread_id, asked.guidance.agent)
        touch_thread(tx, turn.thread_id, turn.started_at)
        if item is not None:
            add_item(tx, item, 0, keeps_files=True)
        return stored

    def begin_unstored(
        self, tx: Tx, *, asked: AskedTurn, received: Sequence[Received], why: NotStored
    ) -> StoredBeginning:
        """Return a turn that goes on without being stored.

        Raises `Unavailable` where its message brings a file, and what `admit` raises.
        """
        known = self.find_known_turn(tx, asked)
        if known is not None:
            return StoredBeginning(known)
        if received:  # what is not stored could not be read again
            raise Unavailable(why)
        self.admit(tx, asked)
        return self.plan(tx, asked, received, why)[0]

    def _read_earlier_conversation(
        self, tx: Tx, asked: AskedTurn, found: StoredThread, position: int, pictures: int
    ) -> History:
        """Return the earlier conversation that may go into the request, by the sizes known so far."""
        settings = self._settings().agent
        words = f"{settings.system_prompt or ''}{found.instructions or ''}{asked.text}"
        history = read_history(
            tx,
            asked.params.thread_id,
            position,
            room=room_of(settings.context_chars, asked.admit(found))
            .minus(size_of(words))
            .minus(size_beside(asked.guidance.text)),
            reserved=RESERVED.plus(size_of("", pictures)),
            min_turns=settings.history_turns_min,
        )
        # an answer that repeated recalled lines must not come back as words of the model
        return rewrite_history(history, partial(self._ledger.remove_injected, tx, found.thread.workspace_id))
