"""Talk of three kinds with questions: two people, a user with an assistant, a user with an agent whose tools speak.

Rule 1: LoCoMo comes from outside and is left out where it is absent; the other sets were written for this project by
somebody who had not seen the ranking, and stand in `sets/`: `messages.jsonl`, `questions.jsonl`, `unanswered.jsonl`.
Rule 2: what gains were fitted on is told apart from what was held out.
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, get_args

from benchmarks.conversations import Conversation, data_folder, read_conversations
from benchmarks.inputs import read_rows
from protocol.conversation.values import Role
from protocol.thread_episodic import IndexedRole

SETS = Path(__file__).resolve().parent / "sets"
KINDS = ("chats", "agents")
TUNED_ON = frozenset({"conv-26", "conv-41", "conv-43", "chats-u1", "agents-w1"})
"""The gains were fitted on these."""
EVERY_FOREIGN = 3  # each third question is asked in another home of its kind as well


class Message(NamedTuple):
    """Something said: by a role, and by a name where there is one."""

    message_id: str
    thread: str
    thread_name: str | None
    role: Role
    name: str | None
    text: str
    at: int


class Asked(NamedTuple):
    """A question and the messages that answer it; none where nothing does."""

    text: str
    evidence: frozenset[str] = frozenset()


class Talk(NamedTuple):
    """A home: what was said in it, and what is asked."""

    name: str
    kind: str
    messages: Sequence[Message]
    questions: Sequence[Asked]
    unanswered: Sequence[Asked]

    @property
    def group(self) -> str:
        """The name of the group that its figures belong to."""
        return f"{self.kind}, {'tuned on' if self.name in TUNED_ON else 'held out'}"


def read_talks(sets: Path = SETS) -> list[Talk]:
    """Everything that is there."""
    folder = data_folder()
    people = [_of_people(one) for one in read_conversations(folder)] if folder is not None else []
    return [*people, *(talk for kind in KINDS for talk in _of_kind(sets / kind, kind))]


def foreign_to(talk: Talk, talks: Sequence[Talk]) -> list[Asked]:
    """Some questions of the next home of its kind: nothing here answers them."""
    alike = [one for one in talks if one.kind == talk.kind]
    other = alike[(alike.index(talk) + 1) % len(alike)]
    return [Asked(one.text) for one in other.questions[::EVERY_FOREIGN]] if other is not talk else []


def _of_people(conversation: Conversation) -> Talk:
    name = conversation.name
    messages = [
        Message(
            said.dia_id,
            f"{name}/{session.number}",
            None,
            "user" if said.speaker == conversation.first_speaker else "assistant",
            said.speaker,
            said.text,
            said.at,
        )
        for session in conversation.sessions
        for said in session.turns
    ]
    questions = [Asked(one.text, one.evidence) for one in conversation.questions]
    return Talk(name, "people", messages, questions, [])


def _of_kind(folder: Path, kind: str) -> list[Talk]:
    messages, questions, unanswered = (
        read_rows(folder / f"{name}.jsonl") for name in ("messages", "questions", "unanswered")
    )
    return [
        Talk(
            f"{kind}-{home}",
            kind,
            [_message(one) for one in messages if one["home"] == home and one["role"] in get_args(IndexedRole)],
            [Asked(one["text"], frozenset(one["evidence"])) for one in questions if one["home"] == home],
            [Asked(one["text"]) for one in unanswered if one["home"] == home],
        )
        for home in dict.fromkeys(one["home"] for one in messages)
    ]


def _message(one: dict[str, Any]) -> Message:
    at = int(datetime.fromisoformat(one["at"]).timestamp() * 1000)
    return Message(one["id"], one["thread"], one["thread_name"], one["role"], None, one["text"], at)
