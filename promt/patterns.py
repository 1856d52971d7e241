"""Regular expressions that are compiled at their first use.

Rule 1: a process that starts needs hardly any of them; compiling those of reading a message takes an eighth of its
start.
"""

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, cast

_OF_PATTERN: Final = (
    "match",
    "fullmatch",
    "search",
    "findall",
    "finditer",
    "split",
    "sub",
    "subn",
    "flags",
    "groups",
    "groupindex",
)


class LatePattern:
    """Stands for a compiled pattern. Two threads that use it first compile the same twice, which harms nothing."""

    def __init__(self, source: str | Callable[[], str], flags: int) -> None:
        self._source = source
        self._flags = flags

    @cached_property
    def pattern(self) -> str:
        """Return the source of the pattern, under the name that `re.Pattern` has for it."""
        return self._source if isinstance(self._source, str) else self._source()

    def __getattr__(self, name: str) -> Any:
        """Compile the pattern, and answer for it from then on without this call."""
        if name not in _OF_PATTERN:
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        vars(self).update({one: getattr(compiled, one) for one in _OF_PATTERN})
        return getattr(compiled, name)


def compile_late(source: str | Callable[[], str], flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is compiled when it is first used. It is no `re.Pattern`: `re` itself does not take it.

    Words of languages come from files, so that a pattern of such words is given as the function that makes it.
    """
    return cast("re.Pattern[str]", LatePattern(source, flags))
