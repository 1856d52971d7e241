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

# Most of them are whole words, and found in a set: one pattern of all takes twice as long to compile, and to search each text with.
_WORDS = frozenset(word for word in _SPACED.split() if re.fullmatch(r"\w+", word))
_OTHERS = (word for word in _SPACED.split() if word not in _WORDS)  # an apostrophe, vowel signs: no word characters
_words_of = re.compile(r"\w+").findall
_has_other = re.compile(rf"(?<!\w)(?:{'|'.join(_OTHERS)})(?!\w)|{'|'.join(_UNSPACED.split())}").search
_names_user = re.compile(rf"(?<!\w)(?:{_THE_USER})(?!\w)|{_THE_USER_UNSPACED}").search


def speaks_of_self(text: str) -> bool:
    """Return whether the speaker names themselves or a group with them in it."""
    folded = text.casefold()
    return not _WORDS.isdisjoint(_words_of(folded)) or _has_other(folded) is not None


def is_about_user(text: str) -> bool:
    """Return whether a stored statement is about the user: in the first person, or as "the user"."""
    return speaks_of_self(text) or _names_user(text.casefold()) is not None
