"""Recognises proposals of an extractor that are no facts: greetings, questions, moods, orders to a model, fragments.

Rule 1: pure, and only for proposals of a model; what the user asks to be kept is theirs to choose.
Rule 2: every sort of junk is one row: how it is known, what it is called, and the contract's reason for refusing it.
Rule 3: a row is narrow. A fact wrongly refused is lost, junk that slips through is still weighed by admission.
"""
# ruff: noqa: RUF001  # what is said in many languages is the subject here

import re
from collections.abc import Iterable
from functools import cache

from msgspec import Struct

from promt.documents import small_talk
from promt.language.reader import either
from protocol.memory.facts import MAX_FACT_CHARS
from protocol.memory.values import ReasonCode

NOBODY = "nobody"
"""The name of the row for a fact about a "he" or "it" that it does not name."""
FRAGMENT = "fragment"
"""The name of the row for what ends in the middle of a sentence."""

STEM_CHARS = 5
"""Words with this beginning in common are taken for the same: "congratulates" is supported by "congrats"."""


class Junk(Struct, frozen=True):
    """The reason why a proposed fact is none: the contract's code, the name of the row, and a sentence."""

    reason: ReasonCode
    name: str
    why: str


_FEELING = (
    r"tired|sleepy|exhausted|hungry|thirsty|bored|busy|stressed|annoyed|angry|upset|sad|happy|excited|anxious|nervous"
    r"|sick|ill|cold|confused|frustrated|"
    r"in a (?:good|bad|great) mood|late|in a hurry|having a (?:good|bad|great) day|feeling (?:well|good|bad|sick|down"
    r"|great|better)"
)
_NOW = r"today|tonight|right now|at the moment|just now|this (?:morning|afternoon|evening)|currently|now"
_SUBJECT = r"(?:i|he|she|they|the user|user|[A-Z][\w'-]+)"


def _table() -> tuple[tuple[ReasonCode, str, str, str], ...]:
    """Return the rows in the order in which they are tried: the contract's reason, a name, a sentence, a pattern."""

    def group(key: str, *, spaced: bool | None = None) -> str:
        return f"(?:{either('hygiene', key, spaced=spaced)})"

    talk, begins = group("talk"), group("talk", spaced=False)
    return (
        ("malformed_fact", "no_words", "it has no words", r"\A[\W\d_]*\Z"),
        ("malformed_fact", "question", "it is a question", r"[?？]\W*\Z"),
        (
            "malformed_fact",
            "small_talk",
            "it is a greeting or the like",
            rf"\A{small_talk()}\Z",
        ),
        (
            "malformed_fact",
            "placeholder",
            "it stands for a fact that is not there",
            (
                r"\A\W*(?:n/?a|none|null|nil|undefined|unknown|tbd|todo|nothing|no facts?"
                r"|no (?:new |relevant |lasting |durable )*(?:facts?|information)\b.*|"
                r"not (?:specified|mentioned|provided|applicable)|empty|test|lorem ipsum\b.*|example|string|content"
                r"|fact)\W*\Z"
            ),
        ),
        (
            "malformed_fact",
            "markup",
            "it is markup or code",
            (
                r"\A\s*(?:[{\[]\s*[\"'{\[]|```|~~~|<[/!?a-z])|\{\s*\"facts\"\s*:"
                r"|\A\s*(?:#{1,6}\s|(?:system|assistant|user)\s*:)"
            ),
        ),
        ("malformed_fact", "order_to_model", "it is an order to a model in a fact's clothes", group("order_to_model")),
        (
            "own_context_block",
            "prompt_text",
            "it repeats what the model was told",
            (
                r"\brecalled memory\b|\bthis is context, not an instruction\b|\brelevant thread context\b"
                r"|\breturn (?:only )?(?:valid |strict )?json\b|\banswer with this shape\b|\bmax_facts\b|\bitem_id\b"
                r"|\bfacts worth keeping\b|\byou read one finished turn\b|\bevidence\.quote\b"
            ),
        ),
        (
            "generated_summary",
            "talk_about_talk",
            "it tells of the conversation, not of the user",
            (
                rf"\A\W*{group('speaker')}\W*\s*{group('asks')}|\A\W*{talk}\b.{{0,60}}\b{group('is_about')}\b|\A{begins}"
                r"|\A(?:in (?:this|the) (?:conversation|turn|message)|an? (?:user|conversation|greeting)\b)"
            ),
        ),
        (
            "generated_summary",
            "the_assistant_did",
            "it tells what the assistant did",
            (
                r"\A\W*(?:the )?(?:assistant|ai|chatbot|bot|model) (?:has |had |is |was |will |can |could )?"
                r"(?:help|answer|explain|suggest|provid|offer|recommend|greet|ask|respond|repl|said|told|wrote|generat|creat"
                r"|able)\w*"
            ),
        ),
        (
            "transient",
            "mood",
            "it holds for a moment",
            (
                rf"\A\W*{_SUBJECT}(?:'m|'s| am| is| are| feels?| seems?| looks?| was| were| felt| got)? "
                rf"(?:\w+ ){{0,2}}(?:{_FEELING})(?: (?:{_NOW}))?\W*\Z"
            ),
        ),
        ("transient", "moment", "it holds for the day it was said on", group("moment")),
        (
            "malformed_fact",
            FRAGMENT,
            "it is cut off, or hangs in the air",
            rf"(?:\.\.\.|…|[,:;(\[{{–—-]|\b{group('goes_on')})\s*\Z",
        ),
        ("malformed_fact", NOBODY, "it says of nobody in particular", rf"\A\W*{group('of_nobody')}"),
    )


_TOO_LONG = Junk("malformed_fact", "too_long", f"it is longer than {MAX_FACT_CHARS} characters")
UNSUPPORTED = Junk("missing_evidence", "unsupported", "it shares no word, name or number with what the user said")


@cache
def _rows() -> list[tuple[Junk, re.Pattern[str]]]:
    """Return the table, compiled when the first fact comes: a start of the process should not pay for it."""
    return [(Junk(reason, name, why), re.compile(pattern, re.IGNORECASE)) for reason, name, why, pattern in _table()]


def find_junk(content: str) -> Junk | None:
    """Return the sort of junk that a proposed fact is by its own words; None for a fact."""
    text = content.strip().replace("’", "'")
    if len(text) > MAX_FACT_CHARS:
        return _TOO_LONG
    return next((junk for junk, found in _rows() if found.search(text)), None)


def is_supported(content: Iterable[str], said: Iterable[str]) -> bool:
    """Return whether the terms of a fact and those that the user said in the turn have one in common."""
    stems = {term[:STEM_CHARS] for term in said}
    return any(term[:STEM_CHARS] in stems for term in content)
