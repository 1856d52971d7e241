"""Lists that are longer than a page of a method, read by commands."""

import argparse
from collections.abc import Iterable
from pathlib import Path

import pytest
from command_line import new_home, remember, run

from gateway.doors.commands.door import HomeMethods, through_door
from gateway.doors.commands.parsing import parser
from protocol.methods import MEMORY_REMEMBER

SAID = [
    "Our ferry leaves the harbour at seven daily",
    "Each summer we sail around both northern islands",
    "Grandmother bakes dark rye bread inside clay ovens",
    "New colleagues learn climbing ropes during autumn camps",
]
"""Sentences of eight words, of which each two rotations are a pair: they have the same words."""
PAIRS = len(SAID) * 8 * 7 // 2
CUT = 105
"""More than a page, which has 100, and fewer than there are."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return new_home(tmp_path, monkeypatch)


def keep(contents: Iterable[str]) -> None:
    async def work(door: HomeMethods) -> None:
        for content in contents:
            await door.call(MEMORY_REMEMBER, {"content": content, "category": "procedure"})

    given: argparse.Namespace = parser("remember").parse_args(["remember", "it"])
    through_door(given, work, makes_home=True)


def test_pairs_that_are_left_out_are_announced_also_behind_the_last_page() -> None:
    sentences = map(str.split, SAID)
    keep(" ".join(words[start:] + words[:start]) for words in sentences for start in range(len(words)))
    every = run("similar", "--all", "--json").json
    assert (len(every["pairs"]), every["next_cursor"]) == (PAIRS, None)
    cut = run("similar", "--limit", str(CUT), "--json").json
    assert cut["pairs"] == every["pairs"][:CUT]
    assert cut["next_cursor"] is not None
    assert "there are more" in run("similar", "--limit", str(CUT)).err


def test_a_withheld_memory_is_counted_also_behind_the_first_page() -> None:
    remember("I take pills for my heart.", "--sensitivity", "regulated")
    keep(f"Boat {number} has {number} oars." for number in range(101))
    assert "1 sensitive memory not shown" in run("list", "--all").err


def test_runs_that_are_left_out_are_announced() -> None:
    remember("I like tea.")
    for _ in range(3):
        run("consolidate")
    every = run("passes", "runs", "--all", "--json").json["runs"]
    cut = run("passes", "runs", "--limit", "1", "--json").json["runs"]
    assert (len(every) >= 3, cut) == (True, every[:1])
    assert "there are more" in run("passes", "runs", "--limit", "1").err
    assert "there are more" not in run("passes", "runs", "--all").err
