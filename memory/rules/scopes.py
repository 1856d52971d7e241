"""Resolves the active scopes of a call, from its context and the settings.

Rule 1: every read and write goes through a list of active scopes made here.
Rule 2: a scope that is not active is refused; an unknown id matches nothing.
"""

from collections.abc import Mapping, Sequence

from memory.rules.categories import CATEGORIES
from protocol.base import USER_SCOPE_KEY, Scope, ScopeKind
from protocol.errors import Refused
from protocol.hooks import TurnContext
from protocol.memory.values import Context, ScopeHint
from protocol.record import Category
from protocol.settings import MemorySettings

USER = Scope(kind="user", key=USER_SCOPE_KEY)

HINTED: Mapping[ScopeHint, ScopeKind | None] = {
    "user_global": "user",
    "agent_global": "agent",
    "agent_workspace": "agent",
    "project_workspace": "workspace",
    "unknown": None,
}

NEARNESS: Mapping[ScopeKind, float] = {"thread": 1.04, "task": 1.04, "agent": 1.03, "workspace": 1.02, "user": 1.0}
"""The factors of ranking by scope: a fact of this thread or project is a little more to the point than one about the
user in general."""


def of_context(context: Context, settings: MemorySettings) -> list[Scope]:
    """Return the active scopes of a call that a client makes."""
    scopes = [USER] if settings.allow_global_user_by_default or context.include_user else []
    named: tuple[tuple[ScopeKind, str | None], ...] = (
        ("workspace", context.workspace_id),
        ("agent", context.agent_id),
        ("thread", context.thread_id),
        ("task", context.task_id),
    )
    scopes += [Scope(kind=kind, key=key) for kind, key in named if key is not None]
    return scopes


def of_turn(turn: TurnContext, settings: MemorySettings) -> list[Scope]:
    """Return the active scopes of a turn. A subagent's thread has no user scope."""
    is_subagent = turn.parent_thread_id is not None
    scopes = [USER] if settings.allow_global_user_by_default and not is_subagent else []
    scopes.append(Scope(kind="workspace", key=turn.workspace_id))
    if turn.agent_id is not None and settings.allow_global_agent_by_default:
        scopes.append(Scope(kind="agent", key=turn.agent_id))
    scopes.append(Scope(kind="thread", key=turn.thread_id))
    if turn.task_id is not None:
        scopes.append(Scope(kind="task", key=turn.task_id))
    return scopes


def narrow_scopes(active: Sequence[Scope], wanted: Sequence[Scope] | None) -> list[Scope]:
    """Return the scopes asked for, without repetition; all active ones where none are.

    Raises `Refused("scope_out_of_context")` for one that is not active.
    """
    if wanted is None:
        return list(active)
    for scope in wanted:
        require_scope(active, scope)
    return list(dict.fromkeys(wanted))


def require_scope(active: Sequence[Scope], scope: Scope) -> Scope:
    """Return the scope. Raises `Refused("scope_out_of_context")` where it is not active."""
    if scope not in active:
        raise Refused("scope_out_of_context")
    return scope


def default_of(
    active: Sequence[Scope], category: Category, hint: ScopeHint, corrected: Scope | None = None
) -> tuple[Scope | None, bool]:
    """Return the scope of a write that names none, and whether it was clear; None where no fitting one is active.

    A correction goes to the scope of the corrected fact. A scope is unclear where the hinted one is not active.
    """
    if corrected is not None and corrected in active:
        return corrected, True
    by_kind = {scope.kind: scope for scope in active}
    hinted = HINTED[hint]
    if hinted is not None and hinted in by_kind:
        return by_kind[hinted], True
    is_nearest_first = hinted is not None or CATEGORIES[category].default_scope == "workspace"
    kinds = ("workspace", "user") if is_nearest_first else ("user", "workspace")
    return next((by_kind[kind] for kind in kinds if kind in by_kind), None), hinted is None
