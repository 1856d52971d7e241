"""Checks that the user wants a model's forgetting: one record a turn by their wish, any other one after their yes.

Rule 1: a wish stands in the user's own words and names the memory: by its words, or as a memory that they were shown.
"Forget that." says "never mind" as well: it is a wish for the one memory that was shown last, and else asked about.
Rule 2: a question about a record is answered by the next words of the user in that thread, once, or not at all. A yes
is all that they say, or it names the memory or forgetting: "yes please, tell me more" answers something else.
Rule 3: a pasted text may have made the model ask: after one, a yes has to name forgetting.
Rule 4: nothing of this is stored: after a restart of the process the user is asked again.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from memory.hooks.policy import USER_ASKED
from memory.rules.claim_words import shares_words, telling_terms
from promt.handing_over import COLON
from promt.intents import detect
from promt.language.reader import either, whole
from promt.layout import sentences
from promt.orders import find_led_on
from promt.own_words import only_own, own_stretches
from promt.patterns import compile_late
from protocol.hooks import ToolContext, TurnContext
from protocol.record import Record
from protocol.seams.ports import Lexicon

MAX_THREADS: Final = 256
"""The most threads whose last turn is kept; in others the user is asked again."""
MAX_YES_CHARS: Final = 120
"""A longer text that begins with a yes says something else."""
MAX_YES_WORDS: Final = 2
"""The most words that may stand beside a yes, all function words: "both of them"."""

_YES: Final = compile_late(lambda: rf"\W*(?:{either('forgetting', 'yes')})(?!\w)", re.IGNORECASE)
_YES_WORDS: Final = compile_late(lambda: whole("forgetting", "yes"), re.IGNORECASE)
_WORDLESS: Final = compile_late(r"[^\w']+")
_ASKS: Final = compile_late("[?\uff1f]")
_NO: Final = compile_late(lambda: whole("forgetting", "no"), re.IGNORECASE)
_EVERYTHING: Final = compile_late(lambda: whole("forgetting", "everything"), re.IGNORECASE)
_FORGETS: Final = compile_late(lambda: whole("forgetting", "names_no_memory"), re.IGNORECASE)
"""Words of the wish that name no memory."""


@dataclass
class _Turn:
    """The state of consent in the last turn of a thread; sets are of memory ids."""

    turn_id: str
    has_material: bool = False
    """The user's message holds words that are not their own, or the message before did and led to a question."""
    pointed_at: set[str] = field(default_factory=set[str])
    """The records that its user may mean by "that": recalled for this turn, or shown in the one before."""
    recalled: set[str] = field(default_factory=set[str])
    shown_last: set[str] = field(default_factory=set[str])
    """The records that tools showed or kept in the turn before; where they did so with none, those recalled then."""
    may_point: bool = True
    """The turn before held no material: what its model was made to show is no answer to its user."""
    waiting: set[str] = field(default_factory=set[str])
    """The records that the user was asked about in the turn before."""
    yes: str = ""
    """The user's own words if they say yes to that, else empty."""
    shown: set[str] = field(default_factory=set[str])
    """The records that tools have shown in this turn."""
    asked: set[str] = field(default_factory=set[str])
    """The records that the user was asked about in this turn."""
    forgotten: int = 0
    """The number of records that were forgotten by the wish of this turn."""

    def wants(self, context: ToolContext, record: Record, lexicon: Lexicon) -> bool:
        """Return whether the user wishes to forget that record."""
        last = self.shown_last or self.recalled
        is_last = last == {record.memory_id} and self.may_point and not self.has_material
        return _wants(context, record, self.pointed_at, lexicon) or (is_last and _points_back(context, lexicon))


class ForgetConsent:
    """Decides whether a record may be forgotten, by what was shown and asked in the last turn of each thread."""

    def __init__(self) -> None:
        self._turns: OrderedDict[str, _Turn] = OrderedDict()

    def begin(self, turn: TurnContext, text: str, recalled: Iterable[str] = ()) -> _Turn:
        """Return the state of a turn, which begins with its first call; `recalled` are records in its prompt."""
        known = self._turns.get(turn.thread_id)
        if known is not None and known.turn_id == turn.turn_id:
            known.pointed_at |= set(recalled)
            known.recalled |= set(recalled)
            return known
        begun = _Turn(turn.turn_id, has_material=_has_material(text), pointed_at=set(recalled), recalled=set(recalled))
        if known is not None:
            begun.pointed_at |= known.shown | known.asked
            begun.shown_last = known.shown | known.asked or known.recalled
            begun.may_point = not known.has_material
            begun.waiting = known.asked
            begun.has_material |= known.has_material and bool(known.asked)  # the pasted text may go on asking
            is_yes = bool(known.asked) and _says_yes(text) and not (known.has_material and _is_bare(text))
            begun.yes = only_own(text) if is_yes else ""
        self._turns[turn.thread_id] = begun
        self._turns.move_to_end(turn.thread_id)
        while len(self._turns) > MAX_THREADS:
            self._turns.popitem(last=False)
        return begun

    def show(self, context: ToolContext, memory_ids: Iterable[str]) -> None:
        """Note the records that a tool has shown."""
        self.begin(context.turn, context.user_text).shown.update(memory_ids)

    def allows(self, context: ToolContext, record: Record, lexicon: Lexicon) -> bool:
        """Return whether a record may be forgotten now; if not, note that the user is asked about it."""
        turn = self.begin(context.turn, context.user_text)
        if context.agreed:
            return True
        is_waiting = record.memory_id in turn.waiting
        if is_waiting and turn.yes and _confirms(turn.yes, record, lexicon):
            turn.waiting.discard(record.memory_id)
            return True
        if (is_waiting or turn.forgotten == 0) and turn.wants(context, record, lexicon):
            turn.waiting.discard(record.memory_id)
            turn.forgotten += not is_waiting
            return True
        turn.asked.add(record.memory_id)
        return False

    def allows_too(self, context: ToolContext, record: Record, lexicon: Lexicon) -> bool:
        """Return whether the wish by which a record was forgotten means another one of the same sentence, too.

        If not, note that the user is asked about it.
        """
        if _wants(context, record, {record.memory_id}, lexicon) or _points_back(context, lexicon):
            return True
        self.begin(context.turn, context.user_text).asked.add(record.memory_id)
        return False


def _says_yes(text: str) -> bool:
    """Return whether the user's own words are short, begin with a yes and hold no "no"."""
    own = only_own(text).strip()
    return len(own) <= MAX_YES_CHARS and _YES.match(own) is not None and _NO.search(own) is None


def _confirms(yes: str, record: Record, lexicon: Lexicon) -> bool:
    """Return whether a yes counts for a record: it says nothing else, or names forgetting or the record."""
    rest = _WORDLESS.sub(" ", _FORGETS.sub(" ", _YES_WORDS.sub(" ", yes)))
    is_whole = len(rest.split()) <= MAX_YES_WORDS and not telling_terms(rest, lexicon) and _ASKS.search(yes) is None
    return is_whole or not _is_bare(yes) or shares_words(rest, _words_of(record), lexicon)


def _words_of(record: Record) -> str:
    return f"{record.content} {record.key.replace('_', ' ').replace(':', ' ')}"


def _has_material(text: str) -> bool:
    """Return whether a message holds words that are not the user's own."""
    return "".join(only_own(text).split()) != "".join(text.split())


def _is_bare(text: str) -> bool:
    """Return whether a yes does not name forgetting."""
    own = only_own(text)
    return not (detect(own).forget or detect(_YES.sub("", own, count=1)).forget)


def _points_back(context: ToolContext, lexicon: Lexicon) -> bool:
    """Return whether the user's message is nothing but a wish to forget what they were just shown."""
    own = only_own(context.user_text)
    return detect(context.user_text).points_back and not telling_terms(_FORGETS.sub(" ", own), lexicon)


def _wants(context: ToolContext, record: Record, pointed_at: set[str], lexicon: Lexicon) -> bool:
    """Return whether the user's own words ask to forget, and name this record."""
    if context.policy.forget.reason_code != USER_ASKED:
        return False
    own = own_stretches(context.user_text, find_led_on(context.user_text))
    said = [one[start:end] for one in own for start, end in sentences(one)]
    wishes = [one for one in said if detect(COLON.split(one, 1)[0]).forget]  # behind a colon somebody else may speak
    wishes = wishes or [one for one in said if COLON.search(one) is None]
    if not wishes:
        return False
    if any(_EVERYTHING.search(one) for one in wishes):
        return True
    named = " ".join(_FORGETS.sub(" ", one) for one in wishes)
    if not telling_terms(named, lexicon):
        return record.memory_id in pointed_at
    return shares_words(named, _words_of(record), lexicon)
