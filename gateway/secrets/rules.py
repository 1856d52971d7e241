"""Rules for credentials: those of `rules.toml`, and the words of the checks, which stand in `words.toml`.

Rule 1: the tables are data; a check that a row names is a function of one of the modules of checks.
Rule 2: they are read when a text is first looked through: starting costs nothing.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Literal, TypeAlias, cast

import msgspec

from gateway.secrets import checks, ids, locks, numbers, seeds
from gateway.secrets.checks import Range, RuleMatch
from gateway.secrets.engine import Pattern
from gateway.secrets.tables import find_parts, read_table

View: TypeAlias = Literal["token", "text", "prose"]
"""The form of the text in which a rule looks: the head of `rules.toml` says what each means."""
Check: TypeAlias = Callable[[RuleMatch], Range | None]

WALLET = "wallet"
"""The group of the rule that is asked for where the lengths of a text's words allow it."""


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


@cache
def find_rules() -> tuple[Rule, ...]:
    """Return every rule, most telling first."""
    table, parts = read_table("rules"), find_parts()
    checked: dict[str, Any] = {**vars(seeds), **vars(locks), **vars(numbers), **vars(ids), **vars(checks)}
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
