"""Tables on terminals of every width: nothing that somebody may want to copy is ever cut."""

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from gateway.doors.terminal.screen import draw
from gateway.doors.terminal.tables import GAP, LEAST, SPARE, WIDE, layout_of

IDS = [f"mem_01krb0vfk03j34nqk4sr{number:02}" for number in range(3)]
TEXTS = [
    "I take my coffee without sugar, and on Sundays with oat milk.",
    "Short.",
    "茶と珈琲の店は港のとなりにあります、九時に開きます、そして六時に閉まります。",
]
MEMORIES = (
    ["id", "category", "scope", "updated", "content"],
    [
        [IDS[0], "recurring_instruction", "workspace:ws_default", "2026-05-19 14:30", TEXTS[0]],
        [IDS[1], "preference", "user:default", "2026-05-19 14:30", TEXTS[1]],
        [IDS[2], "identity", "user:default", "2026-05-19 14:30", TEXTS[2]],
    ],
)
THREADS = (
    ["id", "updated", "turns", "workspace", "title"],
    [[one, "2026-05-19 14:30", "12", "ws_default", text] for one, text in zip(IDS, TEXTS, strict=True)],
)
SETTINGS = (
    ["key", "value", "default", "meaning"],
    [["memory.background_extraction_enabled", '"memory/capsules"', '"memory/capsules"', TEXTS[0]]],
)
GATES = (["", "gate", "question", "why"], [["yes", "memory enabled", "is memory switched on, and for whom?", TEXTS[0]]])


def drawn(columns: list[str], rows: list[list[str]], width: int) -> list[str]:
    out = io.StringIO()
    draw(Console(file=out, width=width, no_color=True), columns, rows)
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
@pytest.mark.parametrize(
    "table", [MEMORIES, THREADS, SETTINGS, GATES], ids=["memories", "threads", "settings", "gates"]
)
def test_every_id_is_whole_and_every_sentence_is_shown(table: tuple[list[str], list[list[str]]], width: int) -> None:
    columns, rows = table
    lines = drawn(columns, rows, width)
    assert max(map(cell_len, lines)) <= width
    together = re.sub(r"\s", "", "".join(lines))
    is_stack = not any(set(line) == {"─"} for line in lines)
    for row in rows:
        for column, cell in zip(columns, row, strict=True):
            if column not in WIDE and (is_stack or column not in SPARE):
                assert any(cell in line for line in lines), (column, cell)
    for word in ("coffee", "Short.", "珈琲") if len(rows) > 1 else ("coffee",):
        assert word in together


def test_at_eighty_columns_a_memory_has_its_id_and_room_for_its_words() -> None:
    lines = drawn(MEMORIES[0], MEMORIES[1][1:], 80)
    assert lines[0].split() == ["id", "category", "content"]
    assert lines[2].split() == [IDS[1], "preference", "Short."]
    stacked = drawn(*MEMORIES, 60)
    assert stacked[0].startswith(f"{IDS[0]}  category")
    assert stacked[2].startswith("    I take my coffee")


def test_columns_leave_in_their_order_until_the_sentence_has_room() -> None:
    columns, natural = ["id", "scope", "updated", "content"], [26, 20, 16, 300]
    shapes = {room: layout_of(columns, natural, room) for room in (140, 90, 70, 58, 57)}
    assert [list(layout.widths) for layout in shapes.values()] == [[0, 1, 2, 3], [0, 1, 3], [0, 3], [0, 3], []]
    assert shapes[58].widths[3] == LEAST
    assert shapes[57].shape == "stack"
    for room, layout in shapes.items():
        assert layout.shape == "stack" or sum(layout.widths.values()) + GAP * (len(layout.widths) - 1) == room


def test_several_sentences_share_the_room_and_none_takes_more_than_it_needs() -> None:
    layout = layout_of(["", "gate", "question", "why"], [3, 14, 45, 10], 80)
    assert layout.widths == {0: 3, 1: 14, 2: 45, 3: 10}
    assert layout_of(["gate", "question", "why"], [10, 100, 100], 80).widths == {0: 10, 1: 33, 2: 33}
