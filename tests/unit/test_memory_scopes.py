"""Which scopes are active, and where a write goes."""

from typing import Any, get_args

import pytest
from dictionary_memory import turn_context

from memory.rules.categories import PROJECT_CATEGORIES
from memory.rules.scopes import NEARNESS, USER, default_of, narrow_scopes, of_context, of_turn, require_scope
from protocol.base import Scope, ScopeKind
from protocol.errors import Refused
from protocol.memory.values import Context
from protocol.record import Category
from protocol.settings import MemorySettings

WORKSPACE = Scope(kind="workspace", key="ws_1")
AGENT = Scope(kind="agent", key="ag_1")
THREAD = Scope(kind="thread", key="thr_1")
TASK = Scope(kind="task", key="task_1")
ON = MemorySettings()
NO_USER = MemorySettings(allow_global_user_by_default=False)
WITH_AGENT = MemorySettings(allow_global_agent_by_default=True)

CONTEXTS: list[tuple[dict[str, Any], MemorySettings, list[Scope]]] = [
    ({}, ON, [USER]),
    ({"workspace_id": "ws_1"}, ON, [USER, WORKSPACE]),
    ({"workspace_id": "ws_1"}, NO_USER, [WORKSPACE]),
    ({"workspace_id": "ws_1", "include_user": True}, NO_USER, [USER, WORKSPACE]),
    ({}, NO_USER, []),
    ({"agent_id": "ag_1"}, ON, [USER, AGENT]),
    (
        {"workspace_id": "ws_1", "agent_id": "ag_1", "thread_id": "thr_1", "task_id": "task_1"},
        ON,
        [USER, WORKSPACE, AGENT, THREAD, TASK],
    ),
]


@pytest.mark.parametrize(("given", "settings", "scopes"), CONTEXTS)
def test_the_context_yields_the_scopes(given: dict[str, Any], settings: Any, scopes: Any) -> None:
    assert of_context(Context(**given), settings) == scopes


TURNS: list[tuple[dict[str, Any], MemorySettings, list[Scope]]] = [
    ({}, ON, [USER, WORKSPACE, THREAD]),
    ({}, NO_USER, [WORKSPACE, THREAD]),
    ({"agent_id": "ag_1"}, ON, [USER, WORKSPACE, THREAD]),
    ({"agent_id": "ag_1"}, WITH_AGENT, [USER, WORKSPACE, AGENT, THREAD]),
    ({"task_id": "task_1"}, ON, [USER, WORKSPACE, THREAD, TASK]),
    ({"parent_thread_id": "thr_0"}, ON, [WORKSPACE, THREAD]),
    ({}, WITH_AGENT, [USER, WORKSPACE, THREAD]),
]


@pytest.mark.parametrize(("given", "settings", "scopes"), TURNS)
def test_a_turn_yields_the_scopes(given: dict[str, Any], settings: Any, scopes: Any) -> None:
    assert of_turn(turn_context(**given), settings) == scopes


def test_narrowing_keeps_to_what_is_active() -> None:
    active = [USER, WORKSPACE]
    assert narrow_scopes(active, None) == active
    assert narrow_scopes(active, []) == []
    assert narrow_scopes(active, [WORKSPACE, WORKSPACE]) == [WORKSPACE]
    assert require_scope(active, USER) == USER
    for stranger in (THREAD, Scope(kind="workspace", key="ws_2"), Scope(kind="user", key="other")):
        with pytest.raises(Refused) as caught:
            narrow_scopes(active, [USER, stranger])
        assert caught.value.reason == "scope_out_of_context"


@pytest.mark.parametrize("category", get_args(Category))
def test_the_default_scope_follows_the_category(category: Category) -> None:
    natural = WORKSPACE if category in PROJECT_CATEGORIES else USER
    assert default_of([USER, WORKSPACE, AGENT], category, "unknown") == (natural, True)
    assert default_of([WORKSPACE, AGENT], category, "unknown") == (WORKSPACE, True)
    assert default_of([USER], category, "unknown") == (USER, True)


@pytest.mark.parametrize(
    ("active", "hint", "place"),
    [
        ([USER, WORKSPACE, AGENT], "user_global", (USER, True)),
        ([USER, WORKSPACE, AGENT], "agent_global", (AGENT, True)),
        ([USER, WORKSPACE, AGENT], "agent_workspace", (AGENT, True)),
        ([USER, WORKSPACE, AGENT], "project_workspace", (WORKSPACE, True)),
        ([USER, WORKSPACE], "agent_global", (WORKSPACE, False)),
        ([WORKSPACE], "user_global", (WORKSPACE, False)),
        ([USER], "project_workspace", (USER, False)),
        ([THREAD], "unknown", (None, True)),
        ([], "user_global", (None, False)),
    ],
)
def test_a_hint_is_only_a_hint(active: list[Scope], hint: Any, place: tuple[Scope | None, bool]) -> None:
    assert default_of(active, "preference", hint) == place


def test_every_kind_has_a_nearness_close_to_one() -> None:
    assert set(NEARNESS) == set(get_args(ScopeKind))
    assert all(1 <= nearness <= 1.05 for nearness in NEARNESS.values())
