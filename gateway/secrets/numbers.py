"""Tells cards, accounts, codes and lists of words that open something from numbers and words of every day.

Rule 1: check digits decide where there are any; where there are none, the words around the number.
"""

import hashlib
import re
from functools import cache, partial

from gateway.secrets.checks import MIN_ENTROPY, NOT_ITSELF, Range, RuleMatch, entropy, is_jagged
from gateway.secrets.engine import Pattern
from gateway.secrets.ids import around, is_american, is_named_otherwise, stands_alone
from gateway.secrets.tables import any_word
from promt.language.reader import tables

_CARD_WORDS = Pattern(partial(any_word, "card"))
_CARD_GROUPS = ([4, 4, 4, 4], [4, 6, 5], [4, 6, 4], [4, 4, 4, 4, 3])
_CARD_FORMS = Pattern(
    r"^(?:4[0-9]{15}|(?:5[1-5]|2[3-6])[0-9]{14}|22(?:0[0-4]|2[1-9]|[3-9][0-9])[0-9]{12}|27(?:[01][0-9]|20)[0-9]{12}"
    r"|3[47][0-9]{13}"
    r"|6(?:011|4[4-9][0-9]|5[0-9]{2}|2[0-9]{2}|0[0-9]{2}|[78]1[0-9])[0-9]{12}|35(?:2[89]|[3-8][0-9])[0-9]{12})$"
)
"""Networks with the lengths of nearly all their cards: Visa, Mastercard, Mir, American Express, Discover, UnionPay,
RuPay, JCB. Of numbers of sixteen digits drawn by chance one in thirty begins so and passes Luhn; what else a number
may be is named beside it."""
_IBAN_LENGTHS = {
    country: int(length)
    for country, length in re.findall(
        r"([A-Z]{2})(\d{2})",
        "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BR29BY28CH21CR22CY28CZ24DE22DK18DO28EE20EG29ES24FI18FO18FR27GB22GE22GI23"
        "GL18GR27"
        "GT28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21MC27MD24ME22MK19MR27MT31MU30NL18NO15PK24"
        "PL28PS29"
        "PT25QA29RO24RS22RU33SA24SC31SE24SI19SK24SM27ST25SV28TL23TN24TR26UA29VA22VG24XK20",
    )
}
_NOT_A_LOCK = Pattern(partial(any_word, "not_a_lock"))
"""Codes and pins that open nothing."""


_WALLET_WORDS = Pattern(partial(any_word, "wallet"))


def base58_checked(found: RuleMatch) -> Range | None:
    """Return the range of base58 that is a key; None for any other.

    Its last four bytes are the checksum of the others, or it is mixed as chance mixes it.
    """
    number = 0
    for c in found.value:
        number = number * 58 + "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".index(c)
    raw = number.to_bytes((number.bit_length() + 7) // 8, "big")
    has_checksum = hashlib.sha256(hashlib.sha256(raw[:-4]).digest()).digest()[:4] == raw[-4:]
    return (found.start, found.end) if has_checksum or is_jagged(found.value) else None


def named_wallet(found: RuleMatch) -> Range | None:
    """Return the range of 64 hex digits near a word for a key: without one they are a transaction as often as a key."""
    near = found.lowered[max(0, found.start - 80) : found.end + 60]
    return (found.start, found.end) if _WALLET_WORDS.occurs(near) else None


def pin(found: RuleMatch) -> Range | None:
    """Return the range of digits that are the pin itself; None for those about it, such as its length."""
    is_other = NOT_ITSELF.occurs(found.lead) or _NOT_A_LOCK.occurs(
        found.lowered[max(0, found.begin - 12) : found.start]
    )
    return None if is_other else (found.start, found.end)


_CODE_WORDS = Pattern(partial(any_word, "sent_code"))


def one_time_code(found: RuleMatch) -> Range | None:
    """Return the range of digits near a word for a code that is sent to a person.

    None is returned without one: `code 404400` alone is anything's number.
    """
    near = found.lowered[max(0, found.begin - 40) : found.end + 60]
    return pin(found) if _CODE_WORDS.occurs(near) else None


def base32_seed(found: RuleMatch) -> Range | None:
    """Return the range of base32 as an authenticator shows it: of one case, and mixed as chance mixes it."""
    value = found.value.replace(" ", "").replace("-", "")
    has_one_case = value in (value.upper(), value.lower())
    is_random = len(value) >= 16 and has_one_case and any(c.isdigit() for c in value) and entropy(value) >= MIN_ENTROPY
    return (found.start, found.end) if is_random else None


def backup_codes(found: RuleMatch) -> Range | None:
    """Return the range of a list of codes with digits and letters, or of digits alone; None for a list of words."""
    codes = re.findall(r"[a-z0-9]{4,6}[- ]?[a-z0-9]{4,6}", found.value.lower())
    with_digits = sum(1 for code in codes if any(c.isdigit() for c in code))
    return (found.start, found.end) if len(codes) >= 3 and with_digits >= len(codes) * 0.7 else None


def _passes_luhn(digits: str) -> bool:
    doubled = (sum(divmod(int(d) * 2, 10)) if i % 2 else int(d) for i, d in enumerate(reversed(digits)))
    return sum(doubled) % 10 == 0


def card_number(found: RuleMatch) -> Range | None:
    """Return the range of 13 to 19 digits that pass Luhn; None for others.

    They are as a network gives them out, stand in a card's groups, or near a word for a card.
    """
    groups = re.split(r"[ -]", found.value)
    for count in range(len(groups), 0, -1):  # what follows the number may look like one more group: the year, the code
        digits = "".join(groups[:count])
        if not 13 <= len(digits) <= 19 or digits[0] not in "23456" or len(set(digits)) == 1 or not _passes_luhn(digits):
            continue
        end = found.start + len(digits) + count - 1
        is_grouped = [len(group) for group in groups[:count]] in _CARD_GROUPS
        is_bare = (
            count == 1 and _CARD_FORMS.occurs(digits) and stands_alone(found, end) and not is_named_otherwise(found)
        )
        if is_grouped or is_bare or _CARD_WORDS.occurs(around(found)):
            return found.start, end
    return None


def iban(found: RuleMatch) -> Range | None:
    """Return the range of an IBAN: as many characters as the country's have, with the right remainder modulo 97."""
    length = _IBAN_LENGTHS.get(found.value[:2])
    compact = [(c, i) for i, c in enumerate(found.value) if c not in " -"]
    if length is None or len(compact) < length:
        return None
    account = "".join(c for c, _ in compact[:length])
    remainder = int("".join(str(int(c, 36)) for c in account[4:] + account[:4])) % 97
    return (found.start, found.start + compact[length - 1][1] + 1) if remainder == 1 else None


def social_security_number(found: RuleMatch) -> Range | None:
    """Return the range of a number that can have been given out; None for any other."""
    return (found.start, found.end) if is_american(re.sub(r"[ -]", "", found.value)) else None


_FUNCTION_WORDS = """
    the and you that this for with your are not from have when which was but they his her into them then out our
"""


MIN_WORDS = 12
"""The shortest list that a wallet is made of."""


@cache
def _spoken() -> frozenset[str]:
    """Return the function words that no list of a wallet has; some English ones are words of such a list."""
    words = {code: frozenset(table["words"].split()) for code, table in tables("stop_words").items()}
    english = words.pop("en")
    return frozenset(_FUNCTION_WORDS.split()).union(*words.values()) - (english - frozenset(_FUNCTION_WORDS.split()))


def seed_words(found: RuleMatch) -> Range | None:
    """Return the range of 12 or more words in a row that are no sentence; None where there is none.

    A list of a wallet seldom repeats a word and has no function words.
    """
    run: list[re.Match[str]] = []
    for word in re.finditer(r"[^\W\d_]+", found.lowered[found.start : found.end]):
        if word[0] not in _spoken():
            run.append(word)
        elif len(run) >= MIN_WORDS:
            break
        else:
            run.clear()
    if len(run) < MIN_WORDS or len({word[0] for word in run}) < len(run) * 0.6:
        return None
    return found.start + run[0].start(), found.start + run[-1].end()
