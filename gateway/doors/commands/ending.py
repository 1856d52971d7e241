"""The end of a command: the one place that turns its errors into a line and an exit code.

Rule 1: a person never sees a traceback; a defect of the product has an incident in the log.
Rule 2: after a closed pipe or an interruption no message is written.
"""

import argparse
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, cast

from gateway.base import logs
from gateway.base.exit_codes import BROKEN_PIPE, DATA, DEFECT, HUNG_UP, INTERRUPTED, TERMINATED
from gateway.doors.terminal.exits import Stop, code_for, code_of, code_of_system, describe_os_error
from gateway.doors.terminal.screen import plain, prepare, show_error
from protocol.errors import GatewayError, IndexDamaged

ENDINGS = {"SIGTERM": TERMINATED, "SIGHUP": HUNG_UP, "SIGBREAK": HUNG_UP}
"""The exit code of a command that a signal ends; each platform has some of these signals.

SIGBREAK is sent by a closed window on Windows.
"""


class ProcessEnded(BaseException):
    """The end of a command by a signal, as an exception, so that half-done work is cleaned up on the way out."""

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(code)


DAMAGED = "the database is damaged; pioneer doctor names what is hit, and pioneer doctor --fix keeps the rest in use"
_AT = re.compile(r"^(.*) - at `\$\.?([^`]+)`$")
"""The place of a wrong member in a message of the contract's checks."""


def _find_cause(error: BaseException) -> BaseException:
    """Return the first error of a group, however deep, or the error itself: task groups wrap what they raise."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _describe_error(error: BaseException) -> tuple[int, str]:
    """Return the exit code and the message for anything that a command may raise; a defect gets an incident."""
    from gateway.home.starting import UnusableError  # noqa: PLC0415

    if isinstance(error, UnusableError):
        return code_for(error.reason, error.code), error.line
    if isinstance(error, Stop):
        return error.code, error.line
    if isinstance(error, IndexDamaged):
        return code_of(error), DAMAGED
    if isinstance(error, GatewayError) and error.reason != "internal":
        names = f": {', '.join(map(plain, error.candidates))}" if error.candidates else ""
        return code_of(error), _AT.sub(r"\2: \1", error.message).replace("`", "") + names
    if isinstance(error, OSError):
        return code_of_system(error), f"the system says: {describe_os_error(error)}"
    if logs.is_kept():
        return (
            DEFECT,
            f"something is wrong with the program itself; the log has it as {logs.Log('command').incident(error)}",
        )
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__}, {Path(frame.filename).name}:{frame.lineno}"
    return DEFECT, f"something is wrong with the program itself ({where})"


def _drop_output() -> None:
    """Send the rest of stdout to the null device, as its reader is gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@contextmanager
def _ending_in_order() -> Generator[None]:
    """Turn the signals of `ENDINGS` into an exception; those that are ignored stay ignored."""

    def end(number: int, _frame: object) -> NoReturn:
        raise ProcessEnded(ENDINGS[signal.Signals(number).name])

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    known = [signal.Signals[name] for name in ENDINGS if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in known}
    ours = {number: handler for number, handler in before.items() if handler not in {signal.SIG_IGN, None}}
    for number in ours:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)


def _require_text(values: Iterable[object]) -> None:
    """Raise `Stop` for an argument whose bytes are not UTF-8: Python hands such bytes over as surrogates."""
    for value in values:
        if isinstance(value, list):
            _require_text(cast("list[object]", value))
        elif isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
            raise Stop(DATA, "an argument is not UTF-8")


def run_command(run: Callable[[argparse.Namespace], int], given: argparse.Namespace) -> int:
    """Run a command to its end; return the exit code, whatever happens."""
    is_json = getattr(given, "json", False)
    prepare(is_json=is_json)
    try:
        with _ending_in_order():
            _require_text(vars(given).values())
            code = run(given)
            sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001  # the one boundary between a command and the shell
        code = _report_error(_find_cause(error), given.command, is_json=is_json)
    finally:
        logs.close()
    return code


def _report_error(error: BaseException, command: str, *, is_json: bool) -> int:
    """Write the message of an error, where it needs one, and return its exit code."""
    if isinstance(error, BrokenPipeError):
        _drop_output()
        return BROKEN_PIPE
    if isinstance(error, KeyboardInterrupt):
        sys.stderr.write("\n")
        return INTERRUPTED
    if isinstance(error, ProcessEnded):
        return error.code
    if not isinstance(error, Exception):  # an exit on purpose
        raise error
    code, line = _describe_error(error)
    try:
        sys.stderr.write(f"pioneer {command}: {line}\n")
        if is_json:
            show_error(error, line)
        sys.stdout.flush()
    except OSError:  # the line cannot be written either
        _drop_output()
    return code
