"""The columns of this house that may hold a forgotten memory's words."""

from typing import Final

from memory.rows.record_columns import JSONS, SQL, WORDS
from protocol.seams.shelves import Column, Shelf, Shelves

WHOLE: Final = ()
"""All of a JSON column is text."""
SHELVES: Final = (
    Shelf("memory", "record", "said_in_records", "",
          tuple(Column(name, WHOLE if name in JSONS else None) for name in WORDS)),
    Shelf("candidate", "candidate", "said_in_candidates", "",
          (Column("content"), Column("value", WHOLE), Column("key"), Column("proposal", WHOLE))),
    Shelf("evidence", "evidence", "said_in_evidence", "keep_said_evidence", (Column("quote"),)),
    Shelf("earlier_value", "earlier_value", "said_in_earlier_values", "keep_said_earlier_value",
          (Column("value", WHOLE),)),
    Shelf("decision", "decision", "said_in_decisions", "keep_said_decision", (Column("factors", ("value", "why")),)),
    Shelf(
        "answer", "idempotency", "said_in_answers", "keep_said_answer",
        (Column("answer", ("value", "why", "canonical_key")),),
    ),
)  # fmt: skip

TEXTS: Final = Shelves(SQL, SHELVES, lambda _tx, _found: None)
"""The texts of this house, as an erase searches and changes them."""
