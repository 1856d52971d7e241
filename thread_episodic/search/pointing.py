"""The ways in which a message points at an earlier conversation.

Its words that only point, the thread that it names, and hits that a known fact makes superfluous.

Rule 1: pure; terms, names and times come from outside.
Rule 2: a word that only points says nothing of what was said: it leaves the query. Where nothing else is left, the
newest that was said is the answer, and what sounds like a decision first where decisions are asked for.
"""

import re
from collections.abc import Collection, Mapping

from promt.language.reader import either
from promt.patterns import compile_late
from promt.time_words import TimeRange, fold
from protocol.thread_episodic import Understood
from retrieval.budget import cut_at_word
from retrieval.chunking import split_sentences

MAX_QUERY_CHARS = 256  # the contract's bound for a query of a plan
SAID_ALREADY = 0.75  # the share of the shorter text's terms that both have; the rest is a matter of wording
NAME_PART = 0.5  # the least share of a thread's name that names it: less is a word of any talk


def any_of(*keys: str) -> re.Pattern[str]:
    """Return the pattern of the words and phrases under some keys of `[talk]`, as whole words of a folded text."""
    return compile_late(lambda: rf"(?<!\w)(?:{'|'.join(either('talk', key) for key in keys)})(?!\w)")


_ASKS_FOR_DECISIONS = any_of("deciding")
_POINTING = any_of("deciding", "pointing")
"""Words that ask for what was said, and say nothing of it."""
_WORD = compile_late(r"\w+")


def query_of(text: str) -> str:
    """Return the message as a query: whole if it is short, else what it asks, else its beginning."""
    whole = text.strip()
    if len(whole) <= MAX_QUERY_CHARS:
        return whole
    asked = [text[start:end].strip() for start, end in split_sentences(text) if "?" in text[start:end]]
    return cut_at_word(asked[-1] if asked else whole, MAX_QUERY_CHARS)


def without_times(text: str, when: TimeRange | None) -> str:
    """Return the message without its time words: they say when it was said, not what."""
    kept: list[str] = []
    place = 0
    for start, end in when.spans if when is not None else ():
        kept.append(text[place:start])
        place = end
    return " ".join(" ".join((*kept, text[place:])).split())


def understood(text: str, when: TimeRange) -> Understood:
    """Return the time that a message names in the form of an answer."""
    said = ", ".join(text[start:end] for start, end in when.spans)
    return Understood(from_at=when.from_at, to_at=when.to_at, text=said)


def subject_of(text: str) -> str:
    """Return the message without the words that only point; empty where it has no others."""
    folded, kept, place = fold(text), list[str](), 0
    for found in _POINTING.finditer(folded):
        kept.append(text[place : found.start()])
        place = found.end()
    rest = " ".join("".join((*kept, text[place:])).split())
    return rest if _WORD.search(rest) else ""


def decisions_asked(text: str) -> str:
    """Return the words by which decisions are found, where the message asks for some."""
    return either("talk", "deciding").replace("|", " ") if _ASKS_FOR_DECISIONS.search(fold(text)) else ""


def find_named_thread(said: Collection[str], names: Mapping[str, Collection[str]]) -> str | None:
    """Return the thread that a message names, by its whole name or by the larger part of it; None without one.

    That part must belong to no other thread's name. `said` are the message's terms, `names` those of each thread's
    name.
    """
    parts = {thread: len({*said} & {*name}) / len({*name}) for thread, name in names.items() if name}
    best = max(parts.values(), default=0.0)
    found = [thread for thread, part in parts.items() if part == best]
    return found[0] if best >= NAME_PART and len(found) == 1 else None


def is_said_already(snippet: Collection[str], asked: Collection[str], facts: Collection[Collection[str]]) -> bool:
    """Return whether one of some facts states what a snippet does, and all that the snippet has of the question.

    All of them are given by their terms.
    """
    own = frozenset(snippet)
    held = own.intersection(asked)
    return any(
        len(own.intersection(fact)) >= SAID_ALREADY * min(len(own), len(fact)) and held.issubset(fact)
        for fact in map(frozenset, facts)
        if own and fact
    )
