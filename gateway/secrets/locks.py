"""Tells a short number or token that opens something from one that counts, dates, prices or names something.

Rule 1: the words of a sentence decide, not its wording: a word for a code, or for what is locked, and a number that
stands as a value. The words are `[secrets]` of the languages.
Rule 2: a number that may be a year, an amount, a price, a time, a house or a telephone is no code.
"""

from functools import cache, partial

from gateway.secrets.checks import NOT_ITSELF, Range, RuleMatch
from gateway.secrets.engine import Pattern
from gateway.secrets.tables import any_word, find_parts, pattern_of
from promt.language.reader import words_of_grammar
from promt.patterns import compile_late

BEFORE_CHARS = 90
AFTER_CHARS = 60
"""The most characters of a sentence that are read before and after a number."""
NEAR_CHARS = 48
"""The most characters between a code and its name."""
BESIDE_CHARS = 32
"""The most characters between a word for a pin and a number that is taken for it without further signs."""
ODD_DIGITS = 5
"""The fewest digits of a number that, unless it is round, counts nothing: the word behind it is no unit."""
MOST_DIGITS = 6
"""A longer number without a word for a code is called, counted or stored."""
SHORT_LETTERS = 3
"""A word that is no longer and no unit is one of grammar."""

_ENDS = compile_late(r"[.!?;](?=\s)|[。！？\n\x00]")  # noqa: RUF001  # full stops of other scripts
_YEAR = compile_late(r"1[4-9][0-9]{2}|20[0-9]{2}")
_NEXT = compile_late(r"[ \t]{0,2}([^\W\d_]+|[%€$£₽₹₺])")
_POSTAL = compile_late(r"[1-9][0-9]{5}")
_TRIVIAL = frozenset(
    ["0000", "1111", "1234", "12345", "123456", "1234567", "12345678", "4321", "9999", "000000", "111111"]
)
"""Codes that people name when they speak of codes."""
# The lists of `tables.NAMES`.
_PINS = Pattern(partial(pattern_of, "pins"))
_CODES = Pattern(partial(pattern_of, "codes"))
_LOCKS = Pattern(partial(pattern_of, "locks"))
_GUARDED = Pattern(partial(pattern_of, "guarded"))
_GIVEN = Pattern(
    lambda: rf"(?:{find_parts()['is']}|'s |(?:{pattern_of('gives')})[ \t:]{{1,2}}(?:[a-z]{{2,3}} )?)[\"'`]?$"
)
"""The end of a text that gives what follows as a value."""
_BESIDE = Pattern(lambda: rf"(?:{pattern_of('locks')})[ \t,]{{1,2}}$")
"""The end of a text that names a lock just before what follows."""
_SIGNED = Pattern(r"[:=][ \t]{0,3}[\"'`]?$")
_TIME = compile_late(r"0[0-9][0-5][0-9]")
_GROUPED = compile_late(r"[0-9]+(?:[ -][0-9]+)+")
_SPELLED = compile_late(r"[0-9](?:[ -][0-9])+")
"""A number that is written digit by digit, as no date and no telephone number is."""
_NUMBERED = Pattern(lambda: rf"(?:{any_word('numbered')})[ \t.#]{{0,3}}$")
_OTHER_CODE = Pattern(partial(any_word, "not_a_lock"))

_SIGNS = frozenset("!@#$%&*^+~")
"""A token that looks made up has one of these inside."""
MIN_TOKEN = 8
MIN_NAME = 12
"""The least length of a token with an underscore alone, where no word for a code is near: names of things have one."""
_NO_TOKEN = Pattern(r"@[a-z0-9-]+[.]|://|^[@#]|&[a-z]+=|[.][a-z]{2,4}$")
"""Addresses, names of people, topics and files, and queries."""


def opening_number(found: RuleMatch) -> Range | None:
    """Return the range of a number that opens something, by what its sentence names; None for any other."""
    before = _before(found)
    after = found.lowered[found.end : found.end + AFTER_CHARS]
    cut = _ENDS.search(after)
    after = after[: cut.start()] if cut else after
    near = f"{before[-NEAR_CHARS:]} \x00 {after[: NEAR_CHARS // 2]}"
    names_pin = _PINS.occurs(near)
    names_code = names_pin or _CODES.occurs(near)
    names_lock = _LOCKS.occurs(f"{before} \x00 {after}")
    is_guarded = names_lock or _GUARDED.occurs(f"{before} \x00 {after}")
    # the sentence names such a number, or the thing that it opens and a word for a code
    is_sure = names_pin or (is_guarded and (names_code or found.value[-1] in "#*"))
    if not (is_sure or names_lock):
        return None
    digits = "".join(c for c in found.value if c.isdigit())
    is_grouped = _GROUPED.fullmatch(found.value) is not None
    is_spelled = _SPELLED.fullmatch(found.value) is not None
    is_time = _TIME.fullmatch(digits) is not None
    is_odd = not (found.value.isdecimal() or is_grouped) or (digits[0] == "0" and not is_time)
    # the number stands as a value, of whatever; and it stands as the value of the code that the sentence names
    is_given = _GIVEN.occurs(before) or (names_lock and (is_odd or _BESIDE.occurs(before)))
    is_its_value = (is_given and is_sure) or _PINS.occurs(before[-BESIDE_CHARS:])
    reasons_against = (
        digits in _TRIVIAL,
        # The number of another thing.
        NOT_ITSELF.occurs(before[-NEAR_CHARS:]) or _OTHER_CODE.occurs(near) or _NUMBERED.occurs(before),
        # A postal code.
        names_code and not names_lock and _POSTAL.fullmatch(found.value) and not _GUARDED.occurs(near),
        # A year.
        _YEAR.fullmatch(digits) and not (is_its_value or (is_given and _SIGNED.occurs(before))),
        # A time.
        is_time and not (names_code or is_given),
        # A quantity.
        not is_its_value and _counts(digits, after),
        # Beside a lock alone: a number that is not given as a value, that is long, or that has groups.
        not is_sure and (not is_given or len(digits) > MOST_DIGITS or (is_grouped and not is_spelled)),
    )
    return None if any(reasons_against) else (found.start, found.end)


def guarding_token(found: RuleMatch) -> Range | None:
    """Return the range of a token that looks made up, in a sentence that names what it may guard; None for any other.

    It has letters, a digit and a sign among them.
    """
    value = found.value.rstrip(".,;:?)")
    inside = value[1:-1]
    is_made_up = any(c.isdigit() for c in value) and any(c.isalpha() for c in value) and not _SIGNS.isdisjoint(inside)
    is_cased = value not in {value.lower(), value.upper()} and any(c.isdigit() for c in value)
    if len(value) < MIN_TOKEN or not (is_made_up or ("_" in inside and is_cased)) or _NO_TOKEN.occurs(value.lower()):
        return None
    before = _before(found)
    is_code = _PINS.occurs(before) or _CODES.occurs(before)
    is_named = is_code or (
        (is_made_up or len(value) >= MIN_NAME) and (_LOCKS.occurs(before) or _GUARDED.occurs(before))
    )
    return (found.start, found.start + len(value)) if is_named and not NOT_ITSELF.occurs(before) else None


def licence_key(found: RuleMatch) -> Range | None:
    """Return the range of groups of capitals and digits that a program is unlocked with; None for words and dates."""
    value = found.value
    is_key = value == value.upper() and any(c.isalpha() for c in value) and any(c.isdigit() for c in value)
    return (found.start, found.end) if is_key else None


def _before(found: RuleMatch) -> str:
    """Return the sentence up to the value, in lower case."""
    before = found.lowered[max(0, found.start - BEFORE_CHARS) : found.start]
    cuts = [cut.end() for cut in _ENDS.finditer(before)]
    return before[cuts[-1] :] if cuts else before


def _counts(digits: str, after: str) -> bool:
    """Return whether the word that begins `after` may be what the number counts."""
    word = _NEXT.match(after)
    if word is None or digits[0] == "0" or (len(digits) >= ODD_DIGITS and not digits.endswith("00")):
        return False
    return word[1] in _units() or (word[1] not in words_of_grammar() and len(word[1]) > SHORT_LETTERS)


@cache
def _units() -> frozenset[str]:
    return frozenset(any_word("units").split("|"))
