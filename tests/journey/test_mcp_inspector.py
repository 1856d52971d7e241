"""`pioneer mcp` as the MCP Inspector's command line meets it, where that is installed: a client in another language."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mcp_stage import McpDen
from spawned import clean_environment

from gateway.doors.mcp.answers import ANSWERS
from gateway.wire.client import console_script

INSPECTOR = shutil.which("mcp-inspector")

pytestmark = pytest.mark.skipif(
    INSPECTOR is None, reason="`npm install -g @modelcontextprotocol/inspector` brings `mcp-inspector`"
)


def asked(den: McpDen, method: str, *arguments: str) -> Any:
    """What the Inspector prints for a request; it starts a server for each."""
    server = [
        *console_script(),
        "mcp",
        "--home",
        str(den.home),
        "--workspace",
        "ws_here",
    ]  # it takes `--config` for its own
    command = [str(INSPECTOR), "--cli", *server, "--method", method, *arguments]
    environment = clean_environment(HOME=str(den.folder))
    ended = subprocess.run(command, capture_output=True, timeout=120, check=False, env=environment)
    assert ended.returncode == 0, ended.stderr.decode()
    return json.loads(ended.stdout)


def test_the_inspector_lists_notes_finds_and_reads(tmp_path: Path) -> None:
    den = McpDen(tmp_path)
    assert [tool["name"] for tool in asked(den, "tools/list")["tools"]] == list(ANSWERS)
    assert [one["name"] for one in asked(den, "prompts/list")["prompts"]][:2] == ["recall", "remember"]
    assert [one["uri"] for one in asked(den, "resources/list")["resources"]] == ["memory://brief"]
    assert len(asked(den, "resources/templates/list")["resourceTemplates"]) == 2

    def called(tool: str, argument: str) -> dict[str, Any]:
        return asked(den, "tools/call", "--tool-name", tool, "--tool-arg", argument)["structuredContent"]

    noted = called("memory_remember", "content=The harbour office closes at four.")
    assert (noted["status"], noted["how_to_confirm"]) == ("noted", f"pioneer confirm {noted['memory_id']}")
    (hit,) = called("memory_search", "query=harbour office")["hits"]
    assert (hit["memory_id"], hit["voice"]) == (noted["memory_id"], "machine")
    assert called("memory_forget", f"memory_id={noted['memory_id']}")["status"] == "confirmation_needed"
    (brief,) = asked(den, "resources/read", "--uri", "memory://brief")["contents"]
    assert brief["text"] == "Nothing is remembered yet."
