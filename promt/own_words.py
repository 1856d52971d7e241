"""Separates the user's own words in a message from material: text that they pasted, quoted or handed over.

Rule 1: pure, and structure comes first: fences, quotation, layout, position, length. Words only separate a request from
a statement, and they are those of the languages.
Rule 2: in doubt it is material. A statement that is missed can be said again; a page that speaks for the user cannot be
unsaid.
Rule 3: bounded: of a long message only the beginning and the end are read, for that is where people speak themselves.
"""
# ruff: noqa: RUF001  # marks of many languages are the subject here

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from promt.documents import find_documents
from promt.handing_over import (
    ALWAYS,
    ASKS_TO_KEEP,
    COLON,
    COMING,
    HANDING_CHARS,
    KEEPS,
    POINTS,
    POINTS_AHEAD,
    QUESTION,
    REWORKS,
    SAYS,
    SUBJECT,
    THAT,
    Cover,
    asks_anything,
    asks_for_rework,
    compile_works,
    find_cover,
    names_text,
)
from promt.layout import (
    INLINE_FENCE,
    MASK,
    QUOTED,
    SPEAKER,
    WORD,
    Span,
    TextBlock,
    blocks_of,
    fences,
    mask_quotes,
    sentences,
)
from promt.long_messages import FRAMED_CHARS, LONG_CHARS, is_document, is_told
from promt.lookalikes import read_alike
from promt.orders import find_orders_of_others
from promt.patterns import compile_late
from promt.render import UNSEEN, has_unseen
from promt.speaker import is_about_user

READ_CHARS: Final = 12_000
HEAD_CHARS: Final = 4000
TAIL_CHARS: Final = 2000
"""Of a message longer than `READ_CHARS` these ends are read."""
ASIDE_CHARS: Final = 200
"""As much may follow a question that points at nothing and still be the user's: a page is longer."""
STEERED_CHARS: Final = 300
"""Within so many characters lie the first and last sentences of a long message that may be orders, or hand it over."""
EDGE_CHARS: Final = 600
"""A first or last paragraph that steers is no longer."""
MENTIONED_WORDS: Final = 7
MENTIONED_CHARS: Final = 14
"""Quoted words of a sentence of one's own that are a name, a term or a short saying; longer ones are a text."""
TERM_WORDS: Final = 2
TERM_CHARS: Final = 6
"""So few quoted words are a term wherever they stand; they state nothing."""
MENTIONS: Final = 200
AROUND_CHARS: Final = 1000
"""So many quoted texts of a stretch are judged, each by so much around it: the time is linear in the text."""
SAYING_WORDS: Final = 5
"""So many quoted words in the first person are somebody's sentence; fewer are a saying."""
ASKED_AGAIN: Final = 16
"""Messages whose ranges are cached: a turn asks for its own several times."""

_UNSPACED = compile_late("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_BLANK = compile_late(r"\n[ \t]*(?:\n[ \t]*)+")


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


def awaits_text(text: str) -> bool:
    """Return whether a message asks for work on a text that it does not bring: the next message is that text."""
    blocks = blocks_of(text, []) if 0 < len(text) <= HANDING_CHARS else []
    if len(blocks) != 1 or blocks[0].is_formed or QUOTED.search(text) or ALWAYS.search(text):
        return False
    if not any(asks_for_rework(text[start:end]) for start, end in sentences(text)):
        return False
    cover = find_cover(text, blocks[0])
    is_at_end = cover is not None and not text[cover.ends :].strip()
    is_named = POINTS.search(text) is not None or names_text(text, blocks[0], has_colon=True)
    return COMING.search(text) is not None or (is_at_end and (is_named or POINTS_AHEAD.search(text) is not None))


def mask_material(text: str, material: Sequence[Span] = ()) -> str:
    """Return the text with every character that is not the user's own replaced by `MASK`; line ends stay."""
    parts: list[str] = []
    place = 0
    for start, end in [*own_words(text, material), (len(text), len(text))]:
        parts += [_LINE_TEXT.sub(lambda found: MASK * len(found[0]), text[place:start]), text[start:end]]
        place = end
    return "".join(parts)


_LINE_TEXT = compile_late(r"[^\n]+")


@lru_cache(maxsize=ASKED_AGAIN)
def _spans(text: str) -> tuple[Span, ...]:
    """Return the ranges in which the user speaks, found in the text as it is seen: unseen signs break no fence."""
    text = read_alike(text)
    if not has_unseen(text):
        return _find_spans(text)
    places: list[int] = []
    place = 0
    for unseen in UNSEEN.finditer(text):
        places += range(place, unseen.start())
        place = unseen.end()
    places += range(place, len(text) + 1)
    return tuple((places[start] if start else 0, places[end]) for start, end in _find_spans(UNSEEN.sub("", text)))


def _find_spans(text: str) -> tuple[Span, ...]:
    """Return the ranges in which the user speaks: by layout, then by who speaks, then without quotations."""
    spans: list[Span] = []
    blocked = fences(text)
    blocked += [found.span() for found in INLINE_FENCE.finditer(text[:READ_CHARS])]
    if len(text) > READ_CHARS:
        blocked.append((HEAD_CHARS, len(text) - TAIL_CHARS))
    blocks = [
        block._replace(is_formed=block.is_formed or QUOTED.fullmatch(text, block.start, block.end) is not None)
        for block in blocks_of(text, sorted(blocked))
    ]
    prose = [block for block in blocks if not block.is_formed]
    size = sum(block.end - block.start for block in prose)
    is_long = size > LONG_CHARS or len(text) > READ_CHARS
    is_framed = len(prose) > 2 and size > FRAMED_CHARS  # something stands between first and last
    told = is_framed and not _hands_over(text, prose[0]) and is_told(text, prose)
    for start, end in _find_telling(text, prose) if told else _spoken(text, blocks):
        for first, until in _find_unworked(text, start, end):
            spans += _find_unquoted(text, first, until)
    if is_long:
        spans = list(_of_long(text, spans, is_meant=told, is_closed=not told and is_document(text, prose)))
    return tuple(_without(text, spans, [*find_documents(text, blocks), *find_orders_of_others(text, prose)]))


def _hands_over(text: str, first: TextBlock) -> bool:
    """Return whether a message begins by asking for work on what stands below, and says little else."""
    if first.end - first.start > STEERED_CHARS:
        return False
    asks = QUESTION.search(text, first.start, first.end) is not None
    for start, end in sentences(text, first.start, first.end):
        said = text[start:end]
        is_theirs = SUBJECT.search(said) or (_UNSPACED.search(said) and is_about_user(said))
        if names_text(said, first, has_colon=asks or said.endswith((":", "："))):
            return True
        if asks_for_rework(said) and not is_theirs:
            return True
    return False


# -- who speaks ------------------------------------------------------------------------------------------------------


def _spoken(text: str, blocks: Sequence[TextBlock]) -> Iterator[Span]:
    """Yield the stretches of prose that the user speaks, by where they stand to what was handed over."""
    prose = [at for at, block in enumerate(blocks) if not block.is_formed]
    if prose and _is_about_before(text, blocks[prose[-1]], is_alone=len(prose) == 1):
        lead = prose[0]
        is_lead = lead != prose[-1] and not _asks_at_edge(text, blocks[prose[-1]])
        is_lead = is_lead and (
            _asks_at_edge(text, blocks[lead]) or COLON.search(_last_sentence(text, blocks[lead])) is not None
        )
        prose = prose if is_lead else [*_find_material_before(text, blocks, lead, prose[-1]), prose[-1]]
    for number, at in enumerate(prose):
        block = blocks[at]
        cover = find_cover(text, block)
        if cover is None:
            continue
        following = prose[number + 1 :]
        rest = text[cover.ends : block.end].strip()
        is_inside = bool(rest) and (cover.is_lined or text[: cover.ends].rstrip()[-1:] in {":", "：", ">", "→"})
        if not following and not is_inside:
            is_last = cover.points is not None and cover.points < block.end and len(prose) == len(blocks)
            if not is_last:
                continue
            cover, is_inside = cover._replace(ends=cover.points or block.end), True
        after = blocks[at + 1] if at + 1 < len(blocks) else None
        if after is not None and after.is_formed and not is_inside and len(following) == 1:
            continue  # what was handed over has a form of its own, which ends before the rest
        size = sum(blocks[one].end - blocks[one].start for one in following)
        is_on_the_way = not is_inside and bool(rest)  # a user who goes on speaking has handed over nothing yet
        is_handed = cover.is_sure or (number == 0 and len(following) == 1 and _hands_over(text, block))
        if (not is_handed and (size <= ASIDE_CHARS or is_on_the_way)) or (is_on_the_way and len(rest) > size):
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
    yield from _without_cover(text, [blocks[at] for at in prose], is_plain=not any(one.is_formed for one in blocks))


def _find_telling(text: str, prose: Sequence[TextBlock]) -> Iterator[Span]:
    """Yield the stretches of a message that tells the assistant about its user: all but what it hands over.

    It hands over what stands below a request for work on a text, or below a question that points at one.
    """
    for number, block in enumerate(prose):
        cover = find_cover(text, block)
        if cover is not None and number + 1 < len(prose) and _is_handed(text, block, cover):
            yield block.start, cover.ends
            if _only_asks(text, prose[-1]):
                yield prose[-1].start, prose[-1].end
            return
        yield block.start, block.end


def _is_handed(text: str, block: TextBlock, cover: Cover) -> bool:
    """Return whether a paragraph of what somebody tells of themselves hands over what stands below it."""
    if text[cover.ends : block.end].strip() and not cover.is_lined:
        return False
    last = _last_sentence(text, block._replace(end=cover.ends))
    asks_for_work = cover.is_asked and (REWORKS.search(last) is not None or last.endswith((":", "：")))
    return asks_for_work or _asks_about(text, block)


def _asks_about(text: str, block: TextBlock) -> bool:
    """Return whether a paragraph points at a text and asks something: "Found this on a forum. Is it plausible?"."""
    said = text[block.start : block.end]
    return QUESTION.search(said) is not None and POINTS.search(said) is not None


def _without_cover(text: str, prose: Sequence[TextBlock], *, is_plain: bool) -> Iterator[Span]:
    """Yield all paragraphs; where the last one only asks, those before it that are about the user, or short."""
    is_bare = is_plain and len(prose) > 1 and _is_bare_request(text, prose[-1])
    before = [] if is_bare else list(prose[:-1])  # the text of a bare request stands above it, whoever speaks there
    if before and (_only_asks(text, prose[-1]) or _says_nothing_own(text, prose[-1])):
        size = sum(one.end - one.start for one in before)
        is_aside = len(before) == 1 and size <= ASIDE_CHARS
        announced = next((at for at, one in enumerate(before[:-1]) if _announces(text, one)), None)
        if announced is not None:
            before = [one for one in before[: announced + 1] if is_about_user(text[one.start : one.end])]
        else:
            before = [one for one in before if is_aside or _is_mostly_about_user(text, one)]
        before = [one for one in before if not _is_asked_about(text, one, prose[-1])]
    kept = [*before, *prose[-1:]]
    if len(prose) > 1 and (_says_nothing_own(text, prose[0]) or _asks_briefly(text, prose[0])):
        kept = [one for one in kept if not _is_page(text, one)]
    for block in kept:
        yield block.start, block.end


def _says_nothing_own(text: str, block: TextBlock) -> bool:
    """Return whether a paragraph is short and says nothing of the user: a request in words that no list knows."""
    said = text[block.start : block.end]
    return len(said) <= ASIDE_CHARS and SUBJECT.search(said) is None and not KEEPS.search(said)


def _asks_briefly(text: str, block: TextBlock) -> bool:
    """Return whether a short paragraph holds a question or a request."""
    return block.end - block.start <= ASIDE_CHARS and _asks(text, block)


def _is_page(text: str, block: TextBlock) -> bool:
    """Return whether a paragraph is a long one, no list, that is mostly not about the user."""
    said = text[block.start : block.end]
    is_long = len(said) > ASIDE_CHARS and max(map(len, said.split("\n"))) > ASIDE_CHARS
    return is_long and not _is_mostly_about_user(text, block)


def _is_bare_request(text: str, block: TextBlock) -> bool:
    """Return whether a paragraph only asks for work on a text, and says nothing of its speaker's own."""
    said = text[block.start : block.end]
    return REWORKS.search(said) is not None and SUBJECT.search(said) is None and _only_asks(text, block)


def _is_asked_about(text: str, block: TextBlock, last: TextBlock) -> bool:
    """Return whether a paragraph is said by somebody whose name the last one, a question, names."""
    found = SPEAKER.match(text, block.start, block.end)
    return found is not None and re.search(rf"\b{re.escape(found['name'])}\b", text[last.start : last.end]) is not None


def _announces(text: str, block: TextBlock) -> bool:
    """Return whether a paragraph ends with a colon behind words of somebody else: "A client wrote:"."""
    last = _last_sentence(text, block)
    return last.endswith((":", "：")) and not is_about_user(last)


def _is_about_before(text: str, last: TextBlock, *, is_alone: bool) -> bool:
    """Return whether the last paragraph begins with words that point at a text above it."""
    if is_alone:
        return False
    start, end = next(sentences(text, last.start, last.end))
    opening = text[start:end]
    if ASKS_TO_KEEP.search(opening) and not REWORKS.search(opening):
        return False  # what its user wants to be kept is their own
    is_asked = asks_anything(opening)
    points = POINTS_AHEAD.search(opening) or POINTS.search(opening)
    points = points or (THAT.search(opening) if compile_works().search(opening) else None)
    if points is None or SUBJECT.search(opening[: points.start()]) or (end < last.end and COLON.search(opening)):
        return False
    is_bare = len(opening) <= HANDING_CHARS and SUBJECT.search(opening) is None
    return end == last.end or is_asked or is_bare or points.start() == 0


def _asks(text: str, block: TextBlock) -> bool:
    """Return whether a paragraph holds a question or a request."""
    return asks_anything(text[block.start : block.end])


def _asks_at_edge(text: str, block: TextBlock) -> bool:
    """Return whether the first or the last sentence of a paragraph asks: in the middle a page may ask anything."""
    ranges = list(sentences(text, block.start, block.end))
    return any(asks_anything(text[slice(*one)]) for one in (ranges[0], ranges[-1]))


def _last_sentence(text: str, block: TextBlock) -> str:
    """Return the last sentence of a paragraph, which is not empty."""
    start, end = [*sentences(text, block.start, block.end)][-1]
    return text[start:end]


def _find_material_before(text: str, blocks: Sequence[TextBlock], first: int, last: int) -> Iterator[int]:
    """Yield the first paragraph where a text with a form of its own fills the space up to the last one."""
    between = blocks[first + 1 : last]
    if first == 0 and between and all(one.is_formed for one in between) and not _asks(text, blocks[first]):
        yield first


def _only_asks(text: str, block: TextBlock) -> bool:
    """Return whether a paragraph is nothing but questions and requests."""
    return all(asks_anything(text[start:end]) for start, end in sentences(text, block.start, block.end))


def _is_mostly_about_user(text: str, block: TextBlock) -> bool:
    said = [is_about_user(text[start:end]) for start, end in sentences(text, block.start, block.end)]
    return 2 * sum(said) > len(said)


def _find_unworked(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the stretch without what its last sentence asks to be worked on, or asks for in other words."""
    is_end = not text[end:].strip()
    is_said = SAYS.search(text, start, end) is not None
    if not (is_end or is_said):
        yield start, end
        return
    ranges = list(sentences(text, start, end))
    last = text[slice(*ranges[-1])] if is_end and len(ranges) > 1 else ""
    is_pointing = (
        last and not (SUBJECT.search(last) or COLON.search(last)) and (THAT.search(last) or POINTS.search(last))
    )
    if is_pointing and asks_for_rework(last):
        yield ranges[-1]  # what stands before a request at the end of the message is what it is about
        return
    if not is_said:
        yield start, end
        return
    place = start
    for first, until in ranges:
        if found := SAYS.search(text, first, until):
            if text[place : found.end()].strip():
                yield _trim_span(text, place, found.end())
            place = until
    if text[place:end].strip():
        yield _trim_span(text, place, end)


def _find_unquoted(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the stretch without quoted texts; a quoted name, term or short saying of a sentence of one's own stays."""
    place = start
    for number, found in enumerate(QUOTED.finditer(text, start, end)):
        if number >= MENTIONS or not _is_mentioned(found[0][1:-1], _find_around(text, start, end, found)):
            if text[place : found.start()].strip():
                yield _trim_span(text, place, found.start())
            place = found.end()
    if text[place:end].strip():
        yield _trim_span(text, place, end)


def _find_around(text: str, start: int, end: int, found: re.Match[str]) -> str:
    """Return what a sentence says around a quoted text."""
    first, last = max(start, found.start() - AROUND_CHARS), min(end, found.end() + AROUND_CHARS)
    first = text.rfind("\n", first, found.start()) + 1 or first
    before = [text[begin:until] for begin, until in sentences(text, first, found.start())][-1:]
    after = [text[begin:until] for begin, until in sentences(text, found.end(), last)][:1]
    return " ".join([*before, *after])


def _is_mentioned(quoted: str, around: str) -> bool:
    """Return whether a quotation is a name, a term or a short saying of the sentence around it, and no text."""
    words = WORD.findall(quoted)
    is_term = len(words) <= TERM_WORDS and not (_UNSPACED.search(quoted) and len(quoted) > TERM_CHARS)
    if is_term and not (is_about_user(quoted) or ALWAYS.search(quoted)):
        return True
    if len(words) > MENTIONED_WORDS or (_UNSPACED.search(quoted) and len(quoted) > MENTIONED_CHARS):
        return False
    is_own_sentence = SUBJECT.search(around) is not None and QUESTION.search(around) is None
    if is_own_sentence and not ALWAYS.search(quoted):
        return len(words) < SAYING_WORDS or SUBJECT.search(quoted) is None
    return not (
        is_about_user(quoted) or ALWAYS.search(quoted) or compile_works().search(around) or QUESTION.search(around)
    )


def _trim_span(text: str, start: int, end: int) -> Span:
    said = text[start:end]
    return start + len(said) - len(said.lstrip()), end - (len(said) - len(said.rstrip()))


def _of_long(text: str, spans: Sequence[Span], *, is_meant: bool, is_closed: bool) -> Iterator[Span]:
    """Yield of a long message the sentences about the user, and the orders at its beginning and its end.

    One that is meant for the assistant may state all but orders; of a closed one, a document, only the ends count.
    """
    for start, end in spans:
        taken: Span | None = None
        for first, until in sentences(text, start, end):
            said = text[first:until]
            is_at_edge = first < STEERED_CHARS or until > len(text) - STEERED_CHARS
            is_steering = is_at_edge and not QUESTION.search(said)
            is_about = is_about_user(said) and (is_at_edge or not is_closed)
            if is_about or is_steering or (is_meant and not ALWAYS.search(said)):
                taken = (taken[0] if taken is not None else first, until)
            elif taken is not None:
                yield taken
                taken = None
        if taken is not None:
            yield taken


def _without(text: str, spans: Sequence[Span], material: Sequence[Span]) -> list[Span]:
    """Return the spans without the parts that are material."""
    kept: list[Span] = []
    for start, end in spans:
        place = start
        for first, until in sorted(material):
            if until <= place or first >= end:
                continue
            if text[place : max(place, first)].strip():
                kept.append(_trim_span(text, place, first))
            place = max(place, until)
        if place < end and text[place:end].strip():
            kept.append(_trim_span(text, place, end))
    return kept
