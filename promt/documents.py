"""Finds a text that was written for others by its own frame: a heading, a form, a separator, a source, a signature.

Rule 1: pure, by layout and capitals: what is told to an assistant carries neither a heading nor a signature.
Rule 2: a frame needs both of its halves: a heading has a text below it, a letter is signed as well as addressed, and
beside a separator stand a few words that hand the text over.
"""
# ruff: noqa: RUF001  # marks of many languages are the subject here

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from promt.handing_over import (
    ALWAYS,
    HEADS_ORDER,
    INTRODUCES,
    KEEPS,
    SUBJECT,
    asks_anything,
    begins_request,
)
from promt.language.reader import either
from promt.layout import LIST_MARK, QUOTED, SPEAKER, Span, TextBlock, sentences
from promt.patterns import compile_late
from promt.speaker import is_about_user, speaks_to_reader

TITLE_CHARS: Final = 80
"""A paragraph of lines that are no longer, and no sentence, is a title or the greeting of a letter."""
TITLE_LINES: Final = 3
"""A title may have a line below it that says when and where."""
TITLED_PARAGRAPHS: Final = 3
"""A title in a line of its own stands above a text and, often, a request below that."""
LABELLED_LINES: Final = 2
ASKED_CHARS: Final = 300
"""Words that hand over a separated text are no longer."""
SIGNED_CHARS: Final = 60
"""A name below a letter, and what is wished before it, are no longer."""
ADDRESSED_WORDS: Final = 6
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
_ENDS_IN_BRACKETS = compile_late(r"[ \t]*[(（][^()（）\n]*[)）]$")
_NOTE = compile_late(r"[ \t]*[(（][^()（）\n]*[)）](?=[,，:：!！])")
"""Stands in brackets in a greeting."""
_MARKDOWN_HEADING = compile_late(r"^#{1,6}[ \t]+\S", re.MULTILINE)
_SEPARATES = compile_late(r"^[ \t]*([-—–=*_~#])\1{2,}[ \t]*$", re.MULTILINE)
_SOURCE = compile_late(r"\s*(?:[(（][^\n]*[)）]\s*$|[—―–^↑]{1,2}[ \t]*[^\W_])")
_QUOTES = frozenset("\"'“„«‘")
_WORD = compile_late(r"[^\W\d_][\w'’.-]*")
_INITIAL = compile_late(r"(?<=\b[^\W\d_])\.$")
"""The full stop of a name that is cut to its first letter."""


class Least(NamedTuple):
    """The least share of words with a capital in a signature: in a line of its own, or behind the last sentence."""

    of_line: float
    of_end: float
    may_be_alone: bool = False
    """A paragraph may be nothing but the signature."""


LEAST: Final = Least(0.5, 1.0)
LEAST_OF_GREETED: Final = Least(0.25, 0.25, may_be_alone=True)
"""Below a greeting in a line of its own whatever ends with a name is a signature: "love from Oscar"."""


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
    """Return the ranges of a message that are a text with a frame of its own, in order; they may overlap."""
    prose = [(block, text[block.start : block.end]) for block in blocks if not block.is_formed]
    found = [*_find_titled(prose), *_find_separated(text), *_find_letters(text, blocks)]
    if len(blocks) > 1 and _names_source(text[blocks[-1].start : blocks[-1].end]):
        found.append((blocks[0].start, blocks[-2].end))
    return sorted(found)


def _find_titled(prose: Sequence[tuple[TextBlock, str]]) -> Iterator[Span]:
    """Yield the texts below a heading.

    Several paragraphs with headings are a user's own division of what they say.
    """
    headed = [block for block, said in prose if _is_headed(said)]
    if len(headed) == 1:
        yield headed[0].start, headed[0].end
    titles = [block for block, said in prose if "\n" not in said and _is_heading(said.strip())]
    is_titled = len(prose) >= TITLED_PARAGRAPHS and [block.start for block in titles] == [prose[0][0].start]
    last = prose[-1][1] if prose else ""
    if is_titled and not SUBJECT.search(last):
        yield prose[0][0].start, prose[-2 if _asks(last) or KEEPS.search(last) else -1][0].end
    if len(prose) > 1:
        yield from ((block.start, block.end) for block, said in prose if _is_filled_form(said))
    if len(prose) > 1 and _leads_on(prose[0][1]) and "\n" not in prose[1][1].strip():
        yield prose[1][0].start, prose[1][0].end


def _is_filled_form(said: str) -> bool:
    """Return whether a title stands above lines with a label each; one about the user heads their own list."""
    head, *lines = said.strip().split("\n")
    labelled = sum(SPEAKER.match(LIST_MARK.sub("", line)) is not None for line in lines)
    is_theirs = is_about_user(head) or _announces_own(head)
    return labelled >= LABELLED_LINES and not is_theirs and is_title(head) and SPEAKER.match(head) is None


def _leads_on(said: str) -> bool:
    """Return whether a line ends with a colon and neither speaks of the user nor heads what they order or want kept."""
    line = said.strip()
    if "\n" in line or len(line) > TITLE_CHARS or not line.endswith((":", "：")):
        return False
    return not (HEADS_ORDER.match(line) or ALWAYS.search(line) or is_about_user(line) or _announces_own(line))


def _find_separated(text: str) -> Iterator[Span]:
    """Yield what a line of dashes separates from a few words that hand it over, and headings with texts below those.

    What somebody wants to be kept is their own, whatever separates it.
    """
    lines = list(_SEPARATES.finditer(text))
    if lines:
        is_below, is_above = _may_hand_over(text[: lines[0].start()]), _may_hand_over(text[lines[-1].end() :])
        if is_below and is_above and len(lines) == 1:  # the longer one is the text
            is_below = len(text) - lines[0].end() > lines[0].start()
            is_above = not is_below
        if is_below or is_above:
            yield lines[0].end() if is_below else 0, lines[-1].start() if is_above else len(text)
    headings = list(_MARKDOWN_HEADING.finditer(text))
    if len(headings) > 1:
        if _may_hand_over(text[: headings[0].start()]):
            yield headings[0].start(), len(text)
        request = max(text.rstrip().rfind("\n\n"), 0)
        begins_page = not text[: headings[0].start()].strip()
        has_text = "\n" in text[headings[-1].start() : request].strip()  # else a user asks below a heading of their own
        if begins_page and has_text and _may_hand_over(text[request:]):
            yield 0, request


def _may_hand_over(words: str) -> bool:
    """Return whether a few words ask for something, or say nothing of the user."""
    said = words.strip()
    if not 0 < len(said) <= ASKED_CHARS:
        return False
    if begins_request(said):  # "translate it, keep the rhythm"
        return True
    return not _announces_own(said) and (_asks(said) or not is_about_user(said))


def _announces_own(said: str) -> bool:
    """Return whether words ask for what follows to be kept, or introduce their speaker."""
    return bool(KEEPS.search(said) or INTRODUCES.search(said))


def _asks(said: str) -> bool:
    """Return whether words ask their reader for something."""
    return asks_anything(said) or speaks_to_reader(said)


def _find_letters(text: str, blocks: Sequence[TextBlock]) -> Iterator[Span]:
    """Yield the texts that call somebody at their beginning and end with a name."""
    opened: int | None = None
    was_greeted = False
    for block in blocks:
        said = text[block.start : block.end]
        is_greeted = _is_greeted(said)
        is_signed = _is_signed(said, least=LEAST_OF_GREETED if is_greeted or was_greeted else LEAST)
        if not block.is_formed and _is_addressed(said) and (opened is None or (is_greeted and not is_signed)):
            opened, was_greeted = block.start, is_greeted
        if opened is not None and is_signed:
            yield opened, block.end
            opened, was_greeted = None, False


def _is_headed(said: str) -> bool:
    """Return whether a paragraph begins with a heading of its own: a line in capitals, or one that is no sentence."""
    head, _, rest = said.partition("\n")
    if _begins_in_capitals(head) and said != said.upper():
        return True
    if not rest.strip():
        return False
    bare = _ENDS_IN_BRACKETS.sub("", head.strip())
    is_noted = bare != head.strip()  # "Song (traditional)": it needs no sentence below it
    return _is_heading(bare) and (is_noted or _ENDS_SENTENCE.search(rest) is not None)


def _names_source(said: str) -> bool:
    """Return whether a paragraph says where the text above it is from: in brackets, behind a dash or an arrow up."""
    return "\n" not in said.strip() and _SOURCE.match(said) is not None


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
    found = _ADDRESSES.match(_NOTE.sub("", said, count=1))
    if found is None or len(found[1].split()) > ADDRESSED_WORDS:
        return False
    if KEEPS.search(found[1]) is not None:
        return False
    return found[1][:1].isupper() and (_is_greeted(said) or not is_about_user(found[1]))


def _is_greeted(said: str) -> bool:
    """Return whether the first line of a paragraph only calls somebody."""
    line = said.partition("\n")[0].rstrip()
    return is_greeting(line) and not line.endswith((":", "："))


def _is_signed(said: str, least: Least) -> bool:
    """Return whether a paragraph ends with somebody's name: a last line, or the words behind its last sentence."""
    above, _, line = _IN_BRACKETS.sub("", said.rstrip()).rpartition("\n")
    if (above or least.may_be_alone) and LIST_MARK.match(line) is None and _is_name(line, least=least.of_line):
        return True
    return _is_name(_behind_sentences(line), least=least.of_end)


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
