"""Cards, accounts and ids by their check digits: every single wrong digit, and what stands around a number."""

import random

import pytest
from cases import each

from gateway.secrets.scanner import RuleScanner

SCANNER = RuleScanner()
GIVEN = {
    "credit_card": "4539578763" + "621486",
    "credit_card amex": "3782822463" + "10005",
    "iban": "GB82WEST123456" + "98765432",
    "german": "860957" + "42719",
    "french": "2550814168" + "02538",
    "spanish": "123456" + "78Z",
    "spanish foreigner": "X1234" + "567L",
    "italian": "RSSMRA85T10" + "A562S",
    "polish": "440514" + "01359",
    "russian snils": "112-233-" + "445 95",
    "russian inn": "5001007" + "32259",
    "brazilian": "529.982." + "247-25",
    "chinese": "1101051949" + "1231002X",
    "indian": "2341 2341 " + "2346",
    "japanese": "1234 5678 " + "9018",
}
WEAK = {"polish", "spanish", "spanish foreigner", "indian", "japanese", "german"}
"""Of these a wrong digit may give what another row of the table takes for one of its own."""


def kinds(text):
    return [span.kind for span in SCANNER.find(text)]


@each("name", GIVEN)
def test_a_number_is_known_without_a_word_beside_it(name):
    number = GIVEN[name]
    for text in (number, f"{number}.", f"Keep {number} for me", f"It is ({number})", f"a\n{number}\nb"):
        (span,) = SCANNER.find(text)
        assert text[span.start : span.end] == number
    assert kinds(number)[0] == (name.split()[0] if name.startswith(("credit", "iban")) else "national_id")


@each("name", [name for name in GIVEN if name not in WEAK])
def test_a_wrong_digit_is_noticed(name):
    number = GIVEN[name]
    for place, char in enumerate(number):
        if char.isdigit():
            wrong = number[:place] + str((int(char) + 1) % 10) + number[place + 1 :]
            assert kinds(f"Keep {wrong} for me") == [], wrong


ELSEWHERE = [
    "order {}",
    "tracking number {}",
    "phone {}",
    "https://x.org/{}",
    "?ref={}",
    "0.{}",
    "{}.5",
    "user_id: {}",
    "a/{}",
    "#{}",
]


@each(("name", "place"), [(name, place) for name in GIVEN if GIVEN[name].isdecimal() for place in ELSEWHERE])
def test_a_number_of_another_thing_is_left_alone(name, place):
    assert kinds(place.format(GIVEN[name])) == []


@pytest.mark.parametrize(
    ("bare", "named"),
    [
        ("536-22-1234", "536-22-1234 is my social security number"),
        ("JG103759A", "my national insurance number is JG103759A"),
        ("77070" + "83893", "ИНН 77070" + "83893"),
        ("2341234" + "12346", "my aadhaar is 2341234" + "12346"),
        ("order 529.982." + "247-25", "order by CPF 529.982." + "247-25"),
    ],
)
def test_a_number_without_a_sure_check_digit_needs_its_name(bare, named):
    assert kinds(f"I wrote {bare} down") == []
    assert kinds(named) != []


@pytest.mark.parametrize("number", ["000-12-3456", "666-12-3456", "912-12-3456", "123-00-4567", "123-45-0000"])
def test_a_number_that_was_never_given_out_is_none(number):
    assert kinds(f"{number} is my social security number") == []


def test_a_social_security_number_with_one_sign_in_it_is_read_in_its_parts() -> None:
    assert kinds("my ssn is 123-456789") == ["social_security_number"]
    assert kinds("my ssn is 123-450000") == ["national_id"]  # a serial that was never given, and a number all the same


@pytest.mark.loop("check")
def test_numbers_drawn_by_chance_are_seldom_taken_for_one():
    rng = random.Random(7)
    for size in range(9, 20):
        drawn = ["".join(rng.choice("0123456789") for _ in range(size)) for _ in range(1000)]
        assert sum(kinds(f"It is {number} today") != [] for number in drawn) <= 60, size


@pytest.mark.parametrize(
    "key",
    [
        "AKIAIOSFODNN7" + "EXAMPLE",
        "ASIAIOSFODNN7" + "EXAMPLE",
        "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY",
        "sk_test_4eC39Hq" + "LyjWDarjtT1zdp7dc",
        "ghp_16C7e42F292c6912" + "E7710c838347Ae178B4a",
    ],
)
def test_a_key_that_its_vendor_documents_opens_nothing(key):
    assert kinds(f"key = {key}") == []
    assert kinds(f"aws_secret_access_key = {key}") == []


@pytest.mark.parametrize(
    "key", ["sk_test_4eC39Hq" + "LyjWDarjtT1zdp7dd", "ghp_16C7e42F292c6912" + "E7710c838347Ae178B4b"]
)
def test_another_key_of_that_form_is_one(key):
    assert kinds(f"key = {key}") != []


WORDS = "legal winner thank year wave sausage worth useful legal winner thank yellow"


@pytest.mark.parametrize(
    "text",
    [
        WORDS,
        f"my words: {WORDS}",
        f"so {WORDS} it was",
        "\n".join(WORDS.split()),
        " ".join(f"{n}. {word}" for n, word in enumerate(WORDS.split(), 1)),
        "\n".join(f"{n}) {word}" for n, word in enumerate(WORDS.split(), 1)),
    ],
)
def test_words_of_a_wallet_are_known_by_their_list(text):
    assert kinds(text) == ["seed_phrase"]


@pytest.mark.parametrize(
    "text",
    [
        "so legal winner thank year wave sausage worth useful legal winner thank year it was",
        "legal winner thank year wave sausage worth useful legal winner thank",
        "apples pears plums grapes lemons limes dates kiwis figs melons berries quinces",
        "1. milk 2. bread 3. eggs 4. salt 5. rice 6. beans 7. tea 8. soap 9. leeks 10. corn 11. plums 12. hops",
    ],
)
def test_other_words_in_a_row_are_no_wallet(text):
    assert kinds(text) == []
