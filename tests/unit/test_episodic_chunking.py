"""Where messages are cut: a partition, deterministic, at the best boundary, nothing torn that fits."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from processor import assert_cheap

from retrieval.chunking import ChunkSizes, cut_text, overlaps, split_sentences

USUAL = ChunkSizes(target_min=700, target_max=1200, chunk_max=1600, max_chunks=64)
SMALL = ChunkSizes(target_min=50, target_max=80, chunk_max=100, max_chunks=1000)

PIECES = st.sampled_from(
    [
        "word ",
        "Sentence ends. ",
        "\n\n",
        "\n",
        "# Heading\n",
        "- entry\n",
        "1. first\n",
        "```py\ncode = 1\n```\n",
        "~~~\n",
        "| a | b |\n",
        "你好。世界！",
        "e.g. this ",
        "3.14 ",
        "v1.2.3 ",
        "x" * 130,
        "é\u0301",
        "👩‍👧",
        "\r\n",
        "   ",
        "```\n",
    ]
)


def pieces_of(text: str, sizes: ChunkSizes = SMALL) -> list[str]:
    return [text[start:end] for start, end in cut_text(text, sizes).ranges]


@given(st.lists(PIECES, max_size=120).map("".join))
def test_the_chunks_joined_are_the_text(text: str) -> None:
    cut = cut_text(text, SMALL)
    assert cut.left_out is None
    assert "".join(text[start:end] for start, end in cut.ranges) == text
    assert all(0 < end - start <= SMALL.chunk_max for start, end in cut.ranges)
    assert cut == cut_text(text, SMALL)


@given(st.lists(PIECES, max_size=200).map("".join), st.integers(1, 6))
def test_what_is_left_out_follows_the_chunks(text: str, most: int) -> None:
    cut = cut_text(text, ChunkSizes(target_min=50, target_max=80, chunk_max=100, max_chunks=most))
    covered = cut.ranges[-1][1] if cut.ranges else 0
    assert [start for start, _ in cut.ranges] == [0, *(end for _, end in cut.ranges)][: len(cut.ranges)]
    assert len(cut.ranges) <= most
    assert (cut.left_out or (len(text), len(text))) == (covered, len(text))
    assert cut.left_out is None or len(text) > most * 50


@given(st.text(max_size=400))
def test_any_text_is_cut_and_split_whole(text: str) -> None:
    assert "".join(pieces_of(text)) == text
    assert "".join(text[start:end] for start, end in split_sentences(text)) == text


def test_a_short_message_is_one_chunk_and_an_empty_one_none() -> None:
    assert cut_text("x" * 1600, USUAL).ranges == ((0, 1600),)
    assert len(cut_text("x" * 1601, USUAL).ranges) == 2
    assert cut_text("", USUAL).ranges == ()


@pytest.mark.parametrize(
    "boundary",
    ["\n\n", "\n", ". ", "! ", "。", " ", "\n# Title\n", "\n- "],
)
def test_cuts_at_the_boundary_in_the_window(boundary: str) -> None:
    text = "x" * 60 + boundary + "X" * 90
    first, second = pieces_of(text)
    assert first.startswith("x" * 60)
    assert second.lstrip("# -Title\n").startswith("X")


def test_a_better_boundary_wins_over_a_later_one() -> None:
    text = "x" * 53 + ".\n\n" + "y" * 5 + ". " + "Z" * 5 + " " + "z" * 90
    assert pieces_of(text)[0] == "x" * 53 + ".\n\n"


def test_a_heading_begins_its_chunk() -> None:
    text = "a" * 60 + "\n\nword. More\n## Next\n" + "b" * 90
    assert pieces_of(text)[1].startswith("## Next")


@pytest.mark.parametrize("kept", ["Dr. Who", "e.g. Paris", "i.e. Rome", "3.14 is", "v1.2.3 Is", "J. Doe", "z. B. Wien"])
def test_no_sentence_ends_at_an_abbreviation_or_inside_a_number(kept: str) -> None:
    assert split_sentences(f"See {kept} now. Then go.") == [
        (0, len(f"See {kept} now. ")),
        (len(f"See {kept} now. "), len(f"See {kept} now. Then go.")),
    ]


def test_sentences_end_in_other_scripts_too() -> None:
    text = "今天下雨。明天晴！Да. Нет? Ok"
    assert [text[a:b] for a, b in split_sentences(text)] == ["今天下雨。", "明天晴！", "Да. ", "Нет? ", "Ok"]


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("So... Then", ["So... ", "Then"]),
        ("Well?! Yes", ["Well?! ", "Yes"]),
        ("„Gut.“ Dann", ["„Gut.“ ", "Dann"]),
        ("He left (so.) Then", ["He left (so.) ", "Then"]),
        ("好。」他说", ["好。」", "他说"]),
        ("真的？！是", ["真的？！", "是"]),
        ("Wait… what", ["Wait… what"]),
        ("Wait… What", ["Wait… ", "What"]),
        ("a.b.c", ["a.b.c"]),
        ("End.", ["End."]),
    ],
)
def test_where_sentences_end(text: str, ends: list[str]) -> None:
    assert [text[a:b] for a, b in split_sentences(text)] == ends


def test_a_code_fence_that_fits_is_not_torn() -> None:
    fence = "```python\n" + "x = 1\n" * 11 + "```\n"
    text = "Words before it. " * 3 + "\n" + fence + "After. " * 12
    assert any(fence in piece for piece in pieces_of(text))


def test_a_table_that_fits_is_not_torn() -> None:
    table = "| a | b |\n" * 8
    assert any(table in piece for piece in pieces_of("Before it. " * 4 + "\n" + table + "After. " * 12))


def test_a_fence_that_does_not_fit_is_cut_between_lines() -> None:
    pieces = pieces_of("```\n" + "line of code\n" * 40 + "```\n")
    assert all(piece.endswith("\n") for piece in pieces)


def test_a_hard_cut_keeps_a_letter_and_its_marks_together() -> None:
    text = "e\u0301" * 300
    assert all(not piece.startswith("\u0301") for piece in pieces_of(text))


def test_later_chunks_grow_before_anything_is_left_out() -> None:
    sizes = ChunkSizes(target_min=50, target_max=80, chunk_max=100, max_chunks=10)
    text = "word " * 180  # 900 characters: too many chunks of 80, but not of 100
    cut = cut_text(text, sizes)
    assert cut.left_out is None
    assert len(cut.ranges) <= 10
    assert max(end - start for start, end in cut.ranges) > 80


def test_what_is_beyond_the_last_chunk_is_named() -> None:
    sizes = ChunkSizes(target_min=50, target_max=80, chunk_max=100, max_chunks=10)
    cut = cut_text("word " * 400, sizes)
    assert len(cut.ranges) == 10
    assert cut.left_out == (cut.ranges[-1][1], 2000)
    assert cut.ranges[-1][1] > 900


@pytest.mark.parametrize("unit", ["a", " ", "\n", ".", "|", "```\n", " \n", "| a |\n", "```\nx\n~~~\n", "Hi. "])
def test_work_is_linear_in_hostile_text(unit: str) -> None:
    assert_cheap(partial(cut_text, unit * (300_000 // len(unit)), USUAL), 0.5)


def test_ranges_overlap_when_they_share_a_character() -> None:
    assert overlaps(0, 2, [(1, 5)])
    assert not overlaps(0, 2, [(2, 5)])
