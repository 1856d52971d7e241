"""What is wrong with a config.toml: every problem with its line and what to do, where the gateway itself stops at the first.

Rule 1: what is a problem is decided in `gateway.config`; here each one is taken out of the way to see the next.
Rule 2: a value is never shown.
"""

import difflib
import re
from typing import Any, NamedTuple, cast

from gateway.config import ConfigError, parsed, taken
from protocol.setting_meanings import MEANINGS
from protocol.setting_table import settings

MOST = 100
"""Problems told of one file; who has more begins anew."""

_TABLE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"\s*([A-Za-z0-9_.\"' -]+?)\s*=")
_AT_LINE = re.compile(r"line (\d+)")


class Problem(NamedTuple):
    """Something wrong: the key, its line where it is known, what it is and what to do."""

    line: int | None
    key: str
    problem: str
    hint: str
    is_error: bool = True


def problems(text: str) -> list[Problem]:
    """Everything that is wrong with a file's text; what is only ignored is no error."""
    try:
        document = parsed(text)
    except ConfigError as error:
        where = _AT_LINE.search(str(error))
        hint = "texts stand in quotes, tables in [brackets], one key a line"
        return [Problem(int(where[1]) if where else None, "", str(error), hint)]
    places = lines_of(text)
    found: list[Problem] = []
    while len(found) < MOST:
        try:
            unknown = taken(document)[1]
        except ConfigError as error:
            key, _, problem = str(error).partition(": ")
            found.append(Problem(_line(places, key), key, problem, _hint(key)))
            if not _take_out(document, key.split(".")):
                return found
        else:
            found += [
                Problem(_line(places, key), key, "there is no such key; it is ignored", _meant(key), is_error=False)
                for key in unknown
            ]
            break
    return sorted(found, key=lambda one: one.line or 0)


def lines_of(text: str) -> dict[str, int]:
    """The line of each key and table, by dotted name."""
    places: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if (header := _TABLE.match(line)) is not None:
            table = _bare(header[1])
            places.setdefault(table, number)
        elif (entry := _KEY.match(line)) is not None and not line.lstrip().startswith("#"):
            name = _bare(entry[1])
            places.setdefault(f"{table}.{name}" if table else name, number)
    return places


def _bare(name: str) -> str:
    return ".".join(part.strip(" \"'") for part in name.split("."))


def _line(places: dict[str, int], key: str) -> int | None:
    """The line of a key, or of the nearest table around it."""
    while key:
        if key in places:
            return places[key]
        key = key.rpartition(".")[0]
    return None


def _known(key: str) -> str:
    """A key of the file as the table of settings names it: all providers are alike."""
    parts = key.removeprefix("gateway.").split(".")
    return f"providers.{parts[-1]}" if parts[0] == "providers" and len(parts) > 2 else ".".join(parts)


def _hint(key: str) -> str:
    known = next((setting for setting in settings() if setting.key == _known(key)), None)
    return f"{known.allowed}; default: {known.shown_default}" if known is not None else ""


def _meant(key: str) -> str:
    near = difflib.get_close_matches(_known(key), MEANINGS, n=1)
    return f"did you mean {near[0]}?" if near else "`pioneer config init` writes a file with every key"


def _take_out(document: dict[str, Any], path: list[str]) -> bool:
    """Remove a key, or what stands in its place, so that the next problem shows; False when nothing is left to remove."""
    table = document
    for name in path[:-1]:
        following = table.get(name)
        if not isinstance(following, dict):
            return table.pop(name, None) is not None
        table = cast("dict[str, Any]", following)
    if table.pop(path[-1], None) is not None:
        return True
    return len(path) > 1 and _take_out(document, path[:-1])  # a key that is missing: its table goes
