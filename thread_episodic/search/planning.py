"""The conversation part of the local plan: whether a message asks for earlier talk, and for which.

Rule 1: pure; `refers_to_history` and the clock's reading come from outside.
Rule 2: time words prefer, they do not hide: a search of the named time is followed by one of all time. A query without
words asks for all that was said in its time.
Rule 3: a time word alone is no reference to our talk: somebody must have said something to somebody.
"""
# ruff: noqa: RUF001  # words of several scripts are the subject here

from collections.abc import Callable

from promt.patterns import compile_late
from protocol.hooks import EpisodicPlan, EpisodicQuery, ProposeEpisodic, TurnContext
from protocol.seams.ports import ReadDate
from thread_episodic.search.pointing import any_word, decisions_asked, query_of, subject_of, without_times
from thread_episodic.search.time_words import TimeRange, find_time, fold, zone_of

_SPOKEN_HERE = compile_late(
    r"(?<!\w)(?:earlier (?:today|in this|here|you|i|we)|(?:you|i|we) (?:said|mentioned|wrote|asked) (?:above|earlier)|above"
    r"|further up|выше|ранее (?:здесь|в этом)|weiter oben|oben|mas arriba|arriba)(?!\w)"
)
_THOSE_WHO_SPOKE = any_word(
    "we you us our your discussion conversation chat мы ты вы нам нас наш наша wir du uns unser unsere nosotros tu nos nuestro "
    r"nuestra \w{2,}(?:amos|imos|aste|iste)"
)
_PAST = compile_late(
    r"(?<!\w)(?:did|was|were|had|have|has|haben|habe|hast|hat|hatten|hatte|war|waren|wurde|fue|fueron|era|hicimos|\w{2,}ed"
    r"|said|told|chose|wrote|\w{2,}(?:amos|imos|aste|iste)|\w+(?:ал|ил|ел|ла|ло|ли|лся|лись))(?!\w)"
)
_QUESTION = compile_late(
    r"\?|^\W*(?:what|which|when|where|who|why|how|remind|что|о чем|какой|какую|какие|когда|где|кто|почему|зачем|как|напомни"
    r"|was|wann|wo|wer|warum|wie|welche[rsn]?|woruber|que|cual|cuando|donde|quien|como|recuerdame)(?!\w)"
)


def _asks_about_our_past(text: str) -> bool:
    folded = fold(text)
    return all(pattern.search(folded) for pattern in (_QUESTION, _PAST, _THOSE_WHO_SPOKE))


def make_planner(refers_to_history: Callable[[str], bool], read_date: ReadDate) -> ProposeEpisodic:
    """The planner, given what tells whether a message refers to earlier conversation, and what reads dates."""

    def propose(text: str, turn: TurnContext) -> EpisodicPlan:
        if turn.mode == "chat" or turn.memory_mode == "ignored":
            return EpisodicPlan()
        when = find_time(text, turn.now, zone_of(turn.time_zone), read_date)
        rest = without_times(text, when)
        is_asked = refers_to_history(rest) or (when is not None and _asks_about_our_past(text))
        if not is_asked and not refers_to_history(text):
            return EpisodicPlan()
        return EpisodicPlan(status="recall", queries=_queries(text, rest, when), is_asked=is_asked)

    return propose


def _queries(text: str, rest: str, when: TimeRange | None) -> list[EpisodicQuery]:
    """The searches of a plan, the narrowest first; `rest` is the message without its time words."""
    subject = query_of(subject_of(rest))
    if not subject:
        words, begin, end = decisions_asked(rest), *((when.from_at, when.to_at) if when is not None else (None, None))
        return [EpisodicQuery(mode="workspace_threads", query=words, from_at=begin, to_at=end, newest=True)]
    queries: list[EpisodicQuery] = []
    if _SPOKEN_HERE.search(fold(text)):
        queries.append(EpisodicQuery(mode="current_thread", query=subject))
    if when is not None:
        queries.append(EpisodicQuery(mode="workspace_threads", query=subject, from_at=when.from_at, to_at=when.to_at))
    return [*queries, EpisodicQuery(mode="workspace_threads", query=subject)]
