"""The system's time zone. The one home of tzlocal."""

import warnings
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache

from protocol.zones import find_zone


@cache
def system_zone() -> str:
    """Return the system's time zone by its IANA name, else a fixed offset's, else UTC."""
    import tzlocal  # noqa: PLC0415  # 15 ms with the files it reads, and most clients send their zone

    now = datetime.now().astimezone()
    with suppress(ValueError, OSError, LookupError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a system whose settings contradict each other
        name = tzlocal.get_localzone_name()
        zone = find_zone(name)
        if zone is not None and now.astimezone(zone).utcoffset() == now.utcoffset():
            return name
    hours, rest = divmod(now.utcoffset() or timedelta(), timedelta(hours=1))
    return "UTC" if rest or not hours else f"Etc/GMT{-hours:+d}"  # these names count hours west of Greenwich
