"""One request for a page, and the outcome of a view.

Rule 1: a view is an async function from a `Visit` to a `FilledTemplate` or a `Moved`; it calls methods, nothing else.
"""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from gateway.doors.inspect.rendering import PageTimes
from gateway.doors.inspect.sessions import PageSession
from protocol.errors import CallerError
from protocol.methods import Method
from protocol.record import Category

R = TypeVar("R")

MAX_DIGITS = 15
"""The most digits of a number in a query: no offset in a text and no time in milliseconds has more."""


class AskMethod(Protocol):
    """Calls a method of the table as any client does. Raises `GatewayError`."""

    async def __call__(self, method: Method[Any, R], params: Mapping[str, Any], /) -> R:
        """Return the method's result."""
        ...


class PageNotice(NamedTuple):
    """A sentence about what was just done, with the form that undoes it."""

    text: str
    undo: str | None = None
    """The action of that form, below the session's path."""
    undo_fields: Mapping[str, str] = {}
    undo_label: str = "Undo"


@dataclass
class Visit:
    """A request of a session."""

    session: PageSession
    base: str
    """The session's path, with a slash at its end."""
    ask: AskMethod
    times: PageTimes
    query: Mapping[str, str]
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    notices: dict[str, PageNotice] = field(default_factory=dict[str, PageNotice])
    """The notice that each session's next page shows, by the session's name."""
    labels: dict[str, str] = field(default_factory=dict[str, str])
    """The words by which the person knows a place, by the place's name, for the places that the view has read."""

    def show_next(self, notice: PageNotice) -> None:
        """Show a notice on the session's next page."""
        self.notices[self.session.name] = notice

    def whole_number(self, name: str) -> int | None:
        """Return a member of the query as a number from 0; None where it is missing or no such number."""
        text = self.query.get(name, "")
        return int(text) if len(text) <= MAX_DIGITS and text.isascii() and text.isdigit() else None

    def require_field(self, name: str) -> str:
        """Return a member of the form without blanks at its ends. Raises `CallerError` where it is missing or empty."""
        if not self.fields.get(name, "").strip():
            raise CallerError.at(f"$.{name}", "This must be filled in")
        return self.fields[name].strip()

    def make_idempotency_key(self) -> str:
        """Return a new idempotency key for a form, so that sending it twice does its work once."""
        return f"page-{secrets.token_hex(12)}"


class FilledTemplate(NamedTuple):
    """A page: its template, its title, the template's values, and its HTTP code."""

    template: str
    title: str
    values: Mapping[str, Any]
    status: int = 200


class Moved(NamedTuple):
    """A redirection to another page of the session."""

    to: str


Outcome: TypeAlias = FilledTemplate | Moved
View: TypeAlias = Callable[..., Awaitable[Outcome]]

CATEGORIES: tuple[str, ...] = Category.__args__
