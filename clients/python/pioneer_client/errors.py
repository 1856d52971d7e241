"""The two errors of a call."""

from typing import Any

import msgspec


class Failure(msgspec.Struct):
    """The `error` member of an answer, as far as a client needs it."""

    code: int
    message: str
    data: dict[str, Any] = {}


class GatewayError(Exception):
    """The gateway answered with an error.

    `code` is that of JSON-RPC, `reason` the word that programs go by. `retryable` says whether the same request may
    succeed later. `details` and `incident_id` are None where the gateway gave none.
    """

    def __init__(self, failure: Failure) -> None:
        data = failure.data
        self.code = failure.code
        self.message = failure.message
        self.reason: str = data.get("reason", "")
        self.retryable: bool = data.get("retryable", False)
        self.details: dict[str, Any] | None = data.get("details")
        self.incident_id: str | None = data.get("incident_id")
        super().__init__(f"{self.reason} ({self.code}): {self.message}")


class GatewayDied(Exception):
    """No answer can come: the process ended, the connection broke, or the client is closed."""
