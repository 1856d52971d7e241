"""The clock of every test that has one: it stands still until a test moves it."""

from typing import Final

START: Final = 1_700_000_000_000


class SetClock:
    """A clock that stands until it is set."""

    def __init__(self, at: int = START) -> None:
        self.at = at
        self.seconds = at / 1000
        """What is monotonic goes its own way: a test that moves the one leaves the other."""

    def now(self) -> int:
        return self.at

    def monotonic(self) -> float:
        return self.seconds
