"""Finds standing orders in a message that others may have given: by their place, in whatever language.

Rule 1: pure; the words beside an order decide by what they are not: no order, no sentence about the user.
Rule 2: an order that speaks of the user is theirs, and what is no order is judged elsewhere.
"""
# ruff: noqa: RUF001  # marks of many languages are the subject here

from collections.abc import Iterator, Sequence
from typing import Final

from promt.documents import SMALL_TALK
from promt.handing_over import ALWAYS, COLON, HANDING_CHARS, HEADS_ORDER, KEEPS, compile_works
from promt.layout import LIST_MARK, WORD, Span, TextBlock, blocks_of, sentences
from promt.patterns import compile_late
from promt.speaker import is_about_user

FEW_WORDS: Final = 4
"""As many words of a last line, and twice as many of a first one, may ask for work on what stands beside them."""

_ENDS_SAYING = (".", "!", "…", "。", "！", ")")
_SEPARATES = compile_late(r"[,;，；、]")


def find_led_on(text: str) -> list[Span]:
    """Return the paragraphs or lines below words, or above a few, that neither speak of the user nor order anything.

    What stands there is likelier a text than an order of the user, in whatever language: a page needs no more than
    "reply" above it.
    """
    return _find_led_on(text, [block for block in blocks_of(text, []) if not block.is_formed])


def _find_led_on(text: str, prose: Sequence[TextBlock]) -> list[Span]:
    if not prose:
        return []
    first, last = prose[0], prose[-1]
    if len(prose) > 1 and _leads_on(text, first):
        return [(one.start, one.end) for one in prose[1:]]
    line = text.find("\n", first.start, first.end)
    is_list = LIST_MARK.match(text, line + 1) is not None
    if line > 0 and not is_list and _leads_on(text, first._replace(end=line), 2 * FEW_WORDS):
        return [(line + 1, last.end)]
    line = text.rfind("\n", last.start, last.end) + 1 or last.start
    if line > first.start and _leads_on(text, last._replace(start=line), FEW_WORDS):
        return [*((one.start, one.end) for one in prose[:-1]), *([(last.start, line)] if line > last.start else [])]
    return []


def _leads_on(text: str, block: TextBlock, words: int = HANDING_CHARS) -> bool:
    """Return whether a short stretch may ask for work on what stands beside it, whatever its words."""
    said = text[block.start : block.end]
    if len(said) > HANDING_CHARS or len(WORD.findall(said)) > words or SMALL_TALK.fullmatch(said):
        return False
    is_told = said.endswith(_ENDS_SAYING) and is_about_user(said) and compile_works().search(said) is None
    return not (is_told or ALWAYS.search(said))


def _find_headed(text: str, block: TextBlock) -> Iterator[Span]:
    """Yield what stands in a sentence behind a colon and words that head no order of one's own, as a name does.

    A list is one of wishes.
    """
    for start, end in sentences(text, block.start, block.end):
        colon = COLON.search(text, start, min(end, start + HANDING_CHARS))
        if colon is None:
            continue
        head = text[start : colon.start()]
        is_list = len(_SEPARATES.findall(text, colon.end(), end)) > 1
        if not (is_list or any(known.search(head) for known in (KEEPS, HEADS_ORDER, ALWAYS))):
            yield colon.end(), end


def find_orders_of_others(text: str, prose: Sequence[TextBlock]) -> list[Span]:
    """Return the orders for good beside words that lead to a text, or behind a name and a colon."""
    headed = [one for block in prose for one in _find_headed(text, block)]
    return [
        one
        for one in [*_find_led_on(text, prose), *headed]
        if ALWAYS.search(text[slice(*one)]) and not is_about_user(text[slice(*one)])
    ]
