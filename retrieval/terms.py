"""The terms of the full-text index: text folded, segmented by script, split at identifiers' seams, stemmed.

Rule 1: a term holds only [a-z0-9] and non-ASCII characters, so that FTS5's `ascii` tokenizer takes it as it is.
Rule 2: the same text gives the same terms for one `version`; deletion from a contentless table depends on it.
Rule 3: it knows neither tables nor query syntax, and no text makes it fail.
"""

# ruff: noqa: RUF001  (letters of many scripts are what this file is about)

import re
import threading
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import chain
from typing import cast

import Stemmer
from msgspec import Struct

from promt.patterns import compile_late
from protocol.saying import FIRST_UNSPACED
from retrieval.stopwords import find_latin_language, stop_words_for

OUTPUT_VERSION = 3
"""The version of the terms; a change of a text's terms raises it."""
MAX_TERM_CHARS = 64
"""Longer words are blobs, not language: their first 64 characters find them again."""
MAX_QUERY_TERMS = 32
MAX_QUERY_PAIRS = 128
"""Terms of scripts without blanks, whose words are pairs of characters; a search by rare ones may use fewer."""
MAX_QUERY_CHARS = 512
"""These three bound a query's cost: an OR query pays for every row that each of its terms is in."""
CACHED_WORDS = 8192
"""The words that a text is made of, most times. Four times as many save one miss in seven, and no time that could be
told (4.3 MB of code and documentation through `index_terms`), but keep 17 MB of the names of 100,000 files."""

_CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f"  # Thai, Lao, Myanmar, Khmer
_MARK_FLOOD = compile_late(r"([^\w\s]{8})[^\w\s]+")
"""Runs of marks that are cut to eight: no word has more in a row, and normalising a run costs its length squared.
Other signs are cut by it, too; they are not indexed anyway."""


def _compounds(letter: str) -> str:
    """Return the pattern of words that signs of identifiers, paths, addresses, versions and elisions hold together."""
    number = r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?(?![\w,])"
    return rf"{number}|{letter}+(?:(?:[._'@/\\-]|:(?:[:\\]|//?)?){letter}+)*(?:\+\+|\#(?!\w))?"


_ASCII_TOKEN = compile_late(_compounds("[a-zA-Z0-9]"))


class _Scripts(Struct, frozen=True):
    """Patterns over all of Unicode: compiling them costs more than a search, and English needs none."""

    token: re.Pattern[str]
    cjk: re.Pattern[str]
    unspaced: re.Pattern[str]


@cache
def _spelling_marks() -> frozenset[str]:
    r"""Return vowel signs and viramas: not `\w`, yet they distinguish words in the scripts of India and around."""
    blocks = (range(0x0900, 0x1AB0), range(0x1B00, 0x1DC0), range(0xA800, 0xAC00), range(0x11000, 0x11F60))
    return frozenset(chr(point) for block in blocks for point in block if unicodedata.category(chr(point))[0] == "M")


@cache
def _scripts() -> _Scripts:
    marks = "".join(sorted(_spelling_marks()))
    token = rf"[{_CJK}]+|[{_UNSPACED}]+|" + _compounds(rf"(?:[^\W_{_CJK}{_UNSPACED}]|[{marks}])")
    return _Scripts(re.compile(token), re.compile(f"[{_CJK}]"), re.compile(f"[{_UNSPACED}]"))


_HIDDEN_SEAM = compile_late("(?<=[\u0620-\u06ff])\u200c(?=[\u0620-\u06ff])")
"""Persian has an invisible joiner between a word and its ending, which few people type."""
_RINGED = compile_late("\\w*[äöüøåÄÖÜØÅ]\\w*")
_DIGRAPHS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "Ø": "Oe", "Å": "Aa"}
)
"""The spellings of these letters on a keyboard that has none; without their signs they are found anyway."""
_ARABIC_ARTICLE = compile_late("^[وف]?(?:[بك]?ال|لل)(?=.{3})")

_SEAMS = (
    compile_late(r"[@/\\:]+"),
    compile_late(r"\."),
    compile_late(r"[_'-]"),
    compile_late(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])"),
    compile_late(r"(?<=[A-Za-z]{3})(?=[0-9]+$)"),
)
"""Seams of a compound, loosest first: `src/fooBar.py` is `src` and `fooBar.py`; that is `fooBar` and `py`."""
_CLITIC = compile_late(r"'(?:s|t|re|ll|ve|d|m)(?!\w)", re.IGNORECASE)
_SIGNS = compile_late(r"[._'@/\\:-]+")
_SIGNS_IN_NUMBER = compile_late(r"(?<=[0-9])[._'@/\\:-]+(?=[0-9])")
_VERSION_SIGN = compile_late(r"^v(?=[0-9]+x)")
_SPOKEN_SUFFIXES = {"++": "plusplus", "#": "sharp"}

_FOLDED_LETTERS = {
    "’": "'",
    "ʼ": "'",
    "‘": "'",
    "‐": "-",
    "\u00ad": "",
    "ß": "ss",
    "ẞ": "SS",
    "æ": "ae",
    "Æ": "AE",
    "œ": "oe",
    "Œ": "OE",
    "ø": "o",
    "Ø": "O",
    "đ": "d",
    "Đ": "D",
    "ł": "l",
    "Ł": "L",
    "ħ": "h",
    "Ħ": "H",
    "ı": "i",
    "ё": "е",
    "Ё": "Е",
    "ѐ": "е",
    "Ѐ": "Е",
    "ѝ": "и",
    "Ѝ": "И",
    "آ": "ا",
    "أ": "ا",
    "إ": "ا",
    "ٱ": "ا",
    "ى": "ي",
    "ی": "ي",
    "ة": "ه",
    "ک": "ك",
    "ـ": "",
}
"""Letters that Unicode does not take apart, or that are typed in two ways. `й` and its like stay: they are letters."""


class _Folding(dict[int, str]):
    """`str.translate`'s table, filled as characters are met: what each becomes before words are cut, case kept."""

    def __missing__(self, point: int) -> str:
        self[point] = folded = _fold_character(chr(point))
        return folded


def _fold_character(char: str) -> str:
    if char in _FOLDED_LETTERS:
        return _FOLDED_LETTERS[char]
    if char < "\x7f":
        return max(char, " ")
    category = unicodedata.category(char)
    match category[0]:
        case "M":
            return char if char in _spelling_marks() else ""
        case "L":
            letters = unicodedata.normalize("NFD", char)
            loses_marks = letters[0] < "\x7f" or "\u0370" <= letters[0] <= "\u03ff"
            return "".join(c for c in letters if not unicodedata.combining(c)) if loses_marks else char
        case "N":
            return str(unicodedata.decimal(char, char))
        case _:
            return "" if category == "Cf" else " "


_FOLDING = _Folding()
_english = cast("Callable[[str], str]", Stemmer.Stemmer("english", 0).stemWord)  # pyright: ignore[reportUnknownMemberType]
_russian = cast("Callable[[str], str]", Stemmer.Stemmer("russian", 0).stemWord)  # pyright: ignore[reportUnknownMemberType]
_STEMMER_VERSION = str(Stemmer.version())  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
_german = cast("Callable[[str], str]", Stemmer.Stemmer("german", 0).stemWord)  # pyright: ignore[reportUnknownMemberType]
_stemming = threading.Lock()  # a stemmer is not safe for several threads at once; hits of the cache do not come here


def _stem_of(word: str) -> str:
    word = word[:MAX_TERM_CHARS]
    if "\u0400" <= word[0] <= "\u04ff":
        stem = _russian
    elif word.isascii() and word.isalpha():
        stem = _english
    elif "\u0620" <= word[0] <= "\u06ff":
        return _ARABIC_ARTICLE.sub("", word)
    else:
        return word
    with _stemming:
        return stem(word)


_stem = lru_cache(CACHED_WORDS)(_stem_of)


@lru_cache(CACHED_WORDS)
def _german_stem(word: str) -> str:
    if not (word.isascii() and word.isalpha()):
        return _stem(word)
    with _stemming:
        return _german(word[:MAX_TERM_CHARS])


def _join(compound: str) -> str:
    """Return the whole within the alphabet: `fooBar`, `foo_bar` and `foo-bar` are one word, `v1.2` is `1.2`, not 12."""
    whole = _SIGNS.sub("", _SIGNS_IN_NUMBER.sub("x", compound.casefold()))
    return _VERSION_SIGN.sub("", whole)[:MAX_TERM_CHARS]


def _split(compound: str, level: int = 0) -> tuple[list[str], list[str]]:
    """Return the innermost words of a compound in order, and their wholes at each seam, innermost first."""
    for depth in range(level, len(_SEAMS)):
        pieces = [piece for piece in _SEAMS[depth].split(compound) if piece]
        if len(pieces) > 1:
            inner = [_split(piece, depth + 1) for piece in pieces]
            words = [word for leaves, _ in inner for word in leaves]
            return words, [*(whole for _, wholes in inner for whole in wholes), _join(compound)]
    return [_join(compound)], []


def _parts(token: str) -> tuple[list[str], list[str]]:
    """Return the folded words and wholes of a token: `C++`: `c`, `cplusplus`; `don't`: `don`; `1,200`: `1200`."""
    if token.isdecimal() or (token.isalpha() and (token.islower() or token.istitle())):  # most are: there is no seam
        return [token.casefold()[:MAX_TERM_CHARS]], []
    token = _CLITIC.sub("", token.replace(",", ""))
    bare = token.rstrip("+#")
    words, wholes = _split(bare)
    if suffix := _SPOKEN_SUFFIXES.get(token[len(bare) :]):
        wholes.append(_join(bare) + suffix)
    return words, wholes


def _word_terms(token: str) -> tuple[str, ...]:
    # most words have no seam, and looking for one takes longest; uncached, because the caller caches the whole token
    if token.isascii() and token.isalpha() and (len(token) == 1 or token[1:].islower()):
        return (_stem_of(token.lower()),)
    words, wholes = _parts(token)
    return tuple(_stem(word) for word in (*words, *wholes))


_cached_word_terms = lru_cache(CACHED_WORDS)(_word_terms)


def _grams(run: str, *, alone: bool) -> list[str]:
    """Return the overlapping pairs of a run without spaces.

    With `alone`, each character comes before them; without it, characters are returned only where there is no pair.
    """
    pairs = [run[i : i + 2] for i in range(len(run) - 1)]
    return [*run, *pairs] if alone or not pairs else pairs


def _tokens(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_TOKEN.findall(text)
    text = unicodedata.normalize("NFKC", _HIDDEN_SEAM.sub("-", _MARK_FLOOD.sub(r"\1 ", text)))
    typed = [word.translate(_DIGRAPHS) for word in _RINGED.findall(text)]
    return _scripts().token.findall(" ".join([text, *typed]).translate(_FOLDING))


def _is_german(tokens: list[str]) -> bool:
    return find_latin_language(list(map(str.casefold, tokens))) == "de"


class SnowballLexicon:
    """The `Lexicon` port: English, German and Russian stems, and grams for scripts without spaces."""

    version: str = f"{OUTPUT_VERSION}/stemmer {_STEMMER_VERSION}/unicode {unicodedata.unidata_version}"
    """Names everything that the terms depend on: another Unicode or stemmer is another index."""

    def index_terms(self, text: str) -> list[str]:
        """Return every term, with repetitions.

        A German text is found by English stems too: a single word has no language.
        """
        terms: list[str] = []
        tokens = _tokens(text)
        if _is_german(tokens):
            words = [word for token in tokens if token[0] < FIRST_UNSPACED for word in chain(*_parts(token))]
            terms += [stem for word in words if (stem := _german_stem(word)) != _stem(word)]
        if text.isascii() and len(max(tokens, key=len, default="")) <= MAX_TERM_CHARS:
            # the loop below gives the same, and takes longer
            return [*terms, *chain.from_iterable(map(_cached_word_terms, tokens))]
        for token in tokens:
            if token[0] < FIRST_UNSPACED:
                terms += _cached_word_terms(token) if len(token) <= MAX_TERM_CHARS else _word_terms(token)
            elif _scripts().cjk.match(token):
                terms += _grams(token, alone=True)
            elif _scripts().unspaced.match(token):
                terms += _grams(token, alone=False)
            else:
                terms += _word_terms(token)
        return terms

    def query_terms(self, text: str) -> list[str]:
        """Return the first distinct terms that carry meaning; function words only when there is nothing else."""
        found = _tokens(_beginning(text))
        tokens = [_query_token(token) for token in found]
        stops = stop_words_for([word for words, _ in tokens for word in words])
        telling = [
            part
            for words, wholes in tokens
            if not stops.issuperset(words)
            for part in (*(word for word in words if word not in stops), *wholes)
        ]
        chosen = telling or [part for words, wholes in tokens for part in (*words, *wholes)]
        stem = _german_stem if _is_german(found) else _stem
        terms = list(dict.fromkeys(map(stem, chosen)))
        spaced = [term for term in terms if term[0] < FIRST_UNSPACED]
        pairs = [term for term in terms if term[0] >= FIRST_UNSPACED]
        kept = {*spaced[:MAX_QUERY_TERMS], *pairs[:MAX_QUERY_PAIRS]}
        return [term for term in terms if term in kept]


def _query_token(token: str) -> tuple[list[str], list[str]]:
    is_unspaced = token[0] >= FIRST_UNSPACED and (_scripts().cjk.match(token) or _scripts().unspaced.match(token))
    return (_grams(token, alone=False), []) if is_unspaced else _parts(token)


def _beginning(text: str) -> str:
    """Return the beginning of a query that is searched for, cut between words where there is a blank."""
    head = text[:MAX_QUERY_CHARS]
    return head if len(text) <= MAX_QUERY_CHARS else head.rpartition(" ")[0] or head
