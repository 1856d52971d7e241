"""What the three dialects read of requests and answers, and how a text is inserted: only at its place, nothing else
written anew."""

import itertools
import json
import re
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.doors.proxy.body import (
    MAX_COMMAS,
    MAX_PARTS,
    Edit,
    UnreadableError,
    apply,
    elements,
    members,
    objects,
)
from gateway.doors.proxy.dialects import anthropic_messages, openai_chat, openai_responses
from gateway.doors.proxy.dialects.reading import ChatAnswer, strip_wrappers
from gateway.doors.proxy.tee import READERS, Tee
from protocol.capture.chain import START, ChainMessage, ToolWish, follow_all, without_blocks

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
"""Small: a place is where it is beside one neighbour as beside twenty, and most of the time went into drawing them."""


@given(table=st.dictionaries(st.text(), VALUES), indent=st.sampled_from([None, 1, "\t"]), is_ascii=st.booleans())
def test_members_are_where_their_bytes_are(table: dict[str, Any], indent: Any, *, is_ascii: bool) -> None:
    body = b" " + json.dumps(table, indent=indent, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
    if any("\ud800" <= char <= "\udfff" for char in body.decode("utf-8", "surrogatepass")):
        return
    try:
        found = members(body)
    except UnreadableError:
        assert "\\ud" in body.decode()  # a lone surrogate is no text
        return
    assert {name: json.loads(body[span]) for name, span in found.items()} == table
    for span in found.values():
        if body[span.start : span.start + 1] == b"[":
            assert [json.loads(body[one]) for one in elements(body, span)] == json.loads(body[span])


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"a": 1', b'{"a": 1, "a": 2}', b'{"a": 1, "a": 1}', b'{"a": 1, "\\u0061": 1}', b"\xff"]
)
def test_what_is_no_object_or_has_a_member_twice_has_no_places(body: bytes) -> None:
    with pytest.raises(UnreadableError):
        members(body)


@pytest.mark.loop("check")
@given(
    tables=st.lists(st.dictionaries(st.text(st.characters(codec="utf-8")), VALUES, max_size=4), max_size=4),
    indent=st.sampled_from([None, 1]),
)
def test_objects_of_a_list_are_where_their_bytes_are(tables: list[dict[str, Any]], indent: Any) -> None:
    body = b" " + json.dumps({"list": tables}, indent=indent).encode()
    try:
        found = objects(body, members(body)["list"])
    except UnreadableError:
        assert "\\ud" in body.decode()  # a lone surrogate is no text
        return
    assert [json.loads(body[place]) for place, _ in found] == tables
    assert [{name: json.loads(body[span]) for name, span in inside.items()} for _, inside in found] == tables


@pytest.mark.parametrize("one", ["1", '"a"', '{"a": 1, "a": 1}', '{"a": [1, 2], "a": 1}', '{"a": 1, "a": [1, 2]}'])
def test_a_list_with_no_object_or_one_that_has_a_member_twice_has_no_places(one: str) -> None:
    body = f'{{"list": [{{"b": 1}}, {one}]}}'.encode()
    with pytest.raises(UnreadableError):
        objects(body, members(body)["list"])


def test_edits_leave_every_other_byte() -> None:
    assert apply(b"0123456789", [Edit(5, 5, b"X"), Edit(2, 4, b""), Edit(5, 5, b"Y")]) == b"014XY56789"


def inserted(reader: Any, body: bytes, text: str, wrappers: tuple[str, ...] = ()) -> tuple[Any, Any]:
    request = reader.read_request(body, wrappers)
    point = request.messages[request.user_index].point
    system = request.system
    return json.loads(apply(body, [point.edit(text)])), json.loads(apply(body, [system.edit(text)]))


def test_a_text_gets_it_before_and_a_system_text_behind() -> None:
    body = json.dumps(
        {
            "model": "m",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": 'Hi "you"'}],
        }
    ).encode()
    by_user, by_system = inserted(openai_chat, body, 'a\n"b"')
    assert by_user["messages"][1]["content"] == 'a\n"b"\n\nHi "you"'
    assert by_system["messages"][0]["content"] == 'Be brief.\n\na\n"b"'


def test_where_there_is_no_system_text_one_is_made() -> None:
    chat = {"messages": [{"role": "user", "content": "Hi"}]}
    _, made = inserted(openai_chat, json.dumps(chat).encode(), "x")
    assert made["messages"] == [{"role": "system", "content": "x"}, *chat["messages"]]
    _, made = inserted(anthropic_messages, json.dumps(chat).encode(), "x")
    assert made == {"system": "x", **chat}
    for given_one in ({"input": "Hi"}, {"instructions": None, "input": "Hi"}):
        by_user, made = inserted(openai_responses, json.dumps(given_one).encode(), "x")
        assert (by_user["input"], made["instructions"]) == ("x\n\nHi", "x")


def test_words_of_a_person_are_without_what_their_program_wrapped() -> None:
    content = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "done"},
        {"type": "text", "text": "<system-reminder>Today is Monday.</system-reminder>"},
        {
            "type": "text",
            "text": "<system-reminder>x</system-reminder>Where is it?",
            "cache_control": {"type": "ephemeral"},
        },
    ]
    body = json.dumps({"system": [], "messages": [{"role": "user", "content": content}]}).encode()
    by_user, by_system = inserted(anthropic_messages, body, "x", ("system-reminder",))
    assert [part["text"] for part in by_user["messages"][0]["content"][1:]] == [
        content[1]["text"],
        "x",
        content[2]["text"],
    ]
    assert by_system["system"] == [{"type": "text", "text": "x"}]
    request = anthropic_messages.read_request(body, ("system-reminder",))
    assert request.messages[0].words == "Where is it?"


def test_only_results_of_tools_are_no_words() -> None:
    said = [
        {"role": "user", "content": "Look it up."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {"b": 1, "a": 2}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "done"}]},
    ]
    request = anthropic_messages.read_request(json.dumps({"messages": said}).encode(), ())
    assert request.user_index == 0
    assert [one.said.role for one in request.messages] == ["user", "assistant", "tool"]


def test_a_system_message_between_is_no_word_of_the_conversation() -> None:
    said = [{"role": "user", "content": "Hi"}, {"role": "system", "content": "These agents can be called."}]
    request = anthropic_messages.read_request(json.dumps({"system": "Be brief.", "messages": said}).encode(), ())
    assert [one.said.role for one in request.messages] == ["user"]
    assert request.system_texts == ["Be brief.", "These agents can be called."]


def test_the_chain_has_nothing_that_programs_change() -> None:
    def chain(**more: Any) -> list[bytes]:
        content = [{"type": "text", "text": "Hi  ", **more}]
        call = {"type": "tool_use", "id": str(more), "name": "f", "input": {"a": 1, "b": [1.0]}}
        body = {
            "system": str(more),
            "messages": [{"role": "user", "content": content}, {"role": "assistant", "content": [call]}],
        }
        return follow_all(
            START, [one.said for one in anthropic_messages.read_request(json.dumps(body).encode(), ()).messages]
        )

    assert chain() == chain(cache_control={"type": "ephemeral"})
    equal = [
        ChainMessage("assistant", ["x"], [ToolWish("f", one)])
        for one in ('{"a":1,"b":2}', ' {"b": 2, "a": 1}', {"a": 1, "b": 2})
    ]
    assert len({follow_all(START, [one])[0] for one in equal}) == 1
    other = [
        ChainMessage("user", ["ab", "c"]),
        ChainMessage("user", ["a", "bc"]),
        ChainMessage("assistant", ["ab", "c"]),
    ]
    assert len({follow_all(START, [one])[0] for one in other}) == 3


@pytest.mark.parametrize("quote", ['"', '\\"'])
def test_blocks_of_ours_are_no_words(quote: str) -> None:
    name = f"recalled_memory nonce={quote}abcd{quote}"
    assert without_blocks(f"before\n<{name}>\nx </recalled_memory> y\n</{name}>\nafter") == "before\n\nafter"
    assert without_blocks(f"<{name}> without an end") == f"<{name}> without an end"


def told(language: Any, data: bytes, *, is_stream: bool, cuts: list[int] | None = None) -> ChatAnswer:
    tee = Tee(language)
    if is_stream:
        tee.begin(is_stream=True)
    places = [0, *sorted(cuts or []), len(data)]
    for begin, end in itertools.pairwise(places):
        tee.add(data[begin:end])
    return tee.answer()


@pytest.mark.parametrize("language", READERS)
@given(data=st.binary(max_size=200), is_stream=st.booleans())
def test_whatever_an_upstream_says_is_read_or_not(language: Any, data: bytes, *, is_stream: bool) -> None:
    wild = [
        data,
        b"data: " + data + b"\n\n",
        b'data: {"choices": [{"delta": 7}], "type": "content_block_delta", "output": 3}\n\n',
        b'{"choices": [3], "content": 7, "output": [1]}',
    ]
    for one in wild:
        assert told(language, one, is_stream=is_stream) == told(language, one, is_stream=is_stream)


TEXTS = st.text(alphabet=st.sampled_from("ab \t\n\x1f\u00a0\u00e9<>/"), max_size=30)


@given(
    parts=st.lists(TEXTS, min_size=1, max_size=6),
    cuts=st.lists(st.integers(0, 400), max_size=5),
    is_ascii=st.booleans(),
)
def test_an_answer_in_events_is_the_answer_in_one_piece(parts: list[str], cuts: list[int], *, is_ascii: bool) -> None:
    parts = [part.encode("ascii", "ignore").decode() for part in parts] if is_ascii else parts
    text = "".join(parts)
    chunks: list[Any] = [{"choices": [{"index": 0, "delta": {"content": part}}]} for part in parts]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    data = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    streamed = told("chat", data, is_stream=True, cuts=[min(cut, len(data)) for cut in cuts])
    whole = told("chat", json.dumps({"choices": [{"message": {"content": text}}]}).encode(), is_stream=False)
    assert streamed.text == whole.text == without_blocks(text)
    assert follow_all(START, streamed.messages) == follow_all(START, whole.messages)
    assert streamed.is_whole


def test_a_long_answer_is_read_as_it_comes_and_its_words_are_held_once() -> None:
    tee = Tee("chat")
    tee.begin(is_stream=True)
    chunk = b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": "word " * 800}}]}).encode() + b"\n\n"
    tracemalloc.start()
    for _ in range(3000):
        tee.add(bytes(bytearray(chunk)))
    answer = tee.answer()
    hashes = follow_all(START, answer.messages)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1.7 * 12_000_000
    assert hashes == follow_all(START, [ChainMessage("assistant", [("word " * 2_400_000).strip()])])
    assert answer.text == "word " * 800_000


PAIR = re.compile(r"<(note|aside)(?:\s[^<>]*)?>.*?</\1>", re.DOTALL)
"""The wrappers as a pattern says it that takes the square of a text's length."""


@given(st.lists(st.sampled_from(["<note>", "<note a=1>", "</note>", "<aside>", "</aside>", "<", "</", "a", " "])))
def test_wrappers_are_whole_pairs(parts: list[str]) -> None:
    text = "".join(parts)
    expected = PAIR.sub("", text).strip() if "<" in text else text
    assert strip_wrappers(text, ["note", "aside"]) == expected


@pytest.mark.loop("check")
@pytest.mark.parametrize("mark", ["<note>", "<note ", "</note>", "<note></aside>", "<note <aside>", "\u0315\u0300"])
def test_a_request_full_of_marks_costs_its_length(mark: str) -> None:
    said = [{"role": "user", "content": mark * (1_000_000 // len(mark))}]
    body = json.dumps({"model": "m", "messages": said}, ensure_ascii=False).encode()
    before = time.process_time()
    follow_all(START, [one.said for one in openai_chat.read_request(body, ["note", "aside"]).messages])
    assert time.process_time() - before < 2.0


@pytest.mark.parametrize(
    "messages",
    [
        b",".join([b"{}"] * (MAX_PARTS + 1)),
        b'{"role":"user","content":[' + b",".join([b"{}"] * (MAX_PARTS + 1)) + b"]}",
        b'{"role":"user","content":"' + b"," * (MAX_COMMAS + 1) + b'"}',
    ],
)
def test_a_request_of_more_parts_than_a_conversation_has_is_not_read(messages: bytes) -> None:
    before = time.process_time()
    with pytest.raises(UnreadableError):
        openai_chat.read_request(b'{"messages":[' + messages + b"]}", ())
    assert time.process_time() - before < 0.5
