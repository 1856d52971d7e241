"""Compares claims with the user's own words: a claim is kept only as far as its quote supports it.

Rule 1: pure. A quote counts where it stands in the user's own words, and is long enough to be a statement.
Rule 2: with words that stand neither in its quote nor in any retelling (`claim_words`) it is not the user's claim.
Rule 3: a claim of a category that a model obeys is kept in the user's sentence, never as it was retold.
"""
# ruff: noqa: RUF001  # words of many languages are the subject here

import re
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any, Final, NamedTuple

from memory.extraction.rule_extraction import extract_statements
from memory.extraction.unspaced import UNSPACED
from memory.rules.categories import OBEYED
from memory.rules.claim_words import (
    CLAUSE_MARK,
    OBLIGES,
    adds_words,
    count_true_denials,
    fold_quote,
    is_of_another,
    is_within,
    rests_on,
    says_the_same,
    shares_words,
    telling_terms,
    turns_of,
)
from memory.rules.hygiene import FRAGMENT, NOBODY, find_junk
from promt.handing_over import BEGINS_QUESTION
from promt.intents import detect, keep_savable
from promt.language.reader import either
from promt.layout import sentences
from promt.own_words import ASKED_AGAIN
from promt.patterns import compile_late
from promt.speaker import is_about_user
from protocol.memory.values import ReasonCode
from protocol.record import Category
from protocol.seams.ports import Lexicon

MIN_TERMS: Final = 4
"""The fewest terms of a quote that is long enough by itself."""
MIN_UNSPACED_CHARS: Final = 8
"""The fewest characters of such a quote in a script without blanks."""
MIN_PART: Final = 2
"""The fewest terms of a quote that points to its sentence, which is then kept as it was said."""
MIN_WORDS: Final = 3
"""The fewest words of a quote about the user that only begins a clause."""
MAX_SENTENCES: Final = 4
"""The most sentences that a quote runs over; a fact is a sentence or two."""
MAX_BEFORE: Final = 8
"""The most sentences before one that are kept with it to tell who "he" is."""
MAX_SAID_CHARS: Final = 1200
"""A longer sentence is not kept as it was said: it is no fact."""
ALIKE: Final = 0.84
"""The least ratio of `SequenceMatcher` at which a sentence is taken for the source of a quote that stands nowhere: a
model mends spelling where it copies."""

_LEADS_UP: Final = compile_late(lambda: rf"(?:{either('quotes', 'leads_up')})\W*$")
"""Ends a statement that a question follows in the same sentence."""
_CLAUSE_END: Final = ".!。！ "
_GOES_ON: Final = ",;，；、 "
"""Marks at the end of a clause that was copied out of its sentence."""
_STOP: Final = compile_late(r"(?<=[.!?])\s+")
_LABEL: Final = compile_late(r"[:：–—]|^[ \t]*(?:[-*•・·]|\[[ xX]?\]|\(?\d{1,2}[.)])", re.MULTILINE)


class Claim(NamedTuple):
    """A claim about the user as a model proposes it."""

    content: str
    value: Any
    category: Category
    quote: str
    """The user's words that it rests on."""


class SupportedClaim(NamedTuple):
    """The part of a claim that the user's words support."""

    content: str
    value: Any
    quote: str
    sentence: str
    """The whole sentence of the user that holds the quote."""
    is_as_said: bool = False
    """The content is words of the user, not the claim's."""
    is_picked: bool = False
    """The claim said more than its sentence, so that nothing of it is the user's but the choice of the sentence."""


@lru_cache(maxsize=ASKED_AGAIN)  # each claim of a turn asks for the same message several times
def _savable(text: str) -> tuple[str, ...]:
    """Return the stretches of a message that are the user's own words and may be kept."""
    return tuple(keep_savable(text))


def find_sentence(quote: str, text: str) -> str | None:
    """Return the fewest whole sentences of the user's own words in the text that hold the quote, or None."""
    wanted = fold_quote(quote)
    for stretch in _savable(text):
        if not wanted or wanted not in fold_quote(stretch):
            continue
        ranges = list(sentences(stretch))
        for count in range(1, MAX_SENTENCES + 1):
            for first in range(len(ranges) - count + 1):
                said = stretch[ranges[first][0] : ranges[first + count - 1][1]]
                if wanted in fold_quote(said):
                    return said
    return None


def find_support(claim: Claim, text: str, lexicon: Lexicon) -> SupportedClaim | ReasonCode:
    """Return the part of a proposed fact that the user's message supports, or the reason why there is none.

    A fact about a "he" or "it" that it does not name is kept with the user's sentences before it; one that is cut off,
    as its whole sentence.
    """
    supported = _judge_support(claim._replace(content=claim.content.rstrip(_GOES_ON)), text, lexicon)
    junk = find_junk(supported.content) if isinstance(supported, SupportedClaim) else None
    if not isinstance(supported, SupportedClaim) or junk is None or junk.name not in {NOBODY, FRAGMENT}:
        return supported
    said = _with_antecedent(supported.sentence, text) if junk.name == NOBODY else supported.sentence
    return supported._replace(content=said, value=None, sentence=said, is_as_said=True)


def _judge_support(claim: Claim, text: str, lexicon: Lexicon) -> SupportedClaim | ReasonCode:
    """Return the supported part of a claim by itself, or the reason why there is none."""
    sentence = find_sentence(claim.quote, text)
    if sentence is None:
        return _find_copied_sentence(claim, text, lexicon)
    if not (_is_statement(claim.quote, sentence, lexicon) or detect(sentence).remember):
        is_told = len(lexicon.index_terms(claim.quote)) >= MIN_PART and _is_statement(sentence, sentence, lexicon)
        return (
            _pick_sentence(claim, sentence, lexicon)
            if is_told and not adds_words(claim.content, sentence, lexicon)
            else "quote_too_short"
        )
    if adds_words(claim.content, sentence, lexicon):
        if detect(sentence).remember:
            return _as_said(claim, sentence, lexicon)
        return (
            _pick_sentence(claim, sentence, lexicon) if rests_on(claim.content, sentence, lexicon) else "beyond_quote"
        )
    is_obeyed = claim.category in OBEYED or OBLIGES.search(claim.content) is not None
    denials = {count_true_denials(claim.quote), count_true_denials(sentence)}
    is_turned = turns_of(claim.content) != turns_of(claim.quote) or len(denials) > 1
    if is_obeyed and _asks_after(claim.quote, sentence) and not _is_clause(claim.quote, sentence):
        return "beyond_quote"  # it asks about the order of another: "the page says always to …, is that so?"
    if is_obeyed or is_turned or is_of_another(claim.content, sentence):
        return _as_said(claim, sentence, lexicon)
    value = claim.value if is_within(claim.value, sentence, lexicon) else None
    return SupportedClaim(claim.content, value, claim.quote, sentence)


def find_support_of_wish(claim: Claim, text: str, lexicon: Lexicon) -> SupportedClaim | None:
    """Return the part that the user's message supports of a claim which it asks to keep; None where there is none.

    It is the claim where that says the same as the message, else the user's sentence as it was said.
    """
    quote = claim.quote or _sentence_like(claim.content, text, lexicon)
    sentence = find_sentence(quote, text) if quote else None
    if sentence is None and quote and fold_quote(quote) not in fold_quote(text):
        sentence = near_sentence(quote, text)
        quote = sentence or quote
    if sentence is None or not (_is_statement(quote, sentence, lexicon) or _asks_to_keep(quote, sentence, lexicon)):
        return None
    if not (shares_words(claim.content, sentence, lexicon) or detect(sentence).remember):
        return None  # the message is about something else
    if (
        claim.category in OBEYED
        or is_of_another(claim.content, sentence)
        or not says_the_same(claim.content, sentence, lexicon)
    ):
        return _as_said(claim._replace(quote=quote), sentence, lexicon)
    value = claim.value if is_within(claim.value, sentence, lexicon) else None
    return SupportedClaim(claim.content, value, quote, sentence)


def near_sentence(quote: str, text: str) -> str | None:
    """Return the most similar sentence of the user's own words, from the ratio `ALIKE` on, or None."""
    wanted = fold_quote(quote)
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    best, found = ALIKE, None
    for stretch in _savable(text):
        for start, end in sentences(stretch):
            said = stretch[start:end]
            if abs(end - start - len(wanted)) * 2 > len(wanted) or len(said) > MAX_SAID_CHARS:
                continue
            matcher.set_seq1(fold_quote(said))
            if matcher.real_quick_ratio() >= best and matcher.quick_ratio() >= best and matcher.ratio() >= best:
                best, found = matcher.ratio(), said
    return found


def as_said_category(category: Category, supported: SupportedClaim) -> Category:
    """Return the category of the words that are kept of a claim.

    It is the proposed one, or `custom` where a model would obey that and the user's sentence orders nothing.
    """
    if not supported.is_as_said or category not in OBEYED:
        return category
    stated = {fact.semantic.category for fact in extract_statements({"": supported.sentence})}
    return category if stated & OBEYED or OBLIGES.search(supported.sentence) else "custom"


def _find_copied_sentence(claim: Claim, text: str, lexicon: Lexicon) -> SupportedClaim | ReasonCode:
    """Return the sentence that a quote copies with small differences, or the reason why it supports nothing."""
    if fold_quote(claim.quote) in fold_quote(text):
        return "not_own_words"
    sentence = near_sentence(claim.quote, text)
    if sentence is None or not (_is_statement(sentence, sentence, lexicon) or detect(sentence).remember):
        return "quote_not_found"
    return _pick_sentence(claim._replace(quote=sentence), sentence, lexicon)


def _pick_sentence(claim: Claim, sentence: str, lexicon: Lexicon) -> SupportedClaim:
    """Return the sentence as it was said, of which the claim is only the choice."""
    return _as_said(claim, sentence, lexicon)._replace(is_picked=True)


def _asks_after(quote: str, sentence: str) -> bool:
    """Return whether a sentence goes on to ask after the clause that was quoted, and does not ask to keep it."""
    return _is_question(sentence) and not _is_question(quote) and not detect(sentence).remember


def _is_question(text: str) -> bool:
    """Return whether a text ends with a question mark, perhaps within quotation marks or parentheses."""
    return text.rstrip("\"”»') ").endswith(("?", "？"))


def _as_said(claim: Claim, sentence: str, lexicon: Lexicon) -> SupportedClaim:
    """Return the user's sentence in place of a claim's words; only its quote where the sentence is long, or asks."""
    is_part = _asks_after(claim.quote, sentence) or len(sentence) > MAX_SAID_CHARS
    is_order = claim.category in OBEYED or OBLIGES.search(sentence) is not None
    all_said = sentence if is_order else _without_request(sentence, lexicon)
    said = claim.quote if is_part else all_said
    return SupportedClaim(said, None, claim.quote, sentence, is_as_said=True)


def _without_request(sentence: str, lexicon: Lexicon) -> str:
    """Return the statement within a request to keep it, where the rules find a whole one; else the sentence."""
    if not detect(sentence).remember:
        return sentence
    stated = (fact.content for fact in extract_statements({"": sentence}))
    return next((said for said in stated if says_the_same(said, sentence, lexicon)), sentence)


def _with_antecedent(sentence: str, text: str) -> str:
    """Return the sentence after as many of the user's sentences before it as tell who "he" or "it" is."""
    before: list[str] = []
    for stretch in _savable(text):
        place = stretch.find(sentence)
        before += [stretch[start:end] for start, end in sentences(stretch, 0, place if place >= 0 else None)]
        if place < 0:
            continue
        for count in range(1, min(len(before), MAX_BEFORE) + 1):
            said = " ".join([*before[-count:], sentence])
            junk = find_junk(said)
            if junk is None or junk.name != NOBODY:
                return said
        break
    return sentence


def _states(question: str, quote: str) -> bool:
    """Return whether a question states something, too: "I live in Graz, any tips?".

    A clause about the user does, and a quote that ends before a clause begins to ask: "The course moved to Friday,
    does that collide?".
    """
    clauses = CLAUSE_MARK.split(question)
    wanted = fold_quote(quote)
    if any(wanted and wanted in fold_quote(clause) and _LEADS_UP.search(clause) for clause in clauses[:-1]):
        return True
    if any(is_about_user(clause) and not BEGINS_QUESTION.match(clause) for clause in clauses):
        return True
    asks = next((at for at, clause in enumerate(clauses) if BEGINS_QUESTION.match(clause)), 0)
    return bool(asks and wanted) and fold_quote(question).find(wanted) + len(wanted) <= len(
        fold_quote(", ".join(clauses[:asks]))
    )


def _asks_to_keep(quote: str, sentence: str, lexicon: Lexicon) -> bool:
    """Return whether a question is a polite wish: "can you remember that …?"."""
    return _is_long(quote, sentence, lexicon) and detect(sentence).remember


def _is_statement(quote: str, sentence: str, lexicon: Lexicon) -> bool:
    """Return whether the quote is long enough, and its sentence is no mere question."""
    wanted = fold_quote(quote)
    said = next((part for part in _STOP.split(sentence) if wanted in fold_quote(part)), sentence)
    return _is_long(quote, sentence, lexicon) and (not _is_question(said) or _states(said, quote))


def _is_long(quote: str, sentence: str, lexicon: Lexicon) -> bool:
    """Return whether the quote has enough words, or is all of its sentence, perhaps after a label.

    A clause about the user, or one that obliges, is long enough, too.
    """
    unspaced = sum(map(len, UNSPACED.findall(quote)))
    if unspaced >= MIN_UNSPACED_CHARS or (not unspaced and len(lexicon.index_terms(quote)) >= MIN_TERMS):
        return True
    wanted = fold_quote(quote)
    ends = [0, *(found.end() for found in _LABEL.finditer(sentence))]
    if any(wanted == fold_quote(sentence[end:]) for end in ends):
        return True
    is_meant = is_about_user(quote) or OBLIGES.search(quote) is not None
    return is_meant and (_is_clause(quote, sentence) or _begins_clause(quote, sentence))


def _begins_clause(quote: str, sentence: str) -> bool:
    """Return whether a clause begins with a quote of at least `MIN_WORDS`, as "I'm a lefty, you know" does."""
    wanted = fold_quote(quote)
    is_some = len(wanted.split()) >= MIN_WORDS or UNSPACED.search(wanted) is not None
    return is_some and any(fold_quote(clause).startswith(wanted) for clause in CLAUSE_MARK.split(sentence))


def _is_clause(quote: str, sentence: str) -> bool:
    """Return whether a quote is all of what stands between two marks of its sentence."""
    wanted = fold_quote(quote).rstrip(_CLAUSE_END)
    return any(wanted == fold_quote(clause).rstrip(_CLAUSE_END) for clause in CLAUSE_MARK.split(sentence))


def _sentence_like(content: str, text: str, lexicon: Lexicon) -> str:
    """Return the user's sentence that a claim without a quote rests on: the first that holds all of it.

    Else it is the first that asks to keep some of it; "" where there is none.
    """
    said = [stretch[start:end] for stretch in _savable(text) for start, end in sentences(stretch)]
    holding = (one for one in said if telling_terms(content, lexicon) and not adds_words(content, one, lexicon))
    asking = (one for one in said if shares_words(content, one, lexicon) and detect(one).remember)
    return next(holding, None) or next(asking, "")
