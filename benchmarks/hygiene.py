"""The cleanliness of memory: every observation of real conversations told in whole turns, and what becomes of it.

A record is junk here if a person who asks for memory would not want to see it: it has no content words, is a question,
a greeting or talk about the talk, is cut off, speaks of "he" or "it" without saying who, or holds only for the moment
it was said in. The checker is written apart from the gateway's own rules and knows nothing of them; a sample is printed
for the eye.

Rule 1: everything is done and read over the wire.
Rule 2: told again, in the same turns or in new ones, nothing new is believed.
"""

import argparse
import asyncio
import random
import re
import sys
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from benchmarks.conversations import Conversation, Said, absence, data_folder, read_conversations
from benchmarks.report import machine, show_table
from benchmarks.stage import WORKSPACE, Stage, script, told_turns
from protocol import methods as call
from protocol.conversation.threads import ThreadStartParams
from protocol.conversation.turns import TextInput, TurnStartParams
from protocol.memory.facts import MAX_FACTS
from protocol.memory.reads import ListParams, StatsParams
from protocol.memory.values import Context
from protocol.record import Record

JUNK_LIMIT = 0.01
REFUSED_LIMIT = 0.02
"""Of real observations; a gate that refuses more of them guards too well."""

SAMPLE = 40
QUICK_TURNS = 60
TURN_SECONDS = 60.0

_EMPTY = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "do",
        "does",
        "did",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "him",
        "his",
        "how",
        "i",
        "in",
        "is",
        "it",
        "its",
        "me",
        "my",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "she",
        "so",
        "some",
        "that",
        "the",
        "their",
        "them",
        "there",
        "they",
        "this",
        "to",
        "too",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "would",
        "yes",
        "you",
        "your",
        "ok",
        "okay",
        "hi",
        "hello",
        "hey",
        "thanks",
        "thank",
        "please",
        "good",
        "nice",
        "great",
        "user",
        "assistant",
        "said",
        "says",
        "thing",
        "things",
        "something",
    ]
)
_MOMENT = re.compile(r"\b(today|tonight|right now|at the moment|this (morning|afternoon|evening))\b", re.IGNORECASE)
_TALK = re.compile(r"\b(the user|the assistant|this conversation|the conversation|the chat)\b", re.IGNORECASE)
_OPEN_END = re.compile(r"(\.{2,}|…|[,;:(-]|\b(and|or|the|a|an|of|to|with|because|that))$", re.IGNORECASE)
_NO_ONE = re.compile(r"^(he|she|it|they|this|that|these|those|his|her|their)\b", re.IGNORECASE)


class Passage(NamedTuple):
    """The records of the home after everything was told once more."""

    records: int
    candidates: int
    evidence: int
    decisions: dict[str, int]


def junk_in(content: str) -> str | None:
    """Return the fault of a record, or None."""
    text = content.strip()
    words = re.findall(r"[^\W_]+", text.casefold())
    checks = {
        "no content words": not [word for word in words if word not in _EMPTY],
        "question": "?" in text[-2:],
        "talk about the talk": _TALK.search(text) is not None,
        "cut off": _OPEN_END.search(text) is not None,
        "of nobody": _NO_ONE.match(text) is not None,
        "of the moment": _MOMENT.search(text) is not None,
        "too short": len(words) < 3,  # who, does, what
    }
    return next((name for name, is_so in checks.items() if is_so), None)


def same_words(content: str) -> str:
    """A record's words without case, punctuation, width and white space."""
    folded = unicodedata.normalize("NFKC", content).casefold()
    return " ".join(re.findall(r"[^\W_]+", folded))


async def tell(stage: Stage, told: Iterable[tuple[Conversation, Said]], telling: str) -> None:
    """Every turn, to the end of what comes after it; a turn that is known already is left as it is."""
    for conversation, said in told:
        thread = f"{WORKSPACE}:{conversation.name}:{telling}"
        await stage.client.call(call.THREAD_START, ThreadStartParams(thread_id=thread, workspace_id=WORKSPACE))
        params = TurnStartParams(thread_id=thread, turn_id=f"{thread}:{said.dia_id}", input=[TextInput(text=said.text)])
        seen = len(stage.client.received)
        turn = (await stage.client.call(call.TURN_START, params)).turn
        if turn.status != "in_progress":
            continue
        async with asyncio.timeout(TURN_SECONDS):
            await stage.client.wait_for(
                "turn/post_completed", lambda notice, ended=turn.turn_id: notice["turn_id"] == ended, since=seen
            )
    await stage.drain()


async def records_of(stage: Stage) -> list[Record]:
    """Every active record."""
    records: list[Record] = []
    cursor = None
    while True:
        params = ListParams(context=Context(workspace_id=WORKSPACE), limit=100, cursor=cursor)
        page = await stage.client.call(call.MEMORY_LIST, params)
        records += page.records
        if (cursor := page.next_cursor) is None:
            return records


async def passage(stage: Stage) -> Passage:
    """The counts of this moment."""
    stats = await stage.client.call(call.MEMORY_STATS, StatsParams(context=Context(workspace_id=WORKSPACE)))
    records = await records_of(stage)
    evidence = sum(record.evidence_count for record in records)
    return Passage(
        sum(stats.records.by_status.values()), sum(stats.candidates.values()), evidence, stats.decisions.by_reason_code
    )


def show_records(records: list[Record], facts: int, decisions: dict[str, int]) -> bool:
    """Duplicates, junk and a sample; whether they keep within bounds."""
    contents = [record.content for record in records]
    duplicates = {text: count for text, count in Counter(map(same_words, contents)).items() if count > 1}
    junk = [(reason, content) for content in contents if (reason := junk_in(content))]
    share = len(junk) / len(contents) if contents else 0.0
    refused = facts - sum(
        decisions.get(reason, 0) for reason in ("active_created", "duplicate_active", "near_duplicate")
    )
    rows: list[tuple[str, object]] = [
        ("facts proposed", facts),
        ("active records", len(contents)),
        *((f"decided: {reason}", count) for reason, count in sorted(decisions.items())),
        ("refused or waiting", refused),
        ("duplicates among the active", len(duplicates)),
        ("junk among the active", len(junk)),
        ("junk, of one", share),
    ]
    show_table("what became of the observations", ["what", "count"], rows)
    for reason, content in junk:
        print(f"  junk ({reason}): {content}")
    for text in duplicates:
        print(f"  twice: {text}")
    print(f"\n{SAMPLE} of them, by chance:")
    for content in random.Random(7).sample(contents, min(SAMPLE, len(contents))):  # the same every time
        print(f"  - {content}")
    is_clean = not duplicates and share <= JUNK_LIMIT and refused <= REFUSED_LIMIT * facts
    print(
        f"\nno duplicates, junk <= {JUNK_LIMIT:.0%}, refused <= {REFUSED_LIMIT:.0%}: {'ok' if is_clean else 'MISSED'}"
    )
    return is_clean


def show_passages(first: Passage, same: Passage, again: Passage) -> bool:
    """The three counts side by side; whether telling again left memory as it was."""
    rows = [
        [name, getattr(first, name), getattr(same, name), getattr(again, name)]
        for name in ("records", "candidates", "evidence")
    ]
    show_table(
        "told once, told again in the same turns, told again in new turns", ["count", "once", "same", "new"], rows
    )
    is_still = first == same and first[:2] == again[:2]
    print(f"\nthe second play adds nothing: {'ok' if is_still else 'MISSED'}")
    return is_still


async def perform(stage: Stage, told: list[tuple[Conversation, Said]], facts: int) -> bool:
    """The whole run; False when a bound was missed."""
    begun = time.perf_counter()
    await stage.open()
    await tell(stage, told, "once")
    first, records = await passage(stage), await records_of(stage)
    print(f"told in {time.perf_counter() - begun:.0f} s")
    await stage.close()
    await stage.open()
    await tell(stage, told, "once")
    same = await passage(stage)
    await tell(stage, told, "again")
    again = await passage(stage)
    await stage.close()
    is_clean = show_records(records, facts, first.decisions)
    return show_passages(first, same, again) and is_clean


async def _run(folder: Path, told: list[tuple[Conversation, Said]], rules: bytes, facts: int) -> bool:
    stage = Stage(folder)
    stage.write_files(rules)
    try:
        return await perform(stage, told, facts)
    finally:
        await stage.end()


def main(arguments: list[str] | None = None) -> int:
    """Run it; 1 when memory was not kept clean."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks hygiene", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--conversations", type=int, metavar="N", help="how many of the files (default: all)")
    parser.add_argument("--quick", action="store_true", help=f"the first {QUICK_TURNS} turns")
    given = parser.parse_args(arguments)
    folder = data_folder()
    conversations = [] if folder is None else read_conversations(folder, given.conversations)
    if not conversations:
        print(f"hygiene: {absence()}")
        return 0
    turns = [(c, said, seen) for c in conversations for said, seen in told_turns(c)]
    turns = turns[:QUICK_TURNS] if given.quick else turns
    facts = sum(min(len(seen), MAX_FACTS) for _, _, seen in turns)
    rules = script([(said, seen) for _, said, seen in turns], times=2)
    print(f"hygiene: {len(conversations)} conversations, {len(turns)} turns, {facts} facts")
    print(f"on {machine()}")
    with tempfile.TemporaryDirectory(prefix="pioneer-bench-") as home:
        return 0 if asyncio.run(_run(Path(home), [(c, said) for c, said, _ in turns], rules, facts)) else 1


if __name__ == "__main__":
    sys.exit(main())
