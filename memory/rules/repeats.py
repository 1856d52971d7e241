"""Finds sentences that only repeat another speaker: a tool, or the assistant of an imported conversation.

Rule 1: pure. Words in a row count, however the sentence around them introduces them.
Rule 2: an order is short, so that few of its words are enough; a fact may by chance share some with any page.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from memory.rules.claim_words import OBLIGES, fold_quote
from promt.patterns import compile_late

ORDER_WORDS: Final = 4
FACT_WORDS: Final = 7
"""The fewest words in a row that make a repetition: with a word of duty among them, and without."""
UNSPACED_TIMES: Final = 2
"""Characters of a word in a script without blanks, about."""
HEARD_TEXTS: Final = 200
"""The most texts of others, the newest first, that a sentence is compared with."""
HEARD_CHARS: Final = 200_000
"""The most characters of each of them that are compared."""

_TOKEN: Final = compile_late("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]|[^\\W_]+")


def repeats(said: str, heard: Iterable[str]) -> bool:
    """Return whether a sentence repeats one of the texts of others, each given as `fold_heard` returns it."""
    runs = list(_runs(_TOKEN.findall(fold_quote(said))))
    if not runs:
        return False
    return any(f" {run} " in text for text in heard for run in runs)


def fold_heard(text: str) -> str:
    """Return a text of others as `repeats` compares it: its folded words between blanks."""
    return f" {' '.join(_TOKEN.findall(fold_quote(text[:HEARD_CHARS])))} "


def _runs(tokens: list[str]) -> Iterator[str]:
    """Yield the runs of words that are long enough to make a repetition."""
    times = UNSPACED_TIMES if all(len(token) == 1 for token in tokens) else 1
    for size, needs_duty in ((ORDER_WORDS * times, True), (FACT_WORDS * times, False)):
        for start in range(len(tokens) - size + 1):
            run = " ".join(tokens[start : start + size])
            if not needs_duty or OBLIGES.search(run) or OBLIGES.search(run.replace(" ", "")):
                yield run
