"""What was injected is known again, and only that."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_home import MemoryHome
from processor import assert_cheap

from agent.prompt.ledger import normalise_line, without
from agent.values import Injected
from promt.own_blocks import find_blocks as blocks
from promt.render import carries_own_block, render_block
from protocol.conversation.manifests import SourceRef
from protocol.seams.ports import Tx
from protocol.shown import ContextItem

ITEMS = [
    ContextItem(ref=SourceRef(kind="memory", id="mem_1"), text="Likes tea", labels={"scope": "user"}),
    ContextItem(ref=SourceRef(kind="memory", id="mem_2"), text="Uses tabs"),
]
BLOCK = render_block("memory", ITEMS, nonce="abcd1234", max_chars=2000, max_item_chars=200)
assert BLOCK is not None
LINE = BLOCK.lines[0]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[MemoryHome]:
    made = MemoryHome(tmp_path)
    made.say("hello", turn_id="trn_1")
    assert BLOCK is not None
    injected = [Injected("b", list(zip(BLOCK.lines, BLOCK.refs, strict=True)))]
    made.sql(lambda tx: made.ledger.record(tx, ("ws_1", "thr_1", "trn_1"), injected))
    yield made
    made.close()


def rest(home: MemoryHome, text: str, workspace_id: str = "ws_1") -> str:
    def read(tx: Tx) -> str:
        spans = home.ledger.echo_spans(tx, workspace_id, text)
        assert spans == sorted(spans)
        assert all(0 <= start < end <= len(text) for start, end in spans)
        return without(text, spans)

    return home.do(home.db.read(read))


def test_a_whole_block_is_ours_wherever_it_stands(home: MemoryHome) -> None:
    assert BLOCK is not None
    assert rest(home, f"before\n{BLOCK.text}\nafter") == "before\n\nafter"
    assert rest(home, BLOCK.text, "ws_2") == ""


@pytest.mark.parametrize("echo", [LINE, f"> {LINE}", f"   {LINE}", LINE.upper(), LINE.replace(": L", ":  L")])
def test_an_injected_line_is_known_again(home: MemoryHome, echo: str) -> None:
    assert "tea" not in rest(home, f"you said\n{echo}\nreally?").casefold()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Likes tea",
        "- [mem_1, scope=user]: Likes rum",
        "- [x] a task",
        "- [mem_9]: Likes tea",
        f"see {LINE}",
        f"{LINE} indeed",
    ],
)
def test_what_was_never_injected_is_left_alone(home: MemoryHome, text: str) -> None:
    assert rest(home, text) == text


def test_a_line_of_a_memory_is_known_everywhere_and_one_of_a_conversation_in_its_workspace(home: MemoryHome) -> None:
    line = "- [thread: Harbour]: we moor at noon"
    talk = [Injected("c", [(line, SourceRef(kind="thread", id="thr_1"))])]
    home.sql(lambda tx: home.ledger.record(tx, ("ws_1", "thr_1", "trn_1"), talk))
    assert rest(home, LINE) == rest(home, LINE, "ws_2") == rest(home, line) == ""
    assert rest(home, line, "ws_2") == line


def test_a_ledger_holds_no_text(home: MemoryHome) -> None:
    home.do(home.db.truncate_wal())
    assert b"Likes tea" not in home.bytes_on_disk()
    assert len(home.rows("SELECT 1 FROM injection")) == 2


ONE, TWO = (f'recalled_memory nonce="{nonce}"' for nonce in ("aaaa", "bbbb"))


@given(st.lists(st.sampled_from([f"<{ONE}>", f"</{ONE}>", f"<{TWO}>", f"</{TWO}>", "x", "\n"]), max_size=12))
def test_a_block_ends_with_its_own_nonce(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = re.finditer(r'<(recalled_memory nonce="\w+")>.*?</\1>', text, re.DOTALL)
    assert blocks(text) == [one.span() for one in found]


def test_a_hostile_text_costs_time_in_proportion_to_its_length(home: MemoryHome) -> None:
    text = "".join(f'<recalled_memory nonce="{n:08}">\n- [x]: y\n' for n in range(10_000))
    assert rest(home, text) == text
    assert not carries_own_block("\n" * 200_000)
    assert_cheap(lambda: rest(home, text), 2.5)  # a search for each opening would take minutes


@given(st.text(max_size=80))
def test_normalising_is_stable(text: str) -> None:
    assert normalise_line(normalise_line(text)) == normalise_line(text)
    assert normalise_line(f"  {text}\t") == normalise_line(text)


@given(st.text(max_size=30), st.lists(st.integers(0, 30), max_size=6))
def test_taking_ranges_out(text: str, cuts: list[int]) -> None:
    places = sorted({min(cut, len(text)) for cut in cuts})
    spans = list(zip(places[::2], places[1::2], strict=False))
    keep = "".join(char for n, char in enumerate(text) if not any(start <= n < end for start, end in spans))
    assert without(text, spans) == (keep.strip() if spans else text)
