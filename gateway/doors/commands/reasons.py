"""`pioneer why`: the gates by which something was or was not saved or recalled, in plain words.

Rule 1: a shown reason was stored, or is computed by the code that decides; nothing is guessed.
Rule 2: the answer to a question covers every state: recalled now, believed before, noted by an agent, proposed, said in
a turn, and forgotten.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, get_args

from gateway.base.exit_codes import NEGATIVE, OK
from gateway.doors.commands import Command
from gateway.doors.commands.conversations import find_said
from gateway.doors.commands.door import HomeMethods, through_door
from gateway.doors.commands.naming import reach
from gateway.doors.commands.options import add_context, add_place, context_of, text_of
from gateway.doors.commands.paging import collect_pages
from gateway.doors.commands.sensitive import hint_sensitive, is_sensitive
from gateway.doors.terminal.screen import hint, plain, say, show_json, show_table, when, words
from protocol import methods as m
from protocol.base import Elsewhere
from protocol.hooks import CALL_PREFIX
from protocol.memory.explaining import ExplainResult, Gate
from protocol.memory.reads import SearchResult
from protocol.memory.values import Candidate, CandidateStatus
from protocol.record import Record
from protocol.thread_episodic import ThreadHit, ThreadSearchResult

KINDS = {"mem_": "memory", "cand_": "candidate", "trn_": "turn", f"{CALL_PREFIX}_": "turn", "run_": "hook_run"}
"""The kind of an id, by its prefix."""

QUESTIONS = {
    "memory_enabled": "is memory switched on",
    "extraction_enabled": "are facts taken from conversations",
    "turn_succeeded": "did the turn come to its end",
    "policy": "did the user's words and the thread allow it",
    "eligibility": "did the user say something that can be kept",
    "extractor": "did the extractor answer",
    "fact_valid": "is it one well-formed fact",
    "quote": "are the quoted words really the user's",
    "instruction": "does a note ask nothing of anybody, outside of the user's scope",
    "own_words": "did the user say it themselves, outside of what they pasted",
    "secret": "is it free of credentials",
    "scope": "is there a scope that it belongs to",
    "duplicate": "is it new",
    "admission": "is there enough that speaks for it",
    "recall_enabled": "is recall switched on",
    "scope_active": "does it belong to this context",
    "status": "is it believed today",
    "expiry": "is its time not over",
    "voice": "is it the user's word, and no unconfirmed note of an agent",
    "sensitivity": "may it be shown unasked",
    "integrity": "does it pass its own checksum",
    "excluded": "is it not excluded",
    "candidate": "does anything remembered fit the words",
    "floor": "does it fit well enough",
    "budget": "is there room for it",
    "already_shown": "was it not shown already",
}
"""The question that each gate asks; a gate that was passed has answered yes."""

CUTS = {
    None: "would be recalled",
    "floor": "left out: too far from it, or from the best of its scope",
    "budget": "no room: others fit better",
    "already_shown": "shown already",
}
"""The words for the gate that stopped a hit; None for one that passed them all."""
FORMER = ["superseded", "expired", "archived"]
SAID_LOOKED_AT = 3
"""The most turns that are explained."""
CANDIDATES_SHOWN = 5
CANDIDATES_LOOKED_AT = 2000
"""The most candidates that are compared with the question."""
MASKED = "[secret:"
"""The beginning of the mark that replaces a secret in a message."""
SHARED_WORDS = 0.5
"""The least share of the question's terms that a shown candidate has."""


class Explanations(NamedTuple):
    """The answers to a question: the gates of recall, and what is known in each other state of rule 2."""

    recall: ExplainResult
    records: dict[str, Record]
    """The records that `recall` ranks, by id."""
    former: SearchResult
    notes: SearchResult
    candidates: list[Candidate]
    said: ThreadSearchResult
    turns: list[tuple[ThreadHit, ExplainResult]]
    """The turns of `said`, at most `SAID_LOOKED_AT`: the first hit in each, and why nothing or something was kept."""


def _arrange(to: argparse.ArgumentParser) -> None:
    add_place(to)
    add_context(to)
    to.add_argument(
        "subject",
        nargs="+",
        metavar="TEXT|ID",
        help="a question or a fact in plain words, or the id of a memory, a candidate, a turn or a hook run",
    )


def _why(given: argparse.Namespace) -> int:
    subject = text_of(given.subject)
    kind = next((kind for start, kind in KINDS.items() if subject.startswith(start) and " " not in subject), None)
    if kind is not None:
        return _why_target(given, {"kind": kind, "id": subject})
    found = through_door(given, lambda door: _explain(door, given, subject), "ask")
    if given.json:
        show_json(
            {
                "recall": found.recall,
                "former": found.former.hits,
                "notes": found.notes.hits,
                "candidates": found.candidates,
                "said": found.said,
                "turns": [{"turn_id": hit.turn_id, "explanation": result} for hit, result in found.turns],
            }
        )
    else:
        _show_found(found)
    return OK if found.recall.outcome == "recalled" else NEGATIVE


def _why_target(given: argparse.Namespace, target: dict[str, Any]) -> int:
    params = {"target": target, "context": context_of(given)}

    async def work(door: HomeMethods) -> ExplainResult:
        await reach(door, given, m.MEMORY_EXPLAIN, params, "summary")
        return await door.call(m.MEMORY_EXPLAIN, params)

    result = through_door(given, work)
    if given.json:
        show_json(result)
    else:
        _show_explanation(result)
    return OK


# -- looking -----------------------------------------------------------------------------------------------------------


async def _explain(door: HomeMethods, given: argparse.Namespace, text: str) -> Explanations:
    """Find all that is known for a question; write hints at withheld memories and at other workspaces."""
    context = context_of(given)
    recall = await door.call(m.MEMORY_EXPLAIN, {"query": text, "context": context})
    asked = {"query": text, "mode": "lexical", "context": context, "limit": 5}
    is_on = recall.gates[0].passed  # the first gate is `memory_enabled`
    nothing = SearchResult(hits=[], next_cursor=None, semantic="off")
    former = await door.call(m.MEMORY_SEARCH, asked | {"statuses": FORMER}) if is_on else nothing
    notes = await door.call(m.MEMORY_SEARCH, asked | {"voices": ["machine"]}) if is_on else nothing
    asked_said = {
        "workspace_id": given.workspace,
        "query": text,
        "roles": ["user"],
        "limit": 20,
        "count_elsewhere": True,
    }
    said = await find_said(door, asked_said)
    if is_on and not given.json:
        all_hits = (await door.call(m.MEMORY_SEARCH, asked | {"include_sensitive": True})).hits
        hint_sensitive(sum(is_sensitive(hit.record) for hit in all_hits), "`pioneer search --sensitive`")
    if is_on and recall.outcome != "recalled":
        await door.hint_at(await _count_elsewhere(door, text, context, said))
    turns = [
        (hit, await door.call(m.MEMORY_EXPLAIN, {"target": {"kind": "turn", "id": hit.turn_id}, "context": context}))
        for hit in _first_of_turns(said.hits)
    ]
    records: dict[str, Record] = {}
    for ranked in recall.candidates:
        if ranked.memory_id is not None:
            found = (await door.call(m.MEMORY_GET, {"memory_id": ranked.memory_id, "context": context})).record
            records |= {ranked.memory_id: found} if found is not None else {}
    return Explanations(recall, records, former, notes, await _find_candidates(door, context, text), said, turns)


async def _count_elsewhere(
    door: HomeMethods, text: str, context: dict[str, Any], said: ThreadSearchResult
) -> list[Elsewhere]:
    """Return the numbers of memories and messages together that fit in other workspaces, highest first."""
    asked = {"query": text, "context": context, "count_elsewhere": True}
    counts = Counter({one.workspace_id: one.count for one in (await door.call(m.MEMORY_SEARCH, asked)).elsewhere})
    counts.update({one.workspace_id: one.count for one in said.elsewhere})
    return [Elsewhere(workspace_id=key, count=count) for key, count in counts.most_common()]


def _first_of_turns(hits: Iterable[ThreadHit]) -> list[ThreadHit]:
    """Return the first hit of each turn, of at most `SAID_LOOKED_AT` turns."""
    by_turn: dict[str, ThreadHit] = {}
    for hit in hits:
        by_turn.setdefault(hit.turn_id, hit)
    return list(by_turn.values())[:SAID_LOOKED_AT]


async def _find_candidates(door: HomeMethods, context: dict[str, Any], text: str) -> list[Candidate]:
    """Return the candidates of any status that share most terms with the question, at least `SHARED_WORDS` of them."""
    wanted = set(door.lexicon.query_terms(text))
    params = {"statuses": list(get_args(CandidateStatus)), "context": context}
    listed = (await collect_pages(door, m.CANDIDATES_LIST, params, "candidates", CANDIDATES_LOOKED_AT)).candidates
    shares = [(len(wanted & set(door.lexicon.index_terms(one.content))) / max(1, len(wanted)), one) for one in listed]
    found = [(shared, one) for shared, one in shares if shared >= SHARED_WORDS]
    found.sort(key=lambda entry: -entry[0])
    return [candidate for _, candidate in found[:CANDIDATES_SHOWN]]


# -- showing -----------------------------------------------------------------------------------------------------------


def _show_explanation(result: ExplainResult) -> None:
    say(plain(result.summary), "bold")
    _show_gates(result.gates)
    for decision in result.decisions or ([result.decision] if result.decision is not None else []):
        say(
            f"decided: {decision.action}, {words(decision.reason_code)}; score {decision.score:.2f} ({decision.bucket})"
        )
        show_table(
            ["", "factor", "counts", "why"],
            [["", words(factor.name), f"{factor.contribution:+.2f}", factor.why] for factor in decision.factors],
        )
    for run in result.hook_runs:
        codes = ", ".join(words(entry.code) for entry in run.diagnostics)
        say(f"hook {run.hook_id}: {run.status}" + (f" ({codes})" if codes else ""))
    _show_ranked(result, {})
    for missing in result.missing:
        say(f"not known: {words(missing.kind)} ({words(missing.reason)})")


def _show_gates(gates: Sequence[Gate]) -> None:
    show_table(
        ["", "gate", "question", "why"],
        [
            [
                "yes" if gate.passed else "NO",
                words(gate.gate),
                f"{QUESTIONS.get(gate.gate, words(gate.gate))}?",
                " ".join(part for part in (words(gate.reason_code), _describe_detail(gate)) if part),
            ]
            for gate in gates
        ],
    )


def _describe_detail(gate: Gate) -> str | None:
    """Return a gate's detail in words; that of the floor is a least score, beside which a second condition holds."""
    if gate.gate == "floor" and gate.detail is not None:
        return f"a score of {gate.detail} at least, and not far behind the best of its scope"
    return gate.detail


def _show_ranked(result: ExplainResult, records: dict[str, Record]) -> None:
    if result.candidates:
        show_table(
            ["rank", "score", "memory", "what becomes of it", "text"],
            [
                [
                    str(one.rank),
                    f"{one.score:.2f}",
                    one.memory_id or one.chunk_id or "",
                    CUTS.get(one.cut_by, words(one.cut_by)),
                    records[one.memory_id].content if one.memory_id in records else "",
                ]
                for one in result.candidates
            ],
        )
    for budget in result.budgets:
        say(
            f"budget {words(budget.name)}: {budget.used} of {budget.limit} used"
            + (f", {budget.cut} cut" if budget.cut else "")
        )


def _show_turns(turns: Sequence[tuple[ThreadHit, ExplainResult]]) -> None:
    say("\nWhere it was said", "bold")
    if not turns:
        say("nowhere in this workspace, as far as it is indexed")
    for hit, result in turns:
        say(f"{when(hit.at)}, {hit.thread_id}, {hit.turn_id}: {plain(hit.snippet)}")
        say(f"  {plain(result.summary)}")
        if MASKED in hit.text:
            say("  not kept: it holds a secret", "yellow")
        for gate in result.gates:
            if not gate.passed:
                say(f"  stopped by {words(gate.gate)}: {words(gate.reason_code)}")


def _show_found(found: Explanations) -> None:
    say("What would be recalled now", "bold")
    say(plain(found.recall.summary))
    _show_gates(found.recall.gates)
    _show_ranked(found.recall, found.records)
    if any(gate.gate == "secret" and not gate.passed for gate in found.recall.gates):
        say("These words hold a secret: what holds one is not kept, however it is said", "yellow")
    if found.former.hits:
        say("\nWhat was believed, and is not any more", "bold")
        show_table(
            ["memory", "status", "replaced by", "text"],
            [
                [hit.record.memory_id, hit.record.status, hit.record.superseded_by or "", hit.record.content]
                for hit in found.former.hits
            ],
        )
    if found.notes.hits:
        say("\nWhat an agent noted, and nobody confirmed", "bold")
        show_table(["memory", "text"], [[hit.record.memory_id, hit.record.content] for hit in found.notes.hits])
        hint("`pioneer confirm` takes one for your own word")
    if found.candidates:
        say("\nWhat was proposed", "bold")
        show_table(
            ["candidate", "status", "why", "text"],
            [[one.candidate_id, one.status, words(one.reason_code), one.content] for one in found.candidates],
        )
    _show_turns(found.turns)
    say("\nWhat was forgotten", "bold")
    if found.recall.missing:
        say("just these words were forgotten, erased or rejected: they do not come back unasked")
        hint("`pioneer list --forgotten` shows what can be restored")
    else:
        say("not these very words; other words of a forgotten memory are not kept, so nobody can tell")


COMMANDS = {
    "why": Command(_arrange, _why, '  pioneer why "Where do I live?"\n  pioneer why mem_…\n  pioneer why trn_… --json')
}
