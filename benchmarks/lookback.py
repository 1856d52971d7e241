"""The share of turns that are shown what was said before: where it points to the past, and where it only asks. Through a
spawned gateway.

A set is a folder with `messages.jsonl` (thread, thread_name, id, role, at, text) and any of `sentences.jsonl` (they
point to the past; `wanted`: any one is enough), `innocent.jsonl` (they do not), `questions.jsonl` (`evidence`; `past`
if they point), `unanswered.jsonl`. Rows with `held_out` were asked once, when the product stood, and are told apart:
nothing is fitted on them.

Rule 1: only the wire is used: messages come by `thread/import`, what a turn is shown is what `turn/prepare` answers.
Rule 2: every text is asked in a thread of its own, which is deleted after it: no question finds another.
Rule 3: what a tool said cannot be imported: rows of the role `tool` are left out.
Rule 4: strays are plain questions of other homes; what nothing in their own home answers is counted by itself.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, Self

from benchmarks.conversations import data_folder, read_conversations
from benchmarks.inputs import model_folder, read_rows
from benchmarks.report import machine, percentile, show_table
from benchmarks.turn_scale import loaded
from benchmarks.wire import cpu_ms
from gateway.wire.client import GatewayClient, console_script

BUNDLED = Path(__file__).resolve().parent / "sets" / "lookback"
TODAY = int(datetime(2026, 6, 15, 12, tzinfo=UTC).timestamp() * 1000)
OTHERS = 5000
OTHERS_BEGIN = int(datetime(2025, 9, 1, tzinfo=UTC).timestamp() * 1000)
OTHERS_STEP = 60 * 60_000
"""An hour between two of the other messages: they end in the spring before the set's own begin."""
FLOORS = tuple(round(0.05 * step, 2) for step in range(4, 20))
FIRST = 5
DRAIN_MS = 1_200_000


class Set(NamedTuple):
    """The talk of a home, and the questions about it."""

    name: str
    is_held_out: bool
    messages: list[dict[str, Any]]
    sentences: list[dict[str, Any]]
    innocent: list[dict[str, Any]]
    questions: list[dict[str, Any]]
    unanswered: list[dict[str, Any]]


def read_sets(folder: Path) -> list[Set]:
    """Return the sets of a folder, one for each `home` that its rows name and each half that it has."""

    names = ("messages", "sentences", "innocent", "questions", "unanswered")
    files = [read_rows(folder / f"{name}.jsonl") for name in names]
    homes = sorted({row.get("home", "") for row in files[0]})
    sets: list[Set] = []
    for home, is_held_out in product(homes, (False, True)):
        mine = [[row for row in file if row.get("home", "") == home and row.get("role") != "tool"] for file in files]
        sentences, innocent, questions, unanswered = (
            [row for row in rows if row.get("held_out", False) == is_held_out] for rows in mine[1:]
        )
        pointing = [*sentences, *(row for row in questions if row.get("past"))]
        plain = [row for row in questions if not row.get("past")]
        name = f"{folder.name} {home}".strip()
        if pointing or innocent or plain or unanswered:
            sets.append(Set(name, is_held_out, mine[0], pointing, innocent, plain, unanswered))
    return sets


def others(count: int) -> list[dict[str, Any]]:
    """Other people's talk as messages of the same home; none where there is no data."""
    folder = data_folder()
    said = [
        (f"{talk.name}-{session.number}", turn)
        for talk in (read_conversations(folder) if folder is not None else [])
        for session in talk.sessions
        for turn in session.turns
    ]
    return [
        {
            "thread": thread,
            "thread_name": None,
            "id": f"other-{place}",
            "role": ("user", "assistant")[place % 2],
            "at": OTHERS_BEGIN + place * OTHERS_STEP,
            "text": turn.text,
        }
        for place, (thread, turn) in enumerate(said[:count])
    ]


def millis(at: int | str) -> int:
    """A time as the wire has it."""
    return at if isinstance(at, int) else int(datetime.fromisoformat(at).timestamp() * 1000)


def turns_of(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages as imported turns: each begins with what the user says."""
    turns: list[dict[str, Any]] = []
    for said in messages:
        if not turns or said["role"] == "user":
            turns.append({"at": millis(said["at"]), "items": []})
        turns[-1]["items"].append({"role": said["role"], "text": said["text"], "item_id": said["id"]})
    return turns


class Asked(NamedTuple):
    """The messages that a turn was shown, and those that a search for the same text finds."""

    items: list[str]
    reason: str
    hits: list[tuple[str, float]]
    cpu: float


class Home:
    """One gateway on a home that holds a set."""

    def __init__(self, folder: Path, model: Path | None) -> None:
        self._folder = folder
        self._model = model

    async def __aenter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        config, clock = self._folder / "config.toml", self._folder / "clock"
        chosen = f"model_path = {json.dumps(str(self._model))}" if self._model is not None else "enabled = false"
        config.write_text(f"[gateway.embedding]\n{chosen}\n", encoding="utf-8")
        clock.write_text(str(TODAY), encoding="utf-8")
        where = ["--home", str(self._folder / "home"), "--config", str(config), "--clock-file", str(clock)]
        self.client = await GatewayClient.start([*console_script(), "serve", *where])
        hello = {"protocol_version": "2026-11", "client": {"name": "lookback", "version": "1", "time_zone": "UTC"}}
        await self.client.request("initialize", hello | {"workspace_id": "ws_0"})
        if self._model is not None:
            await loaded(self.client)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()

    async def fill(self, messages: Sequence[dict[str, Any]]) -> None:
        """Import messages, a thread for each of theirs, and wait until they are indexed."""
        threads: dict[str, list[dict[str, Any]]] = {}
        for said in messages:
            threads.setdefault(said["thread"], []).append(said)
        for thread, told in threads.items():
            name = {"name": told[0]["thread_name"]} if told[0].get("thread_name") else {}
            source = {"kind": "bench", "id": thread}
            params = {"workspace_id": "ws_0", "source": source, "turns": turns_of(told), **name}
            await self.client.request("thread/import", params)
        await self.client.request("gateway/drain", {"timeout_ms": DRAIN_MS})

    async def ask(self, text: str) -> Asked:
        """Return the messages that a turn of a new thread is shown."""
        started = await self.client.request("thread/start", {"workspace_id": "ws_0"})
        thread_id = started["thread"]["thread_id"]
        used = cpu_ms(self.client.pid)
        prepared = await self.client.request(
            "turn/prepare", {"thread_id": thread_id, "input": [{"type": "text", "text": text}]}
        )
        used = cpu_ms(self.client.pid) - used
        await self.client.request("turn/cancel", {"turn_id": prepared["turn"]["turn_id"]})
        await self.client.request("thread/delete", {"thread_id": thread_id})
        refs = [
            ref["id"]
            for block in prepared["context_blocks"]
            if block["domain"] == "thread"
            for ref in block["source_refs"]
            if ref["kind"] == "chunk"
        ]
        search = {"workspace_id": "ws_0", "query": text, "mode": "workspace_threads", "limit": FIRST, "min_score": 0.0}
        found = await self.client.request("thread_episodic/search", search)
        reasons = [entry.get("reason") for entry in prepared["prompt_manifest"]["recall"].get("contexts", [])]
        return Asked(
            [ref.split("/")[1] for ref in refs],
            str(reasons),
            [(hit["item_id"], hit["score"]) for hit in found["hits"]],
            used,
        )


def share(truths: Sequence[bool]) -> float | str:
    """Return the share of those that are true."""
    return sum(truths) / len(truths) if truths else "-"


class Figures(NamedTuple):
    """The questions of one home, with the messages that it showed."""

    pointing: list[tuple[dict[str, Any], Asked]]
    innocent: list[tuple[dict[str, Any], Asked]]
    plain: list[tuple[dict[str, Any], Asked]]
    strays: list[tuple[dict[str, Any], Asked]]
    unanswered: list[tuple[dict[str, Any], Asked]]


def wanted_of(row: dict[str, Any]) -> set[str]:
    """The messages of which any one is an answer."""
    return set(row.get("wanted") or row.get("evidence") or ())


def is_shown(row: dict[str, Any], asked: Asked) -> bool:
    """Return whether a turn was shown one of the messages that are wanted."""
    return not wanted_of(row).isdisjoint(asked.items)


def best_of(row: dict[str, Any], asked: Asked) -> float | None:
    """The score of the best evidence among the first hits of a search; None where there is none."""
    return max((score for item, score in asked.hits if item in wanted_of(row)), default=None)


async def measure(home: Home, one: Set, strays: Sequence[dict[str, Any]]) -> Figures:
    """Ask everything."""

    async def asked(rows: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], Asked]]:
        return [(row, await home.ask(row.get("text") or row["question"])) for row in rows]

    lists = (one.sentences, one.innocent, one.questions, strays, one.unanswered)
    return Figures(*[await asked(rows) for rows in lists])


def summary(name: str, found: Figures) -> list[object]:
    """A home's row."""
    among = [(row, asked) for row, asked in found.plain if best_of(row, asked) is not None]
    cpu = [asked.cpu for rows in found for _, asked in rows]
    return [
        name,
        share([is_shown(row, asked) for row, asked in found.pointing]),
        share([bool(asked.items) for _, asked in found.innocent]),
        share([best_of(row, asked) is not None for row, asked in found.plain]),
        share([is_shown(row, asked) for row, asked in found.plain]),
        share([is_shown(row, asked) for row, asked in among]),
        share([bool(asked.items) for _, asked in found.strays]),
        share([bool(asked.items) for _, asked in found.unanswered]),
        sum(len(asked.items) for _, asked in found.plain) / (len(found.plain) or 1),
        percentile(cpu, 50),
        percentile(cpu, 95),
    ]


def curve(found: Figures) -> list[list[object]]:
    """For each floor, the share of evidence in the first five that passes, and of each kind of stray with a hit that
    passes."""
    best = [score for row, asked in found.plain if (score := best_of(row, asked)) is not None]
    strays = [
        [max((score for _, score in asked.hits), default=0.0) for _, asked in rows]
        for rows in (found.strays, found.unanswered, found.innocent)
    ]
    return [
        [str(floor), *(share([score >= floor for score in scores]) for scores in (best, *strays))] for floor in FLOORS
    ]


async def run(options: argparse.Namespace) -> None:
    """Every set in every home, in every mode."""
    sets = [one for folder in (options.sets or [BUNDLED]) for one in read_sets(Path(folder))]
    models: list[tuple[str, Path | None]] = [("words", None)]
    if (model := model_folder()) is not None:
        models.append(("words and meaning", model))
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory(prefix="pioneer-bench-") as temporary:
        counts: list[int] = options.others
        for one, count in product(sets, counts):
            foreign = [row for other in sets if other is not one for row in other.questions][:: options.every]
            folder = Path(options.folder or temporary) / f"{one.name}-{count}".replace(" ", "-")
            if not folder.exists():
                async with Home(folder, models[-1][1]) as home:
                    await home.fill([*others(count), *one.messages])
            for mode, model in models:
                async with Home(folder, model) as home:
                    found = await measure(home, one, foreign if one.questions else [])
                name = f"{one.name}{', held out' if one.is_held_out else ''}, {count} others, {mode}"
                rows.append(summary(name, found))
                if found.plain or found.innocent:
                    heads = ["floor", "evidence that passes", "strays", "unanswered", "innocent"]
                    show_table(f"{name}: the curve", heads, curve(found))
                if options.verbose:
                    tell(found)
    heads = [
        "set",
        "pointing, shown",
        "innocent, any",
        "plain, in first 5",
        "plain, shown",
        "of those in 5",
        "strays, any",
        "unanswered, any",
        "snippets",
        "cpu p50",
        "cpu p95",
    ]
    show_table("what turns are shown", heads, rows)


def tell(found: Figures) -> None:
    """Print the failures, row by row."""
    for kind, rows in (("missed", found.pointing), ("missed plain", found.plain)):
        for row, asked in rows:
            if not is_shown(row, asked):
                print(
                    f"  {kind}: {row.get('text') or row['question']} {sorted(wanted_of(row))} {asked.items} {asked.hits}"
                )
    for kind, rows in (("innocent", found.innocent), ("stray", found.strays), ("unanswered", found.unanswered)):
        for row, asked in rows:
            if asked.items:
                print(f"  {kind}: {row.get('text') or row['question']} {asked.items} {asked.hits}")


def main(arguments: list[str] | None = None) -> int:
    """Print the figures of each set."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks lookback", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sets", nargs="+", help="folders of sets; without any, the one of the repository")
    parser.add_argument("--others", type=int, nargs="+", default=[0, OTHERS], help="messages of others beside them")
    parser.add_argument("--every", type=int, default=1, help="of the other sets' questions each n-th is a stray")
    parser.add_argument("--folder", help="where the homes are made and kept")
    parser.add_argument("--verbose", action="store_true", help="tell each miss and each stray")
    options = parser.parse_args(arguments)
    print(f"lookback on {machine()}")
    asyncio.run(run(options))
    return 0
