"""The snippets of docs/mcp.md: each is what it says it is, and starts the server that exists."""

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gateway.cli import COMMANDS, parser
from gateway.doors.mcp.admin import ADMIN_ANSWERS
from gateway.doors.mcp.answers import ANSWERS
from gateway.doors.mcp.prompts import BRIEF_URI, PROMPTS, TEMPLATES

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
SERVERS = ("mcpServers", "servers", "context_servers", "mcp_servers")


def accepted(arguments: list[str]) -> None:
    """The command line is one that exists."""
    given = parser().parse_args(arguments)
    assert given.command == "mcp"
    assert given.command in COMMANDS


@pytest.mark.parametrize(("language", "snippet"), SNIPPETS, ids=[f"{n}-{kind}" for n, (kind, _) in enumerate(SNIPPETS)])
def test_a_snippet_is_what_it_says_and_starts_the_server(language: str, snippet: str) -> None:
    if language == "sh":
        words = shlex.split(snippet)
        if words[:3] == ["claude", "mcp", "add"]:
            assert words[words.index("--") + 1] == "pioneer"
            accepted(words[words.index("--") + 2 :])
        else:
            assert words == ["uv", "tool", "install", "."]
        return
    document: dict[str, Any] = {"json": json.loads, "toml": tomllib.loads}[language](snippet)
    (key,) = document
    assert key in SERVERS
    (server,) = document[key].values()
    assert server["command"] == "pioneer"
    accepted(server["args"])


def test_every_program_has_its_own_key() -> None:
    keys = {next(iter(json.loads(snippet))) for language, snippet in SNIPPETS if language == "json"}
    assert keys == {"mcpServers", "servers", "context_servers"}
    assert len(SNIPPETS) >= 9


def test_the_tables_name_all_that_is_offered() -> None:
    part = TEXT.partition("## What one then sees")[2].partition("\n## ")[0]
    first = re.findall(r"^\| `([^`]+)`", part, re.MULTILINE)
    assert first == [*ANSWERS, *ADMIN_ANSWERS, BRIEF_URI, *(template.uri for template in TEMPLATES), *PROMPTS]


def test_the_table_of_options_is_the_command_s() -> None:
    part = TEXT.partition("| option |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`(--[a-z-]+)", part))
    arguments = {"--workspace": "w", "--folder": "f", "--home": "h", "--config": "c", "--log-level": "info"}
    assert named == {*arguments, "--admin"}
    accepted(["mcp", "--admin", *(word for pair in arguments.items() for word in pair)])
