"""Small values that the parts of this house hand to one another.

Rule 1: data only; who makes and who uses them is told where they are made and used.
"""

from collections.abc import Sequence
from typing import NamedTuple

from protocol.hooks import Contribution
from protocol.models import Message
from protocol.threads import SourceRef


class Contributed(NamedTuple):
    """A contribution and the hook that it came from."""

    hook_id: str
    contribution: Contribution


class History(NamedTuple):
    """Messages, oldest first, the turns that they come from, how many characters they have, the user's last words.

    `counts` says how many messages each of the turns has, `available` how many turns there are to choose from.
    """

    messages: list[Message]
    turn_ids: list[str]
    chars: int
    previous_text: str | None
    counts: Sequence[int] = ()
    available: int = 0


NOTHING_SAID = History([], [], 0, None)


class Injected(NamedTuple):
    """A block of a prompt, and its lines with what each was made from."""

    block_id: str
    lines: Sequence[tuple[str, SourceRef]]
