"""The facts that a model finds in a turn."""

from typing import Annotated, Any

from msgspec import Meta, field

from protocol.base import Params
from protocol.memory.values import SemanticFields

MAX_FACTS = 8
MAX_FACT_CHARS = 800
"""The bound that the extractor is given: a longer text is a summary, or was pasted."""
MAX_FACT_QUOTE_CHARS = 500


class FactEvidence(Params):
    """The user's own words that a fact rests on.

    A wrong `item_id` does no harm where one message alone holds the quote.
    """

    quote: Annotated[str, Meta(min_length=1, max_length=MAX_FACT_QUOTE_CHARS)]
    item_id: str | int | None = None


class Fact(Params):
    """One fact of the extractor's answer; validated alone."""

    content: Annotated[str, Meta(min_length=1, max_length=MAX_FACT_CHARS)]
    evidence: FactEvidence
    semantic: SemanticFields = field(default_factory=SemanticFields)
    value: Any = None
    same_as: str | None = None
    """The record of the manifest that states the same.

    It counts only if the quote's figures, names and denials stand in it.
    """
