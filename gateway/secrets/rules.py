"""Rules for credentials: those of `rules.toml`, and the words of the checks, which stand in `words.toml`.

Rule 1: the tables are data; a check that a row names is a function of one of the modules of checks.
Rule 2: they are read when a text is first looked through: starting costs nothing.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Literal, TypeAlias, cast

import msgspec

from gateway.secrets import checks, ids, numbers, seeds
from gateway.secrets.checks import Range, RuleMatch
from gateway.secrets.engine import Pattern
from gateway.secrets.tables import read_table
from promt.patterns import compile_late

View: TypeAlias = Literal["token", "text", "prose"]
"""The form of the text in which a rule looks: the head of `rules.toml` says what each means."""
Check: TypeAlias = Callable[[RuleMatch], Range | None]

WALLET = "wallet"
"""The group of the rule that is asked for where the lengths of a text's words allow it."""
_PART = compile_late(r"\{([a-z_]+)\}")


class Rule(msgspec.Struct, frozen=True):
    """A kind of secret.

    It is searched for only where one of the keywords and `needs` match. Keywords are short patterns on the lower case;
    a rule without any is always searched for.
    """

    kind: str
    view: View
    keywords: tuple[str, ...]
    pattern: Pattern
    check: Check
    needs: Pattern | None = None
    group: str = ""


class _Parts(dict[str, str]):
    """The parts of patterns by name, each complete: what it names in braces is put in."""

    def fill(self, text: str) -> str:
        """Return a text with its parts put in."""
        return _PART.sub(lambda found: self[found[1]], text)

    def keywords(self, text: str) -> tuple[str, ...]:
        """Return the hints of a row; of one part alone they are its alternatives."""
        filled = self.fill(text)
        return tuple((filled.replace("|", " ") if _PART.fullmatch(text) else filled).split())


@cache
def find_rules() -> tuple[Rule, ...]:
    """Return every rule, most telling first."""
    table = read_table("rules")
    parts = _Parts()
    for name, text in table["parts"].items():
        parts[name] = parts.fill(text)  # a part names earlier ones
    checked: dict[str, Any] = {**vars(seeds), **vars(numbers), **vars(ids), **vars(checks)}
    needed = {name: Pattern(parts[name]) for name in ("long", "two_figures")}
    return tuple(
        Rule(
            kind,
            cast("View", view),
            parts.keywords(hints),
            Pattern(parts.fill(pattern)),
            checked[check],
            needed[needs[0]] if needs else None,
            group,
        )
        for group, rows in table["rules"].items()
        for kind, view, hints, check, pattern, *needs in rows
    )
