"""JSON-RPC 2.0 envelopes."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta

from protocol.base import Wire
from protocol.errors import ErrorObject

RequestId: TypeAlias = Annotated[str, Meta(max_length=1024)] | int


class Response(Wire):
    """A reply with a result."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: RequestId
    result: Any


class ErrorResponse(Wire):
    """A reply with an error; the id is null where the request's was unusable."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: RequestId | None
    error: ErrorObject


class NotificationMessage(Wire):
    """A notification of the gateway."""

    jsonrpc: Literal["2.0"] = "2.0"
    method: str
    params: Any
