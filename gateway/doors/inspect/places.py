"""Places of memory, which are scopes with a name for people, and the parameters by which a call reads them.

Rule 1: in an address a place is `kind:key`. Without one a page shows all places that a person has.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gateway.doors.inspect.visit import Visit
from protocol import methods as m
from protocol.base import USER_SCOPE_KEY, Scope
from protocol.conversation.threads import Thread
from protocol.errors import CallerError, GatewayError
from protocol.memory.reads import GetResult
from protocol.record import Record

MAX_PLACES = 40
"""The most workspaces, and the most agents, that a page reads together; a person with more picks one."""
USER = Scope(kind="user", key=USER_SCOPE_KEY)
KINDS = ("user", "workspace", "agent", "thread", "task")


class NamedPlace(NamedTuple):
    """A scope with the words that a person knows it by."""

    scope: Scope
    label: str

    @property
    def name(self) -> str:
        """Return the place in the form of an address."""
        return name_of(self.scope)


def name_of(scope: Scope) -> str:
    """Return a scope in the form of an address."""
    return "user" if scope.kind == "user" else f"{scope.kind}:{scope.key}"


def scope_of(name: str) -> Scope:
    """Return the scope that a name of an address means. Raises `CallerError` for another text."""
    kind, _, key = name.partition(":")
    if kind not in KINDS or (kind != "user" and not key):
        raise CallerError.at("$.scope", "It is user, or a kind and a key as in workspace:ws_default")
    return USER if kind == "user" else Scope(kind=kind, key=key)


async def context_of(visit: Visit, scope: Scope) -> dict[str, Any]:
    """Return the parameter `context` in which a scope is visible; note the label of a conversation."""
    context: dict[str, Any] = {"include_user": True}
    if scope.kind == "thread":
        try:
            found = (await visit.ask(m.THREAD_GET, {"thread_id": scope.key})).thread
            context["workspace_id"] = found.workspace_id
            visit.labels[name_of(scope)] = found.name or "A conversation"
        except GatewayError:
            pass
    if scope.kind != "user":
        context[f"{scope.kind}_id"] = scope.key
    return context


async def list_workspaces(visit: Visit) -> list[NamedPlace]:
    """Return the workspaces, the oldest first."""
    found = (await visit.ask(m.WORKSPACE_LIST, {"limit": MAX_PLACES})).workspaces
    return [NamedPlace(Scope(kind="workspace", key=one.workspace_id), one.name or one.workspace_id) for one in found]


async def list_threads(visit: Visit) -> list[Thread]:
    """Return the newest hundred conversations, the newest first."""
    return (await visit.ask(m.THREAD_LIST, {"limit": 100})).threads


async def list_places(visit: Visit, threads: Sequence[Thread] | None = None) -> list[NamedPlace]:
    """Return the user's own place, the workspaces, and the agents of the newest conversations; note their labels."""
    workspaces = await list_workspaces(visit)
    threads = await list_threads(visit) if threads is None else threads
    agents = dict.fromkeys(thread.agent_id for thread in threads if thread.agent_id)
    found = [
        NamedPlace(USER, "You"),
        *workspaces,
        *(NamedPlace(Scope(kind="agent", key=agent), f"Agent {agent}") for agent in [*agents][:MAX_PLACES]),
    ]
    visit.labels |= {place.name: place.label for place in found}
    return found


async def get_memory(visit: Visit, memory_id: str, context: Mapping[str, Any], **more: bool) -> GetResult:
    """Return `memory/get` of a record. A look by a person does not count as a read, so it keeps nothing from fading."""
    return await visit.ask(m.MEMORY_GET, {"memory_id": memory_id, "context": context, "is_read": False, **more})


async def other_record(visit: Visit, memory_id: str | None, context: Mapping[str, Any]) -> Record | None:
    """Return a record that another one refers to; None without one, or where it may not be shown in words."""
    if memory_id is None:
        return None
    try:
        record = (await get_memory(visit, memory_id, context)).record
    except GatewayError:
        return None
    return record if record is not None and record.sensitivity != "regulated" else None


class PlacesRead(NamedTuple):
    """One call's part of a read over several places: its context, and the scopes that it lists."""

    context: dict[str, Any]
    scopes: list[dict[str, str]]

    def params(self) -> dict[str, Any]:
        """Return them as members of a call's parameters."""
        return {"context": self.context, "scopes": self.scopes}


async def plan_reads(visit: Visit, places: Sequence[NamedPlace], wanted: str) -> list[PlacesRead]:
    """Return the reads that together cover the wanted place, or all places.

    The user's own place is read with the first workspace; every other one needs a call of its own.
    """
    chosen = [scope_of(wanted)] if wanted else [place.scope for place in places]
    calls: list[PlacesRead] = []
    for scope in chosen:
        last = calls[-1] if calls else None
        if scope.kind == "workspace" and last is not None and last.scopes == [_to_params(USER)]:
            calls[-1] = PlacesRead(await context_of(visit, scope), [_to_params(USER), _to_params(scope)])
        else:
            calls.append(PlacesRead(await context_of(visit, scope), [_to_params(scope)]))
    return calls


def _to_params(scope: Scope) -> dict[str, str]:
    return {"kind": scope.kind, "key": scope.key}


class Reached(NamedTuple):
    """A record with the context in which it is visible, and the whole answer of `memory/get`."""

    record: Record
    context: dict[str, Any]
    found: GetResult


async def reach_memory(visit: Visit, memory_id: str) -> Reached:
    """Return a record, also a forgotten one, from the place that the request names, else from any.

    Raises `CallerError` where no place has it.
    """
    named = visit.query.get("scope") or visit.fields.get("scope", "")
    scopes = [scope_of(named)] if named else [USER]
    for scope in scopes:
        if (reached := await _find_in_context(visit, memory_id, await context_of(visit, scope))) is not None:
            return reached
    for place in await list_places(visit):
        context = await context_of(visit, place.scope)
        if place.scope not in scopes and (reached := await _find_in_context(visit, memory_id, context)) is not None:
            return reached
    raise CallerError.missing("memory")


async def _find_in_context(visit: Visit, memory_id: str, context: dict[str, Any]) -> Reached | None:
    try:
        found = await get_memory(visit, memory_id, context, include_deleted=True, include_evidence=True)
    except GatewayError as error:
        if error.reason in {"scope_out_of_context", "invalid_params", "not_found"}:
            return None
        raise
    return Reached(found.record, context, found) if found.record is not None else None
