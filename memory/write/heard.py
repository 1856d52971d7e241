"""Texts of other speakers in a turn's conversation, read and folded once for all proposals of a call."""

from collections.abc import Sequence
from functools import cached_property

from memory.ports import Collaborators
from memory.rules.repeats import HEARD_TEXTS, fold_heard
from promt.own_words import awaits_text
from protocol.seams.ports import Tx


class HeardInTurn:
    """The texts of other speakers in the conversation of a turn, on a transaction."""

    def __init__(self, tx: Tx, means: Collaborators, turn_id: str) -> None:
        self._tx, self._means, self._turn_id = tx, means, turn_id

    @cached_property
    def was_announced(self) -> bool:
        """True if the user's message before the turn asked for work on a text: the turn's message is that text."""
        return awaits_text(self._means.find_request_before(self._tx, self._turn_id))

    @cached_property
    def texts(self) -> Sequence[str]:
        """The texts of tools and imports, as `fold_heard` returns them."""
        return [fold_heard(text) for text in self._means.list_texts_of_others(self._tx, self._turn_id, HEARD_TEXTS)]
