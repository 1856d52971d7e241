"""Every example of README.md and docs/ is run or held against the product: the table says where, and this module has
the rest."""

import json
import re
from pathlib import Path

import pytest
from command_line import new_home, run
from guidance_stage import put
from spawned import JOURNEY_SECONDS, Den, journey

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = "tests/journey/test_documented_commands.py"
HERE = "tests/journey/test_http_examples.py"
HELD_BY = {
    ("README.md", "text"): HERE,
    ("README.md", "toml"): HERE,
    ("guidance.md", "yaml"): HERE,
    ("http.md", "python"): "tests/journey/test_http_python_client.py",
    ("http.md", "ts"): "tests/journey/test_http_typescript_client.py",
    ("import.md", "json"): HERE,
    ("mcp.md", "json"): "tests/unit/test_mcp_docs.py",
    ("mcp.md", "toml"): "tests/unit/test_mcp_docs.py",
    ("methods.md", "json"): "tests/unit/test_reference.py",
    ("providers.md", "toml"): "tests/unit/test_provider_docs.py",
    ("replay.md", "json"): HERE,
}
"""The test of each kind of example on each page; lines of a shell are all those of one test."""


def blocks(page: str, language: str) -> list[str]:
    path = ROOT / page if page == "README.md" else ROOT / "docs" / page
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_http_statement_35_every_example_has_a_test() -> None:
    found = {
        (page.name, language)
        for page in PAGES
        for language in re.findall(r"^```(\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {one for one in found if one[1] not in {"sh", "shell", "console"}} == HELD_BY.keys()
    assert [test for test in {*HELD_BY.values(), COMMANDS} if not (ROOT / test).is_file()] == []


def test_http_statement_35_lines_of_a_shell_are_of_the_product_or_of_a_program_that_is_known() -> None:
    """What `COMMANDS` runs begins with `pioneer`; the rest installs it, or belongs to another program."""
    others = {
        line.split()[0]
        for page in PAGES
        for block in blocks(page.name, "(?:sh|shell|console)")
        for line in block.splitlines()
        if line.strip() and not re.match(r"\s*(?:\$ )?(?:echo .* \| )?pioneer ", line)
    }
    assert others <= {"uv", "claude"}


def test_http_statement_35_the_configuration_of_the_readme_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = new_home(tmp_path, monkeypatch)
    home.mkdir(exist_ok=True)
    shown = blocks("README.md", "toml")
    for text in shown:
        (home / "config.toml").write_text(text, encoding="utf-8")
        ended = run("config", "check")
        assert ended.code == 0, ended.err
    (home / "config.toml").write_text(shown[-1].replace("model_path", "model_pat"), encoding="utf-8")
    assert run("config", "check").code == 78


def test_http_statement_35_the_definition_of_an_agent_has_no_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = new_home(tmp_path, monkeypatch)
    (text,) = blocks("guidance.md", "yaml")
    (slug,) = re.findall(r"^model_role: (\w+)$", text, re.MULTILINE)
    put(home / "agents", {f"{slug}/AGENTS.md": "Look.\n", f"{slug}/config.yaml": text})
    provider = '[gateway.providers.local]\nkind = "openai"\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "m"\n'
    (home / "config.toml").write_text(f'{provider}[gateway.roles.agents]\n{slug} = "local"\n', encoding="utf-8")
    assert run("remember", "The ferry leaves at ten.").code == 0
    listed = run("agents", "--json").json
    assert [(agent["slug"], agent["problems"]) for agent in listed["agents"]] == [(slug, [])]


def test_http_statement_35_the_figures_of_an_import_have_these_members(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_home(tmp_path, monkeypatch)
    (text,) = blocks("import.md", "json")
    shown = json.loads(text)
    (tmp_path / "talk.md").write_text("# User\n\nWhen?\n\n# Assistant\n\nAt ten.\n", encoding="utf-8")
    figures = run("import", str(tmp_path / "talk.md"), "--json").json
    for part in ("conversations", "turns", "skipped"):
        assert figures[part].keys() == shown[part].keys()
    assert figures.keys() == shown.keys()


def test_http_statement_35_the_session_of_the_replay_page_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.play.replay.STEP_SECONDS", JOURNEY_SECONDS)  # a busy machine starts nothing in ten
    (example, *_) = blocks("replay.md", "json")
    session = tmp_path / "session.jsonl"
    session.write_text(example, encoding="utf-8")
    ended = run("replay", str(session))
    assert ended.code == 0, ended.out + ended.err
    session.write_text(example.replace('"$matches": "Mondays"', '"$matches": "Tuesdays"'), encoding="utf-8")
    assert run("replay", str(session)).code != 0


@journey
async def test_http_statement_35_the_messages_of_the_readme_are_answered_so(tmp_path: Path) -> None:
    (text,) = blocks("README.md", "text")
    lines = [line.partition(" ") for line in text.splitlines()]
    sent = [json.loads(message) for arrow, _, message in lines if arrow == "→"]
    shown = [message for arrow, _, message in lines if arrow == "←"]
    async with await Den(tmp_path).spawn() as client:
        answers = [await client.request(one["method"], one["params"]) for one in sent]
        notice = await client.wait_for("memory/changed")
    told = [{"id": one["id"], "result": answer} for one, answer in zip(sent, answers, strict=True)]
    told.append({"method": "memory/changed", "params": notice})
    assert len(told) == len(shown)
    for message, line in zip(told, shown, strict=True):
        members = re.findall(r'"(\w+)":("[^"]*"|\d+|true)', line)
        assert len(members) > 2
        for name, value in members:
            said = json.loads(value)
            assert any(
                found == said or (isinstance(said, str) and said.endswith("…") and str(found).startswith(said[:-1]))
                for found in values_of({"jsonrpc": "2.0", **message}, name)
            ), (name, value)


def values_of(node: object, name: str) -> list[object]:
    """Every value of a member of a name, at any depth."""
    if isinstance(node, list):
        return [value for one in node for value in values_of(one, name)]
    if not isinstance(node, dict):
        return []
    own = [node[name]] if name in node else []
    return own + [value for one in node.values() for value in values_of(one, name)]
