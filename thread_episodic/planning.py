"""The conversation part of the local plan: whether a message asks for earlier talk, and for which.

Rule 1: pure; `refers_to_history` and the clock's reading come from outside.
Rule 2: time words prefer, they do not hide: a search of the named time is followed by one of all time. A query without
words asks for all that was said in its time.
Rule 3: a time word alone is no reference to our talk: somebody must have said something to somebody.
"""
# ruff: noqa: RUF001  # words of several scripts are the subject here

import re
from collections.abc import Callable

from protocol.hooks import EpisodicPlan, EpisodicQuery, ProposeEpisodic, TurnContext
from protocol.ports import ReadDate
from thread_episodic.budget import cut_at_word
from thread_episodic.chunking import split_sentences
from thread_episodic.time_words import TimeRange, find_time, fold, zone_of

MAX_QUERIES = 3  # the contract's bounds for a plan
MAX_QUERY_CHARS = 256


def _words(source: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(source.split())})(?!\w)")


_SPOKEN_HERE = re.compile(
    r"(?<!\w)(?:earlier (?:today|in this|here|you|i|we)|(?:you|i|we) (?:said|mentioned|wrote|asked) (?:above|earlier)|above"
    r"|further up|выше|ранее (?:здесь|в этом)|weiter oben|oben|mas arriba|arriba)(?!\w)"
)
_THOSE_WHO_SPOKE = _words(
    "i we you me us my our your мы я ты вы мне нам нас меня мой моя мое мои наш наша wir ich du sie mir uns mein meine "
    r"unser unsere nosotros yo tu me nos mi nuestro nuestra \w{2,}(?:amos|imos|aste|iste)"
)
_PAST = re.compile(
    r"(?<!\w)(?:did|was|were|had|have|has|haben|habe|hast|hat|hatten|hatte|war|waren|wurde|fue|fueron|era|hicimos|\w{2,}ed"
    r"|said|told|chose|wrote|\w{2,}(?:amos|imos|aste|iste)|\w+(?:ал|ил|ел|ла|ло|ли|лся|лись))(?!\w)"
)
_QUESTION = re.compile(
    r"\?|^\W*(?:what|which|when|where|who|why|how|remind|что|о чем|какой|какую|какие|когда|где|кто|почему|зачем|как|напомни"
    r"|was|wann|wo|wer|warum|wie|welche[rsn]?|woruber|que|cual|cuando|donde|quien|como|recuerdame)(?!\w)"
)
_SAYING_NOTHING = _words(
    "a about again all an and anything did discuss discussed do does everything exactly have i it just me my of on our please "
    "remember remind say said something talk talked talking tell that the then there thing things to told topic us was we "
    "were what which you chat chatted conversation mention mentioned speak spoke decide decided agree agreed conclude "
    "что о чем об мы я ты вы говорили говорил обсуждали обсуждал решили решил договорились "
    "было напомни все там мне нам было сказал сказали про "
    "was woruber haben hatten wir ich du sie gesprochen geredet besprochen gesagt uns mir denn das es alles uber erzahlt "
    "beschlossen entschieden vereinbart "
    "que de hablamos hablaste dijimos dijiste dije discutimos nosotros nos me lo la sobre todo comentamos "
    "decidimos acordamos"
)
"""Words of which a question is made that asks only for a time: "what did we talk about yesterday?"."""
_WORD = re.compile(r"\w+")


def query_of(text: str) -> str:
    """The message as a query: whole if it is short, else what it asks, else its beginning."""
    whole = text.strip()
    if len(whole) <= MAX_QUERY_CHARS:
        return whole
    asked = [text[start:end].strip() for start, end in split_sentences(text) if "?" in text[start:end]]
    return cut_at_word(asked[-1] if asked else whole, MAX_QUERY_CHARS)


def without_times(text: str, when: TimeRange) -> str:
    """The message without its time words: they say when it was said, not what."""
    kept: list[str] = []
    place = 0
    for start, end in when.spans:
        kept.append(text[place:start])
        place = end
    return " ".join(" ".join((*kept, text[place:])).split())


def asks_only_when(words: str) -> bool:
    """Whether the rest of a message asks for nothing but its time, so that all that was said then is the answer."""
    return all(_SAYING_NOTHING.fullmatch(word) for word in _WORD.findall(fold(words)))


def _asks_about_our_past(text: str) -> bool:
    folded = fold(text)
    return all(pattern.search(folded) for pattern in (_QUESTION, _PAST, _THOSE_WHO_SPOKE))


def make_planner(refers_to_history: Callable[[str], bool], read_date: ReadDate) -> ProposeEpisodic:
    """The planner, given what tells whether a message refers to earlier conversation, and what reads dates."""

    def propose(text: str, turn: TurnContext) -> EpisodicPlan:
        if turn.mode == "chat" or turn.memory_mode == "ignored":
            return EpisodicPlan()
        when = find_time(text, turn.now, zone_of(turn.time_zone), read_date)
        if not refers_to_history(text) and not (when is not None and _asks_about_our_past(text)):
            return EpisodicPlan()
        queries: list[EpisodicQuery] = []
        if _SPOKEN_HERE.search(fold(text)):
            queries.append(EpisodicQuery(mode="current_thread", query=query_of(text)))
        if when is not None:
            rest = without_times(text, when)
            asked = (query_of(rest), "") if asks_only_when(rest) else (query_of(rest),)
            queries += [
                EpisodicQuery(mode="workspace_threads", query=words, from_at=when.from_at, to_at=when.to_at)
                for words in asked
            ]
        anytime = EpisodicQuery(mode="workspace_threads", query=query_of(text))
        return EpisodicPlan(status="recall", queries=[*queries[: MAX_QUERIES - 1], anytime])

    return propose
