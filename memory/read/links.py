"""Links between records: replacements, and the edges of the graph.

Rule 1: a link is shown between records that the call may read; an edge to any other one does not exist for it.
Rule 2: replacements are read from the records themselves; no edge repeats them.
"""

from collections.abc import Iterator, Sequence

from memory.ports import Collaborators
from memory.rows.history import enrichment_of, replacements
from memory.rows.record_columns import Stored
from memory.rows.withheld import find_kept
from protocol.base import Scope
from protocol.errors import CallerError
from protocol.memory.reads import Enrichment, LinksParams, LinksResult, MemoryLink
from protocol.record import Record
from protocol.seams.ports import Tx
from retrieval.rows.graph import list_linked_subjects

MOST_LINKS = 100
REPLACES = "supersedes"


class Links:
    """Answers `memory/links`, and what a model made of a record."""

    def __init__(self, means: Collaborators) -> None:
        self._means = means

    async def enrichment_of(self, record: Record) -> Enrichment | None:
        """Return a model's enrichment of a record that the caller may read; None where there is none."""
        return await self._means.db.read(lambda tx: enrichment_of(tx, record.memory_id))

    async def find_links(self, params: LinksParams, scopes: Sequence[Scope]) -> LinksResult:
        """Return the records within `depth` links of a record, each once, the nearest first.

        Raises `CallerError("not_found")`.
        """

        def read(tx: Tx) -> LinksResult:
            start = find_kept(tx, self._means, params.memory_id, scopes)
            if start is None:
                raise CallerError.missing("memory")
            seen, links, outermost = {params.memory_id}, list[MemoryLink](), [start]
            for _ in range(params.depth):
                found = list[Stored]()
                for stored in outermost:
                    for link in _links_of(tx, stored):
                        if link.memory_id in seen or len(links) == MOST_LINKS:
                            continue
                        seen.add(link.memory_id)
                        other = find_kept(tx, self._means, link.memory_id, scopes)
                        if other is not None:
                            links.append(link)
                            found.append(other)
                outermost = found
            return LinksResult(links=links)

        return await self._means.db.read(read)


def _links_of(tx: Tx, stored: Stored) -> Iterator[MemoryLink]:
    """Yield the links of a record to any other one: replacements first."""
    record = stored.record
    for memory_id, direction in replacements(tx, record.memory_id):
        yield MemoryLink(memory_id=memory_id, kind=REPLACES, origin="explicit", direction=direction)
    for link in list_linked_subjects(tx, "memory", record.memory_id, MOST_LINKS):
        yield MemoryLink(memory_id=link.subject, kind=link.kind, origin=link.origin, direction=link.direction)
