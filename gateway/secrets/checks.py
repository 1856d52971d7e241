"""Tells a credential from a word, a number or a placeholder in the same place.

Rule 1: each check is pure: it takes a `RuleMatch` and returns the range of the secret, narrowed, or None where it is
none.
Rule 2: a doubt about a value with a name before it (`password: …`) is settled by the value's own make-up.
"""

import base64
import binascii
import hashlib
import math
import re
from collections import Counter
from functools import cache
from itertools import pairwise
from typing import TypeAlias

import msgspec

from gateway.secrets.engine import Pattern
from gateway.secrets.tables import read_table
from promt.patterns import compile_late

Range: TypeAlias = tuple[int, int]

PEM_CHARS = 16_384
"""Longer than any private key in PEM; what an unclosed block may hide is bounded by it."""
MIN_ENTROPY = 2.9
"""Bits a character: random letters and digits of 12 have 3.1 or more in 99 of 100 cases, words and counters less."""
MIN_ISSUED = 2.3
"""Bits a character: with less, a text in a key's form is a row of few letters."""
MIN_JAGGED = 0.2
"""Changes of kind (small, capital, digit) for a character: random text has 0.3 to 0.5, names of things in code 0 to
0.15."""
PATH_CHARS = 256
"""The most characters of a path that are read before a name."""
MIN_RUN = 10
"""The fewest letters and digits in a row of a random value; hyphens and dots cut names, versions and dates shorter."""


class RuleMatch(msgspec.Struct, frozen=True):
    """A rule's match: the cleaned text, its lower case of the same length, and places in both.

    `begin` is the match's beginning; `start` and `end` are those of its value.
    """

    text: str
    lowered: str
    begin: int
    start: int
    end: int

    @property
    def value(self) -> str:
        """Return the value as it is written."""
        return self.text[self.start : self.end]

    @property
    def lead(self) -> str:
        """Return the match before the value, in lower case: the name, the words between, the separator."""
        return self.lowered[self.begin : self.start]

    @property
    def is_quoted(self) -> bool:
        """Return whether the value stands between quotes."""
        return self.start > 0 and self.text[self.start - 1] in "\"'`" and self.text[self.end : self.end + 1] in "\"'`"


@cache
def _ordinary() -> frozenset[str]:
    """Return the words that follow `password:` in forms, messages and code."""
    return frozenset(read_table("words")["ordinary"].split())


_TECHNICAL = Pattern(
    r"^(?:sha-?[0-9]{1,3}|sha3-[0-9]+|md[45]|hs[0-9]+|rs[0-9]+|es[0-9]+|base[0-9]+|utf-?[0-9]+|aes-?[0-9]+.*"
    r"|argon2(?:id|i|d)?|pbkdf2|scrypt2?|oauth-?2?(?:\.[0-9])?"
    r"|http/?[0-9]?|x\.?509|[23]fa|mfa|rfc-?[0-9]+|ed25519|p-?256|1password[0-9]?|keepass(?:xc|[0-9])?|ipv[46]|h2o|s3"
    r"|ec2|k8s|i18n|win(?:dows)?[0-9]+)$"
)
_QUANTITY = Pattern(
    r"^[0-9][0-9.,:/x-]*(?:%|\+|-?(?:st|nd|rd|th|[dhmswyxk]|ms|am|pm|px|[kmg]i?b|hrs?|mins?|secs?|bits?|bytes?|chars?"
    r"|digits?|times|"
    r"(?:second|minute|hour|day|week|month|year|character|letter|word|user|account|step|factor"
    r"|percent)s?(?:-[a-z]+)?))?$"
)
_MOMENT = Pattern(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:t[0-9:.]+(?:z|[+-][0-9:]+)?)?$")
_REFERENCE = Pattern(
    r"^(?:https?://|[a-z_]{3,}=[a-z0-9_.-]*$|www\.|[~.]{0,2}/|[a-z]:\\|#[0-9]+$|[a-z]{2,10}-[0-9]+$"
    r"|v?[0-9]+(?:\.[0-9]+)+$|[a-z0-9_.+-]+@[a-z0-9_-]+\.[a-z]{2,}|[a-z0-9_-]+\.[a-z]{2,4}$"
    r"|[a-z_][a-z0-9_.]*[(\[]|(?:self|this|os|env|config|settings|process|args|options|request|user)\.)"
)
_PLACEHOLDER = Pattern(
    r"^(?:[x*.•_#?:-]+|\$[a-z0-9_{(].*|\$|%\(?[a-z0-9_]+[)%][sd]?|<[^>]*>?|[\[{][a-z \[\]{}<>_.$!:-]*|&?lt;.*|(?:your"
    r"|my|the|some|any|insert|enter|replace|put|add|use|dummy|fake|sample)[_ -].*"
    r"|(.*[_-])?(?:here|placeholder|changeme|example|redacted|goes)(?:[_-].*)?|(?:pass(?:word|wd)?|pwd|secret|token"
    r"|hunter))$"
)
_BLANK = Pattern(r"placeholder|redacted|changeme|your[_-]|_here|-here|x{5}|\*{3}|\.{3}|<|\$\{")
"""Words of documentation in a token's place; no random text holds one."""
_MADE_UP = Pattern(r"0{12}|a{25}|1234567890abcdef|0123456789abcdef|abcdef1234567890|abcdefghijklm|deadbeefdeadbeef")
"""Text that people type when they want something that looks random. In a vendor's own format even that may be a token:
better one too many."""
_HASH = Pattern(r"^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})$")
_UUID = Pattern(r"^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
NOT_ITSELF = Pattern(
    r"\b(?:reset|policy|policies|manager|field|length|hash(?:es|ed)?|generator|strength|rules?|requirements?|links?"
    r"|page|form|input|column"
    r"|table|parameter|param|variable|file|hint|expir[a-z]+|rotation|attempts?|count|id|ids|uid|pid|name|url|uri|path"
    r"|type|size|limit|uuid|commit"
    r"|checksum|digest|sha[0-9]*|md5|version|issue|ticket|ttl|index|prefix|format|regex|pattern|style|label|error"
    r"|port|status|row|line|digits?|public)\b"
)
_NOT_A_KEY = Pattern(
    r"(?:idempotency|request|correlation|trace|cache|partition|sort|primary|foreign|row|object|public|publishable"
    r"|site|map|dedup|sequence|cursor|page|csrf)[ _-]?(?:key|token|id)"
)
"""Names of things that may be shown."""
_JOINED_WORD = compile_late(r"(?:^|[-_.])[^\W\d_]+(?=[-_.]|$)")
JOINED_WORDS = 4
"""The fewest words with signs between them that are a phrase to log in with."""
MIN_MIXED = 0.1
"""The least jaggedness of an assigned key; less has a name with a number at its end, such as `APP_TOKEN_V2`."""


def entropy(text: str) -> float:
    """Return Shannon's entropy of a text's characters, in bits a character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def _kind(char: str) -> int:
    """Return 1 for a digit, 2 for a small letter, 3 for a capital, 0 for another character."""
    return 1 if char.isdigit() else 2 if char.islower() else 3 if char.isupper() else 0


def jaggedness(value: str) -> float:
    """Return the changes between small letters, capitals and digits, for each letter or digit.

    A capital that begins a word is one change, not two.
    """
    kinds = [_kind(c) for c in value]
    changes = sum(1 for a, b in pairwise(kinds) if a and b and a != b and (a, b) != (3, 2))
    return changes / max(1, sum(1 for kind in kinds if kind))


def _is_random(value: str) -> bool:
    has_digit = any(c.isdigit() for c in value)
    return has_digit and any(c.isalpha() for c in value) and entropy(value) >= MIN_ENTROPY


def is_jagged(value: str) -> bool:
    """Return whether a value is random and looks so: a run of letters and digits that change as chance changes them."""
    run = max(map(len, re.findall(r"[A-Za-z0-9]+", value)), default=0)
    return run >= MIN_RUN and _is_random(value) and jaggedness(value) >= MIN_JAGGED


def _is_something_else(value: str) -> bool:
    """Return whether a value in a password's place is a word, quantity, address, version or placeholder."""
    low = value.lower()
    return low in _ordinary() or any(p.occurs(low) for p in (_TECHNICAL, _QUANTITY, _MOMENT, _REFERENCE, _PLACEHOLDER))


def _is_fingerprint(value: str) -> bool:
    return _HASH.occurs(value.lower()) or _UUID.occurs(value.lower())


def _is_mixed(value: str) -> bool:
    """Return whether a value has a letter, and a digit or a sign that ends no sentence: words do not."""
    has_letter = any(c.isalpha() for c in value)
    has_sign = any(c in "@#$%^&*+=~" for c in value) or any(c in "!?" for c in value[:-1])
    return has_letter and (has_sign or any(c.isdigit() for c in value))


def _trim_punctuation(found: RuleMatch) -> Range:
    """Return the value's range without the punctuation around it; an exclamation mark may be the password's own."""
    end = found.end
    while end > found.start and found.text[end - 1] in ".,;:)]}\"'`、。":
        end -= 1
    start = found.start
    while start < end and found.text[start] in "\"'`(「":
        start += 1
    return start, end


def anything(found: RuleMatch) -> Range | None:
    """Return the whole range of the match: the rule's pattern is enough."""
    return found.start, found.end


def genuine(found: RuleMatch) -> Range | None:
    """Return the range of a token as vendors make them.

    Return None for what documentation writes in its place: `ghp_xxxx`, `sk_live_your_key_here`.
    """
    value = found.value
    is_mixed = any(c.isdigit() for c in value) or (value != value.lower() and value != value.upper())
    return (
        (found.start, found.end)
        if is_mixed and not _BLANK.occurs(value.lower()) and entropy(value) > MIN_ISSUED
        else None
    )


def issued_key(found: RuleMatch) -> Range | None:
    """Return the range of a key of capitals and digits after a vendor's own letters; None for any other."""
    is_blank = _BLANK.occurs(found.value.lower()) or entropy(found.value) < MIN_ISSUED
    return None if is_blank else (found.start, found.end)


_DOCUMENTED = frozenset(
    [
        "2cafc0970149a84f",
        "f2d6ca16515033e5",
        "c4341ce2cfcb5209",
        "0011cc25eb432071",
        "aa6547439583c3a2",
        "3543c50b0cb9cea8",
        "bc3ae723f57c6b9e",
        "82e74299544e0073",
        "0b5dd075ccdd03c4",
        "731fa294d036e54f",
        "7f75367e78812551",
        "cf4d418ed3de92d7",
        "73f71af093fdf154",
        "6c96130f130ab0d6",
        "ad71fb4165536675",
        "ac9265e56c79b234",
    ]
)
"""The beginnings of the SHA-256 of keys that Stripe, Google, Azure's emulator, GitHub, Telegram, the makers of JWT and
RFCs print as examples."""
_AWS_EXAMPLE = compile_late(r"(?:A[A-Z]{3}[A-Z0-9]{9}|[A-Za-z0-9/+]{30})EXAMPLE(?:KEY)?")


def is_documented(value: str) -> bool:
    """Return whether it is a key that its vendor's own documentation shows: it opens nothing."""
    bare = value.strip("\"'`")
    return (
        _AWS_EXAMPLE.fullmatch(bare) is not None
        or hashlib.sha256(bare.encode(errors="replace")).hexdigest()[:16] in _DOCUMENTED
    )


def random_token(found: RuleMatch) -> Range | None:
    """Return the range of letters and digits as chance makes them; None for any other value."""
    low = found.value.lower()
    is_made_up = _BLANK.occurs(low) or _MADE_UP.occurs(low)
    return (found.start, found.end) if _is_random(found.value) and not is_made_up else None


def pair_in_base64(found: RuleMatch) -> Range | None:
    """Return the range of `user:password` in base64, as HTTP and registries send it; None for other base64."""
    packed = found.value.rstrip("=")
    try:
        pair = base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    user, colon, password = pair.partition(":")
    is_pair = bool(colon) and pair.isprintable() and not _PLACEHOLDER.occurs(password.lower())
    return (found.start, found.end) if is_pair and (user or password) else None


def quoted_password(found: RuleMatch) -> Range | None:
    """Return the range of anything in quotes after `password is`; None for words that forms say there."""
    value = found.value.strip()
    if len(value) < 4 or found.value[0] in " ,;:)'" or NOT_ITSELF.occurs(found.lead) or _is_something_else(value):
        return None
    return found.start, found.end


def stated_password(found: RuleMatch) -> Range | None:
    """Return the range of a value that no dictionary has, after `password is` in any language; None for any other."""
    start, end = _trim_punctuation(found)
    value = found.text[start:end]
    if end - start < 4 or NOT_ITSELF.occurs(found.lead) or _is_something_else(value) or _is_fingerprint(value):
        return None
    return (start, end) if _is_mixed(value) or len(_JOINED_WORD.findall(value)) >= JOINED_WORDS else None


_ROOT = compile_late(r"[@\"'`(\[<]*(?:[~.]{0,2}|[A-Za-z]:)/")


def _names_file(found: RuleMatch) -> bool:
    """Return whether the name for a password ends a path, as in `/etc/passwd`: then no password follows."""
    above = found.text[max(0, found.begin - PATH_CHARS) : found.begin]
    return above.endswith("/") and _ROOT.match(above.split()[-1]) is not None


def bare_password(found: RuleMatch) -> Range | None:
    """Return the range as `stated_password` does, but of six characters at least: no `is` stands before it."""
    narrowed = None if _names_file(found) else stated_password(found)
    return narrowed if narrowed and narrowed[1] - narrowed[0] >= 6 else None


MOST_OF_NAME = 8
"""The most characters of a word with a digit that may name a thing; a question mark behind it ends its sentence."""
_JOINED = compile_late(r"[^\W\d_]{3,40}\d{1,8}[^\W\d_]{3,40}")
"""Two words with a number between them: no name of a thing is written so."""


def strange_password(found: RuleMatch) -> Range | None:
    """Return the range of a value that is mixed as passwords are; None for any other.

    It stands somewhere after a name for a password. It has three kinds of characters, or two mixed as by chance.
    """
    start, end = _trim_punctuation(found)
    value = found.text[start:end]
    if end - start < 6 or NOT_ITSELF.occurs(found.lead) or _is_something_else(value) or _is_fingerprint(value):
        return None
    if _names_file(found):
        return None
    value = value.removesuffix("?") if len(value) <= MOST_OF_NAME else value  # a question after "argon2?"
    kinds = {_kind(c) for c in value} | ({4} if any(c.isalpha() and ord(c) > 127 for c in value) else set[int]())
    if not kinds & {2, 3, 4} or ("/" in value and value == value.lower()):  # no letter; a path
        return None
    is_mixed = len(kinds - {4}) >= 3 or (len(kinds) == 2 and 1 in kinds and jaggedness(value) >= MIN_JAGGED)
    return (start, end) if is_mixed or _JOINED.fullmatch(value) is not None else None


_ADJECTIVE = Pattern(r"(?:ed|ing|[ai]ble|ful|ous|ive|less|ly|ent|ant|al|ic|est)$")


def worded_password(found: RuleMatch) -> Range | None:
    """Return the range of one plain word that ends the line: `password: swordfish`, `my password is swordfish`.

    Return None for a word of forms and for an adjective.
    """
    start, end = _trim_punctuation(found)
    value = found.text[start:end]
    if end - start < 5 or NOT_ITSELF.occurs(found.lead) or _is_something_else(value):
        return None
    return None if _ADJECTIVE.occurs(value) else (start, end)


def literal_value(found: RuleMatch) -> Range | None:
    """Return the range of a value that a command or a file of settings takes as it stands.

    Return None for a variable or a placeholder.
    """
    return (
        None
        if _PLACEHOLDER.occurs(found.value.lower()) or found.value.lower() in _ordinary()
        else (found.start, found.end)
    )


def element_password(found: RuleMatch) -> Range | None:
    """Return the range of the content of a document's element that is named for a password.

    Return None if the content is no password.
    """
    return (found.start, found.end) if _is_mixed(found.value) and literal_value(found) else None


def assigned_password(found: RuleMatch) -> Range | None:
    """Return the range of the value that code or a file of settings gives a password variable.

    It is a literal in quotes, or a value that is no expression; None for any other.
    """
    if found.is_quoted:
        return quoted_password(found)
    return None if found.text[found.end : found.end + 1] in set("([") else stated_password(found)


def assigned_key(found: RuleMatch) -> Range | None:
    """Return the range of a random value given to a key, token or secret.

    Return None for an identifier, a path or a placeholder.
    """
    start, end = _trim_punctuation(found)
    if parameter := re.search(r"&[A-Za-z_]+=", found.text[start:end]):  # the next one of an address
        end = start + parameter.start()
    value = found.text[start:end]
    if end - start < 12 or found.text[end : end + 1] in set("([") or NOT_ITSELF.occurs(found.lead.replace("_", " ")):
        return None
    if _NOT_A_KEY.occurs(found.lowered[max(0, found.begin - 16) : found.start]) or _MADE_UP.occurs(value.lower()):
        return None
    return (
        (start, end) if _is_random(value) and jaggedness(value) >= MIN_MIXED and not _is_something_else(value) else None
    )


def jagged_key(found: RuleMatch) -> Range | None:
    """Return the range as `assigned_key` does, for a place where a key is less certain to follow.

    The value must look like chance itself, and be no UUID.
    """
    narrowed = assigned_key(found)
    if narrowed is None:
        return None
    value = found.text[narrowed[0] : narrowed[1]]
    return narrowed if is_jagged(value) and not _UUID.occurs(value.lower()) else None


def url_password(found: RuleMatch) -> Range | None:
    """Return the range of the password in `scheme://user:password@host`, unless a placeholder stands there."""
    return None if _PLACEHOLDER.occurs(found.value.lower()) else (found.start, found.end)


def pem_block(found: RuleMatch) -> Range | None:
    """Return the range from the BEGIN line to the END line, or as far as the key's characters go when it was cut."""
    limit = found.end + PEM_CHARS
    closing = found.text.find("---- END" if "---- BEGIN" in found.value else "-----END", found.end, limit)
    if closing >= 0:
        last = found.text.find("----", closing + 8, closing + 80)
        return found.start, (last + 4 + found.text.startswith("-", last + 4) if last >= 0 else closing + 8)
    body = re.compile(r"[A-Za-z0-9+/=\s\\]*").match(found.text, found.end, limit)
    return found.start, found.end if body is None else found.end + len(body[0].rstrip())


def putty_block(found: RuleMatch) -> Range | None:
    """Return the range of the whole file of a PuTTY key, to the line of its checksum."""
    closing = found.lowered.find("private-mac:", found.end, found.end + PEM_CHARS)
    return found.start, found.end if closing < 0 else min(len(found.text), closing + 80)
