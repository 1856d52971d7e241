"""Bytes to lines, without input or output.

Rule 1: any split of the same bytes gives the same frames.
Rule 2: a line that is too long costs no memory: it is skipped to its newline and reported once.
"""

from typing import Final, Literal, TypeAlias

TOO_LONG: Final = "too_long"
Frame: TypeAlias = bytes | Literal["too_long"]


class LineReceiver:
    """Collects bytes into whole lines, without the newline and a carriage return before it.

    Blank lines are dropped.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that these bytes complete."""
        *ends, rest = data.split(b"\n")
        frames: list[Frame] = []
        for end in ends:
            self._add(end)
            frames += self._line()
        self._add(rest)
        return frames

    def close(self) -> list[Frame]:
        """Return the last line, when the input ended without a newline."""
        return self._line()

    def _add(self, part: bytes) -> None:
        if self._skipping or not part:
            return
        self._parts.append(part)
        self._size += len(part)
        if self._size > self.max_bytes + 1:  # one more may be the carriage return
            self._skipping = True
            self._parts.clear()

    def _line(self) -> list[Frame]:
        line = b"".join(self._parts).removesuffix(b"\r")
        is_too_long = self._skipping or len(line) > self.max_bytes
        self._parts.clear()
        self._size = 0
        self._skipping = False
        if is_too_long:
            return [TOO_LONG]
        return [line] if line.strip() else []
