"""Decides by its frame whether a long message is told to the assistant by its user, or is a document of others.

Rule 1: pure, and by paragraphs: who tells an assistant about themselves says so in the first one or in the last, with
words for both, or begins with the one and ends by asking the other, or says that they will tell about themselves; and
comes back to themselves in between. A text for others begins with a title or with a greeting.
Rule 2: a message that shows neither is neither: its sentences are judged one by one.
"""

from collections.abc import Sequence
from typing import Final

from promt.documents import is_greeting, is_title
from promt.handing_over import INTRODUCES
from promt.layout import TextBlock, sentences
from promt.patterns import compile_late
from promt.speaker import is_about_user, speaks_to_reader

LONG_CHARS: Final = 1500
"""A longer message, fences not counted, is taken sentence by sentence: few people write as much about themselves at
once."""
FRAMED_CHARS: Final = 400
"""A shorter message has no frame; whatever points at nothing is its user's."""
TOLD_CHARS: Final = 6000
"""A message that tells the assistant about its user is no longer; a page may be."""
OPENING_SENTENCES: Final = 3
OPENING_CHARS: Final = 450
CLOSING_CHARS: Final = 600
"""As much of the first and of the last paragraph shows to whom they speak; people steer at length at the end."""

_ASKS_AT_END = compile_late(r"[?？]\W*$")  # noqa: RUF001


def is_told(text: str, prose: Sequence[TextBlock]) -> bool:
    """Return whether a message of several paragraphs speaks to its assistant, from one end to the other."""
    if not prose or prose[-1].end - prose[0].start > TOLD_CHARS or is_document(text, prose):
        return False
    middle = [is_about_user(text[one.start : one.end]) for one in prose[1:-1]]
    if 2 * sum(middle) < len(middle):
        return False
    opening, closing = _opening(text, prose[0]), _closing(text, prose[-1])
    is_asked = is_about_user(opening) and speaks_to_reader(closing) and _ASKS_AT_END.search(closing) is not None
    return is_asked or _meets(opening) or _meets(closing) or INTRODUCES.search(opening) is not None


def is_document(text: str, prose: Sequence[TextBlock]) -> bool:
    """Return whether a title or the greeting of a letter is one of the first two paragraphs of a message."""
    heads = [text[one.start : one.end] for one in prose[:2]]
    return any(is_title(head) or is_greeting(head) for head in heads)


def _meets(said: str) -> bool:
    """Return whether words speak of the user and to the assistant."""
    return is_about_user(said) and speaks_to_reader(said)


def _opening(text: str, block: TextBlock) -> str:
    ranges = list(sentences(text, block.start, block.end))[:OPENING_SENTENCES]
    return text[ranges[0][0] : ranges[-1][1]][:OPENING_CHARS]


def _closing(text: str, block: TextBlock) -> str:
    return text[max(block.start, block.end - CLOSING_CHARS) : block.end]
