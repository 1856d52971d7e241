"""Work that outlives the call that starts it: tasks of the process, each with a boundary of its own.

Rule 1: one failure ends one task, never the process.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import TaskGroup

from gateway.base.logs import Log
from protocol.errors import GatewayError

log = Log("spawner")


class Spawner:
    """Starts background work. Satisfies `Spawn` (`spawn`)."""

    def __init__(self) -> None:
        self._tasks: TaskGroup | None = None
        self._is_over = False
        self._early: list[tuple[Callable[[], Any], str]] = []

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[TaskGroup]:
        """Accept work until the block ends; the block ends when all work has ended or was cancelled."""
        try:
            async with anyio.create_task_group() as self._tasks:
                for work, name in self._early:
                    self._tasks.start_soon(self._run_guarded, work, name=name)
                self._early.clear()
                yield self._tasks
        finally:
            self._tasks, self._is_over = None, True

    def spawn(self, work: Callable[[], Any], name: str) -> None:
        """Start background work at once: another request of the batch may wait for it.

        Work that comes before `open` waits for it. Work that comes when it is over is dropped: the process ends.
        Notifications of the work come after the reply to the request that started it.
        """
        if self._tasks is not None:
            self._tasks.start_soon(self._run_guarded, work, name=name)
        elif not self._is_over:
            self._early.append((work, name))

    async def _run_guarded(self, work: Callable[[], Any]) -> None:
        try:
            await work()
        except GatewayError as error:
            log.warning("background_failed", reason=error.reason)
        # the boundary of background work: one failure must not end the process
        except Exception as error:  # noqa: BLE001
            log.incident(error)
