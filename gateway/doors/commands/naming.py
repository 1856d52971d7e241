"""Names of memories on the command line: an id, a key, or words that only one memory has.

Rule 1: words name the one memory whose content is just them, else the one that has all of them. Where there are
several, or none, the choices are shown, and the command does nothing.
Rule 2: an id is found from every folder: it names one memory of the home, whichever project that belongs to.
Rule 3: a restore also searches forgotten memories; their words are not shown.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from gateway.base.exit_codes import NEGATIVE, USAGE
from gateway.doors.commands.door import HomeMethods
from gateway.doors.commands.forgotten import find_forgotten
from gateway.doors.commands.options import context_of, scope_of, workspace_here
from gateway.doors.commands.paging import collect_pages
from gateway.doors.commands.sensitive import hide_sensitive
from gateway.doors.terminal.exits import Stop
from gateway.doors.terminal.screen import show_table, when
from memory.rules.identity import fold_text
from protocol import methods as m
from protocol.errors import CallerError, Refused
from protocol.methods import Method
from protocol.record import Record

NOT_THERE = "there is no such memory, or it belongs to another scope, or it was forgotten (`pioneer list --forgotten`)"
KEY_SCOPES = ("workspace", "user")
"""The scopes in which a key is looked up where none is named, in this order."""
MOST = 100
"""The most hits that are compared with the words."""
SHOWN = 10
"""The most choices that are shown."""


class AmbiguousError(Stop):
    """Words that several memories have, or none has all of; `details` holds the ids of the choices for a program."""

    def __init__(self, line: str, choices: Sequence[Record]) -> None:
        self.details = {"choices": [one.memory_id for one in choices]}
        super().__init__(USAGE, line)


def is_id(words: str) -> bool:
    """Return whether words have the form of a memory's id."""
    return words.startswith("mem_") and " " not in words


async def reach(
    door: HomeMethods, given: argparse.Namespace, method: Method[Any, Any], params: dict[str, Any], member: str
) -> bool:
    """Enter the workspace in which `method` answers with a `member`; return whether there is one.

    It may be another one than the folder's, as an id may come from an assistant that works in another project; it is
    then named on stderr. A workspace that an option names is not left.
    """

    async def is_known() -> bool:
        try:
            return getattr(await door.call(method, params), member) is not None
        except (CallerError, Refused):
            return False

    if await is_known():
        return True
    if given.workspace != workspace_here():
        return False
    for other in (await collect_pages(door, m.WORKSPACE_LIST, {}, "workspaces", None)).workspaces:
        door.enter(other.workspace_id)
        if await is_known():
            door.hint_at_project(other)
            return True
    door.enter(given.workspace)
    return False


async def reach_memory(door: HomeMethods, memory_id: str, given: argparse.Namespace) -> bool:
    """Enter the workspace that has the memory of this id, forgotten or not; return whether there is one."""
    params = {"memory_id": memory_id, "include_deleted": True, "context": context_of(given)}
    return await reach(door, given, m.MEMORY_GET, params, "record")


async def find_memory(door: HomeMethods, words: str, given: argparse.Namespace) -> Record | None:
    """Return the memory of this id, else of this key, else with these words; None where there is none.

    Raises `AmbiguousError`.
    """
    if is_id(words):
        await reach_memory(door, words, given)
    if (found := await _find_by_name(door, words, given)) is not None or is_id(words):
        return found
    params = {"query": words, "mode": "lexical", "limit": MOST, "include_sensitive": True, "context": context_of(given)}
    hits = (await door.call(m.MEMORY_SEARCH, params)).hits
    records = [hit.record for hit in hits]
    return _choose(door, words, records, lambda shown: _show_records(shown, given))


async def name_memory(door: HomeMethods, words: str, given: argparse.Namespace) -> str:
    """Return the id of the memory that words name; an id is returned unchecked. Raises `Stop` where there is none."""
    if is_id(words):
        await reach_memory(door, words, given)
        return words
    found = await find_memory(door, words, given)
    if found is None:
        raise Stop(NEGATIVE, NOT_THERE)
    return found.memory_id


async def name_forgotten(door: HomeMethods, words: str, given: argparse.Namespace) -> str:
    """Return the id of the forgotten memory that words name; an id is returned unchecked. Raises `Stop`."""
    if is_id(words):
        await reach_memory(door, words, given)
        return words
    context = context_of(given)
    forgotten = await find_forgotten(door, context)
    asked = ({"memory_id": one.memory_id, "include_deleted": True, "context": context} for one in forgotten)
    records = [record for one in asked if (record := (await door.call(m.MEMORY_GET, one)).record) is not None]
    found = _choose(door, words, _holding_any(door, words, records), lambda shown: _show_forgotten(shown, given))
    if found is None:
        raise Stop(
            NEGATIVE,
            "nothing that was forgotten has these words; `pioneer list --forgotten` shows what can be restored",
        )
    return found.memory_id


async def _find_by_name(door: HomeMethods, name: str, given: argparse.Namespace) -> Record | None:
    """Return the memory of an id, else of a key in the workspace, else of a key of the user; None without any."""
    context = context_of(given)
    wanted = [{"memory_id": name}, *({"scope": scope_of(scope, given), "key": name} for scope in KEY_SCOPES)]
    for params in wanted[:1] if is_id(name) else wanted:
        try:
            record = (await door.call(m.MEMORY_GET, params | {"context": context})).record
        except CallerError:  # no id or key can look like that, but words can
            continue
        if record is not None:
            return record
    return None


def _choose(
    door: HomeMethods, words: str, records: Sequence[Record], show: Callable[[Sequence[Record]], None]
) -> Record | None:
    """Return the one record whose content is the words, else the one that has all of them; None without records.

    Raises `AmbiguousError` after `show` was called with the choices.
    """
    equal = [one for one in records if fold_text(one.content) == fold_text(words)]
    named = equal or [one for one in records if _list_terms(door, words) <= _list_terms_of(door, one)]
    if len(named) == 1:
        return named[0]
    if not records:
        return None
    choices = (named or records)[:SHOWN]
    show(choices)
    if named:
        line = f"{len(named)} memories have the words {words!r}: name one by its id, or by more words"
    else:
        line = f"no memory has all of the words {words!r}; these have some: name one by its id"
    raise AmbiguousError(line, choices)


def _holding_any(door: HomeMethods, words: str, records: Sequence[Record]) -> list[Record]:
    asked = _list_terms(door, words)
    return [one for one in records if asked & _list_terms_of(door, one)]


def _list_terms(door: HomeMethods, words: str) -> set[str]:
    return set(door.lexicon.query_terms(words))


def _list_terms_of(door: HomeMethods, record: Record) -> set[str]:
    """Return the terms by which a record is found; "Büro" has those of "Buero", too."""
    return set(door.lexicon.index_terms(" ".join([record.content, *record.tags])))


def _show_records(records: Sequence[Record], given: argparse.Namespace) -> None:
    if not given.json:
        show_table(
            ["id", "category", "content"],
            [[one.memory_id, one.category, hide_sensitive(one)] for one in records],
            to=sys.stderr,
        )


def _show_forgotten(records: Sequence[Record], given: argparse.Namespace) -> None:
    if not given.json:
        rows = [[one.memory_id, one.category, when(one.updated_at)] for one in records]
        show_table(["id", "category", "forgotten"], rows, to=sys.stderr)
