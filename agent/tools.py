"""Which tools a turn has, and which of them the model sees.

Rule 1: all tools of a domain are registered, few are visible: the plan's, then what `request_tools` reveals, in the same turn.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from protocol.base import encode
from protocol.hooks import HookInput, HookOutput, Subscription, ToolBundle
from protocol.threads import Domain, ToolFailure, ToolReply, ToolSpec
from protocol.tools import MAX_RESULT_CHARS, RequestToolsArgs, tool_spec

REQUEST_TOOLS = "request_tools"


class Toolset:
    """The tools of one turn."""

    def __init__(self, bundles: Sequence[ToolBundle], planned: Iterable[str]) -> None:
        self._specs: dict[str, ToolSpec] = {}
        for bundle in bundles:
            for spec in bundle.tools:
                self._specs.setdefault(spec.name, spec)
        self._visible = {name for name in planned if name in self._specs}
        self._visible |= {spec.name for spec in self._specs.values() if spec.domain == "agent"}

    def visible(self) -> list[ToolSpec]:
        """What the model sees now, in the order of registration."""
        return [spec for name, spec in self._specs.items() if name in self._visible]

    def visible_names(self) -> list[str]:
        """Names of what the model sees now."""
        return [spec.name for spec in self.visible()]

    def hidden_domains(self) -> list[Domain]:
        """Domains of which something is not visible yet."""
        return sorted({spec.domain for name, spec in self._specs.items() if name not in self._visible})

    def knows(self, name: str) -> bool:
        """Whether the tool is registered and visible."""
        return name in self._visible

    def reveal(self, arguments: dict[str, Any]) -> ToolReply:
        """`request_tools`: make the tools of some domains visible from the next round on."""
        try:
            wanted = msgspec.convert(arguments, RequestToolsArgs)
        except msgspec.ValidationError as error:
            return failure("invalid_params", str(error))
        revealed = [
            name for name, spec in self._specs.items() if spec.domain in wanted.domains and name not in self._visible
        ]
        self._visible |= set(revealed)
        return ToolReply(ok=True, data={"revealed": revealed})


def failure(code: str, message: str) -> ToolReply:
    """A tool error as the model reads it."""
    return ToolReply(ok=False, error=ToolFailure(code=code, message=message[:500]))


def result_text(reply: ToolReply) -> str:
    """A reply as one JSON text of at most `MAX_RESULT_CHARS`; a tool that says more is told to say less."""
    shown: dict[str, Any] = {"ok": True, "data": reply.data} if reply.ok else {"ok": False, "error": reply.error}
    text = encode(shown).decode()
    if len(text) <= MAX_RESULT_CHARS:
        return text
    return encode({"ok": False, "error": {"code": "result_too_large", "message": "Ask for less."}}).decode()


async def _offer_request_tools(_given: HookInput) -> HookOutput:
    return HookOutput(contributions=[ToolBundle(domain="agent", tools=[tool_spec(REQUEST_TOOLS)])])


def subscriptions() -> list[Subscription]:
    """The agent's own hook: `request_tools` is always there."""
    return [Subscription(hook_id="agent.request_tools", phase="TurnPreToolMaterialization", call=_offer_request_tools)]
