"""Citation marks and control characters of imported text: what goes, what stays, and that it takes no time."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.imports.formats.cleaning import clean

OPEN, CLOSE, NEXT, SPAN, SPAN_END = "\ue200", "\ue201", "\ue202", "\ue203", "\ue204"

CITY, QUAYS = '["city", "Trieste", 0]', '{"layout": "bento", "query": ["a quay"]}'


def mark(*parts: str) -> str:
    return OPEN + NEXT.join(parts) + CLOSE


PRIVATE = [
    (f"It opens at nine. {mark('cite', 'turn0search0')}", "It opens at nine."),
    (f"Nine{mark('cite', 'turn0search3', 'turn1view12')}, not ten", "Nine, not ten"),
    (f"See the plan {mark('filecite', 'turn0file0', 'L10-L20')} first.", "See the plan first."),
    (f"The town of {mark('entity', CITY)} lies there.", "The town of Trieste lies there."),
    (f"{mark('navlist', 'News of the harbour', 'turn0news1,turn0news2')}\nNext", "\nNext"),
    (f"Read {mark('url', 'the timetable', 'turn0search1')} now", "Read the timetable now"),
    (f"{mark('image_group', QUAYS)}A quay.", "A quay."),
    (f"{SPAN}Ferries leave hourly{SPAN_END} {mark('cite', 'turn0search0')}.", "Ferries leave hourly."),
    (f"broken {mark('entity', 'no json')} and {mark('entity')} and {mark('')}", "broken and and"),
    (f"cut off {OPEN}cite{NEXT}turn0search0", "cut off citeturn0search0"),
]
PLAIN = [
    ("Open at nine. citeturn0search0turn0news12", "Open at nine."),
    ("As you wrote fileciteturn0file0L1-L9.", "As you wrote."),
    ("Ferries leave hourly【12†source】.", "Ferries leave hourly."),
    ("Two【3†L10-L15】【4:2†time table.pdf】 of them", "Two of them"),
    ("There 【turn0search0】【oaicite:3】 it is", "There it is"),
    ("It rained :contentReference[oaicite:2]{index=2}.", "It rained."),
    ("It rained [oai_citation:0‡weather.example](https://weather.example/a?b=c) then", "It rained then"),
    ("[cite_start]It rained[cite: 1, 2]. [span_3](start_span)Again[span_3](end_span)", "It rained. Again"),
    ('It <cite index="0-1,2-3">rained all day</cite> there', "It rained all day there"),
]
KEPT = [
    "She said【so】 and 【注意】 twice",
    "cite turn by turn, recite, excite",
    "a footnote [1] and [cite] and <cite>Title</cite>",
    "the dagger † stands alone, ‡ too",
    "icons \ue0b0 \uf8ff and emoji 👩\u200d👩 and \u200fעברית",
    "tabs\tand\nlines",
]


@pytest.mark.parametrize(("text", "expected"), PRIVATE)
@pytest.mark.parametrize("is_assistant", [True, False])
def test_marks_in_private_characters_go_from_everybodys_words(text: str, expected: str, *, is_assistant: bool) -> None:
    cleaned = clean(text, is_assistant=is_assistant)
    assert cleaned.text == (expected.removesuffix(" citeturn0search0") if is_assistant else expected)
    assert cleaned.citations > 0


@pytest.mark.parametrize(("text", "expected"), PLAIN)
def test_plain_marks_go_from_an_assistants_words_outside_code(text: str, expected: str) -> None:
    cleaned = clean(text, is_assistant=True)
    assert (cleaned.text, cleaned.citations > 0) == (expected, True)
    assert clean(text, is_assistant=False) == (text, 0, 0)
    for code in (f"Look for `{text}`.", f"~~~py\n{text}\n~~~", f"```\n{text}\n\n{text}\n```\nis it"):
        assert clean(code, is_assistant=True) == (code, 0, 0)
    assert clean(f"```\n{text}\n```\n{text}", is_assistant=True).text == f"```\n{text}\n```\n{expected}"


@pytest.mark.parametrize("text", KEPT)
def test_what_looks_like_a_mark_stays(text: str) -> None:
    assert clean(text, is_assistant=True) == (text, 0, 0)


def test_control_characters() -> None:
    text = "a\x1b[1;31mred\x1b[0m\x07 b\x08\x7f\x9f \x1b]0;title\x07c\r\nd\re\x0cf\x1b"
    assert clean(text, is_assistant=False) == ("ared b c\nd\ne\nf", 0, 8)


@given(
    st.text(alphabet=" \t\n`~" + "cite[]:【】†turn0search0L-" + "".join(map(chr, range(0xE200, 0xE205))), max_size=80)
)
def test_cleaning_twice_cleans_no_private_character_more(text: str) -> None:
    once = clean(text, is_assistant=False)
    assert clean(once.text, is_assistant=False) == (once.text, 0, 0)
    assert not any("\ue200" <= char <= "\ue206" for char in once.text)


@pytest.mark.loop("check")
@pytest.mark.parametrize(
    "piece",
    [
        " ",
        "【",
        OPEN,
        "[oai_citation:0",
        "`",
        "cite",
        "turn0search0",
        ":contentReference[",
        "\x1b]",
        '<cite index="1">',
        "```\n",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    """Ten times the text takes about ten times as long, whatever it is made of."""

    def seconds(count: int) -> float:
        text = f"cite{piece * count}"
        began = time.process_time()
        clean(text, is_assistant=True)
        return time.process_time() - began

    least = min(seconds(4_000) for _ in range(3))
    assert min(seconds(40_000) for _ in range(2)) < 40 * max(least, 0.002)
