"""How a command ends: exit codes, and the one place that turns what went wrong into a line and a code.

Rule 1: the codes are those of sysexits.h, where it has one; docs/cli.md lists them, and a test compares.
Rule 2: a person never sees a traceback; what is our own defect has an incident in the log.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping

from protocol.errors import ErrorReason, GatewayError

OK = 0
NEGATIVE = 1
"""Nothing was found, or the answer is no."""
USAGE = 64
DATA = 65
NO_INPUT = 66
UNAVAILABLE = 69
DEFECT = 70
CANNOT_WRITE = 73
IO_ERROR = 74
TRY_AGAIN = 75
REFUSED = 77
CONFIG = 78
INTERRUPTED = 130
BROKEN_PIPE = 141

OF_REASON: Mapping[ErrorReason, int] = {
    "invalid_params": USAGE,
    "not_found": NEGATIVE,
    "scope_out_of_context": REFUSED, "write_refused": REFUSED, "memory_write_disabled": REFUSED,
    "memory_ignored": REFUSED, "forbidden": REFUSED,
    "conflict": DATA, "already_decided": DATA, "idempotency_mismatch": DATA, "checksum_mismatch": DATA,
    "version_too_new": DATA, "message_too_large": DATA,
    "storage_full": CANNOT_WRITE, "storage_read_only": CANNOT_WRITE,
    "turn_in_progress": TRY_AGAIN, "home_locked": TRY_AGAIN, "overloaded": TRY_AGAIN,
    "internal": DEFECT,
}  # fmt: skip
"""What a command ends with for an error of the contract; for every other one: unavailable."""


class Stop(Exception):
    """A command cannot go on: an exit code, and a line for a person."""

    def __init__(self, code: int, line: str) -> None:
        self.code = code
        self.line = line
        super().__init__(line)


def code_of(error: GatewayError) -> int:
    """The exit code for an error of the contract; a store that fails is told from one that is busy."""
    if getattr(error, "trouble", None) in {"io_error", "database_moved"}:
        return IO_ERROR
    return OF_REASON.get(error.reason, UNAVAILABLE)


def _told(error: BaseException) -> tuple[int, str]:
    """The code and the line for anything that a command may raise."""
    from gateway.foundations import UnusableError  # noqa: PLC0415

    if isinstance(error, (Stop, UnusableError)):
        return error.code, error.line
    if isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        return _told(error.exceptions[0])
    if isinstance(error, GatewayError) and error.reason != "internal":
        return code_of(error), error.message
    if isinstance(error, OSError):
        return IO_ERROR, f"the system says: {error.strerror or type(error).__name__}"
    from gateway.logs import Log  # noqa: PLC0415

    return DEFECT, f"something is wrong with the program itself; the log has it as {Log('command').incident(error)}"


def _hush() -> None:
    """Nobody reads us any more: what is still buffered goes nowhere, without a word."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def guarded(run: Callable[[argparse.Namespace], int], given: argparse.Namespace) -> int:
    """Run a command to its end; return the exit code, whatever happens."""
    from gateway import logs  # noqa: PLC0415
    from gateway.commands.terminal import prepare, show_error  # noqa: PLC0415

    prepare(is_json=getattr(given, "json", False))
    try:
        code = run(given)
        sys.stdout.flush()
    except BrokenPipeError:
        _hush()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001  # the one boundary between a command and the shell
        code, line = _told(error)
        sys.stderr.write(f"pioneer {given.command}: {line}\n")
        if getattr(given, "json", False):
            show_error(error, line)
    finally:
        logs.close()
    return code
