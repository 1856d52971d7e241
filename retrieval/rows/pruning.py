"""Rows of the graph that a scheduled pass counts, and drops where they are old or what they belong to is gone.

Rule 1: an explicit edge between entities that are there is out of reach, whatever its age.
"""

from protocol.base import DAY_MS
from protocol.seams.checks import Check, Find, draining_finder, finder, row_mender
from retrieval.rows.graph import SQL

CONFIRMED_MS = 180 * DAY_MS
"""The time for which an inferred edge stays in the graph without being inferred again."""


def prunings(now: int) -> list[Check]:
    """Return the checks by which rows of the graph are dropped at a time, in this order."""
    return [
        Check(
            "inferred_edges",
            draining_finder(SQL["unconfirmed_edges"], before=now - CONFIRMED_MS),
            row_mender(SQL["drop_listed_edges"]),
        ),
        Check("edges", finder(SQL["end_of_edges"], SQL["find_lone_edges"]), row_mender(SQL["drop_listed_edges"])),
        Check(
            "entities",
            finder(SQL["end_of_entities"], SQL["find_lone_entities"]),
            row_mender(SQL["drop_listed_entities"]),
        ),
        Check(
            "aliases", finder(SQL["end_of_aliases"], SQL["find_lone_aliases"]), row_mender(SQL["drop_listed_aliases"])
        ),
    ]


def tallies() -> list[Find]:
    """Return the looks that count entities, and edges by their origin."""
    return [
        finder(SQL["end_of_entities"], SQL["tally_entities"]),
        finder(SQL["end_of_edges"], SQL["tally_edges"]),
    ]
