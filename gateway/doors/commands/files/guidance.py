"""`pioneer instructions` and `pioneer agents`: the instruction files and agents that steer turns."""

import argparse
from pathlib import Path
from typing import Any, get_args

import msgspec

from gateway.base.exit_codes import NEGATIVE, OK, USAGE
from gateway.doors.commands import Command
from gateway.doors.commands.door import HomeMethods, through_door
from gateway.doors.commands.options import add_home, add_json, add_place, path
from gateway.doors.terminal.exits import Stop
from gateway.doors.terminal.screen import hint, plain, readable, say, show_json, show_table, words
from protocol import methods as m
from protocol.conversation.values import InstructionProfile
from protocol.errors import Refused
from protocol.guidance import (
    Agent,
    AgentPart,
    AgentProblem,
    AgentsGetResult,
    InstructionsPreviewResult,
    InstructionsSetResult,
)

# -- instruction files -----------------------------------------------------------------------------------------------


def _arrange_instructions(to: argparse.ArgumentParser) -> None:
    add_place(to)
    to.add_argument(
        "place",
        nargs="?",
        type=path,
        default=Path(),
        metavar="DIR",
        help="the folder that is worked in",
    )
    to.add_argument(
        "--profile", choices=get_args(InstructionProfile), default="default", help="whose file names are looked for"
    )
    switch = to.add_mutually_exclusive_group()
    for name in ("on", "off"):
        switch.add_argument(f"--{name}", action="store_true", help=f"switch the project's instruction files {name}")


def _instructions(given: argparse.Namespace) -> int:
    if given.on or given.off:
        return _switch(given)
    if not given.place.is_dir():
        raise Stop(USAGE, f"there is no folder {str(given.place)!r}")
    params = {"workspace_id": given.workspace, "cwd": str(given.place.resolve()), "profile": given.profile}

    result = through_door(given, lambda door: door.call(m.INSTRUCTIONS_PREVIEW, params))
    if given.json:
        show_json(result)
    else:
        _show_preview(result)
    return OK if result.text else NEGATIVE


def _switch(given: argparse.Namespace) -> int:
    async def work(door: HomeMethods) -> InstructionsSetResult:
        await door.ensure_workspace(given.workspace)
        mode = "on" if given.on else "off"
        return await door.call(m.INSTRUCTIONS_SET, {"workspace_id": given.workspace, "mode": mode})

    result = through_door(given, work)
    if given.json:
        show_json(result)
    else:
        say(f"instruction files of {plain(result.workspace_id)}: {result.mode}", "green")
    return OK


def _show_preview(result: InstructionsPreviewResult) -> None:
    """Show the text that a turn is given, and on stderr the problems, the cuts and the budget."""
    if result.text:
        say(readable(result.text.removesuffix("\n")))
    for file in result.files:
        if file.problem is not None:
            hint(f"not loaded: {plain(file.path)} ({words(file.problem)})")
    for cut in result.cut:
        hint(f"cut: {plain(cut.path)}, lines {cut.from_line}-{cut.to_line}, {cut.chars:,} characters")
    for one in result.diagnostics:
        if one.code in {"hidden_characters", "secret_in_instructions", "instructions_off", "cwd_missing"}:
            detail = one.message or words(str((one.data or {}).get("reason", "")))
            hint(f"{words(one.code)}: {plain(detail)}" if detail else words(one.code))
    count = sum(file.problem is None for file in result.files)
    hint(f"{count} files, {result.budget.used:,} of {result.budget.limit:,} characters; boundary: {result.boundary}")


# -- agents ----------------------------------------------------------------------------------------------------------


def _arrange_agents(to: argparse.ArgumentParser) -> None:
    add_home(to)
    add_json(to)
    to.add_argument("what", nargs="?", choices=("list", "show"), default="list", help="list, or show SLUG")
    to.add_argument("slug", nargs="?", metavar="SLUG", help="the name of an agent's folder")
    to.add_argument("--soul", action="store_true", help="show: its SOUL.md as well")
    to.add_argument("--memory", action="store_true", help="show: its MEMORY.md as well")


def _agents(given: argparse.Namespace) -> int:
    if given.what == "show" and given.slug is None:
        raise Stop(USAGE, "name the agent: pioneer agents show SLUG")
    return _list(given) if given.what == "list" else _show(given)


def _list(given: argparse.Namespace) -> int:
    result = through_door(given, lambda door: door.call(m.AGENTS_LIST))
    if given.json:
        show_json(result)
    else:
        if result.agents:
            rows = [
                [one.slug, plain(one.name), plain(one.description), _format_problems(one.problems)]
                for one in result.agents
            ]
            show_table(["agent", "name", "description", "without effect"], rows)
        for one in result.invalid:
            hint(f"not valid: {plain(one.slug)}: {_format_problems(one.problems)}")
        if result.left_out:
            hint(f"{result.left_out:,} more are not listed; each acts, and `pioneer agents show SLUG` shows it")
        if not result.agents and not result.invalid:
            hint("no agents are defined: docs/guidance.md says how")
    return OK if result.agents else NEGATIVE


def _show(given: argparse.Namespace) -> int:
    parts: list[AgentPart] = ["agents", *(name for name in ("soul", "memory") if getattr(given, name))]
    params: dict[str, Any] = {"slug": given.slug, "parts": parts}

    async def work(door: HomeMethods) -> AgentsGetResult:
        try:
            return await door.call(m.AGENTS_GET, params)
        except Refused as error:
            if error.reason != "agent_invalid" or error.details is None:
                raise
            problems = msgspec.convert(error.details["problems"], list[AgentProblem])
            line = f"{plain(given.slug)} is not valid: {_format_problems(problems)}"
            raise Refused(error.reason, line, details=error.details) from None

    result = through_door(given, work)
    if given.json:
        show_json(result)
        return OK
    _show_agent(result.agent)
    for part, text in result.texts.items():
        say(f"\n{part.upper()}.md", "bold")
        say(readable(text.removesuffix("\n")))
    return OK


def _show_agent(agent: Agent) -> None:
    say(f"{agent.slug}: {plain(agent.name)}. {plain(agent.description)}", "bold")
    tools = ", ".join(agent.tools) or "none"
    say(f"role {plain(agent.model_role or 'main')}, memory {words(agent.memory_mode)}, tools {tools}")
    if agent.problems:
        hint(f"without effect: {_format_problems(agent.problems)}")


def _format_problems(problems: list[AgentProblem]) -> str:
    return ", ".join(words(one.code) + (f" {plain(one.key)}" if one.key else "") for one in problems)


COMMANDS = {
    "instructions": Command(
        _arrange_instructions, _instructions, "  pioneer instructions\n  pioneer instructions . --profile claude"
    ),
    "agents": Command(_arrange_agents, _agents, "  pioneer agents\n  pioneer agents show reviewer --soul"),
}
