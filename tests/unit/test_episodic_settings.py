"""Every key of `[gateway.thread_episodic]` does something: what is seen with its default, and what with another value."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from episodic_home import Handle, Home

from protocol.seams.ports import PauseQueue
from protocol.settings import ThreadEpisodicSettings
from protocol.thread_episodic import ThreadStatusParams
from thread_episodic.hooks import build_hooks

TESTS = Path(__file__).resolve().parents[1]
PARAGRAPHS = "\n\n".join(
    f"Paragraph {n} tells of the harbour crane. " + "It lifts crates of tea. " * 25 for n in range(8)
)
WORDS = "copper kettle " * 400
"""Without any boundary but words."""


class Effect(NamedTuple):
    """Another value of a key, what is looked at, and what is seen before and after."""

    value: Any
    look: Callable[[Home], Awaitable[Any]]
    usual: Any
    changed: Any
    beside: dict[str, Any] = {}
    """Other settings that hold in both cases."""


class Elsewhere(NamedTuple):
    """A test that shows the effect and needs more than a row."""

    file: str
    test: str


async def talk(home: Home, count: int = 12) -> None:
    for n in range(count):
        await home.say(f"i{n}", f"The copper kettle number {n} hangs in the kitchen. " + f"It has {n} dents. " * 10)
    await home.index()


async def ranges(home: Home, text: str) -> list[int]:
    """The lengths of a message's chunks."""
    await home.say("long", text)
    await home.index()
    return [end - start for start, end in await home.rows("SELECT from_char, to_char FROM chunk ORDER BY position")]


async def status_of_a_search(home: Home) -> str:
    return (await home.search("copper kettle")).status


async def indexed(home: Home) -> int:
    await home.say("i", "The copper kettle.")
    (job,) = await home.waiting()
    try:
        await home.service.index(Handle(job))
    except PauseQueue as paused:
        assert paused.reason == "indexing_disabled"
    return (await home.service.status(ThreadStatusParams())).chunks.indexed


async def hook_is_on(home: Home) -> bool:
    (subscription,) = build_hooks(home.service.searching, home.config)
    return subscription.enabled()


async def hits(home: Home, **asked: Any) -> int:
    await talk(home)
    return len((await home.search("copper kettle", **asked)).hits)


async def hits_with_much_room(home: Home) -> int:
    return await hits(home, max_prompt_chars=12_000)


async def weak_hits(home: Home) -> int:
    await talk(home, 3)
    return len((await home.search("kettle turbine compressor manifold piston")).hits)


async def candidates(home: Home) -> int:
    await talk(home)
    await home.search("copper kettle")
    return (await home.rows("SELECT candidates FROM recall_event"))[0][0]


async def longest_hit(home: Home) -> int:
    await home.say("long", PARAGRAPHS)
    await home.index()
    result = await home.search("harbour crane", max_prompt_chars=12_000, min_score=0)
    return max(len(hit.text) for hit in result.hits) // 700


async def snippet_is_short(home: Home) -> bool:
    await home.say("i", "Filler sentence here. " * 15 + "The zirconium crucible cracked.")
    await home.index()
    (hit,) = (await home.search("zirconium crucible")).hits
    return len(hit.snippet) < 50


async def shortest_piece(home: Home) -> bool:
    """Whether a cut is made at a paragraph that ends after 300 characters."""
    return (await ranges(home, "A first one. " * 25 + "\n\n" + "tea " * 400))[0] < 400


async def first_piece(home: Home) -> int:
    return (await ranges(home, WORDS))[0] // 100


async def pieces_of_1500(home: Home) -> int:
    return len(await ranges(home, WORDS[:1500]))


async def pieces_and_parts(home: Home) -> tuple[int, int]:
    pieces = await ranges(home, PARAGRAPHS)
    return len(pieces), (await home.service.status(ThreadStatusParams())).chunks.partial


async def transactions_of_a_job(home: Home) -> int:
    await home.say("long", WORDS)
    (job,) = await home.waiting()
    write, count = home.db.write, 0

    async def counted(work: Any, **how: Any) -> Any:
        nonlocal count
        count += 1
        return await write(work, **how)

    home.db.write = counted
    try:
        await home.service.index(Handle(job))
    finally:
        home.db.write = write
    return count


RETRIES = Elsewhere("contract/test_index_poison.py", "test_the_tries_follow_the_settings")
SEGMENTS = Elsewhere("unit/test_episodic_service.py", "test_segments_fill_and_seal")

EFFECTS: dict[str, Effect | Elsewhere] = {
    "enabled": Effect(False, status_of_a_search, "empty", "skipped"),
    "indexing_enabled": Effect(False, indexed, 1, 0),
    "recall_enabled": Effect(False, hook_is_on, True, False),
    "default_prompt_chars": Effect(500, hits, 11, 2),
    "max_prompt_chars": Effect(500, hits_with_much_room, 12, 2),
    "max_hit_chars": Effect(3000, longest_hit, 1, 2),
    "default_max_candidates": Effect(4, hits_with_much_room, 12, 4),
    "max_candidate_work": Effect(8, candidates, 12, 6),
    "max_segments": Elsewhere(
        "unit/test_episodic_vectors.py", "test_only_so_many_segments_are_compared_and_the_answer_says_so"
    ),
    "min_relevancy": Effect(0.0, weak_hits, 0, 3, {"min_results": 0}),
    "min_results": Effect(2, weak_hits, 1, 2),
    "snippet_chars": Effect(40, snippet_is_short, False, True),
    "chunk_target_min_chars": Effect(200, shortest_piece, False, True),
    "chunk_target_max_chars": Effect(900, first_piece, 11, 8),
    "chunk_max_chars": Effect(1200, pieces_of_1500, 1, 2),
    "max_chunks_per_item": Effect(3, pieces_and_parts, (5, 0), (3, 1)),
    "index_batch_limit": Effect(1, transactions_of_a_job, 1, 5),
    "segment_capacity_chunks": SEGMENTS,
    "near_capacity_percent": SEGMENTS,
    "retry_base_delay_secs": RETRIES,
    "retry_max_delay_secs": RETRIES,
    "max_attempts": RETRIES,
}


def test_every_key_has_its_row() -> None:
    assert list(EFFECTS.keys() ^ set(ThreadEpisodicSettings.__struct_fields__)) == []


@pytest.mark.parametrize(
    ("key", "effect"), [(key, effect) for key, effect in EFFECTS.items() if isinstance(effect, Effect)]
)
def test_a_key_does_something(tmp_path: Path, key: str, effect: Effect) -> None:
    async def story() -> None:
        seen: list[Any] = []
        for name, change in (("usual", {}), ("changed", {key: effect.value})):
            (tmp_path / name).mkdir()
            home = Home(tmp_path / name)
            try:
                home.change(**effect.beside, **change)
                seen.append(await effect.look(home))
            finally:
                home.close()
        assert seen == [effect.usual, effect.changed]
        assert effect.usual != effect.changed

    anyio.run(story)


@pytest.mark.parametrize(
    ("key", "named"), [(key, named) for key, named in EFFECTS.items() if isinstance(named, Elsewhere)]
)
def test_a_key_whose_effect_is_shown_elsewhere(key: str, named: Elsewhere) -> None:
    text = (TESTS / named.file).read_text(encoding="utf-8")
    before, test = text.split(f"def {named.test}(")
    assert key in before.rsplit("\n\n\n", 1)[1] + test.split("\n\n\n", 1)[0]
