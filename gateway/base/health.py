"""The gateway's health: components that do not work at present, and failures of late.

Rule 1: a component reports when it breaks and when it works again; the client is notified once of each.
Rule 2: this module knows no component by name; reasons are codes, never text.
"""

from collections import deque
from typing import Any

from gateway.base.hub import Announcement, to_announcement
from protocol.gateway import Degraded, LastError
from protocol.notifications import GatewayDegraded, GatewayRecovered
from protocol.seams.ports import Clock, Notify

LAST_ERRORS = 20
"""Enough to see a pattern in `gateway/status`; the log has the rest."""


class Health:
    """The gateway's own state of health, as `gateway/status` shows it."""

    def __init__(self, notify: Notify, clock: Clock) -> None:
        self._notify = notify
        self._clock = clock
        self._degraded: dict[tuple[str, str | None], Degraded] = {}
        self._errors: deque[LastError] = deque(maxlen=LAST_ERRORS)

    def degrade(self, component: str, reason: str, key: str | None = None, **more: Any) -> bool:
        """Note that a component (or its part `key`) does not work, with `more` members of the entry.

        Return whether this is new; a repetition changes nothing and sends no notification.
        """
        present = self._degraded.get((component, key))
        if present is not None and present.reason == reason:
            return False
        is_news = all((entry.component, entry.reason) != (component, reason) for entry in self._degraded.values())
        entry = Degraded(component=component, reason=reason, since=self._clock.now(), key=key, **more)
        self._degraded[component, key] = entry
        if is_news:
            self._notify("gateway/degraded", GatewayDegraded(component=component, reason=reason))
        return True

    def recover(self, component: str, reason: str | None = None, key: str | None = None) -> None:
        """Note that the component works again: as a whole, or as far as one reason or its part `key` goes."""
        gone = [
            place
            for place, entry in self._degraded.items()
            if place[0] == component and reason in {None, entry.reason} and key in {None, entry.key}
        ]
        for place in gone:
            del self._degraded[place]
        if gone:
            self._notify("gateway/recovered", GatewayRecovered(component=component))

    def news(self) -> list[Announcement]:
        """Return one notification for each broken component and reason, oldest first, for a client that comes now."""
        known = dict.fromkeys((entry.component, entry.reason) for entry in self._degraded.values())
        return [to_announcement("gateway/degraded", GatewayDegraded(component=of, reason=why)) for of, why in known]

    def list_degraded(self) -> list[Degraded]:
        """Return the components that do not work, in the order in which they were noted."""
        return list(self._degraded.values())

    def add_failure(self, component: str, reason: str, incident_id: str | None = None) -> None:
        """Note one failure; the component may go on working."""
        self._errors.appendleft(
            LastError(at=self._clock.now(), component=component, reason=reason, incident_id=incident_id)
        )

    def last_errors(self) -> list[LastError]:
        """Return the last twenty failures, newest first."""
        return list(self._errors)
