"""Signals of the operating system that ask a process to end."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable

from gateway.base.exit_codes import OK


def on_signals(act: Callable[[], object]) -> None:
    """Call `act` in the running loop at each SIGTERM and SIGINT."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        if sys.platform == "win32":  # its loops take no handlers
            signal.signal(number, lambda _number, _frame: loop.call_soon_threadsafe(act) and None)
        else:
            loop.add_signal_handler(number, act)


async def wait_for_signal() -> None:
    """Return at the first SIGTERM or SIGINT; a second one ends the process at once, with exit code 0."""
    await expect_signal().wait()


def expect_signal() -> asyncio.Event:
    """Return an event that the first SIGTERM or SIGINT from now on sets; a second one ends the process at once."""
    asked = asyncio.Event()

    def act() -> None:
        if asked.is_set():
            os._exit(OK)
        asked.set()

    on_signals(act)
    return asked
