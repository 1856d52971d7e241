"""A den whose gateways read their time from a file that the test moves."""

from pathlib import Path
from typing import Any

from spawned import Den

HOUR = 3_600_000
DAY = 24 * HOUR
START = 1_790_000_000_000


class TimedDen(Den):
    """A den with a clock of its own."""

    def __init__(self, folder: Path, **how: Any) -> None:
        super().__init__(folder, **how)
        self.clock = folder / "clock"
        self.now = START
        self.set(START)

    def set(self, now: int) -> None:
        """Set the clock."""
        self.now = now
        fresh = self.clock.with_name("clock.new")  # a gateway reads the file at any moment
        fresh.write_text(str(now), encoding="utf-8")
        fresh.replace(self.clock)

    def forward(self, ms: int) -> None:
        """Move the clock."""
        self.set(self.now + ms)

    def command(self) -> list[str]:
        """Return the command that a desktop app would spawn, with the clock file."""
        return [*super().command(), "--clock-file", str(self.clock)]
