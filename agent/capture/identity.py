"""Decides which conversation and turn a captured message belongs to.

Rule 1: pure; what is known is gathered before, of the message's own workspace alone.
Rule 2: two conversations that begin alike never become one: an answered question belongs to another conversation
unless the client says otherwise.
Rule 3: a question that was not answered is the same one when it comes again.
Rule 4: a subagent's message never meets a user's, though it says the same.
"""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from agent.rows.captures import KnownCapture, ShownCapture


class AskedMessage(Struct, frozen=True):
    """A message as it is looked for: the digests of the conversation up to each of its messages."""

    chain: Sequence[bytes]
    user_index: int
    session: bytes | None
    thread_id: str | None
    is_of_subagent: bool = False

    @property
    def user_hash(self) -> bytes:
        """Return the digest up to the message itself."""
        return self.chain[self.user_index]

    def newest(self, count: int) -> Sequence[bytes]:
        """Return the digests up to the message itself and to those right before it."""
        return self.chain[max(0, self.user_index + 1 - count) : self.user_index + 1]


class Continues(Struct, frozen=True):
    """The message is that of a turn which is not answered, or of one that is not kept."""

    known: KnownCapture


class AskedAgain(Struct, frozen=True):
    """The question was answered, and is asked again in its conversation."""

    known: KnownCapture


class NextTurn(Struct, frozen=True):
    """The message goes on in a conversation, which is made where there is none of that id."""

    thread_id: str


class Forks(Struct, frozen=True):
    """The message leaves a conversation after an earlier turn of it."""

    known: KnownCapture


class Begins(Struct, frozen=True):
    """The message begins a conversation."""


class OfSubagent(Struct, frozen=True):
    """The message is of a subagent's conversation; `thread_id` is None where it begins one."""

    thread_id: str | None


Place: TypeAlias = Continues | AskedAgain | NextTurn | Forks | Begins | OfSubagent


def is_answered(known: KnownCapture) -> bool:
    """Return whether a turn was answered to its end."""
    return known.turn_id is not None and known.status == "completed"


def is_open(known: KnownCapture) -> bool:
    """Return whether a turn waits for its answer."""
    return known.status == "awaiting_host"


def _of_known(known: KnownCapture) -> Place:
    return AskedAgain(known) if is_answered(known) else Continues(known)


def may_meet(asked: AskedMessage, known: KnownCapture) -> bool:
    """Return whether a message may be one of a captured one's conversation.

    A client that names no role may send a subagent's message all the same: its session tells.
    """
    if known.is_of_subagent:
        return asked.is_of_subagent or (asked.session is not None and known.session == asked.session)
    return not asked.is_of_subagent


def find_place(asked: AskedMessage, known: Sequence[KnownCapture]) -> Place:
    """Return the place of a message among the captured ones that it may meet, which are given newest first."""
    same = [one for one in known if one.user_hash == asked.user_hash and not one.is_superseded]
    same.sort(key=lambda one: one.is_of_subagent)  # a message that the user and a subagent sent counts as the user's
    if asked.thread_id is not None and not asked.is_of_subagent:
        here = [one for one in same if one.thread_id == asked.thread_id]
        return _of_known(here[0]) if here else NextTurn(asked.thread_id)
    of_session = [one for one in known if asked.session is not None and one.session == asked.session]
    here = [one for one in same if asked.session is not None and one.session == asked.session]
    if here:
        return _of_known(here[0])
    waiting = [one for one in same if not is_answered(one) and (asked.session is None or one.session is None)]
    if waiting:
        return Continues(waiting[0])
    before = _longest_prefix(asked, known)
    if before is not None and before.is_of_subagent:
        return OfSubagent(before.thread_id)
    if asked.is_of_subagent:
        return OfSubagent(None)
    if before is not None:
        return NextTurn(before.thread_id) if before.is_newest else Forks(before)
    if of_session:
        newest = of_session[0]
        is_other_root = newest.root != asked.chain[0]
        return OfSubagent(None) if is_open(newest) and is_other_root else NextTurn(newest.thread_id)
    return Begins()


def _longest_prefix(asked: AskedMessage, known: Sequence[KnownCapture]) -> KnownCapture | None:
    """Return the last captured message that the conversation holds before this one; of equal ones the likeliest."""
    places = {digest: place for place, digest in enumerate(asked.chain[: asked.user_index])}
    last, best = -1, list[KnownCapture]()
    for one in known:
        digests = (one.user_hash, one.answer_hash, one.answer_name)
        place = max(places.get(digest or b"", -1) for digest in digests)
        if place > last:
            last, best = place, [one]
        elif place == last and place >= 0:
            best.append(one)
    if not best:
        return None

    def unlikeliness(one: KnownCapture) -> tuple[bool, bool, bool, bool, int]:
        return one.is_of_subagent, one.session != asked.session, not one.is_newest, one.is_superseded, -one.row

    return min(best, key=unlikeliness)


def find_replayed(asked: AskedMessage, shown: Sequence[ShownCapture], threads: Sequence[str]) -> dict[int, int]:
    """Return the row of each earlier message of the user that is shown something, by its place in the chain.

    `threads` are the conversation and those that it left, the nearest first: nothing is shown of any other one.
    """
    places = {digest: place for place, digest in enumerate(asked.chain[: asked.user_index])}
    found: dict[int, int] = {}
    for thread_id in threads:
        for one in shown:
            place = places.get(one.user_hash)
            if place is not None and one.thread_id == thread_id:
                found.setdefault(place, one.row)
    return found
