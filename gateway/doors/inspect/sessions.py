"""One-time codes, and the sessions that they open. Both are held in memory alone, and end with the process.

Rule 1: a code opens one session, within a minute. Codes and session names are held and compared as digests.
Rule 2: times are seconds of any clock that only advances; nothing here reads one.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

from gateway.doors.http.page_routes import CODE_MS

CODE_SECONDS = CODE_MS / 1000
IDLE_SECONDS = 3600.0
"""The time after a session's last request at which it ends."""
MAX_CODES = 16
MAX_SESSIONS = 16
TOKEN_BYTES = 32
HOUR_SECONDS = 3600.0


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "replace")).digest()


@dataclass
class PageSession:
    """A session of a person: its name, which stands in the path, and the key of its forms; times are seconds."""

    name: str
    began: float
    used: float
    key: bytes = field(default_factory=lambda: secrets.token_bytes(TOKEN_BYTES))
    has_keys: bool = True
    """True where single keys act on the page."""

    def form_token(self, action: str) -> str:
        """Return the token of the form that does an action."""
        return hmac.digest(self.key, action.encode(), "sha256").hex()

    def is_own(self, action: str, token: str) -> bool:
        """Return whether a form for that action came from a page of this session."""
        return hmac.compare_digest(self.form_token(action).encode(), token.encode("utf-8", "replace"))


class PageSessions:
    """The unused codes and the open sessions."""

    def __init__(self) -> None:
        self._codes: dict[bytes, float] = {}
        self._open: dict[bytes, PageSession] = {}

    def make_code(self, now: float) -> str:
        """Return a new code; beyond `MAX_CODES` the oldest is dropped."""
        code = secrets.token_urlsafe(TOKEN_BYTES)
        self._codes[_digest(code)] = now
        while len(self._codes) > MAX_CODES:
            del self._codes[next(iter(self._codes))]
        return code

    def open(self, code: str, now: float) -> PageSession | None:
        """Return the session that a code opens; None for a code that was used, is too old, or never was."""
        made = self._codes.pop(_digest(code), None)
        if made is None or now - made > CODE_SECONDS:
            return None
        session = PageSession(secrets.token_urlsafe(TOKEN_BYTES), now, now)
        self._open[_digest(session.name)] = session
        while len(self._open) > MAX_SESSIONS:
            del self._open[next(iter(self._open))]
        return session

    def find(self, name: str, now: float, hours: int) -> PageSession | None:
        """Return the open session of a name, and note that it is used; None where there is none, or it is over."""
        found = self._open.get(_digest(name))
        if found is None:
            return None
        if not self.is_open(found, now, hours):
            self.end(found)
            return None
        found.used = now
        return found

    def is_open(self, session: PageSession, now: float, hours: int) -> bool:
        """Return whether nobody ended a session, and its time is not over."""
        is_in_time = now - session.used <= IDLE_SECONDS and now - session.began <= hours * HOUR_SECONDS
        return is_in_time and _digest(session.name) in self._open

    def end(self, session: PageSession) -> None:
        """End a session."""
        self._open.pop(_digest(session.name), None)
