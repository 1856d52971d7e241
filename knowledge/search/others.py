"""Hits of the other houses' indexes, converted to hits of this search; pure."""

from collections.abc import Mapping, Sequence
from typing import Literal

from knowledge.search.ranking import CONSOLIDATION_RAISE, topics_factor, total_of
from promt.questions import only_asks
from promt.render import shorten
from protocol.files.knowledge import HitRef, KnowledgeHit, KnowledgeSearchArgs, ScoreParts
from protocol.memory.reads import Hit
from protocol.thread_episodic import ThreadHit

SNIPPET_CHARS = 360
USUAL_IMPORTANCE = 0.5
"""The importance of a hit that states none."""
SUBTYPES: Mapping[str, Literal["consolidation", "heartbeat"]] = {
    "insight": "consolidation",
    "heartbeat_insight": "heartbeat",
}
"""Records that a pass derived from others, by the subtype in their metadata."""


def to_memory_hit(found: Hit, args: KnowledgeSearchArgs) -> KnowledgeHit | None:
    """Return a record as a hit; None where an option leaves it out."""
    record = found.record
    derived = SUBTYPES.get(str((record.metadata or {}).get("subtype")))
    source: Literal["memory", "consolidation", "heartbeat"] = derived or "memory"
    wanted = args.source if args.source in {"memory", "heartbeat", "consolidation"} else None
    is_left_out = derived == "consolidation" and not args.include_consolidations
    if is_left_out or (wanted is not None and source != wanted):
        return None
    if args.min_importance is not None and record.importance < args.min_importance:
        return None
    parts = ScoreParts(
        words=found.score,
        topics=topics_factor(args.topics, record.tags),
        consolidation=CONSOLIDATION_RAISE if derived == "consolidation" else 1.0,
    )
    return KnowledgeHit(
        ref=HitRef(kind="memory", id=record.memory_id),
        source=source,
        trust="derived" if derived else "claim",
        address=record.memory_id,
        title=record.key,
        heading=[],
        locations=[],
        snippet=shorten(found.snippet, SNIPPET_CHARS),
        text=record.content,
        score=total_of(parts),
        breakdown=parts,
        importance=record.importance,
        topics=record.tags,
        entities=[],
        at=record.updated_at,
        contested=record.contested,
    )


def to_conversation_hit(found: ThreadHit, args: KnowledgeSearchArgs) -> KnowledgeHit | None:
    """Return a piece of conversation as a hit; None where an option leaves it out."""
    if args.min_importance is not None and args.min_importance > USUAL_IMPORTANCE:
        return None
    parts = ScoreParts(words=found.score, topics=topics_factor(args.topics, ()))
    return KnowledgeHit(
        ref=HitRef(kind="chunk", id=found.chunk_id),
        chunk_id=found.chunk_id,
        source="conversation",
        trust="untrusted",
        address=found.chunk_id,
        title=found.role,
        heading=[],
        locations=[],
        snippet=shorten(found.snippet, SNIPPET_CHARS),
        text=found.text,
        score=total_of(parts),
        breakdown=parts,
        importance=USUAL_IMPORTANCE,
        topics=[],
        entities=[],
        at=found.at,
    )


def order_hits(hits: Sequence[KnowledgeHit]) -> list[KnowledgeHit]:
    """Return hits best first, equal ones newest first; a derived record never stands before a claim of the same key.

    What only asks follows all that tells something: who has asked the same before looks for the answer.
    """
    claims = {hit.title: hit.score for hit in hits if hit.trust == "claim"}

    def place(hit: KnowledgeHit) -> tuple[bool, float, bool, int, str]:
        is_derived = hit.trust == "derived"
        score = min(hit.score, claims.get(hit.title, 1.0)) if is_derived else hit.score
        return hit.source == "conversation" and only_asks(hit.text), -score, is_derived, -hit.at, hit.address

    return sorted(hits, key=place)


def drop_repeated(hits: Sequence[KnowledgeHit]) -> list[KnowledgeHit]:
    """Return hits without those of conversations that say again what one before them says."""
    kept: dict[str | int, KnowledgeHit] = {}
    for number, hit in enumerate(hits):
        kept.setdefault(" ".join(hit.text.casefold().split()) if hit.source == "conversation" else number, hit)
    return list(kept.values())
