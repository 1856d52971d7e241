"""The clock of every test that has one: it stands still until a test moves it."""

from typing import Final

START: Final = 1_700_000_000_000


class SetClock:
    """A clock that stands until it is set."""

    def __init__(self, at: int = START) -> None:
        self.at = at
        self.seconds = 0.0
        """The seconds that pass on the monotonic clock alone, while the date stays."""

    def now(self) -> int:
        return self.at

    def monotonic(self) -> float:
        return self.at / 1000 + self.seconds
