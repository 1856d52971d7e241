"""Finds credentials in text: the table of rules run over the text as a person reads it.

Rule 1: what cannot be seen does not hide a secret: compatibility forms, invisible characters, line breaks and base64 are undone
first, and each span is told in the original text.
Rule 2: it knows no store and no log; it never keeps a value.
"""

# ruff: noqa: RUF001  (look-alikes of quotes and dashes are what is undone here)

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from gateway.secret_checks import Found, Range
from gateway.secret_rules import KINDS, RULES, Rule
from protocol.ports import SecretSpan

MAX_BASE64_RUNS = 64
"""A message with more blobs than this is a file; its first ones are looked into."""

_MARKER = re.compile(r"\[secret:(?:" + "|".join(KINDS) + r")\]")
_BARRIER = "\x00"  # stands for a marker; no rule matches it, and the text's own control characters are gone
_LINE_BREAK = re.compile(r"[ \t]*\\?\r?\n[ \t>|]*")
_BASE64_RUN = re.compile(r"[A-Za-z0-9+/_-]{24,4096}={0,2}")
_PLAIN_ASCII = re.compile(r"[\t\n\r -~]*")
_QUOTES_AND_DASHES = {**dict.fromkeys("“”„«»″", '"'), **dict.fromkeys("‘’‚′", "'"), **dict.fromkeys("–—−‐‑", "-")}
_BLANKS = "\u115f\u1160\u3164\uffa0\u2800"  # letters and symbols by category, empty by look

Hit: TypeAlias = tuple[int, int, int]


class _Reading(dict[int, str]):
    """`str.translate`'s table, filled as characters are met: what a reader makes of each."""

    def __missing__(self, point: int) -> str:
        self[point] = read = _read(chr(point))
        return read


def _read(char: str) -> str:
    if char in _QUOTES_AND_DASHES:
        return _QUOTES_AND_DASHES[char]
    if char in "\t\n\r":
        return char
    if char in _BLANKS or unicodedata.category(char) in {"Cc", "Cf", "Cn", "Co"}:
        return ""
    bare = "".join(c for c in unicodedata.normalize("NFKD", char) if not "\u0300" <= c <= "\u036f")
    return "".join(c for c in unicodedata.normalize("NFC", bare) if not "\ufe00" <= c <= "\ufe0f")


_READING = _Reading()


class _View(msgspec.Struct, frozen=True):
    """A text to match, and for each of its characters the index in the original (None: the same one)."""

    text: str
    lowered: str
    origins: Sequence[int] | None

    def original(self, start: int, end: int) -> Range:
        """The range in the original text."""
        return (start, end) if self.origins is None else (self.origins[start], self.origins[end - 1] + 1)


def _view(text: str, origins: Sequence[int] | None) -> _View:
    return _View(text, text.lower(), origins)


def _cleaned(text: str) -> _View:
    marked = _MARKER.sub(lambda m: "\ue000" * len(m[0]), text) if "[secret:" in text else text
    if marked is text and _PLAIN_ASCII.fullmatch(text):
        return _view(text, None)
    read = [_BARRIER if origin != char else _READING[ord(char)] for char, origin in zip(text, marked, strict=True)]
    origins = [i for i, piece in enumerate(read) for _ in piece]
    return _view("".join(read), origins)


def _without(view: _View, pattern: re.Pattern[str]) -> _View:
    """The view with every match cut out."""
    kept: list[int] = []
    last = 0
    for m in pattern.finditer(view.text):
        kept.extend(range(last, m.start()))
        last = m.end()
    kept.extend(range(last, len(view.text)))
    return _view("".join(view.text[i] for i in kept), [view.original(i, i + 1)[0] for i in kept])


def _matches(rule: Rule, view: _View) -> Iterator[Range]:
    if rule.keywords and not any(word in view.lowered for word in rule.keywords):
        return
    text = view.lowered if rule.view == "prose" else view.text
    position = 0
    while m := rule.pattern.search(text, position):
        group = next((i for i in range(1, len(m.groups()) + 1) if m.start(i) >= 0), 0)
        found = Found(view.text, view.lowered, m.start(), m.start(group), m.end(group))
        span = (found.start, found.end) if rule.check is None else rule.check(found)
        if span:
            yield span
        position = max(span[1] if span else m.start() + 1, m.start() + 1)


def _hits(view: _View, rules: Sequence[tuple[int, Rule]]) -> Iterator[Hit]:
    for rank, rule in rules:
        for start, end in _matches(rule, view):
            yield (*view.original(start, end), rank)


def _decoded_hits(view: _View) -> Iterator[Hit]:
    """A base64 run is a secret when what it encodes is readable and holds a token."""
    runs = 0
    for m in _BASE64_RUN.finditer(view.text):
        runs += 1
        if runs > MAX_BASE64_RUNS:
            return
        packed = m[0].rstrip("=").replace("-", "+").replace("_", "/")
        try:
            inner = base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True).decode("ascii")
        except (binascii.Error, UnicodeDecodeError):
            continue
        if _PLAIN_ASCII.fullmatch(inner) and (hit := next(_hits(_view(inner, None), _RANKED_ALL), None)):
            yield (*view.original(m.start(), m.end()), hit[2])


_RANKED_ALL = tuple(enumerate(RULES))
_RANKED_TOKENS = tuple((rank, rule) for rank, rule in _RANKED_ALL if rule.view == "token")


def _merged(hits: list[Hit]) -> list[Hit]:
    """Overlapping hits become one, under the most telling rule's name, so that masking leaves no remainder."""
    merged: list[Hit] = []
    for start, end, rank in sorted(hits):
        if merged and start < merged[-1][1]:
            first, last, known = merged[-1]
            merged[-1] = (first, max(last, end), min(known, rank))
        else:
            merged.append((start, end, rank))
    return merged


class RuleScanner:
    """The `SecretScanner` port over the table of rules. It has no state: any thread may use it."""

    def find(self, text: str) -> list[SecretSpan]:
        """Spans in order, not overlapping; a marker that `mask` wrote is never part of one."""
        view = _cleaned(text)
        hits = list(_hits(view, _RANKED_ALL))
        if "\n" in view.text:
            known = _merged(hits)
            joined = _hits(_without(view, _LINE_BREAK), _RANKED_TOKENS)
            hits += [hit for hit in joined if not any(hit[0] < end and start < hit[1] for start, end, _ in known)]
        hits += _decoded_hits(view)
        return [SecretSpan(kind=RULES[rank].kind, start=start, end=end) for start, end, rank in _merged(hits)]

    def mask(self, text: str) -> str:
        """The text with every span replaced by its marker, until nothing is found: masking again changes nothing."""
        while spans := self.find(text):
            pieces: list[str] = []
            last = 0
            for span in spans:
                pieces += (text[last : span.start], f"[secret:{span.kind}]")
                last = span.end
            text = "".join(pieces) + text[last:]
        return text
