"""A gateway that kills itself with one of its writes, as `kill -9` would; journeys spawn it, and this module is its
program.

Rule 1: writes are counted from the moment on in which the file that `PIONEER_KILL_FROM` names is there.
Rule 2: a write ends the process after its work and before its commit, or after its commit and before anyone hears of
it.
"""

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

When = Literal["before its commit", "after its commit"]
WHEN: tuple[When, ...] = ("before its commit", "after its commit")


class KillPlace:
    """The file by which a journey says when writes are counted, and what a gateway is spawned with."""

    def __init__(self, folder: Path, number: int, when: When) -> None:
        self._file = folder / f"kill-{number}-{WHEN.index(when)}"
        self._said = {"PIONEER_KILL_FROM": str(self._file), "PIONEER_KILL_AT": str(number), "PIONEER_KILL_WHEN": when}

    def command(self, serve: list[str]) -> list[str]:
        """The command that serves a home, with this program in place of its own."""
        return [sys.executable, str(Path(__file__)), *serve[serve.index("serve") :]]

    def environment(self) -> dict[str, str]:
        """The environment of the process."""
        return {**os.environ, **self._said}

    def count_from_now(self) -> None:
        """The next write is the first."""
        self._file.touch()


def _end() -> None:
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def _deadly(
    write: Callable[..., Awaitable[Any]], begins: Path, number: int, when: str
) -> Callable[..., Awaitable[Any]]:
    """The write of a database, the last of which ends the process."""
    count = 0

    async def counted(database: Any, work: Callable[[Any], Any], **how: Any) -> Any:
        nonlocal count
        if not begins.exists():
            return await write(database, work, **how)
        count += 1
        is_last = count == number

        def whole(tx: Any) -> Any:
            result = work(tx)
            if is_last and when == WHEN[0]:
                _end()
            return result

        result = await write(database, whole, **how)
        if is_last:
            _end()
        return result

    return counted


def main() -> int:
    """Serve a home until the write that the environment names."""
    from gateway.cli import main as serve  # noqa: PLC0415  # the journeys import this module as well
    from gateway.store.database import Database  # noqa: PLC0415

    told = (os.environ[f"PIONEER_KILL_{name}"] for name in ("FROM", "AT", "WHEN"))
    begins, number, when = told
    deadly: Any = _deadly(Database.write, Path(begins), int(number), when)
    Database.write = deadly
    return serve()


if __name__ == "__main__":
    sys.exit(main())
