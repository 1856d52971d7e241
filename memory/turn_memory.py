"""Durable memory as one turn may use it. Satisfies `MemoryForTurns`.

Rule 1: every call takes its scopes from the turn; what a turn may not write is decided by the write path, as a reason.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from anyio import to_thread

from memory.extraction.counts import count
from memory.forget.erasing import ForgottenRecords
from memory.parts import Parts
from memory.proposals.forgotten_sources import GONE
from memory.proposals.note_proposals import note_of_tool
from memory.proposals.proposal import Proposed
from memory.proposals.proposal_sources import check_bounds, from_fact, from_tool
from memory.proposals.same_matter import restate_kept
from memory.read.recall import Recall
from memory.read.standing import Standing, project_lines
from memory.rows.answers import KeptAnswer, find_answer, keep_answer
from memory.rows.candidates import waiting_in
from memory.rows.forgetting import read_generation
from memory.rows.record_columns import to_column
from memory.rows.records import active_text_hashes, list_kept_by_tools
from memory.rows.store import active_in, scope_ids_of
from memory.rules.categories import PROJECT_RULES
from memory.rules.scopes import narrow_scopes, of_turn, require_scope
from memory.rules.sensitivity import Findings, judge
from memory.write.heard import HeardInTurn
from memory.write.idempotency import notify_after_commit, write_once
from memory.write.writing import Outcome
from promt.brief import Brief
from protocol.base import DAY_MS, MAX_QUERY_CHARS, Scope
from protocol.hooks import TurnContext
from protocol.memory.facts import Fact
from protocol.memory.forgetting import ForgetParams, ForgetResult
from protocol.memory.reads import GetParams, GetResult, ListParams, ListResult, SearchParams, SearchResult
from protocol.memory.values import Candidate, Context
from protocol.memory.writes import RememberParams, WriteResult
from protocol.record import Actor, Record
from protocol.seams.ports import Lexicon, Tx
from protocol.shown import ShownLine
from protocol.sizes import ScopeSize

MOST_READS = 10_000
"""The most reads by tools that are kept in mind, about a megabyte: a model that reads a record again and again does
not strengthen it again and again."""
RELATED_CHARS = 300
"""Enough to recognise a fact; two dozen of them must fit into an extractor's request."""
MOST_RULES = 50
"""Rules of a project that a brief is chosen from."""


class TurnMemory:
    """Durable memory as the hooks and tools of a turn use it."""

    def __init__(self, parts: Parts) -> None:
        self._means, self._vectors, self._writer = parts.means, parts.vectors, parts.writer
        self._reader, self._searcher, self._recaller = parts.reader, parts.searcher, parts.recaller
        self._forgetter, self._eraser = parts.forgetter, parts.eraser
        self._standing, self._door = Standing(parts.means), parts.door
        self._reads: set[tuple[str, str, int]] = set()

    @property
    def lexicon(self) -> Lexicon:
        """Return the lexicon that cuts texts into terms."""
        return self._means.lexicon

    def turn_scopes(self, turn: TurnContext) -> list[Scope]:
        """Return the scopes that are active in a turn."""
        return of_turn(turn, self._means.settings())

    def sizes(self, tx: Tx, turn: TurnContext) -> list[ScopeSize]:
        """Return the scopes that are active in a turn, with the count that each keeps. Satisfies `MeasureMemory`."""
        return [ScopeSize(kind=scope.kind, count=active_in(tx, scope)) for scope in self.turn_scopes(turn)]

    async def search_in_turn(self, turn: TurnContext, params: SearchParams) -> SearchResult:
        """Return hits within a turn's scopes, best first. Raises `Unavailable` while memory is switched off."""
        self._door.require_enabled()
        return await self._searcher.search(params, narrow_scopes(self.turn_scopes(turn), params.scopes))

    async def get_in_turn(self, turn: TurnContext, params: GetParams) -> GetResult:
        """Return one record within a turn's scopes; a thread's reads of it count once a day."""
        return await self._reader.get(params, self.turn_scopes(turn), partial(self._is_first_read, turn.thread_id))

    def _is_first_read(self, thread_id: str, memory_id: str, now: int) -> bool:
        """Keep a read by a model's tool in mind; return whether it is the first of its record, thread and day.

        The reads are kept in this process alone, so that a new one counts once more.
        """
        read = (memory_id, thread_id, now // DAY_MS)
        if read in self._reads:
            return False
        if len(self._reads) >= MOST_READS:
            self._reads.clear()
        self._reads.add(read)
        return True

    async def list_in_turn(self, turn: TurnContext, params: ListParams) -> ListResult:
        """Return a page of records within a turn's scopes."""
        return await self._reader.list_records(params, narrow_scopes(self.turn_scopes(turn), params.scopes))

    def marks(self, tx: Tx, memory_ids: Sequence[str]) -> dict[str, bytes]:
        """Return by id the digest of each active memory's words; others are left out."""
        return active_text_hashes(tx, memory_ids)

    async def recall(
        self, turn: TurnContext, text: str, *, limit: int, exclude: Sequence[str] = (), before: Sequence[str] = ()
    ) -> Recall:
        """Return the records that are worth a place in a turn's prompt."""
        return await self._recaller.recall(
            text,
            self.turn_scopes(turn),
            limit=limit,
            exclude=exclude,
            before=before,
            agent_id=turn.agent_id,
            turn_id=turn.turn_id,
            time_zone=turn.time_zone,
        )

    async def project_rules(self, workspace_id: str, max_chars: int) -> Sequence[ShownLine]:
        """Return a project's rules as lines of a brief: policies, then constraints, each the oldest first."""
        scope = Scope(kind="workspace", key=workspace_id)
        params = ListParams(categories=list(PROJECT_RULES), voices=["user"], limit=MOST_RULES)
        page = await self._reader.list_records(params, [scope])
        return project_lines(page.records, max_chars)

    async def standing(self, turn: TurnContext) -> Brief:
        """Return the block that stands in every prompt of the turn's scopes."""
        return await self._standing.read(self.turn_scopes(turn))

    async def find_related(self, turn: TurnContext, text: str, limit: int) -> list[dict[str, Any]]:
        """Return active records and waiting candidates near a text, for the extractor.

        Agents' notes are left out: the user did not say them.
        """
        scopes = self.turn_scopes(turn)
        found = await self._searcher.search(
            SearchParams(query=text[:MAX_QUERY_CHARS], limit=limit, voices=["user"]), scopes
        )
        shown = [{"memory_id": hit.record.memory_id, **_describe(hit.record)} for hit in found.hits]

        def list_waiting(tx: Tx) -> list[dict[str, Any]]:
            found = [one for scope_id in scope_ids_of(tx, scopes) for one in waiting_in(tx, scope_id, limit)]
            return [{"candidate_id": one.candidate.candidate_id, **_describe(one.candidate)} for one in found]

        return [*shown, *await self._means.db.read(list_waiting)][:limit]

    async def remember_in_turn(
        self,
        turn: TurnContext,
        params: RememberParams,
        *,
        explicit: bool,
        said: str | None = None,
        is_note: bool = False,
    ) -> WriteResult:
        """Write the proposal of a model's `memory_remember`; a refusal is a result.

        It is a wish of the user where they asked, in the sentence `said`, else a note or a mere proposal.
        """
        check_bounds(params.content, params.value, params.metadata, params.path)
        scopes = self.turn_scopes(turn)
        if params.scope is not None:
            require_scope(scopes, params.scope)
        began = await self._means.db.read(read_generation)
        # rules read the sentence for milliseconds, which would hold up the event loop
        proposed = await to_thread.run_sync(partial(self._propose_of_tool, turn, params, explicit=explicit, said=said))
        if is_note:
            proposed = await to_thread.run_sync(note_of_tool, proposed, params, turn.agent_id, scopes)
        proposed = await self._vectors.add_vector(msgspec.structs.replace(proposed, began=began))
        write = partial(self._write_in_turn, proposed=proposed, scopes=scopes)
        return (
            await write_once(self._means, params.idempotency_key, ["tool", params], turn.workspace_id, write)
        ).result

    def _propose_of_tool(
        self, turn: TurnContext, params: RememberParams, *, explicit: bool, said: str | None
    ) -> Proposed:
        """Return the proposal of a tool.

        The user's sentence is its evidence only where it is as sensitive as the proposal itself.
        """
        is_evidence = said is not None and self._judge(said) == self._judge(params.content)
        return from_tool(turn, params, explicit=explicit, said=said, is_evidence=is_evidence)

    def _judge(self, text: str) -> Findings:
        """Return the sensitive contents of a text."""
        return judge([text], self._means.scanner.find(text))

    def _write_in_turn(self, tx: Tx, *, proposed: Proposed, scopes: Sequence[Scope]) -> Outcome:
        return self._writer.write(tx, proposed, scopes)

    async def propose(
        self,
        turn: TurnContext,
        facts: Sequence[Fact],
        *,
        run_id: str,
        user_items: Mapping[str, str],
        is_by_rule: bool = False,
    ) -> list[WriteResult]:
        """Decide on the facts of an extraction, all in one transaction, once for a run; return the results in order.

        An attempt after a committed one returns none.
        """
        scopes = self.turn_scopes(turn)
        outcomes: list[Outcome] = []
        take = partial(from_fact, lexicon=self._means.lexicon, is_by_rule=is_by_rule)
        proposals = [await self._vectors.add_vector(take(turn, fact, run_id, user_items)) for fact in facts]

        def apply(tx: Tx) -> None:
            key = f"run:{run_id}"
            if find_answer(tx, key) is not None:
                return
            said = self._means.generation_of_turn(tx, turn.turn_id)
            began = GONE if said is None else said
            heard = HeardInTurn(tx, self._means, turn.turn_id)
            kept = list_kept_by_tools(tx, turn.turn_id)
            for proposed in proposals:
                met = msgspec.structs.replace(restate_kept(proposed, kept, self._means.lexicon), began=began)
                outcomes.append(self._writer.write(tx, met, scopes, heard))
                notify_after_commit(tx, self._means, outcomes[-1].notices)
            stats = count([outcome.result for outcome in outcomes]) | {"facts": len(facts)}
            keep_answer(tx, key, KeptAnswer(b"", to_column(stats)), self._means.clock.now())

        await self._means.db.write(apply)
        return [outcome.result for outcome in outcomes]

    async def find_earlier_counts(self, run_id: str) -> dict[str, Any] | None:
        """Return the counts that an earlier, committed attempt of a run has stored; None where there is none."""
        kept = await self._means.db.read(lambda tx: find_answer(tx, f"run:{run_id}"))
        return msgspec.json.decode(kept.answer, type=dict[str, Any]) if kept is not None else None

    async def forget_in_turn(self, turn: TurnContext, params: ForgetParams) -> ForgetResult:
        """Forget what a target names within a turn's scopes."""
        scopes = self.turn_scopes(turn)
        actor = Actor(kind="assistant")

        def forget(tx: Tx) -> ForgottenRecords:
            return self._forgetter.forget(tx, params, scopes, actor)

        is_main = turn.parent_thread_id is None
        context = Context(workspace_id=turn.workspace_id, thread_id=turn.thread_id) if is_main else None
        return await self._eraser.forget(forget, is_dry=params.dry_run, context=context)


def _describe(known: Record | Candidate) -> dict[str, Any]:
    """Return the members by which an extractor recognises a known memory."""
    return {"category": known.category, "key": known.key, "content": known.content[:RELATED_CHARS]}
