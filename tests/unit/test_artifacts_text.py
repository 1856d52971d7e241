import codecs
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.files import text as artifact_text
from agent.files.text import (
    delimiter_of,
    fields_of,
    index_text,
    kind_of,
    mask_spans,
    medium_of,
    page_text,
    read_text,
    records_of,
)
from agent.tools import most_that_fits
from protocol.seams.ports import SecretSpan

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    ("mime", "head", "medium"),
    [
        ("text/plain", b"hello", "text"),
        ("Text/Markdown; charset=utf-8", b"# hello", "text"),
        ("text/csv", b"a,b", "table"),
        ("application/csv", b"a,b", "table"),
        ("application/json", b"{}", "text"),
        ("application/vnd.api+json", b"{}", "text"),
        ("image/svg+xml", b"<svg/>", "text"),
        ("application/octet-stream", b"hello", "text"),
        ("application/pdf", b"%PDF-1.7", "pdf"),
        ("application/pdf", b"junk before %PDF-1.4", "pdf"),
        ("application/pdf", b"<html>", "other"),
        ("image/png", PNG, "picture"),
        ("image/jpg", b"\xff\xd8\xff\xe0", "picture"),
        ("image/gif", b"GIF89a", "picture"),
        ("image/webp", b"RIFF\0\0\0\0WEBPVP8 ", "picture"),
        ("image/png", b"\xff\xd8\xff\xe0", "other"),
        ("image/png", b"<script>", "other"),
        ("image/tiff", b"II*\0", "other"),
        ("text/plain", PNG, "other"),
        ("text/plain", b"%PDF-1.7", "other"),
        ("application/zip", b"PK\3\4", "other"),
        ("", b"hello", "text"),
    ],
)
def test_a_file_is_what_it_is_called_unless_its_bytes_contradict(mime, head, medium):
    assert medium_of(mime, head) == medium


@pytest.mark.parametrize(
    ("mime", "kind"),
    [
        ("image/png", "image"),
        ("TEXT/CSV", "data"),
        ("text/x-python", "document"),
        ("application/pdf", "document"),
        ("audio/ogg", "audio"),
        ("video/mp4", "video"),
        ("application/zip", "other"),
        ("image", "other"),
        ("", "other"),
    ],
)
def test_the_kind_follows_the_media_type(mime, kind):
    assert kind_of(mime) == kind


@pytest.mark.parametrize(
    ("data", "text", "is_guess"),
    [
        (b"", "", False),
        ("Grüße".encode(), "Grüße", False),
        (codecs.BOM_UTF8 + "Grüße".encode(), "Grüße", False),
        (codecs.BOM_UTF16_LE + "a🌍b".encode("utf-16-le"), "a🌍b", False),
        (codecs.BOM_UTF16_BE + "a🌍b".encode("utf-16-be"), "a🌍b", False),
        (codecs.BOM_UTF32_LE + "a🌍b".encode("utf-32-le"), "a🌍b", False),
        ("naïve – “quoted”".encode("cp1252"), "naïve – “quoted”", True),
        (b"caf\xe9 \x81", "café \x81", True),
    ],
)
def test_text_is_decoded_and_a_guess_is_told(data, text, is_guess):
    file = io.BytesIO(data)
    index = index_text(file, is_declared=True)
    assert index is not None
    assert (read_text(file, index, 0, 100), index.chars, index.is_guess) == (text, len(text), is_guess)


@pytest.mark.parametrize(
    "data",
    [
        b"a\0b",
        codecs.BOM_UTF16_LE + b"a",
        codecs.BOM_UTF16_LE + b"\0\xd8a\0",
        codecs.BOM_UTF8 + b"\xff",
        codecs.BOM_UTF16_LE + b"a\0\0\0",
    ],
)
def test_bytes_that_cannot_be_text_are_none(data):
    assert index_text(io.BytesIO(data), is_declared=True) is None


def test_what_nobody_called_text_is_text_only_as_utf8():
    assert index_text(io.BytesIO("Grüße".encode()), is_declared=False) is not None
    assert index_text(io.BytesIO("Grüße".encode("latin-1")), is_declared=False) is None


@given(
    text=st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
    limit=st.integers(1, 9),
    block=st.integers(1, 9),
)
def test_pages_yield_every_character_once(text, encoding, limit, block):
    text = text.lstrip("\ufeff")  # at the very beginning it is a mark, and no character
    file = io.BytesIO(text.encode(encoding))
    old, artifact_text.BLOCK_BYTES = artifact_text.BLOCK_BYTES, block
    try:
        index = index_text(file, is_declared=True)
        assert index is not None
        pages = [read_text(file, index, offset, limit) for offset in range(0, len(text) + limit, limit)]
    finally:
        artifact_text.BLOCK_BYTES = old
    assert "".join(pages) == text
    assert index.chars == len(text)


@given(text=st.text(alphabet="ab", max_size=30), cut=st.integers(1, 7), data=st.data())
def test_a_secret_is_masked_wherever_a_page_ends(text, cut, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    whole = text[:start] + "S" * (end - start) + text[end:]
    spans = [SecretSpan(kind="k", start=start, end=end)] if end > start else []
    pages = [mask_spans(whole, spans, a, min(a + cut, len(whole))) for a in range(0, len(whole), cut)]
    assert "S" not in "".join(pages)
    assert "".join(pages).replace("[secret:k]", "") == text[:start] + text[end:]


@given(count=st.integers(0, 50), most=st.integers(0, 60))
def test_the_most_that_fits(count, most):
    assert most_that_fits(count, lambda n: n <= most) == min(count, most)


FIELD = st.text(alphabet='ab",;\n\r', max_size=6)


@given(rows=st.lists(st.lists(FIELD, min_size=1, max_size=4), max_size=6), ending=st.sampled_from(["\n", "\r\n", "\r"]))
def test_records_partition_a_table(rows, ending):
    text = "".join(",".join('"' + field.replace('"', '""') + '"' for field in row) + ending for row in rows)
    records = records_of(text, is_end=True)
    assert "".join(text[a:b] for a, b in records) == text
    assert [fields_of(text[a:b], ",") for a, b in records] == rows


def test_a_record_without_its_end_waits_for_it():
    assert records_of("a,b\nc,d", is_end=False) == [(0, 4)]
    assert records_of("a,b\nc,d", is_end=True) == [(0, 4), (4, 7)]
    assert records_of('a,"b\nc,d', is_end=False) == []
    assert records_of("a,b\r", is_end=False) == []  # the line break may have a second half


@pytest.mark.parametrize(
    ("record", "delimiter"), [("a;b;c,d", ";"), ("a\tb", "\t"), ("a|b", "|"), ('"a;b;c",d', ","), ("a", ",")]
)
def test_the_delimiter_is_what_separates_most(record, delimiter):
    assert delimiter_of(record) == delimiter


def test_fields_of_what_is_no_record():
    assert fields_of("", ",") == []
    assert fields_of("x" * 200_000, ",") == ["x" * 200_000]


def test_pages_say_what_could_not_be_read():
    assert page_text(1, " words ") == "[page 1]\nwords\n\n"
    assert page_text(2, "  ") == "[page 2: no text]\n\n"
    assert page_text(3, None) == "[page 3: cannot be read]\n\n"
