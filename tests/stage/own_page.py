"""The inspect page of a real home in the test's own process: every action without the page that has its form."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from spawned import WITHOUT_MODEL

from gateway.base import logs
from gateway.doors.http.events import EventLog
from gateway.doors.http.exchange import Answer
from gateway.doors.http.page_routes import PageRequest
from gateway.doors.http.rpc import Methods
from gateway.doors.inspect.door import InspectPages
from gateway.home.starting import Options
from gateway.process import running
from gateway.wire.client_session import SessionClient
from gateway.wiring import App
from protocol.methods import Method


class OwnPage:
    """A session of the page, and the methods behind it."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._methods = Methods(app, app.hub.subscribe(EventLog()))
        self._pages = InspectPages(self._methods, app.base.clock)
        self._session = self._pages.sessions.open(self._pages.make_code(), 0.0)

    async def call(self, method: Method[Any, Any], **params: Any) -> Any:
        """The result of a method."""
        return await self._methods.ask(self._methods.begin(SessionClient()), method, params)

    async def see(self, path: str) -> Answer:
        """The answer to a request for a page, by its path below the session's with its query."""
        where, _, query = path.partition("?")
        return await self._answer(PageRequest("GET", where, query.encode()))

    async def send(self, path: str, form: str | Mapping[str, str]) -> Answer:
        """The answer to a form, whose token is put before its fields."""
        assert self._session is not None
        body = form if isinstance(form, str) else urlencode(form)
        token = self._session.form_token(path)
        return await self._answer(PageRequest("POST", path, b"", f"token={token}&{body}".encode()))

    async def _answer(self, request: PageRequest) -> Answer:
        assert self._session is not None
        return await self._pages.answer(self._methods.begin(SessionClient(), "inspect"), self._session, request)


@asynccontextmanager
async def own_page(home: Path) -> AsyncIterator[OwnPage]:
    """The page of a home that is begun where there is none."""
    config = home.parent / "config.toml"
    config.write_text(WITHOUT_MODEL, encoding="utf-8")
    try:
        async with running(Options(home=home, config=config, log_level="error", uses_stderr=False)) as app:
            yield OwnPage(app)
    finally:
        logs.close()
