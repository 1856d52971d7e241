"""The layout of a message: fences, quotations, paragraphs of prose, and stretches that have a form of their own.

Rule 1: pure, and linear in the text; it separates what looks like prose from what does not, and reads nothing of it.
Rule 2: two lines of code, markup, a log or a talk belong together over the few that stand between them.
"""
# ruff: noqa: RUF001  # marks of many languages are the subject here

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from promt.language.reader import either, list_words
from promt.patterns import compile_late

Span: TypeAlias = tuple[int, int]
"""A half-open range of characters."""

MASK: Final = "\ufffc"
"""Stands for each character of quoted text, so that places keep their numbers."""
LISTED_LINES: Final = 3
"""As many lines in a row with one comma each, and no blank behind it, are a table of two columns."""
COUNTED_LINES: Final = 2
"""As many lines of a form that a single line may have by chance are a log, a table or a transcript."""
PAGE_LINES: Final = 3
"""As many lines directly below an address are the page that stands there."""
MAIL_PARAGRAPHS: Final = 2
"""So many paragraphs at most stand below the header of a mail of one paragraph: the mail, and a request about it."""
JOINED_LINES: Final = 8
"""Two lines of code, markup, log or talk so near belong to one text, and so does what stands between them."""

WORD = compile_late(r"[^\W_]+(?:['’][^\W_]+)*")
"""A word, with the apostrophes in it."""
_FENCE = compile_late(r"^[ \t]{0,8}(`{3,}|~{3,})[^\n]*$", re.MULTILINE)
INLINE_FENCE = compile_late(
    r"```.*?(?:```|\Z)|'''.*?(?:'''|\Z)|\[quote\b[^\]\n]{0,80}\].*?(?:\[/quote\]|\Z)", re.DOTALL
)
"""Code in a line, and a quotation as forums write it."""
QUOTED = compile_late(
    r"`[^`\n]{1,500}`"
    r'|"[^"\n]{1,3000}(?:(?<=[\s(])"(?=[^\s"])[^"\n]{1,300}"[^"\n]{0,3000}){0,8}"'  # with others of these marks in it
    r"|“[^”\n]{1,3000}”?|„[^“”\n]{1,3000}[“”]?|«(?:[^«»\n]|«[^«»\n]{1,300}»){1,3000}»?"
    r"|[〝″＂][^〝〞〟″＂\n]{1,3000}[〞〟″＂]|‚[^‘’\n]{1,300}[‘’]|``[^`\n]{1,3000}''"
    r"|»[^«\n]{1,500}«|‹[^›\n]{1,500}›"
    r"|「[^」\n]{1,3000}」|『[^』\n]{1,500}』"
    r"|(?<!\S)—(?=[^\W_]|[¡¿])[^—\n]{1,500}—?"  # as stories in Spanish set off what is said
    r"|\{\s*[\"'][^{}\n]{1,3000}\}"
    r"|(?<![\w'])'(?=\S)[^'\n]{1,300}(?:'\w[^'\n]{0,300}){0,8}'(?!\w)|‘[^’\n]{1,300}’(?!\w)"
)
"""A quotation within a line, with the marks of any of the languages, or an object of a program."""


def _sentence_end() -> str:
    """Return the pattern of what stands between two sentences."""
    known = "".join(rf"(?<!\b{re.escape(word)}\.)" for word in list_words("layout", "ends_no_sentence"))
    initials = r"(?!(?<=\.\w\.)\s+[a-z\u00df-\u00ff\u0430-\u044f])"  # "9 a.m. to 5 p.m. every day"
    # the first look behind fails at nearly every place, and the rest is not asked there
    return rf"(?<=[.!?…])(?<!\d\.){known}{initials}[\"”»')\]]*\s+|(?<=[。！？])|\n+"


SENTENCE_END = compile_late(_sentence_end)
_HEADER = compile_late(lambda: rf"[ \t>]*\**(?:{either('layout', 'mail_header')})\**[ \t]*[:：]", re.IGNORECASE)
_ADDRESS = compile_late(r"\s*<?https?://\S+\s*")
_LETTER = compile_late(
    lambda: (
        rf"[ \t>]*(?:-{{2,}}[^\n]{{0,40}}(?:{either('layout', 'forwarded')})[^\n]*"
        rf"|(?:{either('layout', 'wrote_on')}) [^\n]{{6,120}}(?:{either('layout', 'wrote')})\s*:)\s*$"
    ),
    re.IGNORECASE,
)
"""The beginning of a forwarded or answered mail. Nothing says where a mail ends: it goes to the end of the message."""
_ROLE = compile_late(
    lambda: (
        rf"[ \t]*[\[(<*]*(?:{either('layout', 'role')})[\])>*]*[ \t]*[:：\]]"
        r"|[ \t]*[\[<](?:system|assistant|user|inst|im_start)\b|[ \t]*<\|"
    ),
    re.IGNORECASE,
)
_LISTS = r"[ \t]*(?:[-*•–—·‣]|\d{1,2}[.)])[ \t]"
LIST_MARK = compile_late(_LISTS)
"""Begins an entry of a list."""
_STRONG = compile_late(
    rf"(?: {{4}}|\t)(?!{_LISTS})[ \t]*\S"
    r"|[ \t]*(?:>|\|.*\||[★☆♪♫]|\([^()\n]{2,40}\)\s*$|\[[^\[\]\n]{2,40}\]\s*$"
    r"|[A-Z][A-Z_\d]{1,30} ?[:?+]?= ?\S|(?:export|alias|declare|setx?) \w+=\S|[^\n]*<<-?['\"]?\w+['\"]?\s*$|"
    r"(?:[-+]{3} [ab]/|@@ )|</?[a-z!?][^<>\n]{0,300}/?>|</?[a-z]+\s*$"
    r"|\d{1,3}(?:\.\d{1,3}){3}\b|#!/\S"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d\b|\[?\d\d:\d\d:\d\d\b"
    r"|(?:\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|TRACE|CRITICAL)\b\]?)|Traceback \(|  File \""
    r"|at [\w.$]+\([\w.]+:\d+\)"
    r"|(?:import|from|package|using|include|#include|#!|def|class|public|private|protected|static|function|async"
    r"|export|const|var)\b[^\n]*[;{(:]\s*$"
    r"|(?:const|let|var) \w+ ?=|//|/\*|[{}\])]+[;,)]*\s*$|(?:import|from) [\w.]+(?: import [^\n]*)?\s*(?:#[^\n]*)?$"
    r"|SELECT\b|INSERT\b)"
    r"|[^\n]*\{[^\n]*\}[\s;]*$|[^\n]*(?:[;{]|=> ?\{)\s*$(?<![^\W\d_] ;)"
    r"|[ \t]*[\"']?\w+[\"']?\s*[:=]\s*[\[{\"'].*[,;}\]]\s*$",
)
"""A line that no sentence looks like: of a quotation, a table, a diff, markup, a log, a program."""
_COMMENT = compile_late(r"[ \t]*(?:#|--|%)[ \t]")
"""Stands above a line of code and belongs to it."""
_HUNK = compile_late(r"@@ -\d+(?:,\d+)? \+\d+|\+\+\+ b/|--- a/|diff --git ")
_OPENS_QUOTE = compile_late(r"[ \t]*(?:„[^“”\n]*$|“[^”\n]*$|«[^»\n]*$|「[^」\n]*$)")
_ENDS_QUOTE = compile_late(r"[“”»」][ \t]*$")
_SALUTES = compile_late(lambda: rf"[ \t]*(?:{either('layout', 'salutes')})", re.IGNORECASE)
_CLOSES = compile_late(lambda: rf"(?:{either('layout', 'closes')})", re.IGNORECASE)
_MARKUP = compile_late(
    r"</?(?:html|head|body|div|span|p|h[1-6]|a|ul|ol|li|table|tr|td|meta|script|style|img|br|title|section"
    r"|article)\b[^<>]{0,300}>",
    re.IGNORECASE,
)
_SEPARATOR = r"(?:;(?=\S)|,(?=\S)(?!(?<=\d,)\d))"
_PAIR = compile_late(r"[^\n,;]{1,60}(?:[,;](?! )[^\n,;]{1,300}|;(?! )[^\n;]{1,300})")
_WEAK: Final = (
    compile_late(r"[ \t]*(?:[^\W\d_]\w{0,15}[ :：]+){0,3}\[?\d{1,2}:\d\d\b"),  # a time, perhaps after a speaker
    # a time with its day
    compile_late(
        r"[ \t]*[\[(]?[^\s\[\](),]{2,10},? +\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?: ?[APap]\.?[Mm]\.?)?(?:[\])]| [-–] )"
    ),
    compile_late(rf"[^\n]*?{_SEPARATOR}[^\n]*?{_SEPARATOR}"),
    compile_late(r"(?!\d{1,3}(?:,\d{3})+\b)(?:[^\s,;]+[,;]){2}\S"),  # columns of which the first are numbers
    compile_late(r"[^\n]*\S(?:\t|[ \t]\|[ \t]+)\S"),  # columns
    compile_late(r"[ \t]*(?:\[[ xX]\]|[☐☑☒]) "),  # a list to tick off
    compile_late(r"(?: {1,3}|\t)[a-z_][\w-]{1,30}:(?:[ \t]|$)"),  # settings below a heading of their own
)
_DIALOGUE = compile_late(r"[ \t]*[—―][ \t]+\S")
_CALLS = compile_late(r"[?!？！]")
_NAME_LINE = compile_late(r"[ \t]*[A-Z][A-Z .'’-]{1,24}(?:\([^()\n]{1,20}\))?[ \t]*")
SPEAKER = compile_late(
    r"[ \t]*[*_]{0,2}(?P<name>[^\W\d_](?:[^\n:：,.;!?]|\.(?= ?\d|[ \t]*[:：]|[^()\n]{0,8}\))){0,24}?)[*_]{0,2}"
    r"[ \t]*[:：][ \t]*\S"
)
"""A line that begins with a name and a colon, as in a transcript."""


class TextBlock(NamedTuple):
    """A paragraph of prose, or a run of lines that have a form of their own."""

    start: int
    end: int
    is_formed: bool


def sentences(text: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
    """Yield the ranges of the sentences of a text, without the white space around them."""
    end = len(text) if end is None else end
    for found in [*SENTENCE_END.finditer(text, start, end), None]:
        until = found.start() if found is not None else end
        said = text[start:until]
        if stripped := said.strip():
            first = start + said.index(stripped[0])
            yield first, first + len(stripped)
        start = found.end() if found is not None else end


def mask_quotes(text: str) -> str:
    """Return the text with every character of code and quotations replaced by `MASK`; its length is the same."""
    for start, end in fences(text):
        text = f"{text[:start]}{MASK * (end - start)}{text[end:]}"
    text = INLINE_FENCE.sub(lambda found: MASK * len(found[0]), text)
    text = _QUOTED_LINE.sub(lambda found: MASK * len(found[0]), text)
    return QUOTED.sub(lambda found: MASK * len(found[0]), text)


_QUOTED_LINE = compile_late(r"^[ \t]*>[^\n]*$", re.MULTILINE)


def fences(text: str) -> list[Span]:
    """Return the ranges of fenced code, in order; an open fence goes to the end."""
    found: list[Span] = []
    opened: re.Match[str] | None = None
    for mark in _FENCE.finditer(text):
        if opened is None:
            opened = mark
        elif mark[1][0] == opened[1][0] and len(mark[1]) >= len(opened[1]):
            found.append((opened.start(), mark.end()))
            opened = None
    return [*found, (opened.start(), len(text))] if opened is not None else found


# -- lines ----------------------------------------------------------------------------------------------------------


def _lines(text: str, blocked: Sequence[Span]) -> Iterator[tuple[int, int, bool]]:
    """Yield the lines of the text as (start, end, is blocked); a blocked stretch is one line."""
    place = 0
    for start, end in [*blocked, (len(text), len(text))]:
        if start < place:
            place = max(place, end)
            continue
        at = place
        while at < start:
            until = text.find("\n", at, start)
            until = start if until < 0 else until
            yield at, until, False
            at = until + 1
        if end > start:
            yield start, end, True
        place = end


def blocks_of(text: str, blocked: Sequence[Span]) -> list[TextBlock]:
    """Return paragraphs of prose and stretches with a form, in order; `blocked` ranges have one, and are sorted."""
    lines = list(_lines(text, blocked))
    formed = _find_formed_lines(text, lines)
    blocks: list[TextBlock] = []
    begun = False
    goes_on = False
    for (start, end, is_blocked), looks_formed in zip(lines, formed, strict=True):
        if not text[start:end].strip():
            begun = goes_on = False
            continue
        is_formed = looks_formed or goes_on
        goes_on = is_formed and not is_blocked  # the rest of a paragraph belongs to what has a form in it
        if begun and blocks[-1].is_formed == is_formed:
            blocks[-1] = blocks[-1]._replace(end=end)
        else:
            blocks.append(TextBlock(start, end, is_formed))
        begun = True
    return blocks


def _find_formed_lines(text: str, lines: Sequence[tuple[int, int, bool]]) -> list[bool]:
    """Return for each line whether it has a form that is no prose, or stands between two such lines of one text."""
    formed = [is_blocked for _, _, is_blocked in lines]
    said = {at: text[start:end] for at, (start, end, is_blocked) in enumerate(lines) if not is_blocked}
    mail = _mail_begins(said)
    if mail is not None:
        formed[mail:] = [True] * len(formed[mail:])
    first = next((at for at, line in said.items() if line.strip()), None)
    for at in (*_header_lines(said), *_role_lines(said)):
        formed[at] = True
    if (
        first is not None
        and _ADDRESS.fullmatch(said[first])
        and all(said.get(first + at, "").strip() for at in range(1, PAGE_LINES + 1))
    ):
        formed[first] = True  # a page under its address
    for first, last in [*_texts_in_code(said), *_letters(said)]:
        formed[first : last + 1] = [True] * (last + 1 - first)
    joined: list[int] = []
    for at, line in said.items():
        if _STRONG.match(line) or _MARKUP.search(line) or _ROLE.match(line):
            formed[at] = True
            joined += [at] * (not line.lstrip().startswith(">"))
    paired = [at for at, line in said.items() if _PAIR.fullmatch(line)]
    joined += [at for near in _near(paired, 1) if len(near) >= LISTED_LINES for at in near]
    for counted in _group_weak_lines(said):
        joined += [at for near in _near(counted, COUNTED_LINES) if len(near) >= COUNTED_LINES for at in near]
    for near in _near(sorted(joined), JOINED_LINES):
        first = near[0]
        while _COMMENT.match(said.get(first - 1, "")):
            first -= 1
        formed[first : near[-1] + 1] = [True] * (near[-1] + 1 - first)
    return formed


def _texts_in_code(said: Mapping[int, str]) -> Iterator[tuple[int, int]]:
    """Yield the (first, last) lines of a text of several lines in code, of a diff, of a quotation.

    A quotation of several paragraphs opens its first line and closes its last.
    """
    opened: int | None = None
    diff: int | None = None
    quoted: int | None = None
    for at, line in said.items():
        for _ in range((line.count('"""') + line.count("'''")) % 2):
            if opened is not None:
                yield opened, at
            opened = at if opened is None else None
        if quoted is None and _OPENS_QUOTE.match(line):
            quoted = at
        elif quoted is not None and _ENDS_QUOTE.search(line):
            yield quoted, at
            quoted = None
        if _HUNK.match(line):
            diff = at
        elif diff is not None:
            if line[:1] not in {"+", "-", " ", ""}:
                diff = None
            else:
                yield at, at


def _letters(said: Mapping[int, str]) -> Iterator[tuple[int, int]]:
    """Yield the (first, last) lines of formal letters; a greeting in a message's first line is the user's own."""
    opened: int | None = None
    places = [at for at, line in said.items() if line.strip()]
    for at in places[1:]:
        if opened is None and _SALUTES.match(said[at]):
            opened = at
        if opened is not None and _CLOSES.search(said[at]):
            yield opened, at
            opened = None


def _mail_begins(said: Mapping[int, str]) -> int | None:
    """Return the line with which a mail begins, or None; nothing says where one ends."""
    before: int | None = None
    for at, line in said.items():
        if _LETTER.match(line):
            return at
        if _HEADER.match(line):
            if before is not None and at - before <= COUNTED_LINES:
                return before
            before = at
    return None


def _header_lines(said: Mapping[int, str]) -> Iterator[int]:
    """Yield the line of each header that begins a paragraph, and the first of its mail's only paragraph.

    A header without a sentence may have an empty line below it; then a paragraph and a request about it are the rest.
    """
    begins = [at for at, line in said.items() if line.strip() and not said.get(at - 1, "").strip()]
    for place, at in enumerate(begins):
        if _HEADER.match(said[at]):
            below = at + 1
            while said.get(below, "").strip() and SENTENCE_END.search(f"{said[below]} ") is None:
                below += 1
            has_text = bool(said.get(below, "").strip())
            is_apart = not has_text and 0 < len(begins) - place - 1 <= MAIL_PARAGRAPHS
            if has_text or is_apart or below > at + 1:
                yield at
            if is_apart:
                yield begins[place + 1]


def _role_lines(said: Mapping[int, str]) -> list[int]:
    """Return the lines that name who speaks next, in capitals, as plays write it.

    A name comes again; what comes once is a heading.
    """
    names = [at for at, line in said.items() if _NAME_LINE.fullmatch(line) and said.get(at + 1, "").strip()]
    called = Counter(said[at].strip() for at in names)
    return names if any(count > 1 for count in called.values()) else []


def _group_weak_lines(said: Mapping[int, str]) -> Iterator[list[int]]:
    """Yield, form by form, the lines of a form that a single line may have by chance."""
    for pattern in _WEAK:
        yield [at for at, line in said.items() if pattern.match(line)]
    dialogue = [at for at, line in said.items() if _DIALOGUE.match(line)]
    if any(_CALLS.search(said[at]) for at in dialogue):  # a list with such marks asks and calls nobody
        yield dialogue
    speakers: dict[str, list[int]] = {}
    for at, line in said.items():
        if found := SPEAKER.match(line):
            speakers.setdefault(found["name"].strip(), []).append(at)
    yield from speakers.values()
    talk = sorted(at for places in speakers.values() for at in places)
    for near in _near(talk, 1):
        if any(len(set(near).intersection(places)) > 1 for places in speakers.values()):
            yield near  # somebody speaks again: a talk of several


def _near(places: Sequence[int], reach: int) -> list[list[int]]:
    """Return the places in runs, in which each place is within reach of the one before."""
    runs: list[list[int]] = []
    for at in places:
        if runs and at - runs[-1][-1] <= reach:
            runs[-1].append(at)
        else:
            runs.append([at])
    return runs
