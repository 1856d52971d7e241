"""Work in the background lets those pass who wait, and is not held up by them for ever."""

import anyio
import pytest

from gateway.store import priority as module
from gateway.store.priority import Foreground

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_nobody_who_waits_costs_no_time() -> None:
    foreground = Foreground()
    with foreground.count_waiting_caller():
        pass
    with anyio.fail_after(0):
        await foreground.let_pass()


async def test_work_goes_on_when_the_last_one_has_an_answer() -> None:
    foreground, seen = Foreground(), list[str]()

    async def work() -> None:
        await foreground.let_pass()
        seen.append("work")

    async with anyio.create_task_group() as tasks:
        with foreground.count_waiting_caller():
            with foreground.count_waiting_caller():
                tasks.start_soon(work)
                await anyio.wait_all_tasks_blocked()
            await anyio.wait_all_tasks_blocked()
            seen.append("answered")
    assert seen == ["answered", "work"]


async def test_courtesy_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COURTESY_SECONDS", 0.0)
    foreground = Foreground()
    with foreground.count_waiting_caller():
        await foreground.let_pass()
