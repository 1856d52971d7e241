"""Records that are filed under a path: one record a path, over corrections, forgetting, notes and bundles."""

import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cases import each
from memory_home import DAY, HERE, USER, WS1, WS2, MemoryHome

from memory.rules.paths import fold_path, require_path
from protocol.errors import CallerError, Refused
from protocol.memory.bundles import ExportParams, ImportParams
from protocol.memory.forgetting import ForgetByPath, ForgetParams
from protocol.memory.reads import GetParams
from protocol.memory.values import Context
from protocol.memory.writes import ConfirmParams, NoteParams
from protocol.record import Record

PLAN = "projects/harbor/plan.md"
THERE = Context(workspace_id="ws_2", include_user=True)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[MemoryHome]:
    made = MemoryHome(tmp_path)
    yield made
    made.close()


def at(home: MemoryHome, path: str, context: Context = HERE) -> Record | None:
    return home.do(home.service.questions.get(GetParams(path=path, context=context))).record


def note(home: MemoryHome, content: str, agent_id: str = "agt_a", **given: Any) -> Any:
    return home.do(home.service.notes.note(NoteParams(content=content, agent_id=agent_id, context=HERE, **given)))


def content_at(home: MemoryHome, path: str, context: Context = HERE) -> str | None:
    found = at(home, path, context)
    return found.content if found is not None else None


def refused(home: MemoryHome, content: str, **given: Any) -> str:
    with pytest.raises(Refused) as caught:
        home.remember(content, **given)
    return caught.value.reason


@each(
    "path",
    ["/etc/passwd", "../up", "a/../b", "a//b", "a/", "./a", "C:/x", "c:x", "a\\b", "a\x00b", "a\nb", " /b", "\ud800"],
)
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(CallerError):
        require_path(path)


@each("path", [PLAN, "a", "вода/Ünïcode.md", ".hidden/x", "a b/c", "...", "日記/十月.md"])
def test_what_is_a_path_is_kept(path: str) -> None:
    assert require_path(path) == unicodedata.normalize("NFC", path)


def test_a_record_is_found_by_its_path_whatever_its_case_and_composition(home: MemoryHome) -> None:
    made = home.remember("The café plan is to open in May", path="projets/Café.md").record
    decomposed = unicodedata.normalize("NFD", "PROJETS/café.MD")
    found = at(home, decomposed)
    assert found is not None
    assert (found.memory_id, found.path) == (made.memory_id, "projets/Café.md")
    assert fold_path(decomposed) == fold_path("projets/Café.md")
    assert at(home, "projets/Cafe.md") is None


def test_other_words_for_a_path_replace_what_is_there_and_the_same_words_are_one_record(home: MemoryHome) -> None:
    first = home.remember("The harbor opens in May", path=PLAN).record
    again = home.remember("The harbor opens in May", path=PLAN)
    assert (again.record.memory_id, again.relation) == (first.memory_id, "duplicate")
    second = home.remember("The harbor opens in June", path="Projects/Harbor/PLAN.md")
    assert (second.superseded_memory_id, second.record.path) == (first.memory_id, "Projects/Harbor/PLAN.md")
    assert [content_at(home, PLAN), len(home.listed())] == ["The harbor opens in June", 1]


def test_a_path_survives_corrections_and_goes_back_when_they_are_forgotten(home: MemoryHome) -> None:
    first = home.remember("Tea is at four", path=PLAN, attribute="custom", key="tea").record
    corrected = home.update(first.memory_id, content="Tea is at five").record
    assert (corrected.path, content_at(home, PLAN)) == (PLAN, "Tea is at five")
    home.forget(corrected.memory_id)
    assert content_at(home, PLAN) == "Tea is at four"


def test_what_is_forgotten_frees_its_path_and_comes_back_only_while_it_is_free(home: MemoryHome) -> None:
    first = home.remember("The key hangs by the door", path=PLAN).record
    forgotten = home.do(home.service.forget(ForgetParams(target=ForgetByPath(path=PLAN.upper()), context=HERE)))
    assert (forgotten.forgotten_memory_ids, at(home, PLAN)) == ([first.memory_id], None)
    assert home.restore(first.memory_id).path == PLAN
    home.forget(first.memory_id)
    home.remember("The key lies under the mat", path=PLAN)
    with pytest.raises(Refused):
        home.restore(first.memory_id)


def test_a_path_of_another_scope_does_not_exist_and_cannot_be_taken(home: MemoryHome) -> None:
    home.remember("The pilot is Ann", path=PLAN, scope=WS1)
    assert (at(home, PLAN, THERE), refused(home, "The pilot is Bo", path=PLAN, context=THERE)) == (None, "path_taken")
    target = ForgetParams(target=ForgetByPath(path=PLAN), context=THERE)
    assert home.do(home.service.forget(target)).forgotten_memory_ids == []
    assert refused(home, "The pilot is Cy", path=PLAN, scope=USER) == "path_taken"
    assert content_at(home, PLAN) == "The pilot is Ann"


def test_a_path_and_another_record_to_replace_is_no_choice(home: MemoryHome) -> None:
    home.remember("One is here", path="one")
    two = home.remember("Two is there", path="two").record
    assert refused(home, "Three is nowhere", path="one", supersedes=two.memory_id) == "path_taken"


def test_a_record_without_a_path_is_filed_and_one_that_has_a_path_keeps_it(home: MemoryHome) -> None:
    bare = home.remember("Ann likes oats").record
    filed = home.remember("Ann likes oats", path=PLAN).record
    assert (filed.memory_id, filed.path) == (bare.memory_id, PLAN)
    assert home.remember("Ann likes oats").record.path == PLAN
    again = home.remember("Ann likes oats", path="diary/1.md")
    assert (again.record.memory_id, again.record.path, again.relation) == (bare.memory_id, PLAN, "duplicate")
    assert (at(home, "diary/1.md"), content_at(home, PLAN)) == (None, "Ann likes oats")


def test_words_that_are_filed_already_replace_those_of_another_path_and_stay_where_they_are(home: MemoryHome) -> None:
    home.remember("One is here", path="one")
    home.remember("Two is there", path="two")
    again = home.remember("One is here", path="two")
    assert (again.record.path, content_at(home, "one"), at(home, "two")) == ("one", "One is here", None)
    assert home.listed() == ["One is here"]


def test_what_has_expired_gives_its_path_away(home: MemoryHome) -> None:
    home.remember("The sale lasts a day", path=PLAN, expires_at=home.clock.now() + DAY)
    home.later(2 * DAY)
    assert at(home, PLAN) is None
    assert home.remember("The sale is over", path=PLAN).superseded_memory_id is None


def test_a_note_replaces_only_a_note_of_the_same_agent_at_its_path(home: MemoryHome) -> None:
    first = note(home, "The build takes nine minutes", path=PLAN)
    second = note(home, "The build takes six minutes", path=PLAN)
    assert (second.status, second.superseded_memory_id) == ("noted", first.memory_id)
    for words, agent_id in (("The build takes one minute", "agt_b"), ("The build takes four minutes", "agt_a")):
        if agent_id == "agt_a":
            home.do(home.service.notes.confirm(ConfirmParams(memory_id=second.memory_id, context=HERE)))
        with pytest.raises(Refused):
            note(home, words, agent_id, path=PLAN)
    said = home.remember("The build takes five minutes", path=PLAN, scope=WS1)
    assert (said.superseded_memory_id, content_at(home, PLAN)) == (second.memory_id, "The build takes five minutes")


def test_a_credential_is_no_path(home: MemoryHome) -> None:
    assert refused(home, "The deploy notes", path="ghp_" + "a1B2c3D4" * 4 + "e5F6") == "write_refused"


def test_a_bundle_carries_paths_and_takes_none_that_is_in_use(home: MemoryHome, tmp_path: Path) -> None:
    home.remember("The harbor opens in May", path=PLAN, scope=USER)
    bundle = home.do(home.service.export_bundle(ExportParams(context=HERE))).bundle
    for name in ("other", "third"):
        (tmp_path / name).mkdir()
    other = MemoryHome(tmp_path / "other")
    try:
        taken = other.do(other.service.import_bundle(ImportParams(bundle=bundle, context=HERE)))
        assert (taken.imported, content_at(other, PLAN)) == (1, "The harbor opens in May")
    finally:
        other.close()
    third = MemoryHome(tmp_path / "third")
    try:
        holder = third.remember("Another plan stands here", path=PLAN, scope=WS2, context=THERE).record
        hidden = third.do(third.service.import_bundle(ImportParams(bundle=bundle, context=HERE))).conflicts
        seen = third.do(third.service.import_bundle(ImportParams(bundle=bundle, context=THERE))).conflicts
        assert [(one.reason, one.existing_memory_id) for one in (*hidden, *seen)] == [
            ("path_taken", None),
            ("path_taken", holder.memory_id),
        ]
    finally:
        third.close()
