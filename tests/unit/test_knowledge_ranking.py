"""Scores of what is found: insights, weights of words in small collections, and what links are found in a text."""

from typing import Any

import pytest
from cases import each

from knowledge.links.finding import find_imports, find_links
from knowledge.links.folders import folder_of_index, kind_of_root, list_folders_above
from knowledge.links.resolving import Named, Names, key_of, resolve
from knowledge.search.evidence import state_in
from knowledge.search.others import order_hits, to_memory_hit
from knowledge.search.ranking import BARE, total_of, weigh, weights_of
from knowledge.turns.planning import find_names
from protocol.base import Scope
from protocol.files.knowledge import KnowledgeSearchArgs
from protocol.memory.reads import Hit
from protocol.record import Provenance, Record
from protocol.seams.file_evidence import FilePlace


def found(key: str, score: float, subtype: str | None = None) -> Hit:
    record = Record(
        memory_id=f"mem_{key}_{subtype}",
        scope=Scope(kind="user", key="default"),
        category="project_fact",
        key=key,
        content=f"{key} it is",
        value=None,
        status="active",
        sensitivity="normal",
        confidence=1.0,
        provenance=Provenance(),
        created_at=1,
        updated_at=1,
        last_accessed_at=None,
        access_count=0,
        supersedes=None,
        superseded_by=None,
        contested=False,
        kind="observation",
        tags=[],
        importance=0.5,
        valid_from=None,
        expires_at=None,
        metadata={"subtype": subtype} if subtype else {},
        namespace=None,
        evidence_count=1,
        index_state="indexed",
    )
    return Hit(record=record, score=score, breakdown={}, snippet=f"{key} it is", matched_terms=[])


def test_knowledge_statement_19_an_insight_counts_more_and_never_before_the_claim_of_its_key() -> None:
    asked = KnowledgeSearchArgs(query="it")
    insight, claim = to_memory_hit(found("tea", 0.5, "insight"), asked), to_memory_hit(found("tea", 0.55), asked)
    assert insight is not None
    assert claim is not None
    assert (insight.score, insight.breakdown.consolidation, insight.source, insight.trust) == (
        0.6,
        1.2,
        "consolidation",
        "derived",
    )
    assert [hit.trust for hit in order_hits([insight, claim])] == ["claim", "derived"]
    other = to_memory_hit(found("coffee", 0.55), asked)
    assert other is not None
    assert [hit.trust for hit in order_hits([other, insight])] == ["derived", "claim"]
    assert (
        to_memory_hit(found("tea", 0.5, "insight"), KnowledgeSearchArgs(query="it", include_consolidations=False))
        is None
    )


def test_words_that_no_piece_has_do_not_outweigh_those_that_one_has() -> None:
    weights = weights_of({"walrus": 1, "nowhere": 0, "common": 3}, 3)
    assert weights["nowhere"] == weights["walrus"] > weights["common"] > 0


@pytest.mark.parametrize("cosine", [None, 0.5])
def test_a_piece_that_is_only_its_heading_counts_less_than_one_that_says_something(cosine: float | None) -> None:
    bare, said = (weigh(0.5, 0.1, cosine, 1.0, is_bare=is_bare) for is_bare in (True, False))
    assert total_of(bare) == pytest.approx(BARE * total_of(said))
    assert (bare.topics, bare.consolidation) == (said.topics, said.consolidation)


def test_links_are_found_outside_of_code_alone() -> None:
    text = (
        "[[A|shown]] [[A]] `[[B]]` ![[C#Part]] [x](d%20e.md) [y](<f g.md>) [z](https://x.org/a.md) [[#own]]\n"
        "~~~\n[[D]]\n~~~\n[ref]: ../h.md\n[p](pic.png) [[2024.10]]\n"
    )
    links = [(one.form, one.target, one.line, one.count) for one in find_links(text, {}, 0)]
    assert links == [
        ("wiki", "A", 1, 2),
        ("wiki_embed", "C#Part", 1, 1),
        ("link", "d e.md", 1, 1),
        ("link", "f g.md", 1, 1),
        ("link", "../h.md", 5, 1),
        ("wiki", "2024.10", 6, 1),
    ]
    fields: dict[str, Any] = {"related": ["[[R]]", "S"], "up": [["T"]], "supersedes": "https://x.org"}
    assert [(one.form, one.target) for one in find_links("", fields, 0)] == [
        ("relates", "R"),
        ("relates", "S"),
        ("relates", "T"),
    ]


def test_a_link_of_a_front_matter_stands_at_its_own_line() -> None:
    text = "---\ntitle: A\nsupersedes: old\nrelated:\n  - one\n  - '[[two]]'\n---\nText.\n"
    fields = {"title": "A", "supersedes": "old", "related": ["one", "[[two]]"]}
    found = find_links(text, fields, text.index("Text."))
    assert sorted((one.target, one.line) for one in found) == [("old", 3), ("one", 5), ("two", 6)]


def test_imports_are_found_by_each_languages_way() -> None:
    text = "from a.b import c, D\nimport e.f, g as h\n#include \"x.h\"\nimport z from './y'\nrequire_relative 'q'\nmod inner;\n"
    assert {(one.form, one.target) for one in find_imports(text)} == {
        ("import_python", "a.b"),
        ("import_python", "a.b.c"),
        ("import_python", "e.f"),
        ("import_python", "g"),
        ("import_c", "x.h"),
        ("import_script", "./y"),
        ("import_ruby", "q"),
        ("import_rust", "inner"),
    }


RUST = """\
mod a;
pub(crate) mod r#try;
#[cfg(test)] mod b;
#[path = "odd/c.rs"]
// why it lies there
mod c;
#[path = "gone.rs"]
fn d() {}
mod e;
mod outer {
    pub mod f;
    #[path = "g.rs"]
    mod g;
    mod inner {
        mod h;
    }
    mod empty {}
    mod i;
}
#[path = "files"]
mod placed {
    #[path = "j.rs"]
    mod j;
    mod k;
}
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;
/// ```
/// mod quoted;
"""
TARGETS = (
    """a try b ./odd/c.rs e outer/f outer/g.rs outer/inner/h outer/i ./files/j.rs ./files/k ./unix.rs ./windows.rs"""
)


def test_modules_of_rust_are_found_with_the_inline_modules_and_paths_around_them() -> None:
    assert [one.target for one in find_imports(RUST)] == TARGETS.split()


@each(
    ("source", "target", "files", "found"),
    [
        ("src/lib.rs", "a", "src/a.rs src/lib/a.rs", "src/a.rs"),
        ("src/main.rs", "a", "src/a/mod.rs", "src/a/mod.rs"),
        ("src/x/mod.rs", "a", "src/x/a.rs src/a.rs", "src/x/a.rs"),
        ("src/x.rs", "a", "src/a.rs src/x/a.rs", "src/x/a.rs"),
        ("src/x.rs", "a", "src/a.rs src/x/a/mod.rs", "src/x/a/mod.rs"),
        ("src/x/y.rs", "a", "src/x/a.rs src/x/y/a.rs", "src/x/y/a.rs"),
        ("tests/it.rs", "common", "tests/common/mod.rs", "tests/common/mod.rs"),  # the root of a crate
        ("x.rs", "a", "x/a.rs", "x/a.rs"),
        ("x.rs", "a", "a.md", None),
        ("src/x.rs", "./odd/c.rs", "src/odd/c.rs src/x/odd/c.rs", "src/odd/c.rs"),
        ("src/x.rs", "./../c.rs", "c.rs", "c.rs"),
        ("x.rs", "./../c.rs", "c.rs", None),
        ("src/x.rs", "in/g.rs", "src/x/in/g.rs src/in/g.rs", "src/x/in/g.rs"),
        ("src/x/mod.rs", "in/g.rs", "src/x/in/g.rs", "src/x/in/g.rs"),
        ("src/x.rs", "in/f", "src/x/in/f.rs", "src/x/in/f.rs"),
        ("src/x.rs", "./files/k", "src/files/k.rs src/x/files/k.rs", "src/files/k.rs"),
    ],
)
def test_a_module_of_rust_lies_where_the_language_looks(
    source: str, target: str, files: str, found: str | None
) -> None:
    there = {path: Named(place, path) for place, path in enumerate(files.split())}
    names = Names(there.get, lambda _: [], lambda _: [])
    led = resolve("import_rust", target, source, names).found
    assert (led.entity_id if led is not None else None) == found


def test_a_link_leads_by_path_name_or_alias_and_never_by_likeness() -> None:
    paths = {"a/x.md": Named(1, "1"), "x.md": Named(2, "2"), "only.md": Named(3, "3")}
    by_name = {"x": [paths["a/x.md"], paths["x.md"]], "only": [paths["only.md"]]}
    names = Names(paths.get, lambda name: by_name.get(name, []), lambda name: [Named(4, "4")] if name == "nick" else [])

    def led(form: Any, target: str, source: str = "a/here.md") -> int | None:
        result = resolve(form, target, source, names).found
        return result.row if result is not None else None

    assert [led("link", target) for target in ("x.md", "../x.md", "/x.md", "only.md", "./x", "../../x.md")] == [
        1,
        2,
        2,
        3,
        1,
        None,
    ]
    assert [led("wiki", target) for target in ("x", "a/x", "only#Part", "nick", "onl", "x.md")] == [
        None,
        1,
        3,
        4,
        None,
        None,
    ]
    assert [one.row for one in resolve("wiki", "x", "a/here.md", names).candidates] == [1, 2]
    assert (key_of("wiki", "a/Name#Part"), key_of("import_python", "a.b.c"), key_of("link", "../util.py")) == (
        "Name",
        "c",
        "util",
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Projects", "project"),
        ("01 - areas", "area"),
        ("3.Archive", "archive"),
        ("00_Inbox", "inbox"),
        ("Project X", None),
        ("2024", None),
    ],
)
def test_folders_of_an_order_are_known_by_their_name(name: str, kind: str | None) -> None:
    assert kind_of_root(name) == kind


def test_folders_above_a_file() -> None:
    assert [(one.path, one.kind) for one in list_folders_above("Projects/x/a.md")] == [
        ("Projects", "project"),
        ("Projects/x", "project"),
    ]
    assert list_folders_above("lib/a.md") == []
    own = folder_of_index("lib/README.md")
    assert own is not None
    assert (own.path, own.kind) == ("lib", "folder")
    assert folder_of_index("README.md") is None


def test_a_quotation_is_found_without_marks_and_line_ends() -> None:
    text = "# Plan\n\n- **Harbor** ships\n  on the `first` of May.\n\nEnd\n"
    place = FilePlace("notes", "a.md", "Harbor ships on the first of May.", 3, 4)
    assert state_in(text, place) == "same"
    assert state_in(f"More.\n\n{text}", place) == "moved"
    assert state_in("Nothing.\n", place) == "changed"
    assert state_in("", place) == "changed"


def test_names_that_a_message_uses() -> None:
    assert find_names("See [[Q3 plan|the plan]] and plans/q3.md, not 3.5 or example.com") == ["Q3 plan", "plans/q3.md"]
