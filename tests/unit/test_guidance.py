"""Pure parts of what steers a turn: hidden characters, include tokens, cuts, definitions; and the two layers."""

from pathlib import Path

import pytest
from cases import each
from guidance_stage import agent, put
from hypothesis import given
from hypothesis import strategies as st

from agent.guidance.budget import SteeringText, fit
from agent.guidance.chain import MAX_FILE_BYTES, InstructionSources, load_chain
from agent.guidance.definitions import FILES, HelperDefinition, TopDefinition, judge, judge_whole
from agent.guidance.ports import UnreadFile
from agent.guidance.source_text import find_includes, parse_source, take_out_hidden
from gateway.files.guidance_files import AgentFolders, InstructionFiles
from gateway.files.plain_yaml import NotPlainYamlError, PlainYaml, read_plain_yaml
from protocol.guidance import InvalidAgent

TOKENS = [
    ('@a.md and (@b/c.md), "@d.md"', [("a.md", False), ("b/c.md", False), ("d.md", False)]),
    ("mail me@home.net, x@y", []),
    ("`@code.md` and ``a ` @more.md`` then @out.md", [("code.md", True), ("more.md", True), ("out.md", False)]),
    ("one ` tick @free.md", [("free.md", False)]),
    ("a tick ` here\n\n@free.md ` there", [("free.md", False)]),
    ("```\n@in.md\n```\n@out.md", [("in.md", True), ("out.md", False)]),
    ("~~~~\n@in.md\n~~~\n@in.md\n~~~~\n@out.md", [("in.md", True), ("out.md", False)]),
    ("```\n@never.md", [("never.md", True)]),
    ("para\n\n    @in.md\n\n\t@tab.md\n\n@out.md", [("in.md", True), ("tab.md", True), ("out.md", False)]),
    ("# Head\n    @in.md", [("in.md", True)]),
    ("para\n    @goes-on.md", [("goes-on.md", False)]),
    ("- entry\n\n    @of-it.md\n\n      @in.md", [("of-it.md", False), ("in.md", True)]),
    ("1. entry\n   - nested\n\n     @of-it.md\n\npara\n\n    @in.md", [("of-it.md", False), ("in.md", True)]),
    ("- entry\n\n  ```\n  @in.md\n  ```\n\n  @out.md", [("in.md", True), ("out.md", False)]),
    ("- entry\n\n    ```\n    @in.md\n    ```\n    @out.md", [("in.md", True), ("out.md", False)]),
    ("- ```\n  @in.md\n  ```\n@out.md", [("in.md", True), ("out.md", False)]),
    ("- ```\n  @in.md\n@out.md", [("in.md", True), ("out.md", False)]),
    ("* * *\n\n    @in.md", [("in.md", True)]),
    ("Read @a.md, as in\n\n    Read @a.md", [("a.md", False)]),
    ("```js` @span.md", [("span.md", False)]),
    ("@a.md @a.md", [("a.md", False)]),
    ("@~/x @../y. @/z!", [("~/x", False), ("../y", False), ("/z", False)]),
]


@each(("text", "found"), TOKENS)
def test_include_tokens(text: str, found: list[tuple[str, bool]]) -> None:
    assert [(token.written, token.in_code) for token in find_includes(text)] == found


def test_a_long_text_of_backticks_costs_a_moment() -> None:
    text = "@a.md " + " ".join("`" * n for n in range(1, 1400)) + " " + "` " * 50_000
    assert [token.written for token in find_includes(text)] == ["a.md"]
    assert len(find_includes("`a` @b.md " * 50_000)) == 1
    for lines in (
        "- " * 50_000 + "@a.md",
        "\n".join(" " * n + "- @a.md" for n in range(1000)),
        "-\n\n" * 50_000 + "@a.md",
    ):
        assert [token.written for token in find_includes(lines)] == ["a.md"]


@given(st.text(st.characters(exclude_characters="\u061c\u180e\ufeff", exclude_categories=["Cs", "Cf"])))
def test_what_is_seen_stays(text: str) -> None:
    assert take_out_hidden(text) == (text, {})
    assert parse_source(text.replace("\0", "").encode()).text == text.replace("\0", "")


PARAGRAPHS = st.lists(st.text("ab \n#", max_size=60), min_size=1, max_size=6)


@given(PARAGRAPHS, st.integers(0, 400))
def test_a_cut_keeps_to_the_budget_and_tells_what_is_missing(texts: list[str], limit: int) -> None:
    pieces = [SteeringText(f"f{n}", f"### f{n}\n\n", text, n) for n, text in enumerate(texts)]
    fitted = fit(pieces, limit)
    assert len(fitted.text) <= limit
    missing = {cut.path: cut.chars for cut in fitted.cuts}
    for piece in pieces:
        kept = piece.text[: len(piece.text) - missing.get(piece.path, 0)]
        assert not fitted.text or kept in fitted.text
    if not missing:
        assert all(piece.text in fitted.text for piece in pieces)
    elif fitted.text:
        assert all(cut.notice in fitted.text for cut in fitted.cuts)


def test_the_innermost_is_kept_first_and_a_cut_stands_at_a_heading() -> None:
    one = "# One\n\n" + "text of one\n" * 10
    outer = one + "# Two\n" + "text of two\n" * 10
    pieces = [SteeringText("A", "", outer), SteeringText("A/x", "", "included\n"), SteeringText("B", "", "inner\n", 1)]
    whole = fit(pieces, 1000)
    assert whole == ([outer, "included\n", "inner\n"], [])
    cut = fit(pieces, len(whole.text) - 40)
    left_out = "[A: lines 13-23 left out, 126 characters over the budget]\n"
    assert cut.texts == [one + left_out, "included\n", "inner\n"]
    assert cut.cuts == [("A", 13, 23, 126)]
    less = fit(pieces, 250)
    assert less.texts[1:] == ["included\n", "inner\n"]
    assert fit(pieces, 10).text == ""
    assert [one.chars for one in fit(pieces, 10).cuts] == [len(outer), 9, 6]


LONG_LINES = [
    ("Keep this rule number one. " * 600, "one. "),  # at a sentence
    ("# Rules\n\n" + "keep all of these words " * 700, " "),  # at a word
    ("漢" * 20_000, "漢"),
]


@each(("text", "ending"), LONG_LINES)
def test_a_line_too_long_for_its_room_is_cut_within(text: str, ending: str) -> None:
    fitted = fit([SteeringText("A", "", text)], 4000)
    (cut,) = fitted.cuts
    kept = text[: len(text) - cut.chars]
    assert fitted.text == f"{kept}\n{cut.notice}"
    assert kept.endswith(ending)
    assert 3900 < len(fitted.text) <= 4000


def test_the_outer_text_has_the_room_that_the_inner_one_left() -> None:
    inner = "inner " * 100 + "\n\n" + "too long " * 1000
    pieces = [SteeringText("A", "", "An outer rule.\n\n" * 100), SteeringText("B", "", inner, 1)]
    fitted = fit(pieces, 1100)
    assert [cut.path for cut in fitted.cuts] == ["A", "B"]
    assert fitted.texts[1].startswith("inner inner")
    assert fitted.texts[0].startswith("An outer rule.\n\nAn outer rule.\n\n")
    assert 1050 < len(fitted.text) <= 1100


def test_a_chain_ends_at_its_32nd_include(tmp_path: Path) -> None:
    names = [f"n{number:02}.md" for number in range(40)]
    put(tmp_path, {".git/": "", "AGENTS.md": " ".join(f"@{name}" for name in names), **{name: name for name in names}})
    disk = InstructionFiles()
    chain = load_chain(InstructionSources(disk), disk, str(tmp_path.resolve()), None, profile="default", depth=1)
    assert [file.path for file in chain.files if file.source] == ["AGENTS.md", *names[:32]]
    assert {file.problem for file in chain.files if not file.source} == {"too_many"}


def test_utf_16_with_its_mark_is_text() -> None:
    for name in ("utf-16-le", "utf-16-be"):
        assert parse_source("\ufeffBe kind, caf\u00e9.\n".encode(name)).text == "Be kind, caf\u00e9.\n"
    with pytest.raises(UnreadFile, match="not_utf8"):
        parse_source(b"\xff\xfea")


def test_an_empty_file_hides_none_and_a_link_that_leads_elsewhere_is_told(tmp_path: Path) -> None:
    disk = InstructionFiles()
    for folder in ("empty", "bare", "led", "twin"):
        put(tmp_path, {f"{folder}/.git/": ""})
    put(
        tmp_path,
        {"empty/AGENTS.md": "\ufeff \n", "empty/CLAUDE.md": "Be brief.", "bare/AGENTS.md": "", "led/rules.md": "x"},
    )
    put(tmp_path, {"twin/CLAUDE.md": "Be kind."})
    beside = {"huge": b"x" * (MAX_FILE_BYTES + 1), "latin": "caf\u00e9".encode("latin-1"), "data": b"\0\1"}
    for name, data in beside.items():
        put(tmp_path, {f"{name}/.git/": "", f"{name}/AGENTS.md": data, f"{name}/CLAUDE.md": "Be kind."})
    (tmp_path / "led" / "AGENTS.md").symlink_to("rules.md")
    (tmp_path / "twin" / "AGENTS.md").symlink_to("CLAUDE.md")

    def load(folder: str) -> list[tuple[str, str | None]]:
        root = str((tmp_path / folder).resolve())
        chain = load_chain(InstructionSources(disk), disk, root, None, profile="default", depth=1)
        return [(file.path, file.problem) for file in chain.files]

    assert load("empty") == [("AGENTS.md", "empty"), ("CLAUDE.md", None)]
    assert load("bare") == [("AGENTS.md", "empty")]
    assert load("led") == [("AGENTS.md", "link")]
    assert load("twin") == [("CLAUDE.md", None)]
    assert load("huge") == [("AGENTS.md", "too_large"), ("CLAUDE.md", None)]
    assert load("latin") == [("AGENTS.md", "not_utf8"), ("CLAUDE.md", None)]
    assert load("data") == [("AGENTS.md", "binary"), ("CLAUDE.md", None)]


def test_a_name_is_taken_in_its_very_letters(tmp_path: Path) -> None:
    disk = InstructionFiles()
    put(tmp_path, {"agents.md": "small"})
    assert disk.find(str(tmp_path), "AGENTS.md") is None
    assert disk.find(str(tmp_path), "agents.md") is not None


NOT_PLAIN = [
    ("[" * 16_000, "too_deep", 1),
    ("a: 1\nb: &x 1", "anchor", 2),
    ("a: *x", "anchor", 1),
    ("a:\n  - !!int 1", "tag", 2),
    ("- 1", "no_table", 1),
    ("a: 1\nb: {a: 2}\na: 3", "double_key", 3),
    ("[1]: 2", "key_not_text", 1),
    ("a: 1\n---\nb: 2", "second_document", 2),
    ("a: {b: [", "syntax", 1),
    ("a: 1\nb: secret: 2", "syntax", 2),
    ("a: \x01", "syntax", None),
    ("x" * 17_000, "too_large", None),
]


@each(("text", "cause", "line"), NOT_PLAIN)
def test_yaml_of_strangers_is_refused_with_its_line_and_cause(text: str, cause: str, line: int | None) -> None:
    with pytest.raises(NotPlainYamlError) as refused:
        read_plain_yaml(text)
    assert (refused.value.cause, refused.value.line) == (cause, line)


def test_plain_yaml_is_texts() -> None:
    assert read_plain_yaml("a: no\nb: [1, x]\nc:\n  d: 2026-01-01\n") == PlainYaml(
        {"a": "no", "b": ["1", "x"], "c": {"d": "2026-01-01"}},
        {"a": 1, "b": 2, "c": 3},
    )
    assert read_plain_yaml("") == PlainYaml({}, {})


def test_a_value_that_is_wrong_is_told_with_its_line_and_without_itself(tmp_path: Path) -> None:
    put(
        tmp_path / "vault",
        {"one/AGENTS.md": "x", "one/config.yaml": f"description: d\nname: {'n' * 81}\ntools: hush\n"},
    )
    found = folders(tmp_path).read("one", {"AGENTS.md"})
    assert found is not None
    judged = judge(found)
    assert isinstance(judged, InvalidAgent)
    assert [(one.code, one.key, one.line, one.cause) for one in judged.problems] == [
        ("config_invalid", "name", 2, "too_long"),
        ("config_invalid", "tools", 3, "wrong_value"),
    ]


def folders(tmp_path: Path) -> AgentFolders:
    return AgentFolders(lambda: tmp_path / "vault", tmp_path / "built_in")


def test_knowledge_statement_35_a_folder_of_the_vault_hides_the_built_in_one_wholly(tmp_path: Path) -> None:
    put(
        tmp_path / "built_in", {**agent("one", soul="built-in soul"), **agent("two"), **agent("three", text="built in")}
    )
    put(tmp_path / "vault", {**agent("one", text="vault"), "two/AGENTS.md": "without a configuration"})
    shelf = folders(tmp_path)
    assert shelf.slugs() == {"one": "vault", "two": "vault", "three": "built_in"}
    one, two, three = (shelf.read(slug, FILES) for slug in ("one", "two", "three"))
    assert one is not None
    assert two is not None
    assert three is not None
    whole = judge_whole(one)
    assert isinstance(whole, TopDefinition)
    assert (whole.text, whole.soul, whole.about.layer) == ("vault", None, "vault")
    broken = judge(two)
    assert isinstance(broken, InvalidAgent)
    assert (broken.layer, [one.code for one in broken.problems]) == ("vault", ["missing"])
    built_in = judge(three)
    assert isinstance(built_in, HelperDefinition)
    assert (built_in.text, built_in.about.layer) == ("built in", "built_in")


def test_a_helpers_definition_has_no_room_for_soul_and_memory(tmp_path: Path) -> None:
    put(tmp_path / "vault", agent("one", soul="CANARY", memory="CANARY"))
    found = folders(tmp_path).read("one", {"AGENTS.md"})
    assert found is not None
    assert "CANARY" not in repr(found)
    assert not {"soul", "memory"} & set(HelperDefinition.__struct_fields__)
    assert "CANARY" not in repr(judge(found))


def test_the_digest_of_a_definition_follows_each_of_its_files(tmp_path: Path) -> None:
    seen = set[str]()
    for files in ({}, {"one/SOUL.md": "other"}, {"one/MEMORY.md": "other"}, {"one/AGENTS.md": "other"}):
        put(tmp_path / "vault", {**agent("one", soul="a", memory="b"), **files})
        found = folders(tmp_path).read("one", {"AGENTS.md"})
        assert found is not None
        judged = judge(found)
        assert isinstance(judged, HelperDefinition)
        seen.add(judged.about.sha256)
    assert len(seen) == 4
