"""The numbers by which a state knows a person: which digits can have been given out, and how they are written.

Rule 1: check digits decide. One that passes by chance more often than once in fifty needs its usual groups or its name
beside it.
Rule 2: a number that is named as another thing, or stands inside one (an address, an amount, a fraction), is no id.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial

import msgspec

from gateway.secrets.checks import Range, RuleMatch
from gateway.secrets.engine import Pattern
from gateway.secrets.tables import any_word
from promt.patterns import compile_late

NAMED_CHARS = 48
"""The most characters between a number and its name."""


def _build_pattern(name: str) -> Pattern:
    """Return the pattern of words that stand in `words.toml`."""
    return Pattern(partial(any_word, name))


OTHER_NUMBERS = _build_pattern("other_number")
"""Names of what is counted, sent, called and stored: their numbers pass a check digit by chance."""


def _sum(digits: str, weights: Sequence[int]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


def _is_day(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _is_german(d: str) -> bool:
    """Return whether the digits are a German tax id.

    Of the first ten digits one stands two or three times, the others once at most. The last is ISO 7064's check digit.
    """
    counts = sorted(Counter(d[:10]).values())
    product = 10
    for digit in d[:10]:
        product = 2 * ((int(digit) + product) % 10 or 10) % 11
    return d[0] != "0" and counts[-1] in {2, 3} and counts[-2] == 1 and (11 - product) % 10 == int(d[10])


def _is_french(d: str) -> bool:
    """Return whether the characters are a French number of social security.

    They state sex, year, month, place and order of birth, and the remainder to 97; Corsica's departments have a letter.
    """
    body = d[:13].replace("2A", "19").replace("2B", "18") if d[5:7] in {"2A", "2B"} else d[:13]
    if not body.isdecimal() or not d[13:].isdecimal():
        return False
    month = int(d[3:5])
    return d[0] in "123478" and (1 <= month <= 12 or 20 <= month <= 42) and 97 - int(body) % 97 == int(d[13:])


def _is_polish(d: str) -> bool:
    century = {0: 1900, 1: 2000, 2: 2100, 3: 2200, 4: 1800}[int(d[2]) // 2]
    is_born = _is_day(century + int(d[:2]), int(d[2:4]) % 20, int(d[4:6]))
    return is_born and -_sum(d, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10 == int(d[10])


def _is_snils(d: str) -> bool:
    """Return whether the digits are a Russian number of social insurance; the first ones have no check digits."""
    return d[:9] > "001001998" and _sum(d, range(9, 0, -1)) % 101 % 100 == int(d[9:])


def _is_inn(d: str) -> bool:
    """Return whether the digits are a Russian tax number: of a company with ten, of a person with twelve digits."""
    long = (3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8)
    if len(d) == 10:
        return _sum(d, long[2:]) % 11 % 10 == int(d[9])
    return _sum(d, long[1:]) % 11 % 10 == int(d[10]) and _sum(d, long) % 11 % 10 == int(d[11])


def _is_brazilian(d: str) -> bool:
    first, second = _sum(d, range(10, 1, -1)) * 10 % 11 % 10, _sum(d, range(11, 1, -1)) * 10 % 11 % 10
    return len(set(d)) > 1 and (first, second) == (int(d[9]), int(d[10]))


def _is_chinese(d: str) -> bool:
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    is_born = "1850" < d[6:10] < "2100" and _is_day(int(d[6:10]), int(d[10:12]), int(d[12:14]))
    return "11" <= d[:2] <= "82" and is_born and "10X98765432"[_sum(d, weights) % 11] == d[17].upper()


# Verhoeff's tables: the product in the dihedral group of order ten, and the digit by its place and value.
_DIHEDRAL = (
    "0123456789",
    "1234067895",
    "2340178956",
    "3401289567",
    "4012395678",
    "5987604321",
    "6598710432",
    "7659821043",
    "8765932104",
    "9876543210",
)
_SHUFFLES = (
    "0123456789",
    "1576283094",
    "5803796142",
    "8916043527",
    "9453126870",
    "4286573901",
    "2793806415",
    "7046913258",
)


def _is_indian(d: str) -> bool:
    """Return whether the digits are an Aadhaar number: Verhoeff's check, and a first digit of two or more."""
    check = 0
    for place, digit in enumerate(reversed(d)):
        check = int(_DIHEDRAL[check][int(_SHUFFLES[place % 8][int(digit)])])
    return d[0] in "23456789" and check == 0 and len(set(d)) > 2


def _is_japanese(d: str) -> bool:
    rest = _sum(d, (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return len(set(d)) > 2 and (0 if rest <= 1 else 11 - rest) == int(d[11])


def _is_turkish(d: str) -> bool:
    tenth = (7 * sum(map(int, d[0:9:2])) - sum(map(int, d[1:8:2]))) % 10
    return d[0] != "0" and tenth == int(d[9]) and sum(map(int, d[:10])) % 10 == int(d[10])


def is_american(d: str) -> bool:
    """Return whether the digits may be a social security number: there is no check digit, but some are never given."""
    return d[:3] not in {"000", "666"} and d[0] != "9" and d[3:5] != "00" and d[5:] != "0000"


class _Id(msgspec.Struct, frozen=True):
    """A country's number: how many digits it has, how they are grouped, what they fulfil (`is_given`), its names."""

    size: int
    groups: Pattern
    is_given: Callable[[str], bool]
    names: Pattern
    needs: str = ""
    """The witness that the digits need beside them: `groups`, or its `name`."""


_SPACED_4 = Pattern(r"^[0-9]{4}([ -])[0-9]{4}[ -][0-9]{4}$")
_IDS = (
    _Id(11, Pattern(r"^[0-9]{2} [0-9]{3} [0-9]{3} [0-9]{3}$"), _is_german, _build_pattern("of_german")),
    _Id(11, Pattern(r"^$"), _is_polish, _build_pattern("of_polish")),
    _Id(11, Pattern(r"^[0-9]{3}-[0-9]{3}-[0-9]{3}[ -][0-9]{2}$"), _is_snils, _build_pattern("of_snils")),
    _Id(11, Pattern(r"^[0-9]{3}\.[0-9]{3}\.[0-9]{3}[-/.][0-9]{2}$"), _is_brazilian, _build_pattern("of_brazilian")),
    _Id(12, Pattern(r"^$"), _is_inn, _build_pattern("of_inn")),
    _Id(10, Pattern(r"^$"), _is_inn, _build_pattern("of_inn"), "name"),
    _Id(11, Pattern(r"^$"), _is_turkish, _build_pattern("of_turkish"), "name"),
    _Id(12, _SPACED_4, _is_indian, _build_pattern("of_indian"), "groups"),
    _Id(12, _SPACED_4, _is_japanese, _build_pattern("of_japanese"), "groups"),
    _Id(9, Pattern(r"^[0-9]{3}-[0-9]{2}-[0-9]{4}$"), is_american, _build_pattern("of_american"), "name"),
)
_PHONE = Pattern("^(?:[78]9[0-9]{9}|1[2-9][0-9]{9})$")
"""A mobile phone of Russia, any phone of North America."""
_ANY_PERSON = _build_pattern("person")
"""Names that any such number may have."""


def stands_alone(found: RuleMatch, end: int) -> bool:
    """Return whether the number is a word of the text, not a part of an address, path, fraction or longer name."""
    before, after = found.text[max(0, found.start - 2) : found.start], found.text[end : end + 2]
    if before and (
        before[-1] in "/=#_@+&%.~\\$€£" or (before[-1] in ",-:" and before[:1].isalnum() and len(before) == 2)
    ):
        return before[-1] == ":" and before[:1].isalpha()
    return not after or not (after[0] in "/_@=&%\\" or (after[0] in ".,-:" and after[1:].isalnum()))


def around(found: RuleMatch) -> str:
    """Return the text near the number, in lower case."""
    return (
        found.lowered[max(0, found.begin - NAMED_CHARS) : found.start]
        + " … "
        + found.lowered[found.end : found.end + 24]
    )


def is_named_otherwise(found: RuleMatch) -> bool:
    """Return whether the words before the number, on its line, give it to another thing."""
    near = found.lowered[max(0, found.begin - NAMED_CHARS) : found.start]
    line = near[near.rfind("\n") + 1 :]
    return OTHER_NUMBERS.occurs(line)


def national_number(found: RuleMatch) -> Range | None:
    """Return the range of digits that are the number of one of the countries in `_IDS`; None for others."""
    digits = re.sub(r"[^0-9]", "", found.value)
    rows = [row for row in _IDS if row.size == len(digits) and row.is_given(digits)]
    if not rows:
        return None
    near = around(found)
    around_it = found.text[max(0, found.start - 2) : found.start], found.text[found.end : found.end + 2]
    is_part = " " in found.value and any(re.fullmatch(r"\d | \d", side) for side in around_it)
    is_phone = found.value.isdecimal() and _PHONE.occurs(digits)
    is_plain = not (is_part or is_phone) and stands_alone(found, found.end) and not is_named_otherwise(found)
    for row in rows:
        is_named = row.names.occurs(near)
        is_grouped = row.groups.occurs(found.value)
        if not (is_grouped or found.value.isdecimal() or is_named):
            continue  # grouped as no number of this country is
        has_witness = is_named or (row.needs != "name" and (is_grouped or not row.needs or _ANY_PERSON.occurs(near)))
        if has_witness and (is_named or is_plain):
            return found.start, found.end
    return None


def french_number(found: RuleMatch) -> Range | None:
    """Return the range of a French number such as `1 85 05 78 006 084 91`, with or without blanks; None for others."""
    compact = re.sub(r"[ .-]", "", found.value).upper()
    return _unless_other(found) if len(compact) == 15 and _is_french(compact) else None


def chinese_number(found: RuleMatch) -> Range | None:
    """Return the range of a Chinese number: eighteen characters with a place, a day and a check digit."""
    return _unless_other(found) if _is_chinese(found.value) else None


def spanish_number(found: RuleMatch) -> Range | None:
    """Return the range of a Spanish number: eight digits, or a letter and seven, and the letter that they give."""
    compact = re.sub(r"[ .-]", "", found.value).upper()
    number = compact[:-1].translate(str.maketrans("XYZ", "012"))
    if not number.isdecimal() or "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] != compact[-1]:
        return None
    if (
        number == compact[:-1]
        and _is_day(int(number[:4]) or 1, int(number[4:6]), int(number[6:]))
        and "18" < number < "21"
    ):
        return None  # a date with a letter behind it
    return _unless_other(found)


MIN_FIGURES = 3
"""The fewest digits of an Italian code whose other digits are written as letters."""
_ODD = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
"""The value of a letter or digit at an odd place of an Italian code, as its law lists them; at an even place it is the
letter's or digit's own number."""
_SMALL_WORD = compile_late(r"^[a-z]+ +")
MIN_NAMED = 6
MAX_NAMED = 12
"""The fewest and the most digits of the number of a passport or a licence."""


def named_id(found: RuleMatch) -> Range | None:
    """Return the range of what stands behind the name of a paper, where it has a paper's digits; None for a date."""
    value = _SMALL_WORD.sub("", found.value)  # a word of the sentence, not the letters of a series
    digits = sum(c.isdigit() for c in value)
    is_date = re.fullmatch(r"(?:19|20)[0-9]{2}.*|[0-9]{1,2}[ -][0-9]{1,2}[ -](?:19|20)?[0-9]{2}", value.strip())
    return None if is_date or not MIN_NAMED <= digits <= MAX_NAMED else (found.end - len(value), found.end)


def italian_code(found: RuleMatch) -> Range | None:
    """Return the range of an Italian code of sixteen characters: name, day and place of birth, and a check letter.

    A digit may be written as a letter.
    """
    code = found.value.upper().replace(" ", "")
    if sum(c.isdigit() for c in code) < MIN_FIGURES:  # a word of sixteen letters
        return None
    places = [ord(c) - (65 if c.isalpha() else 48) for c in code[:15]]
    total = sum(_ODD[place] if n % 2 == 0 else place for n, place in enumerate(places))
    return (found.start, found.end) if chr(65 + total % 26) == code[15] else None


_NINO_WORDS = Pattern(r"national insurance|\bni(?:no)?\b|\bn\.i\.|insurance (?:number|no)")


def british_number(found: RuleMatch) -> Range | None:
    """Return the range of a British national insurance number, which has no check digit.

    Its form, pairs of letters that were never given out, and a name for it nearby decide.
    """
    pair = found.value[:2].upper()
    is_given_out = (
        pair[0] not in "DFIQUV" and pair[1] not in "DFIOQUV" and pair not in {"BG", "GB", "KN", "NK", "NT", "TN", "ZZ"}
    )
    return (found.start, found.end) if is_given_out and _NINO_WORDS.occurs(around(found)) else None


def _unless_other(found: RuleMatch) -> Range | None:
    """Return the range of the match, or None where the text gives the number to another thing than a person."""
    is_plain = stands_alone(found, found.end) and not is_named_otherwise(found)
    return (found.start, found.end) if is_plain or _ANY_PERSON.occurs(around(found)) else None
