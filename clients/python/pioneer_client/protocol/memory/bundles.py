"""Memories as a bundle: exported and imported."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from pioneer_client.protocol.base import Cursor, Diagnostic, Params, Scope, Wire
from pioneer_client.protocol.memory.values import Context

MAX_BUNDLE_BYTES = 4 * 1024 * 1024


class ExportParams(Params):
    """`memory/export`."""

    scopes: list[Scope] | None = None
    cursor: Cursor | None = None
    context: Context = field(default_factory=Context)


class ExportResult(Wire):
    """A page of JSON Lines (the shapes `Bundle…`), whole in itself: it can be imported alone and in any order.

    Each page is made when it is asked for. Damaged records, and those that hold a number which is not kept any more,
    are left out and named in `diagnostics`. A forgotten one is a tombstone without content. A regulated one is in it:
    a backup that loses it is none.
    """

    bundle: str
    next_cursor: str | None
    diagnostics: list[Diagnostic] = []


class ImportParams(Params):
    """`memory/import`: a bundle of at most 4 MiB of UTF-8. A dry run answers the same and changes nothing."""

    bundle: Annotated[str, Meta(max_length=MAX_BUNDLE_BYTES)]
    dry_run: bool = False
    context: Context = field(default_factory=Context)


ConflictReason: TypeAlias = Literal[
    "scope_out_of_context",
    "secret_detected",
    "own_context_block",
    "different_record",
    "newer_there",
    "key_taken",
    "path_taken",
    "forgotten_there",
]


class Conflict(Wire):
    """An entry of the bundle that was not taken in and that the user may want to look at; this home's stayed as it is.

    `memory_id` is the entry's id (a candidate's id for a candidate). `different_record`: the id is taken by something
    else; `newer_there`: the same record, changed there since; `key_taken`, `path_taken`: another active record has its
    key or its path; `forgotten_there`: forgotten in the home that wrote the bundle, and kept here.
    """

    memory_id: str
    existing_memory_id: str | None
    reason: ConflictReason


class ImportResult(Wire):
    """The result of an import. Every line of the bundle but the first and the last is counted once.

    `imported`: records and candidates that are new here. `skipped`: entries that were here already, or state the same
    as an active record. `tombstoned`: tombstones that are new here, and entries kept out because they were forgotten
    here.
    """

    imported: int
    skipped: int
    conflicts: list[Conflict]
    tombstoned: int
