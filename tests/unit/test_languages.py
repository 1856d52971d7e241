"""A language is one file: what is in it takes effect, and no other file of the product holds words of a language other
than English."""

import json
import keyword
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from cases import each
from house_code import MODULES, ROOT, literals_of, name_of, names_of

from promt.language.reader import languages, list_words, tables

FOLDER = ROOT / "promt" / "language"
FILES = sorted(FOLDER.glob("*.toml"))

MADE_UP = """# A language that nobody speaks.
spaced = true

[stop_words]
words = 'kel zom drin'

[time]
named = [['zernap', 'day', 1]]
ago = '{number} {unit} zoon'
few = 'zek'
numbers = ['zo', 'zir', 'zark', 'zol', 'zunk', 'zest', 'zab', 'zox', 'zin', 'zoz']
units = { day = 'zag', week = 'zeb', month = 'zim', year = 'zyr' }
weekdays = ['zomon', 'zotue', 'zowed', 'zothu', 'zofri', 'zosat', 'zosun']
on_weekday = 'zup {weekday}'

[statements]
words = 'kel zom drin zapom'
remember = ['zapom ke {rest}']
own = ['\\bkem\\b']

[intents]
remember = ['^ zapom ke']
"""

ASKED = """
import json
import keyword
from datetime import UTC, datetime
from memory.extraction.rule_extraction import extract_statements
from promt import intents, language
from retrieval.stopwords import stop_words_for
from promt.time_words import find_time

now = int(datetime(2026, 7, 15, 12, tzinfo=UTC).timestamp() * 1000)
day = find_time("qarp zernap", now, UTC, lambda text, today: None)
ago = find_time("qarp zir zag zoon", now, UTC, lambda text, today: None)
print(json.dumps({
    "home": language.__file__,
    "stops": "drin" in stop_words_for(["kel", "zom", "qarp"]),
    "yesterday": datetime.fromtimestamp(day.from_at / 1000, UTC).day,
    "two days ago": datetime.fromtimestamp(ago.from_at / 1000, UTC).day,
    "remember": intents.detect("Zapom ke kem qarp lomar zuvi.").remember,
    "language": intents.detect("Zapom ke kem qarp lomar zuvi.").language,
    "facts": [fact.content for fact in extract_statements({"item": "Zapom ke kem qarp lomar zuvi."})],
}))
"""


def test_a_new_language_is_one_new_file(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "promt", tmp_path / "promt", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "promt" / "language" / "qx.toml").write_text(MADE_UP, encoding="utf-8")
    found = subprocess.run([sys.executable, "-c", ASKED], cwd=tmp_path, capture_output=True, text=True, check=True)
    told = json.loads(found.stdout)
    assert Path(told.pop("home")).is_relative_to(tmp_path)
    assert told == {
        "stops": True,
        "yesterday": 14,
        "two days ago": 13,
        "remember": True,
        "language": "qx",
        "facts": ["Kem qarp lomar zuvi"],
    }


@each("path", FILES)
def test_the_reader_finds_what_toml_says(path: Path) -> None:
    whole = tomllib.loads(path.read_text(encoding="utf-8"))
    head = {key: value for key, value in whole.items() if not isinstance(value, dict)}
    assert {key: getattr(languages()[path.stem], key) for key in head} == head
    for use in whole.keys() - head.keys():
        assert tables(use)[path.stem] == whole[use]


@each("path", FILES)
def test_every_key_is_told_of(path: Path) -> None:
    told = (FOLDER / "grammar.md").read_text(encoding="utf-8")
    sections = {part.partition("]`")[0]: part for part in told.split("\n## `[")}
    for use, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
        if isinstance(table, dict) and use != "languages":
            assert [key for key in table if f"`{key}`" not in sections[use]] == []


def test_the_first_languages_keep_their_order() -> None:
    """Between languages that say as much, and between those that a sentence may be in, the first one holds."""
    assert [*languages()][:7] == ["en", "ru", "de", "es", "fr", "zh", "ja"]


# -- words elsewhere ---------------------------------------------------------------------------------------------------

OTHER_LETTERS = {
    "promt/phrases.py": "traditional characters beside their simplified forms: a folding table",
    "retrieval/terms.py": "letters beside what they are folded to, and the Arabic article that stems are cut from",
    "promt/time_words.py": "letters with accents beside those without: a folding table",
    "memory/rules/precision.py": "ranges of capital letters, and the signs of year and month in a date",
    "promt/lookalikes.py": "letters beside the Latin ones that they look like: a folding table",
}
"""Where letters beyond ASCII may stand in a literal, and why; escaped ones are ranges of Unicode."""
OF_COMPUTING = {"aux", "con", "const", "dir", "est", "fatal", "media", "temporal", "todo", "trait"}
"""Words of other languages that programs use, too, and an English ending."""


@each("path", MODULES)
@pytest.mark.loop("check")
def test_no_other_file_holds_letters_of_another_language(path: Path) -> None:
    found = [text for text in literals_of(path) if any(ord(char) > 0x7F and char.isalpha() for char in text)]
    assert bool(found) == (name_of(path) in OTHER_LETTERS), found


def _words_of(text: str) -> set[str]:
    return set(re.findall("[a-z]+", text.lower()))


def _english() -> set[str]:
    """The words of English that this project uses: of its file, of what it says of itself, of the names in its code."""
    written = [FOLDER / "en.toml", *sorted((ROOT / "docs").rglob("*.md"))]
    names = {name for path in MODULES for name in names_of(path)} | {*keyword.kwlist}
    return _words_of(" ".join([*(path.read_text(encoding="utf-8") for path in written), *names]))


@cache
def _foreign() -> set[str]:
    """Function words of the other languages, and all their words that are long enough to be no part of a code."""
    texts = [path.read_text(encoding="utf-8").lower() for path in FILES if path.stem != "en"]
    long = {word for text in texts for word in re.findall(r"(?<![\w\\])[a-z]{5,}(?!\w)", text)}
    short = {word for word in list_words("stop_words", "words") if len(word) > 2}
    return (long | short) - _english() - OF_COMPUTING


@each("path", MODULES)
@pytest.mark.loop("check")
def test_no_other_file_holds_words_of_another_language(path: Path) -> None:
    found = _words_of(" ".join(literals_of(path))) & _foreign()
    assert not found
