"""Projects with instruction files, agent definitions, and a spawned gateway with a home folder of its own user."""

import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from spawned import Den, hello

from gateway.wire.client import GatewayClient


def put(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder; a name that ends with a slash is a folder."""
    for name, text in files.items():
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def agent(slug: str, *, config: str = "", text: str = "Work carefully.\n", **others: str) -> dict[str, str]:
    """The files of a definition; `others` are SOUL and MEMORY."""
    head = f"name: {slug.title()}\ndescription: Does {slug} things.\n"
    files = {f"{slug}/config.yaml": head + config, f"{slug}/AGENTS.md": text}
    return files | {f"{slug}/{name.upper()}.md": said for name, said in others.items()}


class GuidedDen(Den):
    """A den whose gateway has another home folder of the user, and agents in its own home."""

    def __init__(self, folder: Path, *, scripted: bool = True, config: str = "") -> None:
        super().__init__(folder, scripted=scripted, config=config)
        self.user_home = folder / "user"
        self.user_home.mkdir(exist_ok=True)
        self.repo = folder / "repo"
        self.agents = self.home / "agents"

    def environment(self) -> dict[str, str]:
        return {**os.environ, "HOME": str(self.user_home), "USERPROFILE": str(self.user_home)}

    @asynccontextmanager
    async def client(self, workspace_id: str | None = "ws_here") -> AsyncIterator[GatewayClient]:
        async with await self.spawn(env=self.environment()) as client:
            await hello(client, workspace_id)
            yield client

    def asked(self, turn_id: str) -> list[dict[str, Any]]:
        """The requests of a turn as they reached its model."""
        lines = self.record.read_text(encoding="utf-8").splitlines() if self.record.exists() else []
        return [one for one in map(json.loads, lines) if (one["turn_id"], one["role"]) == (turn_id, "main")]

    def system(self, turn_id: str) -> str:
        """The system message of a turn."""
        return self.asked(turn_id)[0]["messages"][0]["content"]


def section(manifest: dict[str, Any], section_id: str = "project_instructions") -> dict[str, Any] | None:
    """A section of a manifest."""
    return next((one for one in manifest["sections"] if one["section_id"] == section_id), None)


def told(manifest: dict[str, Any], code: str) -> list[dict[str, Any]]:
    """The diagnostics of a code in a manifest."""
    runs = [run for phase in manifest["phases"] for run in phase["hook_runs"]]
    return [one for run in runs for one in run["diagnostics"] if one["code"] == code]


def paths(manifest: dict[str, Any]) -> list[str]:
    """The instruction files that a manifest names, in order."""
    found = section(manifest)
    return [ref["id"] for ref in found["source_refs"]] if found is not None else []
