"""Candidates: those that wait for a person, the memories that they contradict, and the decisions."""

from typing import Any, NamedTuple

from gateway.doors.inspect.forms import back_of
from gateway.doors.inspect.places import context_of, list_places, name_of, other_record, plan_reads, scope_of
from gateway.doors.inspect.rendering import path_part
from gateway.doors.inspect.views.memories import address_of
from gateway.doors.inspect.visit import FilledTemplate, Moved, Outcome, PageNotice, Visit
from gateway.doors.inspect.wording import reason_sentence
from protocol import methods as m
from protocol.errors import CallerError
from protocol.memory.values import Candidate, CandidateStatus
from protocol.record import Record

PAGE = 20
STATUSES: tuple[str, ...] = CandidateStatus.__args__


class ShownCandidate(NamedTuple):
    """A candidate, its place, the reason why it waits, and the memory that it contradicts."""

    candidate: Candidate
    place: str
    reason: str
    contested: Record | None


async def candidates(visit: Visit) -> Outcome:
    """List candidates."""
    status = visit.query.get("status") or "pending"
    if status not in STATUSES:
        raise CallerError.at("$.status", "There is no such status")
    found: list[Candidate] = []
    is_cut = False
    for call in await plan_reads(visit, await list_places(visit), visit.query.get("scope", "")):
        page = await visit.ask(m.CANDIDATES_LIST, {"statuses": [status], "limit": PAGE, **call.params()})
        found += page.candidates
        is_cut = is_cut or page.next_cursor is not None
    found.sort(key=lambda one: -one.created_at)
    shown = [await _build_shown_candidate(visit, one) for one in found[:PAGE]]
    values = {"shown": shown, "status": status, "statuses": STATUSES, "is_cut": is_cut or len(found) > PAGE}
    return FilledTemplate("candidates.html", "Candidates", values)


async def _build_shown_candidate(visit: Visit, candidate: Candidate) -> ShownCandidate:
    contested = await other_record(visit, candidate.contested_memory_id, await context_of(visit, candidate.scope))
    return ShownCandidate(candidate, name_of(candidate.scope), reason_sentence(candidate.reason_code), contested)


async def _decide(visit: Visit, candidate_id: str, method: Any, **more: Any) -> Record | None:
    """Call a method that decides on a candidate, in the scope that the form names; return the record that it made."""
    scope = scope_of(visit.fields.get("scope") or "user")
    params = {"candidate_id": candidate_id, "context": await context_of(visit, scope), **more}
    return (await visit.ask(method, params)).record


async def approve(visit: Visit, candidate_id: str) -> Outcome:
    """Make a memory of a candidate."""
    return _finish_approval(visit, await _decide(visit, candidate_id, m.CANDIDATES_APPROVE))


async def edit_and_approve(visit: Visit, candidate_id: str) -> Outcome:
    """Make a memory of a candidate in the person's own words."""
    content = visit.require_field("content")
    return _finish_approval(visit, await _decide(visit, candidate_id, m.CANDIDATES_EDIT, content=content))


def _finish_approval(visit: Visit, record: Record | None) -> Outcome:
    if record is None:
        visit.show_next(PageNotice("Approved."))
        return Moved("candidates")
    fields = {"scope": name_of(record.scope)}
    visit.show_next(
        PageNotice("Approved: this is remembered now.", f"memories/{path_part(record.memory_id)}/forget", fields)
    )
    return Moved(back_of(visit.fields, address_of(record.memory_id, record.scope)))


async def reject(visit: Visit, candidate_id: str) -> Outcome:
    """Refuse a candidate."""
    await _decide(visit, candidate_id, m.CANDIDATES_REJECT)
    visit.show_next(PageNotice("Rejected. It will not be proposed again in these words."))
    return Moved(back_of(visit.fields, "candidates"))


async def never(visit: Visit, candidate_id: str) -> Outcome:
    """Refuse a candidate and all that says the same."""
    await _decide(visit, candidate_id, m.CANDIDATES_SUPPRESS)
    visit.show_next(PageNotice("Never again: this and what says the same will not be proposed."))
    return Moved(back_of(visit.fields, "candidates"))
