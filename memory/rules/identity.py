"""Decides when two facts are the same fact: canonical keys and fingerprints.

Rule 1: pure. What is compared is folded the same way everywhere: NFKC, case, white space, terminal punctuation.
Rule 2: digits and negation are kept: a number or a "not" makes another fact.
"""

import unicodedata
from typing import Any, NamedTuple

import msgspec

from promt.patterns import compile_late
from protocol.base import Scope
from protocol.memory.values import Cardinality, SemanticFields
from protocol.seams.ports import KeyedHash
from protocol.unicode_forms import normalize

ITEM_HEX = 16
"""64 bits of the fingerprint tell apart the members of a set; a scope holds thousands of facts, not billions."""

SINGLE_ATTRIBUTES = frozenset(
    {
        "name",
        "nickname",
        "birthday",
        "age",
        "preferred_language",
        "native_language",
        "time_zone",
        "home",
        "employer",
        "job_title",
        "communication_style",
        "pronouns",
        "email",
        "phone",
        "spouse",
    }
)
"""Attributes of which a subject has one at a time; every other one is a set unless the proposer says otherwise."""

_UNNAMED = ":custom"
"""The end of a key whose attribute has no name."""

_TERMINAL = compile_late(r"[\s.!?\u3002\uff01\uff1f\u2026;,:]+$")
_MARKS = frozenset({"Mn", "Mc"})
"""Vowel signs and tones: in many scripts they alone tell two words apart."""
_SELECTORS = compile_late("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")  # how a character looks, not which it is


class FactIdentity(NamedTuple):
    """The identity of a fact: two with the same fingerprint are one fact."""

    key: str
    """The canonical key: scope, category, subject and attribute; of a set with the member's part of the fingerprint."""
    alias: str | None
    """The name that the caller gave the fact."""
    fingerprint: bytes
    """The keyed hash of key and value, or of key and words where there is no value."""
    text_hash: bytes
    """The keyed hash of the words in their scope, whatever the key is."""
    is_single: bool
    """The key has one value at a time: another one replaces it."""


def fold_text(text: str) -> str:
    """Return the text as it is compared: NFKC, without case, white space as one blank, no punctuation at its end."""
    flat = " ".join(normalize("NFKC", text).casefold().split())
    return _TERMINAL.sub("", flat)


def key_part(text: str) -> str:
    """Return a part of a key: folded, everything but letters and digits of any script as `_`."""
    flat = normalize("NFKC", normalize("NFKC", text).casefold())
    part = ""
    for char in _SELECTORS.sub("", flat):
        if char.isalnum() or (unicodedata.category(char) in _MARKS and not part.endswith("_") and part):
            part += char
        elif not part.endswith("_"):
            part += "_"
    return part.strip("_") or "_"


def cardinality_of(semantic: SemanticFields) -> Cardinality:
    """Return the cardinality that the proposer gives, else that of the attribute in `SINGLE_ATTRIBUTES`."""
    if semantic.cardinality is not None:
        return semantic.cardinality
    return "single" if key_part(semantic.attribute) in SINGLE_ATTRIBUTES else "set"


def value_text(content: str, value: Any) -> str:
    """Return a fact's value as text, JSON where it is no string; its words where it has no value."""
    if value is None:
        return content
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()


def identify(
    scope: Scope, semantic: SemanticFields, content: str, value: Any, alias: str | None, keyed: KeyedHash
) -> FactIdentity:
    """Return the identity of a proposed fact in a scope."""
    subject = semantic.subject
    if semantic.subject_key:
        subject = f"{subject}.{key_part(semantic.subject_key)}"
    attribute = key_part(semantic.attribute)
    if attribute == "custom" and semantic.custom_attribute:
        attribute = key_part(semantic.custom_attribute)
    base = f"{scope.kind}:{scope.key}:{semantic.category}:{subject}:{attribute}"
    named = key_part(alias) if alias is not None else None
    is_single = named is not None or cardinality_of(semantic) == "single"
    return _identity(scope, base, named, content, value, keyed, is_single=is_single)


def identity_at(
    scope: Scope, key: str, alias: str | None, content: str, value: Any, keyed: KeyedHash, *, is_single: bool
) -> FactIdentity:
    """Return the identity of a fact that was stored under a key, which stays as it is.

    Its hashes are made anew: a home with another secret may have stored it.
    """
    base = key
    if alias is not None:
        base = key.removesuffix(f":{alias}")
    elif not is_single:
        base = base_of(key)
    return _identity(scope, base, alias, content, value, keyed, is_single=is_single)._replace(key=key)


def identity_with(known: FactIdentity, scope: Scope, content: str, value: Any, keyed: KeyedHash) -> FactIdentity:
    """Return the identity that a fact gets by other words or another value.

    A single one keeps its key; a fact of a set becomes another member of it.
    """
    found = identity_at(scope, known.key, known.alias, content, value, keyed, is_single=known.is_single)
    if known.is_single:
        return found
    return found._replace(key=f"{base_of(known.key)}:{found.fingerprint.hex()[:ITEM_HEX]}")


def base_of(key: str) -> str:
    """Return the key of a set, given that of a member."""
    return key.rpartition(":")[0]


def _words(content: str) -> str:
    return fold_text(content) or content.strip()  # folding leaves nothing of mere punctuation


def text_hash_of(scope: Scope, content: str, keyed: KeyedHash) -> bytes:
    """Return the hash of the words in a scope, the same whatever category or key they have."""
    return keyed.digest("text", f"{scope.kind}:{scope.key}\n{_words(content)}")


def key_hash_of(scope: Scope, key: str, keyed: KeyedHash) -> bytes:
    """Return the hash of a key in a scope that a tombstone keeps."""
    return keyed.digest("key", f"{scope}\n{key}")


def _identity(
    scope: Scope, base: str, named: str | None, content: str, value: Any, keyed: KeyedHash, *, is_single: bool
) -> FactIdentity:
    """Return the identity of words and value under a key without the member's part; `named` is the folded alias."""
    words = _words(content)
    said = words if value is None else fold_text(value_text(content, value))
    text_hash = text_hash_of(scope, content, keyed)
    if named is not None:  # two names are two facts even with the same words; a name with other words is a change
        fingerprint = keyed.digest("fact", f"{base}:{named}\n{said}\n{words}")
        return FactIdentity(f"{base}:{named}", named, fingerprint, text_hash, is_single=True)
    if base.endswith(_UNNAMED):  # without a name of the attribute only the words tell what the value is of
        said = f"{said}\n{words}"
    fingerprint = keyed.digest("fact", f"{base}\n{said}")
    if is_single:
        return FactIdentity(base, None, fingerprint, text_hash, is_single=True)
    return FactIdentity(f"{base}:{fingerprint.hex()[:ITEM_HEX]}", None, fingerprint, text_hash, is_single=False)
