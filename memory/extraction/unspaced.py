"""What is told in scripts without blanks, compared by the pieces between small words: Chinese, Japanese, Thai.

Rule 1: pure. A piece is compared by the pairs of its characters, so that another order of the pieces is no other matter.
"""
# statements of these languages are the subject here

from itertools import pairwise
from typing import Final

from promt.patterns import compile_late

UNSPACED: Final = compile_late("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]+")
_NOT: Final = compile_late("[不没沒未无無勿莫禁]|(?<!分)[别別](?!人)|ない|なかった|ません|ไม่|อย่า")
_SMALL: Final = compile_late(
    "ユーザー|使用者|でした|ました|という|用户|用戶|喜欢|喜歡|喜爱|偏好|偏爱|希望|名字|名叫|叫做|非常|团队|项目|です|ます|こと|もの|好き|"
    "[叫是的了在我你您他她它们們和与跟也都就把被会會请請吧呢啊吗着过有很爱这那个だはがのをにでともへやかねよ私僕]"
)
"""Words of person, liking and grammar, and what joins the others."""


def count_denials(text: str) -> int:
    """How often the text denies."""
    return len(_NOT.findall(text))


def pieces_of(text: str) -> set[str]:
    """The pairs of neighbouring characters of its pieces; a piece of one character is itself."""
    found: set[str] = set()
    for token in UNSPACED.findall(text):
        for piece in _SMALL.sub(" ", _NOT.sub(" ", token)).split():
            found.update([piece] if len(piece) == 1 else map("".join, pairwise(piece)))
    return found
