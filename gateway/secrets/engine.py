r"""The engine of the secret rules: google-re2, linear in the text whatever the text is.

Rule 1: the one place that knows the library, which is imported, and a pattern compiled, when first used: starting costs
nothing.
Rule 2: pattern and text are UTF-8 seen as bytes: a letter beyond ASCII is two or more bytes above 0x7f, so a class
cannot hold one (alternatives can), and for `\b` it is no letter.
"""

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, TypeAlias

Match: TypeAlias = tuple[int, int, int]
"""The beginning of a match, and both ends of its first group that took part (without groups: of the match)."""

MAX_BYTES = 4 << 20
"""The memory of one pattern's automaton; beyond it the engine goes on in less, more slowly."""

WINDOW_BYTES = 512
"""The automaton of many patterns has a state for each set of them that it met: it stays small when it begins anew
often."""
MAX_HINT_BYTES = 48
"""No hint matches more than this, so none is lost between two windows."""


@cache
def _library() -> tuple[Any, Any]:
    # 5 ms that the start of a process does not need
    import re2  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

    library: Any = re2
    options = library.Options()
    options.encoding = library.Options.Encoding.LATIN1
    options.log_errors = False  # its log is the standard error stream; a bad pattern is an exception anyway
    options.max_mem = MAX_BYTES
    return library, options


class Pattern:
    """A regular expression in RE2's dialect: no look-around, no back-reference, repeats of at most 1,000."""

    def __init__(self, source: str | Callable[[], str]) -> None:
        self._source = source

    @property
    def source(self) -> str:
        """Return the expression; a function of words of a table is called for it."""
        return self._source if isinstance(self._source, str) else self._source()

    @cached_property
    def _compiled(self) -> Any:
        library, options = _library()
        return library.compile(self.source.encode(), options)

    def find(self, data: bytes, start: int = 0) -> Match | None:
        """Return the first match at or after `start`, in bytes; None without one."""
        m = self._compiled.search(data, start)
        if m is None:
            return None
        for group in range(1, self._compiled.groups + 1):
            if m.start(group) >= 0:
                return m.start(), m.start(group), m.end(group)
        return m.start(), m.start(), m.end()

    def occurs(self, text: str) -> bool:
        """Return whether the pattern matches somewhere; `^` and `$` are the ends of the text."""
        return self._compiled.search(text.encode()) is not None


class Hints:
    """A set of short patterns that are searched for in one pass over a text."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns

    @cached_property
    def _set(self) -> Any:
        library, options = _library()
        hints = library.Set.SearchSet(options)
        for pattern in self._patterns:
            hints.Add(pattern.encode())
        hints.Compile()
        return hints

    def present(self, data: bytes) -> set[int]:
        """Return the places in the list of the patterns that match."""
        found: set[int] = set()
        for start in range(0, len(data), WINDOW_BYTES):
            found.update(self._set.Match(data[start : start + WINDOW_BYTES + MAX_HINT_BYTES]) or ())
        return found

    def matching(self, data: bytes) -> Sequence[int]:
        """Return the places in the list of the patterns that match, however long the match is.

        This is for patterns of which few texts have any.
        """
        return self._set.Match(data) or ()
