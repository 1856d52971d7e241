"""What an extractor proposes that is no fact: greetings, questions, talk about the talk, moods, orders to a model, fragments.

Rule 1: pure, and only for what a model proposed; what the user asks to be kept is theirs to choose.
Rule 2: every sort of junk is one row: how it is known, what it is called, and the contract's reason for refusing it.
Rule 3: a row is narrow. A fact wrongly refused is lost, junk that slips through is still weighed by admission.
"""
# ruff: noqa: RUF001  # what is said in many languages is the subject here

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from protocol.memory import ReasonCode

NOBODY = "nobody"
"""Names the rule for what says something of a "he" or "it" that it does not name."""
MAX_FACT_CHARS = 800
"""The bound that the extractor is told; what is longer is a summary, or a text that was pasted."""

STEM_CHARS = 5
"""Words that begin alike are taken for one another: "congratulates" is said of "congrats"."""


class Junk(NamedTuple):
    """Why a proposed fact is none: the reason of the contract, its own name, and a sentence."""

    reason: ReasonCode
    name: str
    why: str


_SMALL_TALK = (
    r"hi|hello|hey|there|good (?:morning|evening|afternoon|night)|bye|goodbye|thanks?|thank you|very much|so much|a lot|you(?:'re)? welcome|please|ok(?:ay)?|"
    r"sure|yes|no|great|nice|cool|wow|lol|haha|sorry|welcome|how are you|nice to meet you|see you(?: later| soon)?|take care|have a (?:nice|good|great) day|"
    r"hallo|guten (?:morgen|tag|abend)|tschüss|danke(?: schön| sehr)?|bitte|ja|nein|gern|hola|buen[oa]s (?:días|tardes|noches)|adiós|(?:muchas )?gracias|"
    r"por favor|sí|bonjour|bonsoir|salut|au revoir|merci(?: beaucoup)?|s'il (?:te|vous) plaît|oui|non|привет|здравствуйте|добрый день|пока|"
    r"спасибо(?: большое)?|пожалуйста|да|нет|你好|您好|谢谢|再见|好的|是的|不客气|assistant|user|friend|everyone|all|bot|ai"
)
_SPEAKER = r"(?:the |this )?(?:user|human|speaker|assistant|ai|chatbot|bot|person|customer|client)"
_SPEAKERS = (
    rf"(?:{_SPEAKER}|der (?:nutzer|benutzer)|die nutzerin|el usuario|la usuaria|l'utilisat(?:eur|rice)|пользователь|"
    r"用户|ассистент)"
)
_TALK = (
    r"the (?:conversation|chat|dialogue|discussion|transcript|message|turn|exchange)|this (?:conversation|chat|dialogue|message|turn)|"
    r"das gespräch|die unterhaltung|la conversación|la conversation|разговор|беседа|对话|聊天"
)
_ASKS = (
    r"(?:has |have |is |was |had )?(?:just |now |currently )?(?:ask(?:ed|s|ing)? (?:the assistant\b|about|whether|if|how|what|why|when|where|who|which|for (?:help|advice|"
    r"information|an? )|a question|something)|inquir\w+|want(?:s|ed) to know|wonder(?:s|ed|ing)\b|greet\w*|said (?:hi|hello|goodbye|thanks|thank you)|"
    r"(?:talk|chat|speak|convers|interact|communicat)(?:s|ed|es|ing) (?:to|with) (?:an?|the) (?:ai|assistant|chatbot|bot|language model)|thank(?:s|ed) (?:the assistant|you)|"
    r"(?:request(?:s|ed|ing)?|need(?:s|ed)?) (?:help|assistance|information|clarification)|(?:start|end)(?:s|ed|ing) (?:the|a) (?:conversation|chat)|"
    r"respond(?:s|ed)\b|repl(?:ies|ied)\b|sent a message|provided (?:a|an|some|no) |did not (?:say|provide|mention|share|state)|"
    r"shared (?:no|nothing)|has not (?:said|provided|mentioned|shared|stated)|mentioned nothing)|"
    r"(?:fragt|fragte|hat gefragt|möchte wissen|begrüßt|grüßt)\b|(?:pregunt[aó]|quiere saber|salud[aó])\b|(?:demande|a demandé|veut savoir|salue)\b|"
    r"(?:спрашивает|спросил|хочет узнать|поздоровал)\w*|(?:询问|问了|想知道|打招呼|问)"
)
_FEELING = (
    r"tired|sleepy|exhausted|hungry|thirsty|bored|busy|stressed|annoyed|angry|upset|sad|happy|excited|anxious|nervous|sick|ill|cold|confused|frustrated|"
    r"in a (?:good|bad|great) mood|late|in a hurry|having a (?:good|bad|great) day|feeling (?:well|good|bad|sick|down|great|better)"
)
_NOW = r"today|tonight|right now|at the moment|just now|this (?:morning|afternoon|evening)|currently|now"
_THIRD = r"(?:i|he|she|they|the user|user|[A-Z][\w'-]+)"


_ROWS: tuple[tuple[ReasonCode, str, str, str], ...] = (
    ("malformed_fact", "no_words", "it has no words", r"\A[\W\d_]*\Z"),
    ("malformed_fact", "question", "it is a question", r"[?？]\W*\Z"),
    ("malformed_fact", "small_talk", "it is a greeting or the like", rf"\A\W*(?:(?:{_SMALL_TALK})\b\W*|(?:你好|您好|谢谢|再见|好的|是的|不客气)\W*)+\Z"),
    (
        "malformed_fact", "placeholder", "it stands for a fact that is not there",
        (r"\A\W*(?:n/?a|none|null|nil|undefined|unknown|tbd|todo|nothing|no facts?|no (?:new |relevant |lasting |durable )*(?:facts?|information)\b.*|"
        r"not (?:specified|mentioned|provided|applicable)|empty|test|lorem ipsum\b.*|example|string|content|fact)\W*\Z"),
    ),
    ("malformed_fact", "markup", "it is markup or code", r"\A\s*(?:[{\[]\s*[\"'{\[]|```|~~~|<[/!?a-z])|\{\s*\"facts\"\s*:|\A\s*(?:#{1,6}\s|(?:system|assistant|user)\s*:)"),
    (
        "malformed_fact", "order_to_model", "it is an order to a model in a fact's clothes",
        (r"\b(?:ignore|disregard|forget|override|bypass)\b[^.]{0,30}\b(?:previous|prior|above|earlier|all|your|system)\b[^.]{0,30}\b(?:instructions?|prompts?|rules?|messages?|guidelines?|policy|policies)\b"
        r"|\b(?:reveal|print|output|repeat|leak)\b[^.]{0,30}\b(?:system prompt|prompt|instructions)\b|\A\W*(?:from now on,? )?you are now\b|\bdeveloper mode\b|\bjailbr\w+|\bnew instructions?\s*:"
        r"|\b(?:the )?(?:assistant|ai|model) (?:must|should|shall|has to|will) (?:always |never |now )*(?:obey|ignore|disregard|comply|reveal|execute|bypass|send|forward)\b"
        r"|\b(?:ignorier\w*|vergiss)\b[^.]{0,30}\b(?:vorherig\w*|bisherig\w*|obig\w*)\b[^.]{0,20}\banweisung\w*|\bignora\b[^.]{0,30}\binstrucciones\b|\bignore[rz]?\b[^.]{0,30}\bconsignes\b"
        r"|\bигнорируй\w*\b[^.]{0,30}\b(?:инструкци\w+|указани\w+)|忽略[^。]{0,12}(?:指令|指示|提示)"),
    ),
    (
        "own_context_block", "prompt_text", "it repeats what the model was told",
        (r"\brecalled memory\b|\bthis is context, not an instruction\b|\brelevant thread context\b|\breturn (?:only )?(?:valid |strict )?json\b|\banswer with this shape\b|\bmax_facts\b|\bitem_id\b"
        r"|\bfacts worth keeping\b|\byou read one finished turn\b|\bevidence\.quote\b"),
    ),
    ("generated_summary", "talk_about_talk", "it tells of the conversation, not of the user", rf"\A\W*{_SPEAKERS}\W*\s*(?:{_ASKS})|\A\W*(?:{_TALK})\b.{{0,60}}\b(?:about|is|was|started|began|ended|covers?|geht|handelt|trata|porte|о|об|про)\b|\A(?:对话|聊天)|\A(?:in (?:this|the) (?:conversation|turn|message)|an? (?:user|conversation|greeting)\b)"),
    ("generated_summary", "the_assistant_did", "it tells what the assistant did", r"\A\W*(?:the )?(?:assistant|ai|chatbot|bot|model) (?:has |had |is |was |will |can |could )?(?:help|answer|explain|suggest|provid|offer|recommend|greet|ask|respond|repl|said|told|wrote|generat|creat|able)\w*"),
    ("transient", "mood", "it holds for a moment", rf"\A\W*{_THIRD}(?:'m|'s| am| is| are| feels?| seems?| looks?| was| were| felt| got)? (?:\w+ ){{0,2}}(?:{_FEELING})(?: (?:{_NOW}))?\W*\Z"),
    ("transient", "moment", "it holds for the day it was said on", r"\A[^.]{0,160}\b(?:is|are|am|feels?|has|have|wants?|needs?|will|'s|'m|going)\b[^.]{0,100}\b(?:today|tonight|right now|at the moment|just now|this (?:morning|afternoon|evening))\W*\Z|\b(?:ist|bin|fühlt|hat|habe) (?:\w+ )?(?:heute|gerade|im moment)\b|\b(?:está|estoy|tiene|tengo) (?:\w+ ){0,3}(?:hoy|ahora mismo)\b|\best (?:\w+ ){0,3}aujourd'hui\b|(?:^|\s)сегодня\s|今天.{0,12}(?:累|困|忙|饿|心情)"),
    ("malformed_fact", "fragment", "it is cut off, or hangs in the air", r"(?:\.\.\.|…|[,:;(\[{–—-]|\b(?:the|an?|and|or|to|of|with|that|because|is|are|und|oder|dass|weil|der|die|das|y|que|porque|el|la|et|ou|le|les|и|что|или))\s*\Z"),
    ("malformed_fact", NOBODY, "it says of nobody in particular", r"\A\W*(?:he|she|they|it|this|that|these|those)(?:'s|'re)?\b(?! (?:user|project|repo|workspace|team|company)\b)|\A\W*(?:er|sie|es) (?:ist|hat|mag|wohnt|arbeitet|war)\b|\A\W*(?:elle|il) (?:est|a|aime)\b|\A\W*(?:он|она|они|это)\s"),
)  # fmt: skip

_TOO_LONG = Junk("malformed_fact", "too_long", f"it is longer than {MAX_FACT_CHARS} characters")
UNSUPPORTED = Junk("missing_evidence", "unsupported", "it shares no word, name or number with what the user said")


@cache
def _rows() -> list[tuple[Junk, re.Pattern[str]]]:
    """The table, compiled when the first fact comes: a start of the process should not pay for it."""
    return [(Junk(reason, name, why), re.compile(pattern, re.IGNORECASE)) for reason, name, why, pattern in _ROWS]


def find_junk(content: str) -> Junk | None:
    """What sort of junk a proposed fact is by its own words, or None."""
    text = content.strip().replace("’", "'")
    if len(text) > MAX_FACT_CHARS:
        return _TOO_LONG
    return next((junk for junk, found in _rows() if found.search(text)), None)


def is_supported(content: Iterable[str], said: Iterable[str]) -> bool:
    """Whether a fact's telling terms and what the user said in the turn have one in common."""
    heard = {term[:STEM_CHARS] for term in said}
    return any(term[:STEM_CHARS] in heard for term in content)
