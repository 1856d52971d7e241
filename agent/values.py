"""Small values that the rooms of this house hand to one another.

Rule 1: data only; nothing here decides, reads or stores.
"""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from protocol.conversation.manifests import SourceRef
from protocol.hooks import Contribution
from protocol.models import Message


class Contributed(NamedTuple):
    """A contribution and the hook that it came from."""

    hook_id: str
    contribution: Contribution


class SaidTurn(NamedTuple):
    """The messages of a turn, as a model reads them."""

    turn_id: str
    messages: Sequence[Message]


class History(NamedTuple):
    """Turns of a conversation, oldest first.

    `sure` says how many of the last ones stay whatever else comes into the prompt: what may still be left out may be
    recalled. `available` says how many turns there were to choose from. `failed` names failed turns of the same time:
    the user asks again if they still want an answer, so neither history nor recall repeats the question.
    """

    turns: Sequence[SaidTurn] = ()
    sure: int = 0
    available: int = 0
    failed: Sequence[str] = ()

    @property
    def messages(self) -> list[Message]:
        """Return the messages of all turns, oldest first."""
        return [message for turn in self.turns for message in turn.messages]

    @property
    def previous(self) -> list[str]:
        """Return the last text of the user and that of the assistant, in this order, of the last four messages."""
        last = {message.role: message.content for message in self.messages[-4:]}
        return [last[role] for role in ("user", "assistant") if role in last]

    @property
    def sure_turn_ids(self) -> list[str]:
        """Return the ids of the last `sure` turns."""
        return [turn.turn_id for turn in self.turns[len(self.turns) - self.sure :]]

    @property
    def unrecalled_turn_ids(self) -> list[str]:
        """Return the ids of the turns of which nothing is recalled: failed ones, then the sure ones."""
        return [*self.failed, *self.sure_turn_ids]


NOTHING_SAID = History()


class Injected(Struct, frozen=True):
    """A block of a prompt, and its lines, each with its source."""

    block_id: str
    lines: Sequence[tuple[str, SourceRef]]
    is_standing: bool = False
    """The block is the same in turn after turn."""
