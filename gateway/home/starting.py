"""The start of a process in a home, the reasons why it cannot begin, and its run to the end."""

import asyncio
import sys
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from msgspec import Struct

from gateway.base import logs
from gateway.base.exit_codes import CONFIG, DEFECT, OK, UNAVAILABLE
from gateway.home.config import ConfigError
from protocol.errors import GatewayError

log = logs.Log("process")


class Options(Struct, frozen=True, kw_only=True):
    """The options of the command line."""

    home: Path
    config: Path | None = None
    clock_file: Path | None = None
    log_level: str = "info"
    uses_stderr: bool = True
    """The log goes to stderr as well; not where a person reads that."""
    refuses_unknown_keys: bool = False
    """A setting that does not exist ends the process; a server starts instead, and reports it to its client."""


class UnusableError(Exception):
    """The process cannot begin: an exit code and one line for a person."""

    def __init__(self, code: int, line: str, reason: str | None = None) -> None:
        self.code = code
        self.line = line
        self.reason = reason
        super().__init__(line)


@contextmanager
def raising_unusable() -> Generator[None]:
    """Raise any error that keeps the process from starting as an `UnusableError`."""
    try:
        yield
    except ConfigError as error:
        raise UnusableError(CONFIG, f"configuration: {error}") from error
    except GatewayError as error:
        if error.reason == "invalid_params":
            raise UnusableError(CONFIG, error.message) from error
        raise UnusableError(UNAVAILABLE, error.message, error.reason) from error
    except OSError as error:
        raise UnusableError(UNAVAILABLE, f"the home cannot be used ({type(error).__name__})") from error


def find_unusable(failure: BaseException) -> UnusableError | None:
    """Return the reason for which the process cannot begin, out of the groups in which tasks raise it."""
    if not isinstance(failure, BaseExceptionGroup):
        return failure if isinstance(failure, UnusableError) else None
    inner = cast("BaseExceptionGroup[BaseException]", failure).exceptions
    return find_unusable(inner[0]) if len(inner) == 1 else None


async def run_guarded(work: Coroutine[None, None, int]) -> int:
    """Return a process's exit code; a defect is reported by its incident's id. Raises `UnusableError`."""
    try:
        return await work
    except Exception as failure:  # noqa: BLE001  # the last place that can report it, by its id and not by its text
        if (reason := find_unusable(failure)) is not None:
            raise reason from None
        sys.stderr.write(
            f"pioneer: a defect ended the process ({log.incident(failure)}); the log of the home says where\n"
        )
        return DEFECT


HANDOVER_SECONDS = 0.0005
"""After which a thread that works hands the interpreter over to one that waits, usually the loop with a message.

With Python's 5 ms the ping's p95 beside a scan was 14 to 28 ms, with this 4 to 12, for the same processor time
(`python -m benchmarks knowledge`).
"""


def run_process(work: Coroutine[None, None, int], name: str) -> int:
    """Run a process to its end; return its exit code. Why it cannot begin is a line on stderr, under `name`."""
    sys.setswitchinterval(HANDOVER_SECONDS)
    try:
        return asyncio.run(run_guarded(work))
    except UnusableError as error:
        sys.stderr.write(f"{name}: {error.line}\n")
        return error.code
    except KeyboardInterrupt:
        return OK
    finally:
        logs.close()
