"""The benchmark itself: it survives kills, repeats without a trace, and says so when there is nothing to measure."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # `benchmarks` is not installed

from benchmarks.conversations import data_folder, read_conversations  # noqa: E402
from benchmarks.goals import at_least, at_most, cells  # noqa: E402
from benchmarks.peers import quality  # noqa: E402
from benchmarks.plots import Point, Series, chart  # noqa: E402
from benchmarks.report import percentile  # noqa: E402

TALK = [
    [
        ("Ines", "I finally signed the lease for a pottery studio near the canal."),
        ("Tomasz", "Wonderful! My week was dull, I mostly repaired bicycles for the club."),
        ("Ines", "The kiln arrives in March, it is a second-hand one from a school."),
        ("Tomasz", "I could carry it with my brother Pavel, he owns a van."),
        ("Ines", "That would save me. I will pay you both in soup bowls."),
        ("Tomasz", "Deal. Pavel is allergic to walnuts, so no walnut bread this time."),
    ],
    [
        ("Tomasz", "The club elected me treasurer yesterday, nobody else wanted it."),
        ("Ines", "Congratulations! My first glaze cracked, a green one with copper."),
        ("Tomasz", "Look at the bicycle I restored."),
        ("Ines", "What a beauty. Next month I teach a course for eight beginners."),
        ("Tomasz", "Put me on the list, I want to make a teapot."),
        ("Ines", "You are number three. The course begins on the ninth."),
    ],
]
OBSERVED = {
    "Ines": [["Ines rents a pottery studio near the canal.", "D1:1"], ["Ines teaches a course.", ["D2:4", "D2:6"]]],
    "Tomasz": [["Pavel is allergic to walnuts.", "D1:6"], ["Tomasz is treasurer of the club.", "D2:1"]],
}
ASKED = [
    ("Where is the pottery studio of Ines?", ["D1:1"], 4),
    ("What is Pavel allergic to?", ["D1:6"], 4),
    ("Who became treasurer of the club?", ["D2:1; see D2:99"], 2),
    ("What happened to the green copper glaze, and when does the kiln arrive?", ["D2:2 D1:3"], 1),
    ("Which boat does Ines own?", [], 5),
]


@pytest.fixture
def tiny_data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    conversation = {"speaker_a": "Ines", "speaker_b": "Tomasz", "qa": []}
    for number, turns in enumerate(TALK, 1):
        conversation[f"session_{number}_date_time"] = f"1:5{number} pm on {number} May, 2023"
        conversation[f"session_{number}"] = [
            {"speaker": speaker, "dia_id": f"D{number}:{place}", "text": text}
            for place, (speaker, text) in enumerate(turns, 1)
        ]
        conversation[f"session_{number}_observation"] = {
            speaker: [fact for fact in facts if f"D{number}:" in str(fact[1])] for speaker, facts in OBSERVED.items()
        }
    conversation["session_2"][2]["blip_caption"] = "a red bicycle against a wall"
    conversation["qa"] = [
        {"question": text, "answer": "", "evidence": evidence, "category": category}
        for text, evidence, category in ASKED
    ]
    (folder / "conv-tiny.json").write_text(json.dumps(conversation), encoding="utf-8")
    return folder


def run(data, *options, seconds):
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "locomo", *options],
        check=False,
        cwd=ROOT,
        env={**os.environ, "PIONEER_BENCH_DATA": str(data)},
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    return done, done.stdout


def counts(printed):
    table = printed.partition("the same home, passed over twice\n")[2].partition("\n\n")[0]
    rows = (re.fullmatch(r"\s+(\S.*?)\s{2,}(\d+)\s+(\d+)(?:\s+DIFFERS)?", line) for line in table.splitlines())
    return {row[1]: (int(row[2]), int(row[3])) for row in rows if row}


def test_a_file_is_read_as_it_was_said(tiny_data):
    (conversation,) = read_conversations(tiny_data)
    first, second = conversation.sessions
    assert [said.at for said in first.turns[:2]] == [1_682_949_060_000, 1_682_949_120_000]
    assert second.turns[2].text == "Look at the bicycle I restored. [shares a red bicycle against a wall]"
    assert [question.evidence for question in conversation.questions] == [
        {"D1:1"},
        {"D1:6"},
        {"D2:1"},
        {"D2:2", "D1:3"},
    ]
    assert {dia_id: len(facts) for dia_id, facts in conversation.observed.items()} == {
        "D1:1": 1,
        "D1:6": 1,
        "D2:1": 1,
        "D2:4": 1,
    }


@pytest.mark.parametrize(("percent", "expected"), [(50, 2), (51, 3), (95, 4), (100, 4), (0, 1)])
def test_a_percentile_is_a_value_of_the_sample(percent, expected):
    assert percentile([3, 1, 4, 2], percent) == expected


def test_a_killed_run_repeats_without_a_trace(tiny_data, tmp_path):
    home = tmp_path / "kept"
    done, printed = run(tiny_data, "--kill", "--home", str(home), seconds=60)
    assert done.returncode == 0, done.stderr
    assert re.search(r"crashes +2\n", printed)
    assert "second pass changes nothing: ok" in printed
    first = counts(printed)
    assert first["turns"] == (16, 16)  # 12 imported, 4 told
    assert first["chunks indexed"][0] >= 12 + 3 * 2
    assert first["decided active_created"] == first["memories active"] == (2, 2)  # the killed turn taught nothing
    assert first["decided regulated_needs_request"] == (1, 1)  # an allergy is health
    assert all(before == after for before, after in first.values())
    again, printed_again = run(tiny_data, "--home", str(home), seconds=60)
    assert again.returncode == 0, again.stderr
    assert counts(printed_again) == first


def test_absent_data_is_an_answer(tmp_path):
    done, printed = run(tmp_path / "nowhere", seconds=30)
    assert done.returncode == 0
    assert "no LoCoMo data" in printed


@pytest.mark.skipif(data_folder() is None, reason="the LoCoMo data is not here")
@pytest.mark.loop("campaign")
def test_a_real_conversation_is_found_again():
    done, printed = run(data_folder(), "--conversations", "1", "--kill", seconds=110)
    assert done.returncode == 0, done.stderr
    floor = re.search(r"recall@10 >= 0\.62, MRR >= 0\.0: \w+ \((\d\.\d+), ", printed)
    assert floor is not None
    assert float(floor[1]) >= 0.7


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (at_most("a", 3, "ms", 3), True),
        (at_most("a", 3.1, "ms", 3), False),
        (at_least("a", 3, "/s", 3), True),
        (at_least("a", 2.9, "/s", 3), False),
    ],
)
def test_a_figure_is_judged_by_its_goal(row, expected):
    assert row.is_met is expected
    assert cells(row)[-1] == ("yes" if expected else "NO")


def test_a_figure_is_told_as_a_multiple_of_its_floor():
    assert at_most("a", 6, "ms", 9, beside="the least", floor=2).ratio == 3
    assert at_most("a", 6, "ms", 9).ratio is None


def test_evidence_beyond_the_tenth_place_counts_for_the_rank_alone():
    found = [[*"abcdefghijk"], ["x", "b"]]
    assert quality(found, [frozenset("k"), frozenset("bc")]) == (0.25, (1 / 11 + 1 / 2) / 2)


def test_a_picture_is_well_formed_and_has_every_point():
    picture = ET.fromstring(chart("a <b>", "x", "y", [Series("one", [Point(10, 1), Point(1e6, 2, "here")])]))  # noqa: S314
    drawn = picture.findall("{http://www.w3.org/2000/svg}circle")
    places = [(float(circle.attrib["cx"]), float(circle.attrib["cy"])) for circle in drawn]
    assert len(places) == 3  # two points and the one of the legend
    assert places[0][0] < places[1][0]
    assert places[0][1] > places[1][1]


def measured(*arguments, seconds, worst=0, **more):
    """A benchmark without data or a model beside the repository, to its end."""
    plain = {**os.environ, "PIONEER_TEST_MODEL": "nowhere", "PIONEER_BENCH_DATA": "nowhere", **more}
    command = [sys.executable, "-m", "benchmarks", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=plain, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode in {0, 1}, (
        done.stdout + done.stderr
    )  # 1: a goal was missed, which is the machine's affair here
    assert "Traceback" not in done.stderr
    return done.stdout


TINY_SECONDS = 400
"""Half a minute where nobody else is at work; a machine with much to do takes two."""


@pytest.mark.loop("campaign")
@pytest.mark.timeout(TINY_SECONDS + 30)
def test_every_promised_figure_of_speed_is_measured(tmp_path):
    told = measured(
        "speed", "--tiny", seconds=TINY_SECONDS, worst=1, PIONEER_BENCH_OUT=str(tmp_path)
    )  # 1: so small, goals may be missed
    for figure in (
        "`initialize`, CPU",
        "`ping` round trip",
        "`memory/remember`, durable",
        "hooks that do nothing",
        "8,000,000 bytes",
        "10,000 requests before",
        "doing nothing for",
        "memory added to a turn",
        "disk of a chunk",
        "indexing without a model",
        "requests in flight",
        "longest block of the loop",
    ):
        assert figure in told
    kept = json.loads((tmp_path / "speed-tiny.json").read_text(encoding="utf-8"))
    answered = next(row for row in kept["parts"]["process"] if "before one answer" in row["what"])
    assert answered["is_met"] is True


@pytest.mark.loop("campaign")
def test_a_home_of_a_size_is_made_and_measured(tmp_path):
    told = measured("turn_scale", "--chunks", "300", "--calls", "2", "--folder", str(tmp_path), seconds=90)
    assert re.search(r"30 memories, 300 chunks in 1 workspaces", told)
    assert re.search(r"turn/prepare, words +300 +300 +\d", told)
    assert re.search(r"1\.00 times the processor time", told)


@pytest.mark.loop("campaign")
def test_ways_to_search_vectors_are_measured_on_the_same_ones():
    told = measured("vectors", "--vectors", "500", seconds=90)
    rows = re.findall(r"^  (float32|int8|float16|sign).*?  +\d+\.\d+ +\d+\.\d+ +(\d\.\d+)", told, re.MULTILINE)
    assert rows[-1][0] == "sign"
    assert float(rows[-1][1]) >= 0.98


@pytest.mark.loop("campaign")
def test_the_benchmark_of_files_asks_questions_and_measures_costs(tmp_path):
    for name, text in {
        "docs/a.md": "# Ports\n\nThe port of the server is 8000.\n",
        "docs/b.md": "# Colours\n\nIt is green.\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    questions = tmp_path / "questions.jsonl"
    questions.write_text(
        json.dumps({"collection": "docs", "question": "which port", "path": "a.md", "words": "8000"}) + "\n"
    )
    options = ["--docs", str(tmp_path / "docs"), "--questions", str(questions), "--files", "60"]
    told = measured("knowledge", *options, seconds=240)
    assert re.search(r"ours +1\.000 +1\.000", told)
    assert re.search(r"BM25 +1\.000 +1\.000", told)
    assert "scan of unchanged files" in told
