"""Knows by its own frame a text that was written for others: a heading above it, a greeting and a name below.

Rule 1: pure, by layout and capitals: what is told to an assistant carries neither a heading nor a signature.
Rule 2: a frame needs both of its halves: a heading has a text below it, and a letter is signed as well as addressed.
"""
# ruff: noqa: RUF001  # marks of many languages are the subject here

import re
from collections.abc import Sequence
from typing import Final

from promt.handing_over import KEEPS
from promt.language.reader import either
from promt.layout import LIST_MARK, QUOTED, SPEAKER, Span, TextBlock, sentences
from promt.patterns import compile_late
from promt.speaker import is_about_user, speaks_to_reader

TITLE_CHARS: Final = 80
"""A paragraph of lines that are no longer, and no sentence, is a title or the greeting of a letter."""
TITLE_LINES: Final = 3
"""A title may have a line below it that says when and where."""
SIGNED_CHARS: Final = 60
"""A name below a letter, and what is wished before it, are no longer."""
ADDRESSED_WORDS: Final = 5
"""As many words before the first mark may greet somebody."""
CAPITAL_WORDS: Final = 3
CAPITAL_LETTERS: Final = 6
"""So many words in capitals at its beginning head a notice, or a line with so many letters, all of them capitals."""

_ENDS_SENTENCE = compile_late(r"[.!?…](?=\s|$)|[。！？]")
_OPEN_END = compile_late(r"[,;:，；：、]\s*$")
_GREETS = compile_late(r"[^\n]*[,，:：]\s*")
_ADDRESSES = compile_late(r"\s*([^\W\d_][^\n,，!！:：.?]{1,60})(?:[,，!！]|[:：](?=.*[.!?…。！？](?:\s|$)))", re.DOTALL)
_ENDS_HEAD = compile_late(r"[ \t)]*[:：–—-]")
_DATED = compile_late(r",[^,\n]*\d[^,\n]*$")
"""The day behind the name below a letter."""
_IN_BRACKETS = compile_late(r"\n[(\[][^()\[\]\n]*[)\]]$")
"""A last line in brackets says where a letter comes from."""
_QUOTES = frozenset("\"'“„«‘")
_WORD = compile_late(r"[^\W\d_][\w'’.-]*")
_INITIAL = compile_late(r"(?<=\b[^\W\d_])\.$")
"""The full stop of a name that is cut to its first letter."""


def small_talk() -> str:
    """Return the pattern of words that only greet, thank or the like, and of the marks beside them."""
    spaced, unspaced = (either("hygiene", "small_talk", spaced=spaced) for spaced in (True, False))
    return rf"\W*(?:(?:{spaced})\b\W*|(?:{unspaced})\W*)+"


SMALL_TALK = compile_late(small_talk, re.IGNORECASE)
"""Words that only greet or thank: they are no signature."""


def is_title(head: str) -> bool:
    """Return whether a paragraph is a title: lines that are short, and no sentence."""
    lines = head.split("\n")
    is_short = len(lines) <= TITLE_LINES and max(map(len, lines)) <= TITLE_CHARS
    # a user who types in small letters writes no titles, and no full stops either
    is_chat = head[:1].islower() and is_about_user(head)
    return is_short and not is_chat and _ENDS_SENTENCE.search(head) is None


def is_greeting(head: str) -> bool:
    """Return whether a paragraph only greets its reader: a short line that ends with a comma or a colon."""
    return len(head) <= TITLE_CHARS and _GREETS.fullmatch(head) is not None


def find_documents(text: str, blocks: Sequence[TextBlock]) -> list[Span]:
    """Return the ranges of a message that are a text with a frame of its own, in order.

    Several paragraphs with headings are a user's own division of what they say.
    """
    prose = [(block, text[block.start : block.end]) for block in blocks if not block.is_formed]
    headed = [block for block, said in prose if _is_headed(said)]
    found = [(block.start, block.end) for block in (headed if len(headed) == 1 else ())]
    opened: int | None = None
    for block in blocks:
        said = text[block.start : block.end]
        is_signed = _is_signed(said)
        if not block.is_formed and _is_addressed(said) and (opened is None or (_is_greeted(said) and not is_signed)):
            opened = block.start
        if opened is not None and is_signed:
            found.append((opened, block.end))
            opened = None
    return sorted(found)


def _is_headed(said: str) -> bool:
    """Return whether a paragraph begins with a heading of its own: a line in capitals, or one that is no sentence."""
    head, _, rest = said.partition("\n")
    if _begins_in_capitals(head) and said != said.upper():
        return True
    return bool(rest.strip()) and _is_heading(head.strip()) and _ENDS_SENTENCE.search(rest) is not None


def _begins_in_capitals(line: str) -> bool:
    """Return whether a line begins with words in capitals up to a colon or a dash, or is all of such words."""
    count = letters = end = 0
    for word in _WORD.finditer(line):
        if not word[0].isupper():
            break
        count, letters, end = count + 1, letters + len(word[0]), word.end()
    is_all = letters >= CAPITAL_LETTERS and not line[end:].strip()
    is_head = is_all or (count >= CAPITAL_WORDS and _ENDS_HEAD.match(line, end) is not None)
    head = line[:end]
    return is_head and not (KEEPS.search(head) or is_about_user(head) or speaks_to_reader(head))


def _is_heading(line: str) -> bool:
    """Return whether a line may stand above a text: capital first, no sentence, no mark that leads on, no label."""
    words = _WORD.findall(line)
    first = next((char for char in line if char.isalpha()), "")
    is_bare = first.isupper() and len(line) <= TITLE_CHARS and _OPEN_END.search(line) is None
    if not is_bare or _ENDS_SENTENCE.search(line[-1:]) or "?" in line or not (line[0].isalpha() or line[0] in _QUOTES):
        return False
    if SPEAKER.match(line) or QUOTED.fullmatch(line) or speaks_to_reader(line) or SMALL_TALK.fullmatch(line):
        return False
    return not is_about_user(line) or _is_capitalised(words)


def _is_capitalised(words: Sequence[str]) -> bool:
    """Return whether most of some words have a capital."""
    return 2 * sum(word[0].isupper() for word in words) > len(words)


def _is_addressed(said: str) -> bool:
    """Return whether a paragraph begins by calling somebody, in a few words before its first mark."""
    found = _ADDRESSES.match(said)
    if found is None or len(found[1].split()) > ADDRESSED_WORDS:
        return False
    if KEEPS.search(found[1]) is not None:
        return False
    return found[1][:1].isupper() and (_is_greeted(said) or not is_about_user(found[1]))


def _is_greeted(said: str) -> bool:
    """Return whether the first line of a paragraph only calls somebody."""
    line = said.partition("\n")[0].rstrip()
    return is_greeting(line) and not line.endswith((":", "："))


def _is_signed(said: str) -> bool:
    """Return whether a paragraph ends with somebody's name: a last line, or the words behind its last sentence."""
    above, _, line = _IN_BRACKETS.sub("", said.rstrip()).rpartition("\n")
    if above and LIST_MARK.match(line) is None and _is_name(line, least=0.5):
        return True
    return _is_name(_behind_sentences(line), least=1.0)


def _behind_sentences(line: str) -> str:
    """Return the last of several sentences of a line; empty for a single one."""
    ranges = list(sentences(line))
    return line[slice(*ranges[-1])] if len(ranges) > 1 else ""


def _is_name(words: str, *, least: float) -> bool:
    """Return whether words are a signature: short, no sentence, a capital at the last, and thanks alone are none."""
    words = _INITIAL.sub("", _DATED.sub("", words.strip()))
    found = _WORD.findall(words)
    if not found or len(words) > SIGNED_CHARS or _ENDS_SENTENCE.search(words[-1:]) or _OPEN_END.search(words):
        return False
    is_cased = found[-1][0].isupper() and sum(word[0].isupper() for word in found) >= least * len(found)
    return is_cased and SMALL_TALK.fullmatch(words) is None
