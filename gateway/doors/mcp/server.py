"""The official SDK's server in front of the door: the lists of what is offered, and a handler for each request.

Rule 1: the SDK handles the protocol's revisions; this module tells them apart only where it asks the user, and in the
code of a missing resource.
Rule 2: lists are constant and in one order, so that a client may cache them.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import mcp_types as types
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.caching import CacheHint
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.message import SessionMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from gateway import __version__
from gateway.doors.mcp import prompts
from gateway.doors.mcp.admin import ADMIN_ANSWERS
from gateway.doors.mcp.answers import ANSWERS
from gateway.doors.mcp.door import Caller, Interruption, McpDoor
from gateway.doors.mcp.streams import McpTransport
from promt import load
from protocol.errors import CallerError, GatewayError
from protocol.tools import tool_spec, whole_schema

NAME = "pioneer"
LIST_CACHE_MS = 3_600_000
"""The time for which clients may cache lists: they change with the version alone."""
ANSWER_FIELD = "keep"
"""The name of the one member of the form in which the user is asked."""
RESOURCE_NOT_FOUND = -32002
"""The error code of revisions with a handshake; in newer ones it is that of invalid parameters."""

TITLES: Mapping[str, str] = {
    "memory_search": "Search memory",
    "memory_list": "List memory",
    "memory_get": "Read one memory",
    "memory_remember": "Remember",
    "memory_forget": "Forget",
    "thread_search": "Search earlier conversations",
    "agent_list": "List agents",
    "agent_info": "Read an agent's rules",
    "knowledge_search": "Search notes, documents and code",
    "knowledge_read": "Read around a place in a file",
    "memory_consolidate": "Tidy up memory",
    "memory_passes": "Upkeep of memory",
    "memory_links": "Links of a memory",
}
READS = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
ANNOTATIONS: Mapping[str, types.ToolAnnotations] = {
    "memory_remember": types.ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    ),
    "memory_forget": types.ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
    ),
    "memory_consolidate": types.ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    ),
}
"""Hints of the tools that change something; the others read. A repeated call changes nothing more."""

Context = ServerRequestContext[Any, Any]
Digest = Callable[[str], str]
"""A hash of a text with a key of the home."""


def _tool(name: str) -> types.Tool:
    spec = tool_spec(name)
    return types.Tool(
        name=name,
        title=TITLES[name],
        description=spec.description,
        input_schema=spec.parameters,
        output_schema=whole_schema({**ANSWERS, **ADMIN_ANSWERS}[name]),
        annotations=ANNOTATIONS.get(name, READS),
    )


TOOLS = [_tool(name) for name in ANSWERS]
ADMIN_TOOLS = [_tool(name) for name in ADMIN_ANSWERS]
RESOURCES = [
    types.Resource(
        uri=prompts.BRIEF_URI,
        name="brief",
        title="What to know at the beginning",
        mime_type="text/plain",
        description="Who the user is, how they want to be answered, and what holds in this project.",
    )
]
TEMPLATES = [
    types.ResourceTemplate(uri_template=t.uri, name=t.name, description=t.description, mime_type="text/plain")
    for t in prompts.TEMPLATES
]


def _prompt(name: str, offer: prompts.Offer) -> types.Prompt:
    wanted = [offer.argument] if offer.argument is not None else []
    arguments = [types.PromptArgument(name=a.name, description=a.description, required=True) for a in wanted]
    return types.Prompt(name=name, title=load(f"mcp_{name}").title, description=offer.description, arguments=arguments)


PROMPTS = [_prompt(name, offer) for name, offer in prompts.PROMPTS.items()]


class _AskFirst(Interruption):
    """The question for which a client of a newer revision ends the call: it asks its user and calls again."""

    def __init__(self, question: str) -> None:
        self.question = question
        super().__init__()


def _form(question: str) -> types.ElicitRequestFormParams:
    schema = {
        "type": "object",
        "properties": {
            ANSWER_FIELD: {"type": "boolean", "title": f"{question.split(maxsplit=1)[0]} it", "default": True}
        },
    }
    return types.ElicitRequestFormParams(message=question, requested_schema=schema)


def _is_yes(result: types.ElicitResult) -> bool:
    return result.action == "accept" and (result.content or {}).get(ANSWER_FIELD, True) is True


def _can_be_asked(context: Context) -> bool:
    capabilities = context.session.client_capabilities
    ways = capabilities.elicitation if capabilities is not None else None
    return ways is not None and (ways.form is not None or ways.url is None)  # older revisions write `{}` for a form


def _caller(context: Context, consent: bool | None = None) -> Caller:  # noqa: FBT001  # the user's yes or no
    """Return the caller, with the way in which its revision asks the user; `consent` is an answer given before."""
    params = context.session.client_params
    is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def ask(question: str) -> bool | None:
        if not _can_be_asked(context):
            return None
        if is_modern:
            raise _AskFirst(question)
        form = _form(question)
        try:
            answer = await context.session.elicit_form(form.message, form.requested_schema, context.request_id)
        except (MCPError, NoBackChannelError):  # the client cannot after all: the user was not asked
            return None
        return _is_yes(answer)

    name = params.client_info.name if params is not None else None
    return Caller(name, ask, consent, can_ask=_can_be_asked(context))


def _error(error: GatewayError, context: Context, **data: str) -> MCPError:
    """Return an error of the gateway as one of MCP; `data` names the resource that was asked for."""
    is_caller = isinstance(error, CallerError)
    code = types.INVALID_PARAMS if is_caller else types.INTERNAL_ERROR
    if data and is_caller and context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        code = RESOURCE_NOT_FOUND
    return MCPError(code, error.message, data or None)


class Handlers:
    """The handlers of requests, which answer with the door's results."""

    def __init__(self, door: McpDoor, digest: Digest) -> None:
        self._door = door
        self._digest = digest

    async def list_tools(self, _context: Context, _params: Any) -> types.ListToolsResult:
        """`tools/list`."""
        offered = [tool for tool in (*TOOLS, *ADMIN_TOOLS) if tool.name in self._door.answers]
        return types.ListToolsResult(tools=offered)

    async def list_resources(self, _context: Context, _params: Any) -> types.ListResourcesResult:
        """`resources/list`."""
        return types.ListResourcesResult(resources=RESOURCES)

    async def list_templates(self, _context: Context, _params: Any) -> types.ListResourceTemplatesResult:
        """`resources/templates/list`."""
        return types.ListResourceTemplatesResult(resource_templates=TEMPLATES)

    async def list_prompts(self, _context: Context, _params: Any) -> types.ListPromptsResult:
        """`prompts/list`."""
        return types.ListPromptsResult(prompts=PROMPTS)

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """`tools/call`: a failure is a result, an unknown tool is not."""
        if params.name not in self._door.answers:
            raise MCPError(types.INVALID_PARAMS, "There is no such tool.")
        arguments = params.arguments or {}
        state = self._digest(f"{params.name} {json.dumps(arguments, sort_keys=True)}")
        try:
            answer = await self._door.call(params.name, arguments, _caller(context, self._consent(params, state)))
        except _AskFirst as asked:
            request = types.ElicitRequest(params=_form(asked.question))
            return types.InputRequiredResult(input_requests={ANSWER_FIELD: request}, request_state=state)
        content = [types.TextContent(type="text", text=answer.text)]
        return types.CallToolResult(content=[*content], structured_content=answer.data, is_error=answer.data is None)

    @staticmethod
    def _consent(params: types.CallToolRequestParams, state: str) -> bool | None:
        """Return the user's answer to the question about this very call; None where they were not asked.

        Raises `MCPError` for a state that belongs to another call.
        """
        if params.request_state is None:
            return None
        if params.request_state != state:
            raise MCPError(types.INVALID_PARAMS, "`requestState` is not what was given for this call.")
        answer = (params.input_responses or {}).get(ANSWER_FIELD)
        return _is_yes(answer) if isinstance(answer, types.ElicitResult) else None

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """`resources/read`."""
        try:
            text = await prompts.read(self._door, params.uri, _caller(context))
        except GatewayError as error:
            raise _error(error, context, uri=params.uri) from None
        found = types.TextResourceContents(uri=params.uri, mime_type="text/plain", text=text)
        return types.ReadResourceResult(contents=[found])

    async def get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """`prompts/get`."""
        try:
            text = await prompts.render(self._door, params.name, params.arguments or {}, _caller(context))
        except GatewayError as error:
            raise _error(error, context) from None
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description=prompts.PROMPTS[params.name].description, messages=[message])


def server_of(door: McpDoor, digest: Digest) -> Server[Any]:
    """Return the SDK's server with everything that is offered."""
    handlers = Handlers(door, digest)
    lasting = CacheHint(ttl_ms=LIST_CACHE_MS)
    return Server(
        NAME,
        version=__version__,
        title="Pioneer memory",
        instructions=load("mcp_instructions").text,
        cache_hints={
            "tools/list": lasting,
            "prompts/list": lasting,
            "resources/list": lasting,
            "resources/templates/list": lasting,
        },
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


async def converse(door: McpDoor, digest: Digest, wire: McpTransport) -> None:
    """Serve one client until its input ends or the wire is stopped."""
    server = server_of(door, digest)
    incoming_sender, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
    outgoing, outgoing_receiver = anyio.create_memory_object_stream[SessionMessage]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wire.read_into, incoming_sender)
        tasks.start_soon(wire.write_from, outgoing_receiver)
        await server.run(incoming, outgoing, server.create_initialization_options(NotificationOptions()))
