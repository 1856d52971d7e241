"""Compares claims with the user's own words: a quote stands for nothing but what it says.

Rule 1: pure. A quote counts where it stands in the user's own words, and is long enough to be a statement.
Rule 2: a claim may lack words of its quote and add those that any telling adds; with more it is somebody else's claim.
Rule 3: what a model obeys is kept as it was said, never as it was retold.
"""
# ruff: noqa: RUF001  # words of many languages are the subject here

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple, cast

from memory.extraction.rule_extraction import extract_statements
from memory.extraction.unspaced import UNSPACED, pieces_of
from memory.rules.categories import OBEYED
from memory.rules.hygiene import FRAGMENT, NOBODY, find_junk
from memory.rules.identity import fold_text
from memory.rules.same_words import denials_in, figures_in
from promt.handing_over import BEGINS_QUESTION, KEEPS, begins_request
from promt.intents import detect, keep_savable
from promt.language.reader import either, list_words, whole
from promt.layout import sentences
from promt.own_words import ASKED_AGAIN
from promt.patterns import compile_late
from promt.speaker import is_about_user
from protocol.memory.values import ReasonCode
from protocol.record import Category
from protocol.saying import TYPOGRAPHY
from protocol.seams.ports import Lexicon

MIN_TERMS: Final = 4
MIN_UNSPACED_CHARS: Final = 8
MIN_PART: Final = 2
"""A quote of so many terms points to the sentence that it is a part of, and that is kept as it was said."""
MIN_WORDS: Final = 3
"""With so many words somebody says something of themselves, where these begin what they say."""
MAX_SENTENCES: Final = 4
"""A quote runs over so many sentences at most; a fact is a sentence or two."""
MAX_BEFORE: Final = 8
"""So many sentences before may be needed to tell who "he" is."""
MAX_SAID_CHARS: Final = 1200
"""A longer sentence is not kept as it was said: it is no fact."""
MAX_LEAVES: Final = 32  # parts of a value
ASKED_WORDS: Final = 12
"""So many words at a time are asked for their telling terms: the lexicon bounds a query."""
STEM_CHARS: Final = 4
ALIKE: Final = 0.84
"""A quote that stands nowhere is the sentence that is as like it as this: a model mends spelling where it copies."""
RESTED_ON: Final = 0.5
"""A claim whose words are half those of a sentence is about the same thing."""

OBLIGES: Final = compile_late(lambda: whole("quotes", "obliges"), re.IGNORECASE)
_TURNS: Final = compile_late(lambda: whole("quotes", "turns"), re.IGNORECASE)
"""Words without which a sentence says something else, though no index holds them."""
_OF_USER: Final = compile_late(
    lambda: rf"\b(?:{either('quotes', 'of_user', spaced=True)})|{either('quotes', 'of_user', spaced=False)}",
    re.IGNORECASE,
)
_WORD: Final = compile_late(r"\d+(?:[.,]\d+)+|[^\W_]+(?:['’][^\W_]+)*")
_POSSESSIVE: Final = compile_late("['’]s$")
_CLAUSE: Final = compile_late(r"[,;:，、；：—–]\s*")
_LEADS_UP: Final = compile_late(lambda: rf"(?:{either('quotes', 'leads_up')})\W*$")
"""Ends a statement that a question follows in the same sentence."""
_CLAUSE_END: Final = ".!。！ "
_GOES_ON: Final = ",;，；、 "
"""A clause that is copied out of its sentence brings its mark along; by itself it is whole."""
_STOP: Final = compile_late(r"(?<=[.!?])\s+")
_LABEL: Final = compile_late(r"[:：–—]|^[ \t]*(?:[-*•・·]|\[[ xX]?\]|\(?\d{1,2}[.)])", re.MULTILINE)
_REMINDER: Final = compile_late(lambda: either("quotes", "reminder"), re.IGNORECASE)
"""Asks that something be kept; the negation is not that of the fact."""


class Claim(NamedTuple):
    """Something said to be the user's: its words, its value, its category and the words that it rests on."""

    content: str
    value: Any
    category: Category
    quote: str


class Borne(NamedTuple):
    """The part of a claim that the user's words support, and the sentence it rests on, which may be kept as said."""

    content: str
    value: Any
    quote: str
    sentence: str
    is_as_said: bool = False
    is_picked: bool = False
    """The claim only chose the sentence: it said more, so that nothing else of it is the user's."""


def fold_quote(text: str) -> str:
    """Return a quote as it is looked for: NFKC, case, white space; typographic quotes and dashes as ASCII."""
    return fold_text(text.translate(TYPOGRAPHY))


@lru_cache(maxsize=ASKED_AGAIN)  # each claim of a turn asks several times of the same message
def _savable(text: str) -> tuple[str, ...]:
    """The user's own words that may be kept."""
    return tuple(keep_savable(text))


def find_sentence(quote: str, text: str) -> str | None:
    """Return the whole sentence, or few, of the user's own words in the text that hold the quote, or None."""
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


def bear_out(claim: Claim, text: str, lexicon: Lexicon) -> Borne | ReasonCode:
    """Return the part of a proposed fact that the user's message supports, or the reason why there is none.

    What would say something of a "he" or "it" alone is kept with the sentences before it, and what is cut off as its
    whole sentence.
    """
    borne = _judge_support(claim._replace(content=claim.content.rstrip(_GOES_ON)), text, lexicon)
    junk = find_junk(borne.content) if isinstance(borne, Borne) else None
    if not isinstance(borne, Borne) or junk is None or junk.name not in {NOBODY, FRAGMENT}:
        return borne
    said = _with_antecedent(borne.sentence, text) if junk.name == NOBODY else borne.sentence
    return borne._replace(content=said, value=None, sentence=said, is_as_said=True)


def _judge_support(claim: Claim, text: str, lexicon: Lexicon) -> Borne | ReasonCode:
    sentence = find_sentence(claim.quote, text)
    if sentence is None:
        return _nearest(claim, text, lexicon)
    is_asked = detect(sentence).remember
    if not _is_statement(claim.quote, sentence, lexicon) and not is_asked:
        is_told = len(lexicon.index_terms(claim.quote)) >= MIN_PART and _is_statement(sentence, sentence, lexicon)
        return (
            _pick_sentence(claim, sentence, lexicon)
            if is_told and not _adds(claim.content, sentence, lexicon)
            else "quote_too_short"
        )
    if _adds(claim.content, sentence, lexicon):
        if is_asked:
            return _as_said(claim, sentence, lexicon)
        return (
            _pick_sentence(claim, sentence, lexicon) if _rests_on(claim.content, sentence, lexicon) else "beyond_quote"
        )
    is_obeyed = claim.category in OBEYED or OBLIGES.search(claim.content) is not None
    is_turned = _turns_of(claim.content) != _turns_of(claim.quote) or _denials(claim.quote) != _denials(sentence)
    if is_obeyed and _asks_after(claim.quote, sentence) and not _is_clause(claim.quote, sentence):
        return "beyond_quote"  # a question after what others want: "the page says always to …, is that so?"
    if is_obeyed or is_turned or _is_of_another(claim.content, sentence):
        return _as_said(claim, sentence, lexicon)
    value = claim.value if _is_within(claim.value, sentence, lexicon) else None
    return Borne(claim.content, value, claim.quote, sentence)


def bear_out_wish(claim: Claim, text: str, lexicon: Lexicon) -> Borne | None:
    """Return the part of a wish that the user's message supports; None where there is none.

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
        return None  # of all the user said this says nothing
    if (
        claim.category in OBEYED
        or _is_of_another(claim.content, sentence)
        or not _says_the_same(claim.content, sentence, lexicon)
    ):
        return _as_said(claim._replace(quote=quote), sentence, lexicon)
    value = claim.value if _is_within(claim.value, sentence, lexicon) else None
    return Borne(claim.content, value, quote, sentence)


def near_sentence(quote: str, text: str) -> str | None:
    """Return the sentence of the user's own words that a quote copies with small differences, or None."""
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


def as_said_category(category: Category, borne: Borne) -> Category:
    """Return the category of the words that are kept for a wish.

    A category that a model obeys is given only where the user's sentence orders something.
    """
    if not borne.is_as_said or category not in OBEYED:
        return category
    stated = {fact.semantic.category for fact in extract_statements({"": borne.sentence})}
    return category if stated & OBEYED or OBLIGES.search(borne.sentence) else "custom"


def shares_words(words: str, text: str, lexicon: Lexicon) -> bool:
    """Return whether a telling word of `words` is in `text`."""
    known = {*lexicon.index_terms(text), *pieces_of(text)}
    return any(holds(term, known) for term in telling_terms(words, lexicon))


def _nearest(claim: Claim, text: str, lexicon: Lexicon) -> Borne | ReasonCode:
    """The sentence that a quote copies with small differences, as it was said."""
    if fold_quote(claim.quote) in fold_quote(text):
        return "not_own_words"
    sentence = near_sentence(claim.quote, text)
    if sentence is None or not (_is_statement(sentence, sentence, lexicon) or detect(sentence).remember):
        return "quote_not_found"
    return _pick_sentence(claim._replace(quote=sentence), sentence, lexicon)


def _pick_sentence(claim: Claim, sentence: str, lexicon: Lexicon) -> Borne:
    """The user's words alone."""
    return _as_said(claim, sentence, lexicon)._replace(is_picked=True)


def _asks_after(quote: str, sentence: str) -> bool:
    """Return whether a sentence goes on to ask after the clause that was quoted, and does not ask to keep it."""
    ends = tuple("?？")
    is_question = sentence.rstrip("\"”»') ").endswith(ends) and not quote.rstrip("\"”»') ").endswith(ends)
    return is_question and not detect(sentence).remember


def _rests_on(content: str, sentence: str, lexicon: Lexicon) -> bool:
    """Return whether a claim that says more only retells what its sentence states: of the user, or in half its words.

    With a number, denial or obligation of its own it is another claim; and a request states nothing of the user.
    """
    stating = [one for one in _CLAUSE.split(sentence) if not (BEGINS_QUESTION.match(one) or begins_request(one))]
    if _alters(content, sentence) or not stating:
        return False
    known = {*lexicon.index_terms(sentence), *pieces_of(sentence)}
    telling = telling_terms(content, lexicon)
    shared = sum(holds(term, known) or _is_mistyped(term, known) for term in telling)
    return shared > 0 and (any(map(is_about_user, stating)) or shared >= RESTED_ON * len(telling))


def _is_mistyped(term: str, known: set[str]) -> bool:
    """Return whether a known term is a longer word but for one letter."""
    return len(term) > STEM_CHARS and any(
        abs(len(other) - len(term)) <= 1 and _common(term, other) + _common(term[::-1], other[::-1]) >= len(term) - 1
        for other in known
        if len(other) > STEM_CHARS
    )


def _common(one: str, other: str) -> int:
    """Return how many letters two words begin with in common."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _as_said(claim: Claim, sentence: str, lexicon: Lexicon) -> Borne:
    is_part = _asks_after(claim.quote, sentence) or len(sentence) > MAX_SAID_CHARS
    is_order = claim.category in OBEYED or OBLIGES.search(sentence) is not None  # which is kept as it was said
    whole = sentence if is_order else _without_request(sentence, lexicon)
    said = claim.quote if is_part else whole
    return Borne(said, None, claim.quote, sentence, is_as_said=True)


def _without_request(sentence: str, lexicon: Lexicon) -> str:
    """Return what a sentence states without its request to keep that, as the rules read it; else the sentence."""
    if not detect(sentence).remember:
        return sentence
    stated = (fact.content for fact in extract_statements({"": sentence}))
    return next((said for said in stated if _says_the_same(said, sentence, lexicon)), sentence)


def _with_antecedent(sentence: str, text: str) -> str:
    """The sentence after those of the user before it, as far as they tell who "he" or "it" is."""
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


def _states(question: str, quote: str = "") -> bool:
    """Return whether a clause of a question states something of the user: "I live in Graz, any tips?".

    So does a quote that ends before a clause begins to ask: "The course moved to Friday, does that collide?".
    """
    clauses = _CLAUSE.split(question)
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
    """Return whether the quote is long enough, and no mere question: a question states nothing."""
    wanted = fold_quote(quote)
    said = next((part for part in _STOP.split(sentence) if wanted in fold_quote(part)), sentence)
    is_question = said.rstrip("\"”»') ").endswith(("?", "？"))
    return _is_long(quote, sentence, lexicon) and (not is_question or _states(said, quote))


def _is_long(quote: str, sentence: str, lexicon: Lexicon) -> bool:
    """Return whether the quote has enough words, or is all that stands between its sentence's label and end.

    A whole clause about the user, or one that obliges, is as good as a sentence.
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
    """Return whether a clause begins with a quote of some words: "I'm a lefty", and more words that tell little."""
    wanted = fold_quote(quote)
    is_some = len(wanted.split()) >= MIN_WORDS or UNSPACED.search(wanted) is not None
    return is_some and any(fold_quote(clause).startswith(wanted) for clause in _CLAUSE.split(sentence))


def _is_clause(quote: str, sentence: str) -> bool:
    """Return whether a quote is all of what stands between two marks of its sentence."""
    wanted = fold_quote(quote).rstrip(_CLAUSE_END)
    return any(wanted == fold_quote(clause).rstrip(_CLAUSE_END) for clause in _CLAUSE.split(sentence))


def _chunks(text: str) -> Iterator[list[str]]:
    words = _WORD.findall(text)
    for start in range(0, len(words), ASKED_WORDS):
        yield words[start : start + ASKED_WORDS]


def telling_terms(text: str, lexicon: Lexicon) -> list[str]:
    """Return the terms, in order, of the words that tell something: no function words, none that any telling adds.

    A word by itself shows no language, so that its stem may be known of its sentence alone.
    """
    found: list[str] = []
    for words in _chunks(UNSPACED.sub(" ", text)):
        asked = set(lexicon.query_terms(f"{_ANY} {' '.join(words)}"))
        for word in words:
            bare = _POSSESSIVE.sub("", word.casefold())
            if bare not in _list_added_words() and not KEEPS.fullmatch(word):
                terms = lexicon.index_terms(word)
                stems = [term for term in terms[:1] if term.startswith(tuple(one for one in asked if len(one) > 2))]
                found += [term for term in terms if term in asked] or stems
    return [*found, *sorted(pieces_of(text))]


_ANY: Final = "qzx"
"""A word that tells something, so that function words are dropped beside it."""


@cache
def _list_added_words() -> frozenset[str]:
    """Return the parts that a telling adds: who is meant, that somebody has a name, that a thing is liked or wanted."""
    return frozenset(list_words("quotes", "added"))


def holds(term: str, known: set[str]) -> bool:
    """Return whether a term is known, or one of the same stem: the ending belongs to the grammar."""
    if term in known:
        return True
    if not term.isalpha() or len(term) <= STEM_CHARS:
        return False
    stem = term[: max(STEM_CHARS, len(term) - 2)]
    return any(other.startswith(stem) and abs(len(other) - len(term)) <= STEM_CHARS - 1 for other in known)


def _adds(content: str, quote: str, lexicon: Lexicon) -> bool:
    """Return whether the content has a word, number, address, denial or obligation that the quote has not."""
    if fold_quote(content) in fold_quote(quote):
        return False
    known = {*lexicon.index_terms(quote), *pieces_of(quote)}
    return not all(holds(term, known) for term in telling_terms(content, lexicon)) or _alters(content, quote)


def _alters(content: str, quote: str) -> bool:
    """Return whether the content has a number, denial or obligation that the quote has not: it is another claim."""
    if not figures_in(content) <= figures_in(quote) or _denials(content) > _denials(quote):
        return True
    return OBLIGES.search(content) is not None and OBLIGES.search(quote) is None


def _is_of_another(content: str, sentence: str) -> bool:
    """Return whether the content states of the user what its sentence does not."""
    return _OF_USER.search(content) is not None and not (is_about_user(sentence) or _OF_USER.search(sentence))


def _denials(text: str) -> int:
    return denials_in(_REMINDER.sub(" ", text.replace("’", "'")))


def _turns_of(text: str) -> tuple[int, list[str]]:
    return _denials(text), sorted(found.casefold() for found in _TURNS.findall(text))


def _says_the_same(content: str, sentence: str, lexicon: Lexicon) -> bool:
    """Return whether the content states the whole sentence in its order, but for the request to keep it."""
    bare = _REMINDER.sub(" ", sentence.replace("’", "'"))
    return (
        telling_terms(content, lexicon) == telling_terms(bare, lexicon)
        and _turns_of(content) == _turns_of(bare)
        and figures_in(content) == figures_in(bare)
        and OBLIGES.findall(content.casefold()) == OBLIGES.findall(bare.casefold())
    )


def _sentence_like(content: str, text: str, lexicon: Lexicon) -> str:
    """The first own sentence that holds all that a claim without a quote says, else that asks to keep some of it.

    Or nothing.
    """
    said = [stretch[start:end] for stretch in _savable(text) for start, end in sentences(stretch)]
    whole = (one for one in said if telling_terms(content, lexicon) and not _adds(content, one, lexicon))
    asked = (one for one in said if shares_words(content, one, lexicon) and detect(one).remember)
    return next(whole, None) or next(asked, "")


def _is_within(value: Any, words: str, lexicon: Lexicon) -> bool:
    """Return whether a value, and the names in it, add nothing to the words."""
    leaves = list(_leaves(value))
    return (
        len(leaves) <= MAX_LEAVES
        and None not in leaves
        and not any(_adds(leaf or "", words, lexicon) for leaf in leaves)
    )


def _leaves(value: Any) -> Iterator[str | None]:
    """The texts, numbers and names of a value; None for what denies something."""
    match value:
        case None | True:
            return
        case False:
            yield None
        case dict():
            members = cast("Mapping[str, Any]", value)
            for name, part in members.items():
                yield name
                yield from _leaves(part)
        case list():
            for part in cast("Sequence[Any]", value):
                yield from _leaves(part)
        case _:
            yield str(value)
