"""`pioneer import` as a person or a program runs it: a process of its own on a home, again and again."""

import asyncio
import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from spawned import Den, drain, every, journey, on_posix, run_to_end

from gateway.base.exit_codes import DATA, INTERRUPTED, NO_INPUT, UNAVAILABLE, USAGE
from gateway.wire.client import console_script

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "import"
NOTHING = {"new": 0, "changed": 0, "unchanged": 0}


@pytest.fixture
def den(tmp_path: Path) -> Den:
    return Den(tmp_path / "den")


def command(den: Den, path: Path, *more: str) -> list[str]:
    return [*console_script(), "import", str(path), "--home", str(den.home), "--config", str(den.config), *more]


def run(den: Den, path: Path, *more: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the figures."""
    ended = run_to_end(command(den, path, "--json", *more))
    assert ended.stdout, ended.stderr.decode()
    return ended.returncode, json.loads(ended.stdout)


def talk(number: int, answers: int = 1, *, text: str = "an answer", title: str | None = None) -> dict[str, Any]:
    """A conversation as Claude's export has it."""
    said = [("human", f"question {number}")] + [("assistant", f"{text} {n} of {number}") for n in range(answers)]
    return {
        "uuid": f"talk-{number}",
        "name": title or f"Talk {number}",
        "created_at": "2024-06-03T08:15:00Z",
        "chat_messages": [
            {"uuid": str(n), "sender": who, "text": words, "created_at": f"2024-06-03T08:{n % 60:02}:00Z"}
            for n, (who, words) in enumerate(said)
        ],
    }


def export(path: Path, talks: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps(talks), encoding="utf-8")
    return path


@pytest.mark.loop("test")  # the door of what was said elsewhere
def test_every_sample_is_imported_found_and_not_imported_twice(den: Den) -> None:
    code, figures = run(den, SAMPLES, "--workspace", "ws_old")
    assert code == DATA  # the samples hold broken ones
    assert figures["conversations"] == {"new": 11, "changed": 0, "unchanged": 0}
    assert figures["skipped"]["by_reason"] == {
        "broken_json": 1,
        "circular": 1,
        "duplicate_id": 1,
        "no_messages": 2,
        "not_a_conversation": 2,
        "unknown_format": 2,
    }
    assert {"file": "chatgpt/conversations.json", "place": "conversation 2", "reason": "broken_json"} in figures[
        "skipped"
    ]["first"]
    assert figures["repaired_characters"] == 3
    assert figures["left_out"]["other_branch"] == 2

    code, again = run(den, SAMPLES, "--workspace", "ws_old")
    assert code == DATA
    assert again["conversations"] == {"new": 0, "changed": 0, "unchanged": 11}
    assert again["turns"] == {"imported": 0, "replaced": 0, "unchanged": figures["turns"]["imported"]}

    @journey
    async def look() -> None:
        async with den.client("ws_old") as client:
            await drain(client)
            threads = await every(client, "thread/list", "threads", workspace_id="ws_old")
            assert {"Watering plan", "Timetable sync", "Compost questions"} <= {thread["name"] for thread in threads}
            found = await client.request(
                "thread_episodic/search", {"workspace_id": "ws_old", "query": "summer time pump"}
            )
            assert "Two timers fire at six" in found["hits"][0]["snippet"]
            (roses,) = [thread for thread in threads if thread["name"] == "Watering plan"]
            items = await every(client, "thread/history", "items", thread_id=roses["thread_id"])
            assert [(item["role"], item["at"]) for item in items][:2] == [
                ("user", 1_714_550_401_500),
                ("assistant", 1_714_550_401_500),
            ]

    look()


def test_citation_marks_and_control_characters_stay_behind(den: Den, tmp_path: Path) -> None:
    """As the exports really hold them; what a person saw is what is kept, and found, and the counts tell the rest."""
    cite, city = "\ue200cite\ue202turn0search0\ue202turn1news2\ue201", '\ue200entity\ue202["city", "Trieste", 0]\ue201'
    asked = f"What leaves for {city} today?\x07"
    said = (
        f"\ue203The night ferry\ue204 leaves at ten. {cite}\nIt takes cars【12†source】:contentReference[oaicite:3]{{index=3}}, "
        "\x1b[1mbooked\x1b[0m ahead. citeturn0search4\n```\nre.sub(r'【12†source】', '', text)\n```"
    )
    shown = "The night ferry leaves at ten.\nIt takes cars, booked ahead.\n```\nre.sub(r'【12†source】', '', text)\n```"
    nodes = {
        "root": {"message": None, "parent": None, "children": ["a"]},
        "a": {
            "parent": "root",
            "children": ["b"],
            "message": {
                "author": {"role": "user"},
                "create_time": 1_717_400_000.0,
                "content": {"content_type": "text", "parts": [asked]},
            },
        },
        "b": {
            "parent": "a",
            "children": [],
            "message": {
                "author": {"role": "assistant"},
                "create_time": 1_717_400_009.0,
                "recipient": "all",
                "content": {"content_type": "text", "parts": [said]},
            },
        },
    }
    ferry = {"conversation_id": "ferry", "title": f"Ferries{cite}", "current_node": "b", "mapping": nodes}
    path = export(tmp_path / "conversations.json", [ferry])
    code, figures = run(den, path)
    assert (code, figures["repaired_characters"]) == (0, 0)
    assert figures["left_out"] == {"citation": 7, "control": 3}
    assert run(den, path)[1]["conversations"] == NOTHING | {"unchanged": 1}
    quoted = talk(7)
    quoted["chat_messages"][0]["text"] = "Why does it write 【12†source】 there?"
    quoted["chat_messages"][1]["text"] = 'It <cite index="0-1">marks a source</cite> so.\r\n'
    assert run(den, export(tmp_path / "claude.json", [quoted]))[0] == 0

    @journey
    async def look() -> None:
        async with den.client() as client:
            await drain(client)
            threads = {one["name"]: one["thread_id"] for one in await every(client, "thread/list", "threads")}
            texts = {
                name: [item["text"] for item in await every(client, "thread/history", "items", thread_id=thread_id)]
                for name, thread_id in threads.items()
            }
            assert texts == {
                "Ferries": ["What leaves for Trieste today?", shown],
                "Talk 7": ["Why does it write 【12†source】 there?", "It marks a source so.\n"],
            }
            found = await client.request(
                "thread_episodic/search", {"workspace_id": "ws_default", "query": "turn0search0"}
            )
            assert found["hits"] == []

    look()


def test_a_dry_run_counts_and_changes_nothing(den: Den) -> None:
    code, figures = run(den, SAMPLES / "markdown", "--workspace", "ws_other", "--dry-run")
    assert (code, figures["dry_run"]) == (0, True)
    assert figures["conversations"] == NOTHING | {"new": 3}
    _, imported = run(den, SAMPLES / "markdown", "--workspace", "ws_new")
    assert imported["turns"] == figures["turns"]
    _, after = run(den, SAMPLES / "markdown", "--workspace", "ws_new", "--dry-run")
    assert after["conversations"] == NOTHING | {"unchanged": 3}

    @journey
    async def look() -> None:
        async with den.client() as client:
            ids = {one["workspace_id"] for one in await every(client, "workspace/list", "workspaces")}
            assert "ws_new" in ids
            assert "ws_other" not in ids

    look()


def test_a_source_that_grew_or_shrank_is_brought_up_to_date(den: Den, tmp_path: Path) -> None:
    path = export(tmp_path / "conversations.json", [talk(1, 2), talk(2, 2)])
    assert run(den, path)[0] == 0
    longer = talk(1, 2)
    longer["chat_messages"].append({"sender": "human", "text": "and now?", "created_at": "2024-06-04T00:00:00Z"})
    export(path, [longer, talk(2, 2), talk(3)])
    assert run(den, path)[1]["conversations"] == {"new": 1, "changed": 1, "unchanged": 1}
    export(path, [talk(1, 2), talk(2, 2), talk(3)])
    run(den, path)

    @journey
    async def look() -> None:
        async with den.client() as client:
            threads = await every(client, "thread/list", "threads", workspace_id="ws_default")
            assert sorted((thread["name"], thread["turn_count"]) for thread in threads) == [
                ("Talk 1", 1),
                ("Talk 2", 1),
                ("Talk 3", 1),
            ]

    look()


def test_a_conversation_beyond_one_request_is_one_thread_and_stays_so(tmp_path: Path) -> None:
    den = Den(tmp_path / "den", config="[gateway.limits]\nmax_message_bytes = 16384\n")
    long = talk(1, 90, text="words " * 60)
    path = export(tmp_path / "conversations.json", [long])
    _, first = run(den, path)
    assert first["conversations"] == NOTHING | {"new": 1}
    assert run(den, path)[1]["conversations"] == NOTHING | {"unchanged": 1}
    long["chat_messages"][50]["text"] = "this one was edited"
    del long["chat_messages"][70:]
    export(path, [long])
    assert run(den, path)[1]["conversations"] == NOTHING | {"changed": 1}
    assert run(den, path)[1]["conversations"] == NOTHING | {"unchanged": 1}

    @journey
    async def look() -> None:
        async with den.client() as client:
            (thread,) = await every(client, "thread/list", "threads", workspace_id="ws_default")
            items = await every(client, "thread/history", "items", thread_id=thread["thread_id"])
            assert [item["text"] for item in items] == [message["text"] for message in long["chat_messages"]]

    look()


def test_it_works_beside_a_running_gateway(den: Den) -> None:
    @journey
    async def both() -> None:
        async with den.client("ws_default") as client:
            importing = await asyncio.create_subprocess_exec(
                *command(den, SAMPLES / "codex", "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            out, _ = await importing.communicate()
            assert json.loads(out)["conversations"] == NOTHING | {"new": 2}
            threads = await every(client, "thread/list", "threads", workspace_id="ws_default")
            assert len(threads) == 2

    both()


@on_posix
def test_an_interruption_is_orderly_and_the_next_run_finishes(den: Den, tmp_path: Path) -> None:
    path = export(tmp_path / "conversations.json", [talk(number, 20) for number in range(1500)])
    figures: dict[str, Any] = {}

    @journey
    async def interrupt() -> None:
        async with den.client() as client:
            importing = await asyncio.create_subprocess_exec(
                *command(den, path, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            while len(await every(client, "thread/list", "threads", workspace_id="ws_default")) < 5:
                assert importing.returncode is None
            importing.send_signal(signal.SIGINT)
            out, _ = await importing.communicate()
            assert importing.returncode == INTERRUPTED
            figures.update(json.loads(out))
            figures["stored"] = len(await every(client, "thread/list", "threads", workspace_id="ws_default"))
            assert (await client.request("gateway/status"))["processes"] == 1

    interrupt()
    assert figures["interrupted"] is True
    assert 3 <= figures["conversations"]["new"] <= figures["stored"] < 1500  # two more may be on their way

    export(path, [talk(number, 20) for number in range(figures["stored"] + 5)])
    code, after = run(den, path)
    assert code == 0
    assert after["conversations"] == {"new": 5, "changed": 0, "unchanged": figures["stored"]}


def test_a_person_reads_what_was_done_and_why_not(den: Den) -> None:
    ended = run_to_end(command(den, SAMPLES / "chatgpt"))
    text = ended.stdout.decode()
    assert "3 imported, 0 changed, 0 unchanged" in text
    assert "conversations.json, conversation 2: not valid JSON" in text
    assert "messages on branches that were left" in text


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["no-such-file.json"], NO_INPUT),
        ([str(SAMPLES / "codex"), "--workspace", "not an id"], USAGE),
        ([], USAGE),
        ([str(SAMPLES / "markdown" / "readme.md")], DATA),
        ([str(SAMPLES / "markdown" / "bold-2024-02-11.md")], 0),
    ],
)
def test_exit_codes(den: Den, arguments: list[str], code: int) -> None:
    home = ["--home", str(den.home), "--config", str(den.config)]
    ended = run_to_end([*console_script(), "import", *arguments, *home])
    assert ended.returncode == code, ended.stderr.decode()
    assert bool(ended.stderr) == (code in {NO_INPUT, USAGE})


def test_a_home_that_cannot_be_used_is_said_in_one_line(den: Den, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    den.home = tmp_path / "file"
    ended = run_to_end(command(den, SAMPLES / "codex"))
    assert ended.returncode == UNAVAILABLE
    assert ended.stderr.decode().startswith("pioneer import: ")
    assert len(ended.stderr.splitlines()) == 1
    den.home = tmp_path / "home"
    den.config.write_text("not = [toml")
    assert run_to_end(command(den, SAMPLES / "codex")).returncode == 78
