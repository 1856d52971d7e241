"""Forgetting on the command line: what would go, what went, what is left of it elsewhere, and how it comes back."""

from pathlib import Path

import pytest
from command_line import ids, new_home, remember, run

COFFEE = "I take my coffee without sugar."


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return new_home(tmp_path, monkeypatch)


def test_what_was_forgotten_is_listed_without_its_words_until_it_is_back_or_erased() -> None:
    first, second = (
        remember(COFFEE, "--category", "preference"),
        remember("The ferry leaves at ten.", "--scope", "workspace"),
    )
    assert run("list", "--forgotten").out == ""
    for one in (first, second):
        assert run("forget", one).code == 0
    ended = run("list", "--forgotten")
    assert [line.split("\t")[:3] for line in ended.out.splitlines()] == [
        [second, "custom", "workspace:ws_default"],
        [first, "preference", "user:default"],
    ]
    assert "coffee" not in ended.out + run("list", "--forgotten", "--json").out
    assert [one["memory_id"] for one in run("list", "--forgotten", "--scope", "user", "--json").json["forgotten"]] == [
        first
    ]
    assert "there are more" in run("list", "--forgotten", "--limit", "1").err
    assert "pioneer list --forgotten" in run("why", COFFEE).err
    assert "pioneer list --forgotten" in run("show", first).err
    assert run("restore", first).code == 0
    assert run("forget", "--of-thread", "thr_none").code == 1
    assert [one["memory_id"] for one in run("list", "--forgotten", "--json").json["forgotten"]] == [second]
    erased = remember("The bus stops at the church.")
    assert run("forget", erased, "--erase", "--yes").code == 0
    assert [one["memory_id"] for one in run("list", "--forgotten", "--json").json["forgotten"]] == [second]


def test_a_dry_run_shows_the_words_and_says_which_way_they_would_go() -> None:
    memory_id = remember(COFFEE)
    told = run("forget", memory_id, "--dry-run")
    assert (told.out, told.err) == (f"{memory_id}\tcustom\t{COFFEE}\n", "would be forgotten:\n")
    assert run("forget", memory_id, "--erase", "--dry-run").err == "would be erased for ever:\n"
    assert run("forget", memory_id, "--dry-run", "--json").json["forgotten_memory_ids"] == [memory_id]
    assert ids() == [memory_id]


def test_an_erase_names_the_backups_that_may_still_hold_it(home: Path) -> None:
    memory_id = remember(COFFEE)
    (home / "backups").mkdir()
    assert run("backup", str(home / "backups" / "monday.backup")).code == 0
    ended = run("forget", memory_id, "--erase", "--yes")
    assert ended.code == 0
    assert "HOME/backups/monday.backup" in ended.err
    assert "backups" not in run("forget", remember("The ferry leaves at ten.")).err


@pytest.mark.parametrize(("said", "code"), [(b"n\n", 1), (b"", 1), (b"y\n", 0)])
def test_a_question_is_shown_beside_the_answer(monkeypatch: pytest.MonkeyPatch, said: bytes, code: int) -> None:
    kept = [remember(COFFEE), remember("The ferry leaves at ten.")]
    for module in ("commands.changes", "terminal.screen"):
        monkeypatch.setattr(f"gateway.doors.{module}.can_ask", lambda: True)
    ended = run("forget", "--everything", "--scope", "user", "--json", stdin=said)
    assert ended.code == code
    assert all(one in ended.err for one in [*kept, COFFEE, "forget 2 memories?"])
    assert ("error" in ended.json) == bool(code)  # one document, and nothing else, is on stdout
    assert set(ids()) == (set(kept) if code else set())


def test_a_new_memory_is_shown_with_why_it_was_kept_and_how_to_undo_it() -> None:
    ended = run("remember", COFFEE)
    [memory_id] = ids()
    assert "why: the user asked for it" in ended.err
    assert f"to undo: pioneer forget {memory_id}\n" in ended.err


def test_an_erase_tells_in_plain_words_where_it_still_stands_and_what_it_is_taken_out_of() -> None:
    code = "bcdfg-4711"
    taken = remember(f"The shed opens with {code}.", "--scope", "workspace")
    kept = remember(f"The gate opens with {code}.")
    ended = run("forget", taken, "--erase", "--yes")
    assert ended.code == 0
    assert f"memory\t{kept}\tanother memory that you keep says the same\n" in ended.err
    again = remember(f"The gate opens with {code} at night.")
    preview = run("forget", again, "--erase", "--include-sources", "--dry-run")
    assert "would stay, and why:\n" in preview.err
    assert "another memory that you keep" in preview.err
    assert run("forget", kept, "--yes").code == 0
    assert "can be restored" in run("forget", again, "--erase", "--include-sources", "--yes").err
