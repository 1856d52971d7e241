"""The conversation part of the local plan: whether a message asks for earlier talk, and for which.

Rule 1: pure; `refers_to_history` and the time of the turn come from outside.
Rule 2: time words prefer, they do not hide: a search of the named time is followed by one of all time. A query without
words asks for all that was said in its time.
Rule 3: a time word alone is no reference to our talk: the message must also speak of a past in which one of us spoke.
"""

from collections.abc import Callable

from promt.language.reader import either
from promt.patterns import compile_late
from promt.time_words import TimeRange, find_time, fold, zone_of
from protocol.hooks import EpisodicPlan, EpisodicQuery, TurnContext
from protocol.seams.house_facts import ProposeEpisodic
from protocol.seams.ports import ReadDate
from thread_episodic.search.pointing import any_of, decisions_asked, query_of, subject_of, without_times

_SPOKEN_HERE = any_of("spoken_here")
_WHO_SPOKE = any_of("who_spoke")
_PAST = any_of("past")
_QUESTION = compile_late(lambda: rf"\?|^\W*(?:{either('talk', 'question')})(?!\w)")


def _asks_about_our_past(text: str) -> bool:
    folded = fold(text)
    return all(pattern.search(folded) for pattern in (_QUESTION, _PAST, _WHO_SPOKE))


def make_planner(refers_to_history: Callable[[str], bool], read_date: ReadDate) -> ProposeEpisodic:
    """Return the planner; `refers_to_history` says of a message whether it refers to earlier conversation."""

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
    """Return the searches of a plan, the narrowest first; `rest` is the message without its time words."""
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
