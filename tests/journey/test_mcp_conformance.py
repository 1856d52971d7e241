"""The scenarios of the public MCP conformance suite that a server of tools over stdio can be asked, as raw messages.

Each function is named for its scenario; `docs/mcp.md` lists them, and those that do not apply with the reason.
"""

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from mcp_stage import Raw, spoken_to
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
)
from spawned import journey

DOCS = Path(__file__).resolve().parents[2] / "docs" / "mcp.md"
MODERN = "2026-07-28"
NEVER = "test://nonexistent-resource-for-conformance-testing"
FACT = {"name": "memory_remember", "arguments": {"content": "The user keeps bees on the roof."}}
CACHEABLE = {
    "tools/list": {},
    "prompts/list": {},
    "resources/list": {},
    "resources/templates/list": {},
    "resources/read": {"uri": "memory://brief"},
}
REMOVED = ("ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "no/such")

Story = Callable[[Raw], Awaitable[None]]


def envelope(**capabilities: Any) -> dict[str, Any]:
    """What every request of the newest revision carries."""
    return {
        PROTOCOL_VERSION_META_KEY: MODERN,
        CLIENT_INFO_META_KEY: {"name": "conformance", "version": "1"},
        CLIENT_CAPABILITIES_META_KEY: capabilities,
    }


# -- with a handshake ------------------------------------------------------------------------------------------------


async def server_initialize(raw: Raw) -> None:
    early = await raw.ask("tools/list")
    assert early["error"]["code"] == -32602
    said = await raw.result(
        "initialize",
        {
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "c", "version": "1"},
        },
    )
    assert said["protocolVersion"] == "2025-11-25"
    assert said["serverInfo"]["name"] == "pioneer"
    assert set(said["capabilities"]) == {"tools", "resources", "prompts"}
    await raw.send({"method": "notifications/initialized"})


async def ping(raw: Raw) -> None:
    assert await raw.result("ping") == {}


async def tools_list(raw: Raw) -> None:
    tools = (await raw.result("tools/list"))["tools"]
    for tool in tools:
        assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", tool["name"])
        assert tool["description"]
        assert tool["inputSchema"]["type"] == "object"
    assert len({tool["name"] for tool in tools}) == len(tools)


async def json_schema_2020_12(raw: Raw) -> None:
    for tool in (await raw.result("tools/list"))["tools"]:
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            Draft202012Validator.check_schema(schema)
            assert "$ref" not in json.dumps(schema)
            assert schema["type"] == "object"


async def tools_call_simple_text(raw: Raw) -> None:
    result = await raw.result("tools/call", {"name": "memory_search", "arguments": {"query": "bees"}})
    (content,) = result["content"]
    assert content["type"] == "text"
    assert content["text"]
    assert result.get("isError", False) is False


async def tools_call_error(raw: Raw) -> None:
    result = await raw.result("tools/call", {"name": "memory_search", "arguments": {"query": 1}})
    assert result["isError"] is True
    assert result["content"][0]["type"] == "text"
    assert (await raw.error("tools/call", {"name": "no_such_tool", "arguments": {}}))["code"] == -32602


async def tools_call_elicitation(raw: Raw) -> None:
    await raw.send({"id": "ask", "method": "tools/call", "params": FACT})
    asked = await raw.read()
    assert asked["method"] == "elicitation/create"
    assert FACT["arguments"]["content"] in asked["params"]["message"]
    assert asked["params"]["requestedSchema"]["type"] == "object"
    await raw.send({"id": asked["id"], "result": {"action": "accept", "content": {"keep": True}}})
    answer = await raw.read()
    assert answer["id"] == "ask"
    assert answer["result"]["structuredContent"]["status"] == "saved"


async def resources_list(raw: Raw) -> None:
    for entry in (await raw.result("resources/list"))["resources"]:
        assert entry["uri"].startswith("memory://")
        assert entry["name"]


async def resources_read_text(raw: Raw) -> None:
    (content,) = (await raw.result("resources/read", {"uri": "memory://brief"}))["contents"]
    assert (content["uri"], content["mimeType"]) == ("memory://brief", "text/plain")
    assert "bees" in content["text"]


async def resources_templates_read(raw: Raw) -> None:
    (kept,) = (await raw.result("tools/call", {"name": "memory_list"}))["structuredContent"]["records"]
    templates = (await raw.result("resources/templates/list"))["resourceTemplates"]
    uri = templates[0]["uriTemplate"].replace("{id}", kept["memory_id"])
    assert "bees" in (await raw.result("resources/read", {"uri": uri}))["contents"][0]["text"]


async def prompts_list(raw: Raw) -> None:
    for entry in (await raw.result("prompts/list"))["prompts"]:
        assert entry["name"]
        assert entry["description"]
        assert all(argument["name"] and argument["description"] for argument in entry.get("arguments", []))


async def prompts_get_simple(raw: Raw) -> None:
    (message,) = (await raw.result("prompts/get", {"name": "session_brief"}))["messages"]
    assert (message["role"], message["content"]["type"]) == ("user", "text")


async def prompts_get_with_args(raw: Raw) -> None:
    given = {"name": "recall", "arguments": {"query": "bees on the roof"}}
    (message,) = (await raw.result("prompts/get", given))["messages"]
    assert "bees on the roof" in message["content"]["text"]


# -- without one -----------------------------------------------------------------------------------------------------


async def server_stateless(raw: Raw) -> None:
    raw.meta = envelope()
    found = await raw.result("server/discover")
    assert found["supportedVersions"] == [MODERN]
    assert set(found["capabilities"]) == {"tools", "resources", "prompts"}
    assert found["_meta"][SERVER_INFO_META_KEY]["name"] == "pioneer"
    for missing in (PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY):
        torn = {name: value for name, value in raw.meta.items() if name != missing}
        assert (await raw.error("tools/list", meta=torn))["code"] == -32602
    assert (await raw.error("tools/list", meta={}))["code"] == -32602
    unnamed = {name: value for name, value in raw.meta.items() if name != CLIENT_INFO_META_KEY}
    assert (await raw.result("tools/list", meta=unnamed))["tools"]
    strange = await raw.error("tools/list", meta=raw.meta | {PROTOCOL_VERSION_META_KEY: "1999-01-01"})
    assert (strange["code"], strange["data"]) == (-32022, {"supported": [MODERN], "requested": "1999-01-01"})
    for method in REMOVED:
        assert (await raw.error(method))["code"] == -32601, method
    await raw.result("tools/call", {"name": "memory_search", "arguments": {"query": "bees"}})
    assert raw.others == []  # no request and no log line of our own


async def caching(raw: Raw) -> None:
    for method, params in CACHEABLE.items():
        result = await raw.result(method, params)
        assert isinstance(result["ttlMs"], int)
        assert result["ttlMs"] >= 0
        assert result["cacheScope"] == "private"


async def sep_2164_resource_not_found(raw: Raw) -> None:
    error = await raw.error("resources/read", {"uri": NEVER})
    assert (error["code"], error["data"]) == (-32602, {"uri": NEVER})


async def input_required_result_capability_check(raw: Raw) -> None:
    result = await raw.result("tools/call", FACT)  # this client cannot ask anybody
    assert result["resultType"] == "complete"
    assert result["structuredContent"]["status"] == "noted"


async def asked_first(raw: Raw, **more: Any) -> dict[str, Any]:
    """The question that a call ends with."""
    raw.meta = envelope(elicitation={"form": {}})
    result = await raw.result("tools/call", FACT | more)
    assert result["resultType"] == "input_required"
    return result


def yes(state: str | None, **more: Any) -> dict[str, Any]:
    """The call again, with the user's consent."""
    answers = {"inputResponses": {"keep": {"action": "accept", "content": {"keep": True}}, **more}}
    return FACT | answers | ({"requestState": state} if state is not None else {})


async def input_required_result_basic_elicitation(raw: Raw) -> None:
    request = (await asked_first(raw))["inputRequests"]["keep"]
    assert request["method"] == "elicitation/create"
    assert FACT["arguments"]["content"] in request["params"]["message"]


async def input_required_result_result_type(raw: Raw) -> None:
    assert (await asked_first(raw))["resultType"] == "input_required"


async def input_required_result_missing_input_response(raw: Raw) -> None:
    state = (await asked_first(raw))["requestState"]
    wrong = {"inputResponses": {"other": {"action": "accept"}}, "requestState": state}
    assert (await asked_first(raw, **wrong))["inputRequests"]
    await asked_first(raw, **{name: value for name, value in yes(None).items() if name == "inputResponses"})


async def input_required_result_validate_input(raw: Raw) -> None:
    answer = await raw.ask("tools/call", FACT | {"inputResponses": {"keep": 12345}})
    assert "error" in answer or answer["result"]["resultType"] == "input_required"


async def input_required_result_tampered_state(raw: Raw) -> None:
    state = (await asked_first(raw))["requestState"]
    tampered = ("0" if state[0] != "0" else "1") + state[1:]
    assert (await raw.error("tools/call", yes(tampered)))["code"] == -32602
    swapped = yes(state) | {"arguments": {"content": "The user owes me money."}}
    assert (await raw.error("tools/call", swapped))["code"] == -32602
    listed = (await raw.result("tools/call", {"name": "memory_list"}))["structuredContent"]["records"]
    assert [record["voice"] for record in listed] == ["machine"]


async def input_required_result_unsupported_methods(raw: Raw) -> None:
    for method in ("tools/list", "prompts/list", "resources/list"):
        assert (await raw.result(method))["resultType"] == "complete"


async def input_required_result_request_state(raw: Raw) -> None:
    state = (await asked_first(raw))["requestState"]
    assert state == (await asked_first(raw))["requestState"]
    result = await raw.result("tools/call", yes(state))
    assert result["resultType"] == "complete"
    assert result["structuredContent"]["status"] == "saved"


async def input_required_result_ignore_extra_params(raw: Raw) -> None:
    state = (await asked_first(raw))["requestState"]
    result = await raw.result("tools/call", yes(state, other={"action": "decline"}))
    assert result["structuredContent"]["status"] == "duplicate"


WITH_HANDSHAKE: tuple[Story, ...] = (
    server_initialize,
    ping,
    tools_list,
    json_schema_2020_12,
    tools_call_simple_text,
    tools_call_error,
    tools_call_elicitation,
    resources_list,
    resources_read_text,
    resources_templates_read,
    prompts_list,
    prompts_get_simple,
    prompts_get_with_args,
)
WITHOUT: tuple[Story, ...] = (
    server_stateless,
    caching,
    tools_list,
    json_schema_2020_12,
    sep_2164_resource_not_found,
    input_required_result_capability_check,
    input_required_result_basic_elicitation,
    input_required_result_result_type,
    input_required_result_missing_input_response,
    input_required_result_validate_input,
    input_required_result_tampered_state,
    input_required_result_unsupported_methods,
    input_required_result_request_state,
    input_required_result_ignore_extra_params,
)


async def told(raw: Raw, stories: tuple[Story, ...]) -> None:
    for story in stories:
        try:
            await story(raw)
        except Exception as error:
            error.add_note(f"scenario {story.__name__}")
            raise


@journey
async def test_scenarios_of_revisions_with_a_handshake(tmp_path: Path) -> None:
    async with spoken_to(tmp_path) as raw:
        await told(raw, WITH_HANDSHAKE)


@journey
async def test_scenarios_of_the_revision_without(tmp_path: Path) -> None:
    async with spoken_to(tmp_path) as raw:
        await told(raw, WITHOUT)


def test_the_documentation_lists_what_is_played_here() -> None:
    played = {story.__name__.replace("_", "-") for story in (*WITH_HANDSHAKE, *WITHOUT)}
    part = DOCS.read_text(encoding="utf-8").partition("## Conformance")[2]
    listed, _, _ = part.partition("Not applicable")
    assert played == {name for name in re.findall(r"`([a-z0-9-]+)`", listed) if name != "pioneer"}
