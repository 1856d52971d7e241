"""The one place that turns what went wrong in a command into a line and an exit code.

Rule 1: a person never sees a traceback; what is our own defect has an incident in the log.
Rule 2: who stops reading or stops waiting is no error worth a word.
"""

import argparse
import os
import sys
from collections.abc import Callable
from typing import cast

from gateway import logs
from gateway.commands.exits import BROKEN_PIPE, DEFECT, INTERRUPTED, IO_ERROR, Stop, code_for, code_of
from gateway.commands.terminal import prepare, show_error
from protocol.errors import GatewayError


def _cause(error: BaseException) -> BaseException:
    """What went wrong first: a task group wraps it."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _told(error: BaseException) -> tuple[int, str]:
    """The code and the line for anything that a command may raise."""
    from gateway.foundations import UnusableError  # noqa: PLC0415

    if isinstance(error, UnusableError):
        return code_for(error.reason, error.code), error.line
    if isinstance(error, Stop):
        return error.code, error.line
    if isinstance(error, GatewayError) and error.reason != "internal":
        return code_of(error), error.message
    if isinstance(error, OSError):
        return IO_ERROR, f"the system says: {error.strerror or type(error).__name__}"
    return (
        DEFECT,
        f"something is wrong with the program itself; the log has it as {logs.Log('command').incident(error)}",
    )


def _hush() -> None:
    """Nobody reads us any more: what is still buffered goes nowhere, without a word."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def guarded(run: Callable[[argparse.Namespace], int], given: argparse.Namespace) -> int:
    """Run a command to its end; return the exit code, whatever happens."""
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
        cause = _cause(error)
        code, line = _told(cause)
        sys.stderr.write(f"pioneer {given.command}: {line}\n")
        if getattr(given, "json", False):
            show_error(cause, line)
    finally:
        logs.close()
    return code
