"""Complaints of the checks in words: each kind that msgspec makes, and no type name or pattern in any."""

import asyncio
from typing import Annotated, Any, Literal, cast

import msgspec
import pytest
from msgspec import Meta

from gateway.base.complaints import to_words
from gateway.wire.tool_complaints import word_complaints
from protocol.base import WITHOUT_NUL, Id, matching
from protocol.conversation.host_turns import ToolFailure, ToolReply
from protocol.tools import DOOR_TOOLS, TOOLS


class Checked(msgspec.Struct, forbid_unknown_fields=True):
    whole: Annotated[int, Meta(ge=1, le=5)] = 1
    unit: Annotated[float, Meta(ge=0, le=1)] = 1
    text: Annotated[str, Meta(min_length=1, max_length=5)] = "x"
    texts: Annotated[list[Annotated[str, Meta(min_length=2)]], Meta(max_length=3)] = []
    id: Id = "x"
    choice: Literal["a", "b"] = "a"
    switch: bool = True
    maybe: int | None = None
    form: Annotated[str, Meta(pattern="^x$")] = "x"
    said: Annotated[str, matching(WITHOUT_NUL), Meta(max_length=9)] = "x"
    table: dict[str, int] = {}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"whole": 0}, "must be at least 1"),
        ({"whole": 6}, "must be at most 5"),
        ({"unit": 1.5}, "must be at most 1"),
        ({"text": ""}, "must not be empty"),
        ({"text": "secret words"}, "must have at most 5 characters"),
        ({"texts": ["ab"] * 4}, "must have at most 3 entries"),
        ({"texts": ["a"]}, "must have at least 2 characters"),
        ({"id": "a b"}, "must be an id: letters, digits and _ . : -, at most 128 of them"),
        ({"form": "y"}, "must have another form"),
        ({"said": "a\0b"}, "must not hold a NUL character (U+0000): that is no text"),
        ({"choice": "secret"}, "is not one of the values that it takes"),
        ({"switch": 3}, "must be true or false, not a whole number"),
        ({"maybe": "x"}, "must be a whole number or null, not text"),
        ({"table": 3}, "must be an object, not a whole number"),
        ({"texts": None}, "must be a list, not null"),
        ({"other": 1}, "there is no `other`"),
    ],
)
def test_each_complaint_is_told_in_words(value: dict[str, Any], words: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(value, Checked)
    assert to_words(str(caught.value).partition(" - at ")[0]) == words


def test_another_complaint_stays_as_it_is() -> None:
    assert to_words("It is larger than 4 bytes") == "It is larger than 4 bytes"


async def _refuse(_context: Any, name: str, arguments: dict[str, Any]) -> ToolReply:
    """A tool that checks its arguments as every tool does."""
    try:
        msgspec.convert(arguments, (TOOLS | DOOR_TOOLS)[name][1])
    except msgspec.ValidationError as error:
        return ToolReply(ok=False, error=ToolFailure(code="invalid_params", message=str(error)))
    return ToolReply(ok=True)


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        (
            "memory_list",
            {"category": "todo"},
            "there is no `category` - at `$.category`. It takes: categories, scopes, limit, cursor",
        ),
        (
            "memory_forget",
            {"query": "x"},
            "there is no `query` - at `$.query`. It takes: memory_id, scope, key, reason",
        ),
        (
            "memory_list",
            {"scopes": [{"kind": "me", "key": "x"}]},
            "is not one of the values that it takes - at `$.scopes[0].kind`. It takes: agent, task, thread, user, workspace",
        ),
        (
            "memory_list",
            {"scopes": [{"kind": "user", "id": "x"}]},
            "there is no `id` - at `$.scopes[0].id`. It takes: kind, key",
        ),
        ("memory_get", {"scope": "user"}, "must be an object or null, not text - at `$.scope`. It takes: kind, key"),
        (
            "memory_list",
            {"sk-live-0815 x": 1},
            "it has a member that does not exist - at `$`. It takes: categories, scopes, limit, cursor",
        ),
        ("memory_search", {"query": "x", "limit": 99}, "must be at most 20 - at `$.limit`"),
    ],
)
def test_a_tool_names_what_it_takes_where_something_else_was_given(
    tool: str, arguments: dict[str, Any], words: str
) -> None:
    worded = word_complaints({tool: _refuse})[tool]
    context: Any = None
    reply = asyncio.run(cast("Any", worded(context, tool, arguments)))
    assert reply.error.message == words
