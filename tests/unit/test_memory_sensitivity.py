"""How careful a fact must be handled."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.secrets.scanner import RuleScanner
from memory.rules.sensitivity import clean, judge, level_of

SCANNER = RuleScanner()

REGULATED = [
    "I was diagnosed with epilepsy",
    "She is allergic to penicillin",
    "My passport number is kept here",
    "Takes insulin",
    "У меня диабет",
    "Ich bin schwanger",
    "Je suis enceinte",
    "Estoy embarazada",
    "Ich habe Krebs",
    "ＤＩＡＢＥＴＥＳ runs in the family",
    "Ich bin allergisch gegen Nüsse",
    "Sie reagiert allergisch auf Pollen",
    "Hat eine Allergie gegen Katzen",
    "Mira hat eine Penicillinallergie",
    "Soy alérgica al marisco",
    "Tengo alergia a los cacahuetes",
    "Ich bin gegen Nüsse allergisch",
    "Meine Tochter hat eine Allergie",
    "Meine Frau hat Diabetes",
    "I have a nut allergy",
    "He is badly allergic",
    "Tengo diabetes",
    "Je suis diabétique",
    "У меня эпилепсия",
    "У неё аллергия",
    "Sono allergica alle noci",
    "Sou alérgico ao amendoim",
    "Ik ben allergisch voor pinda's",
    "Mam alergię na orzechy",
    "Jestem w ciąży",
    "Jag är gravid",
    "Jeg har pollenallergi",
    "Mám cukrovku",
    "У мене алергія на мед",
    "Fıstık alerjim var",
    "Minulla on pähkinäallergia",
    "Saya alergi kacang",
    "لدي حساسية من الفول السوداني",
    "मुझे मूंगफली से एलर्जी है",
    "我对花生过敏",
    "我有糖尿病",
    "えびアレルギーがあります",
    "妊娠しています",
    "저는 땅콩 알레르기가 있어요",
    "ฉันเป็นเบาหวาน",
    "Je suis allergique aux arachides",
    "J'ai une allergie à la pénicilline",
    "У меня аллергия на орехи",
]
INNOCENT = [
    "Prefers tea",
    "Works on the diagram editor",
    "The account has two numbers",
    "The build is healthy",
    "Likes crabs",
    "Lives in Cancun",
    "Version 4111",
    "depressions in the road surface",
    "Sort the code",
    "Ik woon in Utrecht",
    "Mam raka w akwarium",
    "我喜欢喝茶",
    "犬が好きです",
    "Mi gato es alegre",
    "The word allergic has eight letters",
    "Das Wort allergisch hat zehn Buchstaben",
    "El artículo trata de la alergia",
]


def findings(text: str) -> Any:
    return judge([text], SCANNER.find(text))


@pytest.mark.parametrize("text", REGULATED)
def test_regulated_text_is_recognised(text: str) -> None:
    assert findings(text).is_regulated
    assert findings(text).secret_kinds == []


@pytest.mark.parametrize("text", INNOCENT)
def test_innocent_text_is_not(text: str) -> None:
    assert findings(text) == ([], False)


def test_the_number_of_a_card_an_account_or_an_id_is_a_secret_like_a_credential() -> None:
    text = f"AKIA{'Y34FZKBOKMUTVV7A'} and 4111 1111 1111 1111, DE89 3704 0044 0532 0130 00, CPF 529.982.247-25"
    assert findings(text) == (["aws_access_key", "credit_card", "iban", "national_id"], False)


@pytest.mark.parametrize(
    ("declared", "hint", "category", "is_regulated", "level"),
    [
        (None, "none", "preference", False, "normal"),
        (None, "unknown", "preference", False, "normal"),
        (None, "none", "preference", True, "regulated"),
        ("regulated", "none", "preference", False, "regulated"),
        ("normal", "regulated", "preference", False, "regulated"),
        ("normal", "none", "preference", True, "regulated"),
        ("personal", "none", "custom", False, "personal"),
        ("normal", "personal", "custom", False, "personal"),
        ("normal", "none", "identity", False, "personal"),
        (None, "none", "relationship", False, "personal"),
        (None, "none", "biography", False, "personal"),
    ],
)
def test_the_strictest_word_holds(declared: Any, hint: Any, category: Any, is_regulated: bool, level: str) -> None:  # noqa: FBT001
    assert level_of(declared, hint, category, is_regulated=is_regulated) == level


def test_what_cannot_be_seen_is_taken_out_and_line_breaks_stay() -> None:
    assert clean("a\x00b\u200bc\u202ed\ufeff\U000e0041e\n\tf\r\ng") == "abcde\n\tf\r\ng"


@given(st.text())
def test_cleaning_is_stable_and_only_removes(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    rest = iter(text)
    assert all(char in rest for char in cleaned)
