"""Reads a model's plan, and says in one code why it is not to be used.

Rule 1: pure. A plan is taken whole or not at all: a mended one would be neither the model's nor the planner's.
Rule 2: the code goes into the manifest; nothing that the model wrote does. There are six codes: what is not of the
agreed shape, or says nothing that could be carried out, is `invalid_json`; what wants more than a plan may is
`too_broad`.
"""

import re
from collections.abc import Collection
from typing import Any, Final, Literal, TypeAlias, cast, get_args

import msgspec

from promt.patterns import compile_late
from protocol.base import Millis
from protocol.hooks import DurablePlan, EpisodicPlan, EpisodicQuery, FilesPlan, RecallPlan
from protocol.record import Category

MAX_ANSWER_CHARS: Final = 20_000  # many times the largest valid plan
MAX_TOOLS: Final = 6
MAX_TARGETS: Final = 6
MAX_QUERIES: Final = 3
MAX_TEXT_CHARS: Final = 256
"""The prompt `preflight` names these bounds to the model, but for that of tools."""
MAX_CHARS: Final = 20_000  # more than any block of the prompt takes
_CATEGORIES: Final = frozenset(cast("tuple[str, ...]", get_args(Category)))
_MAX_CATEGORIES: Final = len(_CATEGORIES) // 2  # half of all: who wants more wants everything
_FENCED = compile_late(r"\A\s*```(?:json)?\s*\n(?P<json>.*?)\n?\s*```\s*\Z", re.DOTALL)
_WORD = compile_late(r"\w")

PlanFault: TypeAlias = Literal["invalid_json", "unknown_tool", "unknown_mode", "too_broad", "timeout", "unavailable"]
"""The reason why a model's plan is not used, as the manifest names it."""


class UnusablePlanError(ValueError):
    """The plan is not used; `reason` is the code that says why."""

    def __init__(self, reason: PlanFault) -> None:
        self.reason: PlanFault = reason
        super().__init__(reason)


class _Tools(msgspec.Struct, forbid_unknown_fields=True):
    visible_tools: list[str] = []


class _Query(msgspec.Struct, forbid_unknown_fields=True):
    mode: str
    query: str
    from_at: Millis | None = None
    to_at: Millis | None = None
    max_chars: int | None = None
    roles: list[str] | None = None


class _Durable(msgspec.Struct, forbid_unknown_fields=True):
    status: str = "skip"
    modes: list[str] = []
    targets: list[str] = []


class _Episodic(msgspec.Struct, forbid_unknown_fields=True):
    status: str = "skip"
    queries: list[_Query] = []


class _Recall(msgspec.Struct, forbid_unknown_fields=True):
    durable: _Durable = msgspec.field(default_factory=_Durable)
    episodic: _Episodic = msgspec.field(default_factory=_Episodic)


class _Memory(msgspec.Struct, forbid_unknown_fields=True):
    active_recall: _Recall


class _FileQuery(msgspec.Struct, forbid_unknown_fields=True):
    query: str
    entity: str | None = None
    source: str | None = None
    max_chars: int | None = None


class _Files(msgspec.Struct, forbid_unknown_fields=True):
    status: str = "skip"
    queries: list[_FileQuery] = []


class _Answer(msgspec.Struct, forbid_unknown_fields=True):
    tools: _Tools
    memory: _Memory
    knowledge: _Files = msgspec.field(default_factory=_Files)


def _decode_answer(text: str) -> _Answer:
    if len(text) > MAX_ANSWER_CHARS:
        raise UnusablePlanError("too_broad")
    fenced = _FENCED.match(text)
    try:
        raw: Any = msgspec.json.decode(fenced["json"] if fenced else text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        raise UnusablePlanError("invalid_json") from None
    try:
        return msgspec.convert(raw, _Answer)
    except msgspec.ValidationError:
        raise UnusablePlanError("invalid_json") from None


def _demand(*demands: tuple[bool, PlanFault]) -> None:
    """Raise `UnusablePlanError` with the reason of the first demand that is not met."""
    for is_met, reason in demands:
        if not is_met:
            raise UnusablePlanError(reason)


def _tools(asked: _Tools, known: Collection[str]) -> list[str]:
    names = list(dict.fromkeys(asked.visible_tools))
    _demand((all(name in known for name in names), "unknown_tool"), (len(names) <= MAX_TOOLS, "too_broad"))
    return names


def _durable(asked: _Durable) -> DurablePlan:
    targets, modes = asked.targets, set(asked.modes)
    _demand(
        (asked.status in {"recall", "skip"}, "invalid_json"),
        (modes <= {"key", "category", "query"}, "unknown_mode"),
        ((asked.status == "recall") == bool(targets), "invalid_json"),
        (not targets or len(modes) == 1, "invalid_json"),
        (len(targets) <= MAX_TARGETS, "too_broad"),
        (all(len(target) <= MAX_TEXT_CHARS for target in targets), "too_broad"),
        (all(_WORD.search(target) for target in targets), "too_broad"),
        (modes != {"category"} or _CATEGORIES.issuperset(targets), "invalid_json"),
        (modes != {"category"} or len(set(targets)) <= _MAX_CATEGORIES, "too_broad"),
    )
    return msgspec.convert({"status": asked.status, "modes": sorted(modes), "targets": targets}, DurablePlan)


def _query(asked: _Query, now: int) -> EpisodicQuery:
    has_time = asked.from_at is not None or asked.to_at is not None
    begin, end = asked.from_at or 0, now if asked.to_at is None else asked.to_at
    _demand(
        (asked.mode in {"current_thread", "related_threads", "workspace_threads"}, "unknown_mode"),
        (set(asked.roles or ()) <= {"user", "assistant"}, "invalid_json"),
        (len(asked.query) <= MAX_TEXT_CHARS, "too_broad"),
        (has_time or _WORD.search(asked.query) is not None, "too_broad"),
        (0 <= begin <= end and begin <= now, "invalid_json"),
        (asked.max_chars is None or asked.max_chars > 0, "invalid_json"),
        (asked.max_chars is None or asked.max_chars <= MAX_CHARS, "too_broad"),
    )
    return msgspec.convert(msgspec.to_builtins(asked), EpisodicQuery)


def _episodic(asked: _Episodic, now: int) -> EpisodicPlan:
    _demand(
        (asked.status in {"recall", "skip"}, "invalid_json"),
        ((asked.status == "recall") == bool(asked.queries), "invalid_json"),
        (len(asked.queries) <= MAX_QUERIES, "too_broad"),
    )
    plan = EpisodicPlan(queries=[_query(one, now) for one in asked.queries])
    return msgspec.structs.replace(plan, status="recall" if plan.queries else "skip")


def _files(asked: _Files) -> FilesPlan:
    _demand(
        (asked.status in {"recall", "skip"}, "invalid_json"),
        ((asked.status == "recall") == bool(asked.queries), "invalid_json"),
        (len(asked.queries) <= MAX_QUERIES, "too_broad"),
    )
    for one in asked.queries:
        named = one.source or "file"
        _demand(
            (named == "file" or named.startswith("collection:"), "unknown_mode"),
            (max(len(one.query), len(one.entity or ""), len(named)) <= MAX_TEXT_CHARS, "too_broad"),
            (_WORD.search(one.query) is not None, "too_broad"),
            (one.max_chars is None or one.max_chars > 0, "invalid_json"),
            (one.max_chars is None or one.max_chars <= MAX_CHARS, "too_broad"),
        )
    return msgspec.convert(msgspec.to_builtins(asked), FilesPlan)


def read_plan(text: str, known_tools: Collection[str], now: int) -> RecallPlan:
    """Return the plan of a model's answer. Raises `UnusablePlanError`."""
    answer = _decode_answer(text)
    recall = answer.memory.active_recall
    return RecallPlan(
        visible_tools=_tools(answer.tools, known_tools),
        durable=_durable(recall.durable),
        episodic=_episodic(recall.episodic, now),
        knowledge=_files(answer.knowledge),
    )
