"""What a newcomer meets in the first hour, from outside: the installed command, its words and its configuration."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mcp_stage import McpDen, data_of, failure_of, prompt
from spawned import every, journey

from gateway.wire.client import CallFailed, GatewayClient, console_script


class Newcomer:
    """A person at a shell with a home of their own, whose output goes into a pipe."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PIONEER_")}
        self.environ = {**kept, "PIONEER_HOME": str(self.home)}

    def run(self, *arguments: str, stdin: bytes = b"", **environ: str) -> subprocess.CompletedProcess[str]:
        ended = subprocess.run(
            [*console_script(), *arguments],
            cwd=self.folder,
            env=self.environ | environ,
            input=stdin,
            capture_output=True,
            check=False,
        )
        out, err = ended.stdout.decode(), ended.stderr.decode()
        assert "Traceback" not in err
        return subprocess.CompletedProcess(ended.args, ended.returncode, out, err)

    def json(self, *arguments: str, **environ: str) -> Any:
        return json.loads(self.run(*arguments, "--json", stdin=b"", **environ).stdout)

    def configure(self, text: str) -> None:
        self.home.mkdir(exist_ok=True)
        (self.home / "config.toml").write_text(text, encoding="utf-8")


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    return Newcomer(tmp_path)


# -- the first words ---------------------------------------------------------------------------------------------------


def test_the_bare_command_shows_six_first_commands_that_exist(newcomer: Newcomer) -> None:
    shown = newcomer.run()
    assert (shown.returncode, shown.stderr) == (0, "")
    first = re.findall(r"^  (?:.* -- )?pioneer (\w+)", shown.stdout, re.MULTILINE)
    assert len(first) == 6
    for command in first:
        assert newcomer.run("help", command).stdout.startswith(f"usage: pioneer {command}")
    assert not newcomer.home.exists()


def test_help_and_version_are_had_by_every_name(newcomer: Newcomer) -> None:
    versions = {newcomer.run(word).stdout for word in ("version", "-V", "--version")}
    assert len(versions) == 1
    assert re.fullmatch(r"pioneer \d+\.\d+\.\d+\n", versions.pop())
    assert newcomer.run("help").stdout == newcomer.run("--help").stdout
    wrong = newcomer.run("help", "serach")
    assert (wrong.returncode, wrong.stdout) == (64, "")
    assert "did you mean 'search'?" in wrong.stderr
    assert "did you mean 'help'?" in newcomer.run("helo").stderr
    assert "did you mean 'forget'?" in newcomer.run("delete", "tea").stderr
    for early in (["--home", "x", "list"], ["--json"]):
        ended = newcomer.run(*early)
        assert (ended.returncode, "options stand after the command" in ended.stderr) == (64, True), early


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_a_door_for_programs_says_at_a_terminal_what_it_waits_for(newcomer: Newcomer, command: str) -> None:
    pty = pytest.importorskip("pty", reason="there are no such terminals here")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*console_script(), command],
        cwd=newcomer.folder,
        env=newcomer.environ,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        assert process.stderr is not None
        assert process.stderr.readline().startswith(f"pioneer {command} waits here for messages of ".encode())
        os.close(ours)
        assert process.communicate(timeout=60)[0] == b""
    assert (
        b"waits here"
        not in subprocess.run(
            [*console_script(), command],
            env=newcomer.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        ).stderr
    )


COFFEE, BEANS, TEA = "I take my coffee without sugar.", "Coffee beans are from Trieste.", "The tea shop is in Graz."


def keep(newcomer: Newcomer, *texts: str) -> list[str]:
    return [newcomer.json("remember", text)["record"]["memory_id"] for text in texts]


def test_a_memory_is_named_by_words_where_only_one_has_them(newcomer: Newcomer) -> None:
    coffee, beans, tea = keep(newcomer, COFFEE, BEANS, TEA)
    assert newcomer.json("show", "tea", "shop")["record"]["memory_id"] == tea
    edited = newcomer.json("edit", "trieste", "Coffee beans are from Rijeka.")
    assert edited["superseded_memory_id"] == beans
    assert {line.split("\t")[4] for line in newcomer.run("history", "rijeka").stdout.splitlines()} >= {beans}
    forgotten = newcomer.run("forget", "sugar", "coffee")
    assert forgotten.stdout.startswith(coffee)
    assert f"it said: {COFFEE}\nto undo: pioneer restore {coffee}\n" in forgotten.stderr
    assert newcomer.json("restore", "without sugar")["record"]["memory_id"] == coffee
    assert newcomer.run("forget", "the boat").returncode == 1
    assert newcomer.run("edit", "boat", "The boat is sold.").returncode == 1
    assert newcomer.run("restore", "boat").returncode == 1


@pytest.mark.parametrize("command", [["forget"], ["show"], ["history"], ["edit"]], ids=" ".join)
def test_words_of_several_memories_show_the_choices_and_change_nothing(newcomer: Newcomer, command: list[str]) -> None:
    kept = keep(newcomer, COFFEE, BEANS, TEA)
    more = ["Coffee is off."] if command == ["edit"] else []
    for words, choices in (("coffee", kept[:2]), ("coffee boat", kept[:2])):
        ended = newcomer.run(*command, words, *more)
        assert (ended.returncode, ended.stdout) == (64, "")
        shown = [line.split("\t")[0] for line in ended.stderr.splitlines()[:-1]]
        assert sorted(shown) == sorted(choices)
        error = newcomer.json(*command, words, *more)["error"]
        assert sorted(error["choices"]) == sorted(choices)
    listed = newcomer.json("list", "--all")["records"]
    assert sorted(one["memory_id"] for one in listed) == sorted(kept)


def test_the_whole_words_of_a_memory_name_it_beside_longer_ones(newcomer: Newcomer) -> None:
    short, _ = keep(newcomer, "Coffee is fine.", "Coffee is fine in the morning, and tea at night.")
    assert newcomer.json("show", "coffee is fine")["record"]["memory_id"] == short


def test_a_word_with_an_umlaut_names_a_memory_in_either_spelling(newcomer: Newcomer) -> None:
    newcomer.run("remember", "Ich mag Käsespätzle sehr.")
    for word in ("Käsespätzle", "Kaesespaetzle"):
        assert newcomer.run("show", word).returncode == 0


def test_choices_of_what_was_forgotten_do_not_show_its_words(newcomer: Newcomer) -> None:
    kept = keep(newcomer, COFFEE, BEANS)
    for one in kept:
        assert newcomer.run("forget", one).returncode == 0
    ended = newcomer.run("restore", "coffee")
    assert (ended.returncode, ended.stdout) == (64, "")
    assert all(one in ended.stderr for one in kept)
    assert "Trieste" not in ended.stderr
    assert newcomer.json("restore", "trieste")["record"]["memory_id"] == kept[1]


def test_remember_finds_the_category_and_a_single_attribute_takes_the_place_of_the_old_one(newcomer: Newcomer) -> None:
    first = newcomer.json("remember", "I", "live", "in", "Graz.")["record"]
    assert (first["category"], first["content"], first["value"]) == ("biography", "I live in Graz.", "Graz")
    ended = newcomer.run("remember", "I live in Linz.")
    assert [line.split("\t")[-1] for line in ended.stdout.splitlines()] == ["I live in Linz."]
    assert "in place of: I live in Graz.\n" in ended.stderr
    undo = re.search(r"^to undo: pioneer (.+)$", ended.stderr, re.MULTILINE)
    assert undo is not None
    assert newcomer.run(*shlex.split(undo[1])).returncode == 0
    [now] = newcomer.json("list")["records"]
    assert (now["content"], now["value"]) == ("I live in Graz.", "Graz")


def test_what_is_believed_again_after_a_forgetting_is_told(newcomer: Newcomer) -> None:
    [graz] = keep(newcomer, "I live in Graz.")
    for more in ([], ["--erase", "--yes"]):
        keep(newcomer, "I live in Linz.")
        ended = newcomer.run("forget", "Linz", *more)
        assert (ended.returncode, len(ended.stdout.splitlines())) == (0, 1)
        assert f"believed again: I live in Graz.\nto forget that, too: pioneer forget {graz}\n" in ended.stderr, more
    assert [one["memory_id"] for one in newcomer.json("list")["records"]] == [graz]
    assert "believed again" not in newcomer.run("forget", graz).stderr


def test_what_holds_for_a_person_holds_in_every_project(newcomer: Newcomer) -> None:
    assert newcomer.run("remember", "I am allergic to nuts.", "--workspace", "ws_a").returncode == 0
    assert newcomer.run("search", "allergic", "--sensitive", "--workspace", "ws_b").returncode == 0
    assert (
        newcomer.json("remember", "The project uses SQLite.", "--workspace", "ws_a")["record"]["scope"]["key"] == "ws_a"
    )
    newcomer.configure("[gateway.memory]\nallow_global_user_by_default = false\n")
    kept = newcomer.json("remember", "I can't eat gluten.", "--workspace", "ws_a")["record"]
    assert (kept["category"], kept["scope"]["key"]) == ("constraint", "ws_a")


def test_what_we_do_is_a_project_s_within_one_and_else_the_person_s(newcomer: Newcomer) -> None:
    at_home = newcomer.json("remember", "We keep kosher")["record"]
    assert (at_home["scope"]["kind"], at_home["category"]) == ("user", "custom")
    in_project = newcomer.json("remember", "We keep kosher", "--workspace", "ws_a")["record"]
    assert (in_project["scope"]["key"], in_project["category"]) == ("ws_a", "project_fact")


def test_a_named_category_is_taken_as_it_is(newcomer: Newcomer) -> None:
    for said in ("My favourite colour is blue.", "My favourite colour is red."):
        kept = newcomer.json("remember", said, "--category", "custom")
        assert (kept["record"]["category"], kept["superseded_memory_id"]) == ("custom", None)


def test_a_home_without_conversations_says_so(newcomer: Newcomer) -> None:
    for is_there in (False, True):
        ended = newcomer.run("threads")
        assert (ended.returncode, ended.stdout) == (0, "")
        assert "there are no conversations yet" in ended.stderr
        assert newcomer.run("threads", "--json").returncode == 1
        assert newcomer.json("threads")["threads"] == []
        assert newcomer.home.exists() == is_there
        keep(newcomer, COFFEE)
    newcomer.configure(FORGOT_GATEWAY)
    assert newcomer.run("threads").returncode == 78
    assert newcomer.run("threads", "--home", str(newcomer.folder / "none")).returncode == 0


def test_an_empty_list_says_so_beside_the_data(newcomer: Newcomer) -> None:
    keep(newcomer, COFFEE)
    for more in (["--category", "todo"], ["--forgotten"]):
        ended = newcomer.run("list", *more)
        assert (ended.returncode, ended.stdout) == (0, ""), more
        assert ended.stderr, more


def test_who_asks_for_what_is_not_kept_is_told_that_nothing_fits(newcomer: Newcomer) -> None:
    """Every memory is a little like every question; what fits has a word of it, or is near enough in meaning."""
    bello, _, colour = keep(
        newcomer, "My dog is called Bello and she is 4 years old", COFFEE, "Meine Lieblingsfarbe ist Grün"
    )
    assert {hit["record"]["memory_id"] for hit in newcomer.json("search", "dog")["hits"]} == {
        bello,
        colour,
    }  # as by RPC
    found = newcomer.run("search", "dog")
    assert [line.split("\t")[0] for line in found.stdout.splitlines()] == [bello]
    assert found.stderr == ""
    nothing = newcomer.run("search", "quantum chromodynamics")
    assert (nothing.returncode, nothing.stdout) == (1, "")
    assert nothing.stderr.startswith("nothing f")
    nearest = newcomer.run("search", "tea")
    assert (nearest.returncode, nearest.stdout) == (1, "")
    assert nearest.stderr.startswith("nothing fits; nearest in meaning")
    assert "mem_" in nearest.stderr
    assert newcomer.run("search", "tea", "--min-score", "0").returncode == 0
    assert newcomer.run("search", "years", "--words").stdout.startswith(bello)
    assert "no word that could be looked for" in newcomer.run("search", "🎉").stderr


def test_what_is_sensitive_is_told_where_it_is_kept_and_missed(newcomer: Newcomer) -> None:
    kept = newcomer.run("remember", "I am allergic to cats.")
    assert "sensitive: `search` and `list` show it with --sensitive alone\n" in kept.stderr
    for command in ("search", "list"):
        asked = ["allergic"] if command == "search" else ["--category", "constraint"]
        ended = newcomer.run(command, *asked)
        assert (ended.stdout, "cats" in ended.stderr) == ("", False)
        assert "1 sensitive memory" in ended.stderr
        assert "cats" in newcomer.run(command, *asked, "--sensitive").stdout


def test_what_is_known_already_has_nothing_to_undo(newcomer: Newcomer) -> None:
    keep(newcomer, COFFEE)
    again = newcomer.run("remember", COFFEE)
    assert again.stderr.startswith("known already:\n")
    assert "to undo" not in again.stderr


def test_a_correction_is_shown_with_what_it_replaces_and_the_way_back(newcomer: Newcomer) -> None:
    keep(newcomer, BEANS)
    edited = newcomer.run("edit", "trieste", "Coffee beans are from Rijeka.")
    assert [line.split("\t")[-1] for line in edited.stdout.splitlines()] == ["Coffee beans are from Rijeka."]
    assert edited.stderr.startswith(f"corrected:\nin place of: {BEANS}\n")
    undo = re.search(r"^to undo: pioneer (.+)$", edited.stderr, re.MULTILINE)
    assert undo is not None
    assert newcomer.run(*shlex.split(undo[1])).returncode == 0
    assert [one["content"] for one in newcomer.json("list")["records"]] == [BEANS]
    changed = newcomer.run("edit", "trieste", "--importance", "0.9")
    assert (changed.stderr, len(changed.stdout.splitlines())) == ("changed:\n", 1)


def test_into_a_pipe_go_data_only(newcomer: Newcomer) -> None:
    kept = newcomer.run("remember", COFFEE)
    assert len(kept.stdout.splitlines()) == 1
    assert [line.split(":")[0] for line in kept.stderr.splitlines()] == ["kept", "why", "to undo"]
    for command in (["search", "zeppelin"], ["recall", "zeppelin"], ["show", "zeppelin"], ["forget", "zeppelin"]):
        ended = newcomer.run(*command)
        assert (ended.returncode, ended.stdout) == (1, ""), command
        assert ended.stderr
    keep(newcomer, BEANS)
    ended = newcomer.run("list", "--limit", "1")
    assert (len(ended.stdout.splitlines()), ended.stderr) == (1, "there are more: --limit N, or --all\n")


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "words"),
    [
        (["remember", "-"], b"x" * 17_000, 64, "must have at most 16384 characters"),
        (["remember", ""], b"", 64, "must not be empty"),
        (["remember", "-"], b"tea\0cup", 65, "NUL character (character 4)"),
        (["search", "-"], b"tea\0cup", 65, "NUL character"),
        (["remember", "x", "--importance", "3"], b"", 64, "must be at most 1"),
        (["remember", "x", "--workspace", "a b"], b"", 64, "must be an id: letters, digits"),
        (["recall", "x", "--thread", "a b"], b"", 64, "must be an id: letters, digits"),
        (["search", "x", "--limit", "1000"], b"", 64, "must be at most 100"),
    ],
)
def test_what_is_wrong_is_told_in_a_person_s_words(
    newcomer: Newcomer, arguments: list[str], stdin: bytes, code: int, words: str
) -> None:
    keep(newcomer, COFFEE)
    ended = newcomer.run(*arguments, stdin=stdin)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert words in ended.stderr
    assert not re.search(r"Expected|regex|`|\$|\{|null", ended.stderr), ended.stderr


NUL = "tea\0cup"
IN_EVIDENCE = [
    ("thread/start", {"thread_id": "thr", "name": NUL}, "$.name"),
    ("workspace/create", {"workspace_id": "ws_x", "root_path": NUL}, "$.root_path"),
    ("turn/start", {"thread_id": "thr_talk", "input": [{"type": "text", "text": NUL}]}, "$.input[0].text"),
    ("turn/prepare", {"thread_id": "thr_talk", "input": [{"type": "text", "text": NUL}]}, "$.input[0].text"),
    ("turn/finish", {"turn_id": "trn_x", "status": "succeeded", "assistant_text": NUL}, "$.assistant_text"),
    (
        "thread/import",
        {
            "workspace_id": "ws_default",
            "source": {"kind": "app", "id": "talk"},
            "turns": [{"at": 1_717_400_000_000, "items": [{"role": "user", "text": NUL}]}],
        },
        "$.turns[0].items[0].text",
    ),
]
SEMANTIC = {
    "intent": "explicit_store",
    "explicitness": "explicit",
    "category": "preference",
    "durability": "long_lived",
    "certainty": "high",
    "sensitivity": "none",
    "scope_hint": "user_global",
}
IN_MEMORY = [
    ("memory/remember", {"content": f"My {NUL} is blue.", "tags": [NUL], "value": {NUL: [NUL]}}),
    (
        "memory/write",
        {
            "semantic": SEMANTIC,
            "content": f"My {NUL} is green.",
            "evidence": [{"quote": f"My {NUL} is green.", "source_kind": "user_statement"}],
        },
    ),
    ("memory/note", {"agent_id": "agt", "content": f"The user's {NUL} is old."}),
]


def test_a_nul_is_told_in_evidence_and_taken_out_of_memory(tmp_path: Path) -> None:
    """What was said is kept byte for byte, so it is refused; what is remembered is cleaned of control characters."""
    den = McpDen(tmp_path)

    @journey
    async def story():
        async with den.client() as client:
            await client.request("thread/start", {"thread_id": "thr_talk"})
            for method, params, path in IN_EVIDENCE:
                with pytest.raises(CallFailed) as failed:
                    await client.request(method, params)
                problem = "must not hold a NUL character (U+0000): that is no text"
                assert failed.value.data["details"] == {"path": path, "problem": problem}, method
            assert await every(client, "thread/history", "items", thread_id="thr_talk") == []
            for method, params in IN_MEMORY:
                record = (await client.request(method, params))["record"]
                assert "teacup" in record["content"], method
                assert "\\u0000" not in json.dumps(record), method
            assert (await client.request("memory/search", {"query": NUL}))["hits"] == []
        async with den.assistant("auto") as assistant:
            proposed = await data_of(assistant, "memory_remember", content=f"The user's {NUL} is small.")
            record = (await data_of(assistant, "memory_get", memory_id=proposed["memory_id"]))["record"]
            assert record["content"] == "The user's teacup is small."
            assert (await failure_of(assistant, "memory_remember", content="\0")).startswith("invalid_params: ")
            assert "must be an id" in await failure_of(assistant, "memory_get", memory_id="mem_\0")
            assert "\0" not in await prompt(assistant, "remember", fact=f"I own a {NUL}.")

    story()


# -- configuration -----------------------------------------------------------------------------------------------------

FORGOT_GATEWAY = "# mine\n[memory]\nretention_days = 3\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["config", "check"],
        ["remember", "Tea."],
        ["search", "tea", "--words"],
        ["settings"],
        ["models"],
        ["status"],
        ["doctor"],
        ["import", "."],
        ["list"],
        ["forget", "tea"],
        ["threads"],
        ["settings", "set", "memory.enabled", "false"],
    ],
    ids=" ".join,
)
def test_a_table_without_gateway_in_front_is_told_by_every_command(newcomer: Newcomer, arguments: list[str]) -> None:
    if arguments[0] in {"search", "status", "doctor"}:
        newcomer.run("remember", "Coffee.")
    newcomer.configure(FORGOT_GATEWAY)
    ended = newcomer.run(*arguments)
    told = ended.stdout + ended.stderr
    assert ended.returncode == 78, told
    assert "line 2" in told
    assert "did you mean gateway.memory?" in told
    assert (newcomer.home / "config.toml").read_text() == FORGOT_GATEWAY


def test_the_environment_is_a_layer_above_the_file(newcomer: Newcomer) -> None:
    newcomer.configure("[gateway.memory]\nretention_days = 5\n[gateway.agent]\nmax_rounds = 2\n")
    shown = newcomer.json("settings", "--origin", PIONEER_MEMORY__RETENTION_DAYS="7")
    assert shown["settings"]["memory"]["retention_days"] == 7
    assert shown["settings"]["agent"]["max_rounds"] == 2
    named = ("memory.retention_days", "agent.max_rounds", "memory.enabled")
    assert [shown["origins"][key] for key in named] == ["environment", "file", "default"]
    one = newcomer.json(
        "settings", "get", "gateway.memory.retention_days", "--origin", PIONEER_MEMORY__RETENTION_DAYS="7"
    )
    assert (one["value"], one["origin"]) == (7, "environment")
    assert newcomer.run("settings", "get", "agent.max_rounds", "--origin").stdout.split("\t")[1:3] == ["2", "file"]

    ended = newcomer.run("settings", "set", "memory.retention_days", "9", PIONEER_MEMORY__RETENTION_DAYS="7")
    assert ended.returncode == 0
    assert "PIONEER_MEMORY__RETENTION_DAYS" in ended.stderr
    assert newcomer.json("settings")["settings"]["memory"]["retention_days"] == 9

    wrong = newcomer.run("settings", PIONEER_MEMORY__RETENTION_DAYS="hunter2")
    assert (wrong.returncode, "hunter2" in wrong.stderr) == (78, False)
    assert "PIONEER_MEMORY__RETENTION_DAYS: takes whole number, 1 to 3650" in wrong.stderr
    wrong = newcomer.run("config", "check", PIONEER_MEMRY__ENABLED="true")
    assert (wrong.returncode, "did you mean PIONEER_MEMORY__ENABLED?" in wrong.stdout) == (78, True)


def test_a_wrong_value_of_the_environment_ends_commands_and_no_app(
    newcomer: Newcomer, monkeypatch: pytest.MonkeyPatch
) -> None:
    newcomer.configure("[gateway.memory]\nretention_days = 5\n")
    wrong = {
        "PIONEER_MEMORY__RETENTION_DAYS": "hunter2",
        "PIONEER_AGENT__MAX_ROUNDS": "many",
        "PIONEER_ROLES__MAIN": "nobody",
    }
    for arguments in (["remember", "Tea."], ["settings"], ["config", "check"], ["doctor"]):
        for name, value in wrong.items():
            ended = newcomer.run(*arguments, stdin=b"", **{name: value})
            assert (ended.returncode, name in ended.stdout + ended.stderr) == (78, True), (arguments, name)
    bare = Newcomer(newcomer.folder / "bare")
    bare.folder.mkdir()
    assert bare.run("config", "check", PIONEER_ROLES__MAIN="nobody").returncode == 78
    for name, value in wrong.items():
        monkeypatch.setenv(name, value)

    @journey
    async def story():
        async with await GatewayClient.start([*console_script(), "serve", "--home", str(newcomer.home)]) as client:
            hello = {"protocol_version": "2026-11", "client": {"name": "app", "version": "1"}}
            await client.request("initialize", hello)
            degraded = (await client.request("gateway/status"))["degraded"]
            told = {one["key"] for one in degraded if (one["component"], one["reason"]) == ("config", "invalid_value")}
            assert (told, "hunter2" in json.dumps(degraded)) == (set(wrong), False)
            got = await client.request("settings/get", {"origins": True})
            assert (got["settings"]["memory"]["retention_days"], got["settings"]["agent"]["max_rounds"]) == (5, 8)
            named = ("memory.retention_days", "agent.max_rounds", "roles.main")
            assert [got["origins"][key] for key in named] == ["file", "default", "default"]

    story()


def test_a_served_home_names_the_origins_of_its_settings(newcomer: Newcomer, monkeypatch: pytest.MonkeyPatch) -> None:
    newcomer.configure("[gateway.memory]\nretention_days = 5\n")
    monkeypatch.setenv("PIONEER_AGENT__MAX_ROUNDS", "3")

    @journey
    async def story():
        async with await GatewayClient.start([*console_script(), "serve", "--home", str(newcomer.home)]) as client:
            hello = {"protocol_version": "2026-11", "client": {"name": "app", "version": "1"}}
            await client.request("initialize", hello)
            assert (await client.request("settings/get", {}))["origins"] is None
            got = await client.request("settings/get", {"origins": True})
            assert got["settings"]["agent"]["max_rounds"] == 3
            named = ("agent.max_rounds", "memory.retention_days", "memory.enabled")
            assert [got["origins"][key] for key in named] == ["environment", "file", "default"]
            updated = await client.request("settings/update", {"update": {"agent": {"max_rounds": 5}}})
            assert updated["settings"]["agent"]["max_rounds"] == 3
            assert "max_rounds = 5" in (newcomer.home / "config.toml").read_text()

    story()


TAKEN = [
    ("memory/remember", {"content": "Tea.", "category": "hush"}, "category", "project_fact"),
    ("memory/remember", {"text": "Tea."}, "text", "content"),
    ("memory/forget", {"target": {"kind": "hush", "memory_id": "mem_1"}}, "target.kind", "scoped_key, path"),
    ("memory/forget", {"target": {"kind": "turn", "id": "trn_1"}}, "target.id", "turn_id"),
    ("memory/explain", {"target": {"kind": "hush", "id": "mem_1"}}, "target.kind", "hook_run"),
    ("memory/search", {"query": "tea", "scopes": [{"kind": "hush", "key": "x"}]}, "scopes[0].kind", "workspace"),
]


def test_a_refusal_names_what_a_method_takes(newcomer: Newcomer) -> None:
    @journey
    async def story():
        async with await GatewayClient.start([*console_script(), "serve", "--home", str(newcomer.home)]) as client:
            hello = {"protocol_version": "2026-11", "client": {"name": "app", "version": "1"}}
            await client.request("initialize", hello)
            for method, params, place, taken in TAKEN:
                with pytest.raises(CallFailed) as refused:
                    await client.request(method, params)
                message = refused.value.message
                told, _, choices = message.partition(". It takes: ")
                assert told.endswith(f" - at `$.{place}`"), message
                assert taken in choices, message
                assert "hush" not in message

    story()


# -- words where nothing was said, or too much ------------------------------------------------------------------------


def test_a_variable_that_is_not_read_is_named_by_the_doctor_with_the_one_that_is(newcomer: Newcomer) -> None:
    keep(newcomer, COFFEE)
    newcomer.configure('[gateway.providers.a]\nkind = "openai"\nmodel = "m"\napi_key_env = "PIONEER_VENDOR_KEY"\n')
    given = {
        "PIONEER_HOM": "/x",
        "PIONEER_MEMORY_ENABLED": "false",
        "PIONEER_ODDITY": "1",
        "PIONEER_VENDOR_KEY": "hush",
    }
    found = [one for one in newcomer.json("doctor", **given)["findings"] if one["check"] == "variables"]
    assert [(one["level"], one["text"].split()[0], one["advice"].split()[-1]) for one in found] == [
        ("note", "PIONEER_HOM", "PIONEER_HOME?"),
        ("note", "PIONEER_MEMORY_ENABLED", "PIONEER_MEMORY__ENABLED?"),
        ("note", "PIONEER_ODDITY", "PIONEER_<TABLE>__<KEY>"),
    ]
    shown = newcomer.run("doctor", stdin=b"", **given)
    assert "hush" not in shown.stdout + shown.stderr
    assert "does not read" not in newcomer.run("doctor").stdout


@pytest.mark.parametrize("command", [["list"], ["doctor"], ["threads"]], ids=" ".join)
def test_where_no_home_is_the_folder_is_named_and_another_use_of_it_is_said(
    newcomer: Newcomer, command: list[str]
) -> None:
    absent = newcomer.run(*command)
    assert f"there is no home yet in {newcomer.home}: `pioneer remember`" in absent.stderr
    newcomer.home.mkdir()
    (newcomer.home / "holiday.jpg").write_bytes(b"x")
    foreign = newcomer.run(*command)
    assert f"{newcomer.home} holds other things and is no home" in foreign.stderr
    assert "pioneer remember" not in foreign.stderr
    assert foreign.returncode == absent.returncode
    assert [path.name for path in newcomer.home.iterdir()] == ["holiday.jpg"]


def test_status_names_each_number_and_says_who_does_what_waits(newcomer: Newcomer) -> None:
    keep(newcomer, COFFEE)
    ended = newcomer.run("status")
    waiting = re.findall(r"^jobs: (\w+) +(\d+ waiting)$", ended.stdout, re.MULTILINE)
    queues = newcomer.json("status")["queues"]
    assert dict(waiting) == {kind: f"{count['queued']} waiting" for kind, count in queues.items() if count["queued"]}
    assert waiting
    assert "no gateway runs here: waiting jobs are done by the next one" in ended.stderr


def test_sensitive_words_are_shown_to_who_names_them_and_to_nobody_else(newcomer: Newcomer) -> None:
    keep(newcomer, COFFEE)
    (nuts,) = keep(newcomer, "I am allergic to nuts.")
    (pollen,) = keep(newcomer, "I am allergic to pollen.")
    shown = newcomer.run("show", nuts)
    assert shown.stdout.startswith("I am allergic to nuts.\n")
    assert "sensitive: shown because you named it" in shown.stderr
    assert "sensitive" not in newcomer.run("show", "sugar").stderr
    unclear = newcomer.run("forget", "allergic")
    assert unclear.returncode == 64
    assert nuts in unclear.stderr
    assert pollen in unclear.stderr
    assert "nuts" not in unclear.stderr.replace(nuts, "")
    everything = newcomer.run("forget", "--everything", "--scope", "user", "--dry-run")
    assert "coffee" in everything.stdout
    assert "nuts" not in everything.stdout
    forgotten = newcomer.run("forget", nuts)
    assert "it said: I am allergic to nuts.\nsensitive: shown because you named it" in forgotten.stderr


def test_a_conversation_without_a_title_is_listed_by_its_first_words(newcomer: Newcomer) -> None:
    question = "How long does the tide take at the northern pier before the ferry of the early morning leaves?"
    lines = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {"protocol_version": "2026-11", "client": {"name": "t", "version": "1"}},
        },
        {"jsonrpc": "2.0", "id": 2, "method": "thread/start", "params": {"thread_id": "thr_tide"}},
        {
            "jsonrpc": "2.0",
            "id": 3,
            "method": "turn/prepare",
            "params": {"thread_id": "thr_tide", "input": [{"type": "text", "text": question}]},
        },
        {"jsonrpc": "2.0", "id": 4, "method": "thread/start", "params": {"thread_id": "thr_still"}},
        {"jsonrpc": "2.0", "id": 5, "method": "shutdown"},
    ]
    newcomer.run("serve", stdin=b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    titles = {row.split("\t")[0]: row.split("\t")[4] for row in newcomer.run("threads").stdout.splitlines()}
    assert titles["thr_tide"] == '"How long does the tide take at the northern pier before the…"'
    assert titles["thr_still"] == ""
    newcomer.run("threads", "thr_tide", "--rename", "Tides")
    assert "\tTides\n" in newcomer.run("threads").stdout


def test_an_empty_list_says_so_and_ends_as_the_page_says(newcomer: Newcomer) -> None:
    (kept,) = keep(newcomer, COFFEE)
    newcomer.run("forget", kept, "--erase", "--yes")
    page = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    said = page.split("- An empty list says so on stderr. ")[1].split("With `--json`")[0]
    well, _, badly = said.partition("then end with 0;")
    assert set(re.findall("`([^`]+)`", well)) == {"list", "similar", "threads", "passes runs", "passes review"}
    for command in re.findall("`([^`]+)`", well):
        ended = newcomer.run(*command.split())
        assert (ended.returncode, ended.stdout, bool(ended.stderr)) == (0, "", True), command
    for command in re.findall("`([^`]+)`", badly.replace("`knowledge`", "`knowledge list`, `knowledge changes`")):
        ended = newcomer.run(*command.split())
        assert (ended.returncode, ended.stdout, bool(ended.stderr)) == (1, "", True), command
