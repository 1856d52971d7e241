"""The system's time zone. The one home of tzlocal."""

import warnings
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache


@cache
def system_zone() -> str:
    """Return the system's time zone by its IANA name, else a fixed offset's, else UTC."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # noqa: PLC0415  # as in `find_zone`

    import tzlocal  # noqa: PLC0415  # 15 ms with the files it reads, and most clients send their zone

    now = datetime.now().astimezone()
    with suppress(ZoneInfoNotFoundError, ValueError, OSError, LookupError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a system whose settings contradict each other
        name = tzlocal.get_localzone_name()
        if now.astimezone(ZoneInfo(name)).utcoffset() == now.utcoffset():
            return name
    hours, rest = divmod(now.utcoffset() or timedelta(), timedelta(hours=1))
    return "UTC" if rest or not hours else f"Etc/GMT{-hours:+d}"
