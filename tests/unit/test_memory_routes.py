"""What kind of memory a question asks for, and what that changes."""

from datetime import UTC

from cases import each

from gateway.base.written_dates import WrittenDates
from memory.rules.routes import ANY_KIND, QueryRoute, find_route
from promt.time_words import find_time
from protocol.base import DAY_MS

NOW = 1_780_000_000_000  # a Thursday
READ_DATE = WrittenDates()


def route(text: str) -> QueryRoute:
    return find_route(text, lambda asked: find_time(asked, NOW, UTC, READ_DATE))


@each(
    ("text", "kind", "has_time"),
    [
        ("What happened last Thursday?", "temporal", True),
        ("Who did I meet yesterday?", "temporal", True),
        ("What happened with the boat?", "temporal", False),
        ("Was ist gestern passiert?", "temporal", True),
        ("¿Qué pasó ayer?", "temporal", True),
        ("Что произошло вчера?", "temporal", True),
        ("What do I prefer for breakfast?", "preference", False),
        ("What is my favourite tea?", "preference", False),
        ("Was mag ich am liebsten?", "preference", False),
        ("¿Qué té prefiero?", "preference", False),
        ("Какой чай я предпочитаю?", "preference", False),
        ("How do I deploy the harbor service?", "procedure", False),
        ("Wie mache ich ein Release?", "procedure", False),
        ("Как сделать выпуск?", "procedure", False),
        ("What should I cook today?", "any", False),
        ("I was at the market yesterday.", "any", False),
        ("Where do I live?", "any", False),
        ("", "any", False),
    ],
)
def test_a_question_is_routed(text: str, kind: str, *, has_time: bool) -> None:
    found = route(text)
    assert (found.kind, found.from_at is not None) == (kind, has_time)


def test_a_long_text_that_asks_nothing_is_read_in_time_that_grows_with_it() -> None:
    assert route("what " * 50_000) == ANY_KIND


def test_what_happened_in_the_time_comes_first_and_nothing_is_hidden() -> None:
    asked = QueryRoute("temporal", NOW - DAY_MS, NOW)
    inside, outside = NOW - 1000, NOW - 3 * DAY_MS
    factors = [
        asked.factor("episodic", inside, 0),
        asked.factor("episodic", None, inside),
        asked.factor("semantic", inside, 0),
        asked.factor("episodic", outside, inside),
        asked.factor("semantic", None, inside),
    ]
    assert factors == [1.5 * 1.25, 1.5 * 1.25, 1.5 * 0.8, 1.25, 0.8]
    assert not asked.is_within("semantic", None, inside)
    assert [asked.is_within("episodic", at, 0) for at in (NOW - DAY_MS, NOW, NOW + 1)] == [True, True, False]


def test_each_route_has_its_factors() -> None:
    kinds = ("semantic", "episodic", "procedural", "observation", "session_summary")
    assert [QueryRoute("preference").factor(kind, None, 0) for kind in kinds] == [1.25, 0.8, 1, 1, 1]
    assert [QueryRoute("procedure").factor(kind, None, 0) for kind in kinds] == [1, 1, 1.25, 1, 1]
    assert [QueryRoute("temporal").factor(kind, None, 0) for kind in kinds] == [0.8, 1.25, 0.8, 0.8, 1.25]
    assert [ANY_KIND.factor(kind, None, 0) for kind in kinds] == [1] * 5


def test_a_moment_is_in_the_time_or_not() -> None:
    asked = QueryRoute("temporal", NOW - DAY_MS, NOW)
    assert [asked.covers(at) for at in (NOW - DAY_MS - 1, NOW - DAY_MS, NOW)] == [False, True, True]
    assert not ANY_KIND.covers(NOW)
