"""The look at what is derived that follows a start: in short snapshots, beside whatever the process does.

Rule 1: it begins when the pulse does, never before the first message is answered, and is done once.
Rule 2: a part that cannot be looked at says so; nothing else waits for it but `gateway/drain`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio

from gateway.degraded import Health
from gateway.logs import Log
from protocol.errors import GatewayError
from protocol.ports import Spawn

COMPONENT = "index"

log = Log("index")


def reporter(health: Health, part: str) -> Callable[[Sequence[str], bool], None]:
    """Return what tells the state of a part's index: its first reason, or that the repair failed, or that it is whole."""

    def report(reasons: Sequence[str], has_failed: bool) -> None:  # noqa: FBT001  # a port without names
        if reasons:
            health.degrade(COMPONENT, "repair_failed" if has_failed else reasons[0], part)
        else:
            health.recover(COMPONENT, key=part)

    return report


class IndexWatch:
    """Has each house look at its index, one after the other."""

    def __init__(
        self, *, looks: Mapping[str, Callable[[], Awaitable[object]]], health: Health, spawn: Spawn, restored: Sequence[str] = ()
    ) -> None:  # fmt: skip
        self._looks = looks
        self._health = health
        self._spawn = spawn
        self._restored = restored
        self._ended: anyio.Event | None = None

    def begin(self) -> None:
        """Have the look begin, once."""
        if self._ended is None:
            self._ended = anyio.Event()
            self._spawn(self._run, "index_watch")

    async def ended(self) -> None:
        """Return when the look is over."""
        if self._ended is not None:
            await self._ended.wait()

    async def _run(self) -> None:
        if self._restored:
            log.warning("schema_restored", names=",".join(self._restored))
            self._health.degrade(COMPONENT, "schema_restored", "schema")
        try:
            for part, look in self._looks.items():
                try:
                    await look()
                except GatewayError as error:
                    log.warning("look_failed", part=part, reason=error.reason)
                    self._health.degrade(COMPONENT, "unreadable", part)
        finally:
            self._health.recover(COMPONENT, key="schema")  # whatever went wrong meanwhile was found
            if self._ended is not None:
                self._ended.set()
