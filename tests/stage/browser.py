"""A Chromium of the system, driven by playwright. Where there is none, tests that need it are skipped."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = os.environ.get("PIONEER_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
"""The program; nothing is fetched."""
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
"""The options that keep it alone on this machine."""

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium")


@contextmanager
def open_browser(*flags: str, **how: Any) -> Iterator[Any]:
    """Yield a browser context with a folder of its own, which goes with it."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # heavy, and only where there is a Chromium

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, sync_playwright() as play:
        context = play.chromium.launch_persistent_context(
            folder, executable_path=CHROMIUM, args=[*FLAGS, *flags], headless=True, **how
        )
        try:
            yield context
        finally:
            context.close()
