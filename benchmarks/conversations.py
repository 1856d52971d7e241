"""LoCoMo conversations as they come in files: who said what when, what was observed, what is asked.

Rule 1: the data is never part of the repository; where it is absent, that is an answer and no failure.
"""

import os
import re
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

DATA_VARIABLE = "PIONEER_BENCH_DATA"
PLACES = ("../shared/data/locomo",)
"""The folder of the data, from the repository's root, when the variable is not set."""

MINUTE_MS = 60_000
ANSWERABLE = (1, 2, 3, 4)
"""Categories whose answer is in the conversation: multi-hop, temporal, open-domain, single-hop."""
MISLEADING = (5,)
"""The category of what one speaker did, asked about the other."""

_DIA_ID = re.compile(r"D\d+:\d+")
_SESSION = re.compile(r"session_(\d+)")


class Said(NamedTuple):
    """One turn of a conversation."""

    dia_id: str
    speaker: str
    text: str
    at: int


class Session(NamedTuple):
    """The talk of one occasion."""

    number: int
    turns: list[Said]


class Question(NamedTuple):
    """A question, and the turns that hold its answer."""

    text: str
    category: int
    evidence: frozenset[str]


class Observation(NamedTuple):
    """A fact about a speaker."""

    speaker: str
    fact: str


class Conversation(NamedTuple):
    """One file."""

    name: str
    first_speaker: str
    sessions: list[Session]
    questions: list[Question]
    observed: dict[str, list[Observation]]
    """Facts by the dia_id of the turn that supports them."""
    misleading: list[Question]
    """Questions about what was not said, in the words of what was."""


def data_folder() -> Path | None:
    """The folder of the conversations: the variable's, else the first known place that exists."""
    given = os.environ.get(DATA_VARIABLE)
    root = Path(__file__).resolve().parent.parent
    places = [Path(given)] if given else [root / place for place in PLACES]
    return next((place for place in places if place.is_dir()), None)


def absence() -> str:
    """Return the advice for a person who has no data."""
    return f"no LoCoMo data: set {DATA_VARIABLE} to a folder of conv-*.json (skipped)"


def read_conversations(folder: Path, limit: int | None = None) -> list[Conversation]:
    """The conversations of a folder, in the order of their names."""
    return [_read(path) for path in sorted(folder.glob("*.json"))[:limit]]


def _read(path: Path) -> Conversation:
    data: dict[str, Any] = msgspec.json.decode(path.read_bytes())
    numbers = sorted(int(found[1]) for name in data if (found := _SESSION.fullmatch(name)) and data[name])
    sessions = [_session(data, number) for number in numbers]
    known = {said.dia_id for session in sessions for said in session.turns}
    return Conversation(
        path.stem,
        data["speaker_a"],
        sessions,
        _questions(data["qa"], known, ANSWERABLE),
        _observations(data, known),
        _questions(data["qa"], known, MISLEADING),
    )


def _session(data: dict[str, Any], number: int) -> Session:
    begun = datetime.strptime(data[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    start = int(begun.timestamp() * 1000)
    turns = [
        Said(turn["dia_id"], turn["speaker"], _words(turn), start + index * MINUTE_MS)
        for index, turn in enumerate(data[f"session_{number}"])
    ]
    return Session(number, turns)


def _words(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['text']} [shares {caption}]" if caption else turn["text"]


def _questions(entries: list[dict[str, Any]], known: set[str], categories: Collection[int]) -> list[Question]:
    """The questions of some categories with evidence that exists; one string may hold several ids and stray text."""
    found: list[Question] = []
    for entry in entries:
        evidence = known.intersection(_DIA_ID.findall(" ".join(entry.get("evidence") or [])))
        if entry["category"] in categories and evidence:
            found.append(Question(entry["question"], entry["category"], frozenset(evidence)))
    return found


def _observations(data: dict[str, Any], known: set[str]) -> dict[str, list[Observation]]:
    """By the first turn that supports each; a fact may name several."""
    observed: dict[str, list[Observation]] = {}
    for name, by_speaker in data.items():
        if not re.fullmatch(r"session_\d+_observation", name):
            continue
        for speaker, facts in by_speaker.items():
            for fact, source in facts:
                support = [dia_id for dia_id in _DIA_ID.findall(str(source)) if dia_id in known]
                if support:
                    observed.setdefault(support[0], []).append(Observation(speaker, fact))
    return observed
