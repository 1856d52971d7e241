"""The routes of the inspect page, and the checks of a request before a view runs.

Rule 1: these routes take no token: a one-time code opens a session, and the session's name stands in the path.
Rule 2: the page itself is handed in as `Pages`, and is made by the first request that needs it.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

from gateway.doors.http.exchange import Answer
from gateway.doors.http.rpc import HttpCaller, Methods
from gateway.doors.http.rules import TOO_LONG, WRONG_FORM, Headers, Refusal, wrong_verb
from protocol.base import encode
from protocol.errors import CallerError
from protocol.http import InspectCodeResult
from protocol.seams.ports import Clock

_DATA = re.compile(rb"^data: .*$", re.MULTILINE)
CODE_PATH = "/inspect"
SESSION_PATH = "/i/"
CODE_MS = 60_000
"""The time within which a code opens a session."""
MAX_FORM_BYTES = 256 * 1024
FORM_KIND = "application/x-www-form-urlencoded"


class PageRequest(NamedTuple):
    """A request below a session's path, as the door has read it."""

    verb: str
    path: str
    """Below the session's path, decoded."""
    query: bytes
    body: bytes = b""


class Pages(Protocol):
    """The inspect page."""

    def make_code(self) -> str:
        """Return a code that opens one session, within `CODE_MS`."""
        ...

    def open(self, query: bytes) -> Answer:
        """Return the redirection to the session that a code opens; 403 for a code that is not one."""
        ...

    def find(self, name: str, hours: int) -> Any:
        """Return the open session of a name; None where there is none."""
        ...

    def is_open(self, session: Any, hours: int) -> bool:
        """Return whether a session that was found is still open; to ask does not use it."""
        ...

    def refuse(self) -> Answer:
        """Return the answer to a request without an open session."""
        ...

    def asset(self, name: str) -> Answer | None:
        """Return a file that every page uses; None where there is none of that name."""
        ...

    def answer(self, caller: HttpCaller, session: Any, request: PageRequest) -> Awaitable[Answer]:
        """Return the page, or the redirection, that answers a request of a session."""
        ...


MakePages: TypeAlias = Callable[[Methods, Clock], Pages]


def is_page(verb: str, path: str) -> bool:
    """Return whether a request belongs to the page; `POST /inspect`, by which a program asks for a code, does not."""
    return path.startswith((SESSION_PATH, CODE_PATH + "/")) or (path == CODE_PATH and verb != "POST")


def refuse_page_verb(verb: str, path: str) -> Refusal | None:
    """Refuse a verb that no page answers."""
    verbs = ("GET", "POST") if path.startswith(SESSION_PATH) else ("GET",)
    allowed = (*verbs, "POST") if path == CODE_PATH else verbs
    return None if verb in verbs else wrong_verb(allowed)


def refuse_form_body(verb: str, headers: Headers) -> Refusal | None:
    """Refuse a body whose head says that it is no form, or longer than `MAX_FORM_BYTES`."""
    if verb != "POST":
        return None
    kinds, lengths = headers.get("content-type", ()), headers.get("content-length", ())
    if len(kinds) != 1 or kinds[0].partition(";")[0].strip().lower() != FORM_KIND:
        return WRONG_FORM
    return TOO_LONG if lengths and int(lengths[0]) > MAX_FORM_BYTES else None


def split_session(path: str) -> tuple[str, str]:
    """Return the session's name in a path, and the rest of the path."""
    name, _, rest = path.removeprefix(SESSION_PATH).partition("/")
    return name, rest


def without_data(part: bytes) -> bytes:
    """Return a part of an event stream with empty data: a page loads itself anew, which its session has to allow."""
    return _DATA.sub(b"data: {}", part)


def code_answer(pages: Pages, body: bytes, url: str) -> Answer:
    """Return a new code with the address that it opens. Raises `CallerError` for a body that is not empty."""
    if body.strip() not in {b"", b"{}"}:
        raise CallerError.at("$", "This route takes no parameters")
    code = pages.make_code()
    result = InspectCodeResult(code=code, url=f"{url}{CODE_PATH}?code={code}", expires_in_ms=CODE_MS)
    return Answer(200, encode(result))
