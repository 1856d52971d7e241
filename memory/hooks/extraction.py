"""Learning from a finished turn: who may be learnt from, what the extractor is asked, what its answer is worth.

Rule 1: every reason not to learn is a skip with the contract's own code, asked in the contract's order.
Rule 2: an answer is untrusted: each fact stands alone, and the service decides on each; nothing is written here.
Rule 3: a run that was tried before and committed answers with what it did then.
Rule 4: a model that finds nothing takes nothing away: what the rules find without a model, they find then too.
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
KEEPS = "memory_remember"
"""The tool that keeps what a model was asked to keep."""
MANIFEST_LIMIT = 24

_FENCED = compile_late(r"\A\s*```(?:json)?\s*\n(?P<json>.*?)\n?\s*```\s*\Z", re.DOTALL)


class _Answer(msgspec.Struct):
    facts: list[Any]


class _Found(Struct, frozen=True):
    """Facts, how many more were malformed, and too many, and whether rules found them in the user's own words."""

    facts: list[Fact]
    malformed: int
    too_many: int
    is_by_rule: bool = False


def user_items(given: HookInput) -> dict[str, str]:
    """Return the user's words in the turn, by item id."""
    return {item.item_id: item.text for item in given.transcript if item.role == "user" and item.text.strip()}


def reason_to_skip(given: HookInput, config: GatewayConfig) -> str | None:
    """Return the code for which nothing is learnt from the turn, or None."""
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
    """A fact whose absent members may be written as null: they take the conservative value all the same."""
    if not isinstance(raw, dict):
        return raw
    fact: dict[str, Any] = {name: value for name, value in raw.items() if value is not None}  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(fact.get("same_as", ""), str):
        del fact["same_as"]  # a claim that names nothing is none, and the fact stands without it
    semantic: Any = fact.get("semantic")
    if isinstance(semantic, dict):
        fact["semantic"] = {name: value for name, value in semantic.items() if value is not None}  # pyright: ignore[reportUnknownVariableType]
    return fact


def read_answer(text: str) -> tuple[list[Fact], int, int]:
    """Return the facts of an answer that are well formed, how many are not, and how many were too many.

    Raises `HookFailure` where the whole is no such answer.
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


def _transcript(given: HookInput) -> list[dict[str, str]]:
    """The messages in order, within the budget; the user's own words are the last to go."""
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


def _events(given: HookInput) -> list[dict[str, str | None]]:
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
        """The statistics of what was learnt.

        Raises `SkipRun` where nothing may be learnt, `HookFailure` where the extractor failed.
        """
        reason = reason_to_skip(given, self._settings())
        if reason is not None:
            raise SkipRun(reason)
        earlier = await self._service.proposal_of(given.run_id)
        if earlier is not None:
            return _output({**NO_STATS, **earlier}, too_many=0)
        said = user_items(given)
        found = await self._facts(given, said)
        results = (
            await self._service.propose(
                given.context,
                found.facts,
                run_id=given.run_id,
                user_items=said,
                policy_allows=True,
                is_by_rule=found.is_by_rule,
            )
            if found.facts
            else []
        )
        everything = len(found.facts) + found.malformed + found.too_many
        stats = count(results) | {"facts": everything, "malformed": found.malformed}
        stats["rejected"] += found.too_many
        return _output(stats, too_many=found.too_many)

    async def _facts(self, given: HookInput, said: Mapping[str, str]) -> "_Found":
        """Return the facts that a model found; where it found none or there is no model, those found by rule.

        A model that finds nothing in a turn that kept something by a tool has seen that: rules would keep it a second
        time.
        """
        answer = await self._answer(given, said)
        if answer is not None and (answer.facts or _has_kept(given)):
            return answer
        found = await to_thread.run_sync(extract_statements, said)  # milliseconds that are not the loop's
        facts = file_in_workspace(found, given.context.workspace_id)
        if not facts and answer is None:
            raise SkipRun("extractor_unavailable")
        malformed = answer.malformed if answer is not None else 0
        return _Found(facts[:MAX_FACTS], malformed, max(0, len(facts) - MAX_FACTS), is_by_rule=True)

    async def _answer(self, given: HookInput, said: Mapping[str, str]) -> "_Found | None":
        """Return a model's answer, None without a model. Raises `HookFailure`."""
        if not self._model.is_configured("extractor"):
            return None
        try:
            reply = await self._model.complete(await self._request(given, said))
        except ProviderFailed as failure:
            if failure.fault == "not_configured":
                return None
            raise HookFailure(failure.reason, retryable=failure.retryable) from None
        return _Found(*read_answer(reply.text))

    async def _request(self, given: HookInput, said: Mapping[str, str]) -> ModelRequest:
        manifest = await self._service.find_related(given.context, "\n".join(said.values()), MANIFEST_LIMIT)
        question = {
            "turn_id": given.context.turn_id,
            "items": _transcript(given),
            "tool_events": _events(given),
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
    return any(event.name == KEEPS and event.status == "ok" for event in given.tool_events)


def _output(stats: Mapping[str, Any], *, too_many: int) -> HookOutput:
    notes: list[Contribution] = [DiagnosticContribution(code="extraction_stats", data=dict(stats))]
    if stats["malformed"]:
        notes.append(DiagnosticContribution(code="malformed_fact"))
    if too_many:
        notes.append(DiagnosticContribution(code="too_many_facts"))
    return HookOutput(contributions=notes)
