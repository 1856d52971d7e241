"""Separates the user's own words in a message from material: text that they pasted, quoted or handed over.

Rule 1: pure, and structure comes first: fences, quotation, layout, position, length. Words only tell a request from a
statement, and they are those of the languages.
Rule 2: in doubt it is material. A statement that is missed can be said again; a page that speaks for the user cannot be
unsaid.
Rule 3: bounded: of a long message only the beginning and the end are read, for that is where people speak themselves.
"""
# ruff: noqa: RUF001  # marks of many languages are the subject here

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from promt.language.reader import either, languages, tables, whole
from promt.layout import INLINE_FENCE, MASK, QUOTED, Span, TextBlock, blocks_of, fences, mask_quotes, sentences
from promt.patterns import compile_late

READ_CHARS: Final = 12_000
HEAD_CHARS: Final = 4000
TAIL_CHARS: Final = 2000
"""Of a message longer than `READ_CHARS` these ends are read."""
LONG_CHARS: Final = 1500
"""A longer message, fences not counted, is taken sentence by sentence: few people write as much about themselves at
once."""
ASIDE_CHARS: Final = 200
"""As much may follow a question that points at nothing and still be the user's: a page is longer."""
STEERED_CHARS: Final = 300
"""The first and last sentences of a long message that may be orders to the assistant lie within so many characters."""
EDGE_CHARS: Final = 600
"""A first or last paragraph that steers is no longer."""
MENTIONED_WORDS: Final = 7
MENTIONED_CHARS: Final = 14
"""Quoted words of a sentence of one's own that are a name, a term or a short saying; longer ones are a text."""
HANDING_CHARS: Final = 200
"""Who hands a text over with words that no table knows does it in a short paragraph that points at it."""
ASKED_AGAIN: Final = 16

_WORD = compile_late(r"[^\W_]+(?:['’][^\W_]+)*")
_UNSPACED = compile_late("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_BLANK = compile_late(r"\n[ \t]*(?:\n[ \t]*)+")

_POINTS = compile_late(
    lambda: (
        rf"\b(?:{either('own_words', 'points', spaced=True)})|↑|↓"
        rf"|{either('own_words', 'points', spaced=False)}"
    ),
    re.IGNORECASE,
)
"""Points at a text that stands near."""
_POINTS_AHEAD = compile_late(lambda: whole("own_words", "points_ahead"), re.IGNORECASE)
"""Says that a text follows, or stood before."""


def _polite() -> str:
    """The pattern of where a request may begin in a language with blanks."""
    said = either("own_words", "polite", spaced=True)
    return rf"(?:^|[,;:：，。.!?¿¡—–-]\s*|\b(?:{said})\s+,?\s*)"


_QUESTION = compile_late(r"[?？]")
KEEPS = compile_late(lambda: rf"(?:{either('own_words', 'keeps')})", re.IGNORECASE)
"""Words that ask for what follows them to be kept: that is the user's own."""
_KEPT = compile_late(
    lambda: rf"{_polite()}(?:{KEEPS.pattern})(?!\w)|{either('own_words', 'kept_anywhere')}", re.IGNORECASE
)
_COLON = compile_late(r"[:：](?=\s|$|[\u3040-\u9fff\"'“„«「])")
_ALWAYS = compile_late(lambda: whole("own_words", "always"), re.IGNORECASE)
_WHENEVER = compile_late(
    lambda: (
        rf"\b(?:{either('own_words', 'whenever', spaced=True)}) (?:{either('own_words', 'whenever_who')})\b"
        rf"|{either('own_words', 'whenever', spaced=False)}"
    ),
    re.IGNORECASE,
)
"""What holds whenever something happens is an order for good, and hands nothing over."""
_THAT = compile_late(r"\b(?:that|it|them)\b(?=\s*(?:[.,!?;:]|to\b|into\b|as\b|$))", re.IGNORECASE)
"""What a request to work on it means, where that stands before."""
_SUBJECT = compile_late(lambda: whole("own_words", "subject"), re.IGNORECASE)
"""Speaks of the speaker as the one who does or has, not as the one something is done for."""


def statements() -> Mapping[str, Mapping[str, Any]]:
    """Return the wordings of statements by language."""
    return tables("statements")


@cache
def _own() -> re.Pattern[str]:
    """Any word by which people speak of themselves."""
    rows = [row for table in statements().values() for row in table.get("own_among_others", table.get("own", []))]
    return re.compile("|".join(rows), re.IGNORECASE)


@cache
def _works() -> re.Pattern[str]:
    """A request to work on something, where a request may begin."""
    spaced: list[str] = []
    unspaced: list[str] = []
    for code, table in statements().items():
        handed = "|".join(table.get("handed", ["(?!)"]))
        if languages()[code].spaced:
            spaced.append(handed)
        else:
            unspaced.append(rf"(?:{tables('own_words').get(code, {}).get('polite', '')})(?:{handed})")
    return re.compile("|".join([rf"{_polite()}(?:{'|'.join(spaced)})(?!\w)", *unspaced]), re.IGNORECASE)


def own_words(text: str, material: Sequence[Span] = ()) -> list[Span]:
    """Return the ranges in which the user speaks, in order.

    `material` are the ranges that the caller knows to be no words of theirs.
    """
    found = _spans(text)
    return _without(text, found, material) if material else list(found)


def own_stretches(text: str, material: Sequence[Span] = ()) -> list[str]:
    """Return the user's own words, stretch by stretch."""
    return [text[start:end] for start, end in own_words(text, material)]


def only_own(text: str, material: Sequence[Span] = ()) -> str:
    """Return the user's own words, a line for each stretch."""
    return "\n".join(own_stretches(text, material))


def edges(text: str) -> str:
    """Return the first and the last paragraph, as far as they are short and nothing quotes them: where people steer."""
    bare = mask_quotes(f"{text[:HEAD_CHARS]}\n\n{text[-TAIL_CHARS:]}" if len(text) > READ_CHARS else text)
    paragraphs = [one for one in _BLANK.split(bare.strip()) if one.strip()]
    return "\n\n".join(one for one in dict.fromkeys([*paragraphs[:1], *paragraphs[-1:]]) if len(one) <= EDGE_CHARS)


def mask_material(text: str, material: Sequence[Span] = ()) -> str:
    """Return the text with every character that is not the user's own replaced by `MASK`; line ends stay."""
    parts: list[str] = []
    place = 0
    for start, end in [*own_words(text, material), (len(text), len(text))]:
        parts += [_LINE_TEXT.sub(lambda found: MASK * len(found[0]), text[place:start]), text[start:end]]
        place = end
    return "".join(parts)


_LINE_TEXT = compile_late(r"[^\n]+")


def is_about_user(sentence: str) -> bool:
    """Return whether the speaker of a sentence speaks of themselves."""
    return _own().search(sentence.replace("’", "'")) is not None


@lru_cache(maxsize=ASKED_AGAIN)
def _spans(text: str) -> tuple[Span, ...]:
    spans: list[Span] = []
    blocked = fences(text)
    blocked += [found.span() for found in INLINE_FENCE.finditer(text[:READ_CHARS])]
    if len(text) > READ_CHARS:
        blocked.append((HEAD_CHARS, len(text) - TAIL_CHARS))
    blocks = [
        block._replace(is_formed=block.is_formed or QUOTED.fullmatch(text, block.start, block.end) is not None)
        for block in blocks_of(text, sorted(blocked))
    ]
    for start, end in _spoken(text, blocks):
        spans += _unquoted(text, start, end)
    prose = sum(block.end - block.start for block in blocks if not block.is_formed)
    if prose > LONG_CHARS or len(text) > READ_CHARS:
        spans = list(_of_long(text, spans))
    return tuple(spans)


# -- who speaks ------------------------------------------------------------------------------------------------------


class _Cover(NamedTuple):
    """The end of a request to work on something, how surely a text follows, and the end of the first pointer at one."""

    ends: int
    is_sure: bool
    points: int | None = None


def _cover(text: str, block: TextBlock) -> _Cover | None:
    """Return the place in a paragraph where the user hands something over: a request, a question, words that point.

    Return None where there is none.
    """
    found: _Cover | None = None
    masked = QUOTED.sub(lambda quoted: MASK * len(quoted[0]), text[block.start : block.end])
    for first, until in sentences(masked):
        start, end = block.start + first, block.start + until
        bare = masked[first:until].replace("’", "'")
        works = None if _WHENEVER.search(bare) else _works().search(bare)
        ahead = _POINTS_AHEAD.search(bare)
        points = ahead or _POINTS.search(bare)
        asks = _QUESTION.search(bare)
        colon = _COLON.search(bare, works.end() if works else 0)
        is_kept = _KEPT.search(bare) is not None
        if works and colon and not is_kept:
            return _Cover(start + colon.end(), True)
        if colon and colon.end() == len(bare) and (ahead or asks) and not is_kept:
            return _Cover(end, True)
        if (works or asks) and not is_kept and not (works and _ALWAYS.search(bare) and not asks):
            known = found.points if found is not None else None
            pointed = known or (end if works and points and MASK not in bare else None)
            found = _Cover(end, bool(works or points) or (found is not None and found.is_sure), pointed)
        elif is_kept or (colon and colon.end() == len(bare)):
            continue  # a label
        elif ahead or (points and not _SUBJECT.search(bare) and block.end - block.start <= HANDING_CHARS):
            found = _Cover(end, True)
    return found


def _spoken(text: str, blocks: Sequence[TextBlock]) -> Iterator[Span]:
    """The stretches of prose that the user speaks, by where they stand to what was handed over."""
    prose = [at for at, block in enumerate(blocks) if not block.is_formed]
    if prose and _is_about_before(text, blocks[prose[-1]], is_alone=len(prose) == 1):
        prose = prose[-1:]
    for number, at in enumerate(prose):
        block = blocks[at]
        cover = _cover(text, block)
        if cover is None:
            continue
        following = prose[number + 1 :]
        rest = text[cover.ends : block.end].strip()
        is_inside = bool(rest) and text[: cover.ends].rstrip()[-1:] in {":", "："}
        if not following and not is_inside:
            is_last = cover.points is not None and cover.points < block.end and len(prose) == len(blocks)
            if not is_last:
                continue
            cover, is_inside = cover._replace(ends=cover.points or block.end), True
        after = blocks[at + 1] if at + 1 < len(blocks) else None
        if after is not None and after.is_formed and not is_inside and len(following) == 1:
            continue  # what was handed over has a form of its own, which ends before the rest
        size = sum(blocks[one].end - blocks[one].start for one in following)
        if not cover.is_sure and size <= ASIDE_CHARS:
            continue
        before = [blocks[one] for one in prose[:number]]
        if number and following and _only_asks(text, blocks[prose[-1]]):
            before = [one for one in before if _is_mostly_about_user(text, one)]
            block = block if _is_mostly_about_user(text, block) else block._replace(end=block.start)
            cover = cover._replace(ends=min(cover.ends, block.end))
        for one in before:
            yield one.start, one.end
        yield block.start, cover.ends if is_inside else block.end
        return
    yield from _without_cover(text, [blocks[at] for at in prose])


def _without_cover(text: str, prose: Sequence[TextBlock]) -> Iterator[Span]:
    """All of it, unless the last paragraph but asks; then what of the ones before is about the user, or short."""
    before = prose[:-1]
    if before and _only_asks(text, prose[-1]):
        size = sum(one.end - one.start for one in before)
        is_aside = len(before) == 1 and size <= ASIDE_CHARS
        before = [one for one in before if is_aside or _is_mostly_about_user(text, one)]
    for block in [*before, *prose[-1:]]:
        yield block.start, block.end


def _is_about_before(text: str, last: TextBlock, *, is_alone: bool) -> bool:
    """Return whether the last paragraph begins with words that point at a text above it."""
    start, end = next(sentences(text, last.start, last.end))
    opening = text[start:end]
    is_asked = _works().search(opening) is not None or _QUESTION.search(opening) is not None
    points = _POINTS_AHEAD.search(opening) or _POINTS.search(opening)
    points = points or (_THAT.search(opening) if _works().search(opening) else None)
    if (
        is_alone
        or points is None
        or _SUBJECT.search(opening[: points.start()])
        or (end < last.end and _COLON.search(opening))
    ):
        return False
    is_bare = len(opening) <= HANDING_CHARS and _SUBJECT.search(opening) is None
    return end == last.end or is_asked or is_bare or points.start() == 0


def _only_asks(text: str, block: TextBlock) -> bool:
    """Return whether a paragraph is nothing but questions and requests."""
    said = [text[start:end] for start, end in sentences(text, block.start, block.end)]
    return all(_QUESTION.search(one) or _works().search(one) for one in said)


def _is_mostly_about_user(text: str, block: TextBlock) -> bool:
    said = [is_about_user(text[start:end]) for start, end in sentences(text, block.start, block.end)]
    return 2 * sum(said) >= len(said)


def _unquoted(text: str, start: int, end: int) -> Iterator[Span]:
    """The stretch without quoted texts; a quoted name, term or short saying of a sentence of one's own stays."""
    place = start
    for found in QUOTED.finditer(text, start, end):
        line = text.rfind("\n", start, found.start()) + 1 or start
        before = [text[first:until] for first, until in sentences(text, line, found.start())][-1:]
        after = [text[first:until] for first, until in sentences(text, found.end(), end)][:1]
        if not _is_mentioned(found[0][1:-1], " ".join([*before, *after])):
            if text[place : found.start()].strip():
                yield _trimmed(text, place, found.start())
            place = found.end()
    if text[place:end].strip():
        yield _trimmed(text, place, end)


def _is_mentioned(quoted: str, around: str) -> bool:
    words = _WORD.findall(quoted)
    if len(words) > MENTIONED_WORDS or (_UNSPACED.search(quoted) and len(quoted) > MENTIONED_CHARS):
        return False
    is_own_sentence = _SUBJECT.search(around) is not None and _QUESTION.search(around) is None
    if is_own_sentence and not _ALWAYS.search(quoted):
        return True
    return not (is_about_user(quoted) or _ALWAYS.search(quoted) or _works().search(around) or _QUESTION.search(around))


def _trimmed(text: str, start: int, end: int) -> Span:
    said = text[start:end]
    return start + len(said) - len(said.lstrip()), end - (len(said) - len(said.rstrip()))


def _of_long(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    """Of a long message the sentences about the user, and the orders at its beginning and its end."""
    for start, end in spans:
        for first, until in sentences(text, start, end):
            said = text[first:until]
            is_at_edge = first < STEERED_CHARS or until > len(text) - STEERED_CHARS
            if is_about_user(said) or (is_at_edge and not _QUESTION.search(said)):
                yield first, until


def _without(text: str, spans: Sequence[Span], material: Sequence[Span]) -> list[Span]:
    """The spans without what of them is material."""
    kept: list[Span] = []
    for start, end in spans:
        place = start
        for first, until in sorted(material):
            if until <= place or first >= end:
                continue
            if text[place : max(place, first)].strip():
                kept.append(_trimmed(text, place, first))
            place = max(place, until)
        if place < end and text[place:end].strip():
            kept.append(_trimmed(text, place, end))
    return kept
