"""The texts of a home that can have a vector of a space, and those that have one: facts, conversations, files.

Rule 1: counted by statements alone, so that a command or the doctor needs no model and no house.
"""

from collections.abc import Callable, Mapping

from knowledge.rows.vectors import coverage as count_files
from memory.rows.vectors import coverage as count_facts
from protocol.seams.ports import Coverage, Tx
from thread_episodic.rows.vectors import coverage as count_conversations

COUNTS: Mapping[str, Callable[[Tx, int], Coverage]] = {
    "facts": count_facts,
    "pieces": count_conversations,
    "file_pieces": count_files,
}
"""The count of each house by the name of its texts: records, pieces of conversations, pieces of files."""


def count_texts(tx: Tx, space_id: int) -> dict[str, Coverage]:
    """Return the coverage of a space by the names of `COUNTS`; a space of number 0 has no vectors."""
    return {name: count(tx, space_id) for name, count in COUNTS.items()}
