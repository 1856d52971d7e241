"""Finds credentials in text: the table of rules run over the text as a person reads it.

Rule 1: what cannot be seen does not hide a secret: compatibility forms, invisible characters, line breaks, quotes
joined by a plus, escapes, letters set apart, base64 and hex are undone. Each span is one of the original text.
Rule 2: one pass finds the hints that match, and only their rules run. Most messages cost no more than that pass.
Rule 3: a scan writes nothing, neither to a store nor to a log, and keeps no value.
"""

# ruff: noqa: RUF001  (look-alikes of quotes and dashes are what is undone here)

import base64
import binascii
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import accumulate
from typing import TypeAlias

from msgspec import Struct

from gateway.secrets.checks import Range, RuleMatch, is_documented, is_jagged
from gateway.secrets.engine import Hints, Pattern
from gateway.secrets.rules import WALLET, Rule, find_rules
from promt.patterns import compile_late
from protocol.seams.ports import SecretSpan

MAX_PACKED_RUNS = 64
"""A message with more blobs than this is a file; its first ones are looked into."""

_MARKER = compile_late(r"\[secret:([a-z0-9_]+)\]")
_BARRIER = "\x00"  # stands for a marker; no rule matches it, and the text's own control characters are gone
_JOINT = compile_late(r"\n[ \t>|]*(?:[+.&] ?)?[\"'`]?|[\"'`][ \t]{0,9}[+.&][ \t]{0,9}[\"'`]")
_BEFORE_BREAK = " \t\r\\+.&\"'`"
MAX_BEFORE_BREAK = 12
"""A line that goes on ends in a quote, a plus, a backslash, some blanks."""
_ESCAPE = compile_late(r"%([0-9A-Fa-f]{2})|\\x([0-9A-Fa-f]{2})|\\u00([0-9A-Fa-f]{2})|&#x([0-9A-Fa-f]{2});")
_ALIKE = re.compile(rb"([\x01-\x0a])\1+")
"""Two words or more of one length, at most ten, in the bytes of words' lengths."""
_TOO_FEW_GROUPS = {1: 9, **{size: max(2, 12 // size) for size in range(2, 11)}}
"""The most groups that are too few for a token, by their size: a token has more than about twelve characters."""
_WORDS = re.compile(rb"[\x03-\x08]{12}")
"""Twelve words of three to eight letters, as the words of a wallet are, in the bytes of words' lengths."""
MIN_LISTED = 11
"""The ends of lines in a list of twelve words, one a line."""
_UNSEEN = compile_late(r"[^ -~]+")
_PACKED = compile_late(r"(?<![0-9A-Za-z+/])([0-9A-Fa-f]{32,4096})(?![0-9A-Za-z+/=])|([A-Za-z0-9+/_-]{24,4096}={0,2})")
_PACKED_SEEN = Pattern(r"[A-Za-z0-9+/_-]{24}")
_PLAIN_ASCII = compile_late(r"[\t\n\r -~]*")
_CONTINUATION = bytes(range(0x80, 0xC0))
_QUOTES_AND_DASHES = {
    **dict.fromkeys("“”„«»″「」『』", '"'),
    **dict.fromkeys("‘’‚′", "'"),
    **dict.fromkeys("–—−‐‑", "-"),
}
_BLANKS = "\u115f\u1160\u3164\uffa0\u2800"  # letters and symbols by category, empty by look

Hit: TypeAlias = tuple[int, int, int]
"""A range of the original text, and the rank of the rule that found it."""
Edit: TypeAlias = tuple[int, int, str]
"""A range of a text and what stands there instead: nothing, or one character."""


_Words: TypeAlias = tuple[bool, list[int], bytes]
"""True where a text is printable ASCII, and the lengths of its words: as they are, and as bytes, each at most 255."""


class _Appearances(dict[int, str]):
    """`str.translate`'s table, filled as characters are met: what a reader makes of each."""

    def __missing__(self, point: int) -> str:
        self[point] = read = _normalize(chr(point))
        return read


def _normalize(char: str) -> str:
    if char in _QUOTES_AND_DASHES:
        return _QUOTES_AND_DASHES[char]
    if char in "\t\n\r":
        return char
    if char in _BLANKS or unicodedata.category(char) in {"Cc", "Cf", "Cn", "Co", "Cs"}:
        return ""
    bare = "".join(c for c in unicodedata.normalize("NFKD", char) if not "\u0300" <= c <= "\u036f")
    return "".join(c for c in unicodedata.normalize("NFC", bare) if not "\ufe00" <= c <= "\ufe0f")


_APPEARANCES = _Appearances()


class _View:
    """A text to match, as characters and as bytes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lowered = text.lower()
        self.data = text.encode()
        self.lowered_data = self.lowered.encode()
        self._words: _Words | None = None

    def words(self) -> _Words:
        """Return the lengths of the words between single blanks: called twice, counted once."""
        if self._words is None:
            text = self.text
            is_seen = text.isascii() and text.isprintable()
            spaced = text if is_seen else _UNSEEN.sub("  ", text)  # groups have one blank between them, nothing else
            lengths = [*map(len, spaced.split(" "))]
            try:
                capped = bytes(lengths)
            except ValueError:  # one is longer than a byte holds
                capped = bytes([min(length, 255) for length in lengths])
            self._words = is_seen, lengths, capped
        return self._words

    def original(self, start: int, end: int) -> Range:
        """Return the range in the text as it was given."""
        return start, end

    def apply_edits(self, edits: Iterable[Edit]) -> "_View | None":
        """Return the view after the edits, which are in order; None when there are none."""
        done: list[Edit] = []
        pieces: list[str] = []
        last = 0
        for start, end, new in edits:
            pieces += (self.text[last:start], new)
            done.append((start, end, new))
            last = end
        return _EditedView("".join(pieces) + self.text[last:], self, done) if done else None


class _NormalizedView(_View):
    """A text as a reader sees it.

    Each of its characters stands for one of the source's; a character of the source may stand for some or none.
    """

    def __init__(self, text: str, source: str) -> None:
        super().__init__(text)
        self._source = source

    @cached_property
    def _origins(self) -> Sequence[int]:
        return [i for i, char in enumerate(self._source) for _ in _APPEARANCES[ord(char)]]

    def original(self, start: int, end: int) -> Range:
        return self._origins[start], self._origins[end - 1] + 1


class _EditedView(_View):
    """Another view with parts cut out or replaced by one character."""

    def __init__(self, text: str, base: _View, edits: Sequence[Edit]) -> None:
        super().__init__(text)
        self._base = base
        self._edits = edits

    @cached_property
    def _places(self) -> list[Range]:
        """Return where each character stood; most views need no places, for nothing is found in them."""
        places: list[Range] = []
        last = 0
        for start, end, new in self._edits:
            places += [(place, place + 1) for place in range(last, start)]
            places += [(start, end)] * len(new)
            last = end
        return places + [(place, place + 1) for place in range(last, len(self._base.text))]

    def original(self, start: int, end: int) -> Range:
        return self._base.original(self._places[start][0], self._places[end - 1][1])


def _build_view(text: str) -> _View:
    plain = _PLAIN_ASCII.fullmatch(text) is not None
    read = text if plain else text.translate(_APPEARANCES)
    if "[secret:" in read:
        read = _MARKER.sub(lambda m: _BARRIER * len(m[0]) if m[1] in find_kinds() else m[0], read)
    return _View(read) if plain else _NormalizedView(read, text)


def _find_joints(view: _View) -> Iterator[Edit]:
    """Yield the cut of each line's end, or programmer's plus, that divides the parts of a token."""
    text = view.text
    if "\n" in text or "+" in text:
        last = 0
        for m in _JOINT.finditer(text):
            start = m.start()
            if text[start] == "\n":
                floor = max(last, start - MAX_BEFORE_BREAK)
                while start > floor and text[start - 1] in _BEFORE_BREAK:
                    start -= 1
            yield start, (last := m.end()), ""


def _find_escapes(view: _View) -> Iterator[Edit]:
    text = view.text
    if "%" in text or "\\" in text or "&#x" in text:
        for m in _ESCAPE.finditer(text):
            if " " <= (char := chr(int(m[m.lastindex or 0], 16))) <= "~":
                yield *m.span(), char


def _find_gaps(view: _View) -> Iterator[Edit]:
    """Yield the cut of blanks within what is written letter by letter, or in groups of one size."""
    is_seen, lengths, capped = view.words()
    runs = _find_groups(capped)
    if not runs:
        return
    text = view.text
    ends = [*accumulate(lengths)]
    # `ends` count with each unseen run as two blanks: from a place of `moved` on, the text is longer by its `moves`
    moved, moves = [-1], [0]
    for m in () if is_seen else _UNSEEN.finditer(text):
        moved.append(m.start() - moves[-1])
        moves.append(moves[-1] + m.end() - m.start() - 2)
    for first, behind in runs:
        for word in range(first, behind - 1):
            place = ends[word] + word
            place += moves[bisect_right(moved, place) - 1]
            yield place, place + 1, ""


def _find_groups(sizes: bytes) -> list[Range]:
    """Return runs of words that may be one token written in groups, found by the words' lengths.

    Each run is the number of its first word, and of the one behind its last.
    """
    runs: list[Range] = []
    behind = 0
    for m in _ALIKE.finditer(sizes):
        first, last = max(m.start(), behind), m.end()
        size = sizes[last - 1]
        if last < len(sizes) and 0 < sizes[last] < size:
            last += 1
        if last - first > _TOO_FEW_GROUPS[size]:
            runs.append((first, last))
            behind = last
    return runs


class _Rules:
    """Rules with their ranks, of which those run over a text whose hints it has, or that have none."""

    def __init__(self, ranked: Iterable[tuple[int, Rule]]) -> None:
        self._ranked = dict(ranked)
        ranks_of: dict[str, list[int]] = {}
        for rank, rule in self._ranked.items():
            for hint in rule.keywords:
                ranks_of.setdefault(hint, []).append(rank)
        self._hints = Hints(tuple(ranks_of))
        self._ranks_of = tuple(ranks_of.values())
        self._hintless = [rank for rank, rule in self._ranked.items() if not rule.keywords]
        sources = [self._ranked[rank].pattern.source for rank in self._hintless]
        self._any_hintless = Pattern("|".join(f"(?:{source})" for source in sources))
        """All rules without hints in one pattern, which most texts do not match. None of them reads prose."""
        self._each_hintless = Hints(sources)

    def find_hits(self, view: _View) -> Iterator[Hit]:
        """Yield each place that a rule finds in the view, in the original text."""
        present = self._hints.present(view.lowered_data)
        needs: dict[Pattern | None, bool] = {None: True}
        asked = {rank for place in present for rank in self._ranks_of[place]}
        if self._any_hintless.find(view.data) is not None:
            asked.update(self._hintless[place] for place in self._each_hintless.matching(view.data))
        for rank in sorted(asked):
            rule = self._ranked[rank]
            if rule.needs not in needs:
                needs[rule.needs] = rule.needs is not None and rule.needs.find(view.lowered_data) is not None
            if needs[rule.needs]:
                for start, end in _find_matches(rule, view):
                    yield *view.original(start, end), rank


def _find_matches(rule: Rule, view: _View) -> Iterator[Range]:
    """Yield the ranges of a view that a rule and its check take for a secret, in order."""
    data = view.lowered_data if rule.view == "prose" else view.data
    byte = char = 0  # the same place, in bytes and in characters, which are counted on from there
    while m := rule.pattern.find(data, byte):
        begin, start, end = (
            m if len(data) == len(view.text) else (char + _count_characters(data[byte:place]) for place in m)
        )
        span = rule.check(RuleMatch(view.text, view.lowered, begin, start, end))
        if span:
            yield span
        # no part of what is no token is one; in other views, a name may stand between a name and its value
        is_passed_whole = span or rule.view == "token"
        behind = max(m[2], m[0] + 1) if is_passed_whole else m[0] + 1
        while behind < len(data) and 0x80 <= data[behind] < 0xC0:  # not into a character
            behind += 1
        byte, char = behind, char + _count_characters(data[byte:behind])


def _count_characters(data: bytes) -> int:
    """Return how many characters begin in these bytes of UTF-8."""
    return len(data.translate(None, _CONTINUATION))


@cache
def find_kinds() -> frozenset[str]:
    """Return the names of all kinds of secrets that are found."""
    return frozenset(rule.kind for rule in find_rules())


class _Ranked(Struct, frozen=True):
    """The rules that run over a text, those of tokens among them, and the rank of the rule of wallets."""

    usual: _Rules
    tokens: _Rules
    wallet: int


@cache
def _rank_rules() -> _Ranked:
    ranked = list(enumerate(find_rules()))
    return _Ranked(
        _Rules(one for one in ranked if one[1].group != WALLET),
        _Rules(one for one in ranked if one[1].view == "token"),
        next(rank for rank, rule in ranked if rule.group == WALLET),
    )


def _find_packed_hits(view: _View) -> Iterator[Hit]:
    """Yield runs of base64 or hex that encode readable text in which a rule finds a secret."""
    if _PACKED_SEEN.find(view.data) is None:
        return
    runs = 0
    for m in _PACKED.finditer(view.text):
        runs += 1
        if runs > MAX_PACKED_RUNS:
            return
        packed = m[0].rstrip("=").replace("-", "+").replace("_", "/")
        try:
            raw = bytes.fromhex(m[1]) if m[1] else base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
            inner = raw.decode("ascii")
        except (binascii.Error, ValueError):
            continue
        if _PLAIN_ASCII.fullmatch(inner) and (hit := next(_rank_rules().usual.find_hits(_View(inner)), None)):
            yield *view.original(m.start(), m.end()), hit[2]


def _find_listed_hits(view: _View) -> Iterator[Hit]:
    """Yield runs of words that are the words of a wallet.

    The rule runs only where the words' lengths allow it: most texts have a shorter or a longer word among twelve.
    """
    if _WORDS.search(view.words()[2]) or view.text.count("\n") >= MIN_LISTED:
        wallet = _rank_rules().wallet
        for start, end in _find_matches(find_rules()[wallet], view):
            yield *view.original(start, end), wallet


def _merge_hits(hits: list[Hit]) -> list[Hit]:
    """Return the hits in order, overlapping ones joined under the most telling rule, so that no remainder is shown."""
    merged: list[Hit] = []
    for start, end, rank in sorted(hits):
        if merged and start < merged[-1][1]:
            first, last, known = merged[-1]
            merged[-1] = (first, max(last, end), min(known, rank))
        else:
            merged.append((start, end, rank))
    return merged


def _covers_more(hit: Hit, known: list[Hit], text: str) -> bool:
    """Return whether a hit of an edited view covers more than the hits of the view as it was.

    The end of a token does not make the next line's start a part of it.
    """
    for start, end, rank in known:
        if (
            hit[0] < end
            and start < hit[1]
            and rank <= hit[2]
            and not (end < hit[1] and is_jagged(text[end : hit[1]].strip("\"'`\\\n\r +.>|\t")))
        ):
            return False
    return True


def _widen_over_markers(hits: Iterable[Hit], text: str) -> Iterator[Hit]:
    """Yield the hits that hold more than markers, widened so that they cut none: else `mask` would never end."""
    markers = [m.span() for m in _MARKER.finditer(text)]
    for start, end, rank in hits:
        touched = [(first, last) for first, last in markers if first < end and start < last]
        first = min([start, *(marker[0] for marker in touched)])
        last = max([end, *(marker[1] for marker in touched)])
        if _MARKER.sub("", text[first:last]).strip():
            yield first, last, rank


class RuleScanner:
    """The `SecretScanner` port over the table of rules. It has no state: any thread may use it."""

    def find(self, text: str) -> list[SecretSpan]:
        """Return the spans of secrets in order, not overlapping. No span is a marker alone that `mask` wrote."""
        view = _build_view(text)
        hits = list(_rank_rules().usual.find_hits(view))
        known = _merge_hits(hits)
        for edits in (_find_joints, _find_escapes, _find_gaps):
            if (undone := view.apply_edits(edits(view))) is not None:
                hits += [hit for hit in _rank_rules().tokens.find_hits(undone) if _covers_more(hit, known, text)]
        hits += _find_packed_hits(view)
        hits += _find_listed_hits(view)
        if "[secret:" in text:
            hits = list(_widen_over_markers(hits, text))
        return [
            SecretSpan(kind=find_rules()[rank].kind, start=start, end=end)
            for start, end, rank in _merge_hits(hits)
            if not is_documented(text[start:end])
        ]

    def mask(self, text: str) -> str:
        """Return the text with every span replaced by its marker, until nothing is found.

        Masking the result again changes nothing.
        """
        while spans := self.find(text):
            pieces: list[str] = []
            last = 0
            for span in spans:
                pieces += (text[last : span.start], f"[secret:{span.kind}]")
                last = span.end
            text = "".join(pieces) + text[last:]
        return text
