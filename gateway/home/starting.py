"""How a process is started in a home, and why one cannot begin."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway.base.exit_codes import CONFIG, UNAVAILABLE
from gateway.home.config import ConfigError
from protocol.errors import GatewayError


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of the command line."""

    home: Path
    config: Path | None = None
    clock_file: Path | None = None
    log_level: str = "info"
    uses_stderr: bool = True
    """The log goes to stderr as well; not where a person reads that."""
    refuses_unknown_keys: bool = False
    """A setting that does not exist ends the process; a server starts instead, and reports it to its client."""


class UnusableError(Exception):
    """The process cannot begin: an exit code and one line for a person."""

    def __init__(self, code: int, line: str, reason: str | None = None) -> None:
        self.code = code
        self.line = line
        self.reason = reason
        super().__init__(line)


@contextmanager
def raising_unusable() -> Generator[None]:
    """Raise any error that keeps the process from starting as an `UnusableError`."""
    try:
        yield
    except ConfigError as error:
        raise UnusableError(CONFIG, f"configuration: {error}") from error
    except GatewayError as error:
        if error.reason == "invalid_params":
            raise UnusableError(CONFIG, error.message) from error
        raise UnusableError(UNAVAILABLE, error.message, error.reason) from error
    except OSError as error:
        raise UnusableError(UNAVAILABLE, f"the home cannot be used ({type(error).__name__})") from error
