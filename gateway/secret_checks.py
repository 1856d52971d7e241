"""What tells a credential from a word, a number or a placeholder that stands in the same place.

Rule 1: each check is pure: it sees a `Found` and gives the range that is the secret, narrowed, or None.
Rule 2: a doubt about a value with a name before it (`password: …`) is settled by the value's own make-up.
"""

import math
import re
from collections import Counter
from typing import TypeAlias

import msgspec

Range: TypeAlias = tuple[int, int]

PEM_CHARS = 16_384
"""Longer than any private key in PEM; what an unclosed block may hide is bounded by it."""
CARD_CONTEXT_CHARS = 48
"""A card's number is named in the same breath, or it is an order number that passes Luhn by chance (one in ten)."""
MIN_ENTROPY = 2.9
"""Bits a character: random letters and digits of 12 have 3.1 or more in 99 of 100 cases, words and counters less."""


class Found(msgspec.Struct, frozen=True):
    """A rule's match: the cleaned text, its lower case (same length), where the match begins and where its value stands."""

    text: str
    lowered: str
    begin: int
    start: int
    end: int

    @property
    def value(self) -> str:
        """The value as written."""
        return self.text[self.start : self.end]

    @property
    def lead(self) -> str:
        """What stands in the match before the value, in lower case: the name, the words between, the separator."""
        return self.lowered[self.begin : self.start]

    @property
    def quoted(self) -> bool:
        """The value stands between quotes."""
        return self.start > 0 and self.text[self.start - 1] in "\"'`" and self.text[self.end : self.end + 1] in "\"'`"


_FORM_WORDS = """
    required optional wrong incorrect invalid valid expired weak strong safe secure secret hidden unknown changed reset missing
    empty none null nil true false string str text char varchar bytes int integer number bool boolean object any undefined void
    password passwd passcode passphrase pass pwd token key secrets username user login email name value field input type yes no
    forgotten lost stolen leaked exposed compromised encrypted hashed salted stored saved shared public private new old current
    default same different correct protected disabled enabled necessary needed mandatory here there below above attached later
    never always everything nothing something todo tbd n/a redacted masked removed omitted placeholder changeme example sample
    test dummy foobar please what when where which this that these those with from your their mine ours about after before
    must should could would will shall cannot minimum maximum length characters short long easy hard simple complex unique
    обязателен обязательно неверныи неправильныи забыл забыла забыт нужен нет есть слабыи надежныи изменен сброшен истек
    erforderlich falsch ungultig abgelaufen vergessen sicher unsicher notig optional geandert
    requerida incorrecta obligatoria olvidada segura caducada valida invalida
    obligatoire incorrect oublie expire requis securise invalide
"""
_ORDINARY = frozenset(_FORM_WORDS.split())
"""Words that follow `password:` in forms, messages and code."""

_TECHNICAL = re.compile(
    r"^(?:sha-?\d{1,3}|sha3-\d+|md[45]|hs\d+|rs\d+|es\d+|base\d+|utf-?\d+|aes-?\d+.*|argon2(?:id|i|d)?|pbkdf2|scrypt2?|oauth-?2?(?:\.\d)?"
    r"|http/?\d?|x\.?509|[23]fa|mfa|rfc-?\d+|ed25519|p-?256|1password\d?|keepass(?:xc|\d)?|ipv[46]|h2o|s3|ec2|k8s|i18n|win(?:dows)?\d+)$"
)
_QUANTITY = re.compile(
    r"^\d[\d.,:/x-]*(?:%|\+|-?(?:st|nd|rd|th|[dhmswyxk]|ms|am|pm|px|[kmg]i?b|hrs?|mins?|secs?|bits?|bytes?|chars?|digits?|times|"
    r"(?:second|minute|hour|day|week|month|year|character|letter|word|user|account|step|factor|percent)s?(?:-[a-z]+)?))?$"
)
_REFERENCE = re.compile(
    r"^(?:https?://|[a-z_]+=|www\.|[~.]{0,2}/|[a-z]:\\|#\d+$|[a-z]{2,10}-\d+$|v?\d+(?:\.\d+)+$|[\w.+-]+@[\w-]+\.[a-z]{2,}|[\w-]+\.[a-z]{2,4}$"
    r"|[a-z_][\w.]*[(\[]|(?:self|this|os|env|config|settings|process|args|options|request|user)\.)"
)
_PLACEHOLDER = re.compile(
    r"^(?:[x*.•_#?:-]+|\$[\w{(].*|\$|%\(?\w+.*|[<\[{][a-z \[\]{}<>_.$!:-]*$|&?lt;.*|(?:your|my|the|some|any|insert|enter|replace|put|add|use|dummy|fake|sample)[_ -].*"
    r"|(.*[_-])?(?:here|placeholder|changeme|example|redacted|goes)(?:[_-].*)?|(?:pass(?:word|wd)?|pwd|secret|token|hunter))$"
)
_HASH = re.compile(r"^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})$")
_UUID = re.compile(r"^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_NOT_ITSELF = re.compile(
    r"\b(?:reset|policy|policies|manager|field|length|hash(?:es|ed)?|generator|strength|rules?|requirements?|links?|page|form|input|column"
    r"|table|parameter|param|variable|file|hint|expir\w+|rotation|attempts?|count|id|ids|name|url|uri|path|type|size|limit|uuid|commit"
    r"|checksum|digest|sha\d*|version|issue|ticket|ttl|index|prefix|format|regex|pattern|style|label|error)\b"
)
_CARD_WORDS = re.compile(
    r"card|visa|master|amex|maestro|debit|credit|cvv|cvc|карт|karte|kreditk|tarjeta|carte|cartao|\bpan\b|卡|カード|expir|exp\b"
)
_CARD_GROUPS = ([4, 4, 4, 4], [4, 6, 5], [4, 4, 4, 4, 3])
_IBAN_LENGTHS = {
    country: int(length)
    for country, length in re.findall(
        r"([A-Z]{2})(\d{2})",
        "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BR29BY28CH21CR22CY28CZ24DE22DK18DO28EE20EG29ES24FI18FO18FR27GB22GE22GI23GL18GR27"
        "GT28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21MC27MD24ME22MK19MR27MT31MU30NL18NO15PK24PL28PS29"
        "PT25QA29RO24RS22RU33SA24SC31SE24SI19SK24SM27ST25SV28TL23TN24TR26UA29VA22VG24XK20",
    )
}


def entropy(text: str) -> float:
    """Shannon's bits a character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def _is_random(value: str) -> bool:
    has_digit = any(c.isdigit() for c in value)
    return has_digit and any(c.isalpha() for c in value) and entropy(value) >= MIN_ENTROPY


def _is_something_else(value: str) -> bool:
    """A word, a quantity, an address, a version, a placeholder: none of them a password though they stand like one."""
    low = value.lower()
    return low in _ORDINARY or any(p.match(low) for p in (_TECHNICAL, _QUANTITY, _REFERENCE, _PLACEHOLDER))


def _is_mixed(value: str) -> bool:
    """Made of two kinds of characters as words are not: a letter with a digit, or with a sign in its middle."""
    has_letter = any(c.isalpha() for c in value)
    return has_letter and (any(c.isdigit() for c in value) or any(c in "!@#$%^&*+=~?" for c in value[:-1]))


def _trimmed(found: Found) -> Range:
    """Without the punctuation of the sentence around; an exclamation mark may be the password's own."""
    end = found.end
    while end > found.start and found.text[end - 1] in ".,;:)]}\"'`":
        end -= 1
    start = found.start
    while start < end and found.text[start] in "\"'`(":
        start += 1
    return start, end


def random_token(found: Found) -> Range | None:
    """Letters and digits as chance makes them."""
    return (found.start, found.end) if _is_random(found.value) else None


def digits_inside(found: Found) -> Range | None:
    """Not a hyphenated phrase: at least one digit."""
    return (found.start, found.end) if any(c.isdigit() for c in found.value) else None


def quoted_password(found: Found) -> Range | None:
    """Anything in quotes after `password is`, but a form's own words."""
    value = found.value.strip()
    if len(value) < 4 or found.value[0] in " ,;:)%'" or _NOT_ITSELF.search(found.lead) or _is_something_else(value):
        return None
    return found.start, found.end


def stated_password(found: Found) -> Range | None:
    """A value that no dictionary has, after `password is`, `пароль:`, `mot de passe est`."""
    start, end = _trimmed(found)
    value = found.text[start:end]
    if end - start < 4 or _NOT_ITSELF.search(found.lead) or _is_something_else(value):
        return None
    if _HASH.match(value.lower()) or _UUID.match(value.lower()):
        return None
    return (start, end) if _is_mixed(value) else None


def bare_password(found: Found) -> Range | None:
    """As `stated_password`, but nothing says `is`, so it must be longer."""
    narrowed = stated_password(found)
    return narrowed if narrowed and narrowed[1] - narrowed[0] >= 6 else None


_ADJECTIVE = re.compile(r"(?:ed|ing|[ai]ble|ful|ous|ive|less|ly|ent|ant|al|ic|est|er|en)$")


def worded_password(found: Found) -> Range | None:
    """One plain word that ends the line: `password: swordfish`, `my password is swordfish`; no form's word, no adjective."""
    start, end = _trimmed(found)
    value = found.text[start:end]
    if end - start < 5 or _NOT_ITSELF.search(found.lead) or _is_something_else(value):
        return None
    return None if _ADJECTIVE.search(value) else (start, end)


def assigned_password(found: Found) -> Range | None:
    """What code or a file of settings gives a password variable: a literal in quotes, or a value that is no expression."""
    if found.quoted:
        return quoted_password(found)
    return None if found.text[found.end : found.end + 1] in set("([") else stated_password(found)


def assigned_key(found: Found) -> Range | None:
    """What is given to a key, token or secret: random, and no identifier, path or placeholder."""
    start, end = _trimmed(found)
    value = found.text[start:end]
    if end - start < 12 or found.text[end : end + 1] in set("([") or _NOT_ITSELF.search(found.lead.replace("_", " ")):
        return None
    return (start, end) if _is_random(value) and not _is_something_else(value) else None


def url_password(found: Found) -> Range | None:
    """The password in `scheme://user:password@host`, unless documentation left a word in its place."""
    return None if _PLACEHOLDER.match(found.value.lower()) else (found.start, found.end)


def pem_block(found: Found) -> Range | None:
    """From the BEGIN line to the END line, or as far as the key's characters go when it was cut."""
    limit = found.end + PEM_CHARS
    closing = found.text.find("-----END", found.end, limit)
    if closing >= 0:
        last = found.text.find("-----", closing + 8, closing + 80)
        return found.start, (last + 5 if last >= 0 else closing + 8)
    body = re.compile(r"[A-Za-z0-9+/=\s\\]*").match(found.text, found.end, limit)
    return found.start, found.end if body is None else found.end + len(body[0].rstrip())


def _passes_luhn(digits: str) -> bool:
    doubled = (sum(divmod(int(d) * 2, 10)) if i % 2 else int(d) for i, d in enumerate(reversed(digits)))
    return sum(doubled) % 10 == 0


def card_number(found: Found) -> Range | None:
    """13 to 19 digits of a card network that pass Luhn, written in a card's groups or near a word for a card."""
    near = found.lowered[max(0, found.start - CARD_CONTEXT_CHARS) : found.end + CARD_CONTEXT_CHARS]
    groups = re.split(r"[ -]", found.value)
    for count in range(len(groups), 0, -1):  # what follows the number may look like one more group: the year, the code
        digits = "".join(groups[:count])
        if not 13 <= len(digits) <= 19 or digits[0] not in "23456" or len(set(digits)) == 1 or not _passes_luhn(digits):
            continue
        lengths = [len(group) for group in groups[:count]]
        if lengths in _CARD_GROUPS or _CARD_WORDS.search(near):
            return found.start, found.start + len(digits) + count - 1
    return None


def iban(found: Found) -> Range | None:
    """As many characters as the country's accounts have, with the right remainder modulo 97."""
    length = _IBAN_LENGTHS.get(found.value[:2])
    compact = [(c, i) for i, c in enumerate(found.value) if c not in " -"]
    if length is None or len(compact) < length:
        return None
    account = "".join(c for c, _ in compact[:length])
    remainder = int("".join(str(int(c, 36)) for c in account[4:] + account[:4])) % 97
    return (found.start, found.start + compact[length - 1][1] + 1) if remainder == 1 else None


def social_security_number(found: Found) -> Range | None:
    """A number that can have been given out."""
    area, group, serial = re.split(r"[ -]", found.value)
    given = area not in {"000", "666"} and area < "900" and group != "00" and serial != "0000"
    return (found.start, found.end) if given else None


def seed_words(found: Found) -> Range | None:
    """12 to 24 words that are no sentence: a list of words seldom repeats one and has no function words."""
    words = found.value.split()
    spoken = {"the", "and", "you", "that", "this", "for", "with", "your", "are", "not", "from", "have", "when", "which"}
    return (found.start, found.end) if len(set(words)) >= len(words) - 1 and not spoken & set(words) else None
