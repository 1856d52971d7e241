"""The walks of CONTRIBUTING that have no other test, each made in a copy of the product in just the places that it
names; then the copy is used."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from spawned import Den, clean_environment, hello, journey, refusal, remember

from gateway.wire.client import GatewayClient

ROOT = Path(__file__).resolve().parents[2]
HOUSES = ("gateway", "agent", "memory", "thread_episodic", "knowledge", "retrieval", "promt", "protocol")
RUN = "import sys; from gateway.cli import main; sys.exit(main())"


class Edit(NamedTuple):
    """What is put before a line that stands once in its file."""

    file: str
    before: str
    added: str


def run_copy(folder: Path, edits: Sequence[Edit], new_files: Mapping[str, str] | None = None) -> dict[str, str]:
    """Copy the product and make a walk's edits; the environment of a process that runs the copy."""
    for house in HOUSES:
        shutil.copytree(ROOT / house, folder / house, ignore=shutil.ignore_patterns("__pycache__"))
    for edit in edits:
        path = folder / edit.file
        text = path.read_text(encoding="utf-8")
        assert text.count(edit.before) == 1, edit
        path.write_text(text.replace(edit.before, edit.added + edit.before), encoding="utf-8")
    for name, text in (new_files or {}).items():
        assert not (folder / name).exists()
        (folder / name).write_text(text, encoding="utf-8")
    return clean_environment(PYTHONPATH=str(folder), PYTHONSAFEPATH="1")


def command_of(den: Den, *words: str) -> list[str]:
    """The command line of the copy."""
    return [sys.executable, "-c", RUN, *words, "--home", str(den.home), "--config", str(den.config)]


PARAMS_AND_RESULT = '''class LettersParams(Params):
    """`memory/letters`."""

    memory_id: Id
    context: Context = field(default_factory=Context)


class LettersResult(Wire):
    """How long a record is."""

    letters: int


'''
ROW = """MEMORY_LETTERS = Method(
    "memory/letters", reads.LettersParams, reads.LettersResult, "How long a record is.", ("scope_out_of_context",)
)
"""
SERVICE = '''    async def letters(self, params: wire.LettersParams) -> wire.LettersResult:
        """How long a record is."""
        found = await self.get(GetParams(memory_id=params.memory_id, context=params.context))
        return wire.LettersResult(letters=len(found.record.content) if found.record else 0)

'''


@journey
async def test_a_method_is_four_places(tmp_path: Path) -> None:
    """Its messages, its row, the function of a service, and that service's binding: in three files."""
    environment = run_copy(
        tmp_path / "copy",
        [
            Edit("protocol/memory/reads.py", "class LinksParams(Params):", PARAMS_AND_RESULT),
            Edit("protocol/methods.py", "MEMORY_LINKS = Method(", ROW),
            Edit("memory/questions.py", "    async def links(", SERVICE),
            Edit(
                "memory/questions.py",
                "            bind(m.MEMORY_LINKS, self.links),",
                "            bind(m.MEMORY_LETTERS, self.letters),\n",
            ),
            Edit(
                "memory/questions.py",
                "from protocol import methods as m\n",
                "from protocol.memory import reads as wire\n",
            ),
        ],
    )
    den = Den(tmp_path / "den")
    async with await GatewayClient.start(command_of(den, "serve"), env=environment) as client:
        capabilities = (await hello(client))["capabilities"]
        assert "memory/letters" in capabilities["methods"]
        kept = await remember(client, "I live in Graz.")
        assert await client.request("memory/letters", {"memory_id": kept}) == {"letters": 15}
        elsewhere = {"memory_id": kept, "context": {"workspace_id": "no such thing"}}
        assert (await refusal(client, "memory/letters", elsewhere)).reason == "invalid_params"


@journey
async def test_a_kind_of_source_is_two_places(tmp_path: Path) -> None:
    """Its name, and who speaks in it: what it may be believed for follows from that."""
    environment = run_copy(
        tmp_path / "copy",
        [
            Edit("protocol/record.py", '"background_extractor",', '"dictation", "overheard", '),
            Edit(
                "memory/rules/write_plan.py",
                '"tool_observation": "tool",',
                '"dictation": "user", "overheard": "tool", ',
            ),
        ],
    )
    den = Den(tmp_path / "den")
    async with await GatewayClient.start(command_of(den, "serve"), env=environment) as client:
        await hello(client)

        def saying(content: str, kind: str) -> dict[str, Any]:
            return {"content": content, "provenance": {"source_kind": kind}}

        kept = await client.request("memory/remember", saying("I live in Graz.", "dictation"))
        assert kept["record"]["provenance"]["source_kind"] == "dictation"
        refused = await refusal(client, "memory/remember", saying("The user lives in Bonn.", "overheard"))
        assert refused.data["details"]["decision"]["reason_code"] == "tool_or_web_source"


DOOR = '''"""`pioneer lines`: each line of standard input is a question, each of standard output what was found for it."""

import argparse
import asyncio
import sys

from gateway.doors.commands import Command
from gateway.doors.commands.processes.starting import arrange_process, options_of
from gateway.process import running
from protocol.memory.reads import SearchParams


async def _answer(given: argparse.Namespace) -> int:
    async with running(options_of(given)) as app:
        for line in sys.stdin:
            found = await app.bound["memory/search"].call(SearchParams(query=line.strip()))
            print("; ".join(hit.record.content for hit in found.hits))
    return 0


COMMANDS = {"lines": Command(lambda to: arrange_process(to, "warning"), lambda given: asyncio.run(_answer(given)))}
'''


@journey
async def test_a_door_is_two_places(tmp_path: Path) -> None:
    """Its module, and its row in the list of commands."""
    row = '    "lines": CommandRow("lines", "answer each line of standard input"),\n'
    environment = run_copy(
        tmp_path / "copy",
        [Edit("gateway/doors/commands/__init__.py", '    "mcp": CommandRow(', row)],
        {"gateway/doors/commands/lines.py": DOOR},
    )
    den = Den(tmp_path / "den")
    async with den.client(None) as client:
        await remember(client, "The user's sailing boat is called Marigold.")
    ran = await asyncio.to_thread(
        subprocess.run,
        command_of(den, "lines"),
        input="What is my sailing boat called?\n",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "The user's sailing boat is called Marigold.\n"), ran.stderr
