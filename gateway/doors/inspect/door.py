"""The page's routes: each request of a session is passed to a view, whose outcome becomes HTML or a redirection.

Rule 1: a request that changes something is a POST with the token of its form, checked before the view runs.
Rule 2: an error of a method is a page with a sentence and a way back; it never shows what the caller may not see.
"""

import re
import time
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar

from gateway.base.logs import Log
from gateway.base.time_zone import system_zone
from gateway.doors.http.exchange import Answer
from gateway.doors.http.page_routes import PageRequest
from gateway.doors.http.rpc import HttpCaller, Methods
from gateway.doors.http.rules import STATUS_OF_REASON
from gateway.doors.inspect import rendering
from gateway.doors.inspect.forms import fields_of
from gateway.doors.inspect.sessions import PageSession, PageSessions
from gateway.doors.inspect.views import candidates, inspection, memories, memory_forms, threads, today
from gateway.doors.inspect.visit import FilledTemplate, Moved, Outcome, PageNotice, View, Visit
from gateway.doors.inspect.wording import ERROR_HEADINGS, reason_sentence
from protocol.errors import CallerError, GatewayError
from protocol.methods import Method
from protocol.seams.ports import Clock
from protocol.zones import find_zone

R = TypeVar("R")

log = Log("inspect")

HTML: Final = "text/html; charset=utf-8"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
HEADERS: Final = (
    ("content-security-policy", POLICY),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
)
"""The headers of every answer of the page, beside those of every answer of the door."""
COMMAND: Final = "pioneer inspect"
"""The command that opens a session, for the page without one."""
ASSETS: Final[Mapping[str, str]] = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


class PageRoute(NamedTuple):
    """A page or an action: its verb, its path below the session's, and its view."""

    verb: str
    path: str
    view: View

    def match(self, verb: str, path: str) -> tuple[str, ...] | None:
        """Return the parts of a path that stand for `*`; None where verb or path are not this route's."""
        found = _pattern(self.path).fullmatch(path) if verb == self.verb else None
        return found.groups() if found is not None else None


@cache
def _pattern(path: str) -> re.Pattern[str]:
    """Return the pattern of a route's path, in which `*` stands for one part."""
    return re.compile("/".join("([^/]+)" if part == "*" else part for part in path.split("/")))


ROUTES: Final[tuple[PageRoute, ...]] = (
    PageRoute("GET", "today", today.today),
    PageRoute("GET", "undo-all", today.ask_undo_all),
    PageRoute("POST", "undo-all", today.undo_all),
    PageRoute("GET", "memories", memories.memories),
    PageRoute("POST", "memories", memories.remember),
    PageRoute("GET", "memories/*", memories.memory),
    PageRoute("GET", "memories/*/edit", memory_forms.edit_form),
    PageRoute("POST", "memories/*/edit", memory_forms.edit),
    PageRoute("POST", "memories/*/forget", memory_forms.forget),
    PageRoute("POST", "memories/*/restore", memory_forms.restore),
    PageRoute("POST", "memories/*/confirm", memory_forms.confirm),
    PageRoute("GET", "memories/*/erase", memory_forms.ask_erase),
    PageRoute("POST", "memories/*/erase", memory_forms.erase),
    PageRoute("GET", "candidates", candidates.candidates),
    PageRoute("POST", "candidates/*/approve", candidates.approve),
    PageRoute("POST", "candidates/*/edit", candidates.edit_and_approve),
    PageRoute("POST", "candidates/*/reject", candidates.reject),
    PageRoute("POST", "candidates/*/never", candidates.never),
    PageRoute("GET", "threads", threads.threads),
    PageRoute("GET", "threads/*", threads.thread),
    PageRoute("POST", "threads/*/rename", threads.rename),
    PageRoute("POST", "threads/*/archive", threads.archive),
    PageRoute("POST", "threads/*/exclude", threads.exclude),
    PageRoute("POST", "threads/*/include", threads.include),
    PageRoute("GET", "threads/*/delete", threads.ask_delete),
    PageRoute("POST", "threads/*/delete", threads.delete),
    PageRoute("GET", "items/*/*", threads.item),
    PageRoute("GET", "turns/*", threads.turn),
    PageRoute("GET", "why", inspection.why),
    PageRoute("GET", "health", inspection.health),
    PageRoute("POST", "health/retry", inspection.retry),
    PageRoute("POST", "health/pass", inspection.run_pass),
    PageRoute("POST", "health/undo", inspection.undo_pass),
    PageRoute("GET", "help", inspection.help_page),
    PageRoute("POST", "help/keys", inspection.switch_keys),
)
"""Every page and action."""
SECTIONS: Final[Mapping[str, str]] = {
    "undo_all": "today",
    "memory": "memories",
    "edit": "memories",
    "stale": "memories",
    "erase": "memories",
    "receipt": "memories",
    "thread": "threads",
    "thread_delete": "threads",
    "item": "threads",
    "turn": "threads",
}
"""The entry of the navigation that a template belongs to; a template without a row belongs to that of its own name."""
NAV: Final = (
    ("today", "Today"),
    ("memories", "Memories"),
    ("candidates", "Candidates"),
    ("threads", "Conversations"),
    ("why", "Why"),
    ("health", "Health"),
)


class InspectPages:
    """Answers the requests for the page."""

    def __init__(self, methods: Methods, clock: Clock) -> None:
        self._methods, self._clock = methods, clock
        self.sessions = PageSessions()
        self._notices: dict[str, PageNotice] = {}
        self._zone = find_zone(system_zone()) or find_zone("UTC")

    # -- sessions ------------------------------------------------------------------------------------------------------

    def make_code(self) -> str:
        """Return a code that opens one session, within a minute."""
        return self.sessions.make_code(time.monotonic())

    def find(self, name: str, hours: int) -> PageSession | None:
        """Return the open session of a name; None where there is none."""
        return self.sessions.find(name, time.monotonic(), hours)

    def is_open(self, session: PageSession, hours: int) -> bool:
        """Return whether a session that was found is still open; to ask does not use it."""
        return self.sessions.is_open(session, time.monotonic(), hours)

    def open(self, query: bytes) -> Answer:
        """Return the redirection to the session that a code opens; 403 for a code that opens none."""
        code = fields_of(query).get("code", "")
        session = self.sessions.open(code, time.monotonic()) if code else None
        if session is None:
            return self.refuse()
        return Answer(303, b"", (*HEADERS, ("location", f"/i/{session.name}/today")), HTML)

    def refuse(self) -> Answer:
        """Return the answer to a request without an open session: 403, and the command that opens one."""
        page = rendering.render("closed.html", {"title": "This page is closed", "command": COMMAND, "ended": False})
        return Answer(403, page, HEADERS, HTML)

    def asset(self, name: str) -> Answer | None:
        """Return a file that every page uses; None where there is none of that name."""
        kind = ASSETS.get(name)
        if kind is None:
            return None
        return Answer(200, (rendering.FOLDER / "assets" / name).read_bytes(), HEADERS, kind)

    # -- pages ---------------------------------------------------------------------------------------------------------

    async def answer(self, caller: HttpCaller, session: PageSession, request: PageRequest) -> Answer:
        """Return the page or the redirection that answers a request of a session."""
        visit = self._visit(caller, session)
        try:
            visit.query = fields_of(request.query)
            if request.verb == "POST":
                visit.fields = fields_of(request.body)
                if not session.is_own(request.path, visit.fields.get("token", "")):
                    return self._error(visit, 403, "This form is not from this session.", "Open the page anew.")
                if request.path == "end":
                    return self._end(session)
            return self._answer_of(visit, await self._view(visit, request))
        except GatewayError as error:
            status = STATUS_OF_REASON[error.reason]
            return self._error(
                visit, status, ERROR_HEADINGS.get(error.reason, "That did not work."), _describe_error(error)
            )
        except Exception as error:  # noqa: BLE001  # the boundary: a person gets a page, never a traceback
            return self._error(visit, 500, "Something is broken here.", f"The log has it as {log.incident(error)}.")

    def _visit(self, caller: HttpCaller, session: PageSession) -> Visit:
        """Return a visit without query and fields."""

        async def ask(method: Method[Any, R], params: Mapping[str, Any], /) -> R:
            return await self._methods.ask(caller, method, params)

        times = rendering.PageTimes(self._zone, self._clock.now())  # pyright: ignore[reportArgumentType]  # UTC exists
        return Visit(session, f"/i/{session.name}/", ask, times, {}, {}, self._notices)

    async def _view(self, visit: Visit, request: PageRequest) -> Outcome:
        """Return the outcome of the view whose route fits. Raises `CallerError` where none does."""
        for route in ROUTES:
            names = route.match(request.verb, request.path)
            if names is not None:
                return await route.view(visit, *names)
        raise CallerError.missing("page")

    def _end(self, session: PageSession) -> Answer:
        self.sessions.end(session)
        self._notices.pop(session.name, None)
        page = rendering.render("closed.html", {"title": "Session ended", "command": COMMAND, "ended": True})
        return Answer(200, page, HEADERS, HTML)

    def _answer_of(self, visit: Visit, outcome: Outcome) -> Answer:
        if isinstance(outcome, Moved):
            return Answer(303, b"", (*HEADERS, ("location", visit.base + outcome.to)), HTML)
        return self._page(visit, outcome)

    def _page(self, visit: Visit, shown: FilledTemplate) -> Answer:
        session, name = visit.session, shown.template.partition(".")[0]
        values: dict[str, Any] = {
            "title": shown.title,
            "base": visit.base,
            "nav": NAV,
            "section": SECTIONS.get(name, name),
            "notice": self._notices.pop(session.name, None),
            "has_keys": session.has_keys,
            "times": visit.times,
            "ui": rendering.PageParts(visit.base, session.form_token, visit.labels),
            "query": visit.query,
            "labels": visit.labels,
            "reason_sentence": reason_sentence,
        }
        body = rendering.render(shown.template, {**values, **shown.values})
        return Answer(shown.status, body, HEADERS, HTML)

    def _error(self, visit: Visit, status: int, heading: str, text: str) -> Answer:
        return self._page(visit, FilledTemplate("error.html", heading, {"text": text}, status))


def _describe_error(error: GatewayError) -> str:
    """Return an error's sentence; for a wrong parameter the problem with it."""
    problem = (error.details or {}).get("problem")
    return f"{problem}." if isinstance(problem, str) else error.message
