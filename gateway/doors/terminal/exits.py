"""The end of a command: the exit code of each error, and the exception that stops a command."""

import errno
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from gateway.base.exit_codes import (
    CANNOT_WRITE,
    DATA,
    DEFECT,
    IO_ERROR,
    NEGATIVE,
    NO_INPUT,
    REFUSED,
    TRY_AGAIN,
    UNAVAILABLE,
    USAGE,
)
from protocol.errors import ErrorReason, GatewayError

CODE_OF_REASON: Mapping[ErrorReason, int] = {
    "invalid_params": USAGE,
    "not_found": NEGATIVE,
    "scope_out_of_context": REFUSED,
    "write_refused": REFUSED,
    "memory_write_disabled": REFUSED,
    "memory_ignored": REFUSED,
    "forbidden": REFUSED,
    "conflict": DATA,
    "unsafe_root": DATA,
    "overlapping_collection": DATA,
    "agent_invalid": DATA,
    "already_decided": DATA,
    "idempotency_mismatch": DATA,
    "checksum_mismatch": DATA,
    "version_too_new": DATA,
    "message_too_large": DATA,
    "storage_full": CANNOT_WRITE,
    "storage_read_only": CANNOT_WRITE,
    "turn_in_progress": TRY_AGAIN,
    "home_locked": TRY_AGAIN,
    "overloaded": TRY_AGAIN,
    "internal": DEFECT,
}
"""The exit code of each error of the contract, by its reason; of a reason without a row it is `UNAVAILABLE`."""


class Stop(Exception):
    """The end of a command that cannot go on: its exit code, and the line that a person reads."""

    def __init__(self, code: int, line: str) -> None:
        self.code = code
        self.line = line
        super().__init__(line)


MENDABLE = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EEXIST,
        errno.EISDIR,
        errno.ENAMETOOLONG,
        errno.EINVAL,
    }
)
"""Errors of a write that a person can mend: no room, no permission, no such place. The others mean a failing disk."""


def describe_os_error(error: OSError) -> str:
    """Return the system's message alone; `str(error)` would add the path."""
    return error.strerror or type(error).__name__


@contextmanager
def writing(path: Path) -> Generator[None]:
    """Turn an `OSError` of the block, which writes a file that the command line names, into a `Stop` with its name."""
    try:
        yield
    except OSError as error:
        code = CANNOT_WRITE if error.errno in MENDABLE else IO_ERROR
        raise Stop(code, f"{path} cannot be written: {describe_os_error(error)}") from error


def require_folder_of(file: Path) -> None:
    """Raise `Stop` where the folder of a file to be written does not exist: a mistyped path creates no folders."""
    folder = file.absolute().parent
    if not folder.is_dir():
        raise Stop(CANNOT_WRITE, f"{file} cannot be written: there is no folder {folder}")


@contextmanager
def reading(path: Path) -> Generator[None]:
    """Turn an `OSError` of the block, which reads a file that the command line names, into a `Stop` with its name."""
    try:
        yield
    except OSError as error:
        code = IO_ERROR if error.errno == errno.EIO else NO_INPUT
        raise Stop(code, f"{path} cannot be read: {describe_os_error(error)}") from error


def check_folder(path: Path) -> str:
    """Return the absolute path of a folder that the command line names. Raises `Stop` with its name if it is none."""
    if not path.is_dir():
        line = f"{path} is a file; a folder is wanted" if path.exists() else f"there is no such folder: {path}"
        raise Stop(NO_INPUT, line)
    return str(path.absolute())


def code_of_system(error: OSError) -> int:
    """Return the exit code for an `OSError` outside of `reading` and `writing`."""
    return CANNOT_WRITE if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS} else IO_ERROR


def code_of(error: GatewayError) -> int:
    """Return the exit code for an error of the contract; `IO_ERROR` where the database's disk fails."""
    if getattr(error, "trouble", None) in {"io_error", "database_moved"}:
        return IO_ERROR
    return code_for(error.reason, UNAVAILABLE)


def code_for(reason: str | None, otherwise: int) -> int:
    """Return the exit code for a reason of the contract; `otherwise` for one without a row."""
    return CODE_OF_REASON.get(cast("ErrorReason", reason), otherwise)
