"""Regular expressions that are compiled at their first use.

Rule 1: a process that starts needs hardly any of them; compiling those of reading a message takes an eighth of its start.
"""

import re
from typing import Any, Final, cast

_OF_PATTERN: Final = (
    "match", "fullmatch", "search", "findall", "finditer", "split", "sub", "subn", "flags", "groups", "groupindex",
)  # fmt: skip


class LatePattern:
    """Stands for a compiled pattern. Two threads that use it first compile the same twice, which harms nothing."""

    def __init__(self, pattern: str, asked: int) -> None:
        self.pattern = pattern
        self._asked = asked

    def __getattr__(self, name: str) -> Any:
        """Compile the pattern, and answer for it from then on without this call."""
        if name not in _OF_PATTERN:
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._asked)
        vars(self).update({one: getattr(compiled, one) for one in _OF_PATTERN})
        return getattr(compiled, name)


def compile_late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is compiled when it is first used. It is no `re.Pattern`: `re` itself does not take it."""
    return cast("re.Pattern[str]", LatePattern(pattern, flags))
