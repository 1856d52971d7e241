"""Complaints of the contract's checks, in words for a person: no type names, no patterns.

Rule 1: pure; a value is never repeated. A complaint that no row knows stays as it is.
"""

import re
from collections.abc import Callable
from typing import Final

from promt.patterns import compile_late
from protocol.base import ID_TEXT, WITHOUT_NUL
from protocol.files.collections import COLLECTION_TEXT
from protocol.files.knowledge import SOURCE_TEXT
from protocol.settings import BASE_URL_TEXT, BIND_TEXT, HOST_TEXT, ORIGIN_TEXT

_NAMES: Final = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_TYPE: Final = r"Expected `(?P<type>[^`]*)`"
_ID_WORDS: Final = "must be an id: letters, digits and _ . : -, at most 128 of them"


def _describe_length(found: re.Match[str]) -> str:
    """Return a bound of length in words: characters of a text, entries of a list."""
    unit = "characters" if found["type"].startswith("str") else "entries"
    bound = int(found["bound"])
    if found["sign"] == "<=":
        return f"must have at most {bound} {unit}"
    return "must not be empty" if bound == 1 else f"must have at least {bound} {unit}"


def _name_types(types: str) -> str:
    return " or ".join(_NAMES.get(name.strip(), name.strip()) for name in types.split("|"))


def _describe_types(found: re.Match[str]) -> str:
    return f"must be {_name_types(found['type'])}, not {_name_types(found['got'])}"


def _form_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern of the complaint that `protocol.base.matching` makes of a string in another form."""
    pattern = rf"^{text}\Z"
    return re.compile(re.escape(f"Expected `str` matching regex {pattern!r}"))


ROWS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    (compile_late(rf"{_TYPE} of length (?P<sign><=|>=) (?P<bound>\d+)"), _describe_length),
    (compile_late(rf"{_TYPE} <= (?P<bound>\S+)"), lambda found: f"must be at most {_short(found['bound'])}"),
    (compile_late(rf"{_TYPE} >= (?P<bound>\S+)"), lambda found: f"must be at least {_short(found['bound'])}"),
    (_form_pattern(ID_TEXT), lambda _found: _ID_WORDS),
    (
        _form_pattern(COLLECTION_TEXT),
        lambda _found: "must be the id of a collection: letters, digits and _ . -, at most 64 of them",
    ),
    (
        _form_pattern(SOURCE_TEXT),
        lambda _found: "must be file, conversation, memory, heartbeat, consolidation or collection:ID",
    ),
    (_form_pattern(BIND_TEXT), lambda _found: "must be an address of this machine, as 127.0.0.1"),
    (_form_pattern(HOST_TEXT), lambda _found: "must be a host's name or address, as box.example or box.example:8080"),
    (_form_pattern(ORIGIN_TEXT), lambda _found: "must be the origin of a page, as https://app.example"),
    (
        _form_pattern(BASE_URL_TEXT),
        lambda _found: "must begin with http:// or https://, without credentials, query or blanks",
    ),
    (_form_pattern(WITHOUT_NUL), lambda _found: "must not hold a NUL character (U+0000): that is no text"),
    (compile_late(r"Expected `str` matching regex .*", re.DOTALL), lambda _found: "must have another form"),
    (compile_late(rf"{_TYPE}, got `(?P<got>[^`]*)`"), _describe_types),
    (compile_late(r"Invalid (enum )?value .*", re.DOTALL), lambda _found: "is not one of the values that it takes"),
    (compile_late(r"Object missing required field `(?P<name>[^`]*)`"), lambda found: f"`{found['name']}` is missing"),
    (compile_late(r"Object contains unknown field `(?P<name>[^`]*)`"), lambda found: f"there is no `{found['name']}`"),
)
"""Complaints as msgspec writes them, each with its words."""


def _short(number: str) -> str:
    return number.removesuffix(".0")


def to_words(complaint: str) -> str:
    """Return a complaint of the contract's checks in words."""
    for pattern, word in ROWS:
        if (found := pattern.fullmatch(complaint)) is not None:
            return word(found)
    return complaint
