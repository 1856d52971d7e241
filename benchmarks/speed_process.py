"""The cost of the process itself: start, wire, acknowledged writes, hooks, floods, doing nothing; each beside its floor.

Rule 1: ours and the floor take turns in one run.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from agent.hooks.registration import Registry
from agent.hooks.runtime import HookRuntime
from benchmarks.goals import Row, at_least, at_most, shown
from benchmarks.own_words import Play, extracting, genuine_turns
from benchmarks.pipes import echo, gateway, ping, sdk_echo
from benchmarks.report import percentile
from benchmarks.wire import (
    PIPELINED,
    cpu_ms,
    imported_modules,
    measure_disk,
    measure_starts,
    one_by_one,
    opened,
    per_second,
    sentence,
)
from gateway.base.clock import SystemClock
from gateway.base.ids import SortableIds
from gateway.wire.client import GatewayClient
from promt.own_words import own_words
from protocol import methods as call
from protocol.conversation.host_turns import TurnFinishParams
from protocol.conversation.threads import ThreadStartParams
from protocol.conversation.turns import TextInput, TurnOptions, TurnStartParams
from protocol.gateway import DrainParams
from protocol.hooks import PHASES, HookInput, HookOutput, Subscription, TurnContext
from protocol.memory.writes import RememberParams

HEAVY = ("numpy", "onnxruntime", "fastembed", "usearch", "tokenizers", "pydantic", "mcp", "requests")
LARGE = 8_000_000
USUAL_CHARS = 300
FLOOD = 10_000
PAGE = 1_000_000  # characters, as in the promise
FLOOD_MB = 16
"""The bound of the memory that a flood may add: what is on its way in both directions, and no queue of it all."""

ROUNDS = 3
HOOKS = 10
TURNS = 50
SLOW_SYNC_MS = 20.0
"""The time of a flush to the platter, or of F_FULLFSYNC on a laptop's disk."""
IDLE_SHARE = 0.001
"""Of one processor: a process that waits is woken by nothing but its lease."""


class Size(NamedTuple):
    """The sizes of a measurement."""

    pings: int
    remembered: int
    grouped: int
    judged: int
    idle_seconds: float


QUICK = Size(pings=400, remembered=60, grouped=600, judged=60, idle_seconds=3)
TINY = Size(pings=20, remembered=5, grouped=64, judged=5, idle_seconds=0.2)
FULL = Size(pings=2000, remembered=300, grouped=3000, judged=200, idle_seconds=10)


async def starts(folder: Path) -> list[Row]:
    """Spawn to `initialize`."""
    modules = imported_modules()
    ours, same, _bare = await measure_starts(folder, modules)
    sdk: list[float] = []
    for _ in range(ROUNDS):
        try:
            with sdk_echo() as server:
                sdk.append(cpu_ms(server.pid))
        except (EOFError, OSError):  # not installed
            break
    cpu, rss = (float(str(ours[place])) for place in (3, 5))
    heavy = sorted({name.partition(".")[0] for name in modules} & set(HEAVY))
    rows = [
        at_most(
            "spawn → `initialize`, CPU",
            cpu,
            "ms",
            300,
            wall=float(str(ours[1])),
            beside="Python with the same imports",
            floor=float(str(same[3])),
        ),
        at_most("heavy libraries imported at start", len(heavy), "", 0),
        at_most("RSS after start", rss, "MB", 60, beside="Python with the same imports", floor=float(str(same[5]))),
    ]
    if sdk:
        rows.insert(1, shown("official MCP SDK echo server, CPU to start", min(sdk), "ms", beside="ours", floor=cpu))
    return rows


def pings(folder: Path, size: Size) -> list[Row]:
    """Round trips and rates of `ping`, beside a tool call of the official SDK, which does the least that one can."""
    with gateway(folder / "home") as ours:
        ours.round_trips(size.pings // 10, ping)
        trips = min((ours.round_trips(size.pings, ping) for _ in range(ROUNDS)), key=lambda cost: cost.cpu_us)
        lined = min((ours.pipelined(PIPELINED, ping) for _ in range(ROUNDS)), key=lambda cost: cost.cpu_us)
        walls = percentile(trips.wall_us, 50), 1e6 / lined.wall_us[0]
    rows = [
        at_most("`ping` round trip, CPU", trips.cpu_us, "µs", 350, wall=walls[0]),
        at_least("`ping` pipelined, per second of CPU", 1e6 / lined.cpu_us, "/s", 8000, wall=walls[1]),
    ]
    try:
        with sdk_echo() as sdk:
            sdk.round_trips(size.pings // 10, echo)
            sdk_trips = min((sdk.round_trips(size.pings // 2, echo) for _ in range(ROUNDS)), key=lambda c: c.cpu_us)
            sdk_lined = min((sdk.pipelined(size.pings, echo) for _ in range(ROUNDS)), key=lambda c: c.cpu_us)
    except (EOFError, OSError):
        return [*rows, shown("official MCP SDK: not installed, no comparison", 0, "")]
    times = sdk_trips.cpu_us / trips.cpu_us, sdk_lined.cpu_us / lined.cpu_us
    walls = percentile(sdk_trips.wall_us, 50) / walls[0], walls[1] * sdk_lined.wall_us[0] / 1e6
    return [
        *rows,
        at_least("the SDK's echo call beside `ping`, CPU", times[0], "times", 3, wall=walls[0]),
        at_least("the SDK's echo calls beside pings, pipelined, CPU", times[1], "times", 3, wall=walls[1]),
        shown("echo call of the SDK, CPU", sdk_trips.cpu_us, "µs", wall=percentile(sdk_trips.wall_us, 50)),
    ]


async def remembered(folder: Path, size: Size) -> list[Row]:
    """Acknowledged writes, one by one and grouped."""
    client = await opened(folder / "home")
    remember = partial(_remember, client)

    try:
        await one_by_one(5, remember)
        used = cpu_ms(client.pid)
        walls = await one_by_one(size.remembered, lambda number: remember(number + 5))
        cpu = (cpu_ms(client.pid) - used) / size.remembered
        disk = measure_disk(folder)
        first = size.remembered + 5
        grouped = await per_second(range(first, first + size.grouped), remember)
        await client.call(call.DRAIN, DrainParams())
    finally:
        await client.close()
    alone = 1000 * len(walls) / sum(walls)
    return [
        at_most("`memory/remember`, durable, CPU", cpu, "ms", 3, wall=percentile(walls, 50)),
        shown(
            "its wall time", percentile(walls, 50), "ms", beside="page written and synced", floor=percentile(disk, 50)
        ),
        shown("64 at once, records", grouped, "/s", beside="one by one", floor=alone),
        await _grouped_on_a_slow_disk(folder, size),
    ]


async def _remember(client: GatewayClient, number: int) -> object:
    return await client.call(call.MEMORY_REMEMBER, RememberParams(content=sentence(number)))


async def _grouped_on_a_slow_disk(folder: Path, size: Size) -> Row:
    """Measure writes on a slow disk, where they wait for it and not for the processor: those that come together share a sync.

    The goal is judged here alone: the faster the disk, the less there is to share.
    """
    client = await opened(folder / "slow", slow_sync_ms=SLOW_SYNC_MS)
    remember = partial(_remember, client)
    try:
        await one_by_one(5, remember)
        walls = await one_by_one(size.remembered // 2, lambda number: remember(number + 5))
        first = size.remembered + 5
        grouped = await per_second(range(first, first + size.grouped), remember)
    finally:
        await client.close()
    alone = 1000 * len(walls) / sum(walls)
    name = f"64 at once beside one by one, rate, on a disk whose sync takes {SLOW_SYNC_MS:.0f} ms"
    return at_least(name, grouped / alone, "times", 10, beside="one by one, records a second", floor=alone)


def large_messages(folder: Path) -> list[Row]:
    """A message of eight megabytes, and ten thousand requests before anything is read."""
    padded = b'{"jsonrpc":"2.0","id":0,"method":"ping","params":{"_meta":{"padding":"%s"}}}\n' % (b"x" * LARGE)
    begun = time.process_time()
    msgspec.json.decode(padded)
    floor = (time.process_time() - begun) * 1000
    with gateway(folder / "home") as ours:
        ours.round_trips(5, ping)
        taken = [ours.round_trips(1, lambda _: padded) for _ in range(ROUNDS)]
        best = min(taken, key=lambda cost: cost.cpu_us)
        flood = ours.flood(FLOOD, ping)
    grown = flood.most_mb - flood.before_mb
    return [
        at_most(
            "a message of 8,000,000 bytes, CPU",
            best.cpu_us / 1000,
            "ms",
            200,
            wall=min(min(cost.wall_us) for cost in taken) / 1000,
            beside="decoded in this process",
            floor=floor,
        ),
        at_least("10,000 requests before one answer is read: answered", flood.answered, "", FLOOD),
        at_most("memory they add", grown, "MB", FLOOD_MB, beside="before them", floor=flood.before_mb),
    ]


async def _turn_cpu(client: GatewayClient, thread_id: str, text: str) -> float:
    """Milliseconds of processor time of a turn whose model answers at once, and of all that follows it."""
    used = cpu_ms(client.pid)
    given = TurnStartParams(thread_id=thread_id, input=[TextInput(text=text)])
    turn_id = (await client.call(call.TURN_PREPARE, given)).turn.turn_id
    await client.call(call.TURN_FINISH, TurnFinishParams(turn_id=turn_id, status="succeeded", assistant_text="I see."))
    await client.call(call.DRAIN, DrainParams())
    return cpu_ms(client.pid) - used


async def _turns_over(home: Path, *texts: str) -> list[float]:
    """The least milliseconds of a turn over each text, in a home of its own."""
    client = await opened(home)
    try:
        start = partial(client.call, call.THREAD_START, ThreadStartParams())
        await _turn_cpu(client, (await start()).thread.thread_id, "Hello.")  # a first use loads what later ones have
        threads = [(await start()).thread.thread_id for _ in range(ROUNDS)]
        return [min([await _turn_cpu(client, thread_id, text) for thread_id in threads]) for text in texts]
    finally:
        await client.close()


async def pasted_pages(folder: Path) -> list[Row]:
    """A turn over a page of a megabyte that the user pastes; as floor one over a sentence.

    Once without the index of conversations: then it is what hooks, rules and the pipeline make of the page.
    """
    short = "I moved to Lisbon in March, and my sister helped me to carry the boxes."
    line = "The committee of harbour {0} met on day {0} and decided to repaint pier {0} before winter.\n"
    page = "Can you summarise this page for me?\n\n" + "".join(
        line.format(number) for number in range(PAGE // len(line))
    )
    bare = folder / "bare"
    bare.mkdir(mode=0o700)
    (bare / "config.toml").write_text("[gateway.thread_episodic]\nenabled = false\n", encoding="utf-8")
    over_short, over_page = await _turns_over(bare, short, page)
    _, indexed = await _turns_over(folder / "home", short, page)
    number = 0

    async def judge() -> None:
        nonlocal number
        number += 1
        own_words(f"{short} {number}")  # no text that it knows already

    return [
        at_most("a turn over a pasted page of 1 MB, CPU", over_page, "ms", 400, beside="a sentence", floor=over_short),
        shown("the same, and its pieces indexed by words and the static model", indexed, "ms"),
        at_most("own words of a sentence, CPU", await _cpu_of(judge), "ms", 1),
    ]


async def judged_turns(folder: Path, turns: int) -> list[Row]:
    """Turns of people and what an extractor finds in them, beside the same turns in a gateway that judges no words.

    Own words, wishes, policy, quotes and junk are all that the two differ by. They take turns, and the middle
    difference of the pairs is shown.
    """
    told = [turn for turn in genuine_turns() if len(turn.text) <= USUAL_CHARS and len(turn.facts) == 1][:turns]
    plays: list[Play] = []
    for name, command in {"judged": [], "unguarded": [sys.executable, "-m", "benchmarks.unguarded"]}.items():
        (folder / name).mkdir(mode=0o700)
        plays.append(Play(folder / name, command=command))
    taken: list[tuple[float, ...]] = []
    try:
        for play in plays:
            await play.stage.open()
        for turn in told:
            costs: list[float] = []
            for play in plays:
                used = cpu_ms(play.stage.client.pid)
                await play.turn(turn.text, extracting(turn.facts))
                await play.stage.drain()
                costs.append(cpu_ms(play.stage.client.pid) - used)
            taken.append(tuple(costs))
        for play in plays:
            await play.stage.close()
    finally:
        for play in plays:
            await play.stage.end()
    warm = taken[len(taken) // 5 :]  # a first use loads and compiles what later ones have
    added = statistics.median(judged - bare for judged, bare in warm)
    return [
        at_most(
            "judging words adds to a turn with an extractor, CPU",
            added,
            "ms",
            1,
            beside="the turn without",
            floor=statistics.median(bare for _, bare in warm),
        )
    ]


async def idle(folder: Path, size: Size) -> list[Row]:
    """Processor time of a gateway that has nothing to do."""
    client = await opened(folder / "home")
    try:
        await client.call(call.DRAIN, DrainParams())
        used = cpu_ms(client.pid)
        await asyncio.sleep(size.idle_seconds)
        cpu = cpu_ms(client.pid) - used
    finally:
        await client.close()
    limit = size.idle_seconds * 1000 * IDLE_SHARE
    return [at_most(f"doing nothing for {size.idle_seconds:g} s, CPU", cpu, "ms", limit)]


async def _nothing(_given: HookInput) -> HookOutput:
    return HookOutput(contributions=[])


def _ignored(_error: BaseException) -> str:
    raise RuntimeError("a hook that does nothing failed")


async def _cpu_of(work: Callable[[], Awaitable[object]]) -> float:
    """The least milliseconds of processor time of several tries."""
    taken: list[float] = []
    for _ in range(TURNS):
        begun = time.process_time()
        await work()
        taken.append((time.process_time() - begun) * 1000)
    return min(taken)


async def hooks() -> list[Row]:
    """Ten hooks that do nothing, in every phase of a turn; as floor the same calls as bare tasks."""
    clock = SystemClock()
    context = TurnContext(
        workspace_id="ws_1",
        thread_id="thr_1",
        turn_id="trn_1",
        agent_id=None,
        task_id=None,
        parent_thread_id=None,
        mode="agent",
        memory_mode="normal",
        origin="user",
        driver="gateway",
        options=TurnOptions(),
        now=clock.now(),
        time_zone="UTC",
    )
    given = {phase: HookInput(phase=phase, run_id="", context=context, text="hello") for phase in PHASES}

    def runtime(per_phase: int, phases: int) -> HookRuntime:
        subscriptions = [
            Subscription(hook_id=f"hook_{number}", phase=phase, call=_nothing)
            for phase in PHASES[:phases]
            for number in range(per_phase)
        ]
        return HookRuntime(
            registry=Registry(subscriptions),
            ids=SortableIds(clock),
            clock=clock,
            incident=_ignored,
            mask=lambda text: text,
            is_strict=lambda: False,
        )

    async def turn(of: HookRuntime) -> None:
        for phase in PHASES:
            await of.dispatch(phase, given[phase])

    async def floor() -> None:
        for phase in PHASES:
            await asyncio.gather(*(_nothing(given[phase]) for _ in range(HOOKS)))

    one_phase, every = runtime(HOOKS, 1), runtime(HOOKS, len(PHASES))
    return [
        at_most(
            f"{HOOKS} hooks that do nothing, each in all {len(PHASES)} phases, CPU a turn",
            await _cpu_of(lambda: turn(every)),
            "ms",
            2,
            beside="bare tasks",
            floor=await _cpu_of(floor),
        ),
        shown(f"{HOOKS} hooks that do nothing, in one phase", await _cpu_of(lambda: turn(one_phase)), "ms"),
    ]


async def measure(folder: Path, size: Size) -> list[Row]:
    """All of it."""
    rows = [*await starts(folder)]
    rows += await asyncio.to_thread(pings, folder, size)
    rows += await remembered(folder, size)
    rows += await hooks()
    rows += await pasted_pages(folder)
    rows += await judged_turns(folder, size.judged)
    rows += await asyncio.to_thread(large_messages, folder)
    return [*rows, *await idle(folder, size)]


__all__ = ["FULL", "QUICK", "TINY", "Size", "measure"]
