"""The passes there are: one row each."""

from collections.abc import Callable, Mapping
from operator import attrgetter

from msgspec import Struct

from protocol.base import DAY_MS, HOUR_MS
from protocol.passes import PassName
from protocol.settings import PassSettings


class PassRow(Struct, frozen=True):
    """A pass: hours from its end to the next run, its switch, whether it waits for the night and asks a model."""

    hours: Callable[[PassSettings], int]
    is_wanted: Callable[[PassSettings], bool]
    is_nightly: bool = False
    uses_model: bool = False

    def interval_ms(self, settings: PassSettings) -> int:
        """Return the milliseconds from the end of a run to the next one, without jitter."""
        return self.hours(settings) * HOUR_MS

    def is_enabled(self, settings: PassSettings) -> bool:
        """Return whether the pass runs by itself."""
        return settings.enabled and self.is_wanted(settings)


def _daily(_settings: PassSettings) -> int:
    return 24


PASSES: Mapping[PassName, PassRow] = {
    "consolidate": PassRow(attrgetter("consolidate_hours"), attrgetter("enabled")),
    "dream": PassRow(_daily, attrgetter("dream"), is_nightly=True),
}
REVERSIBLE_MS = 90 * DAY_MS
"""The time for which the changes of a run can be undone, and its log is kept."""
