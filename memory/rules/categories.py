"""Every fact about a category of records, one row a category.

Rule 1: a row here and the name in `protocol.record.Category` are all that a new category needs; the rest is derived.
Rule 2: pure, and without a word of any language: the words by which a category is recognised are data of `promt/`.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal

from msgspec import Struct

from protocol.record import Category, Sensitivity


class CategoryFacts(Struct, frozen=True):
    """The facts of one category. A row names only those that differ from an ordinary fact about the user."""

    default_scope: Literal["user", "workspace"] = "user"
    """The scope of a record whose caller names none."""
    level: Sensitivity = "normal"
    """The least sensitivity of a record."""
    is_obeyed: bool = False
    """A model obeys such a record: it is kept only in the user's own words."""
    fades: bool = True
    """Its records have a lifetime. `tier_days` of schema.sql lists the categories that have none: a test compares
    them."""
    standing_order: int | None = None
    """Its place in the block that stands in every prompt, the smallest first; None where it is only recalled."""
    profile_order: int | None = None
    """Its place in the answer to "what do you know about me", the smallest first; None where it is no part of it. No
    record has words of that question, so that a search would find none."""


CATEGORIES: Final[Mapping[Category, CategoryFacts]] = {
    "identity": CategoryFacts(level="personal", fades=False, standing_order=2, profile_order=0),
    "communication_style": CategoryFacts(is_obeyed=True, fades=False, standing_order=1, profile_order=4),
    "recurring_instruction": CategoryFacts(is_obeyed=True, fades=False, standing_order=0, profile_order=5),
    "preference": CategoryFacts(profile_order=1),
    "project_policy": CategoryFacts(default_scope="workspace", is_obeyed=True),
    "constraint": CategoryFacts(default_scope="workspace", is_obeyed=True, fades=False),
    "project_decision": CategoryFacts(default_scope="workspace"),
    "procedure": CategoryFacts(default_scope="workspace", is_obeyed=True),
    "project_fact": CategoryFacts(default_scope="workspace"),
    "todo": CategoryFacts(),
    "relationship": CategoryFacts(level="personal", profile_order=3),
    "biography": CategoryFacts(level="personal", profile_order=2),
    "custom": CategoryFacts(),
}
PROJECT_CATEGORIES: Final = frozenset(name for name, facts in CATEGORIES.items() if facts.default_scope == "workspace")
PROJECT_RULES: Final[tuple[Category, ...]] = tuple(
    name for name in CATEGORIES if name in {"project_policy", "constraint"}
)
"""Categories that hold in a project, whatever a message is about."""
OBEYED: Final = frozenset(name for name, facts in CATEGORIES.items() if facts.is_obeyed)


def _order_categories(place_of: Callable[[CategoryFacts], int | None]) -> tuple[Category, ...]:
    """Return the categories that have a place, in the order of their places."""
    places: list[tuple[int, Category]] = [
        (place, name) for name, facts in CATEGORIES.items() if (place := place_of(facts)) is not None
    ]
    return tuple(name for _, name in sorted(places))


STANDING: Final = _order_categories(lambda facts: facts.standing_order)
_BRIEF_FIRST = (*STANDING, *PROJECT_RULES)
BRIEF_ORDER: Final[tuple[Category, ...]] = (*_BRIEF_FIRST, *(name for name in CATEGORIES if name not in _BRIEF_FIRST))
"""The order of every brief: the standing categories, then the project's rules, then the rest as they are listed."""
ABOUT_THE_USER: Final = _order_categories(lambda facts: facts.profile_order)
