"""Extracts facts that the user states in so many words, without a model.

Rule 1: explicit statements only, where a sentence of the user's own begins; precision before yield: what may be a
question, a quotation, a joke, a text to be worked on or a passing wish is left alone.
Rule 2: the wording is kept; nothing is inferred. Only the verb of a subordinate clause moves to its place in a main
clause. Nothing is forgotten by rule, and a credential is never extracted.
Rule 3: pure. The wordings of a language are rows of a table (`wordings.py`), the meaning of a kind of statement is a
row of `MEANING`.
"""
# ruff: noqa: RUF001  # statements of many languages are the subject here

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

import msgspec
from msgspec import Struct

from memory.extraction.statement_checks import (
    ClauseStatement,
    find_beginnings,
    find_request_beginnings,
    fits_message,
    is_question,
    is_stated,
)
from memory.extraction.wordings import Kind, Tongue, build_conjunction, find_code, find_tongues
from promt.intents import detect, find_unsavable
from promt.language.reader import either, tables, whole
from promt.layout import SENTENCE_END, mask_quotes
from promt.own_words import mask_material
from promt.patterns import compile_late
from promt.render import shorten
from protocol.base import DEFAULT_WORKSPACE
from protocol.memory.facts import MAX_FACT_CHARS, MAX_FACT_QUOTE_CHARS, Fact, FactEvidence
from protocol.memory.values import Durability, ScopeHint, SemanticFields, SensitivityHint
from protocol.record import Category

MAX_ITEM_CHARS = 20_000  # what people state about themselves is not found further down
MAX_SENTENCE_CHARS = 1500  # a longer "sentence" is no prose
MAX_STATEMENTS = 4  # of one sentence: "My name is Anna, I live in Graz and I'm vegan"


class _Owner(NamedTuple):
    """The members of a meaning that follow from whose fact it is."""

    scope_hint: ScopeHint
    durability: Durability
    sensitivity: SensitivityHint


_OF_USER = _Owner("user_global", "long_lived", "none")
_OF_SELF = _Owner("user_global", "long_lived", "personal")
_OF_PROJECT = _Owner("project_workspace", "project_lifetime", "none")
_OF_US = _Owner("project_workspace", "long_lived", "none")


def _build_meaning(
    category: Category, attribute: str = "custom", *, owner: _Owner = _OF_USER, said: bool = False
) -> SemanticFields:
    """Return the meaning of a kind; `said`: it states something and does not ask to keep it, so that it is weighed."""
    return SemanticFields(
        intent="implicit_candidate" if said else "explicit_store",
        explicitness="explicit",
        category=category,
        subject="current_user",
        attribute=attribute,
        certainty="high",
        cardinality="set" if attribute == "custom" else "single",
        **owner._asdict(),
    )


MEANING: Mapping[Kind, SemanticFields] = {
    "remember": _build_meaning("custom"),
    "ours": _build_meaning("project_fact", owner=_OF_US),
    "project": _build_meaning("project_fact", owner=_OF_PROJECT),
    "decided": _build_meaning("project_decision", owner=_OF_PROJECT),
    "name": _build_meaning("identity", "name", owner=_OF_SELF),
    "nickname": _build_meaning("identity", "nickname", owner=_OF_SELF),
    "pronouns": _build_meaning("identity", "pronouns", owner=_OF_SELF),
    "age": _build_meaning("identity", "age", owner=_OF_SELF, said=True),
    "birthday": _build_meaning("identity", "birthday", owner=_OF_SELF),
    "mother_tongue": _build_meaning("identity", "native_language", owner=_OF_SELF, said=True),
    "home": _build_meaning("biography", "home", said=True),
    "job": _build_meaning("biography", "job_title", said=True),
    "person": _build_meaning("relationship", owner=_OF_SELF, said=True),
    "constraint": _build_meaning("constraint", said=True),
    "favourite": _build_meaning("preference", said=True),
    "preference": _build_meaning("preference"),
    "style": _build_meaning("communication_style"),
    "address": _build_meaning("communication_style", "form_of_address"),
    "language": _build_meaning("recurring_instruction", "preferred_language"),
    "instruction": _build_meaning("recurring_instruction"),
    "policy": _build_meaning("project_policy", owner=_OF_PROJECT),
    "no_longer": _build_meaning("preference"),
    "no_longer_home": _build_meaning("biography", "home"),
    "no_longer_job": _build_meaning("biography", "job_title"),
}

_WITH_VALUE = frozenset[Kind](["name", "nickname", "pronouns", "age", "birthday", "mother_tongue", "favourite", "home"])
"""The kinds whose named part of the wording is the fact's value."""
_WEAK = compile_late(
    lambda: (
        rf"^(?=[^:：]*$).*(?:{either('extraction', 'draws_attention')})"
        r"|^\W*(?:please |kindly |just |now )?(?:save|store|keep|record|log|retain)\b"
        r"(?!.*(?:memory|future|later|next|good|ever|project|repo|codebase))"
        rf"|{whole('extraction', 'exam')}|(?:{either('extraction', 'ends_with_keeping')})\s*$"
        rf"|^\W*(?:{either('extraction', 'kindly')})?(?:{either('extraction', 'label')})\s*[:：,，–—-]\s*$"
    ),
    re.IGNORECASE,
)
"""An opening that asks to keep something, and often only draws attention to it ("note that …", "save the file")."""
_TRAILING = ".!?。！？…;, ，"
_GAP = compile_late(lambda: rf"[\s,;:，；—–-]*(?:{build_conjunction()}\b)?\s*", re.IGNORECASE)
_IN_PROJECT = compile_late(
    lambda: (
        rf"\b(?:{either('extraction', 'this')}) (?:{either('extraction', 'project')})"
        rf"|{either('extraction', 'this_project')}"
    ),
    re.IGNORECASE,
)


@cache
def _compile_clauses() -> list[tuple[re.Pattern[str], re.Pattern[str]]]:
    """Return the patterns of a subordinate clause's beginning and parts, of each language in which its verb moves.

    A German "dass ich in Graz wohne" reads "ich wohne in Graz" when it stands alone.
    """
    found = (table for table in tables("extraction").values() if "main_clause" in table)
    return [(re.compile(table["clause_after"], re.IGNORECASE), re.compile(table["main_clause"])) for table in found]


class _Said(Struct, frozen=True):
    """A sentence of a message."""

    start: int
    end: int
    """Its half-open range in the message."""
    sentence: str
    masked: str
    """The sentence with all that is not the user's own words masked; its length is the same."""
    tongues: list[Tongue]
    """The languages that it may be in."""


def _cut_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the half-open ranges of the sentences of a text, without the white space around them."""
    start = 0
    ends = [found.span() for found in SENTENCE_END.finditer(text)]
    for end, following in [*ends, (len(text), len(text))]:
        sentence = text[start:end]
        stripped = sentence.strip()
        if stripped:
            first = start + sentence.index(stripped[0])
            yield first, first + min(len(stripped), MAX_SENTENCE_CHARS)
        start = following


def _mask_others(text: str) -> str:
    """Return the text with every quotation and other words that are not the user's own masked, as long as before."""
    return mask_quotes(mask_material(text, find_unsavable(text))).replace("’", "'")


def _find_statement(sentence: str, masked: str, tongue: Tongue, start: int = 0) -> ClauseStatement | None:
    """Return the first statement that the clause at `start` is, or None."""
    places = find_beginnings(masked, tongue.lead, start)
    if clause := tongue.clause.match(masked, places[-1]):
        places = [*find_beginnings(masked, tongue.lead, clause.end()), *places]
    for begins in reversed(places):
        for kind, pattern in tongue.rows:
            found = pattern.match(masked, begins)
            if found is None:
                continue
            groups = found.groupdict()
            part = next((name for name in ("said", "value") if groups.get(name) is not None), 0)
            first, last = found.span(part)
            value = sentence[first:last].strip().rstrip(_TRAILING)
            statement = ClauseStatement(
                kind, value, begins if part == "value" else first, found.end(), groups.get("about"), tongue
            )
            if kind == "remember":
                opener = masked[begins:first]
                statement = statement._replace(begins=first, ends=last, is_weak=_WEAK.search(opener) is not None)
            if is_stated(statement, sentence, masked):
                return statement
            if kind == "remember":
                return None  # a request that is not meant is no other kind of statement either
    return None


def _unwrap_request(found: ClauseStatement, sentence: str, masked: str) -> ClauseStatement:
    """Return the statement within a request to keep it: "remember that my name is Anna" states a name."""
    inner = _find_statement(sentence, masked, found.tongue, found.begins)
    if inner is not None and inner.kind != "remember":
        return _refine_kind(inner, sentence)._replace(begins=found.begins, ends=found.ends, is_asked=True)
    said = sentence[found.begins : found.ends]
    tongue = found.tongue
    whose: Kind = "project" if tongue.project.search(said) else "ours" if tongue.ours.search(said) else "remember"
    kind: Kind = "decided" if whose != "remember" and tongue.decided.search(said) else whose
    return found._replace(kind=kind)


def _refine_kind(found: ClauseStatement, sentence: str) -> ClauseStatement:
    """Return the statement under the kind that its words call for."""
    said = sentence[found.begins : found.ends]
    if found.kind == "preference" and found.tongue.answers.search(said):
        return found._replace(kind="style")
    if found.kind != "instruction":
        return found
    language = found.tongue.answer_in.search(said)
    if _IN_PROJECT.search(said):
        return found._replace(kind="policy")
    if language is None:
        return found
    return found._replace(kind="language", value=find_code(language["language"]) or found.value)


def _find_statements(said: _Said) -> list[ClauseStatement]:
    """Return the statements of a sentence: of its first clause, and of each clause that follows on a statement."""
    sentence, masked = said.sentence, said.masked
    for tongue in said.tongues:
        kept = tongue.kept_after.search(masked)
        length = kept.start() if kept else len(masked)
        body, own = sentence[:length], masked[:length]
        found = _find_statement(body, own, tongue)
        if found is None and kept and length and not is_question(sentence):
            found = _take_whole(body, own, tongue)
        if found is None:
            continue
        if found.kind == "remember":
            return [_unwrap_request(found, body, own)]
        stated: list[ClauseStatement] = []
        while found is not None and len(stated) < MAX_STATEMENTS:
            stated.append(_refine_kind(found, body))
            gap = _GAP.match(own, found.ends)
            found = _find_statement(body, own, tongue, gap.end()) if gap and gap.end() > found.ends else None
        return stated
    return []


def _take_whole(body: str, own: str, tongue: Tongue) -> ClauseStatement | None:
    """Return the whole sentence as a statement that a "remember that" beside it asks to keep, or None."""
    begins = find_beginnings(own, tongue.lead, 0)[-1]
    value = body[begins:].strip().rstrip(_TRAILING)
    found = ClauseStatement("remember", value, begins, len(body), None, tongue, is_weak=True)
    return found if is_stated(found, body, own) else None


def _to_fact(item_id: str, sentence: str, found: ClauseStatement) -> Fact:
    """Return a statement as a fact that quotes its sentence."""
    words = sentence[found.begins : found.ends].strip().rstrip(_TRAILING)
    for opening, clause in _compile_clauses():
        if opening.search(sentence[: found.begins]):
            words = clause.sub(r"\g<subject> \g<verb> \g<rest>", words)
    meaning = MEANING[found.kind]
    if found.is_asked:
        meaning = msgspec.structs.replace(meaning, intent="explicit_store")
    if found.about is not None:
        meaning = msgspec.structs.replace(meaning, custom_attribute=f"favourite {found.about}", cardinality="single")
    return Fact(
        content=shorten(words[:1].upper() + words[1:], MAX_FACT_CHARS),
        value=found.value if found.kind in _WITH_VALUE or found.kind == "language" else None,
        semantic=meaning,
        evidence=FactEvidence(quote=sentence[:MAX_FACT_QUOTE_CHARS], item_id=item_id),
    )


def _is_unreal(said: _Said) -> bool:
    """Return whether a game or a story begins with this sentence, so that nothing from here on is meant."""
    return any(
        tongue.unreal.match(said.masked, begins)
        for tongue in said.tongues
        for begins in (*find_beginnings(said.masked, tongue.lead, 0), *find_request_beginnings(said.masked, tongue))
    )


def _asks_to_keep(said: _Said) -> Tongue | None:
    """Return the language in which the whole sentence asks to keep the one before it, or None."""
    for tongue in said.tongues:
        if any(tongue.kept.match(said.masked, begins) for begins in find_beginnings(said.masked, tongue.lead, 0)):
            return tongue
    return None


def _find_facts(item_id: str, text: str) -> Iterator[Fact]:
    """Yield the facts that a message states, in its order."""
    own = _mask_others(text)
    all_said = [
        _Said(start, end, text[start:end].replace("’", "'"), own[start:end], find_tongues(own[start:end], own))
        for start, end in _cut_sentences(own)
    ]
    tongues = {id(tongue): tongue for said in all_said for tongue in said.tongues}
    if any(tongue.joke.search(own) for tongue in tongues.values()):
        return
    before: _Said | None = None
    for place, said in enumerate(all_said):
        tongue = _asks_to_keep(said)
        if tongue is not None and before is not None:
            wanted = None if is_question(before.sentence) else _take_whole(before.sentence, before.masked, tongue)
            if wanted is not None:
                kept = _unwrap_request(wanted, before.sentence, before.masked)
                yield _to_fact(item_id, text[before.start : before.end], kept)
            before = None
            continue
        if _is_unreal(said) or said.masked.rstrip().endswith((":", "：")):
            return
        is_kept = place + 1 < len(all_said) and _asks_to_keep(all_said[place + 1]) is not None
        found = _find_statements(said)
        for statement in found:
            if is_kept or fits_message(
                statement, said.masked, (other.masked for other in all_said if other is not said)
            ):
                yield _to_fact(
                    item_id, text[said.start : said.end], statement._replace(is_asked=statement.is_asked or is_kept)
                )
        before = None if found else said


def file_in_workspace(facts: list[Fact], workspace_id: str) -> list[Fact]:
    """Return facts with the meaning that they have in a workspace.

    In the default one a fact about "us" is the user's: "We keep kosher", said outside of any project, holds in every
    one. A fact that names a project stays one of the project.
    """
    if workspace_id != DEFAULT_WORKSPACE:
        return facts
    return [
        msgspec.structs.replace(fact, semantic=MEANING["remember"]) if fact.semantic == MEANING["ours"] else fact
        for fact in facts
    ]


def extract_statements(user_items: Mapping[str, str]) -> list[Fact]:
    """Return the facts that the user's messages (texts by item id) state outright, in order, each of them once.

    A message that asks to keep nothing gives none.
    """
    facts: dict[str, Fact] = {}
    for item_id, text in user_items.items():
        stated = list(_find_facts(item_id, text[:MAX_ITEM_CHARS]))
        if stated and detect(text).no_save:
            continue
        for fact in stated:
            facts.setdefault(fact.content.casefold(), fact)
    return list(facts.values())
