"""What a statement says: its concepts in order, and what governs each of them.

Rule 1: pure; it sees symbols only, no text. A negation, a comparison or a time word governs what follows until its phrase ends.
Rule 2: where an end is not marked there are several readings; whoever compares may take any of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from memory.likeness_words import Words
from memory.statement_figures import Symbol


class Item(NamedTuple):
    """One concept, and what governs it."""

    concept: str
    kind: str
    """`name`, `figure`, `light` or `word`."""
    tags: frozenset[str]
    prep: str
    tense: str
    is_denied: bool
    """Whether it is the word that follows a negation."""
    series: int = 0
    """The same number for what is listed side by side: `tea and milk`."""
    is_doer: bool = False
    """Whether a passive names who does it."""
    shade: str = ""
    """Which of the words of a light concept it is."""


@dataclass(slots=True)
class _Place:
    """One concept with the segment and zone it stands in."""

    symbol: Symbol
    segment: int
    zone: str
    prep: str
    tags: set[str]
    is_denied: bool
    series: int = 0


_TIMES: Final = frozenset(
    {"today", "yesterday", "tomorrow", "daily", "weekly", "monthly", "yearly", "usually", "sometimes", "frequent", "rarely",
     "year", "month", "week", "day", "morning", "afternoon", "evening", "night", "weekend", "summer", "winter"}
)  # fmt: skip


def _is_adverbial(place: _Place) -> bool:
    """Whether it may stand before a subject without being one."""
    return bool(place.prep) or place.symbol.kind in {"figure", "light"} or place.symbol.text in _TIMES


ZONES: Final = frozenset({"before", "after", "until", "without"})


class _Reader:
    """Goes through the symbols once and notes what governs each concept."""

    def __init__(self, found: Sequence[Symbol], zone_ends: int | None, table: Words) -> None:
        self._found = found
        self._zone_ends = zone_ends
        self._table = table
        self._segment = 0
        self._zone = ""
        self._prep = ""
        self._phrase = ""
        self.negations: dict[int, int] = {}
        self._in_zone = 0
        self.is_unclear = False
        self._has_more = False
        self._is_first_said = False
        self._is_ordered = False
        self._has_preference = False
        self._half_negated = set[int]()
        self._is_zone_initial = False
        self._denies = False
        self._owns_next = False
        self._coordinates = False
        self.is_english = table.name == "en"
        self.places: list[_Place] = []
        self.zones: list[str] = []

    def read(self) -> list[_Place]:
        """Every concept in order."""
        for at, symbol in enumerate(self._found):
            if self._is_phrase_over(symbol.kind):
                self._phrase = ""
            if symbol.kind == "role":
                self._meet_role(at, symbol.text[1:])
            else:
                self._add(symbol)
            if symbol.stops:
                self._end_segment()
        if self._is_first_said and not self._is_ordered:
            self.places.append(
                _Place(Symbol("first", "word", stops=False), self._segment, "", "", set(), is_denied=False)
            )
        if self._zone and self._is_zone_initial and self._zone_ends is None:
            self.is_unclear = True
        return self.places

    def _is_phrase_over(self, kind: str) -> bool:
        """Whether what `since` or `instead of` governs was said: a point in time, or a name."""
        if not self.places or self._phrase not in self.places[-1].tags or not self._phrase:
            return False
        last = self.places[-1].symbol.kind
        return last in {"figure", "name"} and kind != last

    def _add(self, symbol: Symbol) -> None:
        if self._is_time_said(symbol):
            self._prep = ""
        tags = {self._phrase} if self._phrase else set[str]()
        if self._owns_next:
            tags.add("of")
            self._owns_next = False
        self.places.append(_Place(symbol, self._segment, self._zone, self._prep, tags, self._denies))
        self._denies = False
        if self._coordinates:
            self._list_with_last()
        if self._zone:
            self._in_zone += 1
            if self._zone_ends is not None and self._is_zone_initial and self._in_zone == self._zone_ends:
                self._end_segment()

    def _is_time_said(self, symbol: Symbol) -> bool:
        """Whether a point in time ended what a preposition governs: `on Mondays Ann ...`."""
        if not (self.is_english and self._prep and self.places) or symbol.kind == "figure" or symbol.text in _TIMES:
            return False
        last = self.places[-1].symbol
        return last.text in _TIMES or (last.kind == "figure" and not last.text[0].isdecimal())

    def _list_with_last(self) -> None:
        """Note that the last two stand side by side, where both are of one kind."""
        one, other = self.places[-2:]
        self._coordinates = False
        if one.symbol.kind == other.symbol.kind and one.segment == other.segment:
            one.series = other.series = one.series or len(self.places)

    def _end_segment(self) -> None:
        self._coordinates = False
        self._segment += 1
        self._zone = self._prep = self._phrase = ""

    def _govern(self, prep: str = "", phrase: str = "") -> None:
        self._prep, self._phrase = prep, phrase
        self._owns_next = False

    def _next(self, at: int) -> str:
        return next((s.text for s in self._found[at + 1 :] if s.text != "@drop"), "")

    def _meet_role(self, at: int, role: str) -> None:
        match role:
            case "before" | "after" | "until" | "without":
                self._open_zone(role)
            case "loc" | "to" | "with" | "for" | "as" | "about":
                self._meet_preposition(role)
            case "instead" | "by" | "from" | "since":
                self._govern(phrase=role)
            case "than" | "more" | "prefers" | "not" | "ne":
                self._meet_degree(at, role)
            case "clause" | "when" | "and" | "or":
                self._join("and" if role == "or" else role, at)
            case "first" | "then":
                self._meet_sequence(role)
            case _:
                self._meet_person(role, at)

    def _meet_preposition(self, role: str) -> None:
        if role == "to" and self._prefers():
            self._govern(phrase="less")
        elif role != "to" or any(place.segment == self._segment for place in self.places):
            is_parallel = self._phrase == "less" and any(place.prep == role for place in self.places)
            self._govern(prep=role, phrase="less" if is_parallel else "")  # a first "to" is that of an infinitive

    def _meet_degree(self, at: int, role: str) -> None:
        match role:
            case "than":
                self._meet_than()
            case "more":
                self._meet_more(at)
            case "not":
                self._negate(at)
            case "prefers":
                self._has_preference = True
            case _:
                self._half_negated.add(self._segment)

    def _meet_sequence(self, role: str) -> None:
        if role == "first":
            self._is_first_said = True
            self._is_ordered = self._is_ordered or bool(self.zones)
        elif self._is_first_said:
            self._is_ordered = True
            for place in self.places:
                place.tags.add("earlier")
            self._end_segment()
            self._phrase = "later"

    def _open_zone(self, role: str) -> None:
        self._is_zone_initial = not self.places
        self._segment += 1
        self._govern()
        self._zone = role
        self._in_zone = 0
        self.zones.append(role)
        self._is_ordered = True

    def _prefers(self) -> bool:
        """Whether something is preferred, and was named already: what follows `to` is what it is preferred to."""
        return self._has_preference and self.places[-1].symbol.text != "like"

    def _meet_than(self) -> None:
        if self._segment in self._half_negated - self.negations.keys():  # "ne ... que" is "only"
            self._add(Symbol("only", "word", stops=False))
        elif self._has_more or self._table.name in {"en", "ru"}:
            self._govern(phrase="less")
        elif self._table.name == "de":
            self._govern(prep="as")
        else:
            self._join("clause", len(self._found))

    def _meet_more(self, at: int) -> None:
        if self._segment in self._half_negated:  # "ne ... plus" is "no longer"
            self._negate(at)
        elif any(symbol.text in {"@than", "@to"} for symbol in self._found[at + 1 :]):
            self._has_more = True
        elif not self.is_english and "like" in {self._next(at), self.places[-1].symbol.text if self.places else ""}:
            self._has_preference = True  # to like it more is to prefer it
        else:
            self._add(Symbol("more", "word", stops=False))

    def _negate(self, at: int) -> None:
        self._denies = True
        following = self._next(at)
        if following in {"@loc", "@to", "@with", "@for", "@as", "@from", "@by"}:
            self._segment += 1
        self.negations[self._segment] = self.negations.get(self._segment, 0) + 1

    def _join(self, role: str, at: int) -> None:
        if role != "and" or self._next(at) in {"@not", "@without"}:
            zone = self._zone
            self._end_segment()
            self._zone = zone
        else:
            self._owns_next = False
            self._coordinates = bool(self.places)

    def _said_in_segment(self) -> list[_Place]:
        """What stands before the user in its own part of the sentence."""
        return [place for place in self.places if not self.is_english or place.segment == self._segment]

    def _meet_user(self, role: str, at: int) -> None:
        if role == "user" and (self._next(at) == "@possessor" or self._owns_next):
            self._owns_next = False
            self._add(Symbol("own", "light", stops=False))
        elif role == "me" or (
            self._next(at) not in self._table.listed("user_verbs")
            and not all(_is_adverbial(place) for place in self._said_in_segment())
        ):
            self._add(Symbol("me", "word", stops=False))

    def _meet_person(self, role: str, at: int) -> None:
        match role:
            case "i":
                if at and self._found[at - 1].text == "@and" and self.places:
                    self.places[-1].prep = "with"  # "Ann and I"
                self._govern()
                if self._zone and self._is_zone_initial and self._in_zone:
                    self._end_segment()
            case "own":
                self._add(Symbol("own", "light", stops=False))
            case "user" | "me":
                self._meet_user(role, at)
            case "possessor":
                if self.places:
                    self.places[-1].tags.add("of")
            case "gen":
                self._govern()
                self._owns_next = True
            case "past":
                self._add(Symbol("past", "word", stops=False))
            case _:
                pass  # what is dropped

    def is_negated(self, segment: int) -> str:
        """How a segment is negated: languages of agreeing negations say it several times, English does not."""
        count = self.negations.get(segment, 0)
        if count > 1 and self._table.name == "en":
            return f"not{count}"
        return "not" if count else ""


MAX_ENDS: Final = 8
"""How many places are tried where the end of a first clause is not marked."""


def read(found: Sequence[Symbol], table: Words, *, is_wish: bool = False) -> list[list[Item]]:
    """What a statement may say; several readings where the end of what it begins with is not marked.

    In a wish, to take one thing instead of another is to like it better.
    """
    reader = _Reader(found, None, table)
    places = reader.read()
    if not reader.is_unclear:
        return [_items(reader, places, is_wish=is_wish)]
    readings: list[list[Item]] = []
    for end in range(1, min(len(places), MAX_ENDS)):
        one = _Reader(found, end, table)
        readings.append(_items(one, one.read(), is_wish=is_wish))
    return readings or [_items(reader, places, is_wish=is_wish)]


def as_sequence(found: Sequence[Symbol]) -> list[Symbol]:
    """The same with every "when" read as "after": what is done when something happened is done after it."""
    return [symbol._replace(text="@after") if symbol.text == "@when" else symbol for symbol in found]


def _items(reader: _Reader, places: Sequence[_Place], *, is_wish: bool) -> list[Item]:
    zone = reader.zones[0] if len(reader.zones) == 1 else ""
    likes = is_wish or any(place.symbol.text == "like" for place in places)
    mains = {place.segment for place in places if not place.zone}
    is_condition = zone in {"until", "without"} and any(reader.is_negated(segment) for segment in mains)
    items: list[Item] = []
    spoken = {place.segment for place in places}
    for at, place in enumerate(places):
        tags = set(place.tags)
        if at == 0 and any(segment not in spoken for segment in reader.negations):
            tags.add("not-said")  # "no" with nothing that it denies
        if "by" in tags and any(near.symbol.text == "person" for near in places[at : at + 2]):
            tags.remove("by")  # somebody, whoever it is
        negation = reader.is_negated(place.segment)
        if is_condition:  # "never this without that" is "that before this"
            tags.add("earlier" if place.zone else "later")
            negation = negation if place.zone else ""
        elif zone in {"before", "after"}:
            tags.add("earlier" if bool(place.zone) == (zone == "after") else "later")
        elif place.zone == "without":
            negation = negation or "not"
        elif place.zone:
            tags.add(place.zone)
        if "instead" in tags:
            tags.remove("instead")
            tags.add("less" if likes else "not")
        if negation:
            tags.add(negation)
        text, kind, _, tense, shade = place.symbol
        items.append(Item(text, kind, frozenset(tags), place.prep, tense, place.is_denied, place.series, shade=shade))
    return _active(items) if reader.is_english else items


_FIRM: Final = {"light": "word"}
"""Who does it is never said in passing."""
_ABOUT_DEEDS: Final = frozenset({"only", "can", "must", "now"})


def _active(items: list[Item]) -> list[Item]:
    """What is done by somebody, told as what somebody does: the doer first, then the deed."""
    agents = [item for item in items if "by" in item.tags]
    before = items[: items.index(agents[0])] if agents else []
    bare = [item for item in before if not item.prep and item.concept not in _ABOUT_DEEDS]
    deeds = [item for item in bare if item.kind == "word"]
    if bare and bare[-1].kind == "light":
        deeds = [bare[-1]]
    if not deeds or len(bare) < 2 or any(item.kind == "figure" for item in agents):
        return items
    deed = deeds[-1]
    doers = [
        item._replace(tags=item.tags - {"by"}, is_doer=True, kind=_FIRM.get(item.kind, item.kind)) for item in agents
    ]
    rest = [item for item in items if item is not deed and item not in agents]
    if before[-1].concept == "only":  # nobody else does it
        rest.remove(before[-1])
        doers.insert(0, before[-1])
    return [*doers, deed, *rest]
