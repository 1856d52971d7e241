"""The named statements of this house.

Rule 1: every function of this room is synchronous and works in the transaction it is given.
Rule 2: nothing in this room decides what to index, to show or to remove.
"""

from protocol.statements import Statements

SQL = Statements("knowledge")
FORMAT = SQL["find_format"], SQL["put_format"]
CARD_FORMAT = SQL["find_card_format"], SQL["put_card_format"]
"""The statements that read the formats of the two full-text tables, and write them again."""
KEEP_NUMBERS = SQL["keep_lost_owners"]
"""The statement that gives lost owners a row again, so that no other one gets their numbers."""
