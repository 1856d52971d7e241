"""What a client says of itself at the handshake, and what a call means that leaves it out."""

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gateway.time_zone import system_zone
from protocol.errors import CallerError
from protocol.gateway import InitializeParams


class Client:
    """What the client said of itself at `initialize`."""

    def __init__(self) -> None:
        self._workspace: str | None = None
        self._zone: str | None = None
        self.parent_pid: int | None = None

    def workspace(self) -> str | None:
        """The workspace that a call means when it names none."""
        return self._workspace

    def time_zone(self) -> str:
        """What "yesterday" means: an IANA name."""
        return self._zone or system_zone()

    def introduce(self, params: InitializeParams) -> None:
        """Take over what `initialize` says. Raises `CallerError` for a time zone that does not exist."""
        zone = params.client.time_zone
        if zone is not None:
            try:
                ZoneInfo(zone)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                raise CallerError.at("$.client.time_zone", "This is no IANA time zone") from None
        self._zone = zone
        self._workspace = params.workspace_id
        self.parent_pid = params.parent_pid
