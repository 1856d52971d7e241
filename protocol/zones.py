"""Time zones by their names."""

from zoneinfo import ZoneInfo


def find_zone(name: str) -> ZoneInfo | None:
    """Return the time zone of an IANA name; None where this machine does not know it."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # `ZoneInfoNotFoundError` is a KeyError
        return None
