"""Checks whether something was forgotten, and since when.

Every writer asks here, in its own transaction, before it stores what a source taught.

Rule 1: a forgetting marks what it names with the home's new generation; only keyed hashes are kept, and they are kept
for good.
Rule 2: a source is as old as the turn in which it was said. What it teaches is not kept once its turn or thread was
forgotten.
Rule 3: work is as old as its beginning; an extraction begins with its turn. A scope or a record that was forgotten
since gets nothing of it.
Rule 4: an explicit wish and an approval are a new word: their sources are as old as the call.
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
"""The generation of work whose source is not there any more: older than every mark."""

Kind: TypeAlias = Literal["turn", "thread", "workspace", "scope", "words", "taught", "place", "phrase", "phrase_length"]
"""`workspace`: one that was deleted with its conversations; `scope`: a scope whose memory was forgotten. `words`:
what a forgotten record said, in its scope. `taught`: a turn that a forgotten record came from. `place`: a thread
with its workspace. `phrase`: words that were erased with their sources, and how long they are."""


class Mark(Struct, frozen=True):
    """Something that was forgotten."""

    kind: Kind
    name: str


class EvidencePlace(NamedTuple):
    """The place where something was said, as far as it is known."""

    turn_id: str | None
    thread_id: str | None


class Lesson(Struct, frozen=True):
    """A claim about to be written: its scope, its words, its evidence, and when the work began."""

    scope: Scope
    hashes: Sequence[bytes]
    places: Iterable[EvidencePlace]
    began: int
    is_decided: bool
    """A person wants just this, whatever was forgotten before they said so."""
    may_tell: Callable[[EvidencePlace], bool] = lambda _place: True
    """Return whether the fate of a place may be named where this is written; asked of forgotten places alone."""


def marks_of_words(scope: Scope, hashes: Sequence[bytes]) -> list[Mark]:
    """Return the marks of what a record says."""
    return [Mark("words", f"{scope}\n{one.hex()}") for one in dict.fromkeys(hashes)]


def place_of(workspace_id: str | None, thread_id: str) -> Mark:
    """Return the mark by which a deleted thread is known in its own workspace, and in no other."""
    return Mark("place", f"{workspace_id}\n{thread_id}")


def note_forgotten(tx: Tx, means: Collaborators, marks: Iterable[Mark]) -> None:
    """Forget these from now on, for everything that has begun already."""
    keep_marks(tx, [hash_of_mark(means, mark) for mark in dict.fromkeys(marks)])


def is_forgotten_since(tx: Tx, means: Collaborators, mark: Mark, since: int) -> bool:
    """Return whether the marked thing was forgotten after that generation."""
    forgotten = generation_of(tx, hash_of_mark(means, mark))
    return forgotten is not None and forgotten > since


def is_forgotten(tx: Tx, means: Collaborators, lesson: Lesson) -> bool:
    """Return whether a lesson may not be written.

    That is so if its source is gone, or was forgotten since it was said or the work began.
    """
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
    """Return whether a verified proposal may not be written; `becomes` holds its scope and its identity."""
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
    """Return whether a place is no other workspace's: nothing is learnt here from another one's thread or turn."""
    turn = means.read_turn(tx, place.turn_id) if place.turn_id is not None else None
    thread_id = place.thread_id if turn is None else turn.turn.thread_id
    if thread_id is None:
        return False
    thread = means.read_thread(tx, thread_id)
    if thread is None:  # it was deleted, here or elsewhere, or never was
        return is_forgotten_since(tx, means, place_of(workspace_id, thread_id), GONE)
    return thread.workspace_id == workspace_id


def hash_of_mark(means: Collaborators, mark: Mark) -> bytes:
    """Return the keyed hash by which a forgotten thing is known."""
    return means.keyed.digest("forgotten", f"{mark.kind}\n{mark.name}")


# -- what is under way -------------------------------------------------------------------------------------------------


def cancel_runs(tx: Tx, means: Collaborators, is_reached: Callable[[OpenRun], bool]) -> list[Cancelled]:
    """End the runs that learn from forgotten turns."""
    reached = [run for run in means.open_runs(tx, EXTRACTOR_HOOK) if is_reached(run)]
    means.end_runs(tx, [run.run_id for run in reached], "source_forgotten")
    return [Cancelled(run_id=run.run_id, thread_id=run.thread_id, turn_id=run.turn_id) for run in reached]


def cancel_in_scope(tx: Tx, means: Collaborators, scope: Scope) -> list[Cancelled]:
    """Name the runs that write nothing into a forgotten scope; they go on, for what they learn elsewhere."""
    return [
        Cancelled(run_id=run.run_id, thread_id=run.thread_id, turn_id=run.turn_id, scope=scope)
        for run in means.open_runs(tx, EXTRACTOR_HOOK)
        if (thread := means.read_thread(tx, run.thread_id)) is not None and _writes_into(thread, scope)
    ]


def _writes_into(thread: ThreadFact, scope: Scope) -> bool:
    own = {
        "workspace": thread.workspace_id,
        "agent": thread.agent_id,
        "thread": thread.thread_id,
        "task": thread.task_id,
    }
    return thread.parent_thread_id is None if scope.kind == "user" else own[scope.kind] == scope.key
