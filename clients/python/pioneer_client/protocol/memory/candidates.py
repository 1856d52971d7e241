"""Candidates: listed, decided and edited."""

from typing import Any, Literal

from msgspec import field

from pioneer_client.protocol.base import Cursor, Id, Limit, Params, Reason, Scope, Wire
from pioneer_client.protocol.memory.values import Candidate, CandidateStatus, Context
from pioneer_client.protocol.record import Category, Content, Record


class CandidateListParams(Params):
    """`memory/candidates/list`."""

    statuses: list[CandidateStatus] = field(default_factory=lambda: ["pending"])
    scopes: list[Scope] | None = None
    categories: list[Category] | None = None
    context: Context = field(default_factory=Context)
    limit: Limit = 20
    cursor: Cursor | None = None


class CandidateListResult(Wire):
    """Candidates, newest first."""

    candidates: list[Candidate]
    next_cursor: str | None


class CandidateParams(Params):
    """A candidate by id."""

    candidate_id: Id
    context: Context = field(default_factory=Context)


class CandidateReasonParams(CandidateParams):
    """A candidate by id, with the decider's words."""

    reason: Reason | None = None


class CandidateDecideParams(CandidateReasonParams):
    """`memory/candidates/decide`."""

    decision: Literal["approve", "reject", "expire"]


class CandidateEditParams(CandidateReasonParams):
    """`memory/candidates/edit_and_approve`."""

    content: Content
    value: Any = None


class CandidateMergeParams(CandidateReasonParams):
    """`memory/candidates/merge`: into another candidate or into a record."""

    target_candidate_id: Id | None = None
    target_memory_id: Id | None = None


class CandidateResult(Wire):
    """The candidate as it is now, and the record that came of it."""

    candidate: Candidate
    record: Record | None = None
