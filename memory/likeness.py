"""Whether a statement is a fact that is known already, in other words.

Rule 1: pure. A wrong yes loses what the user said, a wrong no only keeps it twice: whatever is not understood is a no.
Rule 2: numbers, dates, names, negation and who does what to whom must agree; a sentence vector never outweighs them.
Rule 3: the cosine is of an English model: it is asked for words that say little, in English only.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from memory.identity import folded
from memory.likeness_joints import joins_otherwise
from memory.likeness_names import names_of
from memory.likeness_roles import other_roles
from memory.likeness_subject import voice_of
from memory.likeness_words import Words, languages
from memory.statement import Word, cut, split_words, symbols
from memory.statement_figures import Symbol
from memory.statement_reading import Item, as_sequence, read

MAX_CHARS: Final = 600
"""A fact is a sentence or two; a longer text is the same only where it is written the same."""
MAX_ITEMS: Final = 48
NEAR: Final = 0.45
"""From this cosine on a statement may have words more that say little."""


class Verdict(NamedTuple):
    """Whether two statements are one fact, and the rule that decided."""

    is_same: bool
    why: str


def is_same_fact(stored: str, said: str, cosine: float | None = None) -> Verdict:
    """Whether both say the same. `cosine` is that of their sentence vectors, None where there is no model."""
    if stored == said:
        return Verdict(is_same=True, why="same_text")
    if max(len(stored), len(said)) > MAX_CHARS:
        return Verdict(is_same=False, why="too_long")
    if folded(stored) == folded(said):
        return Verdict(is_same=True, why="same_text")
    one, other = cut(stored), cut(said)
    table = language_of(one, other)
    if table is None:
        return Verdict(is_same=False, why="unknown_language")
    is_asked = _is_asking(one, table) != _is_asking(other, table)
    if (
        one
        and other
        and table.name == "en"
        and (_tells_of_self(one, other, table) or _tells_of_self(other, one, table))
    ):
        return Verdict(is_same=False, why="stance")
    is_near = table.name == "en" and cosine is not None and cosine >= NEAR
    if joins_otherwise(one, other, table):
        return Verdict(is_same=False, why="relation")
    firsts, seconds = readings(one, other, table, is_asked=is_asked)
    terms = _Terms(table, is_near, is_asked, _is_planned(one) != _is_planned(other), (one, other))
    whys = [_difference(first, second, terms) for first in firsts for second in seconds]
    return Verdict(is_same=True, why="same_meaning") if None in whys else Verdict(is_same=False, why=whys[0] or "")


_TELLING: Final = 2
"""How many listed words tell the language of statements without any function word."""


def language_of(one: Sequence[Word], other: Sequence[Word]) -> Words | None:
    """The language whose function words, or else whose listed words, both texts have; None where no language has any."""
    lows = [word.low for word in (*one, *other)]
    functions = {name: table.count_of(lows) for name, table in languages().items()}
    most = max(functions.values())
    likely = {name: sum(map(languages()[name].has_stem, lows)) for name, count in functions.items() if count == most}
    known = max(likely.values())
    is_told = most or (known >= _TELLING and [*likely.values()].count(known) == 1)
    return languages()[max(likely, key=lambda name: likely[name])] if is_told else None


def readings(
    one: Sequence[Word], other: Sequence[Word], table: Words, *, is_asked: bool
) -> tuple[list[list[Item]], list[list[Item]]]:
    """What each text may say, with names and compounds told by both."""
    shared = frozenset(word.low for word in one if "-" in word.low) & frozenset(word.low for word in other)
    first, second = split_words(one, table, shared), split_words(other, table, shared)
    first, second = _opened(first, second, table), _opened(second, first, table)
    names = names_of(first, second, table)
    found = [symbols(words, table, names) for words in (first, second)]
    if all(_says(side, {"@after", "@when"}) for side in found):
        found = [as_sequence(side) for side in found]
    wishes = (False, True) if is_asked and any(_says(side, {"@instead"}) for side in found) else (is_asked,)
    first, second = ([items for wish in wishes for items in read(side, table, is_wish=wish)] for side in found)
    return first, second


def _says(found: Iterable[Symbol], roles: set[str]) -> bool:
    return any(symbol.text in roles for symbol in found)


def _opened(words: Sequence[Word], others: Sequence[Word], table: Words) -> list[Word]:
    """The words without auxiliaries of a shared participle, and with a negating prefix apart where the other has the word without."""
    stems = {table.stem(word.low) for word in others}
    will_be = not table.listed("future").isdisjoint(word.low for word in others)
    found: list[Word] = []
    for at, word in enumerate(words):
        if word.low in table.listed("perfect") and not will_be and _has_same_participle(words, at, stems, table):
            continue
        is_denied = table.name == "en" and word.low.startswith(_NEGATING)
        prefix = next(one for one in _NEGATING if word.low.startswith(one)) if is_denied else ""
        rest = word.text[len(prefix) :]
        if prefix and len(rest) > len(prefix) + 1 and table.stem(rest.lower()) in stems and word.low not in stems:
            found += [
                replace(word, text="not", is_capital=False, stops=False),
                replace(word, text=rest, is_first=False),
            ]
        else:
            found.append(word)
    return found


def _has_same_participle(words: Sequence[Word], at: int, stems: set[str], table: Words) -> bool:
    """Whether an auxiliary helps a participle that the other text has too: the tense is the same, however it is told."""
    following = words[at + 1 :]
    end = next((i for i, word in enumerate(following) if word.stops), len(following) - 1)
    return any(
        word.low.endswith(table.participle_endings) and len(word.low) > _PARTICIPLE and table.stem(word.low) in stems
        for word in following[: end + 1]
    )


_PARTICIPLE: Final = 4
"""Participles are longer than that."""
_NEGATING: Final = ("un", "in", "im", "dis", "non")


# -- comparison ------------------------------------------------------------------------------------------------------


class _Terms(NamedTuple):
    """By what two readings are compared."""

    table: Words
    is_near: bool
    is_asked: bool
    """Whether one of the two asks for what the other may tell as a wish."""
    is_planned: bool
    """Whether one of the two, and not the other, says what will be."""
    words: tuple[Sequence[Word], Sequence[Word]]


def _is_asking(words: Sequence[Word], table: Words) -> bool:
    return bool(words) and words[0].low in table.listed("imperatives")


def _difference(one: Sequence[Item], other: Sequence[Item], terms: _Terms) -> str | None:
    """The first rule by which two readings are two facts; None where there is none."""
    if max(len(one), len(other)) > MAX_ITEMS or not min(len(one), len(other)):
        return "too_long"
    is_related = sum(item.kind == "name" for item in one) > 1 or any(
        i.concept in terms.table.relations for i in (*one, *other)
    )
    if _STATES & {item.concept for item in one} & {item.concept for item in other}:
        one, other = ([item._replace(tags=item.tags - {"since"}) for item in side] for side in (one, other))
    for kind in ("figure", "name"):
        if _counted(one, kind, is_related=is_related) != _counted(other, kind, is_related=is_related):
            return kind
    denied = [_denied(one, other), _denied(other, one)]
    if _operators(one) != _operators(other) or (all(denied) and denied[0] != denied[1]):
        return "negation"
    return (
        _other_words(one, other, terms)
        or other_roles(one, other, [voice_of(words, terms.table) for words in terms.words], terms.table)
        or _other_time(one, other, is_planned=terms.is_planned)
    )


_STATES: Final = frozenset({"retire", "married", "divorced"})
"""What begins in a year and is so since."""


def _operators(items: Iterable[Item]) -> frozenset[str]:
    """Every operator that governs anything, also what is left out as saying little."""
    return frozenset(tag for item in items for tag in item.tags if tag != "of")


def _denied(one: Iterable[Item], other: Iterable[Item]) -> set[str]:
    """Which of the words that both have stand right behind a negation."""
    return {item.concept for item in one if item.is_denied and item.kind == "word"} & {item.concept for item in other}


def _counted(items: Iterable[Item], kind: str, *, is_related: bool) -> Counter[tuple[str, frozenset[str]]]:
    """The names or figures with what governs them; whose they are matters where somebody is something to somebody."""
    ignored = frozenset[str]() if is_related and kind == "name" else frozenset({"of"})
    return Counter((item.concept, item.tags - ignored) for item in items if item.kind == kind)


_MEANT: Final = {
    "need": {"must"}, "study": {"learn"}, "originally": {"origin"}, "learn": {"study"}, "own": {"owner"}, "owner": {"own"}, "author": {"write"}, "most": {"budget"}, "can": {"budget"},
    "postpone": {"move"}, "move": {"postpone", "switch"}, "switch": {"move"}, "written-in": {"write", "use"}, "full-name": {"called"}, "store": {"keep", "live"}, "keep": {"store"}, "live": {"store"}, "married": {"wife", "husband"}, "wife": {"married"},
    "husband": {"married"},
}  # fmt: skip
"""What another word says as well: who has a wife is married, though a wife is no husband."""
_DIRECTIVES: Final = frozenset({"want", "must", "keep", "ensure", "use", "like", "answer", "add"})
_CONTENTS: Final = frozenset({"contain", "own", "need", "show"})
_DIALOGUE: Final = frozenset(
    {"answer", "explain", "emoji", "short", "long", "joke", "bullet", "source", "detailed", "formal", "informal", "tone", "summary",
     "jargon", "small-talk", "step-by-step", "introduction", "geduzt", "gesiezt", "tutoyer", "vouvoyer", "tutear", "on-you",
     "straight", "honest", "polite", "friendly", "simple", "feedback", "spelling", "sentence", "paragraph", "markdown",
     "numbered-list", "table-data", "plain-text", "heading", "abbreviation", "metaphor", "flattery", "apology", "code-block", "american",
     "british", "measurement", "metric", "imperial", "criticism", "hint"}
)  # fmt: skip
"""Concepts of how an assistant talks: what is liked there, is wanted."""
_TO_ME: Final = frozenset(
    {"called", "ask", "answer", "explain", "tell", "remind", "show", "nickname", "correct", "write", "send"}
)
"""What is done to the user whether "me" is said or not."""


def _tells_of_self(asked: Sequence[Word], told: Sequence[Word], table: Words) -> bool:
    """Whether what one asks for is what the user does: `speak German` is not `I speak German`."""
    lows = [word.low for word in told if word.low != "the"]
    deed = asked[0].low if asked else ""
    if not lows or deed in _NO_DEEDS:
        return False
    is_self = lows[0] in _SELF or (lows[0] != deed and table.stem(lows[0]) == table.stem(deed))
    is_said = (is_self and _is_asking(asked, table)) or (
        lows[0] == "user" and lows[1:2] in ([deed + "s"], [deed + "es"])
    )
    return is_said and not any(table.concept_of(low) in _STANCES for low in lows)


_NO_DEEDS: Final = frozenset({"", "i", "i'm", "user", "the", "no", "never", "always", "please", "don't", "do"})
_SELF: Final = frozenset({"is", "am", "has", "i", "i'm", "user"})
_STANCES: Final = _DIRECTIVES | {"can", "need", "favourite", "called"}


def _other_words(one: Sequence[Item], other: Sequence[Item], terms: _Terms) -> str | None:
    table = terms.table
    concepts = [{item.concept for item in side} for side in (one, other)]
    empty = _empty((one, other), concepts, terms)
    lacking = [_lacking(one, other, table, empty), _lacking(other, one, table, empty)]
    if any(lacking):
        missed = [{item.concept for item in side} for side in lacking]
        return "negation" if missed[0] & missed[1] else "other_words"
    if _clash(one, other):
        return "little_words"
    extra = [_unmatched(one, empty, concepts[1]), _unmatched(other, empty, concepts[0])]
    is_told_apart = all(extra) or len(concepts[0] & _NAMED_THINGS) == len(concepts[1] & _NAMED_THINGS) > 0
    mild = table.listed("mild") - (_NAMED_THINGS if is_told_apart else set[str]())
    if not all(extra):
        mild |= table.listed("implied") - (set[str]() if concepts[0] & _FLUENT else {"speak"})
    if not any(extra) or (terms.is_near and all(side <= mild for side in extra)):
        return None
    return "little_words"


_FLUENT: Final = frozenset({"fluent", "native"})
"""What a language is where it is spoken, said or not."""


def _is_bare(items: Sequence[Item], kind: str) -> bool:
    """Whether nothing but names, or but a figure, is said of the user."""
    return all(item.kind == kind and not item.tags and not item.prep for item in items)


_NAMED_THINGS: Final = frozenset({"person", "mode", "code", "team", "file", "branch", "project", "language", "answer"})
"""What may be left out, but is another thing where another of them is named: `delete files`, `delete branches`."""


def _empty(items: Sequence[Sequence[Item]], concepts: Sequence[set[str]], terms: _Terms) -> frozenset[str]:
    """The concepts that say nothing where these two are said."""
    one = items[0]
    common = concepts[0] & concepts[1]
    names = sum(item.kind == "name" for item in one)
    has_relation = bool(terms.table.relations & (concepts[0] | concepts[1]))
    table = terms.table
    empty = set(table.empty)
    directives = _DIRECTIVES | (_CONTENTS if terms.is_asked or "must" in concepts[0] | concepts[1] else set[str]())
    if terms.is_asked:
        empty |= {"want", "can"} if any("not" in item.tags for item in one) else {"want"}
    if _DIALOGUE & common and not has_relation and (terms.is_asked or not any("less" in item.tags for item in one)):
        empty |= directives if names else {*directives, "me"}
    if terms.is_asked and not names and not has_relation:
        empty.add("me")
    if common and any(_is_bare(side, "name") for side in items):
        empty |= {"called", "full-name"}  # "I am Ann"
    if common and any(_is_bare(side, "figure") or (side[-1].kind == "figure" and has_relation) for side in items):
        empty |= {"me", *table.listed("ages")}  # "I am 40"
    addressed = _TO_ME & common
    if addressed and not has_relation and (not names or addressed & {"called", "nickname"}):
        empty |= {"me", "want"} | ({"like"} if "called" in addressed else set[str]())
    if terms.is_asked and {"must", "need"} & (concepts[0] | concepts[1]):
        empty |= {*_CONTENTS, "use", "add"}  # "use hints in code": "code should have hints"
    if names == 1 and ("own" in common or terms.table.relations & common):
        empty.add("called")  # "my cat is called Rex": "my cat Rex"
    if terms.table.name != "en" and any("not" in item.tags for item in one):
        empty.discard("must")  # not to have to is no prohibition; English tells the two by the phrase
    return frozenset(empty)


def _unmatched(items: Sequence[Item], empty: frozenset[str], said: set[str]) -> set[str]:
    """The light concepts for which the other has nothing."""
    lights = {item.concept for item in items if item.kind == "light"} - empty - said - {"own"}
    return {light for light in lights if not _MEANT.get(light, set()) & said}


def _clash(one: Sequence[Item], other: Sequence[Item]) -> bool:
    """Whether both say little by words that are not the same: who gives lessons takes none."""
    shades = [
        {(_SORTS.get(item.concept, item.concept), item.concept, item.shade) for item in side if item.kind == "light"}
        for side in (one, other)
    ]
    only = [{sort for sort, _, _ in here - there} for here, there in (shades, shades[::-1])]
    order = [
        {(item.concept, tag) for item in side for tag in item.tags & _ORDER if item.concept in _DEEDS}
        for side in (one, other)
    ]
    return bool(only[0] & only[1]) or any(
        (concept, *_ORDER - {tag}) in order[1] for concept, tag in order[0] - order[1]
    )


_DEEDS: Final = frozenset({"use", "eat", "drink", "write", "speak", "keep"})
_ORDER: Final = frozenset({"earlier", "later"})


_SORTS: Final = {"come": "deed", "make": "deed", "write": "deed", "use": "handling", "keep": "handling"}
"""Light concepts of which one is not another where both are said."""


def _lacking(one: Sequence[Item], other: Sequence[Item], table: Words, empty: frozenset[str]) -> list[Item]:
    """The words of one that the other has not."""
    has = {(item.concept, item.tags - {"of"}) for item in other if item.kind == "word"}
    said_here = {item.concept for item in one}
    own = {(item.concept, item.tags - {"of"}) for item in one}
    lights = {item.concept for item in other if item.kind == "light"}
    said = {item.concept for item in other}
    if any(item.concept in table.listed("conditions") for item in other):
        lights.add("own")  # to have an allergy is to be allergic
    return [
        item
        for item in one
        if item.kind == "word"
        and (item.concept, item.tags - {"of"}) not in has
        and item.concept not in lights
        and item.concept not in empty
        and not _MEANT.get(item.concept, set()) & said
        and not (item.concept == "can" and "not" in item.tags and "must" in said)
        and not (item.concept == "past" and any(one.tense == "past" and one.concept in said_here for one in other))
        and not (item.concept == "own" and any(one.prep == "with" for one in other))
        and not (
            item.tags == frozenset({"less"})
            and (item.concept, frozenset[str]()) in has
            and (item.concept, frozenset[str]()) in own
        )
    ]


def _is_planned(words: Iterable[Word]) -> bool:
    return any(word.low in _FUTURE or word.low.endswith("'ll") for word in words)


_FUTURE: Final = frozenset({"will", "won't", "shall", "must", "should"})
_ANY_TIME: Final = frozenset({"decide", "choose"})
"""What was decided is so now."""


def _other_time(one: Sequence[Item], other: Sequence[Item], *, is_planned: bool) -> str | None:
    """Whether what one tells of the past is present in the other."""
    past = [{i.concept for i in side if i.tense == "past"} - _ANY_TIME for side in (one, other)]
    if is_planned and any(past):
        return "tense"
    now = [{i.concept for i in side if i.tense in {"present", "future"}} for side in (one, other)]
    return "tense" if past[0] & now[1] or past[1] & now[0] else None
