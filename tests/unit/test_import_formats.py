"""Readers of other programs' conversations: the samples, oddities, and what no bytes may do to them."""

import json
import os
import zipfile
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.imports.formats import chatgpt, claude, claude_code, codex, markdown, sources
from gateway.imports.formats.detection import reader_of
from gateway.imports.formats.draft import (
    Conversation,
    Draft,
    ImportedMessage,
    Skipped,
    SourceOrigin,
    Unreadable,
    mend,
    moment,
)
from gateway.imports.formats.json_elements import STRAY, TOO_LARGE, TRUNCATED, elements
from gateway.imports.formats.turns import Sizes, pieces, requests, turns

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "import"
ORIGIN = SourceOrigin("/somewhere/talk.md", "talk.md", 1_700_000_000_000)
SIZES = Sizes.of(8 * 1024 * 1024)


def told(root: Path) -> tuple[list[Conversation], list[Skipped]]:
    """All that a path holds."""
    conversations: list[Conversation] = []
    skipped: list[Skipped] = []
    for source in sources.walk(root):
        if isinstance(source, Skipped):
            skipped.append(source)
            continue
        try:
            for found in sources.read(source, lambda _: None):
                if isinstance(found, Skipped):
                    skipped.append(found)
                else:
                    conversations.append(found)
        except Unreadable as problem:
            skipped.append(Skipped(source.origin.name, "", problem.reason))
    return conversations, skipped


def said(conversation: Conversation) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in conversation.messages]


def transcript(text: str) -> Conversation:
    (found,) = markdown.read([text.encode()], ORIGIN)
    assert isinstance(found, Conversation)
    return found


# -- the samples ---------------------------------------------------------------------------------------------------


def test_chatgpt_follows_the_current_branch_and_counts_the_rest() -> None:
    (first, without_id, odd, _again), skipped = told(SAMPLES / "chatgpt")
    assert (first.source_id, first.title) == ("11111111-0000-4000-8000-000000000001", "Watering plan")
    assert first.at == 1_714_550_400_123
    assert said(first) == [
        ("user", "How often do roses want water in May?"),
        ("assistant", "Twice a week, early in the morning."),
        ("user", "What is wrong with this leaf?"),
        ("assistant", "Black spot.\n\n Remove the leaf."),
        ("user", "Thank you, that helps."),
    ]
    assert first.left_out == Counter(system=1, thinking=1, tool_call=1, tool_result=1, file=1, other_branch=1)
    assert said(without_id) == [("user", "Only a question")]
    assert without_id.at == 1_714_600_000_000
    assert len(without_id.source_id) == 64
    assert odd.messages[0].text == "left \ufffd right \ufffd end \U0001f600"
    assert odd.repaired == 3
    assert [(entry.file, entry.place, entry.reason) for entry in skipped] == [
        ("conversations.json", "conversation 2", "broken_json"),
        ("conversations.json", "conversation 4", "not_a_conversation"),
        ("conversations.json", "conversation 5", "circular"),
        ("conversations.json", "conversation 6", "no_messages"),
        ("user.json", "", "unknown_format"),
    ]


def test_claude_takes_text_blocks_and_what_attachments_say() -> None:
    (first, branched), skipped = told(SAMPLES / "claude")
    assert said(first) == [
        ("user", "Which database keeps the timetables?"),
        ("user", "notes.txt\n\nStops are in SQLite by now."),
        ("assistant", "SQLite, as your notes say.\n\nShall I write the query?"),
        ("user", "Yes, please."),
    ]
    assert [message.at for message in first.messages[2:]] == [1_717_395_320_000, None]
    assert first.left_out == Counter(thinking=1, tool_call=1, tool_result=1, empty=1, unknown_role=2, file=2)
    assert said(branched) == [("user", "Tea or coffee?"), ("assistant", "Coffee.")]
    assert branched.left_out == Counter(other_branch=1)
    assert [entry.reason for entry in skipped] == ["no_messages", "not_a_conversation"]


def test_claude_code_keeps_what_people_and_the_assistant_said() -> None:
    (session,), skipped = told(SAMPLES / "claude_code")
    assert not skipped
    assert (session.source_id, session.title) == ("33333333-0000-4000-8000-000000000001", "Pump controller fixed")
    assert said(session) == [
        ("user", "The pump starts twice in the morning. Why?"),
        ("assistant", "I will look at the timer."),
        ("assistant", "Two timers fire at six: summer time was added by hand."),
        ("user", "Remove the older one."),
        ("assistant", "Done; the test passes."),
    ]
    assert session.left_out == Counter(
        record=2,
        system=2,
        broken_line=2,
        thinking=1,
        tool_call=1,
        tool_result=1,
        repeated=1,
        sidechain=1,
        file=1,
        error=1,
    )


def test_codex_of_both_generations() -> None:
    (old, new), skipped = told(SAMPLES / "codex")
    assert not skipped
    assert said(old) == [("user", "What does this repository do?"), ("assistant", "It waters a garden.")]
    assert old.at == 1_746_169_200_000
    assert new.source_id == "44444444-0000-7000-8000-000000000001"
    assert new.title == "Write a test for the rain sensor."
    assert said(new) == [
        ("user", "Write a test for the rain sensor.\nIt reads millimetres."),
        ("assistant", "The test is in place and fails, as it should."),
    ]
    assert new.left_out == Counter(system=2, record=3, thinking=1, tool_call=1, tool_result=1)


def test_markdown_in_three_styles_and_two_encodings() -> None:
    (bold, headings, plain), skipped = told(SAMPLES / "markdown")
    assert (headings.title, headings.at) == ("Compost questions", 1_710_009_000_000)
    assert [role for role, _ in said(headings)] == ["user", "assistant", "user", "assistant"]
    assert headings.messages[0].text.endswith("this heading is inside a fence\n```")
    assert headings.messages[0].at == 1_710_009_060_000
    assert headings.messages[1].text == "Yes. A thin layer at a time.\n\n### Why\n\nThey mat together."
    assert (bold.title, bold.at) == ("Frost", moment("2024-02-11"))
    assert said(bold)[1] == ("assistant", "Around the middle of May.\nLater in the hills.")
    assert bold.messages[2].at == moment("2024-02-12T09:00:00Z")
    assert said(plain) == [("user", "is the shed locked?"), ("assistant", "I cannot see the shed.")]
    assert plain.messages[0].at == moment("2024-01-05T20:00")
    assert plain.left_out == Counter(system=1)
    assert skipped == [Skipped("readme.md", "", "unknown_format")]


def test_a_folder_is_read_in_order_and_twice_alike() -> None:
    assert told(SAMPLES) == told(SAMPLES)
    names = [source.origin.name for source in sources.walk(SAMPLES) if not isinstance(source, Skipped)]
    assert names == sorted(names, key=lambda name: name.split("/"))


# -- JSON lists ----------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=6), JSON, max_size=4) | st.lists(JSON, max_size=3), max_size=6)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(bounds)]


@given(OBJECTS, st.lists(st.integers(0, 10_000), max_size=12), st.booleans(), st.sampled_from([None, 1]))
def test_any_split_of_a_list_gives_its_elements(values: list[Any], places: list[int], ascii_only, indent) -> None:
    data = json.dumps(values, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
    assert [json.loads(element) for element in elements(cut(data, places))] == values


@given(st.binary(max_size=200) | st.text('[]{}",: \\a1', max_size=60).map(str.encode), st.lists(st.integers(0, 300)))
def test_any_split_of_any_bytes_gives_the_same(data: bytes, places: list[int]) -> None:
    assert list(elements(cut(data, places))) == list(elements([data]))


def test_flaws_stand_where_they_are() -> None:
    assert list(elements([b'[{"a":1}, null, "x", {"b":2}, 7]'])) == [b'{"a":1}', STRAY, b'{"b":2}', STRAY]
    assert list(elements([b'[{"a":1}, {"b":'])) == [b'{"a":1}', TRUNCATED]
    assert list(elements([b'[{"a":1}, "b'])) == [b'{"a":1}', STRAY, TRUNCATED]
    assert list(elements([b'[{"a":"0123456789"}', b',{"b":1}]'], max_bytes=10)) == [TOO_LARGE, b'{"b":1}']
    assert list(elements([b'{"a":1}'])) == [b'{"a":1}']
    assert list(elements([b"]"])) == [STRAY]
    assert list(elements([b""])) == []


def test_a_conversation_of_too_many_levels_is_broken_and_the_next_is_read() -> None:
    good = '{"mapping": {"a": {"message": {"author": {"role": "user"}, "content": {"parts": ["hello"]}}}}}'
    deep = "[" * 200_000 + "]" * 200_000
    found = list(chatgpt.read([f'[{{"mapping": {deep}}}, {good}]'.encode()], ORIGIN))
    assert found[0] == Skipped("talk.md", "conversation 1", "broken_json")
    assert isinstance(found[1], Conversation)


# -- any data at all -----------------------------------------------------------------------------------------------

KEYS = st.sampled_from(
    "mapping current_node message author role content parts text create_time parent children id title metadata "
    "recipient content_type chat_messages sender created_at uuid attachments files extracted_content type payload "
    "timestamp sessionId summary isMeta current_leaf_message_uuid parent_message_uuid".split()
)
WORDS = st.sampled_from("user assistant human a b text message response_item session_meta summary tool".split())
ODD = st.recursive(
    WORDS | st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | WORDS, inner, max_size=6),
    max_leaves=25,
)


@settings(max_examples=150)
@given(st.lists(ODD, max_size=4))
def test_no_value_surprises_a_reader(values: list[Any]) -> None:
    listed = json.dumps(values).encode()
    lined = b"\n".join(json.dumps(value).encode() for value in values)
    for reader, data in ((chatgpt, listed), (claude, listed), (claude_code, lined), (codex, lined)):
        for found in reader.read([data], ORIGIN):
            if isinstance(found, Conversation):
                assert msgspec.json.encode(list(turns(found, SIZES)))


@settings(max_examples=150)
@given(st.text(st.sampled_from("User:*# Assistant\n`~-\r\0é"), max_size=200))
def test_no_text_surprises_the_reader_of_markdown(text: str) -> None:
    try:
        found = list(markdown.read([text.encode()], ORIGIN))
    except Unreadable as problem:
        assert problem.reason == "unknown_format"
    else:
        assert len(found) == 1


def test_times_of_every_spelling() -> None:
    may = 1_714_550_400_000
    spelled = [
        "2024-05-01T08:00:00Z",
        "2024-05-01T10:00:00+02:00",
        "2024-05-01 08:00",
        may / 1000,
        may,
        "2024-05-01T08",
    ]
    assert [moment(value) for value in spelled] == [may] * 6
    wrong = [None, True, "", "yesterday", -1, float("nan"), float("inf"), 10**400, "9999-12-31T23:59:59-23:00", [], {}]
    assert [moment(value) for value in wrong] == [None] * len(wrong)


def test_what_cannot_be_stored_is_replaced_and_counted() -> None:
    assert mend("a\0b\ud800c\udfff") == ("a\ufffdb\ufffdc\ufffd", 3)
    assert mend("plain \U0001f600 text") == ("plain \U0001f600 text", 0)


def test_bytes_that_are_not_utf8_are_counted() -> None:
    record = b'{"type":"user","sessionId":"s","message":{"content":"caf\xe9 and th\xe9"}}'
    (found,) = claude_code.read([record], ORIGIN)
    assert isinstance(found, Conversation)
    assert found.messages[0].text == "caf\ufffd and th\ufffd"
    assert found.repaired == 2


def test_a_conversation_may_not_outgrow_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.imports.formats.draft.MAX_CONVERSATION", 10)
    draft = Draft("any", ORIGIN)
    draft.add_message("user", "12345", None)
    with pytest.raises(Unreadable, match="too_large"):
        draft.add_message("user", "678901", None)


def test_a_line_that_is_too_long_does_not_hide_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.imports.formats.json_lines.MAX_LINE_BYTES", 100)
    lines = [
        '{"type":"user","message":{"content":"' + "x" * 200 + '"}}',
        '{"type":"user","message":{"content":"next"}}',
    ]
    (found,) = claude_code.read(["\n".join(lines).encode()], ORIGIN)
    assert isinstance(found, Conversation)
    assert said(found) == [("user", "next")]
    assert found.left_out == Counter(line_too_long=1)


# -- transcripts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "# User\nhi\n# Assistant\nhello",
        "### **Human**\nhi\n### **Claude**\nhello",
        "## Prompt:\nhi\n\n## Response:\nhello",
        "**User:** hi\n**Assistant:** hello",
        "**User**: hi\n\n**GPT-4o**: hello",
        "**You**\n\nhi\n\n**ChatGPT**\n\nhello",
        "You said: hi\nChatGPT said: hello",
        "Human: hi\n\nAssistant: hello",
        "[2024-01-01T10:00:00Z] user: hi\n[2024-01-01T10:00:05Z] assistant: hello",
    ],
)
def test_common_spellings_of_speakers(text: str) -> None:
    assert said(transcript(text)) == [("user", "hi"), ("assistant", "hello")]


@pytest.mark.parametrize("text", ["", "# Notes\nthe user: waters", "User: hi\nUser: anybody?", "## User guide\n## AI"])
def test_a_text_in_which_two_do_not_speak_is_no_transcript(text: str) -> None:
    with pytest.raises(Unreadable, match="unknown_format"):
        list(markdown.read([text.encode()], ORIGIN))


def test_a_transcript_is_known_by_its_own_id_else_by_its_place() -> None:
    talk = "User: hi\nAI: hello"
    named = transcript(f"---\nid: talk-7\ntitle: 'Seven'\n---\n{talk}")
    assert (named.source_id, named.title) == ("talk-7", "Seven")
    assert transcript(talk).source_id == transcript(talk + "\nUser: more").source_id
    (elsewhere,) = markdown.read([talk.encode()], ORIGIN._replace(key="/elsewhere/talk.md"))
    assert isinstance(elsewhere, Conversation)
    assert elsewhere.source_id != transcript(talk).source_id


# -- detection, folders, archives ----------------------------------------------------------------------------------


def test_a_format_is_told_by_keys_and_not_by_what_is_said() -> None:
    assert reader_of(".json", b'[{"title": "\\"mapping\\": {", "chat_messages": []') is claude.read
    assert reader_of(".json", b'{"name": "no conversation"}') is None
    assert reader_of(".jsonl", b'{"display": "x", "project": "y"}') is None
    assert reader_of(".ndjson", b'{"type":"session_meta"') is codex.read
    assert reader_of(".png", b'"mapping": {') is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_every_byte_order_mark_is_understood(encoding: str) -> None:
    text = "User: Grüße, 東京\nAI: hello"
    data = ("\ufeff" * (encoding == "utf-16-be") + text).encode(encoding)
    whole = b"".join(sources.utf8(data[place : place + 1] for place in range(len(data))))
    assert whole.decode() == text


@pytest.mark.skipif(os.name == "nt", reason="makes links and pipes")
def test_links_and_pipes_are_not_opened(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    (inside / "deeper").mkdir(parents=True)
    (tmp_path / "outside.md").write_text("User: hi\nAI: hello")
    (inside / "link.md").symlink_to(tmp_path / "outside.md")
    (inside / "loop").symlink_to(inside)
    os.mkfifo(inside / "pipe.md")
    (inside / "deeper" / "picture.png").write_bytes(b"\x89PNG")
    (inside / "deeper" / "e\x1b[31m.md").write_text("User: hi\nAI: hello")
    conversations, skipped = told(inside)
    assert len(conversations) == 1
    assert sorted(skipped) == [
        Skipped("deeper/picture.png", "", "unknown_format"),
        Skipped("link.md", "", "link"),
        Skipped("loop", "", "link"),
        Skipped("pipe.md", "", "not_a_file"),
    ]
    assert len(told(inside / "link.md")[0]) == 1  # named by the user


def packed(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def test_an_export_is_read_out_of_its_archive(tmp_path: Path) -> None:
    export = (SAMPLES / "chatgpt" / "conversations.json").read_bytes()
    path = packed(tmp_path / "export.zip", {"conversations.json": export, "chat.html": b"<html>", "in.zip": b"PK"})
    conversations, skipped = told(path)
    assert [(c.source_id, said(c)) for c in conversations] == [
        (c.source_id, said(c)) for c in told(SAMPLES / "chatgpt")[0]
    ]
    assert Skipped("export.zip!chat.html", "", "unknown_format") in skipped
    assert Skipped("export.zip!in.zip", "", "nested_archive") in skipped


def test_an_archive_cannot_unpack_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "FREE_BYTES", 100_000)
    path = packed(tmp_path / "bomb.zip", {"a.json": b'[{"mapping": {' + b" " * 20_000_000, "b.md": b"User: hi\nAI: ho"})
    conversations, skipped = told(path)
    assert skipped == [Skipped("bomb.zip!a.json", "", "unpacks_to_too_much")]
    assert [said(c) for c in conversations] == [[("user", "hi"), ("assistant", "ho")]]


def test_a_damaged_archive_says_so(tmp_path: Path) -> None:
    whole = packed(tmp_path / "whole.zip", {"a.md": b"User: hi\nAI: hello\n" * 50}).read_bytes()
    (tmp_path / "torn.zip").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "bad.zip").write_bytes(whole.replace(whole[40:50], b"\xff" * 10))
    (tmp_path / "whole.zip").unlink()
    _, skipped = told(tmp_path)
    assert {entry.reason for entry in skipped} == {"damaged_archive"}
    assert {entry.file.partition("!")[0] for entry in skipped} == {"torn.zip", "bad.zip"}


# -- turns and requests --------------------------------------------------------------------------------------------


def conversation(*messages: ImportedMessage) -> Conversation:
    return Conversation("any", "one", None, 1000, list(messages), Counter(), 0)


def test_a_question_and_its_answers_are_a_turn() -> None:
    minute = 60_000
    made = list(
        turns(
            conversation(
                ImportedMessage("assistant", "welcome", None),
                ImportedMessage("user", "one", 2 * minute),
                ImportedMessage("user", "more of it", None),
                ImportedMessage("assistant", "first", 3 * minute),
                ImportedMessage("assistant", "much later", 60 * minute),
                ImportedMessage("user", "two", None),
                ImportedMessage("assistant", "second", 1 * minute),
            ),
            SIZES,
        )
    )
    assert [(turn.at, [item.text for item in turn.items]) for turn in made] == [
        (1000, ["welcome"]),
        (2 * minute, ["one", "more of it", "first"]),
        (60 * minute, ["much later"]),
        (60 * minute, ["two"]),
        (1 * minute, ["second"]),
    ]


@given(st.text(st.sampled_from("ab\n"), max_size=300), st.integers(2, 40))
def test_pieces_are_the_text(text: str, most: int) -> None:
    parts = list(pieces(text, most))
    assert "".join(parts) == text
    assert all(len(part) <= most for part in parts)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from(["user", "assistant"]), st.text(min_size=1, max_size=2000)), min_size=1, max_size=30
    )
)
def test_every_request_fits_and_nothing_is_lost(messages: list[tuple[Any, str]]) -> None:
    sizes = Sizes.of(8192)
    groups = list(
        requests(turns(conversation(*(ImportedMessage(role, text, 5) for role, text in messages)), sizes), sizes)
    )
    assert all(len(msgspec.json.encode(group)) <= 8192 for group in groups)
    items = [item for group in groups for turn in group for item in turn.items]
    assert "".join(item.text for item in items) == "".join(text for _, text in messages)
