"""The places of a word in a home: every table, the vocabulary of both indexes, and the bytes of every file of a copy."""

import base64
import itertools
import secrets
import shutil
import zlib

import apsw

CONSONANTS = "bcdfghjklmnpqrstvwxz"


def needles(count):
    """Words that stand nowhere else, of which no two begin alike: an index stores what words share only once."""
    first = itertools.cycle(CONSONANTS)
    return [next(first) + "".join(secrets.choice(CONSONANTS) for _ in range(15)) for _ in range(count)]


def faces(word):
    """A word as it may lie in a file."""
    plain = word.encode()
    yield from (plain, plain.upper(), word.encode("utf-16-le"), word.encode("utf-16-be"))
    yield from (plain.hex().encode(), plain.hex().upper().encode())
    for shift in range(3):  # the inner characters of base64 depend on where in a group of three the word begins
        yield base64.b64encode(b"\0" * shift + plain)[4:-4]
        yield base64.b64encode(b"\0" * shift + word.encode("utf-16-le"))[4:-4]


def files_holding(den, words):
    """(file, word) of a copy of the home, taken while its processes live."""
    copy = den.folder / f"copy-{secrets.token_hex(4)}"
    shutil.copytree(den.home, copy, ignore=shutil.ignore_patterns("*.lock"))
    found = {
        (path.relative_to(copy).as_posix(), word)
        for path in copy.rglob("*")
        if path.is_file() and (data := path.read_bytes())
        for word in words
        if any(face in data for face in faces(word))
    }
    shutil.rmtree(copy)
    return found


def unpacked(value):
    """A value of a column as text; what is compressed is unpacked."""
    if isinstance(value, bytes):
        try:
            return zlib.decompress(value).decode("utf-8", "replace")
        except zlib.error:
            return value.decode("utf-8", "replace")
    return str(value)


def tables_holding(den, words):
    """(table, word) over every table of the database; the vocabularies of the indexes are tables as well."""
    connection = apsw.Connection(str(den.home / "gateway.db"), flags=apsw.SQLITE_OPEN_READONLY)
    connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab('main', 'chunk_fts', 'row')").fetchall()
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()]
    assert {"record", "memory_terms", "evidence", "item", "chunk", "job", "tool_reply"} <= {*tables}
    found = set()
    for table in [*tables, "temp.words"]:
        name = table if "." in table else f'"{table}"'
        for row in connection.execute(f"SELECT * FROM {name}").fetchall():  # noqa: S608
            text = " ".join(map(unpacked, row)).lower()
            found |= {(table, word) for word in words if word in text}
    connection.close()
    return found
