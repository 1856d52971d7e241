"""Real input: whole conversations imported, told turn by turn, and asked about; killed in the middle on request.

Rule 1: everything is done and read over the wire; nothing of the gateway's inside is known here.
Rule 2: every pass may be repeated on the same home, and a repetition changes nothing.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.conversations import Conversation, Question, Said, Session, absence, data_folder, read_conversations
from benchmarks.report import machine, percentile, show_table
from benchmarks.retrieval import EVERY_FOREIGN, ask, injected, show_found
from benchmarks.stage import WORKSPACE, Stage, script, told_turns
from protocol import methods as call
from protocol.conversation.imports import ImportItem, ImportSource, ImportTurn, ThreadImportParams
from protocol.conversation.threads import ThreadListParams, ThreadStartParams
from protocol.conversation.turns import TextInput, TurnStartParams
from protocol.memory.facts import MAX_FACTS
from protocol.memory.reads import ListParams, StatsParams
from protocol.memory.values import Context
from protocol.thread_episodic import ThreadStatusParams

TOLD_CONVERSATIONS = 2
QUICK_TURNS = 40
QUICK_STEP = 4
"""With --quick every fourth question is asked."""

TURN_SECONDS = 60.0
WHOLE = 5  # conversations; the goals of retrieval are those of all of them


class Plan(NamedTuple):
    """The parts of a run."""

    conversations: list[Conversation]
    told: list[tuple[Conversation, Said]]
    questions: list[tuple[Conversation, Question]]
    rules: bytes
    facts: int
    is_killed: bool
    is_quick: bool
    model: Path | None


def make_plan(conversations: list[Conversation], *, is_quick: bool, is_killed: bool, model: Path | None = None) -> Plan:
    """The work of a run over some conversations."""
    told = [(c, said, seen) for c in conversations[:TOLD_CONVERSATIONS] for said, seen in told_turns(c)]
    questions = [(c, question) for c in conversations for question in c.questions]
    if is_quick:
        told, questions = told[:QUICK_TURNS], questions[::QUICK_STEP]
    rules = script([(said, seen) for _, said, seen in told])
    facts = sum(min(len(seen), MAX_FACTS) for _, _, seen in told)
    return Plan(conversations, [(c, said) for c, said, _ in told], questions, rules, facts, is_killed, is_quick, model)


def _imported(conversation: Conversation, session: Session) -> ThreadImportParams:
    turns = [
        ImportTurn(
            turn_id=f"{conversation.name}:{said.dia_id}",
            at=said.at,
            items=[
                ImportItem(
                    role="user" if said.speaker == conversation.first_speaker else "assistant",
                    text=said.text,
                    name=said.speaker,
                )
            ],
        )
        for said in session.turns
    ]
    place = f"{conversation.name}/session_{session.number}"
    return ThreadImportParams(
        workspace_id=conversation.name, source=ImportSource(kind="locomo", id=place), turns=turns, name=place
    )


async def import_all(stage: Stage, plan: Plan, *, is_killed: bool) -> None:
    """Every session as a thread of its conversation's workspace; killed in the middle of the middle one."""
    for conversation in plan.conversations:
        await stage.add_workspace(conversation.name)
    sessions = [_imported(c, session) for c in plan.conversations for session in c.sessions]
    for number, params in enumerate(sessions):
        if is_killed and number == len(sessions) // 2:
            await stage.crash(during=stage.client.call(call.THREAD_IMPORT, params))
        await stage.client.call(call.THREAD_IMPORT, params)


async def tell_all(stage: Stage, plan: Plan, *, is_killed: bool) -> list[float]:
    """The told turns, one after the other; milliseconds from each turn's start to the end of its post-turn work.

    A turn that a killed gateway was in stays as that left it, because it is known by its id.
    """
    for conversation in dict.fromkeys(c.name for c, _ in plan.told):
        await stage.client.call(
            call.THREAD_START, ThreadStartParams(thread_id=f"{WORKSPACE}:{conversation}", workspace_id=WORKSPACE)
        )
    took: list[float] = []
    for number, (conversation, said) in enumerate(plan.told):
        params = TurnStartParams(
            thread_id=f"{WORKSPACE}:{conversation.name}",
            turn_id=f"{WORKSPACE}:{conversation.name}:{said.dia_id}",
            input=[TextInput(text=said.text)],
        )
        if is_killed and number == len(plan.told) // 2:
            await stage.client.call(call.TURN_START, params)
            await stage.crash()
        seen, begun = len(stage.client.received), time.perf_counter()
        turn = (await stage.client.call(call.TURN_START, params)).turn
        if turn.status != "in_progress":
            continue
        async with asyncio.timeout(TURN_SECONDS):
            await stage.client.wait_for(
                "turn/post_completed", lambda notice, ended=turn.turn_id: notice["turn_id"] == ended, since=seen
            )
        took.append((time.perf_counter() - begun) * 1000)
    return took


async def count(stage: Stage, plan: Plan) -> dict[str, int]:
    """Return the counts of the home, asked over the wire."""
    counts = {"turns": 0}
    chunks: dict[str, int] = {}
    for workspace in [*(c.name for c in plan.conversations), WORKSPACE]:
        cursor = None
        while True:
            page = await stage.client.call(
                call.THREAD_LIST, ThreadListParams(workspace_id=workspace, limit=100, cursor=cursor)
            )
            counts["turns"] += sum(thread.turn_count for thread in page.threads)
            if (cursor := page.next_cursor) is None:
                break
        status = await stage.client.call(call.EPISODIC_STATUS, ThreadStatusParams(workspace_id=workspace))
        for state in status.chunks.__struct_fields__:
            chunks[state] = chunks.get(state, 0) + getattr(status.chunks, state)
    context = Context(workspace_id=WORKSPACE)
    stats = await stage.client.call(call.MEMORY_STATS, StatsParams(context=context))
    counts |= {f"memories {status}": number for status, number in sorted(stats.records.by_status.items())}
    counts["evidence"] = await _evidence(stage, context)
    counts |= {f"candidates {status}": number for status, number in sorted(stats.candidates.items())}
    counts |= {f"decided {reason}": number for reason, number in sorted(stats.decisions.by_reason_code.items())}
    return counts | {f"chunks {state}": number for state, number in chunks.items() if number or state == "indexed"}


async def _evidence(stage: Stage, context: Context) -> int:
    total, cursor = 0, None
    while True:
        page = await stage.client.call(call.MEMORY_LIST, ListParams(context=context, limit=100, cursor=cursor))
        total += sum(record.evidence_count for record in page.records)
        if (cursor := page.next_cursor) is None:
            return total


def show_passes(first: dict[str, int], second: dict[str, int]) -> bool:
    """Both counts side by side; whether they are equal."""
    rows: list[list[object]] = []
    for name in dict.fromkeys([*first, *second]):
        pair = first.get(name, 0), second.get(name, 0)
        rows.append([name, *pair, "" if pair[0] == pair[1] else "DIFFERS"])
    show_table("the same home, passed over twice", ["count", "first", "second", ""], rows)
    print(f"\nsecond pass changes nothing: {'ok' if first == second else 'MISSED'}")
    return first == second


class Timed:
    """Wall seconds per part."""

    def __init__(self) -> None:
        self.parts: list[tuple[str, float]] = []
        self._since = time.perf_counter()

    def note(self, part: str) -> None:
        """The part that ends here."""
        now = time.perf_counter()
        self.parts.append((part, now - self._since))
        self._since = now


async def perform(stage: Stage, plan: Plan) -> bool:
    """The whole run; False when the repetition changed something."""
    timed = Timed()
    await stage.open()
    timed.note("start")
    await import_all(stage, plan, is_killed=plan.is_killed)
    timed.note("import")
    await stage.drain()
    timed.note("import drained")
    took = await tell_all(stage, plan, is_killed=plan.is_killed)
    timed.note("turns")
    await stage.drain()
    timed.note("turns drained")
    first = await count(stage, plan)
    asked = [await ask(stage, conversation, question) for conversation, question in plan.questions]
    timed.note("search")
    abstained = [] if plan.is_quick else await abstention(stage, plan)
    timed.note("questions without an answer")
    await stage.close()
    await stage.open()
    await import_all(stage, plan, is_killed=False)
    await tell_all(stage, plan, is_killed=False)
    await stage.drain()
    timed.note("second pass, new process")
    second = await count(stage, plan)
    await stage.close()
    show_table("time", ["part", "seconds"], timed.parts)
    imported = sum(len(session.turns) for c in plan.conversations for session in c.sessions)
    turns = [
        ("imported", imported),
        ("told", len(plan.told)),
        ("told to the end, unkilled", len(took)),
        ("facts scripted for them", plan.facts),
        ("crashes", stage.crashes),
        ("told: p50 ms", percentile(took, 50)),
        ("told: p95 ms", percentile(took, 95)),
    ]
    show_table("turns", ["what", "figure"], turns)
    is_whole = not plan.is_quick and len(plan.conversations) >= WHOLE
    show_found(asked, has_model=plan.model is not None, is_whole=is_whole)
    if abstained:
        show_table("questions for which a prompt would be given something", ["questions", "part"], abstained)
    return show_passes(first, second)


async def abstention(stage: Stage, plan: Plan) -> list[tuple[str, float]]:
    """Return the hits of questions about other people's lives, and for those that ask of one speaker what the other did."""
    pairs = zip(plan.conversations, [*plan.conversations[1:], plan.conversations[0]], strict=True)
    foreign = [await injected(stage, other, one.questions[::EVERY_FOREIGN]) for one, other in pairs]
    own = [await injected(stage, one, one.questions) for one in plan.conversations]
    misleading = [await injected(stage, one, one.misleading) for one in plan.conversations]
    kinds = (
        ("about other people's lives", foreign),
        ("that the conversation answers", own),
        ("that mislead", misleading),
    )
    return [(name, sum(parts) / len(parts)) for name, parts in kinds]


async def _run(folder: Path, plan: Plan) -> bool:
    stage = Stage(folder)
    stage.write_files(plan.rules, plan.model)
    try:
        return await perform(stage, plan)
    finally:
        await stage.end()


def main(arguments: list[str] | None = None) -> int:
    """Run it; 1 when a second pass changed what the first one stored."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks locomo", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--conversations", type=int, metavar="N", help="how many of the files (default: all)")
    parser.add_argument("--home", type=Path, metavar="DIR", help="keep everything there (default: temporary)")
    parser.add_argument(
        "--model", type=Path, metavar="DIR", help="a folder with an embedding model (default: words alone)"
    )
    parser.add_argument("--quick", action="store_true", help="few turns, every fourth question")
    parser.add_argument("--kill", action="store_true", help="kill -9 halfway through the import and the turns")
    given = parser.parse_args(arguments)
    folder = data_folder()
    conversations = [] if folder is None else read_conversations(folder, given.conversations)
    if not conversations:
        print(f"locomo: {absence()}")
        return 0
    plan = make_plan(conversations, is_quick=given.quick, is_killed=given.kill, model=given.model)
    print(f"locomo: {len(conversations)} conversations, {len(plan.told)} told turns, {len(plan.questions)} questions")
    print(f"on {machine()}")
    with tempfile.TemporaryDirectory(prefix="pioneer-bench-") as temporary:
        home = given.home or Path(temporary)
        home.mkdir(parents=True, exist_ok=True)
        return 0 if asyncio.run(_run(home, plan)) else 1


if __name__ == "__main__":
    sys.exit(main())
