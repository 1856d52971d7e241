"""When two facts are the same fact."""

import hashlib
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.rules.identity import FactIdentity, cardinality_of, fold_text, identify, key_part, value_text
from protocol.base import Scope
from protocol.memory.values import SemanticFields

USER = Scope(kind="user", key="default")
NAME = SemanticFields(category="identity", attribute="name")
LIKES = SemanticFields(category="preference", attribute="food")


class Keyed:
    def digest(self, domain: str, text: str) -> bytes:
        return hashlib.sha256(f"{domain}\0{text}".encode("utf-8", "surrogatepass")).digest()


def identity(
    content: str, *, semantic: SemanticFields = LIKES, scope: Scope = USER, value: Any = None, alias: str | None = None
) -> FactIdentity:
    return identify(scope, semantic, content, value, alias, Keyed())


SAME = [
    ("Likes tea", "likes  TEA."),
    ("Likes tea", "Likes\ttea \n"),
    ("Likes tea", "Likes tea?!…"),
    ("ｌｉｋｅｓ ｔｅａ", "likes tea"),  # full width
    ("Straße", "STRASSE"),
    ("好きです。", "好きです"),
    ("cafe\u0301", "café"),
]
OTHER = [
    ("Has 3 dogs", "Has 2 dogs"),
    ("Likes tea", "Does not like tea"),
    ("Likes tea", "Likes no tea"),
    ("Version 1.2", "Version 12"),
    ("-5 degrees", "5 degrees"),
    ("Likes C++", "Likes C"),
    ("Nicht rauchen", "Rauchen"),
    ("Не любит чай", "Любит чай"),
    ("10:30", "10:31"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_folding_keeps_the_same_together(one: str, other: str) -> None:
    assert fold_text(one) == fold_text(other)
    assert identity(one).fingerprint == identity(other).fingerprint
    assert identity(one).text_hash == identity(other).text_hash


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_digits_and_negation_make_another_fact(one: str, other: str) -> None:
    assert identity(one).fingerprint != identity(other).fingerprint
    assert identity(one).text_hash != identity(other).text_hash
    assert identity(one).key != identity(other).key


@given(st.text(max_size=60))
def test_folding_is_stable(text: str) -> None:
    assert fold_text(fold_text(text)) == fold_text(text)
    assert fold_text(text.upper().lower()) == fold_text(text.upper())
    assert not fold_text(text).endswith((" ", ".", "!", "?"))


@given(st.text(max_size=60))
def test_a_key_part_is_letters_digits_and_underscores(text: str) -> None:
    part = key_part(text)
    assert part
    assert all(char == "_" or unicodedata.category(char)[0] in "LNM" for char in part)
    assert key_part(part) == part


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("My  Editor!", "my_editor"),
        ("любимый чай", "любимый_чай"),
        ("好きな 色", "好きな_色"),
        ("اللون", "اللون"),
        ("!!!", "_"),
        ("a:b", "a_b"),
        ("Ⅳ", "iv"),
    ],
)
def test_every_script_is_kept(text: str, part: str) -> None:
    assert key_part(text) == part


def test_a_single_attribute_has_one_key_whatever_is_said() -> None:
    one, other = identity("I am Anna", semantic=NAME), identity("I am Berta", semantic=NAME)
    assert one.key == other.key == "user:default:identity:current_user:name"
    assert one.fingerprint != other.fingerprint
    assert one.is_single
    assert one.alias is None


def test_a_set_attribute_has_a_key_for_each_fact() -> None:
    one, other = identity("Likes tea"), identity("Likes jam")
    assert one.key != other.key
    assert one.key.startswith("user:default:preference:current_user:food:")
    assert not one.is_single


@pytest.mark.parametrize(
    ("semantic", "cardinality"),
    [
        (NAME, "single"),
        (LIKES, "set"),
        (SemanticFields(attribute="Time  Zone"), "single"),
        (SemanticFields(attribute="name", cardinality="set"), "set"),
        (SemanticFields(attribute="friend", cardinality="single"), "single"),
        (SemanticFields(), "set"),
    ],
)
def test_cardinality(semantic: SemanticFields, cardinality: str) -> None:
    assert cardinality_of(semantic) == cardinality


@pytest.mark.parametrize("other", [Scope(kind="workspace", key="default"), Scope(kind="workspace", key="w2")])
def test_nothing_is_the_same_across_scopes(other: Scope) -> None:
    here, there = identity("Likes tea", alias="drink"), identity("Likes tea", alias="drink", scope=other)
    assert here.key != there.key
    assert here.fingerprint != there.fingerprint
    assert here.text_hash != there.text_hash


def test_an_alias_names_the_fact() -> None:
    found = identity("vim", alias="My Editor")
    assert (found.alias, found.is_single) == ("my_editor", True)
    assert found.key == "user:default:preference:current_user:food:my_editor"
    assert identity("vim", alias="home").fingerprint != identity("vim", alias="work").fingerprint
    assert identity("vim", alias="home").text_hash == identity("vim", alias="work").text_hash


def test_subjects_and_own_attributes_are_parts_of_the_key() -> None:
    semantic = SemanticFields(
        category="relationship",
        subject="person",
        subject_key="Anna K.",
        custom_attribute="Shoe size",
        cardinality="single",
    )
    assert identity("38", semantic=semantic).key == "user:default:relationship:person.anna_k:shoe_size"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "said"), ("blue", "blue"), (3, "3"), ({"b": 1, "a": [2]}, '{"a":[2],"b":1}'), (False, "false")],
)
def test_what_a_fact_says_is_its_value(value: Any, text: str) -> None:
    assert value_text("said", value) == text


def test_the_value_decides_the_fingerprint_and_not_the_wording() -> None:
    assert identity("I am 30", value=30).fingerprint == identity("My age: thirty", value=30).fingerprint
    assert identity("My age", value=30).fingerprint != identity("My age", value=31).fingerprint
