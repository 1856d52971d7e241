"""PDF files of a few lines, written by hand, and what hostile ones look like."""

import io
import zlib
from collections.abc import Sequence

import pypdf


def pdf(pages: Sequence[str | bytes], *, filters: bytes = b"", count: int | None = None) -> bytes:
    """A file with those pages: words, or a content stream as it is."""
    bodies = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids: list[int] = []
    for page in pages:
        stream = page
        if isinstance(stream, str):
            lines = stream.replace("(", "\\(").replace(")", "\\)").split("\n")
            shown = "".join(f"({line}) Tj 0 -14 Td " for line in lines)
            stream = f"BT /F1 12 Tf 72 720 Td {shown}ET".encode("latin-1")
        kids.append(len(bodies) + 1)
        at = b"%d" % (len(bodies) + 2)
        resources = b"/Resources << /Font << /F1 3 0 R >> >>"
        box = b"/MediaBox [0 0 612 792]"
        bodies.append(b"<< /Type /Page /Parent 2 0 R " + box + resources + b" /Contents " + at + b" 0 R >>")
        bodies.append(b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(stream), filters, stream))
    listed = b" ".join(b"%d 0 R" % kid for kid in kids)
    bodies[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (listed, len(pages) if count is None else count)
    out, places = io.BytesIO(b""), []
    out.write(b"%PDF-1.7\n")
    for number, body in enumerate(bodies, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(bodies) + 1, start))
    return out.getvalue()


def encrypted(data: bytes, password: str, algorithm: str) -> bytes:
    """The same, to be opened with a password."""
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(data))
    writer.encrypt(password, owner_password="owner", algorithm=algorithm)  # noqa: S106
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def bomb(mebibytes: int) -> bytes:
    """A page whose stream is compressed twice and unfolds to that much."""
    packer = zlib.compressobj(1)
    packed = b"".join(packer.compress(b" " * (1 << 20)) for _ in range(mebibytes)) + packer.flush()
    return pdf([zlib.compress(packed)], filters=b"/Filter [/FlateDecode /FlateDecode]")
