"""Signals of the operating system that ask a process to end."""

import asyncio
import signal
import sys
from collections.abc import Callable


def on_signals(act: Callable[[], object]) -> None:
    """Call `act` in the running loop at each SIGTERM and SIGINT."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        if sys.platform == "win32":  # its loops take no handlers
            signal.signal(number, lambda _number, _frame: loop.call_soon_threadsafe(act) and None)
        else:
            loop.add_signal_handler(number, act)
