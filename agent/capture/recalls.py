"""The memory that a captured message is given: recalled once, stored piece by piece, shown again as far as it may be.

Rule 1: the brief is chosen with the first message that goes out with what it was given; then it only loses lines.
Rule 2: nothing is shown of another conversation than the message's own and those that it left.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from agent.capture.identity import find_replayed
from agent.capture.means import CaptureMeans, FoundMessage, options_of
from agent.capture.shown import BETWEEN, behind, cut, half_to_drop, rejoin_blocks, within
from agent.prompt.compiler import context_blocks
from agent.rows.captures import (
    BlockPiece,
    add_shown,
    captures_with_shown,
    first_shown,
    get_capture,
    keep_recall,
    list_shown_sources,
    read_shown,
    remove_shown,
)
from agent.rows.threads import get_thread
from agent.rows.turns import get_turn, keep_upstream
from agent.values import NOTHING_SAID
from protocol.capture.calls import (
    CaptureBlock,
    CapturePrepareParams,
    CapturePrepareResult,
)
from protocol.conversation.host_turns import ContextBlock, PromptSection
from protocol.conversation.manifests import ManifestSection, SourceRef
from protocol.conversation.values import RecallStatus
from protocol.hooks import TurnContext
from protocol.seams.ports import Tx
from protocol.shown import ShownLine

BRIEF_CHARS = 1600
"""Characters of a brief with its frame."""
STANDING_SECTION = "memory_standing"
MAX_ANCESTORS = 32
"""Conversations that one is followed back through, from fork to fork."""
RECALL_BLOCKS = ("standing", "memory", "thread")
"""The blocks of a message, in the order in which they stand."""


class GivenMemory(NamedTuple):
    """The memory of a prepared turn."""

    sections: Sequence[PromptSection]
    standing: Sequence[SourceRef]
    blocks: Sequence[ContextBlock]
    status: RecallStatus
    project: Sequence[ShownLine] = ()
    """Lines that hold in the project; they stand in the brief behind those that stand in every prompt."""


class _Gathered(Struct, frozen=True):
    """An answer, and the rows of pieces that are left out from now on."""

    result: CapturePrepareResult
    lost: list[int]


class Recalls:
    """Recalls for captured messages, and shows again what was recalled."""

    def __init__(self, means: CaptureMeans) -> None:
        self._means = means

    async def recall_unkept(self, params: CapturePrepareParams, found: FoundMessage) -> GivenMemory:
        """Return the memory for a message of which nothing is kept, recalled without a turn."""
        options = options_of(self._means, params.source)
        context = TurnContext(
            workspace_id=found.workspace_id,
            thread_id=found.thread_id,
            turn_id=self._means.ids.new("trn"),
            agent_id=params.source.agent_id,
            task_id=None,
            parent_thread_id=found.thread_id if found.is_of_subagent else None,
            mode="agent",
            memory_mode="read_only",
            origin="user",
            driver="host",
            options=options,
            now=self._means.clock.now(),
            time_zone="UTC",
        )
        prepared = await self._means.pipeline.prepare(context, params.user_text, NOTHING_SAID, calls_tools=False)
        compiled = prepared.compiled
        refs = standing_in(compiled.manifest)
        blocks = context_blocks(compiled.blocks, "before_user")
        return GivenMemory(compiled.sections, refs, blocks, compiled.recall.status)

    def _store(self, tx: Tx, found: FoundMessage, given: GivenMemory) -> Mapping[str, bytes]:
        """Store what a message is given: the first of a thread gets the brief, a later one the standing lines since.

        Return the marks of its sources.
        """
        known = get_capture(tx, found.row)
        if known is None or known.recall is not None:  # another process was given it meanwhile
            return {}
        refs = [
            *given.standing,
            *(line.ref for line in given.project),
            *(r for b in given.blocks for r in b.source_refs),
        ]
        marks = self._means.marks(tx, refs)
        text = next((one.text for one in given.sections if one.section_id == STANDING_SECTION), "")
        pieces = cut(text, given.standing) if text else []
        first = first_shown(tx, found.thread_id) or found.row
        if first == found.row:
            if not read_shown(tx, [found.row]):
                rules = [BlockPiece(line.text, line.ref) for line in given.project]
                add_shown(tx, found.row, "brief", within(behind(pieces, rules), BRIEF_CHARS), marks)
        else:
            known_ids = list_shown_sources(tx, found.thread_id) if pieces else set[str]()
            new = [piece for piece in pieces if piece.source is not None and piece.source.id not in known_ids]
            add_shown(tx, found.row, "standing", behind([], new), marks)
        there = read_shown(tx, [first]).get(first) or []
        stands = {piece.source.id for piece in there if piece.block == "brief" and piece.source is not None}
        for block in given.blocks:
            shown = [
                piece
                for piece in cut(block.text, block.source_refs)
                if piece.source is None or piece.source.id not in stands
            ]
            if any(piece.source is not None for piece in shown):
                add_shown(tx, found.row, block.domain, shown, marks)
        keep_recall(tx, found.row, given.status)
        return marks

    async def answer(
        self, params: CapturePrepareParams, found: FoundMessage, given: GivenMemory | None
    ) -> CapturePrepareResult:
        """Return a message's turn, and what it and those before it are given now; `given` is stored before."""
        # blocks in the system prompt are not replayed: less than no room
        room = self._means.settings().proxy.replay_chars if params.placement != "system" else -1

        def store_and_gather(tx: Tx) -> _Gathered:
            if found.turn_id is not None and params.upstream is not None:
                keep_upstream(tx, found.turn_id, params.upstream)
            return self._gather(tx, found, room, self._store(tx, found, given) if given is not None else {})

        if given is not None or not found.is_continuation:
            gathered = await self._means.db.write(store_and_gather)
        else:
            gathered = await self._means.db.read(lambda tx: self._gather(tx, found, room, {}))
        if gathered.lost:
            await self._means.db.note(lambda tx: remove_shown(tx, gathered.lost))
        return gathered.result

    def _gather(self, tx: Tx, found: FoundMessage, room: int, known: Mapping[str, bytes]) -> _Gathered:
        """Read what a message and those before it are given, without what may not be shown now.

        `known` are marks that were read in this transaction.
        """
        threads = _with_ancestors(tx, found.thread_id) if room >= 0 else []
        earlier = find_replayed(found.asked, captures_with_shown(tx, found.workspace_id, threads), threads)
        first = first_shown(tx, found.thread_id)
        rows = dict(sorted(earlier.items())) | {found.asked.user_index: found.row}
        shown = read_shown(tx, [*dict.fromkeys([*rows.values(), *([first] if first is not None else [])])])
        sources = {piece.source.id: piece.source for pieces in shown.values() for piece in pieces if piece.source}
        marks = {**known, **self._means.marks(tx, [ref for name, ref in sources.items() if name not in known])}
        lost: list[int] = []
        rejoined = {row: rejoin_blocks(pieces, marks) for row, pieces in shown.items()}

        def text_of(row: int | None, blocks: Collection[str]) -> str:
            parts = [part for block in blocks if (part := rejoined.get(row or 0, {}).get(block)) is not None]
            for part in parts:
                lost.extend(part.lost)
            return BETWEEN.join(part.text for part in parts if part.text)

        texts = {place: text_of(row, RECALL_BLOCKS) for place, row in rows.items()}
        brief = text_of(first, ("brief",))
        before = [place for place in rows if place != found.asked.user_index and texts[place]]
        for place in before[: half_to_drop([len(texts[place]) for place in before], room)]:
            lost.extend(piece.row for piece in shown[rows[place]] if piece.block != "brief")
            texts[place] = ""
        stored = get_turn(tx, found.turn_id) if found.turn_id is not None else None
        capture = get_capture(tx, found.row)
        result = CapturePrepareResult(
            turn=stored.turn if stored is not None else None,
            is_continuation=found.is_continuation,
            brief=brief or None,
            blocks=[CaptureBlock(index=place, text=text) for place, text in sorted(texts.items()) if text],
            recall_status=(capture.recall if capture is not None else None) or "skipped",
        )
        return _Gathered(result, lost)


def standing_in(sections: Sequence[ManifestSection]) -> list[SourceRef]:
    """Return the sources of what stands in every prompt, in order."""
    return [ref for one in sections if one.section_id == STANDING_SECTION for ref in one.source_refs]


def _with_ancestors(tx: Tx, thread_id: str) -> list[str]:
    """Return a conversation and those that it left, the nearest first."""
    found = [thread_id]
    while len(found) < MAX_ANCESTORS:
        stored = get_thread(tx, found[-1])
        fork = stored.thread.forked_from if stored is not None else None
        if fork is None or fork.thread_id in found:
            break
        found.append(fork.thread_id)
    return found
