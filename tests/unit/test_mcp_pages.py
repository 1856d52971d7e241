"""A turn as pages: nothing is lost between them, nothing is cut unsaid, and a quotation's page holds it."""

import random
from datetime import UTC

import pytest

from gateway.doors.mcp.answers import ClientView
from gateway.doors.mcp.pages import PAGE_CHARS, page_of, page_start_of, to_block_text
from protocol.tools import MAX_RESULT_CHARS

LONG = " ".join(f"word{n} <b>" for n in range(3000))
UNSPACED = "".join(chr(0x4E00 + n % 5000) for n in range(20_000))
TURNS = [
    ["Short.", LONG, "The end."],
    ["", "  ", "One line.\nAnother."],
    [UNSPACED],
    [f"message {n}" for n in range(200)],
    [LONG[:7300], "x" * 300, LONG],
]


@pytest.mark.parametrize("turn", TURNS, ids=range(len(TURNS)))
def test_pages_meet_without_gap_or_overlap_and_each_fits_its_block(turn: list[str]) -> None:
    texts = [to_block_text(text) for text in turn]
    view = ClientView(lambda _: "nonce", UTC)
    start, told = 0, ""
    while start < sum(map(len, texts)):
        page = page_of(texts, start)
        assert page.end > start
        told += "".join(piece.text for piece in page.pieces)
        rows = [{"uri": "itm_" + "x" * 60, "role": "assistant", "at": 0, "text": p.text} for p in page.pieces]
        block = view.render_quotations(rows, PAGE_CHARS)
        assert len(block) <= MAX_RESULT_CHARS
        assert all(piece.text.strip() in block for piece in page.pieces)
        assert "left out" not in block
        start = page.end
    assert told == "".join(texts)


def test_a_long_message_gets_the_room_that_short_ones_leave() -> None:
    (short, long, _) = (to_block_text(text) for text in TURNS[0])
    page = page_of([short, long, "The end."], 0)
    assert [piece.message for piece in page.pieces] == [0, 1]
    assert len(page.pieces[1].text) > 0.9 * PAGE_CHARS


def test_the_page_of_a_quotation_holds_it() -> None:
    texts = [to_block_text(text) for text in TURNS[0]]
    source, chance = TURNS[0][1], random.Random(5)
    for _ in range(50):
        begins = chance.randrange(len(source) - 300)
        words = source[begins : begins + 300].split(" ", 1)[1]
        page = page_of(texts, page_start_of(texts, f"…{words}… and more"))
        assert to_block_text(words).strip() in "".join(piece.text for piece in page.pieces)
    assert page_start_of(texts, "Short.") == page_start_of(texts, "never said") == 0
