"""Derived parts of all houses: one table states of what each is made, which checks see its damage, how it comes back.

Rule 1: a part that is lost or unreadable is emptied, never restored from a backup: its source is still there.
Rule 2: a table of the schema is named here, or it has a meaning of its own; a check is named here once.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

House: TypeAlias = Literal["conversation", "memory", "knowledge"]

SHADOWS = ("data", "idx", "docsize", "config")
"""Suffixes of the tables that SQLite keeps beside a full-text table."""


class Derived(Struct, frozen=True):
    """A part of a home that is made of others.

    `checks`: the kinds of damage that repair sees in it. `takes_along`: whether its house's other parts name its rows
    by number, so that they go when it has to be begun anew.
    """

    name: str
    house: House
    tables: Sequence[str]
    made_of: str
    checks: Sequence[str]
    takes_along: bool = False


TABLE: Sequence[Derived] = (
    Derived("messages of the index", "conversation",
            ("chunk_scope", "chunk_source"), "the messages of all turns",
            ("scopes", "source_rows", "missing_sources", "changed_sources", "lexicon", "jobs"), takes_along=True),
    Derived("pieces of messages", "conversation",
            ("chunk",), "messages, cut anew",
            ("orphans", "chunk_rows", "terms"), takes_along=True),
    Derived("partitions", "conversation",
            ("segment",), "the pieces in them",
            ("lost_segments", "segments"), takes_along=True),
    Derived("full text of conversations", "conversation",
            ("chunk_fts", "chunk_terms"), "the terms that pieces keep",
            ("texts", "missing_texts")),
    Derived("vectors of conversations", "conversation",
            ("chunk_vec", "chunk_vec_loss"), "pieces, by the embedding model",
            ("vectors", "missing_vectors")),
    Derived("files of collections", "knowledge",
            ("knowledge_content", "pdf_text", "knowledge_reference", "knowledge_import", "knowledge_file",
             "knowledge_chunk", "knowledge_fts", "knowledge_card_fts"),
            "the files themselves, read again by the next scan", (), takes_along=True),
    Derived("vectors of files", "knowledge",
            ("knowledge_vec", "knowledge_vec_loss"), "pieces of files, by the embedding model", ()),
    Derived("vectors that left an index", "knowledge",
            ("embedding_cache",), "nothing: a text that comes back is given to the model again", ()),
    Derived("terms of records", "memory",
            ("record_terms",), "what records say",
            ("unvouched_texts", "forgotten_texts", "missing_texts", "stale_texts", "damaged_records")),
    Derived("full text of records", "memory",
            ("memory_fts", "memory_terms"), "the terms that are kept of records",
            ("wrong_texts",)),
    Derived("vectors of records", "memory",
            ("memory_vec", "memory_vec_loss"), "records, by the embedding model",
            ("wrong_vectors", "lacking_vectors", "index_states")),
    Derived("counts and links of records", "memory",
            (), "the rows that they count and name",
            ("scope_counts", "evidence_counts", "candidate_counts", "superseded_links", "supersedes_links")),
)  # fmt: skip

TABLES: Mapping[str, Derived] = {table: part for part in TABLE for table in part.tables}
"""The part that each derived table belongs to."""


def part_of(check: str, house: House) -> Derived | None:
    """Return the part in which a check sees damage; None for a check of something that is not derived."""
    return next((part for part in TABLE if part.house == house and check in part.checks), None)


def tables_to_empty(damaged: Iterable[str]) -> list[str]:
    """Return the derived tables that must be emptied together with the damaged ones, in the order of `TABLE`."""
    parts = {TABLES[name].name for name in damaged}
    whole = {part.house for part in TABLE if part.name in parts and part.takes_along}
    return [table for part in TABLE if part.name in parts or part.house in whole for table in part.tables]


def add_shadows(tables: Iterable[str]) -> list[str]:
    """Return the tables, and those that SQLite keeps beside the full-text ones."""
    return [name for table in tables for name in (table, *_shadows_of(table))]


def _shadows_of(table: str) -> list[str]:
    return [f"{table}_{suffix}" for suffix in SHADOWS] if table.endswith("_fts") else []


def owner_of(table: str) -> str | None:
    """Return the derived table that a table is, or is a shadow of; None for a table with a meaning of its own."""
    return next((name for name in TABLES if table in add_shadows([name])), None)
