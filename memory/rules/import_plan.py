"""Decides on an entry of a bundle, given the rows of this home.

Rule 1: pure; the first row of a table that holds decides.
Rule 2: nothing here is overwritten, and nothing forgotten here comes back.
"""

from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from protocol.memory.bundles import ConflictReason

Fate: TypeAlias = Literal["import", "attach", "skip", "tombstone", "conflict"]
"""`attach`: this home has the same row; evidence, history and decisions that it lacks are added. `tombstone`: the
entry is forgotten here, and stays so."""


class EntryVerdict(Struct, frozen=True):
    """The decision on an entry."""

    fate: Fate
    reason: ConflictReason | None = None
    existing: str | None = None
    """The id of the row here that a conflict is with, where the caller may see it."""


class Twin(Struct, frozen=True):
    """The row that this home has under an entry's id."""

    is_forgotten: bool
    is_same_thing: bool
    """It is in the entry's scope with its key and words; where it `is_unchanged`, every other member is equal, too."""
    is_unchanged: bool
    """It was last changed when the entry was."""
    is_older: bool
    """It was last changed before the entry was."""
    memory_id: str | None
    """Its id as the caller may see it; None where it is outside of the caller's scopes."""


class EntrySituation(NamedTuple):
    """Everything that the fate of a record or a candidate depends on."""

    is_scope_active: bool
    problem: ConflictReason | None
    """The reason why its text is not taken in anywhere."""
    twin: Twin | None
    is_id_forgotten: bool
    are_words_forgotten: bool
    duplicate: str | None
    """The row with the same words and with the status that the entry would have: active record or waiting candidate."""
    key_holder: str | None
    """The active record that has its key and other words."""
    path_holder: str | None = None
    """The active record that has its path, where the entry would have it; "" for one that the caller may not see."""


def plan_import(s: EntrySituation) -> EntryVerdict:
    """Return the decision on a record or a candidate."""
    if not s.is_scope_active:
        return EntryVerdict("conflict", "scope_out_of_context")
    if s.problem is not None:
        return EntryVerdict("conflict", s.problem)
    if s.twin is not None:
        return _plan_twin(s.twin)
    if s.is_id_forgotten or s.are_words_forgotten:
        return EntryVerdict("tombstone")
    if s.duplicate is not None:
        return EntryVerdict("skip")
    if s.key_holder is not None:
        return EntryVerdict("conflict", "key_taken", s.key_holder)
    if s.path_holder is not None:
        return EntryVerdict("conflict", "path_taken", s.path_holder or None)
    return EntryVerdict("import")


def _plan_twin(twin: Twin) -> EntryVerdict:
    """Return the decision on an entry whose id this home has."""
    if twin.is_forgotten:
        return EntryVerdict("tombstone")
    if not twin.is_same_thing:
        return EntryVerdict("conflict", "different_record", twin.memory_id)
    if twin.is_unchanged:
        return EntryVerdict("attach")
    return EntryVerdict("conflict", "newer_there", twin.memory_id) if twin.is_older else EntryVerdict("skip")


def plan_tombstone(*, is_scope_active: bool, is_known: bool, living: str | None, is_visible: bool) -> EntryVerdict:
    """Return the decision on a tombstone: a record that is active here stays, and the conflict names it.

    `living` is the id of that record; a caller who may not see it is given another reason.
    """
    if not is_scope_active:
        return EntryVerdict("conflict", "scope_out_of_context")
    if is_known:
        return EntryVerdict("skip")
    if living is not None:
        return (
            EntryVerdict("conflict", "forgotten_there", living)
            if is_visible
            else EntryVerdict("conflict", "different_record")
        )
    return EntryVerdict("tombstone")
