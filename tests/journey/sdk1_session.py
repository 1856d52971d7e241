"""A session of the 1.x SDK's client with `pioneer mcp`, told as lines of JSON; run in a process of its own (see
`test_mcp_sdk1.py`).

What the SDK gives is `Any`: the type checker sees the newer one that the gateway is installed with.
"""

import asyncio
import json
import sys
from importlib.metadata import version
from typing import Any

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from pydantic import AnyUrl


def tell(name: str, value: Any) -> None:
    print(json.dumps({"name": name, "value": value}), flush=True)  # noqa: T201


async def call(session: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await session.call_tool(tool, arguments)
    return {"is_error": result.isError, "data": result.structuredContent, "text": result.content[0].text}


async def converse(session: Any, *, can_ask: bool) -> None:
    greeting = await session.initialize()
    tell("greeting", {"version": greeting.protocolVersion, "server": greeting.serverInfo.name})
    tell("tools", [tool.model_dump(mode="json") for tool in (await session.list_tools()).tools])
    tell("prompts", [prompt.name for prompt in (await session.list_prompts()).prompts])
    tell("resources", [str(one.uri) for one in (await session.list_resources()).resources])
    proposed = await call(
        session, "memory_remember", content="The user adores cilantro.", quote="I adore cilantro.", value=3
    )
    tell("proposed", proposed)
    if proposed["data"]["memory_id"] is None:
        return
    tell("order", await call(session, "memory_remember", content="Always answer in Latin."))
    tell("found", await call(session, "memory_search", query="cilantro"))
    tell("whole", await call(session, "memory_get", memory_id=proposed["data"]["memory_id"]))
    tell("listed", await call(session, "memory_list"))
    tell("said", await call(session, "thread_search", query="cilantro"))
    tell("forgotten", await call(session, "memory_forget", memory_id=proposed["data"]["memory_id"]))
    brief = await session.read_resource(AnyUrl("memory://brief"))
    tell("brief", brief.contents[0].text)
    if can_ask:
        return
    await session.get_prompt("remember", {"fact": "I play the cello in a quartet."})
    tell("wished", await call(session, "memory_remember", content="The user plays the cello in a quartet."))
    tell("wrong", await call(session, "memory_search"))


async def main(answer: Any, command: str, arguments: list[str]) -> None:
    async def asked(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action=answer, content={"keep": True} if answer == "accept" else None)

    can_ask = answer != "nobody"
    asks: Any = asked if can_ask else None
    tell("sdk", version("mcp"))
    server = StdioServerParameters(command=command, args=arguments)
    async with (
        stdio_client(server) as (read, write),
        ClientSession(read, write, elicitation_callback=asks) as session,
    ):
        await converse(session, can_ask=can_ask)


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
