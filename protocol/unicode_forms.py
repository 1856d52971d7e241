"""Normal forms of Unicode in time linear in the text.

Rule 1: pure. Marks that join a letter are put into order, which costs the square of their number in a row: 60,000 of
them, one short file, would hold a process for a quarter of a minute. A longer row is cut, and its parts are ordered.
"""

import re
import unicodedata
from typing import Literal, TypeAlias

Form: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]
ROW = 32
"""Marks in a row that are put into order together; the Stream-Safe Text Format of UAX 15 allows 30."""
SHORT = 256
"""Characters whose order costs nothing worth a look."""
_ROW = re.compile(rf"[^\w\s\x00-\x7f]{{{ROW}}}")


def normalize(form: Form, text: str) -> str:
    """Return a text in a normal form; of a row of more than `ROW` marks each part is in that form."""
    if text.isascii():
        return text
    if len(text) <= SHORT or not any(map(unicodedata.combining, text[::ROW])):  # a long row meets one of those places
        return unicodedata.normalize(form, text)
    parts: list[str] = []
    place = 0
    for row in _ROW.finditer(text):
        parts.append(unicodedata.normalize(form, text[place : row.end()]))
        place = row.end()
    return "".join([*parts, unicodedata.normalize(form, text[place:])])
