"""The budget of shown chunks: the floor, the number, the snippet, the room.

Rule 1: pure. A chunk that does not fit is skipped; later ones may fit.
Rule 2: a caller's own floor is strict; the floor of the settings leaves at least `min_results`.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Struct

from protocol.base import DEFAULT_LIMIT
from protocol.settings import ThreadEpisodicSettings
from retrieval.chunking import split_sentences

_LEAST_CUT = 0.6  # a snippet is cut at a blank only in its last two fifths, so that text without blanks is not lost


class Floor(NamedTuple):
    """The least score of a hit, and the number of best hits that are shown whatever their score."""

    score: float
    kept: int
    meant: float | None = None
    """The least score where the query has a vector, if it is another one: scores by words and meaning are lower."""

    def in_force(self, *, has_meaning: bool) -> "Floor":
        """Return the floor of a search with a vector or without."""
        return Floor(self.score if self.meant is None or not has_meaning else self.meant, self.kept)


class Snippet(Struct, frozen=True):
    """A part of a chunk, or all of it."""

    text: str
    is_whole: bool


def floor_of(settings: ThreadEpisodicSettings, asked: float | None) -> Floor:
    """Return the floor in force."""
    return Floor(settings.min_relevancy, settings.min_results) if asked is None else Floor(asked, 0)


def most_hits(settings: ThreadEpisodicSettings, limit: int) -> int:
    """Return the greatest number of hits: the asked one; where that is the default, the setting if it is less."""
    return limit if limit != DEFAULT_LIMIT else min(limit, settings.default_max_candidates)


def room_of(settings: ThreadEpisodicSettings, asked: int | None) -> int:
    """Return how many characters the snippets may have together."""
    return min(settings.default_prompt_chars if asked is None else asked, settings.max_prompt_chars)


def cut_at_word(text: str, max_chars: int) -> str:
    """Return the beginning of the text within that many characters, cut between words where there is a blank."""
    head = text[:max_chars]
    if len(text) <= max_chars or text[max_chars].isspace():
        return head.rstrip()
    blank = head.rfind(" ")
    return (head[:blank] if blank >= max_chars * _LEAST_CUT else head).rstrip()


def snippet_of(text: str, max_chars: int, weigh: Callable[[str], float]) -> Snippet:
    """Return the run of sentences that weighs most within `max_chars`; the first of equals."""
    whole = text.strip()
    if len(whole) <= max_chars:
        return Snippet(whole, is_whole=True)
    sentences = split_sentences(text)
    weights = [weigh(text[start:end]) for start, end in sentences]
    best, best_weight = 0, -1.0
    for first, (start, _) in enumerate(sentences):
        weight = weights[first]
        for (_, end), more in zip(sentences[first + 1 :], weights[first + 1 :], strict=True):
            if end - start > max_chars:
                break
            weight += more
        if weight > best_weight and text[start : sentences[first][1]].strip():
            best, best_weight = first, weight
    return Snippet(_run_from(text, sentences[best:], max_chars, weigh), is_whole=False)


def _run_from(text: str, sentences: Sequence[tuple[int, int]], max_chars: int, weigh: Callable[[str], float]) -> str:
    """Return the sentences that fit; of one that is too long by itself, the window that weighs most."""
    start, end = sentences[0]
    if end - start > max_chars:
        step = max(1, max_chars // 2)
        places = range(start, max(start + 1, end - step), step)
        start = max(places, key=lambda place: (weigh(text[place : min(end, place + max_chars)]), -place))
        if start > sentences[0][0]:
            blank = text.find(" ", start, start + step)
            start = blank + 1 if blank >= 0 else start
        return cut_at_word(text[start:end], max_chars).strip()
    for _, following in sentences[1:]:
        if following - start > max_chars:
            break
        end = following
    return text[start:end].strip()
