"""Claude Code and Codex themselves through the lines that `pioneer proxy url` prints, against the recording upstream.

Both are programs of npm's registry (`make programs`, 640 MB); where they were not installed, these tests are skipped. They get
a home and a configuration of their own, no credential, and no way to any other address.
"""

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from proxy_stage import PATHS, FakeModel, Reply, fake_model, kept, said, until
from spawned import clean_environment, journey, run_to_end
from test_proxy import BOAT, den_of, fill

PLACE = Path(__file__).parents[2] / ".venv" / "programs" / "node_modules"
ASKED = ["What is my sailing boat called? It stands in boat.txt.", "And where does it lie?"]
TOLD = ["It is Marigold.", "In the harbour."]
PROGRAM_SECONDS = 100.0


class RealProgram(NamedTuple):
    """A program: its file, its dialect, the call of a tool that it is answered with, and what begins and continues a talk."""

    file: str
    dialect: str
    call: tuple[str, dict[str, Any]]
    begin: list[str]
    again: list[str]


CLAUDE = ["--model", "m", "--allowedTools", "Read"]
CODEX = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
PROGRAMS = {
    "claude-code": RealProgram(
        "@anthropic-ai/claude-code*/claude",
        "messages",
        ("Read", {"file_path": "boat.txt"}),
        ["-p", *CLAUDE, "--", ASKED[0]],
        ["-p", "--continue", *CLAUDE, "--", ASKED[1]],
    ),
    "codex": RealProgram(
        "@openai/codex*/vendor/*/bin/codex",
        "responses",
        ("exec_command", {"cmd": "cat boat.txt"}),
        ["exec", *CODEX, ASKED[0]],
        ["exec", "resume", "--last", *CODEX, ASKED[1]],
    ),
}


def environment(program: str, printed: str, folder: Path) -> dict[str, str]:
    """What a program is started with: the printed lines, set as they say."""
    (folder / ".codex").mkdir(parents=True, exist_ok=True)
    nowhere = "http://127.0.0.1:9"
    own = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "TERM": "dumb",
        "LANG": "C.UTF-8",
        "HTTPS_PROXY": nowhere,
        "HTTP_PROXY": nowhere,
        "NO_PROXY": "127.0.0.1",
    }
    if program == "codex":
        (folder / ".codex" / "config.toml").write_text('model = "m"\n' + printed, encoding="utf-8")
        return own | {"OPENAI_API_KEY": "sk-test"}
    lines = dict(re.findall(r"^export (\w+)=(\S+)$", printed, re.MULTILINE))
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    return own | lines | quiet | {"ANTHROPIC_API_KEY": "sk-test", "CLAUDE_CONFIG_DIR": str(folder / ".claude")}


async def run_program(command: list[str], env: dict[str, str], folder: Path) -> str:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, env=env, cwd=folder, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), PROGRAM_SECONDS)
    except TimeoutError:
        process.kill()
        raise
    assert process.returncode == 0, (out.decode(), err.decode())
    return out.decode()


def talks(model: FakeModel, dialect: str) -> list[Any]:
    """The requests of the conversation, with the tools that a program brings."""
    return [one for one in model.seen if one.path.split("?")[0] == PATHS[dialect] and one.json.get("tools")]


@pytest.mark.parametrize("name", sorted(PROGRAMS))
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the programs' files are known for Linux alone")
@journey
async def test_proxy_statement_28_the_programs_themselves_complete_turns_with_a_call_of_a_tool(tmp_path, name):
    program = PROGRAMS[name]
    file = next(PLACE.glob(program.file), None)
    if file is None:
        pytest.skip(f"{name} is not here: make programs")
    work = tmp_path / "work"
    work.mkdir()
    (work / "boat.txt").write_text("It lies in the harbour.\n", encoding="utf-8")
    tool, given = program.call
    given = {key: str(work / "boat.txt") if value == "boat.txt" else value for key, value in given.items()}
    async with fake_model() as model:
        den = den_of(tmp_path, model)
        await fill(den, BOAT)
        async with den.proxy(), den.client("ws_default") as client:
            printed = run_to_end(
                [*den.proxy_command("url", name, "--port", str(den.port))], env=clean_environment()
            ).stdout.decode()
            env = environment(name, printed, tmp_path / "user")
            model.replies += [
                Reply(said(program.dialect, "I look.", (tool, given))),
                Reply(said(program.dialect, TOLD[0])),
                Reply(said(program.dialect, TOLD[1])),
            ]
            for words, answer in ((program.begin, TOLD[0]), (program.again, TOLD[1])):
                assert answer in await run_program([str(file), *words], env, work)
            assert await kept(client, 2) == [[ASKED[0], TOLD[0], ASKED[1], TOLD[1]]]

            async def counted() -> bool:
                captures = (await client.request("gateway/status"))["capture"]
                return [one["usage"]["output_tokens"] for one in captures] == [9]

            assert await until(counted)
        calls = talks(model, program.dialect)
        assert [one.body.count(b"boat is called Marigold") for one in calls] == [1, 1, 2]
        assert [b"It lies in the harbour" in one.body for one in calls] == [False, True, True]
        key = "input" if program.dialect == "responses" else "messages"
        first, second, third = ([plain(part) for part in one.json[key]] for one in calls)
        assert (second[: len(first)], third[: len(second)]) == (first, second)


def plain(part: Any) -> str:
    """A message without the vendor's marks of what it keeps, which a program sets anew at the newest message."""
    return json.dumps(part).replace(', "cache_control": {"type": "ephemeral"}', "")
