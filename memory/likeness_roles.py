"""Who does what to whom in two statements of the same words: the order of their concepts and the prepositions before them.

Rule 1: pure; both readings have the same concepts, names and figures, which `likeness` has seen to.
Rule 2: an order that is not understood to be free is another fact.
"""

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Final, NamedTuple

from memory.likeness_subject import FREE, THINGS, Voice, other_duty, other_place, other_subject, other_voice
from memory.likeness_words import Words
from memory.statement_reading import Item


def other_roles(one: Sequence[Item], other: Sequence[Item], voices: Sequence[Voice], table: Words) -> str | None:
    """Whether words changed places that tell who is who."""
    places = [_placed(one), _placed(other)]
    firm = {item.concept for item in (*one, *other) if item.kind != "light" or item.concept in THINGS}
    order = [_order(one, firm), _order(other, firm)]
    ways = ((one, other, order), (other, one, order[::-1]))
    is_other = (
        _other_prepositions(one, other, places)
        or _governs_others(places)
        or _other_complement(one, other, table)
        or _needs_other(places, order)
        or _twice(one, table) & set(places[1]) != _twice(other, table) & set(places[0])
        or _other_only(one, other, table, tells_of_user=any(voice.tells_of_user for voice in voices))
        or any(_other_patient(x, y) or _other_bearer(x, y, table) for x, y, _ in ways)
        or other_duty(one, other, voices, table)
        or (table.name == "en" and any(_is_beneficiary(x, y) for x, y, _ in ways))
        or _owns_owner(one, other, table)
        or other_place(one, other, voices, table)
        or other_voice(one, other, voices, table)
        or {voice.subject for voice in voices} == {"user", "anybody"}
        or (table.name == "en" and any(_owner_suffers(x, y) for x, y, _ in ways))
        or any(_owner_does(x, y) and voice.tells_of_user for (x, y, _), voice in zip(ways, voices[::-1], strict=True))
        or other_subject(one, other, voices, table)
        or other_subject(other, one, voices[::-1], table)
    )
    if is_other:
        return "relation"
    if _other_counted(one, other) or _other_counted(other, one):
        return "figure"
    if "owner" not in firm and any(_owner_acts(here, there) for here, _, there in ways):
        return "relation"
    common = [c for c in order[0] if c in order[1]]
    ranks = {c: order[1].index(c) for c in common}
    if all(ranks[x] < ranks[y] for x, y in pairwise(common)):
        return None
    kinds = {item.concept: item.kind for item in (*other, *one)}
    tags = {item.concept: item.tags - {"of"} for item in one}
    series = [{item.concept: item.series for item in side} for side in (one, other)]
    return _swapped(_Moved(common, ranks, kinds, tags, places, series, [_units(one), _units(other)]), table)


def _units(items: Sequence[Item]) -> dict[str, str]:
    """What is counted by each figure."""
    return {x.concept: y.concept for x, y in pairwise(items) if (x.kind, y.kind) == ("figure", "word")}


def _governs_others(places: Sequence[dict[str, str]]) -> bool:
    """Whether a preposition stands before another of the common concepts."""
    both = places[0].keys() & places[1].keys()
    governed = [{(c, p) for c, p in side.items() if p in _PREPOSITIONS and c in both} for side in places]
    only = [{p for _, p in governed[0] - governed[1]}, {p for _, p in governed[1] - governed[0]}]
    return bool(only[0] & only[1]) or (only[0] | only[1] == {"loc", "to"} and bool(only[0]) and bool(only[1]))


def _needs_other(places: Sequence[dict[str, str]], order: Sequence[Sequence[str]]) -> bool:
    """Whether something is needed here for what it needs there: `a test is needed for a fix`, `a test needs a fix`."""
    if not all("need" in side for side in order):
        return False
    after = [set(side[side.index("need") + 1 :]) for side in order]
    return any(
        {places[0][c], places[1][c]} == {"for", ""} for c in after[0] & after[1] if c in places[0] and c in places[1]
    )


def _other_complement(one: Sequence[Item], other: Sequence[Item], table: Words) -> bool:
    """Whether a deed is done here to what it is done at, for or to there: `runs a club`, `runs in a club`."""
    ways = [_complements(side, table) for side in (one, other)]
    return any(
        _are_apart({ways[0][pair].prep, ways[1][pair].prep}, pair[1], ways[0][pair].kind, table)
        for pair in ways[0].keys() & ways[1].keys()
    )


def _complements(items: Sequence[Item], table: Words) -> dict[tuple[str, str], Item]:
    """What follows each deed, where a preposition before it begins with it."""
    said = [item for item in items if item.kind != "light" or item.concept in _DEEDS]
    return {
        (x.concept, y.concept): y
        for x, y in pairwise(said)
        if y.concept not in table.relations and not (y.prep and x.prep == y.prep)
    }


_DEEDS: Final = frozenset({"use", "make", "write", "come", "keep", "eat", "drink", "speak"})
"""Light concepts that something is done with."""


def _are_apart(preps: set[str], concept: str, kind: str, table: Words) -> bool:
    if preps == {"loc", "for"}:
        return kind == "figure" or (kind == "word" and concept not in table.listed("workplaces"))
    return table.name != "ru" and kind == "word" and concept not in table.listed("times") and preps in _APART


_APART: Final = ({"loc", ""}, {"for", ""}, {"to", "for"})
"""Prepositions, and none, by which the same verb says another thing."""
_PREPOSITIONS: Final = frozenset({"loc", "to", "with", "for", "as"})


def _owner_acts(items: Sequence[Item], orders: Sequence[Sequence[str]]) -> bool:
    """Whether whose thing it is here does it there."""
    here, there = orders
    return any("of" in item.tags and item.concept in there[:1] and item.concept != here[0] for item in items)


def _owner_suffers(one: Sequence[Item], other: Sequence[Item]) -> bool:
    """Whether it is done to somebody's thing here, and to that somebody there: `pays for Ann's room`, `pays Ann for the room`."""
    owners = {item.concept for item in one[1:] if item.kind == "name" and "of" in item.tags}
    return any(
        y.kind == "name"
        and y.concept in owners
        and not y.prep
        and not y.tags
        and x.kind == "word"
        and x.concept not in {"called", "own"}
        for x, y in pairwise(other)
    )


def _is_beneficiary(one: Sequence[Item], other: Sequence[Item]) -> bool:
    """Whether it is done for somebody here, and to that somebody or by them there: `cooks for Ann`, `wants Ann to cook`."""
    helped = {item.concept for item in one if item.kind == "name" and item.prep == "for"}
    return any(
        y.concept in helped and not y.prep and not y.tags and not y.is_doer and x.concept not in {"called", "own"}
        for x, y in pairwise(other)
    )


def _owns_owner(one: Sequence[Item], other: Sequence[Item], table: Words) -> bool:
    """Whether of two things the one is the other's here and owns it there: `her mother's house`, `her house's mother`."""
    owners = [{item.concept for item in side if "of" in item.tags and item.kind == "word"} for side in (one, other)]
    only = [owners[0] - owners[1], owners[1] - owners[0]]
    return all(only) and bool((only[0] | only[1]) & table.relations)


def _owner_does(one: Sequence[Item], other: Sequence[Item]) -> bool:
    """Whether somebody does it here, and owns it there: `written by Ann`, `I wrote Ann's`."""
    return bool({x.concept for x in one if x.is_doer} & {y.concept for y in other if "of" in y.tags})


def _other_prepositions(one: Sequence[Item], other: Sequence[Item], places: Sequence[dict[str, str]]) -> bool:
    """Whether a preposition tells another part of the same concept: `with Ann` is not `for Ann`."""
    names = {item.concept for item in (*one, *other) if item.kind == "name"}
    said = {item.concept for item in (*one, *other)}
    means = "use" in said
    of = [{item.concept for item in side if "of" in item.tags} for side in (one, other)]
    for concept in places[0].keys() & places[1].keys():
        is_sent = "to" in {places[0][concept], places[1][concept]}
        if concept in names and is_sent and (concept in of[0]) != (concept in of[1]):
            return True  # what goes to Ann is not what comes from Ann
        preps = {places[0][concept], places[1][concept]}
        if "replace" in said and preps == {"to", "with"}:
            continue
        if "replace" in said and preps == {"with", ""}:
            return True
        if len(preps) > 1 and (
            (
                preps & {"with", "as"}
                and "" not in preps
                and not (means and preps == {"as", "for"} and concept not in names)
            )
            or (concept in names and (preps == {"to", "for"} or (preps == {"with", ""} and not means)))
        ):
            return True
    return False


def _twice(items: Sequence[Item], table: Words) -> set[str]:
    """Relations that are told of twice: `my boss's boss`."""
    told = [item.concept for item in items if item.concept in table.relations]
    return {word for word in told if told.count(word) > 1}


def _first(items: Sequence[Item]) -> str:
    return next((item.concept for item in items if item.kind == "word" and item.concept not in FREE), "")


def _other_only(one: Sequence[Item], other: Sequence[Item], table: Words, *, tells_of_user: bool) -> bool:
    """Whether nobody else does it here, and there nothing else is done."""
    followers = [
        {right.concept: right.kind for left, right in pairwise(side) if left.concept == "only"} for side in (one, other)
    ]
    both = {item.concept for item in one} & {item.concept for item in other}
    if not all(followers) or not followers[0].keys() | followers[1].keys() <= both:
        return False
    kinds = {**followers[0], **followers[1]}
    firsts = {_first(side) for side in (one, other)} if not tells_of_user else set[str]()
    is_about_people = "name" in kinds.values() or bool(
        kinds.keys() & (table.relations | firsts) - table.listed("times")
    )
    return followers[0].keys() != followers[1].keys() and is_about_people


def _other_patient(one: Sequence[Item], other: Sequence[Item]) -> bool:
    """Whether what somebody does it to here is only where it happens there: `tagged by Ann`, `Ann was tagged in it`."""
    if not any(item.is_doer for item in one):
        return False
    suffered = {item.concept for item in one if not item.prep and not item.is_doer and item.kind != "figure"}
    return any(item.prep in {"loc", "to", "for"} and item.concept in suffered for item in other)


def _other_bearer(one: Sequence[Item], other: Sequence[Item], table: Words) -> bool:
    """Whether it is told here of somebody's relation, and there of whoever has one: `my wife is a nurse`, `a nurse has a wife`."""
    firm = [item for item in one if item.kind != "light"]
    if not firm or firm[0].concept not in table.relations:
        return False
    order = [item.concept for item in other if item.kind != "light"]
    at = order.index(firm[0].concept) if firm[0].concept in order else 0
    return "own" in order[1:at] and bool({item.concept for item in firm[1:] if item.kind == "word"} & {order[0]})


_COUNTED_WITHIN: Final = 2
"""How many words on a counted thing is named at the latest: `two younger sisters`."""


def _other_counted(one: Sequence[Item], other: Sequence[Item]) -> bool:
    """Whether a number counts one thing here and another there."""
    has = {item.concept for item in other}
    for at, item in enumerate(one):
        if item.kind == "figure":
            here = _after(one, at)
            there = [_after(other, i) for i, same in enumerate(other) if same.concept == item.concept]
            if here & has and all(those and not here & those for those in there):
                return True
    return False


def _after(items: Sequence[Item], at: int) -> set[str]:
    return {item.concept for item in items[at + 1 : at + 1 + _COUNTED_WITHIN] if item.kind == "word"}


class _Moved(NamedTuple):
    """Two readings whose common concepts stand in another order."""

    common: list[str]
    """As one has them."""
    ranks: dict[str, int]
    """Where the other has them."""
    kinds: dict[str, str]
    tags: dict[str, frozenset[str]]
    places: list[dict[str, str]]
    series: list[dict[str, int]]
    """The number of the list in which a concept stands."""
    units: list[dict[str, str]]
    """The word that follows a figure."""

    def is_turned(self, first: str, second: str) -> bool:
        """Whether the other has them the other way round."""
        return self.ranks[second] < self.ranks[first]

    def is_listed(self, first: str, second: str) -> bool:
        """Whether both have them side by side."""
        return all(0 < side.get(first, 0) == side.get(second, 0) for side in self.series)

    def are_measures(self, first: str, second: str) -> bool:
        """Whether each of two figures is of the same unit here and there, and these are two units."""
        units = [{side.get(first, ""), side.get(second, "")} for side in self.units]
        is_kept = all(self.units[0].get(one) == self.units[1].get(one) for one in (first, second))
        return is_kept and "" not in units[0] and len(units[0]) > 1

    def preps(self, concept: str) -> tuple[str, str]:
        """The prepositions before it, here and there."""
        return self.places[0].get(concept, ""), self.places[1].get(concept, "")


def _swapped(moved: _Moved, table: Words) -> str | None:
    figures = [c for c in moved.common if moved.kinds[c] == "figure"]
    if any(
        moved.is_turned(x, y) and _sort_of(x) == _sort_of(y) and not moved.are_measures(x, y)
        for x, y in combinations(figures, 2)
    ):
        return "figure_order"
    names = sum(moved.kinds[c] == "name" for c in moved.common)
    if names == 1 and "called" in moved.common and len(table.relations & set(moved.common)) < 2:
        return None  # "Ann is the name of my boss"
    if _names_swapped(moved, table):
        return "name_order"
    return "order" if _mirrored(moved, table) else None


def _sort_of(figure: str) -> str:
    """A weekday, a month, a date, a time, an ordinal or a number: only two of one sort can be taken for each other."""
    return "".join(char for char in figure if not char.isdigit())


def _names_swapped(moved: _Moved, table: Words) -> bool:
    """Whether names, or people by what they are to somebody, changed places."""
    common = moved.common
    is_name = [moved.kinds[c] == "name" for c in common]
    rest = [moved.ranks[c] for c in common if moved.kinds[c] != "name"]
    if sum(is_name) == 1 and rest == sorted(rest) and (is_name[0] or is_name[-1]):
        is_placed = any(
            "loc" in moved.preps(c) or ("for" in moved.preps(c) and moved.kinds[c] != "name") for c in common
        )  # "lives in Rome": "Rome is where ... lives"
        is_owned = "own" in moved.kinds or bool(set(common) & table.relations)  # "Ann is my boss": "my boss is Ann"
        return len(common) == 2 and not is_placed and not is_owned
    strict = [c for c in common if (moved.kinds[c] == "name" or c in table.relations) and not moved.tags[c]]
    return any(
        moved.is_turned(x, y)
        and not moved.is_listed(x, y)
        and (moved.preps(x) == moved.preps(y) == ("", "") or moved.preps(x)[0] == moved.preps(y)[0])
        for x, y in combinations(strict, 2)
    )


def _mirrored(moved: _Moved, table: Words) -> bool:
    """Whether two words changed places around a third: who did it there, suffers it here."""
    firm = [c for c in moved.common if moved.kinds[c] != "figure" and c not in table.listed("times")]
    return any(
        moved.is_turned(x, z)
        and moved.is_turned(z, y)
        and not moved.is_listed(x, y)
        and moved.tags[x] == moved.tags[z] == moved.tags[y]
        and all(here == there for here, there in (moved.preps(x), moved.preps(y)))
        for x, z, y in combinations(firm, 3)
    )


def _placed(items: Sequence[Item]) -> dict[str, str]:
    return {item.concept: item.prep for item in items if item.kind != "light" and item.concept not in FREE}


def _order(items: Sequence[Item], firm: set[str]) -> list[str]:
    return list(dict.fromkeys(item.concept for item in items if item.concept in firm and item.concept not in FREE))
