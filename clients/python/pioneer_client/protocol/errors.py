"""Every error of the contract, split by blame; each reason owns its JSON-RPC code.

Rule 1: a reason that is not in `REASONS` cannot be raised.
Rule 2: a message never carries a path, SQL, a stack or stored text; `details` only what the caller sent or may know.
"""

from typing import Any, Literal, NamedTuple, TypeAlias

from pioneer_client.protocol.base import Wire

ErrorReason: TypeAlias = Literal[
    "parse_error",
    "invalid_request",
    "message_too_large",
    "already_initialized",
    "shutting_down",
    "method_not_found",
    "invalid_params",
    "unsafe_root",
    "checksum_mismatch",
    "version_too_new",
    "internal",
    "overloaded",
    "not_initialized",
    "forbidden",
    "scope_out_of_context",
    "write_refused",
    "memory_write_disabled",
    "memory_ignored",
    "not_found",
    "conflict",
    "overlapping_collection",
    "agent_invalid",
    "path_taken",
    "pass_running",
    "turn_in_progress",
    "already_decided",
    "idempotency_mismatch",
    "home_locked",
    "schema_too_new",
    "unavailable",
    "memory_disabled",
    "knowledge_disabled",
    "provider_not_configured",
    "provider_failed",
    "provider_rate_limited",
    "provider_unauthorized",
    "provider_unavailable",
    "provider_timeout",
    "storage_full",
    "storage_read_only",
    "cancelled",
]


class ReasonInfo(NamedTuple):
    """The meaning of a reason on the wire."""

    code: int
    retryable: bool
    message: str


REASONS: dict[ErrorReason, ReasonInfo] = {
    "parse_error": ReasonInfo(-32700, False, "The message is not JSON in UTF-8."),
    "invalid_request": ReasonInfo(-32600, False, "The message is not a JSON-RPC 2.0 request."),
    "message_too_large": ReasonInfo(-32600, False, "The message is longer than gateway.limits.max_message_bytes."),
    "already_initialized": ReasonInfo(-32600, False, "initialize was answered before."),
    "shutting_down": ReasonInfo(-32600, False, "After shutdown only exit is accepted."),
    "method_not_found": ReasonInfo(-32601, False, "There is no such method."),
    "invalid_params": ReasonInfo(-32602, False, "The parameters do not fit the method."),
    "unsafe_root": ReasonInfo(-32602, False, "That folder may not be a collection."),
    "checksum_mismatch": ReasonInfo(-32602, False, "The bundle's checksum does not match its content."),
    "version_too_new": ReasonInfo(-32602, False, "The bundle was written by a newer version."),
    "internal": ReasonInfo(-32603, False, "Our defect; the incident id is in the log."),
    "overloaded": ReasonInfo(-32001, True, "Too much work is queued; try again."),
    "not_initialized": ReasonInfo(-32002, False, "Send initialize first."),
    "forbidden": ReasonInfo(-32043, False, "That is not allowed here."),
    "scope_out_of_context": ReasonInfo(-32043, False, "The scope is not active in this context."),
    "write_refused": ReasonInfo(-32043, False, "The memory was not saved; details.decision says why."),
    "memory_write_disabled": ReasonInfo(-32043, False, "This thread may read memory but not change it."),
    "memory_ignored": ReasonInfo(-32043, False, "This thread does not use memory."),
    "not_found": ReasonInfo(-32044, False, "It does not exist."),
    "conflict": ReasonInfo(-32045, False, "The state does not allow that."),
    "overlapping_collection": ReasonInfo(-32045, False, "The folder is inside or above another collection."),
    "agent_invalid": ReasonInfo(-32045, False, "The agent's definition is not valid; `agents/list` says why."),
    "path_taken": ReasonInfo(-32045, False, "Another memory has that path."),
    "pass_running": ReasonInfo(-32045, True, "A run of that pass is in progress."),
    "turn_in_progress": ReasonInfo(-32045, True, "The thread already runs a turn."),
    "already_decided": ReasonInfo(-32045, False, "The candidate is not pending any more."),
    "idempotency_mismatch": ReasonInfo(-32045, False, "The idempotency key was used with another request."),
    "home_locked": ReasonInfo(-32045, True, "Another process holds the home alone for now."),
    "schema_too_new": ReasonInfo(-32045, False, "The home was written by a newer version."),
    "unavailable": ReasonInfo(-32046, True, "That cannot be done now."),
    "memory_disabled": ReasonInfo(-32046, False, "Durable memory is switched off."),
    "knowledge_disabled": ReasonInfo(-32046, False, "Files as evidence are switched off."),
    "provider_not_configured": ReasonInfo(-32046, False, "No model provider is configured for that role."),
    "provider_failed": ReasonInfo(
        -32046, True, "The model provider refused the request, or its answer cannot be read."
    ),
    "provider_rate_limited": ReasonInfo(-32046, True, "The model provider asks for fewer requests; try again later."),
    "provider_unauthorized": ReasonInfo(
        -32046, False, "The model provider refuses the key, or the account may not do this."
    ),
    "provider_unavailable": ReasonInfo(
        -32046, True, "The model provider cannot be reached or has a problem of its own; try again later."
    ),
    "provider_timeout": ReasonInfo(-32046, True, "The model provider did not answer in time; try again."),
    "storage_full": ReasonInfo(-32046, True, "The disk is full."),
    "storage_read_only": ReasonInfo(-32046, False, "The home cannot be written."),
    "cancelled": ReasonInfo(-32800, False, "The request was cancelled."),
}


class ErrorData(Wire):
    """The `data` member of every error."""

    reason: ErrorReason
    retryable: bool
    details: dict[str, Any] | None = None
    incident_id: str | None = None


class ErrorObject(Wire):
    """A JSON-RPC error."""

    code: int
    message: str
    data: ErrorData


class GatewayError(Exception):
    """Anything that the contract can answer. Raise one of the four kinds, never this."""

    default: ErrorReason

    def __init__(
        self, reason: ErrorReason | None = None, message: str | None = None, *, details: dict[str, Any] | None = None
    ) -> None:
        self.reason: ErrorReason = reason or self.default
        self.message = message or REASONS[self.reason].message
        self.details = details
        super().__init__(self.message)

    @property
    def retryable(self) -> bool:
        """Return whether the same request may succeed later."""
        return REASONS[self.reason].retryable

    @property
    def candidates(self) -> list[str]:
        """Return what the caller may have meant, where it named several things at once."""
        return [one["entity"] for one in (self.details or {}).get("candidates", [])]

    def on_the_wire(self) -> ErrorObject:
        """Return the error object that the client gets."""
        info = REASONS[self.reason]
        data = ErrorData(reason=self.reason, retryable=self.retryable, details=self.details)
        return ErrorObject(code=info.code, message=self.message, data=data)


class CallerError(GatewayError):
    """The request is wrong: the caller must change it."""

    default = "invalid_params"

    @classmethod
    def at(cls, path: str, problem: str) -> "CallerError":
        """Return the error (-32602) of a member that is wrong: `path` such as `$.scopes[0].kind`."""
        return cls("invalid_params", f"{problem} - at `{path}`", details={"path": path, "problem": problem})

    @classmethod
    def missing(cls, what: str) -> "CallerError":
        """Return the error (-32044) of a named thing that does not exist or is not visible."""
        return cls("not_found", f"There is no such {what}.")


class Refused(GatewayError):
    """Policy, scope or state refuses the call."""

    default = "forbidden"


class Unavailable(GatewayError):
    """It cannot be done now."""

    default = "unavailable"


class IndexDamaged(Unavailable):
    """A full-text index cannot be read: it is derived, and made anew; the store itself works."""


class PagesDamaged(IndexDamaged):
    """A page of the database's file, or a whole table, cannot be read: its derived parts are begun anew."""


class TextsGarbled(PagesDamaged):
    """A text in the database's file is no UTF-8: what can be read of it is read, and kept."""


class Defect(GatewayError):
    """The gateway has a defect."""

    default = "internal"
