"""Who a sentence is about, as far as its pronouns tell: the one who speaks, or somebody else.

Rule 1: pronouns and possessives only. A language that drops them is read as saying nothing, and ranking goes by the rest.
Rule 2: pure and linear in the text; the callers bound its length.
"""
# words of several scripts are the subject here

import re

_SPACED = (
    "i me my mine myself we us our ours ourselves let's lets "
    "ich mir mich mein meine meinem meinen meiner meines wir uns unser unsere unserem unseren unserer "
    "yo mí mi mis mío mía nos nosotros nosotras nuestro nuestra nuestros nuestras conmigo "
    "je j moi mon ma mes nous notre nos eu meu minha meus minhas mim nós nosso nossa nossos nossas "
    "io mio mia noi nostro nostra ja mnie mój moja moje nam nas nasz nasza nasze "
    "я мне меня мной мой моя моё мое мои моего моей моих моим моими мою мы нам нас нами наш наша наше наши нашего нашей наших нашим "
    "bana benim bizim मैं मुझे मेरा मेरी मेरे हम हमारा हमारी हमें أنا لي عندي نحن"
)
_UNSPACED = "我 咱 私 僕 俺 うち わたし ぼく ฉัน ผม เรา 나는 나의 내 제 저는 저의 우리"
_THE_USER = "the user|the user's|der nutzer|die nutzerin|el usuario|la usuaria|l'utilisateur|l'utilisatrice|o usuário|пользователь"
_THE_USER_UNSPACED = "用户|用戶|ユーザー"

_FIRST_PERSON = rf"(?<!\w)(?:{'|'.join(_SPACED.split())})(?!\w)|{'|'.join(_UNSPACED.split())}"
_speaks = re.compile(_FIRST_PERSON, re.IGNORECASE).search
_is_about = re.compile(rf"{_FIRST_PERSON}|(?<!\w)(?:{_THE_USER})(?!\w)|{_THE_USER_UNSPACED}", re.IGNORECASE).search


def speaks_of_self(text: str) -> bool:
    """Return whether the speaker names themselves or a group with them in it."""
    return _speaks(text) is not None


def is_about_user(text: str) -> bool:
    """Return whether a stored statement is about the user: in the first person, or as "the user"."""
    return _is_about(text) is not None
