"""The lexicon: what texts of many scripts become, and that nothing breaks it."""

import re
import string
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import apsw
import pytest
from cases import each
from hypothesis import example, given
from hypothesis import strategies as st

from protocol.seams.ports import Lexicon
from retrieval import terms as lexicon
from retrieval.terms import MAX_QUERY_PAIRS, MAX_QUERY_TERMS, MAX_TERM_CHARS, SnowballLexicon

LEXICON: Lexicon = SnowballLexicon()
TERM = re.compile(r"[a-z0-9\u0080-\U0010ffff]{1,64}")

INDEXED = [
    ("The Cats were running", "the cat were run"),
    ("foo_bar", "foo bar foobar"),
    ("fooBar", "foo bar foobar"),
    ("HTTPServer", "http server httpserver"),
    ("v1.2.3", "v1 2 3 1x2x3"),
    ("user@example.com", "user exampl com examplecom userexamplecom"),
    ("/path/to/x.py", "path to x py xpi pathtoxpi"),
    ("C++ and c#", "c cplusplus and c csharp"),
    ("issue #12", "issu 12"),
    ("1,200 or 1,234.56", "1200 or 1234 56 1234x56"),
    ("at 10:30", "at 10 30 10x30"),
    ("2023-05-08", "2023 05 08 2023x05x08"),
    ("it's what we don't need", "it what we don need"),
    ("O\u2019Brien", "o brien obrien"),
    ("__init__", "init"),
    ("task-list", "task list tasklist"),
    ("Stra\u00dfe Caf\u00e9 \u0141\u00f3d\u017a Vi\u1ec7t", "strass cafe lodz viet"),
    ("\u0130stanbul na\u00efve", "istanbul naiv"),
    ("\uff26\uff35\uff2c\uff2c\u3000\uff57\uff49\uff44\uff54\uff48", "full width"),
    ("so\u00adft zero\u200bwidth", "soft zerowidth"),
    ("кошками кошки", "кошк кошк"),
    ("ёлка и елка", "елк и елк"),
    ("мой", "мо"),
    ("ΆΛΦΑς", "αλφασ"),
    ("東京都", "東 京 都 東京 京都"),
    ("한국", "한 국 한국"),
    ("ｶﾅ", "カ ナ カナ"),
    ("iPhone手机", "i phone iphon 手 机 手机"),
    ("ครับ", "คร รั ับ"),
    ("๒๕", "25"),
    ("हिन्दी में", "हिन्दी में"),
    ("أَهْـلًا", "اهلا"),
    ("مكتبة آمن", "مكتبه امن"),
    ("\u0663\u0664", "34"),
    ("שָׁלוֹם", "שלום"),
]


@each(("text", "terms"), INDEXED)
def test_text_becomes_terms(text: str, terms: str):
    assert " ".join(LEXICON.index_terms(text)) == terms


ASKED = [
    ("What did Caroline research about adoption agencies?", "carolin research adopt agenc"),
    ("Who are you?", "who are you"),
    ("to be or not to be", "to be or not"),
    ("what did my son die of in the war?", "son die war"),
    ("When in May 2023?", "may 2023"),
    ("Wo war ich mit dem Hund?", "hund"),
    ("¿Dónde está la casa de Ana?", "casa ana"),
    ("Qu'est-ce que l'homme ?", "homm lhomm"),
    ("Что я говорил про Москву?", "говор москв"),
    ("как настроить the gateway", "настро gateway"),
    ("cat cats CAT", "cat"),
    ("東", "東"),
    ("東京に", "東京 京に"),
    ("ก", "ก"),
    ("can't", "can"),
    ("What is C++?", "c cplusplus"),
]


@each(("text", "terms"), ASKED)
def test_query_keeps_what_carries_meaning(text: str, terms: str):
    assert " ".join(LEXICON.query_terms(text)) == terms


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "\x00",
        "\x00\x01\x1f\x7f",
        "\ud800",
        "\udfff\ud800",
        "!" * 4096,
        "'" * 4096,
        "🔥👩‍👩‍👧",
        "\u200b\u2060",
        "\u0301" * 4096,
        '"',
    ],
)
def test_text_without_words_asks_for_nothing(text: str):
    assert LEXICON.query_terms(text) == []
    assert LEXICON.index_terms(text) == []


@pytest.mark.parametrize("text", ['scope:1 AND (a) OR "b" NEAR(c', "-- '; DROP", "col:* ^x +y", "a\x00b\ud800c"])
def test_hostile_text_gives_plain_terms(text: str):
    assert all(TERM.fullmatch(term) for term in LEXICON.query_terms(text))


def test_query_is_bounded():
    many = " ".join(f"word{i}" for i in range(1000))
    assert len(LEXICON.query_terms(many)) == MAX_QUERY_TERMS
    assert LEXICON.query_terms("x" * 500 + " alphabetical soup") == ["x" * MAX_TERM_CHARS]
    assert len(LEXICON.query_terms("京都東" * 500)) == 3
    alphabet = "".join(map(chr, range(0x4E00, 0x4E00 + 400)))
    assert len(LEXICON.query_terms(alphabet)) == MAX_QUERY_PAIRS
    assert len(LEXICON.query_terms(f"{many[:250]} {alphabet[:250]}")) == MAX_QUERY_TERMS + MAX_QUERY_PAIRS


def test_long_word_is_cut_and_found_again():
    blob = "Q" * 5000
    assert LEXICON.index_terms(blob) == ["q" * MAX_TERM_CHARS] == LEXICON.query_terms(blob)


def test_a_flood_of_marks_is_cheap_and_loses_no_word():
    assert LEXICON.index_terms("e\u0301te\u0301 " + "\u0316\u0300" * 50_000 + " fin") == ["ete", "fin"]


def test_version_names_what_the_terms_depend_on():
    assert unicodedata.unidata_version in LEXICON.version


@given(st.text(max_size=300))
def test_every_term_is_within_the_alphabet(text: str):
    assert all(TERM.fullmatch(term) for term in LEXICON.index_terms(text) + LEXICON.query_terms(text))


@example("aÆ;IM")  # a whole of a compound, beside a word that makes the text German
@given(st.text(st.characters(max_codepoint=0x2FF), max_size=200))
def test_what_is_asked_in_the_texts_own_words_is_indexed(text: str):
    assert set(LEXICON.query_terms(text)) <= set(LEXICON.index_terms(text))


@given(st.text(max_size=100))
def test_composed_and_decomposed_text_are_one(text: str):
    decomposed = unicodedata.normalize("NFD", text)
    assert LEXICON.index_terms(decomposed) == LEXICON.index_terms(unicodedata.normalize("NFC", text))


@given(st.lists(st.text(max_size=60), min_size=1, max_size=8))
def test_full_text_table_keeps_the_terms_as_they_are_and_forgets_them_by_recomputing(texts: list[str]):
    connection: Any = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE f USING fts5(body, content='', tokenize='ascii')")
    connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab(f, 'row')")
    for row, text in enumerate(texts):
        connection.execute("INSERT INTO f(rowid, body) VALUES (?, ?)", (row, " ".join(LEXICON.index_terms(text))))
    stored = {term for (term,) in connection.execute("SELECT term FROM v")}
    assert stored == {term for text in texts for term in LEXICON.index_terms(text)}
    for row, text in enumerate(texts):
        connection.execute(
            "INSERT INTO f(f, rowid, body) VALUES ('delete', ?, ?)", (row, " ".join(LEXICON.index_terms(text)))
        )
    assert list(connection.execute("SELECT term FROM v")) == []
    connection.close()


def test_threads_get_the_same_terms():
    texts = [f"walking walked walks number{i} бегущие бежал{i}" for i in range(300)]
    alone = [SnowballLexicon().index_terms(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(SnowballLexicon().index_terms, texts)) == alone


SAME = [
    ("München", "muenchen"),
    ("grün", "GRUEN"),
    ("sjøørret", "sjoeoerret"),
    ("الجامعة", "جامعه"),
    ("وبالمكتبة", "مكتبة"),
    ("کتاب‌های", "کتاب های"),
    ("libssl1.1", "libssl"),
    ("Vue3Component", "vue component"),
    ("3F9A2BC", "3f9a2bc"),
    ("H2O", "h2o"),
]


@each(("text", "asked"), SAME)
def test_what_is_typed_in_two_ways_shares_its_terms(text: str, asked: str):
    assert set(LEXICON.query_terms(asked)) <= set(LEXICON.index_terms(text))


def test_a_german_text_is_found_by_german_and_by_english_stems():
    terms = LEXICON.index_terms("Die Schuhe sind für den Garten und die grünen Wiesen")
    for asked in ("Schuhe", "Schuh", "Wo sind die Schuhe?", "für welche Wiese ist der Garten?", "grün"):
        assert set(LEXICON.query_terms(asked)) & set(terms), asked
    assert LEXICON.query_terms("für und ueber die Wiesen") == ["wies"]


def test_an_english_text_has_no_german_stems():
    assert LEXICON.index_terms("the war was in all houses") == ["the", "war", "was", "in", "all", "hous"]


def test_a_name_of_function_letters_alone_keeps_its_sign():
    assert LEXICON.query_terms("C#") == ["c", "csharp"]


@given(st.from_regex(r"[A-Za-z]{1,80}", fullmatch=True))
def test_a_word_without_seams_is_what_looking_for_seams_makes_of_it(word: str):
    words, wholes = lexicon._parts(word)
    assert lexicon._word_terms(word) == tuple(map(lexicon._stem, (*words, *wholes)))


@given(st.text(alphabet=string.printable))
def test_plain_text_has_the_terms_that_it_has_among_others(text: str):
    assert [*LEXICON.index_terms(text), "\u65e5"] == LEXICON.index_terms(f"{text} \u65e5")
