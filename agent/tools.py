"""The tools of a turn, and those of them that the model sees.

Rule 1: all tools of a domain are registered, few are visible: the plan's, then what `request_tools` reveals, in the
same turn. Without anything to reveal there is no `request_tools`.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import msgspec

from protocol.base import encode
from protocol.conversation.host_turns import ToolFailure, ToolReply, ToolSpec
from protocol.conversation.values import Domain
from protocol.hooks import HookInput, HookOutput, Subscription, ToolBundle
from protocol.tools import MAX_RESULT_CHARS, RequestToolsArgs, tool_spec

REQUEST_TOOLS = "request_tools"
AGENT_LIST, AGENT_INFO = "agent_list", "agent_info"


class Toolset:
    """The tools of one turn."""

    def __init__(
        self, bundles: Sequence[ToolBundle], planned: Iterable[str], domains: Collection[str] | None = None
    ) -> None:
        """Take the tools of all bundles that are of some `domains` (None: all); `request_tools` where one is hidden."""
        self._specs: dict[str, ToolSpec] = {}
        for bundle in bundles:
            for spec in bundle.tools:
                if domains is None or spec.domain in domains or spec.name == REQUEST_TOOLS:
                    self._specs.setdefault(spec.name, spec)
        self._visible = {name for name in planned if name in self._specs}
        if self._specs.keys() - self._visible - {REQUEST_TOOLS}:
            self._visible |= {REQUEST_TOOLS} & self._specs.keys()
        else:
            self._specs.pop(REQUEST_TOOLS, None)

    def visible(self) -> list[ToolSpec]:
        """Return the tools that the model sees now, in the order of registration."""
        return [spec for name, spec in self._specs.items() if name in self._visible]

    def visible_names(self) -> list[str]:
        """Return the names of the tools that the model sees now, in the same order."""
        return [spec.name for spec in self.visible()]

    def hidden_domains(self) -> list[Domain]:
        """Return the domains with a tool that is not visible yet, sorted."""
        return sorted({spec.domain for name, spec in self._specs.items() if name not in self._visible})

    def reveal(self, arguments: dict[str, Any]) -> ToolReply:
        """Answer `request_tools`: make the tools of some domains visible from the next round on; name those."""
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
    """Return a tool error as the model reads it, its message cut to 500 characters."""
    return ToolReply(ok=False, error=ToolFailure(code=code, message=message[:500]))


def result_text(reply: ToolReply) -> str:
    """Return a reply as one JSON text of at most `MAX_RESULT_CHARS`.

    A longer reply becomes a failure that asks the model for less.
    """
    shown: dict[str, Any] = {"ok": True, "data": reply.data} if reply.ok else {"ok": False, "error": reply.error}
    if not reply.ok and reply.data is not None:
        shown["data"] = reply.data
    text = encode(shown).decode()
    if len(text) <= MAX_RESULT_CHARS:
        return text
    return encode({"ok": False, "error": {"code": "result_too_large", "message": "Ask for less."}}).decode()


def most_that_fits(count: int, fits: Callable[[int], bool]) -> int:
    """Return the largest n up to `count` for which it fits; what fits in more fits in less."""
    low, high = 0, count
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def fits(data: dict[str, Any]) -> bool:
    """Return whether a successful answer with this data is short enough to be given to a model uncut."""
    return len(encode({"ok": True, "data": data}).decode()) <= MAX_RESULT_CHARS


async def _offer_own_tools(_given: HookInput) -> HookOutput:
    tools = [tool_spec(name) for name in (REQUEST_TOOLS, AGENT_LIST, AGENT_INFO)]
    return HookOutput(contributions=[ToolBundle(domain="agent", tools=tools)])


def subscriptions() -> list[Subscription]:
    """Return the agent's own hook: `request_tools`, and the tools about agents, which are seen once asked for."""
    return [Subscription(hook_id="agent.request_tools", phase="TurnPreToolMaterialization", call=_offer_own_tools)]
