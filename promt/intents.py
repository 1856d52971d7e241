"""Finds what a message asks of memory, by the phrases of its language.

Rule 1: the phrases are data (`[intents]` of the languages), and `phrases` finds them.
Rule 2: only the user's own words speak for the user; a wish that nothing be kept counts at the edges of any message,
too, whose words these may be.
Rule 3: pure.
"""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from promt.handing_over import BEGINS_QUESTION, COLON, KEEPS
from promt.language.reader import words_of_grammar
from promt.layout import Span, sentences
from promt.lookalikes import read_alike
from promt.own_words import edges, only_own, own_stretches, own_words
from promt.patterns import compile_late
from promt.phrases import Clauses, LanguagePhrases, list_language_phrases, occurs, read_clauses
from promt.speaker import is_about_user

TELLING_CHARS: Final = 600
TELLING_SENTENCES: Final = 8
"""A message that tells so much may ask that one thing be not kept; in a shorter one the wish is for all of it."""
POINTING_CHARS: Final = 40
"""A longer message says more than "Forget that."."""
SAID_AGAIN: Final = 2
"""A sentence elsewhere that shares so many words of its subject with what is not to be kept says it again."""
STEM_CHARS: Final = 6
"""The first letters by which words are compared, whatever their endings."""
SAID_WORDS: Final = 3
"""A last sentence that is shorter says good-bye."""
ASKED_AGAIN: Final = 16
"""Messages whose intents are cached: a turn asks for its own several times."""
_READING = threading.Lock()
"""Held while a message is read: of turns that come at once, one reads and compiles the phrases of a language."""
_YIELDS_TO: Final[dict[str, tuple[str, ...]]] = {
    "no_save": (),
    "forget": ("no_save",),
    "no_recall": ("no_save", "forget"),
    "remember": ("no_save", "forget"),
    "history": (),
    "asks": (),
}
"""The intents in the order they are sought, each with those it yields to: "keep it out of your memory" states one."""
_NOT_STEERING: Final = "not_steering"
"""The list of talk that steers nothing though it has the words: other people's sayings, texts to write, programs,
machines."""
_STEERING: Final = frozenset(("no_save", "no_recall", "remember", "forget"))

_TELLING = compile_late(r"[^\W\d_\u3040-\u9fff]{3,}|[\u30a0-\u30ff]{2,}|[\u4e00-\u9fff]{2,}")


class Intents(NamedTuple):
    """The intents about memory that a message states in its own words, and its language."""

    no_save: bool = False
    no_recall: bool = False
    remember: bool = False
    forget: bool = False
    refers_to_history: bool = False
    asks_memory: bool = False
    language: str | None = None
    unsaved: tuple[Span, ...] = ()
    """Ranges of a long message that alone are not to be kept."""
    points_back: bool = False
    """A short message says by a phrase of forgetting what else means "never mind": it is for what was just shown."""


def says(text: str, subject: Literal["artifact", "files", "hints"]) -> bool:
    """Return whether the message speaks of a subject.

    `artifact`: it names a file of the conversation. `files`: it asks for the user's notes, documents or code. `hints`:
    it hints at the past without saying what of it.
    """
    with _READING:
        return _is_said(subject, read_clauses(text))


def _is_said(intent: str, text: Clauses, *others: str) -> bool:
    """Return whether the intent is said in any language, outside of the phrases of the others."""
    return any(occurs(language, intent, text, *others) for language in list_language_phrases() if language.may_be(text))


def detect(text: str) -> Intents:
    """Return the wishes of a message for memory; all false for a message that asks nothing."""
    with _READING:
        return _detect(text)


def _denies_keeping(text: str) -> bool:
    """Return whether words that may be the user's own ask to keep nothing, which only takes away."""
    return _is_said("no_save", read_clauses(text), _NOT_STEERING)


@lru_cache(maxsize=ASKED_AGAIN)
def _detect(text: str) -> Intents:
    text = read_alike(text)
    own = only_own(text)
    folded = read_clauses(own)
    said, found = Counter[str](), set[str]()
    for language in list_language_phrases():
        if language.may_be(folded):
            intents = _find_intents(language, folded)
            found.update(intents)
            said[language.name] += len(intents)
    apart = _find_unsaved(text) if "no_save" in found else ()
    if apart:
        found.remove("no_save")
    elif "no_save" not in found and own != text and not is_about_user(own) and _denies_keeping(edges(text)):
        found.add("no_save")
    return Intents(
        no_save="no_save" in found,
        no_recall="no_recall" in found,
        remember="remember" in found and not found & {"no_save", "no_recall"},
        forget="forget" in found,
        refers_to_history="history" in found and "no_recall" not in found,
        asks_memory="asks" in found,
        language=next((name for name, count in said.most_common(1) if count), None),
        unsaved=apart,
        points_back=not found and len(own.strip()) <= POINTING_CHARS and _is_said("forget", folded),
    )


def _find_intents(language: LanguagePhrases, text: Clauses) -> list[str]:
    """Return the intents that a text states in a language, those left out that yield to another one of it."""
    heard: list[str] = []
    for intent, stronger in _YIELDS_TO.items():
        others = [other for other in stronger if other in heard]
        if occurs(language, intent, text, *others, *([_NOT_STEERING] if intent in _STEERING else [])):
            heard.append(intent)
    return heard


def keep_savable(text: str, material: Sequence[Span] = ()) -> list[str]:
    """Return the user's own words that may be kept, stretch by stretch."""
    return own_stretches(text, [*material, *find_unsavable(text)])


def find_unsavable(text: str) -> list[Span]:
    """Return the ranges of the user's own words that nothing is kept of, often none.

    They are what their user asks not to keep, and what a question after the past repeats behind a colon.
    """
    return [*find_unsaved(text), *_find_repeated(text)]


def _find_repeated(text: str) -> Iterator[Span]:
    """Yield what a question after the past repeats behind its colon."""
    for start, end in own_words(text) if COLON.search(text) else ():
        for first, until in sentences(text, start, end):
            colon = COLON.search(text, first, until)
            if colon is not None and BEGINS_QUESTION.match(text, first, colon.start()) is not None:
                asked = detect(text[first : colon.start()])
                if (asked.refers_to_history or asked.asks_memory) and not asked.remember:
                    yield colon.end(), end
                    break


def find_unsaved(text: str) -> tuple[Span, ...]:
    """Return the ranges of a long message that alone its user asks not to keep, in order; often none."""
    return detect(text).unsaved if len(text) >= TELLING_CHARS else ()


def _find_unsaved(text: str) -> tuple[Span, ...]:
    """Return the ranges of a long message that alone are not to be kept: sentences that say so, with both neighbours.

    There is none where no sentence says so, and where the wish is for all of the message: at its beginning or its end,
    or of everything.
    """
    if len(text) < TELLING_CHARS:
        return ()
    said = [span for start, end in own_words(text) for span in sentences(text, start, end)]
    while said and len(text[slice(*said[-1])].split()) < SAID_WORDS and text[slice(*said[-1])].isascii():
        said.pop()
    if len(said) < TELLING_SENTENCES:
        return ()
    denied = [at for at, (start, end) in enumerate(said) if _denies_keeping(text[start:end])]
    if any(at in {0, 1, len(said) - 1} or _is_of_everything(text[slice(*said[at])]) for at in denied):
        return ()
    apart = {near for at in denied for near in (at - 1, at, at + 1)}
    matter = set[str]().union(*(_telling_words(text[slice(*said[at])]) for at in apart))
    apart |= {at for at, span in enumerate(said) if len(matter & _telling_words(text[slice(*span)])) >= SAID_AGAIN}
    return tuple(said[at] for at in sorted(apart))


def _telling_words(sentence: str) -> set[str]:
    """Return the first `STEM_CHARS` letters of the words that say what a sentence is about."""
    known = words_of_grammar()
    words = (word.casefold() for word in _TELLING.findall(sentence) if not KEEPS.fullmatch(word))
    return {word[:STEM_CHARS] for word in words if word not in known}


def _is_of_everything(said: str) -> bool:
    """Return whether a sentence speaks of all that is said; in a language that has no words for that it always may."""
    folded = read_clauses(said)
    spoken = [language for language in list_language_phrases() if language.may_be(folded)]
    heard = [language for language in spoken if occurs(language, "no_save", folded)]
    return any(not language.names_everything or occurs(language, "of_everything", folded) for language in heard)
