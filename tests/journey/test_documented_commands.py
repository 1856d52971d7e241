"""Every command that README.md and docs/ show is run, in order, in a home of its own for each page."""

import json
import re
import shlex
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest
from command_line import Ended, propose, run
from guidance_stage import agent, put

from gateway.doors.commands import COMMANDS
from gateway.doors.commands.parsing import parser

pytestmark = [pytest.mark.loop("test"), pytest.mark.followed]  # every command

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ONLY_PARSED = frozenset({"serve", "http", "inspect", "proxy", "mcp", "demo", "models", "replay", "schemas"})
"""What speaks to a program, to the network or to this repository: its options are checked, its work is tested
elsewhere."""
ANSWERS_NO = frozenset({"why", "doctor", "candidates", "knowledge"})
"""What may truly end with 1 in a home that holds little."""
EXPORT = json.dumps(
    [
        {
            "uuid": name,
            "name": name,
            "created_at": "2026-06-03T08:15:00Z",
            "chat_messages": [
                {
                    "uuid": f"{name} 1",
                    "sender": "human",
                    "text": f"What about the {name}?",
                    "created_at": "2026-06-03T08:15:00Z",
                },
                {
                    "uuid": f"{name} 2",
                    "sender": "assistant",
                    "text": "Every two hours.",
                    "created_at": "2026-06-03T08:16:00Z",
                },
            ],
        }
        for name in ("timetable of the ferry", "heap of compost")
    ]
)
"""What somebody said elsewhere."""
BLOCK = re.compile(r"^```(?:sh|shell|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Shown(NamedTuple):
    """A command line as a page shows it."""

    arguments: list[str]
    stdin: bytes
    target: str | None


def commands_of(page: Path) -> list[str]:
    lines = [line.strip() for block in BLOCK.findall(page.read_text(encoding="utf-8")) for line in block.splitlines()]
    return [line for line in lines if re.match(r"(?:\$ )?(?:echo .* \| )?pioneer ", line)]


def read(line: str, home: Path) -> Shown:
    """A line as a shell would take it apart, its placeholders filled in."""
    said, _, command = line.removeprefix("$ ").rpartition(" | ")
    words = [filled(word, home) for word in shlex.split(command, comments=True)]
    target = words[words.index(">") + 1] if ">" in words else None
    words = words[: words.index(">")] if ">" in words else words
    return Shown(words[1:], " ".join(shlex.split(said)[1:]).encode(), target)


def filled(word: str, home: Path) -> str:
    if word == "mem_…":
        listed = run("list", "--json", "--order", "created_at", "--home", str(home)).json["records"]
        return listed[0]["memory_id"] if listed else forgotten[-1]
    if word in {"mem_1…", "mem_2…"}:
        kept = run("remember", f"Boat {next(numbers)} is sold.", "--json", "--home", str(home))
        return kept.json["record"]["memory_id"]
    if word == "cand_…":
        return propose(f"Mira prefers seat {next(numbers)}.", "--home", str(home))
    if word == "ws_…":
        assert run("remember", "The boat is sold.", "--workspace", "ws_boat", "--home", str(home)).code == 0
        return "ws_boat"
    if word in {"thr_…", "trn_…"}:
        thread = run("threads", "--json", "--home", str(home)).json["threads"][0]["thread_id"]
        items = run("threads", thread, "--json", "--home", str(home)).json["items"]
        return thread if word == "thr_…" else items[0]["turn_id"]
    return word


numbers = count(4)
"""Of proposals: each says something new."""
forgotten: list[str] = []
"""What the page forgot last: the next line restores it."""


def play(shown: Shown) -> Ended:
    if shown.arguments[0] == "restore" and forgotten:
        shown.arguments[1] = forgotten.pop()
    ended = run(*shown.arguments, stdin=shown.stdin)
    if shown.arguments[0] == "forget" and ended.code == 0:
        forgotten.append(shown.arguments[1])
    if shown.target is not None:
        Path(shown.target).write_text(ended.out, encoding="utf-8")
    return ended


@pytest.mark.parametrize("page", [page for page in PAGES if commands_of(page)], ids=lambda page: page.name)
def test_what_a_page_shows_works(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("PIONEER_HOME", str(home))
    monkeypatch.delenv("PIONEER_WORKSPACE", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conversations.json").write_text(EXPORT, encoding="utf-8")
    (tmp_path / "notes" / "process").mkdir(parents=True)
    (tmp_path / "notes" / "process" / "release.md").write_text(
        "# Release\n\n## Checklist\n\nTag it.\n", encoding="utf-8"
    )
    put(tmp_path, {"AGENTS.md": "Use tabs.\n"})
    put(home / "agents", agent("reviewer", soul="Calm.\n"))
    assert run("remember", "The ferry to Pellworm leaves at ten.").code == 0  # a home that somebody lives in
    forgotten.clear()
    for line in commands_of(page):
        shown = read(line, home)
        name = shown.arguments[0]
        if name in ONLY_PARSED:
            parser(name).parse_args(shown.arguments)
            continue
        ended = play(shown)
        assert ended.code in ({0, 1} if name in ANSWERS_NO else {0}), f"{line}\n{ended.err}{ended.out}"


def test_every_command_for_people_is_shown() -> None:
    shown = {read(line, ROOT).arguments[0] for page in PAGES for line in commands_of(page) if "…" not in line}
    shown |= {re.findall(r"pioneer (\S+)", line)[0] for page in PAGES for line in commands_of(page)}
    assert set(COMMANDS) - ONLY_PARSED - {"completion"} <= shown


@pytest.mark.parametrize("line", ["pioneer forget nothing --here", "pioneer search"])
def test_a_page_with_a_wrong_command_would_be_found(line: str, tmp_path: Path) -> None:
    assert play(read(line, tmp_path)).code == 64


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []
