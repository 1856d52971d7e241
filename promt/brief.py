"""Chooses, orders and renders the lines of every brief: what stands in a prompt, what holds in a project, MCP's brief.

What the user wants always, how to speak, and who they are come first. The budgets and the frames are the callers'.

Rule 1: pure; the same statements within the same budget give the same bytes. No date, no nonce, nothing of the turn is
in them.
Rule 2: no line can leave its block: it is rendered as a recalled one is, without an angle bracket and without a line
break. So the delimiters need no nonce.
Rule 3: what does not fit is skipped and named, the next may fit.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from promt import load
from promt.render import line_of
from protocol.conversation.manifests import SourceRef
from protocol.shown import ContextItem, ShownLine

BESIDE_WORDS = len("- []: \n")  # of a line, beside its id and its words
MAX_LINE_CHARS = 280  # of a statement's own words, as of a recalled one


class StandingStatement(Struct, frozen=True):
    """A statement that holds until it is changed. `key` names its subject, whichever scope it was said in."""

    memory_id: str
    place: int
    """The place of its category in a brief; the smallest is first."""
    key: str
    text: str
    said_at: int
    """The time when it was last said, in milliseconds: the newest of a key wins."""
    first_said_at: int
    """The time when it was first said orders lines: they must not move when something is only said again."""


class Frame(Struct, frozen=True):
    """The fixed text around the lines of a brief."""

    title: str
    head: str
    tail: str


class Brief(Struct, frozen=True):
    """A block of statements, and its budget; without text where none is shown.

    `left_out` are the ids of those that did not fit.
    """

    max_chars: int
    text: str
    lines: Sequence[ShownLine]
    left_out: Sequence[str]
    is_cut: bool


def _frame(name: str) -> Frame:
    prompt = load(name)
    head, _, tail = prompt.text.partition("{lines}")
    return Frame(prompt.title, head, tail)


STANDING = _frame("memory_standing")
"""The standing block of a turn."""


def _newest(
    statements: Iterable[StandingStatement], of: Callable[[StandingStatement], object]
) -> list[StandingStatement]:
    """Return of the statements with the same `of` the one that was said last."""
    last = sorted(statements, key=lambda one: (one.said_at, one.first_said_at, one.memory_id))
    return list({of(one): one for one in last}.values())


def choose(statements: Iterable[StandingStatement]) -> list[StandingStatement]:
    """Return the statements that stand: of each key, and of equal words, the newest.

    They are in order of their place, then the oldest first.
    """
    chosen = _newest(_newest(statements, lambda one: one.key), lambda one: " ".join(one.text.casefold().split()))
    return sorted(chosen, key=lambda one: (one.place, one.first_said_at, one.memory_id))


def compose(statements: Iterable[StandingStatement], max_chars: int, frame: Frame = STANDING) -> Brief:
    """Return the statements as one block of at most `max_chars` characters in all."""
    room = max_chars - len(frame.head) - len(frame.tail) + 1  # the last line ends where the tail begins
    shown: list[ShownLine] = []
    left_out: list[str] = []
    is_cut = False
    for one in choose(statements):
        if room <= len(one.memory_id) + BESIDE_WORDS:  # not one letter would fit: no need to render it
            left_out.append(one.memory_id)
            continue
        ref = SourceRef(kind="memory", id=one.memory_id)
        line = line_of(ContextItem(ref=ref, text=one.text), "memory", MAX_LINE_CHARS)
        if line is None:  # it has no visible character
            continue
        if len(line.text) + 1 > room:
            left_out.append(one.memory_id)
            continue
        room -= len(line.text) + 1
        is_cut |= line.cut
        shown.append(ShownLine(ref=ref, text=line.text))
    text = frame.head + "\n".join(line.text for line in shown) + frame.tail if shown else ""
    return Brief(max_chars, text, shown, left_out, is_cut or bool(left_out))
