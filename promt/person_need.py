"""Separates prompts that are answered better by one who knows the person from prompts that need nothing of them.

Each language gives examples of both kinds. A naive Bayes over their words weighs another prompt: small words ("my",
"should we", "explain") tell most, so that some hundred examples are enough, and no model takes part.

Rule 1: the examples are data; no word of any language stands here.
Rule 2: pure, and linear in the text; the callers bound its length.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import chain, pairwise

from promt.language.reader import rows

BEGINNING = 4
"""Letters of a longer word that count as a word of their own: endings differ, and examples are few."""
PIECES = (1, 2, 3)
"""The lengths of the pieces of words of scripts without blanks."""
FIRST_UNSPACED = "\u2e80"  # of the scripts of East Asia; Thai, which writes no blanks either, comes before
THAI = ("\u0e00", "\u0e7f")
SMOOTHING = 0.5  # added to each count: a feature that one kind lacks is rare in it, not impossible
_words_of = re.compile(r"\w+").findall


def _is_unspaced(word: str) -> bool:
    return any(char >= FIRST_UNSPACED or THAI[0] <= char <= THAI[1] for char in word)


def _features(text: str) -> list[str]:
    """Return the words of a text, neighbours as pairs, beginnings of words, and pieces where there are no blanks."""
    words = _words_of(text.casefold())
    found = words + [f"{one} {other}" for one, other in pairwise(["", *words, ""])]
    found += [f"{word[:BEGINNING]}*" for word in words if len(word) > BEGINNING]
    if not text.isascii():
        for word in filter(_is_unspaced, words):
            found += [word[start : start + size] for size in PIECES for start in range(len(word) - size + 1)]
    return found


def _counts(key: str) -> tuple[Counter[str], int]:
    """Return in how many examples of a kind each feature stands, and how many examples there are."""
    examples = [line for text in rows("examples", key) for line in text.splitlines() if line]
    return Counter(chain.from_iterable([set(_features(line)) for line in examples])), len(examples)


@cache
def _weights() -> Mapping[str, float]:
    """Return what each feature of an example adds to the log odds that the person matters."""
    (personal, of_personal), (general, of_general) = _counts("personal"), _counts("general")
    both = math.log((of_general + 2 * SMOOTHING) / (of_personal + 2 * SMOOTHING))
    logs = [math.log(count + SMOOTHING) for count in range(max(of_personal, of_general) + 1)]
    weights = {feature: both + logs[count] - logs[general[feature]] for feature, count in personal.items()}
    never = both + logs[0]
    return weights | {feature: never - logs[count] for feature, count in general.items() if feature not in weights}


def weigh_need(text: str) -> float:
    """Return how much a prompt looks like one that needs the person: above zero yes, below no, mostly within 2.

    It is the sum of the log odds of its features over the root of their number: features of one prompt tell nearly
    the same.
    """
    weights, features = _weights(), _features(text)
    return sum(weights.get(feature, 0.0) for feature in set(features)) / math.sqrt(1 + len(features))
