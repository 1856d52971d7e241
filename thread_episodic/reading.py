"""Turns read back: what was said in the n-th turn of a thread, as far as search would show it.

Rule 1: what search hides is hidden here: muted threads, other workspaces, excluded ranges, secrets, and blocks and
lines that the gateway itself injected, because what was recalled then may be forgotten by now. Tools are hidden, too.
Rule 2: an unknown place and a hidden one give the same answer.
"""

from collections.abc import Iterable
from typing import NamedTuple

from protocol.conversation.values import Role
from protocol.errors import CallerError, Unavailable
from protocol.seams.house_facts import EchoSpans, ItemFact, ReadItems, ReadThread
from protocol.seams.ports import SecretScanner, Transact, Tx
from thread_episodic.ports import Settings, ThreadTurns, TurnItems
from thread_episodic.rows.exclusions import exclusions_of
from thread_episodic.visibility import EXCLUDED, INJECTED, HiddenRange, show_range


class ShownMessage(NamedTuple):
    """A message of a turn as it may be shown."""

    item_id: str
    role: Role
    at: int
    text: str


class TurnReader:
    """Reads turns by their number in a thread, from 1."""

    def __init__(
        self,
        *,
        db: Transact,
        scanner: SecretScanner,
        settings: Settings,
        read_items: ReadItems,
        read_thread: ReadThread,
        echo_spans: EchoSpans,
        thread_turns: ThreadTurns,
        turn_items: TurnItems,
    ) -> None:
        self._db = db
        self._scanner = scanner
        self._settings = settings
        self._read_items = read_items
        self._read_thread = read_thread
        self._echo_spans = echo_spans
        self._thread_turns = thread_turns
        self._turn_items = turn_items

    async def read(self, workspace_id: str, thread_id: str, number: int) -> list[ShownMessage]:
        """Return a turn's messages in order.

        Raises:
            CallerError: nothing of the turn may be shown.
            Unavailable: conversation search is switched off.

        """
        if not self._settings().enabled:
            raise Unavailable(message="Conversation search is switched off.")

        def look(tx: Tx) -> list[tuple[ItemFact, list[HiddenRange]]]:
            thread = self._read_thread(tx, thread_id)
            turns = self._thread_turns(tx, thread_id) if thread is not None else []
            if thread is None or thread.workspace_id != workspace_id or not 1 <= number <= len(turns):
                return []
            turn_id = turns[number - 1]
            facts = self._read_items(tx, self._turn_items(tx, [turn_id])[turn_id]).values()
            return [(fact, self._hidden_in(tx, fact)) for fact in facts if fact.indexable and fact.role != "tool"]

        said = [self._to_shown_message(fact, hidden) for fact, hidden in await self._db.read(look)]
        if not said:
            raise CallerError.missing("turn")
        return said

    async def numbers(self, thread_ids: Iterable[str]) -> dict[str, int]:
        """Return the number of every turn of some threads, by turn id."""
        wanted = list(dict.fromkeys(thread_ids))

        def look(tx: Tx) -> dict[str, int]:
            return {
                turn_id: number
                for thread_id in wanted
                for number, turn_id in enumerate(self._thread_turns(tx, thread_id), 1)
            }

        return await self._db.read(look)

    def _hidden_in(self, tx: Tx, fact: ItemFact) -> list[HiddenRange]:
        excluded = [HiddenRange(*place, EXCLUDED) for place in exclusions_of(tx, fact.item_id)]
        return excluded + [
            HiddenRange(*place, INJECTED) for place in self._echo_spans(tx, fact.workspace_id, fact.text)
        ]

    def _to_shown_message(self, fact: ItemFact, hidden: list[HiddenRange]) -> ShownMessage:
        spans = self._scanner.find(fact.text)
        said = show_range(fact.text, spans, hidden, 0, len(fact.text))
        return ShownMessage(fact.item_id, fact.role, fact.at, said)
