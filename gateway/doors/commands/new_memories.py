"""`pioneer remember`: a new memory in a person's own words."""

import argparse
import json
import shlex
from typing import Any, NamedTuple, get_args

from gateway.base.exit_codes import DATA, OK
from gateway.doors.commands import Command
from gateway.doors.commands.door import HomeMethods, read_configuration, through_door
from gateway.doors.commands.memories import show_records
from gateway.doors.commands.options import (
    add_context,
    add_place,
    context_of,
    number,
    present,
    scope_of,
    text_of,
    time_of,
)
from gateway.doors.commands.sensitive import is_sensitive
from gateway.doors.terminal.exits import Stop
from gateway.doors.terminal.screen import hint, plain, show_json, words
from protocol import methods as m
from protocol.base import USER_SCOPE_KEY
from protocol.memory.values import SemanticFields
from protocol.memory.writes import RememberResult
from protocol.record import Category, Kind, Record, Sensitivity


def _no_number(name: str) -> Any:
    raise ValueError(name)  # NaN and its like are no JSON


def value_of(text: str | None) -> Any:
    """Return the value of an option that takes JSON; None without one. Raises `Stop`."""
    try:
        return None if text is None else json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Stop(DATA, "--value takes JSON, such as '\"tea\"' or 42") from None


def _arrange_remember(to: argparse.ArgumentParser) -> None:
    add_place(to)
    add_context(to)
    to.add_argument("text", nargs="+", metavar="TEXT", help="one fact in plain words; `-` reads stdin")
    to.add_argument(
        "--category", choices=get_args(Category), metavar="NAME", help="default: by what the words state, else custom"
    )
    to.add_argument("--kind", choices=get_args(Kind), metavar="NAME", help="default: semantic")
    to.add_argument("--key", help="a name for the fact; a later one of the same key replaces it")
    to.add_argument("--scope", metavar="SCOPE", help="user, workspace, agent, thread (default: by category)")
    to.add_argument("--path", help="a relative path to file it under; a later one of the same path replaces it")
    to.add_argument("--tag", action="append", metavar="TAG", help="repeatable")
    to.add_argument("--value", metavar="JSON", help="the fact's value for programs")
    to.add_argument("--importance", type=number, metavar="0..1")
    to.add_argument("--sensitivity", choices=get_args(Sensitivity), metavar="NAME", help="such as regulated")
    to.add_argument("--expires", metavar="TIME", help="a date, or a span such as 30d")
    to.add_argument("--replaces", metavar="ID", help="the memory that this one takes the place of")


class KeptFact(NamedTuple):
    """The outcome of `remember`, with the memory that was replaced."""

    result: RememberResult
    replaced: Record | None


def understand(text: str, workspace_id: str) -> dict[str, Any]:
    """Return the members of a call that rules without a model read from a text: category, attribute, value and scope.

    The result is empty for a text with several statements, or with none that the rules know.
    """
    # imported here, as the tables of languages that they load serve this alone
    from memory.extraction.rule_extraction import extract_statements, file_in_workspace  # noqa: PLC0415
    from memory.rules.categories import PROJECT_CATEGORIES  # noqa: PLC0415
    from memory.rules.identity import fold_text  # noqa: PLC0415

    for said in (text, f"Remember that {text}"):
        facts = file_in_workspace(extract_statements({"": said}), workspace_id)
        if len(facts) == 1:
            [fact] = facts
            found: dict[str, Any] = {"category": fact.semantic.category}
            # a text that says more than the fact replaces none: the rest would be lost with the replaced memory
            if fold_text(text).endswith(fold_text(fact.content)):
                found |= present(attribute=_single_attribute_of(fact.semantic), value=fact.value)
            if fact.semantic.scope_hint == "user_global" and fact.semantic.category in PROJECT_CATEGORIES:
                found["scope"] = {"kind": "user", "key": USER_SCOPE_KEY}  # an allergy holds in every project
            return found
        if facts:
            break  # several statements have no category in common
    return {}


def _single_attribute_of(semantic: SemanticFields) -> str | None:
    """Return the attribute of a fact if it has one value at a time, else None: only such a fact replaces another."""
    if semantic.cardinality != "single":
        return None
    return semantic.custom_attribute or semantic.attribute


def _remember(given: argparse.Namespace) -> int:
    text = text_of(given.text)
    understood = understand(text, given.workspace) if given.category is None else {}
    if "scope" in understood and not read_configuration(given).config.memory.allow_global_user_by_default:
        del understood["scope"]
    params = understood | present(
        content=text,
        category=given.category,
        kind=given.kind,
        key=given.key,
        path=given.path,
        tags=given.tag,
        scope=scope_of(given.scope, given) if given.scope else None,
        value=value_of(given.value),
        importance=given.importance,
        sensitivity=given.sensitivity,
        supersedes=given.replaces,
        expires_at=time_of(given.expires, is_future=True),
        context=context_of(given),
        provenance={"source_kind": "explicit_user_request", "created_by": {"kind": "user", "id": "cli"}},
    )

    async def work(door: HomeMethods) -> KeptFact:
        await door.ensure_workspace(given.workspace)
        result = await door.call(m.MEMORY_REMEMBER, params)
        if result.superseded_memory_id is None:
            return KeptFact(result, None)
        asked = {"memory_id": result.superseded_memory_id, "context": context_of(given)}
        return KeptFact(result, (await door.call(m.MEMORY_GET, asked)).record)

    kept = through_door(given, work, "write", makes_home=True)
    if given.json:
        show_json(kept.result)
    else:
        _show_kept(kept)
    return OK


def _show_kept(kept: KeptFact) -> None:
    """Show the memory, and beside it the replaced one, the reason, and the way to undo it."""
    result, replaced = kept
    hint("kept:" if result.created else "known already:", "green")
    show_records([result.record])
    if replaced is not None:
        hint(f"in place of: {plain(replaced.content)}", "yellow")
    reasons = sorted(result.decision.factors, key=lambda factor: -factor.contribution)
    hint(f"why: {reasons[0].why if reasons else words(result.decision.reason_code)}")
    if is_sensitive(result.record):
        hint("sensitive: `search` and `list` show it with --sensitive alone")
    if replaced is not None:
        hint_way_back(result.record, replaced)
    elif result.created:
        hint(f"to undo: pioneer forget {result.record.memory_id}")


def hint_way_back(record: Record, replaced: Record) -> None:
    """Write the command that undoes a correction."""
    hint(f"to undo: pioneer edit {record.memory_id} {shlex.quote(plain(replaced.content))}")


COMMANDS = {
    "remember": Command(
        _arrange_remember,
        _remember,
        '  pioneer remember "I take my coffee without sugar." --category preference\n'
        '  echo "The harbour office opens at nine." | pioneer remember -\n'
        '  pioneer remember "Releases go out on Thursdays." --category project_policy --key "release day"',
    ),
}
