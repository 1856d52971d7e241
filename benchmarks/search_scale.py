"""The cost of a search of durable memory as it grows: processor time of the gateway per `memory/search`, lexical.

Rule 1: homes are filled through the store's own functions with the gateway's own lexicon; only the way over the wire is
left out.
Rule 2: processor time counts; wall time is shown, because the machine is shared.
"""

import argparse
import asyncio
import itertools
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.report import machine, percentile, show_table
from benchmarks.wire import cpu_ms
from gateway.base.clock import SystemClock
from gateway.base.ids import SortableIds
from gateway.store.sqlite import Transaction, connect
from gateway.wire.client import GatewayClient, console_script
from memory.rows import store
from memory.rows.store import add_first_text, ensure_scope
from memory.rules.identity import FactIdentity
from protocol.base import Scope
from protocol.record import Provenance
from retrieval.terms import SnowballLexicon

WORKSPACE = "told"
SIZES = (1_000, 10_000, 100_000)
SHARE = 10
"""One record of so many is the workspace's, the others are the user's."""

GROUP = 5_000
CALLS = 150
WARM_UP = 20
SEED = 20_261_121
PAGE = 20

FREQUENT = (
    "user",
    "prefers",
    "project",
    "usually",
    "meeting",
    "morning",
    "likes",
    "team",
    "report",
    "weekend",
    "coffee",
    "release",
)
"""Said in every third to every twelfth record, as a person's own favourite words are."""

SYLLABLES = (
    "ba",
    "cor",
    "del",
    "fin",
    "gra",
    "hol",
    "jun",
    "kel",
    "lom",
    "mir",
    "nev",
    "pol",
    "ros",
    "sil",
    "tam",
    "vex",
)
VOCABULARY = 30_000
RECORD_WORDS = 10


class Kind(NamedTuple):
    """A kind of query: how many of its words are frequent, how many are any words, how many are rare."""

    name: str
    frequent: int
    common: int
    rare: int


KINDS = (
    Kind("2 words: frequent, rare", 1, 0, 1),
    Kind("3 words: any", 0, 3, 0),
    Kind("4 words: 2 frequent, any, rare", 2, 1, 1),
    Kind("6 words: 3 frequent, 2 any, rare", 3, 2, 1),
    Kind("4 words: all frequent", 4, 0, 0),
    Kind("12 words: all frequent", 12, 0, 0),
)


class Words:
    """A made-up language with the usual distribution: few words make most of a text."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        made = itertools.product(SYLLABLES, SYLLABLES, SYLLABLES, SYLLABLES)
        self._all = ["".join(parts) for parts in self.rng.sample(list(made), VOCABULARY)]
        self._weights = list(itertools.accumulate(1 / (rank + 8) for rank in range(VOCABULARY)))

    def any_of(self, count: int) -> list[str]:
        """Words as often as they are said."""
        return self.rng.choices(self._all, cum_weights=self._weights, k=count)

    def rare(self, count: int) -> list[str]:
        """Words from the long tail."""
        return self.rng.sample(self._all[VOCABULARY // 2 :], count)

    def sentence(self, number: int) -> str:
        """A record's content; its number makes it the only one."""
        often = [word for rank, word in enumerate(FREQUENT) if self.rng.random() < 1 / (rank + 3)]
        said = [*often, *self.any_of(RECORD_WORDS - len(often))]
        self.rng.shuffle(said)
        return f"The {' '.join(said)} in {number}."

    def query(self, kind: Kind) -> str:
        """A question of a kind."""
        chosen = [*self.rng.sample(FREQUENT, kind.frequent), *self.any_of(kind.common), *self.rare(kind.rare)]
        return " ".join(chosen)


async def opened(home: Path) -> GatewayClient:
    """A gateway without a model that has answered `initialize`."""
    config = home.parent / "search_scale.toml"
    config.write_text("[gateway.embedding]\nenabled = false\n", encoding="utf-8")
    client = await GatewayClient.start([*console_script(), "serve", "--home", str(home), "--config", str(config)])
    hello = {
        "protocol_version": "2026-11",
        "client": {"name": "search_scale", "version": "1"},
        "workspace_id": WORKSPACE,
    }
    await client.request("initialize", hello)
    return client


async def fill(home: Path, contents: Sequence[tuple[Scope, str]]) -> None:
    """A home that holds these records, as if each had been remembered; no gateway has it open afterwards."""
    await (await opened(home)).close()
    connection = connect(home / "gateway.db", synchronous="off")
    try:
        tx, lexicon, ids = Transaction(connection), SnowballLexicon(), SortableIds(SystemClock())
        scopes: dict[Scope, int] = {}
        for group in _grouped(enumerate(contents)):
            with connection:
                for number, (scope, content) in group:
                    if scope not in scopes:
                        scopes[scope] = ensure_scope(tx, scope)
                    add_record(tx, lexicon, ids.new("mem"), scope, scopes[scope], content, number)
        connection.execute("INSERT INTO memory_fts (memory_fts, rank) VALUES ('merge', 500)")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.close()


def _grouped(numbered: Iterator[tuple[int, tuple[Scope, str]]]) -> Iterator[list[tuple[int, tuple[Scope, str]]]]:
    while group := list(itertools.islice(numbered, GROUP)):
        yield group


def add_record(
    tx: Transaction, lexicon: SnowballLexicon, memory_id: str, scope: Scope, scope_id: int, content: str, number: int
) -> int:
    """A record as if it had been remembered; its row."""
    mark = number.to_bytes(16, "big")
    identity = FactIdentity(f"{scope.kind}:{scope.key}:custom:{number}", None, mark, mark, is_single=False)
    values: dict[str, Any] = {
        "memory_id": memory_id,
        "scope_id": scope_id,
        "category": "custom",
        "key": identity.key,
        "alias": None,
        "is_single": 0,
        "content": content,
        "value": None,
        "sensitivity": "normal",
        "confidence": 1.0,
        "provenance": Provenance(source_kind="explicit_user_request"),
        "created_at": (now := SystemClock().now()),
        "updated_at": now,
        "supersedes": None,
        "fingerprint": identity.fingerprint,
        "text_hash": identity.text_hash,
    }
    stored = store.add_record(tx, scope, values)
    add_first_text(tx, stored, lexicon)
    return stored.row


def spread(words: Words, count: int) -> Iterator[tuple[Scope, str]]:
    """So many records, of the user and of one workspace."""
    scopes = Scope(kind="user", key="default"), Scope(kind="workspace", key=WORKSPACE)
    for number in range(count):
        yield scopes[number % SHARE == 0], words.sentence(number)


class Cost(NamedTuple):
    """The time of each of some calls."""

    cpu: list[float]
    wall: list[float]


async def cost_of(client: GatewayClient, queries: Sequence[str], **more: Any) -> Cost:
    """Searches one after another."""
    cost = Cost([], [])
    for query in queries:
        begun, used = time.perf_counter(), cpu_ms(client.pid)
        await client.request("memory/search", {"query": query, "mode": "lexical", "limit": PAGE, **more})
        cost.wall.append((time.perf_counter() - begun) * 1000)
        cost.cpu.append(cpu_ms(client.pid) - used)
    return cost


async def measure(home: Path, total: int, calls: int) -> list[list[object]]:
    """The table's rows of one home: in the workspace alone, and in all of it."""
    words = Words(SEED)
    await fill(home, list(spread(words, total)))
    rows: list[list[object]] = []
    client = await opened(home)
    try:
        for held, more in (
            (total // SHARE, {"scopes": [{"kind": "workspace", "key": WORKSPACE}]}),
            (total, {}),
        ):
            await cost_of(client, [words.query(KINDS[0]) for _ in range(WARM_UP)], **more)
            for kind in KINDS:
                cost = await cost_of(client, [words.query(kind) for _ in range(calls)], **more)
                figures = (percentile(taken, p) for taken in cost for p in (50, 95))
                rows.append([kind.name, total, held, *figures, max(cost.cpu)])
    finally:
        await client.close()
    return rows


def main(arguments: list[str] | None = None) -> int:
    """Run it."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks search_scale", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--records", type=int, nargs="+", default=SIZES, help="sizes of the homes, each made anew")
    parser.add_argument("--calls", type=int, default=CALLS, help="queries of each kind")
    options = parser.parse_args(arguments)
    print(f"search_scale: seed {SEED}, {options.calls} queries of each kind, on {machine()}")
    heads = ["query", "records", "in scope", "cpu p50 ms", "cpu p95 ms", "wall p50 ms", "wall p95 ms", "cpu max ms"]
    for total in options.records:
        with tempfile.TemporaryDirectory(prefix="pioneer-bench-") as folder:
            begun = time.perf_counter()
            rows = asyncio.run(measure(Path(folder) / "home", total, options.calls))
            show_table(f"memory/search, {total} records ({time.perf_counter() - begun:.0f} s)", heads, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
