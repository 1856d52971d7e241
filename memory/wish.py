"""What the words of a user license a model to keep as their wish: a fact whose matter is in those words, and nothing beyond.

Rule 1: precision before yield. What is not licensed is not lost: it is a mere proposal, weighed or asked about elsewhere.
Rule 2: every concept of the proposal stands in the user's words too, denied where they deny it, under the same condition, and nothing
is left out before it that says whose it is; person, function words, tense and liking are no matter. A value and a key are held to the same, a wider scope and an order's category
follow from the words or are not licensed.
Rule 3: pure, and bounded: beginning and end of a long message are read, a proposal is a few sentences.
"""
# ruff: noqa: RUF001  # what is said in many languages is the subject here

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise, takewhile
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from msgspec.structs import replace

from memory.likeness import language_of, readings
from memory.likeness_words import Words, languages
from memory.rule_extraction import extract_statements
from memory.scopes import PROJECT_CATEGORIES
from memory.statement import Word, cut
from memory.statement_reading import Item
from memory.wish_clauses import REQUEST, Clause, clauses_of, kept_whole
from memory.wish_unspaced import UNSPACED, held_unspaced, turns_of
from promt.phrases import ends_of
from promt.render import UNSEEN
from protocol.memory import Category
from protocol.tools import MemoryRememberArgs

MAX_CONTENT_CHARS: Final = 1200
MAX_SENTENCES: Final = 8
"""A fact is a sentence or two; what is longer is no rewording of a message, and costs more to compare."""
MAX_SENTENCE_CHARS: Final = 600
MAX_LEAVES: Final = 32  # parts of a value
COMPARED: Final = 8
"""Of the message's sentences, and pairs of neighbours, those that share the most words with what is compared."""

ORDERS: Final[Mapping[Category, frozenset[Category]]] = {
    "recurring_instruction": frozenset({"recurring_instruction", "communication_style", "project_policy"}),
    "communication_style": frozenset({"recurring_instruction", "communication_style", "project_policy"}),
    "procedure": frozenset({"recurring_instruction", "project_policy", "project_decision", "project_fact"}),
    "project_policy": frozenset({"recurring_instruction", "project_policy", "project_decision", "project_fact"}),
    "constraint": frozenset({"constraint", "recurring_instruction", "project_policy"}),
}
"""Categories that a model obeys, and as what the user's own statement must be meant for one of them to follow from it."""

_WIDE: Final = frozenset({"user", "agent"})
"""Scopes that are seen from every project."""
_NO_MATTER: Final = frozenset({"like", "own", "called", "thing", "classifier", "team", "project"})
"""Concepts that a sentence about somebody may have more: they prove nothing, and add nothing."""
_OF_NAMES: Final = frozenset({"of"})
"""How it is told that "my sister's name" is that of a sister, who is "my sister, named …" as well."""
_KEEPS: Final = frozenset({"past", "not-all", "not-always", "optional"})
"""Concepts without which a sentence says something else."""
_ASSISTANTS: Final = ("assistant", "model", "ai", "assistent", "asistente", "ассистент", "ассистенту")
"""Who is told to do it: named in an order that is told anew, and nowhere else."""

_SENTENCE_END: Final = re.compile(r"(?<=[.!?…])[\"”»')\]]*\s+|(?<=[。！？；;])\s*|\n+")
_NOT_OWN: Final = re.compile(r"(?P<fence>```|~~~).*?(?:(?P=fence)|\Z)|^[ \t]*>[^\n]*$", re.DOTALL | re.MULTILINE)
"""Code and quoted lines never speak for the user."""
_REMINDER: Final = re.compile(
    r"\b(?:do(?:n't| not)|never) (?:ever )?forget\b|\bvergi(?:ss|ß) (?:bitte )?nicht\b|\bnicht vergessen\b|\bno (?:te )?olvides\b|"
    r"\bn'oublie[zs]? (?:pas|jamais)\b|\bне забу(?:дь|дьте|дешь)\b|\bне забывай\w*|(?:请)?(?:不要|别|別)忘(?:记|記|了)?",
    re.IGNORECASE,
)
"""Asks that something be kept; the negation is not that of the fact."""
_QUESTION: Final = re.compile(r"[?？][\s\"”»')\]]*$")
_MONTH_OF_MAY: Final = re.compile(r"\bmay(?= \d)|(?<=\d )may\b")
"""As people write it in haste; no table takes a small `may` for a month."""
_WORDS: Final = re.compile(r"[^\W_]+")
_OF: Final = re.compile("['’]s$")
MAX_NAME_WORDS: Final = 3
_STEM_CHARS: Final = 3


_Tagged: TypeAlias = tuple[str, frozenset[str]]
_Aim: TypeAlias = Literal["claim", "order", "part", "name"]
"""What is compared: a statement, an order that may name who is told and that they must, a part of a value, a name of one."""


class _Heard(NamedTuple):
    """A sentence of the user's, or two, and the beginnings of its words, by which it is found."""

    text: str
    stems: frozenset[str]
    is_pair: bool = False


def is_wish(args: MemoryRememberArgs, words: str) -> bool:
    """Whether the user's words, in which they asked for something to be kept, ask for just this."""
    return wished(args, words) == args


def wished(args: MemoryRememberArgs, words: str) -> MemoryRememberArgs | None:
    """As much of it as the user's words ask for: the fact, without a key or a value that does not follow from them; None without the fact.

    A model names keys as it likes, and a wish must not be lost for that; whether a key that nobody said is free, who calls this can tell.
    """
    user = _Message(words)
    if not user.asks_for(args):
        return None
    own_name = frozenset(args.category.split("_"))
    labels = list[str]()
    leaves = _leaves(args.value, labels)
    size = len(leaves or ()) + len(labels)
    if leaves is None or size > MAX_LEAVES or not user.tells(leaves, labels, own_name):
        args, size = replace(args, value=None), 0
    has_key = args.key is not None and size < MAX_LEAVES and user.names(args.key, own_name)
    return args if has_key else replace(args, key=None)


def of_the_user(content: str, told: Iterable[str]) -> str:
    """A statement that begins with the user's own name, as one of "the user"; `told` says what is known of who they are."""
    names = {word for text in told for word in _WORDS.findall(text) if word[0].isupper()}
    words = content.split(" ")
    own = list(takewhile(lambda word: _OF.sub("", word) in names, words[:MAX_NAME_WORDS]))
    if not own:
        return content
    return " ".join(["The user's" if _OF.search(own[-1]) else "The user", *words[len(own) :]])


def _leaves(value: Any, labels: list[str]) -> list[str] | None:
    """The texts and numbers of a value, its names put to the labels; None where it denies something."""
    match value:
        case None | True:
            return []
        case False:
            return None
        case dict():
            members = cast("dict[str, Any]", value)
            labels.extend(members)
            parts: Iterable[Any] = members.values()
        case list():
            parts = cast("list[Any]", value)
        case _:
            return [str(value)]
    found = [_leaves(part, labels) for part in parts]
    return None if None in found else [leaf for leaves in found for leaf in leaves or ()]


class _Message:
    """The user's words, cut into what is compared."""

    def __init__(self, text: str) -> None:
        self._text = _NOT_OWN.sub("\n", UNSEEN.sub("", ends_of(text)).replace("’", "'"))
        self._heard = _heard_in(self._text)

    def asks_for(self, args: MemoryRememberArgs) -> bool:
        """Whether the fact itself is asked for, as a fact of that category and scope."""
        is_told = self.licenses(args.content) and (
            args.category not in ORDERS or self.orders(args.content, ORDERS[args.category])
        )
        is_wide = args.scope is not None and args.scope.kind in _WIDE
        return is_told and not (is_wide and args.category in PROJECT_CATEGORIES)

    def tells(self, leaves: Iterable[str], labels: Iterable[str], free: frozenset[str]) -> bool:
        """Whether the parts of a value and their names say nothing that the words do not."""
        return all(map(self.holds, leaves)) and all(self.names(label, free) for label in labels)

    def licenses(self, content: str) -> bool:
        """Whether the content's matter is in the words."""
        return _holds_all(self._heard, content, "claim") or self.orders(content, frozenset(ORDERS))

    def orders(self, content: str, among: frozenset[Category]) -> bool:
        """Whether the user stated it, and meant it as one of these categories."""
        return any(
            _holds_all(_heard_in(fact.evidence.quote), content, "order")
            for fact in extract_statements({"": self._text})
            if fact.semantic.category in among
        )

    def holds(self, leaf: str) -> bool:
        """Whether a part of a value says nothing that the words do not."""
        return _holds_all(self._heard, leaf, "part")

    def names(self, label: str, free: frozenset[str]) -> bool:
        """Whether a key, or a name within a value, is made of the words, whatever these say of them."""
        parts = [part for part in _WORDS.findall(label) if part.lower() not in free]
        return all(_holds_all(self._heard, part, "name") for part in parts)


def _sentences(text: str) -> list[str]:
    return [sentence.strip() for sentence in _SENTENCE_END.split(text) if sentence.strip()]


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM_CHARS] for word in _WORDS.findall(text.lower()))


def _heard_in(text: str) -> list[_Heard]:
    """Each sentence, and each with the one after it: what is told in two may be kept in one."""
    sentences = [
        one
        for one in _sentences(_REMINDER.sub(": ", text))
        if len(one) <= MAX_SENTENCE_CHARS and (not _QUESTION.search(one) or REQUEST.search(one))
    ]
    pairs = [f"{one} {other}" for one, other in pairwise(sentences)]
    return [
        *(_Heard(one, _stems(one)) for one in sentences),
        *(_Heard(pair, _stems(pair), is_pair=True) for pair in pairs),
    ]


def _holds_all(heard: Sequence[_Heard], text: str, aim: _Aim) -> bool:
    """Whether each sentence of the text is held by a stretch of what was heard; a claim has to say something."""
    told = _sentences(UNSEEN.sub("", text).replace("’", "'"))
    if not told or len(told) > MAX_SENTENCES or len(text) > MAX_CONTENT_CHARS:
        return False
    sizes = [_held_by_any(heard, sentence, aim) for sentence in told]
    return None not in sizes and (aim in {"part", "name"} or any(sizes))


def _held_by_any(heard: Sequence[_Heard], sentence: str, aim: _Aim) -> int | None:
    """How much matter of the sentence is in a stretch of what was heard; None where there is more of it."""
    if UNSPACED.search(sentence):
        found = (
            held_unspaced(one.text, sentence, is_whole=aim in {"claim", "order"})
            if _deny_alike(one.text, sentence)
            else None
            for one in heard
            if not one.is_pair
        )
    else:
        stems = _stems(sentence)
        near = sorted(heard, key=lambda one: (len(one.stems & stems), -len(one.stems)), reverse=True)
        found = (_held(one.text, sentence, aim) for one in near[:COMPARED])
    return next((size for size in found if size is not None), None)


def _held(said: str, told: str, aim: _Aim) -> int | None:
    one, other = cut(_MONTH_OF_MAY.sub("May", said)), cut(_MONTH_OF_MAY.sub("May", told))
    table = language_of(one, other) or languages()["en"]
    if not other or (aim != "name" and not _turn_alike(one, other, table)):
        return None
    free = _NO_MATTER.union(map(table.stem, _ASSISTANTS), ["must", "want", "me"]) if aim == "order" else _NO_MATTER
    ours, theirs = readings(one, other, table, is_asked=True)
    is_part = aim in {"part", "name"}
    for items in theirs:
        matter = {tagged for tagged in _tagged(items, aim) if tagged[0] not in free}
        is_held = any(_is_within(matter, _tagged(known, aim), aim) for known in ours)
        if is_held and (is_part or _is_whole(matter, items, clauses_of(one, other, table))):
            return len(matter)
    return None


def _is_whole(matter: set[_Tagged], items: Sequence[Item], clauses: Sequence[Clause]) -> bool:
    """Whether nothing is left out that says whose the matter is, and names stand in their order: who pays whom is told by that."""
    names = list(dict.fromkeys(item.concept for item in items if item.kind == "name"))
    for said, _ in clauses:
        there = list(dict.fromkeys(concept for concept in said if concept in names))
        if there != [name for name in names if name in there]:
            return False
    return {concept for concept, _ in matter} <= kept_whole(clauses, {item.concept for item in items})


def _deny_alike(said: str, told: str) -> bool:
    """Whether the words of scripts with blanks deny alike in both."""
    one, other = (Counter(word.low for word in cut(text) if word.low in _denials()) for text in (said, told))
    return one == other


def _tagged(items: Iterable[Item], aim: _Aim) -> set[_Tagged]:
    """Concepts with how they are meant: denied, under a condition, before or after something."""
    known = list(items)
    following = [*(item.concept for item in known), ""][1:]
    return {
        (item.concept, frozenset() if aim == "name" else item.tags - _OF_NAMES if after == "called" else item.tags)
        for item, after in zip(known, following, strict=True)
    }


def _is_within(matter: set[_Tagged], known: set[_Tagged], aim: _Aim) -> bool:
    return matter <= known and (aim == "name" or all(item in matter for item in known if item[0] in _KEEPS))


def _turn_alike(one: Sequence[Word], other: Sequence[Word], table: Words) -> bool:
    """Whether both depend on something, or neither does; and what a table does not know to deny denies alike in both."""
    known = table.function_words
    conditions = table.single("when") | table.single("until")
    depends = [not conditions.isdisjoint(word.low for word in words) for words in (one, other)]
    denied = [Counter(word.low for word in words if word.low in _denials() - known) for words in (one, other)]
    turns = [turns_of(" ".join(word.text for word in words)) for words in (one, other)]
    return depends[0] == depends[1] and denied[0] == denied[1] and turns[0] == turns[1]


@cache
def _denials() -> frozenset[str]:
    """The words of all languages that deny."""
    return frozenset(word for table in languages().values() for word in table.single("not"))
