"""A category is one row: the table against the contract, and nothing else in the product that lists categories."""

import ast
import re
from pathlib import Path
from typing import get_args

from house_code import MODULES, ROOT, name_of, nodes_of, text_of

from memory.rules.categories import ABOUT_THE_USER, BRIEF_ORDER, CATEGORIES, STANDING
from memory.rules.scopes import USER, default_of
from memory.rules.sensitivity import level_of
from protocol.base import Scope
from protocol.record import Category

NAMES = frozenset(get_args(Category))
WORKSPACE = Scope(kind="workspace", key="ws")
PLACES = {"memory/rules/categories.py", "protocol/record.py"}
"""What is touched for a new category."""
KINDS_OF_STATEMENTS = {"memory/extraction/rule_extraction.py", "memory/extraction/wordings.py"}
"""Tables of the kinds of statements that a rule finds, two of which are named like a category."""


def test_the_table_has_a_row_for_each_name_of_the_contract() -> None:
    assert set(CATEGORIES) == NAMES == set(BRIEF_ORDER)


def test_what_follows_from_a_row_follows_for_every_category() -> None:
    for name, facts in CATEGORIES.items():
        assert default_of([USER, WORKSPACE], name, "unknown") == (
            {"user": USER, "workspace": WORKSPACE}[facts.default_scope],
            True,
        )
        assert level_of(None, "none", name, is_regulated=False) == facts.level


def test_no_two_categories_have_one_place_in_an_order() -> None:
    for order in (STANDING, ABOUT_THE_USER):
        assert len(set(order)) == len(order) > 1
    standing = [facts.standing_order for facts in CATEGORIES.values() if facts.standing_order is not None]
    profile = [facts.profile_order for facts in CATEGORIES.values() if facts.profile_order is not None]
    assert sorted(standing) == list(range(len(STANDING)))
    assert sorted(profile) == list(range(len(ABOUT_THE_USER)))


def test_the_index_of_standing_records_and_its_statement_name_the_standing_categories() -> None:
    """SQLite takes a partial index only for a statement with the very terms of the index, so both list them."""
    wanted = f"category IN {STANDING}"
    for name in ("schema.sql", "queries.sql"):
        found = re.findall(r"category IN \('.*?\)", (ROOT / "memory" / name).read_text(encoding="utf-8"))
        assert found == [wanted]


def test_the_schema_names_the_categories_that_never_fade() -> None:
    schema = (ROOT / "memory" / "schema.sql").read_text(encoding="utf-8")
    lasting = ",".join(name for name, facts in CATEGORIES.items() if not facts.fades)
    assert f"instr(',{lasting},', ',' || category || ',') > 0 THEN 0" in schema


def listed_in(path: Path) -> list[int]:
    """Lines of displays, tuples and dictionaries that list two categories or more by their names."""
    found: list[int] = []
    for node in nodes_of(path):
        parts = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        names = {part.value for part in parts if isinstance(part, ast.Constant)} & NAMES
        if len(names) > 1:
            assert isinstance(node, ast.expr)
            found.append(node.lineno)
    return found


def test_nothing_else_in_the_product_lists_categories() -> None:
    naming = [path for path in MODULES if sum(name in text_of(path) for name in NAMES) > 1]  # no other is parsed
    found = {name_of(path): lines for path in naming if (lines := listed_in(path))}
    assert set(found) - PLACES == KINDS_OF_STATEMENTS
