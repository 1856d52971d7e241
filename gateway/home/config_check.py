"""Every problem of a config.toml, with its line and a hint, where the gateway itself stops at the first.

Rule 1: `gateway.home.config` decides about problems; this module removes each one to find the next.
Rule 2: a value is never shown.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from gateway.base.addresses import OPEN, OWN, find_own_upstream, is_open_unasked
from gateway.home.config import ConfigError, apply_environment, parse, read, to_settings
from gateway.home.config_keys import UnknownKey, find_line, find_lines, find_unknown, table_of
from gateway.home.config_layers import read_environment
from protocol.reference.setting_table import settings, settings_of
from protocol.settings import GatewayConfig

MOST = 100
"""Problems reported of one file."""

_ENTRY = re.compile(r"\[\d+\]$")
"""The place of an entry in a list."""
_AT_LINE = re.compile(r"line (\d+)")


class Problem(NamedTuple):
    """A problem of one key: its line where it is known, a description and a hint."""

    line: int | None
    key: str
    problem: str
    hint: str


def find_problems(text: str) -> list[Problem]:
    """Return the problems of a file's text, by line; an empty list for a good file."""
    try:
        document = parse(text)
    except ConfigError as error:
        where = _AT_LINE.search(str(error))
        hint = "texts stand in quotes, tables in [brackets], one key a line"
        return [Problem(int(where[1]) if where else None, "", str(error), hint)]
    places = find_lines(text)
    found: list[Problem] = []
    while len(found) < MOST:
        try:
            config, unknown = to_settings(document)
        except ConfigError as error:
            key, _, problem = str(error).partition(": ")
            if key not in {one.key for one in found}:  # else it is required, and was taken out because it is wrong
                found.append(Problem(find_line(places, _ENTRY.sub("", key)), key, problem, _hint(key)))
            if not _take_out(document, key.split(".")):
                return found
        else:
            found += map(_problem_of_unknown, find_unknown(unknown, text))
            found += [
                Problem(find_line(places, key), key, reason, _hint(key)) for key, reason in _find_closed_doors(config)
            ]
            break
    return sorted(found, key=lambda one: one.line or 0)


def _find_closed_doors(config: GatewayConfig) -> Iterator[tuple[str, str]]:
    """Yield the key and the reason of each door that would not open; every other process works with that file."""
    for name, door in (("http", config.http), ("proxy", config.proxy)):
        if is_open_unasked(door, door.bind):
            yield f"gateway.{name}.bind", OPEN
    if (own := find_own_upstream(config.proxy, config.proxy.port)) is not None:
        yield f"gateway.proxy.upstreams.{own}.base_url", OWN


def find_environment_problems(environ: Mapping[str, str], text: str) -> list[Problem]:
    """Return the problems of variables that override settings, by themselves or beside a file's text."""
    try:
        filed, _ = read(text)
    except ConfigError:  # that problem is reported of the file
        filed = GatewayConfig()
    _, layer = apply_environment(filed, read_environment(environ))
    wrong = [Problem(None, one.variable, one.problem, "") for one in layer.wrong]
    return [*wrong, *map(_problem_of_unknown, layer.unknown)]


def _problem_of_unknown(one: UnknownKey) -> Problem:
    hint = f"did you mean {one.nearest}?" if one.nearest else "`pioneer config init` writes a file with every key"
    return Problem(one.line, one.key, "there is no such setting", hint)


def _hint(key: str) -> str:
    bare = _ENTRY.sub("", key.removeprefix("gateway."))
    if (named := table_of(bare)) is not None:
        known = next((one for one in settings_of(bare.rpartition(".")[0], named[1]) if one.key == bare), None)
    else:
        known = next((one for one in settings() if one.key == bare), None)
    return f"{known.allowed}; default: {known.shown_default}" if known is not None else ""


def _take_out(document: dict[str, Any], path: list[str]) -> bool:
    """Remove a key, or the value in its place, so that the next problem shows; return whether there was any."""
    table = document
    for name in path[:-1]:
        following = table.get(name)
        if not isinstance(following, dict):
            return table.pop(name, None) is not None
        table = cast("dict[str, Any]", following)
    if table.pop(path[-1], None) is not None:
        return True
    return len(path) > 1 and _take_out(document, path[:-1])  # a key that is missing: its table goes
