"""The look that a process takes at its home: once, waited for by all who ask, taken again where it failed."""

from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from gateway.pulse import TIDY_AGAIN_MS, TIDY_MS, Metronome, Pulse
from protocol.errors import Unavailable


class Looked:
    """Both houses that are looked through: what was done, and a gate before the first."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.entered = anyio.Event()
        self.gate = anyio.Event()
        self.fails = False

    async def look_for_damage(self, *, is_unclean: bool) -> None:
        self.entered.set()
        await self.gate.wait()
        if self.fails:
            raise Unavailable("unavailable", "The disk does not answer.")
        self.done.append(f"damage, unclean {is_unclean}")

    async def look_for_orphans(self) -> None:
        self.done.append("orphans")


def pulse_of(looked: Looked, *, is_unclean: bool) -> Pulse:
    app: Any = SimpleNamespace(
        base=SimpleNamespace(home=SimpleNamespace(is_read_only=False)),
        memory=looked,
        artifacts=looked,
        watch=SimpleNamespace(begin=lambda: None, beyond_damage=lambda work: work()),
    )
    pulse = Pulse(app)
    pulse._is_unclean = is_unclean
    return pulse


def test_who_asks_while_another_looks_waits_until_all_is_queued() -> None:
    async def main() -> None:
        looked = Looked()
        pulse = pulse_of(looked, is_unclean=True)
        seen: list[list[str]] = []

        async def drain() -> None:
            await pulse.look()
            seen.append(list(looked.done))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pulse.look)
            await looked.entered.wait()
            tasks.start_soon(drain)
            await anyio.wait_all_tasks_blocked()
            assert seen == []
            looked.gate.set()
        assert seen == [["damage, unclean True", "orphans"]]
        await pulse.look()
        assert looked.done == seen[0]

    anyio.run(main)


def test_a_look_that_failed_is_taken_again_and_a_clean_home_has_no_orphans() -> None:
    async def main() -> None:
        looked = Looked()
        pulse = pulse_of(looked, is_unclean=False)
        looked.gate.set()
        looked.fails = True
        with pytest.raises(Unavailable):
            await pulse.look()
        looked.fails = False
        await pulse.look()
        assert looked.done == ["damage, unclean False"]

    anyio.run(main)


def test_a_tidying_that_failed_is_done_again_before_the_next_day() -> None:
    async def main() -> None:
        done: list[str] = []
        fails = True

        async def forget_finished() -> None:
            done.append("jobs")

        async def tidy() -> None:
            if fails:
                raise Unavailable("storage_full")
            done.append("captures")

        async def sweep() -> bool:
            done.append("memory")
            return False

        async def due_at() -> int | None:
            return None

        app: Any = SimpleNamespace(
            runner=SimpleNamespace(forget_finished=forget_finished),
            captures=SimpleNamespace(tidy=tidy),
            memory=SimpleNamespace(sweep=sweep, due_at=due_at),
        )
        pulse = Pulse(app)
        with pytest.raises(Unavailable):
            await pulse._do_due_work(1)
        await pulse._do_due_work(2)  # not at each beat
        assert done == ["jobs"]
        fails = False
        await pulse._do_due_work(1 + TIDY_AGAIN_MS)
        assert done == ["jobs", "jobs", "captures", "memory"]
        await pulse._do_due_work(TIDY_MS)
        assert len(done) == 4
        await pulse._do_due_work(1 + TIDY_AGAIN_MS + TIDY_MS)
        assert done[4:] == ["jobs", "captures", "memory"]

    anyio.run(main)


def test_a_beat_wakes_only_those_who_have_a_reason() -> None:
    async def main() -> None:
        metronome = Metronome()
        metronome.seconds = 0.001
        asked: list[str] = []

        def third_time() -> bool:
            asked.append("third")
            return len(asked) == 3

        def never() -> bool:
            return False

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(metronome.run)
            tasks.start_soon(metronome.until, never)
            await metronome.until(third_time)
            await metronome.until(lambda: True)
            assert len(asked) == 3  # who was woken is asked no more
            tasks.cancel_scope.cancel()
        assert metronome._waiting == []  # nor who was cancelled

    anyio.run(main)
