"""docs/providers.md says what the code does."""

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from gateway.home import config as configuration
from gateway.providers.connection import problem_of
from gateway.providers.tries import MAX_RETRY_AFTER_SECONDS, MAX_TRIES, TRIED_ONCE
from protocol.gateway import ProviderProblem
from protocol.models import PASSING_FAULTS, ProviderFailed, ProviderFault
from protocol.settings import AgentSettings, ProviderConfig

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "providers.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)


def rows(heading: str) -> dict[str, list[str]]:
    """A table by the names of its first column."""
    table = TEXT.split(heading, 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table if not line.startswith("| ---")]
    return {name: row[1:] for row in cells for name in re.findall(r"`(\w+)`", row[0])}


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_every_snippet_is_a_configuration(snippet: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in re.findall(r'api_key_env = "(\w+)"', snippet):
        monkeypatch.setenv(name, "a-key")
    config, unknown = configuration.read(snippet)
    assert unknown == []
    assert config.roles.main in config.providers
    assert [problem_of(provider) for provider in config.providers.values()] == [None] * len(config.providers)


def test_the_servers_that_are_shown() -> None:
    assert len(SNIPPETS) >= 5
    for words in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "localhost:11434", "localhost:1234"):
        assert words in "".join(SNIPPETS)


def test_every_key_stands_there_with_its_default() -> None:
    table = rows("| key | default | meaning |")
    assert set(table) == set(ProviderConfig.__struct_fields__)
    fields = {info.name: info.default for info in msgspec.structs.fields(ProviderConfig)}
    for name, (default, _) in table.items():
        if re.fullmatch(r"`\w+`", default):
            assert str(fields[name]).lower() == default.strip("`")


def test_every_problem_and_fault_stands_there_with_its_tries() -> None:
    assert set(rows("| `problem` | what to do |")) == set(get_args(ProviderProblem))
    table = rows("| `error`, `last_error` | reason of `turn/failed` | meaning | tried |")
    assert set(table) == set(get_args(ProviderFault))
    for fault in get_args(ProviderFault):
        reason, _, tried = table[fault]
        assert reason == f"`{ProviderFailed(fault).reason}`"
        again = fault in PASSING_FAULTS - TRIED_ONCE
        assert tried == ("three times" if again else "once")
    assert MAX_TRIES == 3
    assert f"up to {MAX_RETRY_AFTER_SECONDS:g} s" in TEXT
    assert f"`gateway.agent.history_turns_min` turns ({AgentSettings().history_turns_min})" in TEXT
