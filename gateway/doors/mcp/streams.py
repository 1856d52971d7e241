"""The SDK's two streams over the claimed pipes: lines in, lines out.

Rule 1: standard output carries protocol only; reader and writer neither keep the process from ending nor tear a line.
Rule 2: requests in flight at the end of input have `GRACE_SECONDS` to be answered.
Rule 3: a line that is no message is answered as JSON-RPC demands; one that is too long is never held whole.
"""

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from gateway.wire.framing import TOO_LONG, Frame, LineReceiver
from gateway.wire.rpc import BadMessage, RpcRequest, decode, error_reply, is_request_id, message_of
from gateway.wire.session import GRACE_SECONDS
from gateway.wire.stdio import PipeReader, PipeWriter
from protocol.envelope import RequestId
from protocol.errors import CallerError


class McpTransport:
    """Carries messages between the pipes and the SDK."""

    def __init__(self, reader: PipeReader, writer: PipeWriter, *, max_message_bytes: int, max_in_flight: int) -> None:
        self._reader = reader
        self._writer = writer
        self._lines = LineReceiver(max_message_bytes)
        self._max_in_flight = max_in_flight
        self._pending: set[RequestId] = set()
        self._settled = anyio.Event()
        self._reading = anyio.CancelScope()
        self._is_over = False

    def stop(self) -> None:
        """Read no further line; requests in flight get their grace."""
        self._is_over = True
        self._reading.cancel()

    async def read_into(self, incoming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """Hand messages over until the end of input or `stop`; then wait a moment for the answers, and close."""
        async with incoming:
            with self._reading:
                while not self._is_over and (chunk := await self._reader.receive()):
                    for frame in self._lines.feed(chunk):
                        await self._hand_over(frame, incoming)
                for frame in self._lines.close():
                    await self._hand_over(frame, incoming)
            with anyio.move_on_after(GRACE_SECONDS):
                while self._pending:
                    self._settled = anyio.Event()
                    await self._settled.wait()

    async def _hand_over(self, frame: Frame, incoming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        if frame == TOO_LONG:
            self._writer.send(error_reply(None, "message_too_large"))
            return
        try:
            message = jsonrpc_message_adapter.validate_json(frame, by_name=False)
        except ValidationError:
            self._writer.send(_refusal(frame))
            return
        if isinstance(message, JSONRPCRequest):
            if len(self._pending) >= self._max_in_flight:
                self._writer.send(error_reply(message.id, "overloaded"))
                return
            self._pending.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))  # the SDK sends no answer to it
        await incoming.send(SessionMessage(message))

    def _settle(self, request_id: object) -> None:
        if is_request_id(request_id):
            self._pending.discard(request_id)
            self._settled.set()

    async def write_from(self, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Write the SDK's messages until there are no more."""
        async with outgoing:
            async for reply in outgoing:
                line = reply.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
                self._writer.send(line)
                if isinstance(reply.message, (JSONRPCResponse, JSONRPCError)):
                    self._settle(reply.message.id)
                await self._writer.wait_writable()


def _refusal(frame: bytes) -> bytes:
    """Return the answer to a line that is no message, with its id where it has one."""
    try:
        message = message_of(decode(frame))
    except CallerError:
        return error_reply(None, "parse_error")
    return error_reply(message.request_id if isinstance(message, (RpcRequest, BadMessage)) else None, "invalid_request")
