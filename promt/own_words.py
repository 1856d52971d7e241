"""Which parts of a user's message are the user speaking; the rest is material: what they pasted, quoted or handed over.

Rule 1: pure, and structure comes first: fences, quotation, layout, position, length. Words only tell a request from a statement,
and they are those of `statements.toml`.
Rule 2: in doubt it is material. A statement that is missed can be said again; a page that speaks for the user cannot be unsaid.
Rule 3: bounded: of a long message only the beginning and the end are read, for that is where people speak themselves.
"""
# ruff: noqa: RUF001  # marks of many languages are the subject here

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final, NamedTuple, TypeAlias

Span: TypeAlias = tuple[int, int]
"""A half-open range of characters."""

MASK: Final = "\ufffc"
"""Stands for each character of quoted text, so that places keep their numbers."""
READ_CHARS: Final = 12_000
HEAD_CHARS: Final = 4000
TAIL_CHARS: Final = 2000
"""Of a message longer than `READ_CHARS` these ends are read."""
LONG_CHARS: Final = 1500
"""A longer message, fences not counted, is taken sentence by sentence: few people write as much about themselves at once."""
ASIDE_CHARS: Final = 200
"""As much may follow a question that points at nothing and still be the user's: a page is longer."""
STEERED_CHARS: Final = 300
"""The first and last sentences of a long message that may be orders to the assistant lie within so many characters."""
MENTIONED_WORDS: Final = 7
MENTIONED_CHARS: Final = 14
"""Quoted words of a sentence of one's own that are a name, a term or a short saying; longer ones are a text."""
HANDING_CHARS: Final = 120
"""Who hands a text over with words that no table knows does it in a short sentence that points at it."""
COUNTED_LINES: Final = 2
"""As many lines of a form that a single line may have by chance are a log, a table or a transcript."""
JOINED_LINES: Final = 8
"""Two lines of code, markup, log or talk so near belong to one text, and so does what stands between them."""
ASKED_AGAIN: Final = 16

_FENCE = re.compile(r"^[ \t]{0,8}(`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_INLINE_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED = re.compile(
    r"`[^`\n]{1,500}`"
    r'|"[^"\n]{1,3000}"|“[^”\n]{1,3000}”|„[^“”\n]{1,3000}[“”]|«[^»\n]{1,3000}»|»[^«\n]{1,500}«|‹[^›\n]{1,500}›'
    r"|「[^」\n]{1,3000}」|『[^』\n]{1,500}』"
    r"|(?<![\w'])'(?=\S)[^'\n]{1,300}(?:'\w[^'\n]{0,300}){0,8}'(?!\w)|‘[^’\n]{1,300}’(?!\w)"
)
_SENTENCE = re.compile(
    r"(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bSt)(?<!\bMrs)(?<!\bProf)(?<!\bbzw)(?<!\be\.g)(?<!\bi\.e)(?<=[.!?…])(?<!\d\.)[\"”»')\]]*\s+"
    r"|(?<=[。！？])|\n+"
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_BLANK = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")

_HEADER = re.compile(
    r"[ \t>]*\**(?:from|to|cc|bcc|subject|date|sent|reply-to|von|an|betreff|datum|gesendet|de|para|asunto|fecha|à|objet|envoyé|"
    r"от|кому|тема|дата|发件人|收件人|主题|日期|寄件者|差出人|宛先|件名|日付)\**[ \t]*[:：]",
    re.IGNORECASE,
)
_LETTER = re.compile(
    r"[ \t>]*(?:-{2,}[^\n]{0,40}(?:forwarded|original|weitergeleitet|ursprüngliche|reenviado|original|transféré|пересыла)[^\n]*"
    r"|(?:on|am|el|le) [^\n]{6,120}(?:wrote|schrieb[^\n:]{0,60}|escribió|a écrit)\s*:)\s*$",
    re.IGNORECASE,
)
"""What a forwarded or answered mail begins with. Nothing says where a mail ends: it goes to the end of the message."""
_ROLE = re.compile(
    r"[ \t]*[\[(<*]*(?:user|assistant|system(?: note| prompt| message)?|human|ai|bot|customer|agent|nutzer|benutzer|assistent|usuario|asistente|"
    r"utilisateur|пользователь|ассистент|система|用户|助手|系统|ユーザー|アシスタント|システム)[\])>*]*[ \t]*[:：\]]"
    r"|[ \t]*[\[<](?:system|assistant|user|inst|im_start)\b|[ \t]*<\|",
    re.IGNORECASE,
)
_STRONG = re.compile(
    r"[ \t]*(?:>|\|.*\||[★☆]|(?:[-+]{3} [ab]/|@@ )|</?[a-z!?][^<>\n]{0,300}/?>|</?[a-z]+\s*$|\d{1,3}(?:\.\d{1,3}){3}\b"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d\b|\[?\d\d:\d\d:\d\d\b"
    r"|(?:\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|TRACE|CRITICAL)\b\]?)|Traceback \(|  File \"|at [\w.$]+\([\w.]+:\d+\)"
    r"|(?:import|from|package|using|include|#include|#!|def|class|public|private|protected|static|function|async|export|const|var)\b[^\n]*[;{(:]\s*$"
    r"|(?:const|let|var) \w+ ?=|//|/\*|[{}\])]+[;,)]*\s*$|SELECT\b.*\bFROM\b|INSERT INTO\b)"
    r"|[^\n]*(?:[;{]|=> ?\{)\s*$(?<![^\W\d_] ;)|[ \t]*[\"']?\w+[\"']?\s*[:=]\s*[\[{\"'].*[,;}\]]\s*$",
)
"""A line that no sentence looks like: of a quotation, a table, a diff, markup, a log, a program."""
_MARKUP = re.compile(r"</?(?:html|head|body|div|span|p|h[1-6]|a|ul|ol|li|table|tr|td|meta|script|style|img|br|title|section|article)\b[^<>]{0,300}>", re.I)
_SEPARATOR = r"(?:;(?=\S)|,(?=\S)(?!(?<=\d,)\d))"
_WEAK: Final = (
    re.compile(r"[ \t]*(?:[^\W\d_]\w{0,15}[ :：]+){0,3}\[?\d{1,2}:\d\d\b"),  # a time, perhaps after a speaker
    re.compile(rf"[^\n]*?{_SEPARATOR}[^\n]*?{_SEPARATOR}"),
    re.compile(r"[^\n]*\S\t\S"),
)
_SPEAKER = re.compile(r"[ \t]*[*_]{0,2}(?P<name>[^\W\d_][^\n:：,.;!?]{0,24}?)[*_]{0,2}[ \t]*[:：][ \t]*\S")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*•–—・·]|\(?\d{1,2}[.)])[ \t]*\S")

_POINTS = re.compile(
    r"\b(?:th(?:is|ese)(?! (?:is|are|was|were|will|has|one|(?:\w+ )?(?:year|month|week|weekend|morning|afternoon|evening|summer|winter|time|way|project|repo|team)s?)\b)"
    r"|dies(?:e[rsnm]?)? (?!Jahr|Monat|Woche|Mal)|est[aeo]s? (?!año|mes|semana|noche|proyecto)|ce(?:t|tte|s)? (?!mois|soir|matin|projet|n'|ne |sont|année|semaine)|эт[аиоу](?:го|му|т|й|х|м|ми)? "
    r"|attached|here(?:'s| is| are)|hier (?:ist|sind)|aquí|voici|вот)"
    r"|↑|↓|[这這此](?!个?(?:项目|周|月|次))|この|上の",
    re.IGNORECASE,
)
"""Points at a text that stands near."""
_POINTS_AHEAD = re.compile(
    r"\b(?:below(?! (?:zero|\d|average))|the following|the above|above (?:text|mail|message)|folgende[rnsm]?|unten(?:stehend\w*)?|siguientes?|abajo|suivante?s?|qui suit|ci-dessous|следующ\w+|ниже)\b|以下|下面|下記|次の",
    re.IGNORECASE,
)
"""Says that a text follows, or stood before."""
_POLITE = (
    r"(?:^|[,;:：，。.!?¿¡—–-]\s*|\b(?:please|pls|plz|kindly|and|now|then|just|so|(?:can|could|would|will) you|(?:i(?:'d| would) like|i want|i need)(?: you)? to|"
    r"help me(?: to)?|bitte|und|jetzt|mal|nun|kannst du|könntest du|por favor|y|ahora|puedes|podrías|ayúdame a|et|maintenant|peux-tu|tu peux|"
    r"pourrais-tu|aide-moi à|и|пожалуйста|теперь|можешь|помоги)\s+,?\s*)"
)
_CHINESE_POLITE = r"(?:^|[，。：！？,]|请|帮我|帮忙|麻烦你?|能不能|可以|你)"
_QUESTION = re.compile(r"[?？]")
_KEEPS = re.compile(
    _POLITE + r"(?:remember|remeber|memori[sz]e|note|notes|save|store|keep|record|merk\w*|denk\w* daran|notier\w*|speicher\w*|souviens(?:-toi)?|retiens|retenez|"
    r"mémorise|enregistre|recuerda|recuerde|apunta|anota|guarda|запомни\w*|запиши\w*|учти|сохрани\w*|ricorda|lembr[ae]|onthoud)\b|[记記]住|[记記]得|覚えて",
    re.IGNORECASE,
)
"""Asks that what follows be kept: that is the user's own."""
_COLON = re.compile(r"[:：](?=\s|$|[\u3040-\u9fff\"'“„«「])")
_ALWAYS = re.compile(
    r"\b(?:always|never|from now on|immer|niemals|nie|ab sofort|siempre|nunca|jamás|toujours|jamais|всегда|никогда)\b|总是|永远|一直|いつも|絶対",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"\b(?:i|i'm|i've|i'd|i'll|my|mine|we|we're|we've|our|ich|mein\w*|wir|unser\w*|yo|mi|mis|nuestr\w+|je|j'\w+|mon|ma|mes|nous|notre|nos|on|"
    r"я|мой|моя|моё|мои|у меня|мы|наш\w*)\b|我|咱|私|僕|俺|うち",
    re.IGNORECASE,
)
"""Speaks of the speaker as the one who does or has, not as the one something is done for."""


class _Block(NamedTuple):
    """A paragraph of prose, or a run of lines that have a form of their own."""

    start: int
    end: int
    is_formed: bool


@cache
def statements() -> dict[str, dict[str, Any]]:
    """The rows of `statements.toml` by language."""
    return tomllib.loads(files("promt").joinpath("statements.toml").read_text(encoding="utf-8"))


@cache
def _own() -> re.Pattern[str]:
    """Any word by which people speak of themselves."""
    rows = [row for name, table in statements().items() if name != "languages" for row in table["own"]]
    return re.compile("|".join(rows), re.IGNORECASE)


@cache
def _works() -> re.Pattern[str]:
    """A request to work on something, where a request may begin."""
    rows: dict[str, list[str]] = {"spaced": [], "zh": [], "ja": []}
    for name, table in statements().items():
        if name != "languages":
            rows[name if name in rows else "spaced"] += table["handed"]
    spaced, zh, ja = ("|".join(rows[name]) for name in ("spaced", "zh", "ja"))
    return re.compile(rf"{_POLITE}(?:{spaced})(?!\w)|{_CHINESE_POLITE}(?:{zh})|{ja}", re.IGNORECASE)


def own_words(text: str, material: Sequence[Span] = ()) -> list[Span]:
    """The ranges in which the user speaks, in order; `material` is what the caller knows to be no words of theirs."""
    found = _spans(text)
    return _without(text, found, material) if material else list(found)


def only_own(text: str, material: Sequence[Span] = ()) -> str:
    """The user's own words, a line for each stretch."""
    return "\n".join(text[start:end] for start, end in own_words(text, material))


def mask_material(text: str, material: Sequence[Span] = ()) -> str:
    """The text with every character that is not the user's own replaced by `MASK`; line ends stay."""
    parts: list[str] = []
    place = 0
    for start, end in [*own_words(text, material), (len(text), len(text))]:
        parts += [_LINE_TEXT.sub(lambda found: MASK * len(found[0]), text[place:start]), text[start:end]]
        place = end
    return "".join(parts)


_LINE_TEXT = re.compile(r"[^\n]+")


def mask_quotes(text: str) -> str:
    """The text with every character of code and quotations replaced by `MASK`; its length is the same."""
    for start, end in _fences(text):
        text = f"{text[:start]}{MASK * (end - start)}{text[end:]}"
    text = _INLINE_FENCE.sub(lambda found: MASK * len(found[0]), text)
    text = _QUOTED_LINE.sub(lambda found: MASK * len(found[0]), text)
    return _QUOTED.sub(lambda found: MASK * len(found[0]), text)


_QUOTED_LINE = re.compile(r"^[ \t]*>[^\n]*$", re.MULTILINE)


def is_about_user(sentence: str) -> bool:
    """Whether somebody speaks of themselves in it."""
    return _own().search(sentence.replace("’", "'")) is not None


def sentences(text: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
    """The ranges of the sentences of a text, without the white space around them."""
    end = len(text) if end is None else end
    for found in [*_SENTENCE.finditer(text, start, end), None]:
        until = found.start() if found is not None else end
        said = text[start:until]
        if stripped := said.strip():
            first = start + said.index(stripped[0])
            yield first, first + len(stripped)
        start = found.end() if found is not None else end


@lru_cache(maxsize=ASKED_AGAIN)
def _spans(text: str) -> tuple[Span, ...]:
    spans: list[Span] = []
    blocked = _fences(text)
    blocked += [found.span() for found in _INLINE_FENCE.finditer(text[:READ_CHARS])]
    if len(text) > READ_CHARS:
        blocked.append((HEAD_CHARS, len(text) - TAIL_CHARS))
    blocks = _blocks(text, sorted(blocked))
    for start, end in _spoken(text, blocks):
        spans += _unquoted(text, start, end)
    prose = sum(block.end - block.start for block in blocks if not block.is_formed)
    if prose > LONG_CHARS or len(text) > READ_CHARS:
        spans = list(_of_long(text, spans))
    return tuple(spans)


def _fences(text: str) -> list[Span]:
    """Fenced parts; an open one goes to the end."""
    found: list[Span] = []
    opened: re.Match[str] | None = None
    for mark in _FENCE.finditer(text):
        if opened is None:
            opened = mark
        elif mark[1][0] == opened[1][0] and len(mark[1]) >= len(opened[1]):
            found.append((opened.start(), mark.end()))
            opened = None
    return [*found, (opened.start(), len(text))] if opened is not None else found


# -- layout ----------------------------------------------------------------------------------------------------------


def _lines(text: str, blocked: Sequence[Span]) -> Iterator[tuple[int, int, bool]]:
    """The lines of the text with whether they are blocked; a blocked stretch is one line."""
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


def _blocks(text: str, blocked: Sequence[Span]) -> list[_Block]:
    """Paragraphs of prose and stretches with a form, in order."""
    lines = list(_lines(text, blocked))
    formed = _formed(text, lines)
    blocks: list[_Block] = []
    begun = False
    for (start, end, _), is_formed in zip(lines, formed, strict=True):
        if not text[start:end].strip():
            begun = False
            continue
        if begun and blocks[-1].is_formed and not is_formed:
            is_formed = not blocks[-1].end < start - 1  # the rest of a paragraph belongs to what has a form
        if begun and blocks[-1].is_formed == is_formed:
            blocks[-1] = blocks[-1]._replace(end=end)
        else:
            blocks.append(_Block(start, end, is_formed))
        begun = True
    return blocks


def _formed(text: str, lines: Sequence[tuple[int, int, bool]]) -> list[bool]:
    """Of each line, whether it has a form that is no prose; what stands between two such lines of one text has it as well."""
    formed = [is_blocked for _, _, is_blocked in lines]
    said = [text[start:end] for start, end, _ in lines]
    kinds: list[list[int]] = [[] for _ in range(len(_WEAK))]
    headers: list[int] = []
    joined: list[int] = []
    speakers: dict[str, list[int]] = {}
    for at, line in enumerate(said):
        if formed[at] or not line.strip():
            continue
        if _STRONG.match(line) or _MARKUP.search(line):
            formed[at] = True
            if not line.lstrip().startswith(">"):
                joined.append(at)
            continue
        if _ROLE.match(line):
            formed[at] = True
            joined.append(at)
        if _LETTER.match(line):
            return formed[:at] + [True] * (len(lines) - at)
        if _HEADER.match(line):
            headers.append(at)
            if len(headers) >= COUNTED_LINES and headers[-1] - headers[-2] <= COUNTED_LINES:
                first = headers[-2]
                return formed[:first] + [True] * (len(lines) - first)
        if speaker := _SPEAKER.match(line):
            speakers.setdefault(speaker["name"].strip(), []).append(at)
        for kind, pattern in zip(kinds, _WEAK, strict=True):
            if pattern.match(line):
                kind.append(at)
    for kind in [*kinds, *speakers.values()]:
        joined += [at for near in _near(kind, COUNTED_LINES) if len(near) >= COUNTED_LINES for at in near]
    for near in _near(sorted(joined), JOINED_LINES):
        formed[near[0] : near[-1] + 1] = [True] * (near[-1] + 1 - near[0])
    return formed


def _near(places: Sequence[int], reach: int) -> list[list[int]]:
    """The places in runs, of which each is within reach of the one before."""
    runs: list[list[int]] = []
    for at in places:
        if runs and at - runs[-1][-1] <= reach:
            runs[-1].append(at)
        else:
            runs.append([at])
    return runs


# -- who speaks ------------------------------------------------------------------------------------------------------


class _Cover(NamedTuple):
    """Where a request to work on something leaves off, and how sure it is that a text follows."""

    ends: int
    is_sure: bool


def _cover(text: str, block: _Block) -> _Cover | None:
    """Where in a paragraph the user hands something over, or None: a request, a question, words that point."""
    found: _Cover | None = None
    for start, end in sentences(text, block.start, block.end):
        said = text[start:end].replace("’", "'")
        bare = _QUOTED.sub(lambda quoted: MASK * len(quoted[0]), said)
        works = _works().search(bare)
        ahead = _POINTS_AHEAD.search(bare)
        points = ahead or _POINTS.search(bare)
        asks = _QUESTION.search(bare)
        colon = _COLON.search(bare, works.end() if works else 0)
        is_kept = _KEEPS.search(bare) is not None
        if works and colon and not is_kept:
            return _Cover(start + colon.end(), is_sure=True)
        if colon and colon.end() == len(bare) and (ahead or asks) and not is_kept:
            return _Cover(end, is_sure=True)
        if (works or asks) and not is_kept and not (works and _ALWAYS.search(bare) and not asks):
            found = _Cover(end, is_sure=bool(works or points) or (found is not None and found.is_sure))
        elif is_kept or (colon and colon.end() == len(bare)):
            continue  # a label
        elif ahead or (points and not _SUBJECT.search(bare) and len(bare) <= HANDING_CHARS):
            found = _Cover(end, is_sure=True)
    return found


def _spoken(text: str, blocks: Sequence[_Block]) -> Iterator[Span]:
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
            continue
        after = blocks[at + 1] if at + 1 < len(blocks) else None
        if after is not None and after.is_formed and not is_inside and len(following) == 1:
            continue  # what was handed over has a form of its own, which ends before the rest
        size = sum(blocks[one].end - blocks[one].start for one in following)
        if not cover.is_sure and size <= ASIDE_CHARS:
            continue
        for before in prose[:number]:
            yield blocks[before].start, blocks[before].end
        yield block.start, cover.ends if is_inside else block.end
        return
    yield from _without_cover(text, [blocks[at] for at in prose])


def _without_cover(text: str, prose: Sequence[_Block]) -> Iterator[Span]:
    """All of it, unless the last paragraph but asks; then what of the ones before is about the user, or short."""
    before = prose[:-1]
    if before:
        last = prose[-1]
        said = [text[start:end] for start, end in sentences(text, last.start, last.end)]
        if all(_QUESTION.search(one) or _works().search(one) for one in said):
            size = sum(one.end - one.start for one in before)
            before = [one for one in before if size <= ASIDE_CHARS or _is_mostly_about_user(text, one)]
    for block in [*before, *prose[-1:]]:
        yield block.start, block.end


def _is_about_before(text: str, last: _Block, *, is_alone: bool) -> bool:
    """Whether the last paragraph begins with words that point at a text above it."""
    start, end = next(sentences(text, last.start, last.end))
    opening = text[start:end]
    points = _POINTS_AHEAD.search(opening) or _POINTS.search(opening)
    if is_alone or points is None or _SUBJECT.search(opening[: points.start()]) or end < last.end and _COLON.search(opening):
        return False
    is_asked = _works().search(opening) is not None or _QUESTION.search(opening) is not None
    return end == last.end or is_asked or points.start() == 0


def _is_mostly_about_user(text: str, block: _Block) -> bool:
    said = [is_about_user(text[start:end]) for start, end in sentences(text, block.start, block.end)]
    return 2 * sum(said) >= len(said)


def _unquoted(text: str, start: int, end: int) -> Iterator[Span]:
    """The stretch without quoted texts; a quoted name, term or short saying of a sentence of one's own stays."""
    place = start
    for found in _QUOTED.finditer(text, start, end):
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
            is_at_edge = until <= STEERED_CHARS or first >= len(text) - STEERED_CHARS
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
