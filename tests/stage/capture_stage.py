"""Conversations of a program that knows no memory, as a door passes them on: chains are computed as the contract says."""

from collections.abc import Sequence
from typing import Any

from gateway.wire.client import GatewayClient
from protocol.capture.chain import START, ChainMessage, follow_all

Said = tuple[str, str]
"""A role and a text."""


def links(messages: Sequence[Said]) -> list[dict[str, str]]:
    hashes = follow_all(START, [ChainMessage(role, [text]) for role, text in messages])
    return [{"role": role, "hash": one.hex()} for (role, _), one in zip(messages, hashes, strict=True)]


def capture_of(messages: Sequence[Said], **source: Any) -> dict[str, Any]:
    """The parameters of `capture/prepare` for a conversation that ends, tool results aside, with a message of the user."""
    last = max(place for place, (role, _) in enumerate(messages) if role == "user")
    more = {name: source.pop(name) for name in ("memory_mode", "placement", "upstream") if name in source}
    return {
        "source": {"door": "proxy", "client": "codex", "workspace_id": "ws_here", **source},
        "chain": links(messages),
        "user_index": last,
        "user_text": messages[last][1],
        **more,
    }


class Chat:
    """A program's conversation: it sends all that was said each time."""

    def __init__(self, gateway: GatewayClient, /, **source: Any) -> None:
        self.client, self.source = gateway, source
        self.said: list[Said] = []

    async def prepare(self, text: str | None = None, **more: Any) -> dict[str, Any]:
        if text is not None:
            self.said.append(("user", text))
        return await self.client.request("capture/prepare", capture_of(self.said, **self.source, **more))

    async def finish(self, prepared: dict[str, Any], answer: str | None, **more: Any) -> dict[str, Any]:
        params: dict[str, Any] = {"status": "succeeded", "shown": True}
        way = more.pop("capture", {})
        if prepared["turn"] is not None:
            params["turn_id"] = prepared["turn"]["turn_id"]
        else:
            params["capture"] = capture_of(self.said, **self.source, **way)
        if answer is not None:
            params |= {"assistant_text": answer, "answer_hash": links([*self.said, ("assistant", answer)])[-1]["hash"]}
        ended = await self.client.request("capture/finish", params | more)
        if answer is not None:
            self.said.append(("assistant", answer))
        return ended

    async def say(self, text: str, answer: str, **more: Any) -> dict[str, Any]:
        """A whole turn; what it was given."""
        prepared = await self.prepare(text, **more)
        await self.finish(prepared, answer, **({"capture": more} if more else {}))
        return prepared


async def texts_of(client: GatewayClient, thread_id: str) -> list[str]:
    """Return the texts of a conversation in order."""
    return [item["text"] for item in (await client.request("thread/history", {"thread_id": thread_id}))["items"]]
