"""The actors that this house names: who wrote a record, and who changed it.

Rule 1: pure. A stored provenance is compared with these, so that another id here is another author.
"""

from typing import Final

from protocol.record import Actor

USER_ACTOR: Final = Actor(kind="user")
SYSTEM_ACTOR: Final = Actor(kind="system")
"""The gateway itself: the clock, a pass, a repair."""
APPROVER: Final = Actor(kind="user", id="approval")
"""The author of a record that was a candidate: the person who approved it stands for its words."""
EXTRACTOR: Final = Actor(kind="extractor")
RULES: Final = Actor(kind="extractor", id="rules")
"""The author of facts that rules find without a model (`memory/extraction/`)."""
IMPORTER: Final = Actor(kind="import")
