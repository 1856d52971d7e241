"""Normal forms in linear time: those of Unicode for every text that a person writes."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.unicode_forms import ROW, SHORT, normalize

FLOODS = ["\u0315\u0300" * 50_000, "a" + "\u0344\u0315\u0300" * 40_000, "x" * SHORT + "\u0321\u0334\u0315" * 40_000]
"""Each costs the plain function a quarter of a minute and more."""


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@given(st.text(st.sampled_from("aeé\u0301\u0300\u0323\u0345が\u3099ﬁ각ह\u093c\u094d 😀\u200d.")))
def test_it_is_the_form_of_unicode(form, text):
    long = (text + " ") * (SHORT // max(1, len(text)) + 1)
    for one in (text[: ROW // 2], long if len(text) < ROW else text[:SHORT]):
        assert normalize(form, one) == unicodedata.normalize(form, one)


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_of_marks_costs_its_length(flood):
    before = time.process_time()
    found = normalize("NFD", flood)
    assert time.process_time() - before < 1.0
    assert sorted(found) == sorted("".join(unicodedata.normalize("NFD", mark) for mark in flood))
