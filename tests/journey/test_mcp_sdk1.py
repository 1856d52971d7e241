"""`pioneer mcp` as a client of the 1.x SDK meets it, which is what many assistants have; its own process, for both SDKs
have one name."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp_stage import McpDen
from spawned import clean_environment

from gateway.doors.mcp.answers import ANSWERS

SDK = Path(sys.prefix) / "sdk1"
SESSION = Path(__file__).with_name("sdk1_session.py")
CALLS = {
    "proposed": "memory_remember",
    "order": "memory_remember",
    "found": "memory_search",
    "whole": "memory_get",
    "listed": "memory_list",
    "said": "thread_search",
    "forgotten": "memory_forget",
    "wished": "memory_remember",
}

pytestmark = pytest.mark.skipif(not SDK.is_dir(), reason="`make setup` puts the 1.x SDK into the environment")


def told(den: McpDen, answer: str) -> dict[str, Any]:
    """Everything that a session tells, by name."""
    ended = subprocess.run(
        [sys.executable, str(SESSION), answer, *den.command_of("--workspace", "ws_here")],
        capture_output=True,
        timeout=60,
        check=False,
        env=clean_environment(PYTHONPATH=str(SDK)),
    )
    assert ended.returncode == 0, ended.stderr.decode()
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    return {line["name"]: line["value"] for line in lines}


def nodes(schema: dict[str, Any], name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema in a schema, with the name of the member that it is of."""
    yield name, schema
    for member, one in schema.get("properties", {}).items():
        yield from nodes(one, member)
    for one in [*schema.get("anyOf", []), *([schema["items"]] if "items" in schema else [])]:
        yield from nodes(one, name)


def test_tools_as_they_are_listed_have_types_times_and_words_on_their_use(tmp_path: Path) -> None:
    tools = told(McpDen(tmp_path), "decline")["tools"]
    times = 0
    for tool in tools:
        assert " Use it " in tool["description"]
        for name, node in (one for kind in ("inputSchema", "outputSchema") for one in nodes(tool[kind])):
            assert ("type" in node) != ("anyOf" in node), (tool["name"], name)
            assert isinstance(node.get("type", ""), str), (tool["name"], name)
            assert "$ref" not in node, (tool["name"], name)
            if name.endswith("_at") or name == "at":
                kinds = [one.get("description", "") for one in [node, *node.get("anyOf", [])]]
                times += any("Unix time in milliseconds" in words for words in kinds)
                assert node.get("type") == "null" or any("Unix" in words for words in kinds), (tool["name"], name)
    assert len(tools) == len(ANSWERS)
    assert times >= 6


def test_a_client_that_cannot_ask_is_served(tmp_path: Path) -> None:
    said = told(McpDen(tmp_path), "nobody")
    assert said["sdk"].startswith("1.")
    assert said["greeting"] == {"version": "2025-11-25", "server": "pioneer"}
    assert [tool["name"] for tool in said["tools"]] == list(ANSWERS)
    assert said["prompts"] == ["recall", "remember", "forget", "session_brief"]
    assert said["resources"] == ["memory://brief"]
    noted = said["proposed"]["data"]
    assert (noted["status"], noted["how_to_confirm"]) == ("noted", f"pioneer confirm {noted['memory_id']}")
    assert noted["how_to_confirm"] in said["proposed"]["text"]
    assert (said["order"]["data"]["status"], said["order"]["data"]["reason_code"]) == (
        "rejected",
        "note_would_instruct",
    )
    assert [hit["voice"] for hit in said["found"]["data"]["hits"]] == ["machine"]
    assert said["forgotten"]["data"]["status"] == "confirmation_needed"
    assert said["brief"] == "Nothing is remembered yet."
    assert said["wished"]["data"]["status"] == "saved"
    assert said["wrong"]["is_error"]
    assert said["wrong"]["text"].startswith("invalid_params: ")
    schemas = {tool["name"]: tool["outputSchema"] for tool in said["tools"]}
    for name, tool in CALLS.items():
        assert not said[name]["is_error"], name
        Draft202012Validator(schemas[tool]).validate(said[name]["data"])


def test_a_client_that_can_ask_asks(tmp_path: Path) -> None:
    said = told(McpDen(tmp_path / "yes"), "accept")
    assert said["proposed"]["data"]["status"] == said["order"]["data"]["status"] == "saved"
    assert "user" in {hit["voice"] for hit in said["found"]["data"]["hits"]}
    assert said["forgotten"]["data"]["status"] == "forgotten"
    said = told(McpDen(tmp_path / "no"), "decline")
    refused = said["proposed"]["data"]
    assert (refused["status"], refused["reason_code"]) == ("rejected", "no_memory_requested")
