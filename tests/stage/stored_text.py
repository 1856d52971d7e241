"""The one list of every table and file of a home: what of a memory it may hold, and what makes that go when the memory
is erased.

Rule 1: whoever adds a table, or a file to a home, adds a row here: a test compares the list with the schema and with a
home.
Rule 2: a table of somebody's words has a shelf, on which they are searched; what is made of words goes with them.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from agent.forget.places import SHELVES as OF_CONVERSATION
from agent.forget.places import KeptFiles, conversation
from agent.forget.redaction import forget_copies
from gateway.home.files import HomeFiles
from gateway.home.folder import Home
from gateway.store.wiping import wipe
from knowledge.collections import Collections
from memory.forget.erasing import RecordEraser
from memory.forget.sources import Sources
from memory.rows.shelves import SHELVES as OF_MEMORY
from memory.rows.store import remove_text
from protocol.seams.shelves import Shelf
from thread_episodic.index.reasons import Reasons
from thread_episodic.service import EpisodicService


class Entry(NamedTuple):
    """The words that a table or file holds, and the function that erases them; None where it holds none and nothing made of any."""

    holds: str
    erased_by: Callable[..., Any] | None


NO_WORDS = Entry("ids, counts, times and codes", None)
HASHES = Entry("keyed hashes, which say nothing without the home's key", None)
INDEXED = Entry("terms, ranges and vectors of messages", EpisodicService.on_redacted)
OF_FILES = Entry(
    "ranges, keyed hashes and sorted terms of files; paths, names, targets of links, and the user's own choices",
    Collections.remove,
)
OF_RECORD = Entry("terms, vectors and rows of a record", RecordEraser.erase)

SHELVES: Mapping[str, Shelf] = {shelf.table: shelf for shelf in (*OF_CONVERSATION, *OF_MEMORY)}

TABLES: Mapping[str, Entry] = {
    **{
        shelf.table: Entry("words", conversation if shelf in OF_CONVERSATION else Sources.take_out)
        for shelf in SHELVES.values()
    },
    "record": Entry("the memory itself", RecordEraser.erase),
    "record_terms": Entry("the terms of a record", remove_text),
    "memory_fts": Entry("the terms of records", remove_text),
    "memory_terms": Entry("the terms of records, as they are audited", remove_text),
    "memory_vec": OF_RECORD,
    "enrichment": OF_RECORD,
    **dict.fromkeys(
        ("entity", "alias", "edge"),
        Entry("names that a record's text has, and how they are linked", RecordEraser.erase),
    ),
    "memory_event": OF_RECORD,
    "memory_recall": OF_RECORD,
    "repetition": OF_RECORD,
    "mention": Entry("which turns named a memory", forget_copies),
    "chunk_exclusion": Entry("why a message is never recalled, in somebody's words", Reasons.take_out),
    "chunk_source": INDEXED,
    "chunk": INDEXED,
    "chunk_vec": INDEXED,
    "chunk_fts": INDEXED,
    "chunk_terms": INDEXED,
    **dict.fromkeys(
        (
            "collection",
            "knowledge_file",
            "knowledge_content",
            "knowledge_reference",
            "knowledge_import",
            "knowledge_chunk",
            "knowledge_fts",
            "knowledge_card_fts",
            "knowledge_change",
            "file_version",
            "knowledge_vec",
            "embedding_cache",
        ),
        OF_FILES,
    ),
    "pdf_text": Entry("what PDF files of collections say, without credentials", Collections.remove),
    "tombstone": HASHES,
    "injection": HASHES,
    "capture": HASHES,
    "forgotten": HASHES,
    "recall_event": HASHES,
    **dict.fromkeys(
        (
            "home",
            "owner",
            "job",
            "space",
            "scope",
            "segment",
            "chunk_scope",
            "chunk_vec_loss",
            "memory_vec_loss",
            "knowledge_vec_loss",
            "memory_change",
            "memory_fact",
            "pass_state",
            "pass_run",
            "pass_change",
            "knowledge_owner",
            "instruction_state",
        ),
        NO_WORDS,
    ),
}
"""Every table of the schema by its name."""

FILES: Mapping[str, Entry] = {
    "gateway.db": Entry("every table, and the free room of its pages", wipe),
    "gateway.db-wal": Entry("pages on their way into the database", wipe),
    "gateway.db-shm": Entry("where pages stand in the log", None),
    "artifacts/*": Entry("files that messages carried: never changed, and named", KeptFiles.say),
    "agents/*": Entry("the user's own definitions of agents: never changed, and named", HomeFiles.list_saying),
    "config.toml": Entry("the user's own settings: never changed, and named", HomeFiles.list_saying),
    "*config.toml.*": Entry("a configuration on its way into its place", HomeFiles.list_saying),
    "logs/*": Entry("codes and counts; a line that says it is named", HomeFiles.list_saying),
    "spool/*": Entry(
        "answers on their way into memory: delivered first, or named; torn lines of them go", HomeFiles.list_saying
    ),
    "backups/*": Entry("the home as it was: never changed, and named", Home.backup_names),
    "run/*": Entry("locks of living processes", None),
    "keys/*": Entry("the home's own keys", None),
    "models/*": Entry("embedding models, as they were fetched", None),
    "ballast": Entry("room for a full disk", None),
}
"""Every file of a home by the pattern of its name."""
