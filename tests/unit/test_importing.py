"""What an import does when the gateway says no: skip the conversation, wait, or end."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gateway.base.exit_codes import UNAVAILABLE
from gateway.imports import importer as importing
from gateway.imports.formats.draft import Conversation, ImportedMessage
from gateway.imports.importer import ConversationImporter, ImportOptions, ImportWindow, Stopped
from gateway.imports.report import ImportCounts
from gateway.wire.client import CallFailed, GatewayClient
from protocol.conversation.imports import ThreadImportParams, ThreadImportResult
from protocol.conversation.threads import Thread
from protocol.errors import REASONS, ErrorReason
from protocol.methods import WORKSPACE_GET

LINE_BYTES = 4096


class Gateway(GatewayClient):
    """Answers imports as told; after the last answer all is well."""

    def __init__(self, *answers: ErrorReason) -> None:
        self.received = []
        self.answers = list(answers)
        self.asked: list[ThreadImportParams] = []

    async def call(self, method: Any, params: Any) -> Any:
        if method is WORKSPACE_GET:
            return None
        self.asked.append(params)
        if self.answers:
            reason = self.answers.pop(0)
            info = REASONS[reason]
            data = {"reason": reason, "retryable": info.retryable}
            raise CallFailed({"code": info.code, "message": info.message, "data": data})
        thread = Thread(
            thread_id="thr_1",
            workspace_id="ws_1",
            agent_id=None,
            parent_thread_id=None,
            name=None,
            mode="agent",
            memory_mode="normal",
            origin="user",
            task_id=None,
            archived=False,
            turn_count=len(params.turns),
            created_at=0,
            updated_at=0,
        )
        return ThreadImportResult(thread=thread, imported=len(params.turns), skipped=0, replaced=0, removed=0)


def conversation(name: str, *texts: str) -> Conversation:
    messages = [ImportedMessage("user", text, None) for text in texts or ("hello",)]
    return Conversation("any", name, f"About {name}", 1000, messages, Counter(), 0)


def imported(gateway: Gateway, *conversations: Conversation) -> ImportCounts:
    wish = ImportOptions(path=Path("talks"), home=Path("home"), workspace_id="ws_1")
    report = ImportCounts("ws_1", is_dry_run=False)

    async def go() -> None:
        window = ImportWindow(ConversationImporter(gateway, wish, report, LINE_BYTES))
        try:
            for one in conversations:
                await window.put(one, "talks.json")
            await window.close()
        finally:
            await window.abandon()

    asyncio.run(go())
    return report


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "RETRIES_MS", (0, 0))


def test_a_refused_conversation_is_named_and_the_others_go_on() -> None:
    report = imported(Gateway("conflict"), conversation("a"), conversation("b"))
    assert [entry._asdict() for entry in report.skipped] == [
        {"file": "talks.json", "place": "About a", "reason": "refused:conflict"}
    ]
    assert report.conversations == Counter(new=1)
    assert report.has_failures


def test_a_busy_home_is_waited_for() -> None:
    gateway = Gateway("overloaded", "home_locked")
    assert imported(gateway, conversation("a")).conversations == Counter(new=1)
    assert [params.dry_run for params in gateway.asked] == [True, True, True, False]


@pytest.mark.parametrize("reason", ["storage_full", "storage_read_only", "schema_too_new"])
def test_a_home_that_fails_ends_the_import(reason: ErrorReason) -> None:
    gateway = Gateway(reason, reason, reason)
    with pytest.raises(Stopped) as stopped:
        imported(gateway, conversation("a"))
    assert stopped.value.code == UNAVAILABLE
    assert REASONS[reason].message in stopped.value.line
    assert len(gateway.asked) == (3 if REASONS[reason].retryable else 1)


def test_a_request_that_no_line_holds_is_never_sent() -> None:
    gateway = Gateway()
    report = imported(gateway, conversation("a")._replace(source_id="\x01" * 512, title="\x01" * 999))
    assert report.reasons == Counter({"refused:message_too_large": 1})
    assert not gateway.asked


def test_a_long_conversation_is_sent_in_parts_that_fit() -> None:
    gateway = Gateway()
    imported(gateway, conversation("a", *("words " * 30 for _ in range(60))))
    looks = [params for params in gateway.asked if params.dry_run]
    sent = [params for params in gateway.asked if not params.dry_run]
    assert len(sent) == len(looks) > 2
    assert {params.mode for params in sent} == {"replace"}
    assert [params.has_more for params in sent] == [*[True] * (len(sent) - 1), False]
    assert [params.offset for params in sent] == [
        sum(len(before.turns) for before in sent[:place]) for place in range(len(sent))
    ]
