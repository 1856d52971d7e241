"""Resources that a client reads without a tool, and prompts with which its user begins a message.

Rule 1: MCP has prompts for the user to take, not the model. So the words given to `remember` and `forget` are the
user's own.
Rule 2: an unknown address and one of something that may not be shown have the same answer: not found.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

import anyio

from gateway.doors.mcp.door import Caller, McpDoor
from knowledge.search.addresses import quote_path
from promt import load
from promt.render import UNSEEN
from protocol.errors import CallerError, GatewayError, Unavailable

MAX_ARGUMENT_CHARS = 4096
"""The most characters of an argument: those of a search's query."""
BRIEF_URI = "memory://brief"

_RECORD = re.compile(r"memory://record/(?P<id>[^/?#]{1,400})\Z")
_TURN = re.compile(
    r"memory://thread/(?P<id>[^/?#]{1,400})/turn/(?P<number>[1-9][0-9]{0,8})(?:\?from=(?P<start>[0-9]{1,9}))?\Z"
)
_FILE = re.compile(
    r"knowledge://(?P<collection>[^/?#]{1,200})/(?P<path>[^?#]{1,8192})"
    r"(?:\?(?P<range>(?:from|to)=[1-9][0-9]{0,8}(?:&(?:from|to)=[1-9][0-9]{0,8})?))?\Z"
)
_PLACE = re.compile(r"\{(words|found)\}")


class Template(NamedTuple):
    """Resources whose addresses fit one RFC 6570 template."""

    uri: str
    name: str
    description: str


TEMPLATES = (
    Template("memory://record/{id}", "record", "One remembered fact, whole."),
    Template(
        "memory://thread/{id}/turn/{n}{?from}",
        "turn",
        "What was said in a turn of an earlier conversation, from 1. A long one says where it goes on.",
    ),
    Template(
        "knowledge://{collection_id}/{+path}{?from,to}",
        "file",
        "Lines of a file of the user's collections as they are now. A long one says where it goes on.",
    ),
)


class Argument(NamedTuple):
    """An argument of a prompt."""

    name: str
    description: str


class Offer(NamedTuple):
    """A prompt as it is listed."""

    description: str
    argument: Argument | None = None


PROMPTS: Mapping[str, Offer] = {
    "recall": Offer("What is known about something", Argument("query", "What it is about, in a few words")),
    "remember": Offer("Keep a fact", Argument("fact", "What to keep, in your own words")),
    "forget": Offer("Forget something", Argument("what", "What to forget, in a few words")),
    "session_brief": Offer("What to know about you and this project at the beginning"),
}


async def read(door: McpDoor, uri: str, caller: Caller) -> str:
    """Return a resource's text. Raises `CallerError("not_found")`, or another error of the service."""
    if uri == BRIEF_URI:
        return await door.brief()
    turn = _TURN.match(uri)
    if turn is not None:
        return await door.render_turn(unquote(turn["id"]), int(turn["number"]), int(turn["start"] or 0))
    file = _FILE.match(uri)
    if file is not None:
        return await _lines_of(door, file, caller)
    record = _RECORD.match(uri)
    if record is None:
        raise CallerError.missing("resource")
    answer = await door.call("memory_get", {"memory_id": unquote(record["id"])}, caller)
    if answer.code not in {None, "invalid_params"}:
        raise Unavailable(message=answer.text)
    if answer.data is None or answer.data["record"] is None:
        raise CallerError.missing("memory")
    return answer.text


async def _lines_of(door: McpDoor, file: re.Match[str], caller: Caller) -> str:
    """Return lines of a file that is indexed. Raises `CallerError("not_found")`."""
    lines = {name: int(value) for name, value in parse_qsl(file["range"] or "")}
    address = f"{unquote(file['collection'])}:{quote_path(unquote(file['path']))}"
    given = {"address": address, **{f"{name}_line": line for name, line in lines.items()}}
    answer = await door.call("knowledge_read", given, caller)
    if answer.code in {"not_found", "invalid_params"}:
        raise CallerError.missing("indexed file")
    if answer.data is None:
        raise Unavailable(message=answer.text)
    return answer.text


async def _render_recall(door: McpDoor, words: str, caller: Caller) -> str:
    """Return the texts of both searches, which run side by side: where one is late or fails, the other is shown."""
    found: dict[str, str] = dict.fromkeys(("memory_search", "thread_search"), "")

    async def search(name: str) -> None:
        found[name] = (await door.call(name, {"query": words}, caller)).text

    async with anyio.create_task_group() as tasks:
        for name in found:
            tasks.start_soon(search, name)
    return "\n\n".join(found.values())


async def _brief(door: McpDoor, _words: str, _caller: Caller) -> str:
    try:
        return await door.brief()
    except GatewayError as error:
        return f"{error.reason}: {error.message}"


_FINDERS: Mapping[str, Callable[[McpDoor, str, Caller], Awaitable[str]]] = {
    "recall": _render_recall,
    "session_brief": _brief,
}


async def render(door: McpDoor, name: str, arguments: Mapping[str, str], caller: Caller) -> str:
    """Return a prompt's message.

    Raises `CallerError` for an unknown prompt, and for an argument that is unknown, missing or too long.
    """
    offer = PROMPTS.get(name)
    if offer is None:
        raise CallerError.missing("prompt")
    words = _words_of(offer, arguments)
    found = await _FINDERS[name](door, words, caller) if name in _FINDERS else ""
    if name == "remember":
        door.allow_remembering(words)
    elif name == "forget":
        door.allow_forgetting(words)
    given = {"words": words, "found": found}
    return _PLACE.sub(lambda place: given[place[1]], load(f"mcp_{name}").text)


def _words_of(offer: Offer, arguments: Mapping[str, str]) -> str:
    """Return the value of a prompt's argument; empty for a prompt without one. Raises `CallerError`."""
    wanted = offer.argument.name if offer.argument is not None else None
    for name in arguments:
        if name != wanted:
            raise CallerError.at("$.arguments", "There is no such argument")
    if wanted is None:
        return ""
    words = UNSEEN.sub("", arguments.get(wanted, "")).strip()
    if not words or len(words) > MAX_ARGUMENT_CHARS:
        raise CallerError.at(f"$.arguments.{wanted}", f"Give 1 to {MAX_ARGUMENT_CHARS} characters")
    return words
