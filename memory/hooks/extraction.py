"""Learns from a finished turn: checks whether it may, asks the extractor, and hands its facts to the service.

Rule 1: every reason not to learn is a skip with the contract's own code, checked in the contract's order.
Rule 2: an answer is untrusted: each fact is validated alone, and the service decides on each; nothing is written here.
Rule 3: a run with an earlier, committed attempt answers with the counts of that.
Rule 4: where a model finds nothing, the rules are asked, as they are without a model.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from anyio import to_thread
from msgspec import Struct

from memory.extraction.counts import NO_STATS, count
from memory.extraction.rule_extraction import extract_statements, file_in_workspace
from memory.hooks.policy import turn_policy
from memory.ports_hooks import MemoryForTurns
from promt import load
from promt.intents import Intents, detect
from promt.own_words import own_stretches
from promt.patterns import compile_late
from promt.render import shorten
from protocol.hooks import Contribution, DiagnosticContribution, HookFailure, HookInput, HookOutput, SkipRun
from protocol.memory.facts import MAX_FACTS, Fact
from protocol.models import Message, Model, ModelRequest, ProviderFailed
from protocol.settings import GatewayConfig

MAX_ITEM_CHARS = 6000  # of one message that the extractor reads; the facts of a pasted file are not the user's
MAX_TRANSCRIPT_CHARS = 16_000
MAX_TOOL_EVENTS = 16
MAX_EVENT_CHARS = 200
STORING_TOOL = "memory_remember"
"""The tool by which a model stores a record."""
MANIFEST_LIMIT = 24
"""The most known memories in the extractor's request."""

_FENCED = compile_late(r"\A\s*```(?:json)?\s*\n(?P<json>.*?)\n?\s*```\s*\Z", re.DOTALL)


class _Answer(msgspec.Struct):
    """A model's answer: facts of which none is checked yet."""

    facts: list[Any]


class _Found(Struct, frozen=True):
    """The facts of a turn."""

    facts: list[Fact]
    malformed: int
    """The number of further facts that are not well formed."""
    too_many: int
    """The number of well-formed facts beyond `MAX_FACTS`."""
    is_by_rule: bool = False
    """Rules found them in the user's own words."""


def user_items(given: HookInput) -> dict[str, str]:
    """Return the user's words in the turn, by item id."""
    return {item.item_id: item.text for item in given.transcript if item.role == "user" and item.text.strip()}


def reason_to_skip(given: HookInput, config: GatewayConfig) -> str | None:
    """Return the code of the reason for which nothing is learnt from the turn, or None."""
    if not config.memory.background_extraction_enabled:
        return "extraction_disabled"
    if not config.memory.enabled:
        return "memory_disabled"
    if given.status != "succeeded":
        return "not_succeeded"
    said = user_items(given)
    texts = dict.fromkeys([given.text, *said.values()])
    own = turn_policy(given.context, Intents(no_save=any(detect(text).no_save for text in texts)))
    for policy in (own, given.policy):
        if policy is not None and not policy.extraction.allowed:
            return policy.extraction.reason_code
    if not any(item.role == "user" for item in given.transcript):
        return "system_or_tool_only"
    if not said:
        return "no_user_text"
    return None if any(map(own_stretches, said.values())) else "no_own_words"


def _as_given(raw: Any) -> Any:
    """Return a fact without members that are null: they take the conservative default, as absent ones do."""
    if not isinstance(raw, dict):
        return raw
    fact: dict[str, Any] = {name: value for name, value in raw.items() if value is not None}  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(fact.get("same_as", ""), str):
        del fact["same_as"]  # it names no record, and the fact stands without it
    semantic: Any = fact.get("semantic")
    if isinstance(semantic, dict):
        fact["semantic"] = {name: value for name, value in semantic.items() if value is not None}  # pyright: ignore[reportUnknownVariableType]
    return fact


def read_answer(text: str) -> tuple[list[Fact], int, int]:
    """Return the well-formed facts of an answer, how many are malformed, and how many were too many.

    Raises `HookFailure("bad_json")` where the text is no such answer.
    """
    fenced = _FENCED.match(text)
    try:
        raw = msgspec.json.decode(fenced["json"] if fenced else text, type=_Answer).facts
    except msgspec.DecodeError:
        raise HookFailure("bad_json", retryable=True) from None
    facts: list[Fact] = []
    malformed = 0
    for one in raw:
        try:
            facts.append(msgspec.convert(_as_given(one), Fact))
        except msgspec.ValidationError:
            malformed += 1
    return facts[:MAX_FACTS], malformed, max(0, len(facts) - MAX_FACTS)


def _build_transcript(given: HookInput) -> list[dict[str, str]]:
    """Return the messages in order, within the budget, of which the user's are given room first."""
    texts = {item.item_id: shorten(item.text, MAX_ITEM_CHARS) for item in given.transcript}
    room = MAX_TRANSCRIPT_CHARS
    kept: set[str] = set()
    for item in sorted(given.transcript, key=lambda item: item.role != "user"):
        if len(texts[item.item_id]) <= room:
            room -= len(texts[item.item_id])
            kept.add(item.item_id)
    return [
        {"item_id": item.item_id, "role": item.role, "text": texts[item.item_id]}
        for item in given.transcript
        if item.item_id in kept
    ]


def _list_tool_events(given: HookInput) -> list[dict[str, str | None]]:
    """Return the first tool events as the extractor reads them."""
    return [
        {"name": event.name, "status": event.status, "summary": shorten(event.summary or "", MAX_EVENT_CHARS)}
        for event in given.tool_events[:MAX_TOOL_EVENTS]
    ]


class Extraction:
    """The hook `memory.post_turn_extractor`."""

    def __init__(self, *, service: MemoryForTurns, settings: Callable[[], GatewayConfig], model: Model) -> None:
        self._service = service
        self._settings = settings
        self._model = model

    async def __call__(self, given: HookInput) -> HookOutput:
        """Learn from the turn; return the counts of the results as a diagnostic.

        Raises `SkipRun` where nothing may be learnt, `HookFailure` where the extractor failed.
        """
        reason = reason_to_skip(given, self._settings())
        if reason is not None:
            raise SkipRun(reason)
        earlier = await self._service.find_earlier_counts(given.run_id)
        if earlier is not None:
            return _build_output({**NO_STATS, **earlier}, too_many=0)
        said = user_items(given)
        found = await self._find_facts(given, said)
        results = (
            await self._service.propose(
                given.context,
                found.facts,
                run_id=given.run_id,
                user_items=said,
                is_by_rule=found.is_by_rule,
            )
            if found.facts
            else []
        )
        everything = len(found.facts) + found.malformed + found.too_many
        stats = count(results) | {"facts": everything, "malformed": found.malformed}
        stats["rejected"] += found.too_many
        return _build_output(stats, too_many=found.too_many)

    async def _find_facts(self, given: HookInput, said: Mapping[str, str]) -> _Found:
        """Return the facts that a model found; where it found none or there is no model, those found by rule.

        Where a tool of the turn has stored a record, an empty answer counts: rules would store that a second time.
        """
        answer = await self._ask_model(given, said)
        if answer is not None and (answer.facts or _has_kept(given)):
            return answer
        found = await to_thread.run_sync(extract_statements, said)  # milliseconds, which would hold up the event loop
        facts = file_in_workspace(found, given.context.workspace_id)
        if not facts and answer is None:
            raise SkipRun("extractor_unavailable")
        malformed = answer.malformed if answer is not None else 0
        return _Found(facts[:MAX_FACTS], malformed, max(0, len(facts) - MAX_FACTS), is_by_rule=True)

    async def _ask_model(self, given: HookInput, said: Mapping[str, str]) -> _Found | None:
        """Return the facts of a model's answer; None where no model is configured. Raises `HookFailure`."""
        if not self._model.is_configured("extractor"):
            return None
        try:
            reply = await self._model.complete(await self._build_request(given, said))
        except ProviderFailed as failure:
            if failure.fault == "not_configured":
                return None
            raise HookFailure(failure.reason, retryable=failure.retryable) from None
        return _Found(*read_answer(reply.text))

    async def _build_request(self, given: HookInput, said: Mapping[str, str]) -> ModelRequest:
        """Return the request to the extractor's model, with the known memories near the user's words."""
        manifest = await self._service.find_related(given.context, "\n".join(said.values()), MANIFEST_LIMIT)
        question = {
            "turn_id": given.context.turn_id,
            "items": _build_transcript(given),
            "tool_events": _list_tool_events(given),
            "manifest": manifest,
            "max_facts": MAX_FACTS,
        }
        return ModelRequest(
            role="extractor",
            thread_id=given.context.thread_id,
            turn_id=given.context.turn_id,
            messages=[
                Message(role="system", content=load("extraction").text),
                Message(role="user", content=msgspec.json.encode(question).decode()),
            ],
            json_answer=True,
        )


def _has_kept(given: HookInput) -> bool:
    """Return whether a tool of the turn has stored a record."""
    return any(event.name == STORING_TOOL and event.status == "ok" for event in given.tool_events)


def _build_output(stats: Mapping[str, Any], *, too_many: int) -> HookOutput:
    notes: list[Contribution] = [DiagnosticContribution(code="extraction_stats", data=dict(stats))]
    if stats["malformed"]:
        notes.append(DiagnosticContribution(code="malformed_fact"))
    if too_many:
        notes.append(DiagnosticContribution(code="too_many_facts"))
    return HookOutput(contributions=notes)
