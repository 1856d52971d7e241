"""What a session's client means where a call says nothing."""

from typing import Any

import pytest

from gateway.wire.client_session import SessionClient
from protocol.conversation.threads import ThreadStartParams
from protocol.conversation.turns import TextInput, TurnOptions, TurnStartParams
from protocol.errors import CallerError
from protocol.gateway import ClientInfo, InitializeParams
from protocol.memory.reads import SearchParams
from protocol.memory.values import Context
from protocol.thread_episodic import ThreadSearchParams


def client_of(workspace_id: str | None = "ws_1", zone: str | None = "Asia/Tokyo") -> SessionClient:
    client, info = SessionClient(), ClientInfo(name="test", version="1", time_zone=zone)
    client.fill(InitializeParams(protocol_version="2026-11", client=info, workspace_id=workspace_id, parent_pid=7))
    assert client.parent_pid == 7
    return client


def turn(**options: Any) -> TurnStartParams:
    return TurnStartParams(thread_id="t", input=[TextInput(text="hi")], options=TurnOptions(**options))


@pytest.mark.parametrize(
    ("workspace_id", "named", "meant"),
    [("ws_1", None, "ws_1"), ("ws_1", "ws_2", "ws_2"), (None, None, None), (None, "a", "a")],
)
def test_a_workspace_that_a_call_names_wins(workspace_id: str | None, named: str | None, meant: str | None) -> None:
    client = client_of(workspace_id)
    asked = SearchParams(query="x", context=Context(workspace_id=named, thread_id="t"))
    assert client.fill(asked).context == Context(workspace_id=meant, thread_id="t")
    begun = client.fill(ThreadStartParams(default_workspace_id=named, workspace_id=None))
    assert (begun.default_workspace_id, begun.workspace_id) == (meant, None)


def test_a_zone_that_a_call_names_wins_and_exists() -> None:
    client = client_of()
    assert client.fill(turn(skip_recall=True)).options == TurnOptions(skip_recall=True, time_zone="Asia/Tokyo")
    assert client.fill(turn(time_zone="UTC")).options.time_zone == "UTC"
    search = ThreadSearchParams(workspace_id="w", query="x")
    assert client.fill(search).time_zone == "Asia/Tokyo"
    for wrong, path in (
        (turn(time_zone="Mars/Base"), "$.options.time_zone"),
        (ThreadSearchParams(workspace_id="w", query="x", time_zone="../x"), "$.time_zone"),
    ):
        with pytest.raises(CallerError) as refused:
            client.fill(wrong)
        assert f"`{path}`" in refused.value.message


def test_a_client_that_names_nothing_has_a_zone_and_no_workspace() -> None:
    client = client_of(None, None)
    assert client.fill(turn()).options.time_zone
    found = SessionClient().fill(SearchParams(query="x"))
    assert (found.time_zone, found.context) == (client.time_zone(), Context())
