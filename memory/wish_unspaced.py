"""Whether words of scripts without blanks hold what is to be kept: Chinese and Japanese, told by the pieces between small words.

Rule 1: pure. A piece is compared by the pairs of its characters, so that another order of the pieces is no other matter.
Rule 2: what denies or depends must do so as often in both, and what is denied must be the same.
"""
# ruff: noqa: RUF001  # statements of these languages are the subject here

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

UNSPACED: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]+")
_NOT: Final = re.compile("[不没沒未无無勿莫禁]|(?<!分)[别別](?!人)|ない|なかった|ません|ไม่|อย่า")
_IF: Final = re.compile("如果|要是|除非|只有|直到|の時|たら|ければ")
_SMALL: Final = re.compile(
    "ユーザー|使用者|でした|ました|という|用户|用戶|喜欢|喜歡|喜爱|偏好|偏爱|希望|名字|名叫|叫做|非常|团队|项目|です|ます|こと|もの|好き|"
    "[叫是的了在我你您他她它们們和与跟也都就把被会會请請吧呢啊吗着过有很爱这那个だはがのをにでともへやかねよ私僕]"
)
"""Words of person, liking and grammar, and what joins the others."""
_REQUEST: Final = re.compile("^.*(?:[记記](?:住|下|得|录|一下)|保存|覚えて)")
"""What comes before it leads up to what is to be kept."""
_CLAUSE: Final = re.compile("[，,、；;：:。！？!?\n]")
_TOKEN: Final = re.compile(rf"{UNSPACED.pattern}|(?:(?!{UNSPACED.pattern})[^\W_])+")


def turns_of(text: str) -> tuple[int, int]:
    """How often the text denies, and how often it depends on something."""
    return len(_NOT.findall(text)), len(_IF.findall(text))


def held_unspaced(said: str, told: str, *, is_whole: bool) -> int | None:
    """How much matter of what is told is in what was said, None where more is told than that.

    Where the telling `is_whole`, nothing may be left out of a clause before what is taken from it: it may say whose that is.
    """
    if not is_whole:
        matter = {piece for pieces in _pieces(told) for piece in pieces}
        return len(matter) if matter <= {piece for pieces in _pieces(said) for piece in pieces} else None
    if turns_of(said) != turns_of(told):
        return None
    matter = {piece for pieces in _pieces(told) for piece in pieces}
    kept: set[str] = set()
    for clause in _CLAUSE.split(said):
        found = list(_pieces(_REQUEST.sub("", clause)))
        if found and found[0][0] in matter:
            kept.update(*found)
    return len(matter) if matter <= kept else None


def _pieces(text: str) -> Iterator[list[str]]:
    """Of each piece the pairs of neighbouring characters, with what is denied in it; of other scripts the words."""
    for token in _TOKEN.findall(text):
        if not UNSPACED.match(token):
            yield [token.casefold()]
            continue
        denied = [token[found.start() : found.end() + 1] for found in _NOT.finditer(token)]
        for piece in _SMALL.sub(" ", _NOT.sub(" ", token)).split():
            yield [*([piece] if len(piece) == 1 else map("".join, pairwise(piece))), *denied]
