"""The explanation of a question, the health of the gateway with its repairs, and the page's own help."""

from typing import Any

from gateway.doors.inspect.places import list_places, list_threads, name_of, plan_reads
from gateway.doors.inspect.visit import FilledTemplate, Moved, Outcome, PageNotice, Visit
from gateway.doors.inspect.wording import GATES, LEFT_OUT
from protocol import methods as m
from protocol.errors import CallerError
from protocol.passes import PassName

MAX_HITS = 20
PASS_MS = 60_000
"""The time for which a pass may run while the person waits."""


async def why(visit: Visit) -> Outcome:
    """Show the memories that a question would recall, and the near misses, each with the gate that stopped it."""
    question, wanted = visit.query.get("q", "").strip(), visit.query.get("scope", "")
    threads = await list_threads(visit)
    places = await list_places(visit, threads)
    values: dict[str, Any] = {
        "places": places,
        "wanted": wanted,
        "question": question,
        "explained": None,
        "texts": {},
        "left_out": LEFT_OUT,
    }
    if not question:
        return FilledTemplate("why.html", "Why", values)
    here = [f"workspace:{one.workspace_id}" for one in threads[:1]]
    here += [place.name for place in places if place.scope.kind == "workspace"]
    chosen = wanted or (here[0] if here else "user")
    (call,) = await plan_reads(visit, places, chosen)
    explained = await visit.ask(m.MEMORY_EXPLAIN, {"query": question, "context": call.context})
    asked = {"query": question, "context": call.context, "limit": MAX_HITS}
    hits = (await visit.ask(m.MEMORY_SEARCH, asked)).hits
    values |= {
        "explained": explained,
        "wanted": chosen,
        "checks": [(GATES.get(gate.gate, gate.gate), gate) for gate in explained.gates],
        "texts": {hit.record.memory_id: hit for hit in hits},
        "names": {hit.record.memory_id: name_of(hit.record.scope) for hit in hits},
    }
    return FilledTemplate("why.html", "Why", values)


async def health(visit: Visit) -> Outcome:
    """Show the state of the gateway, the work that waits, and the jobs that failed."""
    return FilledTemplate("health.html", "Health", await _health(visit))


async def _health(visit: Visit) -> dict[str, Any]:
    status = await visit.ask(m.STATUS, {})
    index = await visit.ask(m.EPISODIC_STATUS, {})
    dead = (await visit.ask(m.EPISODIC_JOBS, {"status": "dead", "limit": 20})).jobs
    passes = await visit.ask(m.PASSES_LIST, {})
    waiting = {
        name: one for name, one in status.queues.items() if one.queued or one.leased or one.retry_wait or one.dead
    }
    return {
        "status": status,
        "waiting": waiting,
        "index": index,
        "dead": dead,
        "passes": passes,
        "tried": None,
    }


async def retry(visit: Visit) -> Outcome:
    """Make a dead job runnable again, or all of them."""
    job_id = visit.fields.get("job_id", "")
    result = await visit.ask(m.EPISODIC_RETRY, {"job_id": job_id} if job_id else {"all_dead": True})
    visit.show_next(PageNotice(f"Queued again: {result.requeued}."))
    return Moved("health")


async def run_pass(visit: Visit) -> Outcome:
    """Rehearse a pass and show its stages; with `real`, run it."""
    name = visit.require_field("pass")
    if name not in PassName.__args__:
        raise CallerError.at("$.pass", "There is no such pass")
    is_real = visit.fields.get("real") == "1"
    run = (await visit.ask(m.PASSES_RUN, {"pass": name, "dry_run": not is_real, "timeout_ms": PASS_MS})).run
    if not is_real:
        return FilledTemplate("health.html", f"What {name} would do", {**await _health(visit), "tried": run})
    undo = "health/undo" if run.changes and run.reversible_until else None
    visit.show_next(PageNotice(f"{name.capitalize()} ran: {run.changes} changes.", undo, {"run_id": run.run_id}))
    return Moved("health")


async def undo_pass(visit: Visit) -> Outcome:
    """Take back what a run of a pass changed."""
    result = await visit.ask(m.PASSES_UNDO, {"run_id": visit.require_field("run_id")})
    visit.show_next(PageNotice(f"Taken back: {result.undone} changes."))
    return Moved("health")


async def help_page(_visit: Visit) -> Outcome:
    """Show the keys and words of the page, and the switch for the keys."""
    return FilledTemplate("help.html", "Help", {})


async def switch_keys(visit: Visit) -> Outcome:
    """Switch single keys on or off for this session."""
    visit.session.has_keys = visit.fields.get("keys") == "on"
    visit.show_next(PageNotice("Keys are on." if visit.session.has_keys else "Keys are off."))
    return Moved("help")
