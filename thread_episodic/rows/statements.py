"""The named statements of this house.

Rule 1: every function of this room is synchronous and works in the transaction it is given.
Rule 2: nothing in this room decides what to index, to show or to forget.
"""

from protocol.statements import Statements

SQL = Statements("thread_episodic")
FORMAT = SQL["find_format"], SQL["put_format"]
"""The statements that find the format of the full-text table, and write it again."""
