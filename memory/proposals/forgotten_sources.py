"""Checks whether the source of a claim was forgotten before the claim is written.

Every writer asks here, in its own transaction, before it stores a claim.

Rule 1: every forgetting raises the generation of the home, and marks what it names with the new one. Marks are keyed
hashes, and are kept for good.
Rule 2: a source has the generation in which its turn was said. Once its turn or thread has a later mark, no claim from
it is written.
Rule 3: work has the generation in which it began, an extraction that of its turn. Once a scope or the words of a record
have a later mark, it writes nothing to that scope or of those words.
Rule 4: an explicit wish and an approval are new words: their sources have the generation of the call.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from memory.ports import Collaborators
from memory.ports_hooks import EXTRACTOR_HOOK
from memory.proposals.proposal import Checked, Proposed
from memory.rows.forgetting import generation_of, keep_marks, read_generation
from memory.rules.identity import FactIdentity
from protocol.base import Cancelled, Scope
from protocol.seams.forgettings import OpenRun
from protocol.seams.house_facts import ThreadFact
from protocol.seams.ports import Tx

GONE = -1
"""The generation of work whose source is gone: earlier than every mark."""

Kind: TypeAlias = Literal["turn", "thread", "workspace", "scope", "words", "taught", "place", "phrase", "phrase_length"]
"""`turn`, `thread`: deleted ones. `workspace`: one that was deleted with its conversations. `scope`: one whose memory
was forgotten. `words`: a hash of a forgotten record, with its scope. `taught`: a turn that a forgotten record came
from. `place`: a deleted thread with its workspace. `phrase`, `phrase_length`: words that were erased with their
sources, and their number."""


class Mark(Struct, frozen=True):
    """A forgotten thing."""

    kind: Kind
    name: str


class EvidencePlace(NamedTuple):
    """The turn and the thread in which evidence was said, where they are known."""

    turn_id: str | None
    thread_id: str | None


class Lesson(Struct, frozen=True):
    """A claim that is about to be written."""

    scope: Scope
    hashes: Sequence[bytes]
    """The hashes of its words and of its value."""
    places: Iterable[EvidencePlace]
    began: int
    """The generation in which the work began."""
    is_decided: bool
    """A person wants just this, whatever was forgotten before they said so."""
    may_tell: Callable[[EvidencePlace], bool] = lambda _place: True
    """Return whether the claim's writer may learn that a place was forgotten; asked of forgotten places alone."""


def marks_of_words(scope: Scope, hashes: Sequence[bytes]) -> list[Mark]:
    """Return the marks of a record's words, given their hashes."""
    return [Mark("words", f"{scope}\n{one.hex()}") for one in dict.fromkeys(hashes)]


def mark_of_place(workspace_id: str | None, thread_id: str) -> Mark:
    """Return the mark of a deleted thread that is known in its own workspace, and in no other."""
    return Mark("place", f"{workspace_id}\n{thread_id}")


def note_forgotten(tx: Tx, means: Collaborators, marks: Iterable[Mark]) -> None:
    """Mark these as forgotten in a new generation, for all work that has begun already."""
    keep_marks(tx, [hash_of_mark(means, mark) for mark in dict.fromkeys(marks)])


def is_forgotten_since(tx: Tx, means: Collaborators, mark: Mark, since: int) -> bool:
    """Return whether a thing was forgotten after a generation."""
    forgotten = generation_of(tx, hash_of_mark(means, mark))
    return forgotten is not None and forgotten > since


def is_forgotten(tx: Tx, means: Collaborators, lesson: Lesson) -> bool:
    """Return whether a claim may not be written: its source is gone, or was forgotten since, by rules 2 to 4."""
    began = lesson.began
    if began == GONE:
        return True
    marks = [Mark("scope", str(lesson.scope)), *marks_of_words(lesson.scope, lesson.hashes)]
    asked: list[tuple[Mark, int, EvidencePlace | None]] = [(mark, began, None) for mark in marks]
    for place in dict.fromkeys(lesson.places):
        turn_id, thread_id = place
        since = began
        if turn_id is not None:
            said = None if lesson.is_decided else means.generation_of_turn(tx, turn_id)
            since = began if said is None else min(began, said)
            asked += [(Mark("turn", turn_id), since, place), (Mark("taught", turn_id), began, place)]
        if thread_id is not None:
            asked.append((Mark("thread", thread_id), since, place))
    if read_generation(tx) <= min(since for _, since, _ in asked):
        return False
    return any(
        is_forgotten_since(tx, means, mark, since) and (place is None or lesson.may_tell(place))
        for mark, since, place in asked
    )


def comes_too_late(
    tx: Tx, means: Collaborators, proposed: Proposed, checked: Checked, becomes: tuple[Scope, FactIdentity]
) -> bool:
    """Return whether a verified proposal may not be written; `becomes` are the scope and identity of its record."""
    if proposed.began is None:
        return False
    scope, identity = becomes
    said = [proposed.provenance, *checked.evidence]
    places = [EvidencePlace(one.turn_id, one.thread_id) for one in said]
    is_decided = proposed.is_explicit and proposed.run_id is None
    hashes = (identity.text_hash, identity.fingerprint)
    may_tell = partial(_is_of_workspace, tx, means, proposed.workspace_id)
    return is_forgotten(tx, means, Lesson(scope, hashes, places, proposed.began, is_decided, may_tell))


def _is_of_workspace(tx: Tx, means: Collaborators, workspace_id: str | None, place: EvidencePlace) -> bool:
    """Return whether a place is in the workspace: a refusal never shows that a place of another one was forgotten."""
    turn = means.read_turn(tx, place.turn_id) if place.turn_id is not None else None
    thread_id = place.thread_id if turn is None else turn.turn.thread_id
    if thread_id is None:
        return False
    thread = means.read_thread(tx, thread_id)
    if thread is None:  # it was deleted, here or elsewhere, or never was
        return is_forgotten_since(tx, means, mark_of_place(workspace_id, thread_id), GONE)
    return thread.workspace_id == workspace_id


def hash_of_mark(means: Collaborators, mark: Mark) -> bytes:
    """Return the keyed hash of a mark."""
    return means.keyed.digest("forgotten", f"{mark.kind}\n{mark.name}")


# -- open extractions --------------------------------------------------------------------------------------------------


def cancel_runs(tx: Tx, means: Collaborators, is_reached: Callable[[OpenRun], bool]) -> list[Cancelled]:
    """End the open extractions that a forgetting reaches; return them."""
    reached = [run for run in means.open_runs(tx, EXTRACTOR_HOOK) if is_reached(run)]
    means.end_runs(tx, [run.run_id for run in reached], "source_forgotten")
    return [Cancelled(run_id=run.run_id, thread_id=run.thread_id, turn_id=run.turn_id) for run in reached]


def cancel_in_scope(tx: Tx, means: Collaborators, scope: Scope) -> list[Cancelled]:
    """Return the open extractions that can write no more into a forgotten scope; they go on for other scopes."""
    return [
        Cancelled(run_id=run.run_id, thread_id=run.thread_id, turn_id=run.turn_id, scope=scope)
        for run in means.open_runs(tx, EXTRACTOR_HOOK)
        if (thread := means.read_thread(tx, run.thread_id)) is not None and _writes_into(thread, scope)
    ]


def _writes_into(thread: ThreadFact, scope: Scope) -> bool:
    """Return whether a scope is active in the turns of a thread."""
    own = {
        "workspace": thread.workspace_id,
        "agent": thread.agent_id,
        "thread": thread.thread_id,
        "task": thread.task_id,
    }
    return thread.parent_thread_id is None if scope.kind == "user" else own[scope.kind] == scope.key
