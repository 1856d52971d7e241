"""Decides the sensitivity of a fact: personal, regulated, or never stored.

Rule 1: the scanner that wiring hands in finds credentials; only the consequences of its finds are decided here.
Rule 2: pure.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from memory.rules.categories import CATEGORIES
from promt.language.reader import either
from promt.patterns import compile_late
from protocol.memory.values import SensitivityHint
from protocol.record import Category, Sensitivity
from protocol.seams.ports import SecretSpan
from protocol.unicode_forms import normalize

NUMBER_KINDS = frozenset({"credit_card", "iban", "national_id", "social_security_number"})
"""The scanner's kinds of numbers of a person's card, account or identity: like credentials, they are never kept."""
LABEL_ADVICE = (
    "Numbers of cards, bank accounts and ids are never kept. Keep a label instead, such as \u201cthe blue card\u201d."
)
"""The sentence for a person whose number was refused."""
CREDENTIAL_FOUND = "a credential of this kind was found"

_REGULATED = compile_late(
    lambda: (
        rf"(?<!\w)(?:{either('sensitivity', 'regulated', spaced=True)})(?!\w)"
        rf"|{either('sensitivity', 'regulated', spaced=False)}"
    ),
    re.IGNORECASE,
)
"""Words about health, and about the numbers of accounts and identity papers."""

_UNSEEN = compile_late(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff"
    "\U000e0000-\U000e007f]"
)


class Findings(NamedTuple):
    """The sensitive contents of texts."""

    secret_kinds: list[str]
    is_regulated: bool


def clean(text: str) -> str:
    """Return the text without control, bidi and tag characters; line breaks and tabs stay."""
    return _UNSEEN.sub("", text)


def clean_value(value: Any) -> Any:
    """Return a JSON value with its strings and the names of its members cleaned."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [clean_value(entry) for entry in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {clean(name): clean_value(entry) for name, entry in cast("dict[str, Any]", value).items()}
    return value


def judge(texts: Sequence[str], spans: Sequence[SecretSpan]) -> Findings:
    """Return the sensitive contents of texts, given the spans that the scanner found in them."""
    kinds = sorted({span.kind for span in spans})
    is_regulated = any(_REGULATED.search(normalize("NFKC", text)) for text in texts)
    return Findings(kinds, is_regulated)


def level_of(
    declared: Sensitivity | None, hint: SensitivityHint, category: Category, *, is_regulated: bool
) -> Sensitivity:
    """Return the strictest level of those that were declared, hinted, found, or belong to the category."""
    if "regulated" in {declared, hint} or is_regulated:
        return "regulated"
    if "personal" in {declared, hint} or CATEGORIES[category].level == "personal":
        return "personal"
    return "normal"
