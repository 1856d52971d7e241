"""How a command ends: its exit codes.

Rule 1: the codes are those of sysexits.h, where it has one; docs/cli.md lists them, and a test compares.
"""

from collections.abc import Mapping
from typing import cast

from protocol.errors import ErrorReason, GatewayError

OK = 0
NEGATIVE = 1
"""Nothing was found, or the answer is no."""
USAGE = 64
DATA = 65
NO_INPUT = 66
UNAVAILABLE = 69
DEFECT = 70
CANNOT_WRITE = 73
IO_ERROR = 74
TRY_AGAIN = 75
REFUSED = 77
CONFIG = 78
INTERRUPTED = 130
BROKEN_PIPE = 141

OF_REASON: Mapping[ErrorReason, int] = {
    "invalid_params": USAGE,
    "not_found": NEGATIVE,
    "scope_out_of_context": REFUSED, "write_refused": REFUSED, "memory_write_disabled": REFUSED,
    "memory_ignored": REFUSED, "forbidden": REFUSED,
    "conflict": DATA, "already_decided": DATA, "idempotency_mismatch": DATA, "checksum_mismatch": DATA,
    "version_too_new": DATA, "message_too_large": DATA,
    "storage_full": CANNOT_WRITE, "storage_read_only": CANNOT_WRITE,
    "turn_in_progress": TRY_AGAIN, "home_locked": TRY_AGAIN, "overloaded": TRY_AGAIN,
    "internal": DEFECT,
}  # fmt: skip
"""What a command ends with for an error of the contract; for every other one: unavailable."""


class Stop(Exception):
    """A command cannot go on: an exit code, and a line for a person."""

    def __init__(self, code: int, line: str) -> None:
        self.code = code
        self.line = line
        super().__init__(line)


def code_of(error: GatewayError) -> int:
    """The exit code for an error of the contract; a store that fails is told from one that is busy."""
    if getattr(error, "trouble", None) in {"io_error", "database_moved"}:
        return IO_ERROR
    return code_for(error.reason, UNAVAILABLE)


def code_for(reason: str | None, otherwise: int) -> int:
    """The exit code for a reason of the contract."""
    return OF_REASON.get(cast("ErrorReason", reason), otherwise)
