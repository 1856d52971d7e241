"""Terms as rows keep them: what is packed comes back, and what is damaged is none."""

from hypothesis import given
from hypothesis import strategies as st

from retrieval.packing import pack, unpack

SENTENCE = " ".join(f"{word} {word}s" for word in ("answer", "budget", "quarter", "release", "update", "write")) * 9


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=400))
def test_what_is_packed_comes_back(words: str) -> None:
    assert unpack(pack(words)) == words


def test_terms_take_half_of_their_letters_and_a_few_no_more_than_theirs() -> None:
    assert len(pack(SENTENCE) or b"") < len(SENTENCE) / 2
    assert len(pack("zq") or b"") == 3
    common = "about after again all alone already and answer"  # words that most texts have
    assert len(pack(f"{common} {common}") or b"") < 45
    assert len(pack(common) or b"") == len(common) + 1  # as short as the names of a file: kept as it is


def test_terms_with_a_changed_byte_are_none() -> None:
    packed = pack(SENTENCE) or b""
    changed = [bytes([*packed[:at], packed[at] ^ 1, *packed[at + 1 :]]) for at in range(1, len(packed))]
    assert {unpack(one) for one in changed} <= {"", SENTENCE}  # the last bits of a stream say nothing
    assert (unpack(packed[:-3]), unpack(packed[:2])) == ("", "")
