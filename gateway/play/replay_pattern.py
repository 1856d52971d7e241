"""The patterns of a replay for JSON values, with captures and references (docs/replay.md).

Rule 1: pure; a match returns the captures that it adds, a mismatch has its place, the expected and the actual value.
Rule 2: members that begin with `$` are operators, of which all must hold; the other members are matched by name.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

Bound: TypeAlias = Mapping[str, Any]
Path: TypeAlias = str

SHOWN_CHARS = 2000
"""A mismatch is read by a person: a longer value is cut."""


class _Absent:
    def __repr__(self) -> str:
        return "nothing"


ABSENT: Final = _Absent()
"""The value against which an absent member is matched."""

TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
}


class Mismatch(Exception):
    """A value does not match the pattern."""

    def __init__(self, path: Path, expected: str, came: Any) -> None:
        self.path = path
        super().__init__(f"at {path}\n    expected: {expected}\n    came:     {format_value(came)}")


class BadPattern(Exception):
    """The pattern itself means nothing: an operator that does not exist, a reference that is not bound."""


def format_value(value: Any) -> str:
    """Return a value as a person reads it."""
    text = repr(value) if value is ABSENT else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]} …"


def resolve_reference(name: Any, bound: Bound) -> Any:
    """Return the value to which a name was bound."""
    if name not in bound:
        raise BadPattern(f"nothing was captured as {format_value(name)}")
    return bound[name]


def fill_references(value: Any, bound: Bound) -> Any:
    """Return a value to send, with every `{"$ref": name}` replaced by the captured value."""
    if isinstance(value, list):
        return [fill_references(item, bound) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, Any]", value)
    if members.keys() == {"$ref"}:
        return resolve_reference(members["$ref"], bound)
    return {name: fill_references(member, bound) for name, member in members.items()}


def match(pattern: Any, value: Any, bound: Bound, path: Path = "$") -> dict[str, Any]:
    """Return the captures with those that this match adds. Raises `Mismatch`."""
    if isinstance(pattern, dict):
        return _match_members(cast("dict[str, Any]", pattern), value, bound, path)
    if isinstance(pattern, list):
        return _match_items(cast("list[Any]", pattern), value, bound, path)
    return _equal(pattern, value, bound, path)


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal: true is not 1, 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        ones, others = cast("list[Any]", one), cast("list[Any]", other)
        return len(ones) == len(others) and all(_is_same(*pair) for pair in zip(ones, others, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        left, right = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
        return left.keys() == right.keys() and all(_is_same(left[name], right[name]) for name in left)
    return one == other


def _length_of(value: Any) -> int | None:
    return len(cast("list[Any]", value)) if isinstance(value, (str, list, dict)) else None


def _require(holds: bool, path: Path, expected: str, came: Any) -> None:  # noqa: FBT001  # a condition, not a switch
    if not holds:
        raise Mismatch(path, expected, came)


def _match_items(pattern: list[Any], value: Any, bound: Bound, path: Path) -> dict[str, Any]:
    _require(_length_of(value) == len(pattern) and isinstance(value, list), path, f"an array of {len(pattern)}", value)
    for place, (wanted, item) in enumerate(zip(pattern, cast("list[Any]", value), strict=True)):
        bound = match(wanted, item, bound, f"{path}[{place}]")
    return dict(bound)


def _match_members(pattern: dict[str, Any], value: Any, bound: Bound, path: Path) -> dict[str, Any]:
    operators = {name: given for name, given in pattern.items() if name.startswith("$")}
    members = {name: wanted for name, wanted in pattern.items() if not name.startswith("$")}
    for name, given in operators.items():
        if name not in OPERATORS:
            raise BadPattern(f"there is no {name}")
        bound = OPERATORS[name](given, value, bound, path)
    if not members and operators.keys() - {"$exact"}:
        return dict(bound)
    _require(isinstance(value, dict), path, "an object", value)
    for name, wanted in members.items():
        bound = match(wanted, value.get(name, ABSENT), bound, f"{path}.{name}")
    if operators.get("$exact"):
        extra = sorted(cast("dict[str, Any]", value).keys() - members.keys())
        _require(not extra, path, "no other members", extra)
    return dict(bound)


def _equal(wanted: Any, value: Any, bound: Bound, path: Path) -> dict[str, Any]:
    _require(_is_same(wanted, value), path, format_value(wanted), value)
    return dict(bound)


def _any(_given: Any, value: Any, bound: Bound, path: Path) -> dict[str, Any]:
    _require(value is not ABSENT, path, "anything", value)
    return dict(bound)


def _type(given: Any, value: Any, bound: Bound, path: Path) -> dict[str, Any]:
    if given not in TYPES:
        raise BadPattern(f"there is no type {format_value(given)}")
    _require(TYPES[given](value), path, f"a value of type {given}", value)
    return dict(bound)


def _capture(given: Any, value: Any, bound: Bound, path: Path) -> dict[str, Any]:
    _require(value is not ABSENT, path, f"a value to capture as {given}", value)
    return {**bound, given: value}


def _ref(given: Any, value: Any, bound: Bound, path: Path) -> dict[str, Any]:
    return _equal(resolve_reference(given, bound), value, bound, path)


def _contains(given: Any, value: Any, bound: Bound, path: Path) -> dict[str, Any]:
    _require(isinstance(value, list), path, "an array", value)
    for wanted in cast("list[Any]", given):
        for item in cast("list[Any]", value):
            try:
                bound = match(wanted, item, bound, path)
                break
            except Mismatch:
                continue
        else:
            raise Mismatch(path, f"an element like {format_value(wanted)}", value)
    return dict(bound)


def _matches(given: Any, value: Any, bound: Bound, path: Path) -> dict[str, Any]:
    try:
        _require(isinstance(value, str) and bool(re.search(given, value)), path, f"text that matches {given}", value)
    except re.error as error:
        raise BadPattern(f"{format_value(given)} is not a regular expression: {error}") from None
    return dict(bound)


def _absent(_given: Any, value: Any, bound: Bound, path: Path) -> dict[str, Any]:
    _require(value is ABSENT, path, "nothing", value)
    return dict(bound)


def _length(given: Any, value: Any, bound: Bound, path: Path) -> dict[str, Any]:
    _require(_length_of(value) == given, path, f"a length of {given}", value)
    return dict(bound)


def _exact(_given: Any, _value: Any, bound: Bound, _path: Path) -> dict[str, Any]:
    return dict(bound)  # it concerns the other members, which are matched after the operators


OPERATORS: dict[str, Callable[[Any, Any, Bound, Path], dict[str, Any]]] = {
    "$any": _any,
    "$type": _type,
    "$capture": _capture,
    "$ref": _ref,
    "$contains": _contains,
    "$matches": _matches,
    "$absent": _absent,
    "$length": _length,
    "$exact": _exact,
}
