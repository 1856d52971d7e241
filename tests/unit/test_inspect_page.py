"""The inspect page's pure parts: codes and sessions, forms, and how values look."""

from zoneinfo import ZoneInfo

import pytest
from cases import each
from msgspec.structs import replace

from gateway.doors.http.page_routes import is_page, refuse_form_body, refuse_page_verb, split_session
from gateway.doors.http.rules import access_of, refuse_form, refuse_page
from gateway.doors.inspect.forms import back_of, fields_of
from gateway.doors.inspect.rendering import PageTimes, cut, environment, figure, marks_in, readable, render_text
from gateway.doors.inspect.sessions import MAX_CODES, PageSessions
from gateway.doors.inspect.wording import ASKED, reason_of, reason_sentence
from memory.read.changes import undo_of_candidate, undo_of_record
from protocol.base import Scope
from protocol.errors import CallerError
from protocol.memory.changes import ChangeEvent
from protocol.memory.values import Candidate
from protocol.record import Provenance, Record, Status
from protocol.seams.callers import caller_of

HOUR = 3600.0


def test_a_code_opens_one_session_within_a_minute() -> None:
    sessions = PageSessions()
    code, late = sessions.make_code(0.0), sessions.make_code(0.0)
    session = sessions.open(code, 59.0)
    assert session is not None
    assert sessions.open(code, 59.0) is None
    assert sessions.open(late, 60.5) is None
    assert sessions.open("never made", 0.0) is None
    assert sessions.find(session.name, 60.0, 12) is session
    assert sessions.find(session.name + "x", 60.0, 12) is None


def test_a_session_ends_after_an_idle_hour_after_its_hours_and_by_a_word() -> None:
    sessions = PageSessions()

    def opened() -> str:
        session = sessions.open(sessions.make_code(0.0), 0.0)
        assert session is not None
        return session.name

    idle, used, ended = opened(), opened(), opened()
    assert sessions.find(idle, HOUR + 1, 12) is None
    assert sessions.find(idle, 1.0, 12) is None  # what is over does not begin again
    assert all(sessions.find(used, hour * HOUR, 3) is not None for hour in (1, 2, 3))
    assert sessions.find(used, 3 * HOUR + 1, 3) is None
    session = sessions.find(ended, 1.0, 12)
    assert session is not None
    sessions.end(session)
    assert sessions.find(ended, 1.0, 12) is None


def test_of_too_many_codes_the_oldest_go() -> None:
    sessions = PageSessions()
    codes = [sessions.make_code(0.0) for _ in range(MAX_CODES + 2)]
    assert [sessions.open(code, 1.0) is not None for code in codes[:3]] == [False, False, True]


def test_a_forms_token_is_of_one_session_and_one_action() -> None:
    sessions = PageSessions()
    one, other = (sessions.open(sessions.make_code(0.0), 0.0) for _ in range(2))
    assert one is not None
    assert other is not None
    token = one.form_token("memories/mem_1/forget")
    assert one.is_own("memories/mem_1/forget", token)
    assert not one.is_own("memories/mem_1/erase", token)
    assert not other.is_own("memories/mem_1/forget", token)
    assert not one.is_own("memories/mem_1/forget", "\ud800")


def test_a_form_is_read_or_refused() -> None:
    assert fields_of(b"a=1&b=x+y%0D%0Az&c=") == {"a": "1", "b": "x y\nz", "c": ""}
    for body in (b"a=1&a=2", b"a=%ff", b"\xff=1", b"&".join(b"x%d=1" % number for number in range(60))):
        with pytest.raises(CallerError):
            fields_of(body)


@each(
    ("wanted", "is_taken"),
    [
        ("today?day=2026-11-23", True),
        ("memories/mem_1?scope=workspace%3Aws", True),
        ("threads/thr_1#turn-1", True),
        ("//evil.example", False),
        ("https://evil.example", False),
        ("../../inspect", False),
        ("/inspect", False),
        ("today\r\nSet-Cookie: x", False),
        ("", False),
    ],
)
def test_a_form_leads_back_into_its_session_alone(wanted: str, is_taken: bool) -> None:  # noqa: FBT001
    assert back_of({"back": wanted}, "today") == (wanted if is_taken else "today")


def test_which_requests_are_the_pages() -> None:
    pages = [("GET", "/inspect"), ("GET", "/i/x/today"), ("POST", "/i/x/end"), ("GET", "/inspect/page.css")]
    assert all(is_page(verb, path) for verb, path in pages)
    assert not any(is_page(verb, path) for verb, path in [("POST", "/inspect"), ("GET", "/inspected"), ("GET", "/i")])
    assert split_session("/i/name/memories/mem_1") == ("name", "memories/mem_1")
    assert refuse_page_verb("POST", "/i/x/end") is None
    refused = refuse_page_verb("PUT", "/inspect")
    assert refused is not None
    assert refused.status == 405
    form = {"content-type": ["application/x-www-form-urlencoded"]}
    assert refuse_form_body("GET", {}) is None
    assert refuse_form_body("POST", form) is None
    for headers, status in (
        ({}, 415),
        ({"content-type": ["text/plain"]}, 415),
        ({**form, "content-length": ["9999999"]}, 413),
    ):
        told = refuse_form_body("POST", headers)
        assert told is not None
        assert told.status == status


def test_the_null_origin_counts_only_where_the_browser_vouches_for_it() -> None:
    access = access_of(4711, "127.0.0.1", [], [])
    own = {"origin": ["null"], "sec-fetch-site": ["same-origin"]}
    assert refuse_form(own, access) is None
    assert refuse_page(own, access) is not None  # no other route takes it
    for headers in (
        {"origin": ["null"]},
        {"origin": ["null"], "sec-fetch-site": ["cross-site"]},
        {"origin": ["null"], "sec-fetch-site": ["same-origin", "none"]},
        {"origin": ["http://evil.example"], "sec-fetch-site": ["same-origin"]},
    ):
        assert refuse_form(headers, access) is not None, headers
    assert refuse_form({"origin": ["http://127.0.0.1:4711"]}, access) is None
    assert refuse_form({}, access) is None


def test_how_a_text_looks() -> None:
    assert render_text("<b>&") == '<bdi dir="auto">&lt;b&gt;&amp;</bdi>'
    assert "hidden mark U+202E" in render_text("a\u202eb")
    assert marks_in("👩‍🚀 पर\u200d") == []  # joiners belong to letters
    assert marks_in("a\u200b\u200bb\U000e0041") == ["U+200B", "U+E0041"]
    assert readable("a\x00b\x1b\nc\td") == "a\ufffdb\ufffd\nc\td"
    assert cut("12345", 5) == "12345"
    assert cut("123456", 5) == "1234…"
    assert (figure(0.5), figure(1.0), figure(3), figure("x")) == ("0.5", "1", "3", "x")
    as_it_looks = environment().filters["size"]
    assert (as_it_looks(12), as_it_looks(2048)) == ("12 bytes", "2.0 KiB")


def test_a_day_is_the_persons_own() -> None:
    times = PageTimes(ZoneInfo("Europe/Vienna"), 1_774_738_800_000)  # Sunday, 29 March 2026, 01:00 in Vienna
    day = times.today()
    begin, end = times.bounds(day)
    assert day.isoformat() == "2026-03-29"
    assert (end - begin) // 3_600_000 == 23  # clocks are put forward
    assert "2026-03-29T00:00:00+01:00" in times.when(begin)
    assert "no known time" in times.when(10**20)
    assert "no known time" in times.when(None)
    assert times.ago(times.bounds(day)[0] - 86_400_000) == "1 day ago"


def test_a_reason_is_a_sentence() -> None:
    assert reason_of("active_created", "explicit_user_request") == ASKED
    assert reason_of("active_created", "user_statement") != ASKED
    assert reason_sentence("some_rare_code") == "Some rare code."
    assert reason_sentence(None) == ""


# -- the way back ------------------------------------------------------------------------------------------------------


def a_record(status: Status) -> Record:
    return Record(
        memory_id="mem_1",
        scope=Scope(kind="user", key="default"),
        category="custom",
        key="k",
        content="It rains.",
        value=None,
        status=status,
        sensitivity="normal",
        confidence=1.0,
        provenance=Provenance(),
        created_at=1,
        updated_at=1,
        last_accessed_at=None,
        access_count=0,
        supersedes=None,
        superseded_by=None,
        contested=False,
        namespace=None,
        evidence_count=1,
        index_state="indexed",
        kind="semantic",
        tags=[],
        importance=0.5,
        valid_from=None,
        expires_at=None,
        metadata={},
    )


@each(
    ("event", "status", "method"),
    [
        ("learned", "active", "memory/forget"),
        ("replaced", "active", "memory/forget"),
        ("restored", "active", "memory/forget"),
        ("learned", "superseded", None),
        ("learned", "deleted", None),
        ("replaced", "superseded", "memory/restore"),
        ("forgotten", "deleted", "memory/restore"),
        ("forgotten", "active", None),
        ("archived", "archived", "memory/restore"),
        ("archived", "active", None),
        ("changed", "active", None),
        ("expired", "expired", None),
    ],
)
def test_a_way_back_is_offered_only_while_it_leads_back(event: ChangeEvent, status: Status, method: str | None) -> None:
    call = undo_of_record(event, a_record(status))
    assert (call.method if call is not None else None) == method


def test_a_proposal_is_taken_back_until_it_is_decided() -> None:
    waiting = Candidate(
        candidate_id="cand_1",
        scope=Scope(kind="user", key="default"),
        category="custom",
        key="k",
        content="It rains.",
        value=None,
        status="pending",
        score=0.5,
        bucket="middle",
        reason_code="candidate_created",
        evidence_count=1,
        contested_memory_id=None,
        promoted_memory_id=None,
        merged_into=None,
        created_at=1,
        decided_at=None,
        decided_by=None,
    )
    call = undo_of_candidate(waiting)
    assert call is not None
    assert (call.method, call.params) == ("memory/candidates/reject", {"candidate_id": "cand_1"})
    assert undo_of_candidate(replace(waiting, status="approved")) is None


def test_a_kept_caller_is_read_back_and_a_damaged_one_is_none() -> None:
    found = caller_of('["mcp","Desk"]')
    assert found is not None
    assert (found.door, found.client) == ("mcp", "Desk")
    assert caller_of(None) is caller_of('["nowhere"]') is caller_of("[") is None
