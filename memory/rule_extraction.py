"""Facts that the user states in so many words, found without a model.

Rule 1: explicit statements only, at the beginning of a sentence of the user's own; precision before yield: what may be a
question, a quotation, a joke or a passing wish is left alone.
Rule 2: the wording is kept; nothing is inferred. Forgetting is never done by rule.
Rule 3: pure. The statements of a language are rows of a table, what a kind of statement means is a row of `MEANING`.
"""
# ruff: noqa: RUF001  # statements of many languages are the subject here

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

from promt.phrases import MASK, mask_quotes
from promt.render import shorten
from protocol.memory import Fact, FactEvidence, SemanticFields

Kind: TypeAlias = Literal["remember", "name", "call_me", "preference", "instruction", "no_longer"]

MAX_QUOTE_CHARS = 500
MAX_CONTENT_CHARS = 800
MAX_ITEM_CHARS = 20_000  # what people state about themselves is not found further down
MIN_CONTENT_CHARS = 3
MAX_NAME_WORDS = 4


def _meaning(category: str, attribute: str, cardinality: str, *, about_user: bool = True) -> SemanticFields:
    return SemanticFields(
        intent="explicit_store",
        explicitness="explicit",
        category=category,  # type: ignore[arg-type]
        subject="current_user",
        attribute=attribute,
        scope_hint="user_global" if about_user else "unknown",
        durability="long_lived",
        sensitivity="personal" if category == "identity" else "none",
        certainty="high",
        cardinality=cardinality,  # type: ignore[arg-type]
    )


MEANING: Mapping[Kind, SemanticFields] = {
    "remember": _meaning("custom", "custom", "set", about_user=False),
    "name": _meaning("identity", "name", "single"),
    "call_me": _meaning("identity", "preferred_name", "single"),
    "preference": _meaning("preference", "custom", "set"),
    "instruction": _meaning("recurring_instruction", "custom", "set"),
    "no_longer": _meaning("preference", "custom", "set"),
}


class _Statement(NamedTuple):
    """What a sentence states: the kind, the words that matter, and where statement and words begin and all of it ends."""

    kind: Kind
    value: str
    begins: int
    value_begins: int
    ends: int


_LEAD = re.compile(
    r"(?:hi|hello|hey|ok|okay|well|so|also|and|by the way|btw|please|yes|no|thanks|thank you|actually|fyi|one more thing|"
    r"привет|здравствуйте|кстати|пожалуйста|и|да|спасибо|ещё|hallo|übrigens|bitte|also|und|ja|danke|guten tag|guten morgen|"
    r"hola|por favor|por cierto|y|sí|gracias|además|buenos días|bonjour|salut|au fait|s'il te plaît|s'il vous plaît|stp|et|"
    r"oui|merci|你好|您好|请|另外|对了|谢谢|こんにちは|はじめまして|ちなみに|はい|ありがとう)"
    r"(?:\s*[,!:，、！：—–-]\s*|\s+|(?<=[\u3040-\u9fff]))",
    re.IGNORECASE,
)
MAX_LEADS = 4  # "Hi, thanks! Also please …" and what else comes before a statement
_NAME = r"(?P<value>[^\s,.;:!?()]+(?:[ ][^\s,.;:!?()]+){0,3}?)"
_NAME_END = r"(?=\s*(?:[,.;:!?()，。！？、]|$)|\s+(?:and|but|und|aber|y|pero|et|mais|и|а|но|from|aus|from)\b)"
_REST = r"(?P<value>.+)"

_EN_DO = (
    "answer|reply|respond|use|write|call|ask|run|add|include|show|format|put|keep|give|speak|talk|send|commit|push|test|check|"
    "explain|translate|cite|avoid|start|begin|end|make|do|delete|change|prefer|refer|quote|summari[sz]e|mention|suggest|"
    "address|round|convert|indent|name|commit|deploy|sign|begin|list|provide|remind|say|tell|assume|touch|edit|modify|remove"
)
_RU_DO = (
    "отвечай|пиши|используй|говори|называй|делай|проверяй|добавляй|показывай|объясняй|запускай|предлагай|спрашивай|удаляй|"
    "меняй|отправляй|указывай|обращайся|начинай|давай|переводи|форматируй|применяй|ставь|коммить|пушь|трогай"
)
_DE_DO = (
    "antworte|schreibe?|sprich|benutze?|verwende|nutze?|nenne?|frage?|zeige?|erkläre?|mache?|prüfe|teste|lösche?|ändere|"
    "sende?|gib|füge?|beginne?|formatiere|zitiere|setze?|rede|duze|sieze"
)
_DE_TO_DO = (
    "antworten|schreiben|sprechen|benutzen|verwenden|nutzen|nennen|fragen|zeigen|erklären|prüfen|testen|formatieren"
)
_ES_DO = (
    "responde|contesta|usa|utiliza|escribe|habla|muestra|pregunta|incluye|explica|haz|pon|da|dame|trátame|llámame|cita|añade|"
    "uses|utilices|respondas|contestes|escribas|hables|borres|cambies|envíes|hagas|pongas|incluyas|muestres|toques"
)
_FR_DO = (
    "réponds|répondez|utilise|utilisez|écris|écrivez|parle|explique|montre|demande|ajoute|fais|mets|donne|cite|supprime|"
    "modifie|envoie|tutoie|vouvoie|touche|change"
)
_FR_TO_DO = "répondre|utiliser|écrire|parler|expliquer|montrer|demander|ajouter|faire|mettre|citer"

_TABLE: tuple[tuple[Kind, str], ...] = (
    # -- remember that … -------------------------------------------------------------------------------------------
    (
        "remember",
        r"(?:(?:can|could|would|will) you (?:please )?|i want you to |make sure (?:to |you )|always )?"
        r"(?:remember|memori[sz]e|keep in mind|make a note|take a note|note down|don'?t (?:you )?(?:ever )?forget|"
        r"do not (?:ever )?forget|never forget|(?:save|add|commit) (?:this |it )?to (?:your )?memory)"
        r"(?: (?:this|the following))?(?: that(?! (?:time|day|night|one|guy|song|movie|was|is)\b) |\s*:\s*|"
        r",? (?=(?:my|i|i'm|i've|we|our)\b))"
        r"(?!i (?:told|said|asked|mentioned)\b|we (?:talked|discussed)\b)" + _REST,
    ),
    ("remember", r"(?:запомни|не забудь|не забывай|помни|имей в виду)(?:те)?(?:,? пожалуйста)?(?:,?\s*что|\s*[:—–-]|,)\s+" + _REST),
    (
        "remember",
        r"(?:merke? dir|merken sie sich|denke? (?:bitte )?daran|vergiss nicht|behalte? im kopf|notiere? dir)(?: bitte)?"
        r"(?:,?\s*dass\s|\s*:)\s*" + _REST,
    ),
    (
        "remember",
        r"(?:recuerda|recuerde|no (?:te )?olvides|no olvide|memoriza|ten en cuenta|acuérdate|toma nota)(?:,? por favor,?)?"
        r"(?:\s+(?:de )?que\s|\s*:)\s*" + _REST,
    ),
    (
        "remember",
        r"(?:souviens-toi|souvenez-vous|rappelle-toi|rappelez-vous|retiens|retenez|n'oublie pas|n'oubliez pas|"
        r"garde en mémoire|prends note)(?: bien)?(?:\s+que\s+|\s+(?=qu')|\s*:\s*)(?:qu')?" + _REST,
    ),
    ("remember", r"(?:请你?|帮我|麻烦你?)?(?:记住|記住|记下|記下|牢记|别忘了|別忘了|不要忘记)[，,：:\s]*(?P<value>.{2,})"),
    ("remember", r"(?P<value>.{2,}?)(?:という|って)?(?:こと)?[をと](?:覚えて|記憶して)(?:おいて|ください|下さい|ね|ほしい).{0,6}$"),
    ("remember", r"(?:覚えて|記憶して)おいて(?:ください|下さい|ね)?[：:、，,]\s*" + _REST),
    # -- my name is … ----------------------------------------------------------------------------------------------
    ("name", r"(?:my (?:full |first |real )?name is|my name's|my name’s)\s+" + _NAME + _NAME_END),
    ("name", r"(?:меня зовут|мо[её] имя(?:\s*[—–-])?)\s+" + _NAME + _NAME_END),
    ("name", r"(?:ich hei(?:ß|ss)e|mein (?:vor)?name ist)\s+" + _NAME + _NAME_END),
    ("name", r"(?:me llamo|mi nombre es)\s+" + _NAME + _NAME_END),
    ("name", r"(?:je m['’]appelle|mon (?:pré)?nom est)\s+" + _NAME + _NAME_END),
    ("name", r"我的名字(?:是|叫)\s*(?P<value>[^\s，。,.！!？?的]{1,12})(?=[，。,.！!]|$)"),
    ("name", r"我叫(?![了他她它你您车外人])\s*(?P<value>[^\s，。,.！!？?的了]{2,6})(?=[，。,.！!]|$)"),
    ("name", r"(?:私|僕|俺|わたし)の名前は\s*(?P<value>[^\s、。,.！!？?]{1,16}?)(?:です|だよ|だ|と(?:言|申)います)(?=[、。,.！!]|$)"),
    # -- call me … -------------------------------------------------------------------------------------------------
    ("call_me", r"(?:you can |you may |just )?call me\s+" + _NAME + r"(?=\s*(?:[,.;:!()]|$))"),
    ("call_me", r"(?:зови(?:те)? меня|называй(?:те)? меня|можешь звать меня)\s+" + _NAME + _NAME_END),
    ("call_me", r"(?:nenne? mich|nennen sie mich)\s+" + _NAME + _NAME_END),
    ("call_me", r"(?:llámame|puedes llamarme|llámeme)\s+" + _NAME + _NAME_END),
    ("call_me", r"(?:appelle-moi|appelez-moi|tu peux m['’]appeler)\s+" + _NAME + _NAME_END),
    ("call_me", r"(?:以后)?(?:你可以)?(?:叫|称呼)我(?:为)?(?!起床|一声|一下|的|做|去|来|过)\s*(?P<value>[^\s，。,.！!？?的]{1,8}?)(?:就好|吧|就行)?(?=[，。,.！!]|$)"),
    ("call_me", r"(?:(?:私|僕|俺)のことは|(?:私|僕|俺)を)?(?P<value>[^\s、。,.！!？?]{1,12})と呼んで(?:ください|下さい|ね)?(?=[、。,.！!]|$)"),
    # -- I prefer … ------------------------------------------------------------------------------------------------
    (
        "preference",
        r"i (?:really |generally |usually |always |much |strongly |definitely |personally )?prefer "
        r"(?!(?:not|this|that|these|those|it|them|your|option|version|if|when|both|neither|either|one|another|yours|mine|"
        r"whichever|what|how)\b|a different|to not\b|the (?:first|second|third|last|former|latter|other|new|old|left|right|"
        r"one|ones|same|previous|original)\b)" + _REST,
    ),
    ("preference", r"я (?:обычно |всегда |больше |лично )?предпочитаю (?!это|этот|эту|эти|перв|втор|не\b|тот\b|ту\b|те\b|его\b|её\b|их\b)" + _REST),
    ("preference", r"ich (?:bevorzuge|präferiere) (?:generell |immer |normalerweise )?(?!das\b|dies|die (?:erste|zweite|andere)|den (?:ersten|zweiten)|es\b|nicht\b)" + _REST),
    ("preference", r"(?:yo )?(?:siempre |normalmente )?prefiero (?!no\b|es[oae]\b|est[oea]\b|que (?:lo|la|no)\b|(?:la|el) (?:primer|segund|otr|últim)|otr[oa]\b)" + _REST),
    ("preference", r"je préfère (?!ne\b|pas\b|ça\b|cela\b|ce(?:lui|lle|tte|t)?\b|(?:la|le) (?:premi|second|deuxi|derni)|l'autre|l'un)" + _REST),
    ("preference", r"我(?:更喜欢|更喜歡|偏好|比较喜欢|比較喜歡|一直喜欢)(?!这|那|第|這)" + _REST),
    ("preference", r"(?:私|僕|俺)は(?P<value>.{1,60}?(?:の(?:ほう|方)が|が一番)好き)(?:です|だ)?"),
    # -- always …, never … -----------------------------------------------------------------------------------------
    ("instruction", rf"(?P<value>(?:from now on,? )?(?:please )?(?:always|never) (?!give up|say never)(?:{_EN_DO})\b.+)"),
    ("instruction", rf"(?P<value>from now on,? (?:please )?(?:{_EN_DO}|don'?t|do not|only|stop)\b.+)"),
    ("instruction", rf"(?P<value>(?:всегда|никогда не) (?:{_RU_DO})(?:те)?\b.+)"),
    ("instruction", rf"(?P<value>(?:{_RU_DO})(?:те)? (?:мне )?всегда .+)"),
    ("instruction", rf"(?P<value>(?:{_DE_DO}) (?:mir |mich |bitte |sie )*(?:immer|nie|niemals|stets) .+)"),
    ("instruction", rf"(?P<value>(?:immer|nie|niemals) .{{2,120}} (?:{_DE_TO_DO}))$"),
    ("instruction", rf"(?P<value>(?:siempre|nunca) (?:me )?(?:{_ES_DO})\b.+)"),
    ("instruction", rf"(?P<value>(?:{_ES_DO})(?:me)? siempre .+)"),
    ("instruction", rf"(?P<value>(?:{_FR_DO})(?:-moi|-nous|-me)? toujours .+)"),
    ("instruction", rf"(?P<value>n(?:e |['’])(?:me )?(?:{_FR_DO})(?:-moi)? jamais .+)"),
    ("instruction", rf"(?P<value>(?:toujours|ne jamais) (?:me )?(?:{_FR_TO_DO})\b.+)"),
    ("instruction", r"(?P<value>(?:请)?(?:总是|始终|永远|以后(?:请|都)?|从现在(?:开始|起)，?(?:请)?)(?:用|使用|回答|回复|以|不要|给我).{2,})"),
    ("instruction", r"(?P<value>(?:必ず|常に|いつも|今後は|これからは).{2,80}(?:して|使って|答えて|書いて|話して|使わないで)(?:ください|下さい|ね)?)$"),
    # -- no longer … -----------------------------------------------------------------------------------------------
    ("no_longer", r"(?P<value>i no longer (?:use|like|eat|drink|live|work|need|speak|study|smoke|own|play|prefer|drive|take)\b.+)"),
    ("no_longer", r"(?P<value>i (?:don'?t|do not) (?:use|like|eat|drink|live|work|smoke|own|play|drive|take)\b.{1,120}(?:any ?more|any longer))"),
    ("no_longer", r"(?P<value>я больше не (?:использую|ем|пью|живу|работаю|люблю|курю|учусь|играю|пользуюсь|вожу)\b.*)"),
    ("no_longer", r"(?P<value>ich (?:benutze|nutze|verwende|esse|trinke|wohne|lebe|arbeite|rauche|mag|spiele|fahre)\b.{0,120}(?:nicht|keine?[nmrs]?) (?:mehr\b.*|\w+ mehr\b.*))"),
    ("no_longer", r"(?P<value>ya no (?:uso|como|bebo|vivo|trabajo|fumo|juego|utilizo|estudio|conduzco)\b.*)"),
    ("no_longer", r"(?P<value>je n(?:e |['’])(?:utilise|mange|bois|habite|vis|travaille|fume|joue|aime|étudie|conduis) plus\b.*)"),
    ("no_longer", r"(?P<value>我(?:已经)?不再(?:用|使用|吃|喝|住|抽烟|吸烟|玩|在).*)"),
)  # fmt: skip


@cache
def _rules() -> tuple[tuple[Kind, re.Pattern[str]], ...]:
    """The table, compiled when the first turn needs it: a start of the process should not pay for it."""
    return tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _TABLE)


_SENTENCE_END = re.compile(
    r"(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bSt)(?<!\bMrs)(?<!\bProf)(?<!\bbzw)(?<!\be\.g)(?<!\bi\.e)(?<=[.!?…])[\"”»')\]]*\s+"
    r"|(?<=[。！？])|\n+"
)
_TRAILING = ".!?。！？…;, "
_QUESTION = re.compile(r"[?？][\s\"”»')\]]*$")
_ASKED_POLITELY = re.compile(r"(?:please |hi,? |hey,? )?(?:can|could|would|will) you ", re.IGNORECASE)
_PASSING = re.compile(
    r"\b(?:today|tonight|for now|this time|right now|just now|for this|in this case|here|tomorrow|at the moment|"
    r"сейчас|сегодня|пока|завтра|в этот раз|heute|jetzt|gerade|diesmal|morgen|hier|hoy|ahora|esta vez|mañana|aquí|"
    r"aujourd'hui|maintenant|cette fois|demain|ici)\b|今天|现在|这次|今日|今回|いまは",
    re.IGNORECASE,
)
_NO_NAME = frozenset(
    [
        "not",
        "no",
        "on",
        "in",
        "the",
        "a",
        "an",
        "at",
        "it",
        "its",
        "that",
        "this",
        "what",
        "who",
        "spelled",
        "spelt",
        "misspelled",
        "wrong",
        "missing",
        "irrelevant",
        "important",
        "back",
        "later",
        "tomorrow",
        "today",
        "tonight",
        "again",
        "now",
        "when",
        "if",
        "maybe",
        "crazy",
        "old",
        "anytime",
        "asap",
        "once",
        "up",
        "out",
        "anything",
        "whatever",
        "lazy",
        "paranoid",
        "names",
        "unknown",
        "mentioned",
        "listed",
        "here",
        "there",
        "too",
        "also",
        "nobody",
        "не",
        "как",
        "что",
        "так",
        "кто",
        "же",
        "просто",
        "nicht",
        "wie",
        "was",
        "so",
        "egal",
        "no",
        "como",
        "qué",
        "así",
        "pas",
        "comment",
        "quoi",
        "什么",
        "什麼",
        "啥",
        "何",
    ]
)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Half-open ranges of the sentences of a text, without the white space around them."""
    start = 0
    ends = [found.span() for found in _SENTENCE_END.finditer(text)]
    for end, following in [*ends, (len(text), len(text))]:
        sentence = text[start:end]
        stripped = sentence.strip()
        if stripped:
            first = start + sentence.index(stripped[0])
            yield first, first + len(stripped)
        start = following


def _is_name(value: str) -> bool:
    """Whether the words can be a person's name: capitalised where the script knows capitals, or one lower-case word."""
    words = value.split()
    if not 1 <= len(words) <= MAX_NAME_WORDS or any(word.casefold() in _NO_NAME for word in words):
        return False
    if not all(any(letter.isalpha() for letter in word) for word in words) or any(c.isdigit() for c in value):
        return False
    return value[0] == value[0].upper() or (len(words) == 1 and len(value) > 1)


def _is_stated(kind: Kind, sentence: str, value: str) -> bool:
    """Whether the words are meant as a lasting statement."""
    if len(value) < MIN_CONTENT_CHARS and kind not in {"name", "call_me"}:
        return False
    if _QUESTION.search(sentence) and not (kind == "remember" and _ASKED_POLITELY.match(sentence)):
        return False
    if kind in {"name", "call_me"}:
        is_capital = value[:1] == value[:1].upper()  # "call me maybe" is a song
        return _is_name(value) and (kind == "name" or is_capital)
    if kind == "remember":
        return any(letter.isalnum() for letter in value.replace(MASK, ""))
    return not _PASSING.search(value)


def _beginnings(masked: str) -> list[int]:
    """Where the statement of a sentence may begin: at once, or after a greeting or the like."""
    beginnings = [0]
    while len(beginnings) <= MAX_LEADS and (lead := _LEAD.match(masked, beginnings[-1])):
        beginnings.append(lead.end())
    return beginnings


def _statement(sentence: str, masked: str) -> _Statement | None:
    """The first statement that the sentence is."""
    for begins in _beginnings(masked):
        for kind, pattern in _rules():
            found = pattern.match(masked, begins)
            if found is None:
                continue
            start, end = found.span("value")
            value = sentence[start:end].strip().rstrip(_TRAILING)
            if _is_stated(kind, sentence, value):
                return _Statement(kind, value, begins, start, found.end())
    return None


def _content(statement: _Statement, sentence: str) -> str:
    """The statement in the user's own words: what was to be remembered, or the whole of it."""
    is_value = statement.kind in {"remember", "instruction", "no_longer"}
    stated = statement.value if is_value else sentence[statement.begins : statement.ends].rstrip(_TRAILING)
    return shorten(stated[:1].upper() + stated[1:], MAX_CONTENT_CHARS)


def _fact(item_id: str, sentence: str, masked: str) -> Fact | None:
    statement = _statement(sentence, masked)
    if statement is None:
        return None
    meant = statement
    if statement.kind == "remember":  # "remember that my name is Anna" states a name
        inner = statement.value_begins
        meant = _statement(sentence[inner:], masked[inner:]) or statement
    meaning = MEANING[meant.kind]
    return Fact(
        content=_content(statement, sentence),
        value=meant.value if meaning.category == "identity" else None,
        semantic=meaning,
        evidence=FactEvidence(quote=sentence[:MAX_QUOTE_CHARS], item_id=item_id),
    )


def extract_statements(user_items: Mapping[str, str]) -> list[Fact]:
    """The facts that the user's messages (text by item id) state outright, in the order in which they were said."""
    facts: dict[str, Fact] = {}
    for item_id, whole in user_items.items():
        text = whole[:MAX_ITEM_CHARS]
        masked = mask_quotes(text)
        for start, end in _sentences(masked):
            fact = _fact(item_id, text[start:end], masked[start:end])
            if fact is not None:
                facts.setdefault(fact.content.casefold(), fact)
    return list(facts.values())
