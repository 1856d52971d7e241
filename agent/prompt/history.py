"""The recent conversation that goes into a request as it was said: newest first within a budget, whole turns.

Rule 1: it is chosen before the hooks run, and fitted once more when the rest of the request is known; then it only
loses.
Rule 2: what stays in any case need not be recalled. What may still be lost may be recalled; if it was, its turn is the
first to go, so that nothing stands in a request twice.
Rule 3: the last turns always stay; what was left out can be seen in the manifest.
Rule 4: a failed turn has no part in it: its message would stand before the next one, and a user who asks again would
ask twice.
"""

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import reduce
from itertools import accumulate

import msgspec
from msgspec import Struct

from agent.rows.items import messages_of_turns
from agent.rows.turns import list_ended_turns
from agent.values import History, SaidTurn
from protocol.conversation.host_turns import ToolSpec
from protocol.conversation.manifests import ManifestBudget
from protocol.models import Message
from protocol.seams.ports import Tx

MAX_TURNS = 200  # beyond it, recall finds what matters; reading more costs time in every turn
READ_AT_ONCE = 20  # turns of one statement: few where the first ones fill the room

RESERVED_CHARS = 10_000
"""Room kept free for the rest of a request, in characters, before that is known.

With the usual settings the contracts of the system prompt take at most 2,000, the tools of a plan 3,000, recall 4,000.
"""

BYTES_PER_TOKEN = 3
"""The fewest bytes of text to a token: English has 4, Russian 5, Chinese 3.

Tokenizers differ and none is here; to estimate too many tokens is the safe side.
"""
PICTURE_TOKENS = 1600
"""The usual models' count for the largest picture that they look at whole."""


class Size(Struct, frozen=True):
    """The size of messages, or its limit: in characters, and in bytes, by which tokens are estimated."""

    chars: int = 0
    octets: int = 0

    @property
    def tokens(self) -> int:
        """Return the estimated number of tokens, rather too many than too few."""
        return self.octets // BYTES_PER_TOKEN

    def plus(self, other: "Size") -> "Size":
        """Return the sum."""
        return Size(self.chars + other.chars, self.octets + other.octets)

    def minus(self, other: "Size") -> "Size":
        """Return the difference; a member may be negative."""
        return Size(self.chars - other.chars, self.octets - other.octets)

    def fits(self, room: "Size") -> bool:
        """Return whether the size is within `room` in both members."""
        return self.chars <= room.chars and self.octets <= room.octets


RESERVED = Size(RESERVED_CHARS, RESERVED_CHARS)


def room_of(context_chars: int, prompt_tokens: int | None) -> Size:
    """Return the limit of a whole request; its tokens are not limited where the model's limit is not known."""
    return Size(context_chars, sys.maxsize if prompt_tokens is None else prompt_tokens * BYTES_PER_TOKEN)


def size_of(text: str, pictures: int = 0) -> Size:
    """Return the size of a message with that many pictures."""
    return Size(len(text), len(text.encode()) + pictures * PICTURE_TOKENS * BYTES_PER_TOKEN)


def size_beside(text: str) -> Size:
    """Return the size of a text with a budget of its own: it counts no characters, but as tokens for the model."""
    return Size(0, len(text.encode()))


def size_of_all(messages: Sequence[Message]) -> Size:
    """Return the sum of the messages' sizes."""
    sizes = (size_of(message.content, len(message.pictures)) for message in messages)
    return reduce(Size.plus, sizes, Size())


def _newest_first(tx: Tx, turn_ids: Sequence[str]) -> Iterator[SaidTurn]:
    """Yield what was said in each of some turns, in their order; they are read a few at a time."""
    for first in range(0, len(turn_ids), READ_AT_ONCE):
        some = turn_ids[first : first + READ_AT_ONCE]
        said = messages_of_turns(tx, some)
        yield from (SaidTurn(turn_id, said.get(turn_id, [])) for turn_id in some)


def read_history(tx: Tx, thread_id: str, position: int, *, room: Size, reserved: Size, min_turns: int) -> History:
    """Return the conversation before a position: at least `min_turns` turns, more while there is room.

    A turn stays for sure where there is room for it beside what is reserved for the rest of the request.
    """
    rows = list_ended_turns(tx, thread_id, position, MAX_TURNS)
    failed = [turn_id for turn_id, status in rows if status == "failed"]
    answered = [turn_id for turn_id, status in rows if status != "failed"]
    chosen: list[SaidTurn] = []
    size, sure, sure_room = Size(), 0, room.minus(reserved)
    for turn in _newest_first(tx, answered):
        size = size.plus(size_of_all(turn.messages))
        stays = len(chosen) < min_turns
        if not (stays or size.fits(room)):
            break
        chosen.append(turn)
        sure += stays or size.fits(sure_room)
    chosen.reverse()
    return History(chosen, sure, len(answered), failed)


def rewrite_history(history: History, rewrite: Callable[[str], str]) -> History:
    """Return the history with `rewrite` applied to each message; one that becomes empty is left out."""
    turns = [
        turn._replace(
            messages=[
                msgspec.structs.replace(message, content=text)
                for message in turn.messages
                if (text := rewrite(message.content))
            ]
        )
        for turn in history.turns
    ]
    return history._replace(turns=turns)


def fit_history(
    history: History,
    rest: Sequence[Message],
    tools: Sequence[ToolSpec],
    *,
    room: Size,
    min_turns: int,
    recalled: Collection[str] = (),
) -> tuple[History, list[ManifestBudget]]:
    """Return the history that fits beside the rest of a request and its tools: the oldest turns go, `min_turns` stay.

    A part of each turn in `recalled` stands in the rest already. Such a turn goes with all older ones, unless it is a
    sure one.
    """
    offered = Message(role="system", content="".join(f"{t.name}{t.description}{t.parameters}" for t in tools))
    others = size_of_all([*rest, offered])
    left = room.minus(others)
    turns = history.turns
    unsure = turns[: len(turns) - history.sure]
    cut = max((n for n, turn in enumerate(unsure, 1) if turn.turn_id in recalled), default=0)
    newest_first = [size_of_all(turn.messages) for turn in reversed(turns)]
    sizes = list(accumulate(newest_first, Size.plus, initial=Size()))  # of the last 0, 1, 2 … turns
    while len(turns) - cut > min_turns and not sizes[len(turns) - cut].fits(left):
        cut += 1
    kept = history._replace(turns=turns[cut:], sure=min(history.sure, len(turns) - cut))
    used = sizes[len(kept.turns)]
    budgets = [
        ManifestBudget(name="history_chars", limit=max(0, left.chars), used=used.chars),
        ManifestBudget(name="history_turns", limit=history.available, used=len(kept.turns)),
    ]
    if room.octets < sys.maxsize:
        budgets.append(ManifestBudget(name="request_tokens", limit=room.tokens, used=used.plus(others).tokens))
    return kept, budgets
