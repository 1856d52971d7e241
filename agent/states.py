"""The life of a turn as a table.

Rule 1: every move of a turn's status is a row of `TURNS`; nothing here knows what a turn does.

    in_progress    the gateway calls its model
    awaiting_host  a host calls its model
    completed      it came to its end
    failed         an error ended it
    cancelled      its client stopped it
    interrupted    its process or its host went away

A turn that a door captured may have its answer delivered after it was taken for failed or interrupted.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from protocol.conversation.values import TurnStatus

TurnEvent: TypeAlias = Literal["complete", "fail", "cancel", "interrupt", "deliver"]
TurnDriver: TypeAlias = Literal["gateway", "host", "import"]

BEGINNINGS: Mapping[TurnDriver, TurnStatus] = {
    "gateway": "in_progress",
    "host": "awaiting_host",
    "import": "completed",
}
"""The first status of a turn, by who runs it: an imported one has ended elsewhere."""

_ENDS: Mapping[TurnEvent, TurnStatus] = {
    "complete": "completed",
    "fail": "failed",
    "cancel": "cancelled",
    "interrupt": "interrupted",
}

TURNS: Mapping[TurnStatus, Mapping[TurnEvent, TurnStatus]] = {
    "in_progress": _ENDS,
    "awaiting_host": _ENDS,
    "completed": {},
    "failed": {"deliver": "completed"},
    "cancelled": {},
    "interrupted": {"deliver": "completed"},
}
