"""The command line: every command in this process on a small home, its answers, its refusals, its exit codes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from command_line import ids, new_home, remember, run

from gateway.base import exit_codes
from gateway.doors.commands import COMMANDS, load
from gateway.doors.commands.parsing import parser
from gateway.doors.commands.reasons import QUESTIONS
from gateway.doors.terminal.exits import CODE_OF_REASON, code_of
from gateway.embedding.embedder import EmbedderError
from gateway.wire.client import console_script
from protocol.errors import REASONS, GatewayError
from protocol.memory.explaining import GateName

ROOT = Path(__file__).resolve().parents[2]
COFFEE = "I take my coffee without sugar."


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return new_home(tmp_path, monkeypatch)


# -- the parser --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_that_says_what_it_does(name: str) -> None:
    ended = run(name, "--help")
    assert ended.code == 0
    assert COMMANDS[name].summary[1:] in " ".join(ended.out.split())
    assert load(name).examples in ended.out


def test_help_is_shown_on_a_console_that_lacks_letters() -> None:
    ended = run("forget", "--help", encoding="cp437")
    assert ended.code == 0
    assert "pioneer forget mem_? --erase --yes" in ended.out


def test_a_wrong_command_is_told_with_the_one_that_was_meant() -> None:
    ended = run("serach", "coffee")
    assert (ended.code, ended.out) == (64, "")
    assert "did you mean 'search'" in ended.err


@pytest.mark.parametrize("arguments", [["search"], ["search", "x", "--nonsense"], ["list", "--categ", "todo"]])
def test_wrong_usage_ends_with_64(arguments: list[str]) -> None:
    assert run(*arguments).code == 64


def test_only_the_module_of_the_wanted_command_is_imported() -> None:
    code = (
        "import sys; from gateway.doors.commands.parsing import parser; parser('completion');"
        "print([n for n in sys.modules if n.startswith('gateway.doors.commands.')])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "gateway.doors.commands.memories" not in told.stdout
    assert "gateway.doors.commands.processes" in told.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh", "powershell"])
def test_completion_knows_commands_and_options(shell: str) -> None:
    ended = run("completion", shell)
    assert ended.code == 0
    assert "restore-backup" in ended.out
    assert "include-sources" in ended.out or shell == "tcsh"


def test_every_command_is_parsed_with_all_options_present() -> None:
    whole = parser()
    assert whole.parse_args(["forget", "mem_1", "--erase"]).erase is True


# -- memories ----------------------------------------------------------------------------------------------------------


def test_what_is_remembered_is_found_listed_shown_and_counted() -> None:
    memory_id = remember(COFFEE, "--category", "preference", "--tag", "drinks")
    found = run("search", "coffee", "--json")
    assert (found.code, found.json["hits"][0]["record"]["memory_id"]) == (0, memory_id)
    assert found.json["hits"][0]["record"]["provenance"]["source_kind"] == "explicit_user_request"
    assert run("search", "coffee").out.split("\t")[0] == memory_id
    assert ids("--tag", "drinks", "--category", "preference") == [memory_id]
    assert ids("--tag", "other") == []
    assert COFFEE in run("show", memory_id).out
    assert "preference" in run("stats").out
    assert run("show", memory_id, "--json").json["record"]["tags"] == ["drinks"]


def test_a_search_that_finds_nothing_ends_with_1() -> None:
    remember(COFFEE)
    ended = run("search", "zeppelin")
    assert ended.code == 1
    assert (ended.out, ended.err) == ("", "nothing found; `pioneer why` tells more\n")


def test_words_come_from_stdin() -> None:
    ended = run("remember", "-", "--json", stdin="Das Büro öffnet um neun.\n".encode())
    assert ended.json["record"]["content"] == "Das Büro öffnet um neun."
    assert run("remember", "-", stdin=b"\xff\xfe\xff").code == 65
    assert run("remember", "-", stdin=b"").code == 64


def test_a_key_names_a_fact_that_a_later_one_replaces() -> None:
    first = remember("Releases go out on Thursdays.", "--category", "project_policy", "--key", "release day")
    ended = run(
        "remember", "Releases go out on Fridays.", "--category", "project_policy", "--key", "release day", "--json"
    )
    assert ended.json["superseded_memory_id"] == first
    assert "Fridays" in run("show", "release day").out
    assert run("show", "no such key").code == 1


@pytest.mark.parametrize("scope", ["workspace", "user"])
def test_a_key_is_forgotten_where_it_is_shown(scope: str) -> None:
    run("remember", "The port of the staging server is 4004.", "--key", "staging port", "--scope", scope)
    assert run("show", "staging port").code == 0
    assert run("forget", "--key", "staging port").code == 0
    assert run("show", "staging port").code == 1


def test_nothing_is_kept_until_yesterday() -> None:
    ended = run("remember", "The port is 4004.", "--expires", "2020-01-01")
    assert (ended.code, "is over already" in ended.err) == (64, True)


def test_what_is_wrong_with_a_number_is_told_by_its_name() -> None:
    remember("The port is 4004.")
    assert run("list", "--limit", "0").code == 64
    ended = run("search", "port", "--limit", "0")
    assert ended.code == 64
    assert "argument --limit: '0' is no number from 1 on" in ended.err
    assert "argument --importance: 'high' is no number" in run("remember", "Tea.", "--importance", "high").err
    assert "$" not in ended.err


@pytest.mark.parametrize(
    ("said", "category"),
    [
        ("My name is Mira.", "identity"),
        ("Ich heiße Mira.", "identity"),
        ("I'm allergic to nuts.", "constraint"),
        ("Always answer in German.", "recurring_instruction"),
        ("My favourite colour is blue.", "preference"),
        ("The project uses SQLite.", "project_fact"),
        ("We decided to use SQLite in this project.", "project_decision"),
        ("My name is Mira and I live in Graz.", "custom"),
        ("The harbour office opens at nine.", "custom"),
        ("Is my name Mira?", "custom"),
    ],
)
def test_a_statement_has_the_category_that_its_words_call_for(said: str, category: str) -> None:
    assert run("remember", said, "--json").json["record"]["category"] == category


def test_a_text_that_says_more_than_the_attribute_takes_no_place_but_its_category() -> None:
    remember("I live in Graz.")
    kept = run("remember", "I live in Linz, and the cellar is in the garden.", "--json").json
    assert (kept["record"]["category"], kept["superseded_memory_id"]) == ("biography", None)
    assert len(ids()) == 2


def test_a_secret_is_refused_with_its_reason_and_not_repeated() -> None:
    ended = run("remember", "The key is AKIAQ3EXAMPLE7HARBOR", "--json")
    assert ended.code == 77
    assert "secret detected" in ended.err
    assert ended.json["error"]["data"]["details"]["decision"]["reason_code"] == "secret_detected"
    assert "AKIA" not in ended.out + ended.err


def test_memories_are_corrected_annotated_forgotten_and_restored() -> None:
    memory_id = remember(COFFEE)
    assert run("edit", memory_id).code == 64
    assert run("edit", memory_id, "--tag", "drinks", "--expires", "30d", "--json").json["record"]["tags"] == ["drinks"]
    changed = run("edit", memory_id, "I take my coffee with milk.", "--json").json
    assert changed["superseded_memory_id"] == memory_id
    now = changed["record"]["memory_id"]
    assert "superseded" in run("history", now).out
    assert run("forget", now).code == 0
    assert run("show", now).code == 1
    assert run("restore", now).code == 0
    assert COFFEE not in run("list").out
    assert "with milk" in run("list").out


def test_destruction_needs_a_yes_where_nobody_can_be_asked() -> None:
    memory_id = remember(COFFEE)
    refused = run("forget", memory_id, "--erase")
    assert refused.code == 64
    assert "--yes" in refused.err
    assert ids() == [memory_id]
    assert run("forget", memory_id, "--erase", "--dry-run").code == 0
    assert ids() == [memory_id]
    erased = run("forget", memory_id, "--erase", "--yes", "--json")
    assert erased.json["receipt"]["removed"]["records"] == 1
    assert run("forget", memory_id, "--erase", "--yes").code == 1


def test_everything_of_a_scope_is_forgotten_only_with_a_yes() -> None:
    for text in ("The ferry leaves at ten.", "The bus stops at the church."):
        remember(text, "--scope", "workspace")
    mine = remember(COFFEE)
    assert run("forget", "--everything").code == 64
    assert run("forget", "--everything", "--scope", "workspace").code == 64
    assert run("forget", "--everything", "--scope", "workspace", "--yes").code == 0
    assert ids() == [mine]


def test_workspaces_are_apart_and_made_by_what_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    there = remember("The boat is called Tern.", "--scope", "workspace", "--workspace", "boats")
    assert ids() == []
    assert ids("--workspace", "boats") == [there]
    monkeypatch.setenv("PIONEER_WORKSPACE", "boats")
    assert ids() == [there]
    assert run("search", "boat", "--scope", "workspace", "--workspace", "ws_default").code == 1
    assert run("list", "--scope", "nonsense").code == 64


@pytest.mark.parametrize("time", ["yesterday", "2026-13-40", "99999999999999d"])
def test_a_time_that_is_none_is_refused(time: str) -> None:
    assert run("remember", COFFEE, "--expires", time).code == 64


def test_text_that_could_steer_a_terminal_is_shown_without_it() -> None:
    remember("The bell \x1b[31mrings\x07 at\tnine.\nAnd again at ten.")
    listed = run("list").out
    assert "\x1b" not in listed
    assert "\x07" not in listed
    assert len(listed.splitlines()) == 1
    assert "\x1b" not in run("show", ids()[0]).out


def test_a_narrow_console_shows_what_it_can_and_json_is_utf_8() -> None:
    remember("Der Tee heißt 茶.")
    ended = run("list", encoding="cp1252")
    assert ended.code == 0
    assert "heißt" in ended.out
    assert "\\u8336" in ended.out
    assert run("list", "--json", encoding="cp1252").json["records"][0]["content"] == "Der Tee heißt 茶."


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "x"],
        ["list"],
        ["show", "mem_1"],
        ["forget", "mem_1"],
        ["why", "x"],
        ["recall", "x"],
        ["candidates"],
        ["workspaces"],
        ["stats"],
        ["status"],
        ["doctor"],
        ["backup", "f"],
        ["list", "--forgotten"],
    ],
)
def test_who_only_asks_makes_no_home(home: Path, arguments: list[str]) -> None:
    ended = run(*arguments)
    assert ended.code == 66
    assert "there is no home" in ended.err
    assert not home.exists()


# -- why ---------------------------------------------------------------------------------------------------------------


def test_every_gate_is_asked_in_plain_words() -> None:
    assert set(QUESTIONS) == set(get_args(GateName))


def test_why_tells_of_a_question_from_every_side() -> None:
    old = remember("My dentist is in Aldermouth.", "--key", "dentist")
    remember("My dentist is in Pellworm.", "--key", "dentist")
    ended = run("why", "where is my dentist")
    assert ended.code == 0
    assert "Pellworm" in ended.out
    assert old in ended.out
    assert "nowhere in this workspace" in ended.out
    told = run("why", "where is my dentist", "--json").json
    assert told["recall"]["outcome"] == "recalled"
    assert [hit["record"]["memory_id"] for hit in told["former"]] == [old]
    assert run("why", "zeppelin quartz").code == 1


@pytest.mark.parametrize("how", [[], ["--erase", "--yes"]])
def test_why_knows_words_that_were_forgotten(how: list[str]) -> None:
    memory_id = remember("My dentist is in Aldermouth.")
    assert run("why", "My dentist is in Aldermouth.", "--json").json["recall"]["missing"] == []
    assert run("forget", memory_id, *how).code == 0
    ended = run("why", "my dentist is in aldermouth")
    assert ended.code == 1
    assert "just these words were forgotten" in ended.out
    assert "not these very words" in run("why", "My dentist is in Pellworm.").out


def test_why_tells_of_a_memory_gate_by_gate() -> None:
    memory_id = remember(COFFEE)
    ended = run("why", memory_id)
    assert ended.code == 0
    assert "is it free of credentials?" in ended.out
    assert "explicitness" in ended.out
    assert run("why", memory_id, "--json").json["outcome"] == "saved"
    assert run("why", "mem_nowhere").code == 1


# -- configuration -----------------------------------------------------------------------------------------------------


def test_config_init_writes_every_key_and_never_over_a_file() -> None:
    assert run("config", "init", "--config", "c.toml").code == 0
    text = Path("c.toml").read_text(encoding="utf-8")
    assert "# retention_days = 30" in text
    assert "1 to 3650" in text
    assert run("config", "check", "--config", "c.toml").code == 0
    assert run("config", "init", "--config", "c.toml").code == 64
    assert run("config", "init", "--config", "c.toml", "--force").code == 0
    opened = re.sub(r"^# (\w+ = (?!\"…\").+)$", r"\1", text, flags=re.MULTILINE).split("# [gateway.providers.NAME]")[0]
    Path("open.toml").write_text(opened, encoding="utf-8")
    assert run("config", "check", "--config", "open.toml").out == "nothing is wrong with it\n"


def test_config_check_tells_every_problem_with_its_line() -> None:
    Path("c.toml").write_text(
        '[gateway.memory]\nenabled = 3\nretention_day = 4\nretention_days = 0\n\n[gateway.roles]\nmain = "nobody"\n',
        encoding="utf-8",
    )
    ended = run("config", "check", "--config", "c.toml", "--json")
    assert ended.code == 78
    told = {entry["line"]: entry["key"] for entry in ended.json["problems"]}
    assert told == {
        2: "gateway.memory.enabled",
        3: "gateway.memory.retention_day",
        4: "gateway.memory.retention_days",
        7: "gateway.roles.main",
    }
    assert "did you mean gateway.memory.retention_days?" in run("config", "check", "--config", "c.toml").out
    assert run("config", "check", "--config", "none.toml").code == 66


@pytest.mark.parametrize(
    "text", ["a = [", "gateway = 3", "[gateway]\nmemory = 4", "[gateway.providers.x]\nmodel = 'm'"]
)
def test_config_check_ends_for_any_file(text: str) -> None:
    Path("c.toml").write_text(text, encoding="utf-8")
    ended = run("config", "check", "--config", "c.toml")
    assert ended.code == 78
    assert "Traceback" not in ended.err


def test_settings_are_shown_without_a_home(home: Path) -> None:
    assert run("settings", "--json").json["settings"]["memory"]["retention_days"] == 30
    assert not home.exists()


def test_settings_are_shown_and_changed_in_the_file(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("# mine\n[gateway.memory]\nretention_days = 9 # short\n", encoding="utf-8")
    assert run("settings", "get", "memory.retention_days").out.split("\t")[:2] == ["gateway.memory.retention_days", "9"]
    assert run("settings", "set", "memory.review_enabled", "true", "--json").json["settings"]["memory"][
        "review_enabled"
    ]
    assert run("settings", "unset", "memory.retention_days").code == 0
    assert (home / "config.toml").read_text(encoding="utf-8").startswith("# mine")
    assert run("settings", "set", "memory.retention_days", "0").code == 64
    assert "1 to 3650" in run("settings", "set", "memory.retention_days", "many").err
    assert "did you mean gateway.memory.enabled?" in run("settings", "get", "memory.enable").err
    assert run("settings", "set", "limits.max_in_flight", "3").code == 64
    assert run("settings", "set", "memory.enabled").code == 64


def test_a_home_with_a_broken_configuration_says_so() -> None:
    remember(COFFEE)
    Path("c.toml").write_text("[gateway.memory]\nenabled = 3\n", encoding="utf-8")
    ended = run("list", "--config", "c.toml")
    assert ended.code == 78
    assert "gateway.memory.enabled" in ended.err


def test_models_tells_what_is_there_and_makes_nothing(home: Path, tmp_path: Path) -> None:
    ended = run("models", "--json")
    assert (ended.code, ended.json["is_there"], home.exists()) == (0, False, False)
    assert ended.json["static"]["is_there"]
    assert "pioneer models fetch" in ended.json["advice"][0]
    Path("c.toml").write_text("[gateway.embedding]\nembedded_default = false\n", encoding="utf-8")
    assert run("models", "--config", "c.toml").code == 1
    folder = tmp_path / "model"
    (folder / "onnx").mkdir(parents=True)
    for name in ("onnx/model.onnx", "tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes(b"12345")
    Path("c.toml").write_text(f"[gateway.embedding]\nmodel_path = {json.dumps(str(folder))}\n", encoding="utf-8")
    assert run("models", "--config", "c.toml", "--json").json["bytes"] == 15
    Path("c.toml").write_text(f"[gateway.embedding]\nmodel_path = {json.dumps(str(tmp_path))}\n", encoding="utf-8")
    assert run("models", "fetch", "--config", "c.toml").code == 78


def test_a_model_that_cannot_be_fetched_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object, **given: object) -> None:
        assert given["allow_download"]
        raise EmbedderError("download_failed")

    monkeypatch.setattr("gateway.embedding.embedder.load", fail)
    ended = run("models", "fetch")
    assert ended.code == 69
    assert "is there a network" in ended.err


# -- ends --------------------------------------------------------------------------------------------------------------


def test_every_reason_of_the_contract_has_an_exit_code_that_is_documented() -> None:
    documented = set(re.findall(r"^\| (\d+) \|", (ROOT / "docs" / "cli.md").read_text(encoding="utf-8"), re.MULTILINE))
    codes = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    assert documented == {str(code) for code in codes}
    assert set(CODE_OF_REASON) <= set(REASONS)
    assert {code_of(GatewayError(reason)) for reason in REASONS} <= codes


@pytest.mark.skipif(os.name == "nt", reason="a pipe that breaks is another error there")
def test_a_reader_that_goes_away_is_no_error() -> None:
    process = subprocess.Popen(
        [*console_script(), "completion", "bash"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()  # more is written than a pipe holds, so it breaks
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 141


def test_a_defect_is_told_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("gateway.doors.commands.memories.show_table", fail)
    remember(COFFEE)
    ended = run("list")
    assert ended.code == 70
    assert "inc_" in ended.err
    assert "Traceback" not in ended.err


def test_ctrl_c_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    remember(COFFEE)
    monkeypatch.setattr("gateway.doors.commands.memories.show_table", stop)
    assert run("list").code == 130


@pytest.mark.parametrize("way", ["--words", "--meaning"])
def test_a_search_imports_nothing_heavy(way: str) -> None:
    remember(COFFEE)
    heavy = (
        *(["numpy"] if way == "--words" else []),
        "fastembed",
        "onnxruntime",
        "tokenizers",
        "safetensors",
        "wordllama",
        "rich",
        "tomlkit",
        "jsonrpcserver",
        "tenacity",
        "usearch",
        "dateparser",
        "shtab",
        "re2",
        "uvicorn",
        "h11",
        "jinja2",
        "gateway.wiring",
    )
    code = (
        f"import sys; from gateway.cli import main; code = main(['search', 'coffee', '--json', '{way}']);"
        f"print([n for n in {heavy!r} if n in sys.modules], code, file=sys.stderr)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stderr.strip() == "[] 0"


def test_schemas_leave_the_folder_alone_in_which_somebody_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("schemas/mine.json", "docs/methods.md"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("mine", encoding="utf-8")
    assert run("schemas", "--check").code == 0  # of the sources that run, wherever one stands
    monkeypatch.setattr("gateway.doors.commands.processes.starting.own_tree", lambda: None)  # as where it was installed
    ended = run("schemas")
    assert (ended.code, "--out" in ended.err, "--docs" in ended.err) == (64, True, True)
    assert run("schemas", "--out", "schemas", "--docs", "made").code == 0
    assert (tmp_path / "schemas" / "mine.json").read_text(encoding="utf-8") == "mine"
    assert (tmp_path / "docs" / "methods.md").read_text(encoding="utf-8") == "mine"
