"""The bundled conversation of `pioneer demo`: one person, one project, nine days.

Rule 1: only the story stands here: the words of each day, and the answers of the scripted model. What the gateway
makes of it is decided by the gateway alone.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

USER = "Mira"
WORKSPACE = "ws_harbor"
FILES_DAY = 9
MONDAY = 1_778_486_400_000  # Monday, 11 May 2026, 08:00 UTC


class StoryTurn(NamedTuple):
    """One turn: its day, its thread, the user's words, the scripted model's answer."""

    day: int
    thread: str
    text: str
    answer: str
    facts: tuple[dict[str, Any], ...] = ()
    tool: tuple[str, dict[str, Any]] | None = None
    title: str | None = None
    in_project: bool = False
    """The thread works in the project's folder, whose rules then hold."""
    agent: str | None = None
    """The agent whose definition acts."""
    helps: str | None = None
    """The thread for which it works as a helper."""


def fact(content: str, quote: str, category: str, attribute: str, **semantic: Any) -> dict[str, Any]:
    """Return a fact as an extractor model would answer it."""
    claims = {
        "intent": "implicit_candidate",
        "explicitness": "implicit",
        "category": category,
        "subject": "current_user",
        "attribute": attribute,
        "durability": "long_lived",
        "sensitivity": "none",
        "certainty": "high",
        **semantic,
    }
    return {"semantic": claims, "content": content, "evidence": {"quote": quote}}


def _accidental_key() -> str:
    """Return a well-formed, worthless cloud key, put together at run time so that no scanner trips over this file."""
    return "AKIA" + "Q3EXAMPLE7HARBOR"


PROJECT = {"subject": "project", "durability": "project_lifetime", "scope_hint": "project_workspace"}

STORY: tuple[StoryTurn, ...] = (
    StoryTurn(
        0,
        "thr_kickoff",
        "Hi! My name is Mira Castellan. I am building Harbor, a timetable app for island ferries.",
        "Welcome aboard, Mira. Where shall we start?",
        (
            fact("The user's name is Mira Castellan.", "My name is Mira Castellan", "identity", "name"),
            fact(
                "Harbor is a timetable app for island ferries.",
                "I am building Harbor, a timetable app for island ferries",
                "project_fact",
                "purpose",
                **PROJECT,
            ),
        ),
        title="Monday: a person and a project",
    ),
    StoryTurn(
        0,
        "thr_kickoff",
        "Remember that I live in Aldermouth, two streets from the north pier.",
        "Noted: Aldermouth, near the north pier.",
        tool=(
            "memory_remember",
            {
                "content": "The user lives in Aldermouth, two streets from the north pier.",
                "category": "biography",
                "key": "home",
            },
        ),
    ),
    StoryTurn(
        1,
        "thr_storage",
        "After the review we decided: Harbor keeps its timetables in SQLite and syncs every six hours.",
        "SQLite with a sync every six hours. I will plan for that.",
        (
            fact(
                "Harbor keeps its timetables in SQLite.",
                "Harbor keeps its timetables in SQLite",
                "project_decision",
                "storage",
                cardinality="single",
                **PROJECT,
            ),
            fact(
                "Harbor syncs its timetables every six hours.",
                "syncs every six hours",
                "project_decision",
                "sync_interval",
                cardinality="single",
                **PROJECT,
            ),
        ),
        title="Tuesday: decisions",
    ),
    StoryTurn(
        2,
        "thr_tiles",
        f"The map tiles need this key: {_accidental_key()} - oh no, I should not have pasted that.",
        "I will not keep it. Please rotate the key.",
        (
            fact(
                f"The tile server key is {_accidental_key()}.",
                f"The map tiles need this key: {_accidental_key()}",
                "project_fact",
                "tile_key",
                **PROJECT,
            ),
        ),
        title="Wednesday: a secret, pasted by accident",
    ),
    StoryTurn(
        2,
        "thr_tiles",
        "Off the record, please don't remember this: I may leave the ferry company in autumn.",
        "Understood, this stays out of memory.",
        (
            fact(
                "Mira may leave the ferry company in autumn.",
                "I may leave the ferry company in autumn",
                "biography",
                "job",
            ),
        ),
    ),
    StoryTurn(
        4,
        "thr_storage",
        "Correction: Harbor syncs every two hours now, six was too slow for storm warnings.",
        "Every two hours it is.",
        (
            fact(
                "Harbor syncs every two hours.",
                "Harbor syncs every two hours now",
                "project_decision",
                "sync_interval",
                cardinality="single",
                intent="explicit_store",
                explicitness="explicit",
                **PROJECT,
            ),
        ),
        title="Friday: a correction",
    ),
    StoryTurn(
        8,
        "thr_monday",
        "What did we decide last week about how Harbor syncs and stores its timetables?",
        "Last week you settled on SQLite, and on Friday you shortened the sync to every two hours.",
        title="The week after: a question",
    ),
    StoryTurn(
        8,
        "thr_monday",
        "Please forget that I live in Aldermouth.",
        "Done, I no longer know where you live.",
        tool=("memory_forget", {"scope": {"kind": "user", "key": "default"}, "key": "home"}),
        title="and a wish to be forgotten",
    ),
    StoryTurn(
        FILES_DAY,
        "thr_notes",
        "What do our notes say about refunds when a ferry is cancelled?",
        "Refunds are the operators' matter: Harbor only shows their phone number (decisions.md, from line 5). "
        "Their offices open at 09:00.",
        title="Wednesday: a folder of notes",
        in_project=True,
    ),
    StoryTurn(
        FILES_DAY,
        "thr_scout",
        "Scout, which ferry would you cancel first in a storm?",
        "The small one to Skerry, of course. I have a soft spot for the big ones.",
        title="an agent, then as a helper",
        agent="scout",
    ),
    StoryTurn(
        FILES_DAY,
        "thr_helper",
        "List the ferries that a storm would stop.",
        "Skerry 07:40, Skerry 16:10.",
        agent="scout",
        helps="thr_notes",
    ),
)

FILES: Mapping[str, str] = {
    "harbor/AGENTS.md": "Give times of day in 24 hours. Name the file and the lines of what you take from the notes.\n",
    "harbor/notes/decisions.md": (
        "# Decisions\n\nWhat we agreed on, newest first.\n\n"
        "## Refunds\n\nWhen a ferry is cancelled, refunds are the matter of its operator.\n"
        "Harbor only shows the operator's phone number. See [[operators]].\n\n"
        "## Languages\n\nHarbor speaks Gaelic and English.\n"
    ),
    "harbor/notes/operators.md": "# Operators\n\nTheir offices open at nine in the morning.\n",
    "home/agents/scout/config.yaml": "name: Scout\ndescription: Knows ferries and weather.\n",
    "home/agents/scout/AGENTS.md": "Answer in one line.\n",
    "home/agents/scout/SOUL.md": "You have a soft spot for big ferries.\n",
}
"""Files of the person: a project with its rules and notes, and an agent. A gateway reads them and changes none."""


def script() -> list[dict[str, Any]]:
    """Return the rules of the scripted model that belong to the story, in its own order."""
    rules: list[dict[str, Any]] = []
    for said in STORY:
        if said.tool is not None:
            name, arguments = said.tool
            call = {"tool_calls": [{"name": name, "arguments": arguments}]}
            rules.append({"role": "main", "input_contains": said.text, "round": 1, "times": 1, "respond": call})
        rules.append(
            {
                "role": "main",
                "input_contains": said.text,
                "times": 1,
                "respond": {"text": said.answer},
                "stream_chunks": 3,
            }
        )
        facts = {"json": {"facts": list(said.facts)}}
        rules.append({"role": "extractor", "input_contains": said.text[:40], "times": 1, "respond": facts})
    return rules
