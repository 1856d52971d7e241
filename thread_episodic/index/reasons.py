"""The reasons that people gave for exclusions: the only words of theirs that the index keeps.

Rule 1: a reason that holds forgotten words is removed as a whole; its message stays excluded.
"""

from collections.abc import Sequence

from protocol.saying import Saying
from protocol.seams.ports import Tx
from protocol.seams.shelves import Mark, SayingRow
from thread_episodic.rows.exclusions import forget_reasons, list_reasons


class Reasons:
    """The reasons of exclusions. Satisfies `Searched`."""

    def look(self, tx: Tx, saying: Saying, mark: Mark) -> tuple[list[SayingRow], Mark | None]:
        """Return the messages whose exclusion reason holds the words, and None: one look sees all.

        They are few: a person gave each.
        """
        del mark  # one look sees all of them
        found = {
            item_id: SayingRow("exclusion", 0, item_id, said)
            for item_id, reason in list_reasons(tx)
            if (said := saying.find_phrases(reason))
        }
        return list(found.values()), None

    def take_out(self, tx: Tx, saying: Saying, found: Sequence[SayingRow]) -> None:
        """Remove the reasons that were found; their messages stay excluded."""
        for one in found if saying.phrases else ():
            if one.place == "exclusion":
                forget_reasons(tx, one.id)
