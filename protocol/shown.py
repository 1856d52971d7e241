"""Stored things in a prompt: recalled items, lines of a section, and the ids of both.

Rule 1: data only; the phases that give and take it stand in `protocol.hooks`.
"""

from protocol.base import Wire
from protocol.conversation.manifests import SourceRef


class ContextItem(Wire):
    """One recalled thing: its text as data, and the labels that the renderer shows."""

    ref: SourceRef
    text: str
    labels: dict[str, str] = {}
    attachments: list[str] = []


class ShownLine(Wire):
    """A line of a section that shows a stored thing, as it stands in the section's text."""

    ref: SourceRef
    text: str


class Recalled(Wire):
    """The stored things in the prompt already: those recalled for this message, and those of every turn."""

    memory_ids: list[str] = []
    chunk_ids: list[str] = []
    knowledge_ids: list[str] = []
    standing_ids: list[str] = []
    facts: list[str] = []
    """The words of those memories."""

    @property
    def shown_ids(self) -> list[str]:
        """Return every memory that is in the prompt; none of them is given a second time."""
        return [*self.memory_ids, *self.standing_ids]

    def join(self, more: "Recalled") -> "Recalled":
        """Return both together."""
        return Recalled(
            memory_ids=[*self.memory_ids, *more.memory_ids],
            chunk_ids=[*self.chunk_ids, *more.chunk_ids],
            knowledge_ids=[*self.knowledge_ids, *more.knowledge_ids],
            standing_ids=[*self.standing_ids, *more.standing_ids],
            facts=[*self.facts, *more.facts],
        )
