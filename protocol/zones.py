"""Time zones by their names."""

from datetime import tzinfo


def find_zone(name: str) -> tzinfo | None:
    """Return the time zone of an IANA name; None where this machine does not know it."""
    from zoneinfo import ZoneInfo  # noqa: PLC0415  # it reads how Python was built, and few processes ask

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # `ZoneInfoNotFoundError` is a KeyError
        return None
