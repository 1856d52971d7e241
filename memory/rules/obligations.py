"""Whether a text asks something of whoever reads it: an order, a rule, a wish about how to act, words to an assistant.

Rule 1: pure, and strict. It judges what an agent notes, which nobody has to believe: in doubt a text asks.
Rule 2: every way to ask is one row, in any language; verbs of orders are those of `promt/statements.toml`.
"""
# ruff: noqa: RUF001  # words of many languages are the subject here

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from memory.extraction.rule_extraction import extract_statements
from memory.rules.categories import OBEYED
from memory.rules.hygiene import find_junk
from memory.rules.quotes import OBLIGES
from promt.intents import detect
from promt.layout import sentences
from promt.own_words import KEEPS, statements
from promt.render import UNSEEN

MAX_READ_CHARS: Final = 4000
"""A longer text is no note that could be looked through word by word."""


class Ask(NamedTuple):
    """A way to ask, with a sentence for a person."""

    name: str
    why: str


TOO_LONG: Final = Ask("too_long", f"it is longer than {MAX_READ_CHARS} characters: nobody can tell what it asks")
STATED: Final = Ask("rule", "it states a rule or an order")
OF_MEMORY: Final = Ask("memory_order", "it tells what to remember or to forget")
ORDER: Final = Ask("order", "it begins as an order does")

_LASTING = (
    r"\b(?:from (?:now|here|today|this point) on(?:ward)?s?|as of (?:now|today)|going forward|henceforth|in (?:the )?future|whenever|every time|each time|any time|from here|by default|"
    r"no matter what|at all times|in (?:all|every|each|any) (?:future )?(?:\w+ )?(?:answer|repl|response|conversation|chat|session|mail|letter|message|recipe|file|chart|example|report)\w*|"
    r"ab (?:jetzt|sofort|heute|nun)|von (?:jetzt|nun) an|künftig|zukünftig|in zukunft|jedes ?mal|grundsätzlich|immer wenn|"
    r"a partir de (?:ahora|hoy)|(?:de ahora|desde ahora|desde hoy) en adelante|en (?:el futuro|adelante)|cada vez|"
    r"désormais|dorénavant|à (?:partir de maintenant|l'avenir)|à chaque fois|chaque fois|"
    r"(?:с этого (?:дня|момента)|отныне|впредь|в будущем|каждый раз|всякий раз))\b"
    r"|以后|今后|从现在|从今|每次|每当|これから|今後|以後|毎回"
    r"|\b(?:sempre|mai più|zawsze|nigdy|altijd|nooit|alltid|aldrig|altid|aldri|aina|koskaan|vždy|nikdy|завжди|ніколи|her zaman|asla|daima|selalu|jangan)\b|हमेशा|कभी नहीं|دائم[اًا]|أبد[اًا]|항상|절대|언제나"
    r"|\b(?:rules?|policy|policies|conventions?|best practices?|guidelines?|regel|regeln|richtlinien?|reglas?|normas?|règles?|правил\w*)\b|规定|规则|ルール"
    r"|\b(?:on|before|after|for|with|in|at) (?:every|each) \w+|\A\W*(?:all|every|each|any|no|alle|jede[rsnm]?|tod[oa]s|cada|tous|toutes|chaque|все|всё|кажд\w+)\b|\A\W*(?:所有|全部|すべて|全ての)"
)
_DUTY = (
    r"\b(?:must|mustn't|should|shouldn't|shall|ought|need(?:s|ed)? to|needn't|(?:has|have|had) (?:got )?to|(?:is|are|be|been|was|were) (?:to be|supposed|required|expected|obliged|allowed|permitted|"
    r"authori[sz]ed|instructed|told|asked) ?|may (?:not|only)|can(?:not|'t) be (?:changed|asked|refused)|only ever|do(?:es)? not (?:need|require)|don't|never needs?|mandatory|forbidden|prohibited|obligatory|"
    r"(?:no|without|needs? no|requires? no|unnecessary|not (?:needed|necessary|required))\b[^.;]{0,30}\b(?:asking|confirm\w*|approv\w*|second|check\w*|questions?|review\w*|look)|"
    r"(?:confirm\w*|approv\w*|review\w*)\b[^.;]{0,40}\b(?:unnecessary|superfluous|not (?:needed|necessary|required))|(?:can|may) be (?:skipped|ignored|shared|approved|deleted|disclosed)|automatically|at once|please|pls|kindly|make sure|be sure|ensure|keep in mind|bear in mind|take care to|remind\w*|"
    r"darf|dürfen|muss|müssen|müsste|soll(?:en|te|ten)?|verpflichtet|verboten|ohne (?:rückfrage|nachfrage|bestätigung|zu fragen)|bitte|dran denken|denk dran|"
    r"deb(?:e|es|en|emos|ería)|tiene[ns]? que|hay que|sin (?:preguntar|confirmaci[oó]n|pedir)|prohibido|obligatorio|por favor|"
    r"doi(?:t|s|vent)|devez|faut|sans (?:demander|confirmation|accord)|n'(?:a|ont) (?:pas|plus) besoin|interdit|obligatoire|s'il (?:te|vous) plaît|"
    r"долж\w+|нужно|надо|следует|нельзя|обязан\w*|необходимо|не нужно|без (?:подтверждения|вопросов|спроса)|пожалуйста)\b"
    r"|必须|务必|应该|应当|需要|不需要|不得|不准|不要|不许|禁止|请|請|无需|ください|下さい|べき|こと[。.]?\Z|なければ|てはいけ|しないで|必要|お願い|承認する|なしで"
)
_WISH = (
    r"\b(?:i|we|(?:the |this |your )?(?:user|users|owner|customer|client|human|person|reader|boss)|he|she|they)(?:'d| would| do| really| also| always)? (?:want|wants|wish|wishes|like|likes|prefer|prefers|expect|expects|"
    r"rather|love|loves|demand|demands|insist|insists|ask|asks|asked|requested?|requests|require|requires|wanted|told)\b[^.;]{0,60}\b(?:you|your|to be (?!a\b|an\b|the\b)\w+|(?:all|every|each|any) (?:\w+ )?(?:\w+s\b|answer|file|report|mail|invoice)|assistant|replies|answers|responses|"
    r"reminders|calls|notified|warnings|confirmation)"
    r"|\b(?:wants?|wishe?s?|requires?|expects?|insists?|demands?|asked|requested) (?:that|for all|all|every|each)\b"
    r"|\b(?:is|are|be|been) (?:to|not to) \w+"
)
_ADDRESSED = (
    r"\b(?:you|your|yours|yourself|you're|you'll|you've|u|du|dich|dir|dein\w*|sie sollen|euch|ihr sollt|tú|te|ti|tu|tus|contigo|usted|ustedes|toi|t'(?:ai|as|a|en|es)|tes|ton|vous|votre|vos|"
    r"ты|тебя|тебе|тобой|твой|твоя|твоё|твои|вас|вам|ваш\w*|me as|with me|for me|to me|ask me|tell me|remind me|call me|show me)\b"
    r"|你|您|あなた|君は|答えて|覚えて|忘れて|削除して|确认我|告诉我|问我|提醒我|称呼我|回答我"
)
_OF_MODELS = (
    r"\b(?:answers?|reply|replies|antworten?|respuestas?|réponses?|ответы?|assistants?|a\.?i\.?|chat ?bots?|bots?|language models?|llms?|agents? (?:reading|must|should)|system (?:prompt|note|message)|system\s*[:：]|developer (?:message|mode|note)|maintenance mode|override|overrides?|admin(?:istrator)?|"
    r"instructions?|prompts?|memory|memories|long-term memory|memory record|profile|record that|tool result|end of document|the user (?:now )?says|"
    r"ki|assistent\w*|anweisung\w*|administrator\w*|ia|asistente|instrucci[oó]n\w*|administrador\w*|sistema\s*[:：]|assistant\w*|consignes?|administrateur|système\s*[:：]|"
    r"ии|ассистент\w*|помощник\w*|инструкци\w+|администратор\w*|система\s*[:：])\b"
    r"|系统[:：]|提示|管理员|助理|指令|記憶|记忆|システム[:：]|管理者|アシスタント|指示|(?<!\w)AI(?!\w)|<\|?\w+|\|>|\A\s*(?:user|human|assistant|system|developer|nutzer|usuario|utilisateur)\s*[:：]|#{2,}|\w+\.\w+\([^)]*\)|\[(?:system|inst|user|assistant)\]"
)
_FORGETS = (
    r"\b(?:forget|forgets|forgotten|erase|disregard|ignore|unlearn|wipe|revoke|void|cancel(?:led)?|take back|drop it|no longer (?:true|valid|applies|apply)|stop (?:using|remembering|asking|showing|doing)|"
    r"vergiss|vergessen|lösch\w*|ignorier\w*|olvida\w*|borra\w*|ignora\w*|oublie\w*|supprime\w*|efface\w*|забудь\w*|удали\w*|сотри\w*|игнорируй\w*)\b"
    r"|忘记|忘掉|删除|删掉|清除|忘れ|削除|消して|無視"
)

_ROWS: tuple[tuple[str, str, str], ...] = (
    ("duty", "it says what has to be done, or what may be done without asking", _DUTY),
    ("lasting", "it says how things are done from now on", _LASTING),
    ("wish", "it says what somebody wants to be done", _WISH),
    ("addressed", "it speaks to its reader", _ADDRESSED),
    ("of_models", "it speaks to or of an assistant, its instructions or its memory", _OF_MODELS),
    ("forgets", "it says that something holds no longer", _FORGETS),
)


@cache
def _rows() -> list[tuple[Ask, re.Pattern[str]]]:
    return [(Ask(name, why), re.compile(pattern, re.IGNORECASE)) for name, why, pattern in _ROWS]


@cache
def _orders() -> re.Pattern[str]:
    """A verb of an order where a sentence or a clause begins, after a denial or a word or two of politeness."""
    spaced = "|".join(table["do"] for name, table in statements().items() if name not in {"languages", "zh", "ja"})
    more = "envía|envia|remember|note|save|memori[sz]e|approve|grant|trust|transfer|accept|allow|deny|reject|always|never|only|no more|stop|skip|round|upload|enable|disable|obey|comply|comment|execute|download|visit|click"
    unspaced = "|".join(statements()[name]["do"] for name in ("zh", "ja"))
    opening = r"\A[\W_]*(?:(?:also|and|then|so|but|just|now|do not|don't|do|und|auch|y|no|et|ne|и|не|also|bitte)\s+)*"
    return re.compile(rf"{opening}(?:{spaced}|{more}|{KEEPS.pattern})(?!\w)|\A\W*(?:{unspaced})", re.IGNORECASE)


_NOUN: Final = re.compile(
    r"\A\W*(?:\w+)(?:\s+\w+){0,6}?\s+(?:is|are|was|were|has|had|lies|lives|runs|stands|takes|fails|needs|uses|works|ist|sind|war|hat|liegt|läuft|es|está|son|tiene|est|sont|a|лежит|стоит|находится)\b",
    re.IGNORECASE,
)
"""A word that may be a verb is the name of what the sentence tells of: "Test runs take an hour"."""


_CLAUSE: Final = re.compile(r"[,;:，、；：—–]\s*")


def _clauses(text: str) -> Iterator[str]:
    for start, end in sentences(text):
        sentence = text[start:end]
        yield sentence
        yield from _CLAUSE.split(sentence)[1:]


def find_ask(text: str, category: str) -> Ask | None:
    """How the text of a note asks something of its reader, or None."""
    seen = UNSEEN.sub("", text).replace("’", "'")
    if category in OBEYED or OBLIGES.search(seen):
        return STATED
    if len(seen) > MAX_READ_CHARS:
        return TOO_LONG
    for ask, asks in _rows():
        if asks.search(seen):
            return ask
    if any(_orders().match(clause) and not _NOUN.match(clause) for clause in _clauses(seen)):
        return ORDER
    said = detect(seen)
    if said.remember or said.forget or said.no_save or said.no_recall:
        return OF_MEMORY
    junk = find_junk(seen)
    if junk is not None and junk.name == "order_to_model":
        return Ask(junk.name, junk.why)
    stated = extract_statements({"": seen})
    return STATED if any(fact.semantic.category in OBEYED for fact in stated) else None
