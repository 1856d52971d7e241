"""The rules of the HTTP door as pure decisions: access, rate, queries, and the answers to what is refused.

Rule 1: a decision takes plain values and returns a refusal or None; it reads no clock, no file and no socket.
Rule 2: a refusal holds no stored text and nothing about other callers.
"""

import hmac
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import parse_qsl

from msgspec import Struct, field

from protocol.base import encode
from protocol.errors import REASONS, CallerError, ErrorObject, ErrorReason
from protocol.http import HttpError, HttpErrorData, HttpErrorObject, HttpReason

MAX_HEAD_BYTES = 64 * 1024
"""The most bytes of a request line with its headers."""
MAX_FAILURES = 9
"""Wrong tokens within `FAILURE_SECONDS` that are answered at once; each later one waits `FAILURE_DELAY` seconds."""
FAILURE_SECONDS = 60.0
FAILURE_DELAY = 1.0

LOCAL_NAMES = ("127.0.0.1", "[::1]", "localhost")
HTTP_PORT = 80
UNROUTED_VERBS = frozenset({"TRACE", "CONNECT"})
BAD_ENCODING = "The query is not encoded as a form's is"

Headers: TypeAlias = Mapping[str, Sequence[str]]
"""Every value of each header, by its name in small letters."""

_LONE_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")


class Refusal(NamedTuple):
    """An answer that no method gave: its HTTP code, the error, and headers of its own."""

    status: int
    reason: HttpReason
    code: int
    message: str
    retryable: bool = False
    headers: tuple[tuple[str, str], ...] = ()

    def body(self) -> bytes:
        """Return the answer's JSON."""
        data = HttpErrorData(reason=self.reason, retryable=self.retryable)
        return encode(HttpError(error=HttpErrorObject(code=self.code, message=self.message, data=data)))


NO_HOST = Refusal(400, "invalid_request", -32600, "A request names its host.")
UNREADABLE = Refusal(400, "invalid_request", -32600, "That is no HTTP request.")
DOUBLE_LENGTH = Refusal(400, "invalid_request", -32600, "A request has one length.")
NO_BODY = Refusal(400, "invalid_request", -32600, "This route takes no body.")
UNAUTHORIZED = Refusal(
    401,
    "unauthorized",
    -32043,
    "Send the token of HOME/http/token: `Authorization: Bearer ...`.",
    headers=(("www-authenticate", "Bearer"),),
)
FOREIGN_PAGE = Refusal(403, "forbidden", -32043, "That web page may not call this gateway.")
NO_ROUTE = Refusal(404, "not_found", -32044, "There is no such route.")
NO_METHOD = Refusal(404, "method_not_found", -32601, "There is no such method.")
TOO_SLOW = Refusal(408, "too_slow", -32600, "The request did not arrive in time.", retryable=True)
TOO_LONG = Refusal(413, "message_too_large", -32600, "The body is longer than gateway.http.max_body_bytes.")
WRONG_TYPE = Refusal(415, "wrong_type", -32600, "A body is application/json in UTF-8.")
WRONG_FORM = Refusal(415, "wrong_type", -32600, "The page takes what its own forms send.")
MISDIRECTED = Refusal(421, "misdirected", -32043, "The request's host is not this gateway.")
TOO_MANY = Refusal(
    429, "overloaded", -32001, "Too many requests; try again.", retryable=True, headers=(("retry-after", "1"),)
)
HEAD_TOO_LARGE = Refusal(431, "head_too_large", -32600, "The head of the request is too long.")
ENDING = Refusal(503, "unavailable", -32046, "The gateway ends.", retryable=True)
NOT_SUPPORTED = Refusal(501, "not_supported", -32600, "That transfer encoding is not supported.")
BY_STATUS: Mapping[int, Refusal] = {431: HEAD_TOO_LARGE, 501: NOT_SUPPORTED}
"""Refusals of a head that cannot be read, by the parser's own code; any other is `UNREADABLE`."""


def wrong_verb(allowed: Sequence[str]) -> Refusal:
    """Return the refusal of a verb; it names those that the route answers."""
    allow = (("allow", ", ".join(sorted(allowed) or ["GET", "POST"])),)
    return Refusal(405, "wrong_verb", -32600, "This route does not answer that verb.", headers=allow)


STATUS_OF_CODE: Mapping[int, int] = {
    -32700: 400,
    -32600: 400,
    -32601: 404,
    -32602: 400,
    -32603: 500,
    -32001: 429,
    -32002: 400,
    -32043: 403,
    -32044: 404,
    -32045: 409,
    -32046: 503,
    -32800: 503,
}
STATUS_OF_REASON: Mapping[ErrorReason, int] = {
    **{reason: STATUS_OF_CODE[info.code] for reason, info in REASONS.items()},
    "message_too_large": 413,
    "shutting_down": 503,
    "storage_full": 507,
}
"""The HTTP code of every error of a method."""


def headers_of(error: ErrorObject) -> tuple[tuple[str, str], ...]:
    """Return the headers that are sent with a method's error."""
    return TOO_MANY.headers if error.data.reason == "overloaded" else ()


# -- access ------------------------------------------------------------------------------------------------------------


class Access(Struct, frozen=True):
    """The names under which the door may be called, and the web pages that may call it."""

    hosts: frozenset[str]
    """Values of `Host`, in small letters."""
    origins: frozenset[str]
    """Values of `Origin`: the door's own, and the listed ones."""
    listed: frozenset[str] = frozenset()
    """Values of `Origin` whose pages may read answers."""


def access_of(port: int, bind: str, allowed_hosts: Sequence[str], allowed_origins: Sequence[str]) -> Access:
    """Return the access to a door that listens on a port; a listed host counts with and without the port."""
    own = {*LOCAL_NAMES, f"[{bind}]" if ":" in bind else bind} if is_local(bind) else set(LOCAL_NAMES)
    listed = {name.lower() for name in allowed_hosts}
    hosts = {f"{name}:{port}" for name in own} | listed | {f"{name}:{port}" for name in listed if not _has_port(name)}
    if port == HTTP_PORT:
        hosts |= own
    pages = frozenset(origin.rstrip("/").lower() for origin in allowed_origins)
    return Access(frozenset(hosts), frozenset({*pages, *(f"http://{host}" for host in hosts)}), pages)


class DoorAccess:
    """The access to a door by the settings of the moment, made anew only where they changed."""

    def __init__(self, port: int, bind: str) -> None:
        self._place = port, bind
        self._listed: tuple[Sequence[str], Sequence[str]] = (), ()
        self._access = access_of(port, bind, (), ())

    def by(self, allowed_hosts: Sequence[str], allowed_origins: Sequence[str] = ()) -> Access:
        """Return the access that these settings give."""
        if self._listed != (allowed_hosts, allowed_origins):
            self._listed = allowed_hosts, allowed_origins
            self._access = access_of(*self._place, allowed_hosts, allowed_origins)
        return self._access


def is_local(bind: str) -> bool:
    """Return whether an address is reached from this machine alone."""
    return bind in {"localhost", "::1"} or bind.startswith("127.")


def _has_port(name: str) -> bool:
    return name.rpartition("]")[2].count(":") == 1


def refuse_head(target: bytes, headers: Headers) -> Refusal | None:
    """Refuse a head that is too long and arrived in one piece; the parser bounds only those that arrive in several."""
    size = len(target) + sum(len(name) + len(value) + 4 for name, values in headers.items() for value in values)
    return HEAD_TOO_LARGE if size > MAX_HEAD_BYTES else None


def refuse_host(headers: Headers, access: Access) -> Refusal | None:
    """Refuse a request for another host: after DNS rebinding a foreign web page would send one."""
    hosts = headers.get("host", ())
    if not hosts:
        return NO_HOST
    return None if len(hosts) == 1 and hosts[0].lower() in access.hosts else MISDIRECTED


def refuse_page(headers: Headers, access: Access) -> Refusal | None:
    """Refuse a request of a web page that is neither the door's own nor listed, reads included."""
    origins = headers.get("origin", ())
    is_known = len(origins) == 1 and origins[0].lower() in access.origins
    sites = {site.strip().lower() for site in headers.get("sec-fetch-site", ())}
    is_foreign = not sites <= {"same-origin", "none"}
    return FOREIGN_PAGE if (origins or is_foreign) and not is_known else None


def refuse_form(headers: Headers, access: Access) -> Refusal | None:
    """Refuse a form that no page of the door itself has sent.

    Its pages send no referrer, so their forms have the origin `null`; `Sec-Fetch-Site`, which only a browser can set,
    says beside it that they come from here.
    """
    origins = headers.get("origin", ())
    sites = [site.strip().lower() for site in headers.get("sec-fetch-site", ())]
    if list(origins) == ["null"] and sites == ["same-origin"]:
        return None
    return refuse_page(headers, access)


def refuse_verb(verb: str, headers: Headers) -> Refusal | None:
    """Refuse a verb that no route answers (a tunnel, an echo), and a change of protocol."""
    return wrong_verb(()) if verb in UNROUTED_VERBS or "upgrade" in headers else None


def refuse_token(headers: Headers, token: str) -> Refusal | None:
    """Refuse a request without the token, which is compared in constant time."""
    given = headers.get("authorization", ())
    scheme, _, secret = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    is_right = hmac.compare_digest(secret.strip().encode("utf-8", "replace"), token.encode())
    return None if is_right and scheme.lower() == "bearer" else UNAUTHORIZED


def refuse_message(headers: Headers, max_bytes: int) -> Refusal | None:
    """Refuse a body whose head says that it is no JSON, is too long, or has two lengths."""
    lengths, encodings = headers.get("content-length", ()), headers.get("transfer-encoding", ())
    if lengths and encodings:
        return DOUBLE_LENGTH
    if (encodings or any(length.strip("0 ") for length in lengths)) and not _is_json(headers.get("content-type", ())):
        return WRONG_TYPE
    return TOO_LONG if lengths and int(lengths[0]) > max_bytes else None


def _is_json(kinds: Sequence[str]) -> bool:
    if len(kinds) != 1:
        return False
    kind, *parameters = (part.strip().lower() for part in kinds[0].split(";"))
    charsets = [text.partition("=")[2].strip('"') for text in parameters if text.startswith("charset=")]
    return kind == "application/json" and all(charset in {"utf-8", "utf8"} for charset in charsets)


def cross_origin_headers(headers: Headers, access: Access, *, is_preflight: bool = False) -> list[tuple[str, str]]:
    """Return the headers by which a listed page may read the answer; none for any other request."""
    origin = next(iter(headers.get("origin", ())), "")
    if origin.lower() not in access.listed:
        return []
    shared = [("access-control-allow-origin", origin), ("vary", "Origin")]
    if not is_preflight:
        return shared
    return [
        *shared,
        ("access-control-allow-methods", "GET, POST, DELETE"),
        (
            "access-control-allow-headers",
            "authorization, content-type, last-event-id, x-pioneer-agent, x-pioneer-time-zone, x-pioneer-workspace",
        ),
    ]


# -- rate --------------------------------------------------------------------------------------------------------------


class Rate(Struct):
    """A token bucket that holds the requests of two seconds. Times are seconds of any clock that only advances."""

    room: float = 0.0
    """The requests that may come now; it was counted at the time `at`."""
    at: float | None = None

    def takes(self, now: float, per_second: int) -> bool:
        """Count a request; return False where it is one too many."""
        burst = 2.0 * per_second
        self.room = burst if self.at is None else min(burst, self.room + (now - self.at) * per_second)
        self.at = now
        if self.room < 1.0:
            return False
        self.room -= 1.0
        return True


class Failures(Struct):
    """The times of wrong tokens within `FAILURE_SECONDS`; of them only as many as `delay` counts."""

    times: list[float] = field(default_factory=list[float])

    def delay(self, now: float) -> float:
        """Count a wrong token; return the seconds for which its answer is held back."""
        kept = [at for at in self.times if now - at < FAILURE_SECONDS]
        self.times = [*kept, now][-(MAX_FAILURES + 1) :]
        return FAILURE_DELAY if len(self.times) > MAX_FAILURES else 0.0


# -- queries -----------------------------------------------------------------------------------------------------------


def members_of(query: bytes, lists: Collection[str] = (), switches: Collection[str] = ()) -> dict[str, Any]:
    """Return the members of a query; those of `lists` are lists, and those of `switches` may be given without a value.

    Raises `CallerError` for a member given twice that is no list, and for a query that is not URL-encoded UTF-8.
    """
    if _LONE_PERCENT.search(query):
        raise CallerError.at("$", BAD_ENCODING)
    parts = [part + b"=true" if part.decode("latin-1") in switches else part for part in query.split(b"&")]
    query = b"&".join(parts)
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, strict_parsing=bool(query), errors="strict")
    except ValueError:
        raise CallerError.at("$", BAD_ENCODING) from None
    single = [(name, value) for name, value in pairs if name not in lists]
    members: dict[str, Any] = dict(single)
    if len(members) != len(single):
        raise CallerError.at("$", "A member of the query is given twice")
    for name, value in pairs:
        if name in lists:
            members.setdefault(name, []).append(value)
    return members
