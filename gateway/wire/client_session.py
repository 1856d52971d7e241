"""The client of one session: its handshake, and the parameters that its calls leave to the handshake.

Rule 1: a call's own parameters win; absent ones are filled in before a service sees it, so that no house knows a
client.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from gateway.base.time_zone import system_zone
from protocol.base import DEFAULT_WORKSPACE, Scope
from protocol.conversation.threads import ThreadStartParams
from protocol.conversation.turns import TurnStartParams
from protocol.errors import CallerError
from protocol.files.collections import CollectionAddParams, CollectionListParams
from protocol.files.knowledge import KnowledgeStatusParams
from protocol.gateway import InitializeParams
from protocol.guidance import InstructionsPreviewParams
from protocol.memory.reads import SearchParams
from protocol.memory.values import Context
from protocol.thread_episodic import ThreadSearchParams
from protocol.zones import find_zone

P = TypeVar("P", bound=msgspec.Struct)
W = TypeVar("W", CollectionAddParams, CollectionListParams, InstructionsPreviewParams, KnowledgeStatusParams)


class SessionClient:
    """The client's own description, as `initialize` brought it."""

    def __init__(self, agent_id: str | None = None) -> None:
        self._agent = agent_id
        self._workspace: str | None = None
        self._zone: str | None = None
        self.parent_pid: int | None = None
        self.name: str | None = None
        """The name by which the client introduced itself."""
        self._fills: Mapping[type[msgspec.Struct], Callable[[Any], Any]] = {
            CollectionAddParams: self._fill_workspace,
            CollectionListParams: self._fill_workspace,
            InitializeParams: self._take_handshake,
            InstructionsPreviewParams: self._fill_workspace_or_thread,
            KnowledgeStatusParams: self._fill_workspace,
            SearchParams: self._fill_zone_and_context,
            ThreadSearchParams: self._fill_zone,
            ThreadStartParams: self._fill_default_workspace,
            TurnStartParams: self._fill_options,
        }
        """The functions that fill in these; of all others the handshake says the workspace and agent of a context."""

    @property
    def agent_id(self) -> str | None:
        """Return the agent that the client speaks for."""
        return self._agent

    @property
    def workspace_id(self) -> str | None:
        """Return the workspace that the client named."""
        return self._workspace

    def sees(self, scope: Scope) -> bool:
        """Return whether a change to the scope is news to the client: the user's own memory, and its workspace's."""
        return scope.kind == "user" or scope == Scope(kind="workspace", key=self._workspace or DEFAULT_WORKSPACE)

    def time_zone(self) -> str:
        """Return the IANA name of the zone that "yesterday" is meant in."""
        return self._zone or system_zone()

    def enter(self, workspace_id: str) -> None:
        """Go on in another workspace."""
        self._workspace = workspace_id

    def introduce(self, params: InitializeParams) -> None:
        """Store the handshake's parameters. Raises `CallerError` for a time zone that does not exist."""
        zone = params.client.time_zone
        if zone is not None:
            _require_zone(zone, "$.client.time_zone")
        self._zone = zone
        self._workspace = params.workspace_id
        self.parent_pid = params.parent_pid
        self.name = params.client.name

    def fill(self, params: P) -> P:
        """Return the parameters with what the client means where it says nothing.

        Raises `CallerError` for an unknown zone.
        """
        return self._fills.get(type(params), self._fill_context)(params)

    def _fill_zone(self, params: ThreadSearchParams) -> ThreadSearchParams:
        return replace(params, time_zone=self._zone_of(params.time_zone, "$.time_zone"))

    def _fill_zone_and_context(self, params: SearchParams) -> SearchParams:
        return self._fill_context(replace(params, time_zone=self._zone_of(params.time_zone, "$.time_zone")))

    def _fill_options(self, params: TurnStartParams) -> TurnStartParams:
        zone = self._zone_of(params.options.time_zone, "$.options.time_zone")
        return replace(params, options=replace(params.options, time_zone=zone))

    def _fill_default_workspace(self, params: ThreadStartParams) -> ThreadStartParams:
        return replace(params, default_workspace_id=params.default_workspace_id or self._workspace)

    def _fill_workspace(self, params: W) -> W:
        return replace(params, workspace_id=params.workspace_id or self._workspace)

    def _fill_workspace_or_thread(self, params: InstructionsPreviewParams) -> InstructionsPreviewParams:
        return params if params.thread_id is not None else self._fill_workspace(params)

    def _take_handshake(self, params: InitializeParams) -> InitializeParams:
        self.introduce(params)
        return params

    def _fill_context(self, params: P) -> P:
        context = getattr(params, "context", None)
        if not isinstance(context, Context) or (self._workspace is None and self._agent is None):
            return params
        workspace_id, agent_id = context.workspace_id or self._workspace, context.agent_id or self._agent
        return replace(params, context=replace(context, workspace_id=workspace_id, agent_id=agent_id))

    def _zone_of(self, zone: str | None, path: str) -> str:
        if zone is None:
            return self.time_zone()
        _require_zone(zone, path)
        return zone


def _require_zone(zone: str, path: str) -> None:
    if find_zone(zone) is None:
        raise CallerError.at(path, "This is no IANA time zone")
