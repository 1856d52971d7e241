"""The route of a request: the parts of its address, its upstream, and the headers that are passed on; pure.

Rule 1: the client's credential wins; the configured key is used where there is none, or where it is the word `pioneer`.
Rule 2: no header of the gateway reaches a vendor. An upstream on this machine gets the homes that a request went
through, so that a loop is noticed.
"""

import hmac
import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

from gateway.base.addresses import is_loopback
from protocol.settings import Dialect, UpstreamSettings

Header: TypeAlias = tuple[bytes, bytes]
"""A name as it was written, and a value."""
Api: TypeAlias = Literal["chat", "responses", "messages"]
APIS: Mapping[str, tuple[Api, Dialect]] = {
    "/v1/chat/completions": ("chat", "openai"),
    "/v1/responses": ("responses", "openai"),
    "/v1/messages": ("messages", "anthropic"),
}
"""The paths whose requests memory understands, with the API and the dialect of each."""
DEFAULT_UPSTREAMS: Mapping[str, UpstreamSettings] = {
    "openai": UpstreamSettings(dialect="openai", base_url="https://api.openai.com/v1"),
    "anthropic": UpstreamSettings(dialect="anthropic", base_url="https://api.anthropic.com"),
}
"""The upstreams that are used where none is configured."""
HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        b"host",
    }
)
"""Headers of one connection (RFC 9110, 7.6.1), and `Host`: they are not passed on."""
CREDENTIALS = frozenset({b"authorization", b"x-api-key"})
OWN_PREFIX = b"x-pioneer-"
HOP = b"x-pioneer-hop"
LENGTH = b"Content-Length"
NO_COMPRESSION = (b"Accept-Encoding", b"identity")
"""The header, in place of the client's own, that asks for an answer without compression."""
INTERNAL = "x-pioneer-internal"
PLACEHOLDER_KEY = "pioneer"
"""The placeholder for a key, as some programs refuse an empty one."""
OAUTH_PREFIX = "bearer sk-ant-oat"
"""The beginning of a subscription's credential, in small letters."""
_PATH = re.compile(
    r"(?:/t/(?P<token>[A-Za-z0-9_-]+))?(?:/u/(?P<upstream>[^/]+))?(?:/w/(?P<workspace>[^/]+))?(?:/a/(?P<agent>[^/]+))?"
    r"(?P<path>/.*)"
)
_DOTS = re.compile(r"(?:^|[/\\])\.{1,2}(?:[/\\]|$)")
_SERVED = "/v1/"


class ProxyAddress(NamedTuple):
    """The parts of a request's address; `path` is the vendor's."""

    token: str | None
    upstream: str | None
    workspace_id: str | None
    agent_id: str | None
    path: str

    @property
    def is_served(self) -> bool:
        """Return whether the path is below `/v1/` and has no dots by which it could leave that."""
        return self.path.startswith(_SERVED) and not _DOTS.search(unquote(self.path))


def read_address(raw_path: str) -> ProxyAddress:
    """Return the parts of a path; of one in another form, the path alone."""
    found = _PATH.fullmatch(raw_path)
    if found is None:
        return ProxyAddress(None, None, None, None, raw_path)
    return ProxyAddress(found["token"], found["upstream"], found["workspace"], found["agent"], found["path"])


def is_right_token(given: str | None, token: str) -> bool:
    """Return whether a token is the right one; they are compared in constant time."""
    return hmac.compare_digest((given or "").encode("utf-8", "replace"), token.encode())


class Upstream(NamedTuple):
    """The upstream of a request, with its settings."""

    name: str
    settings: UpstreamSettings

    @property
    def is_loopback(self) -> bool:
        """Return whether it is on this machine."""
        return is_loopback(self.settings.base_url)

    def url(self, path: str, query: bytes) -> str:
        """Return the address of a vendor's path at this upstream; a base URL of `openai` includes `/v1`."""
        below = path.removeprefix("/v1") if self.settings.dialect == "openai" else path
        return self.settings.base_url.rstrip("/") + below + (f"?{query.decode('ascii')}" if query else "")


def find_upstream(
    address: ProxyAddress, names: frozenset[str], configured: Mapping[str, UpstreamSettings]
) -> Upstream | None:
    """Return the upstream of a request with headers of these names; None where the address names an unknown one.

    Without a name in the address it is the default of the request's dialect, or the first one.
    """
    known = configured or DEFAULT_UPSTREAMS
    if address.upstream is not None:
        named = known.get(address.upstream) or DEFAULT_UPSTREAMS.get(address.upstream)
        return Upstream(address.upstream, named) if named is not None else None
    is_anthropic = address.path.startswith("/v1/messages") or "anthropic-version" in names
    dialect: Dialect = "anthropic" if is_anthropic else "openai"
    of_dialect = [Upstream(name, one) for name, one in known.items() if one.dialect == dialect]
    chosen = next((one for one in of_dialect if one.settings.default), None)
    return chosen or next(iter(of_dialect), None) or Upstream(dialect, DEFAULT_UPSTREAMS[dialect])


def request_headers(
    headers: Sequence[Header], upstream: Upstream, key: str | None, *, home_id: str, is_understood: bool
) -> list[Header]:
    """Return the headers of the request that is passed on, in the client's order and spelling.

    `key` is the configured one; `is_understood` asks for an answer without compression.
    """
    dropped = HOP_BY_HOP | _find_connection_headers(headers)
    kept = [
        (name, NO_COMPRESSION[1] if is_understood and small == NO_COMPRESSION[0].lower() else value)
        for name, value in headers
        if (small := name.lower()) not in dropped and not small.startswith(OWN_PREFIX)
    ]
    if is_understood and not _has_header(kept, NO_COMPRESSION[0]):
        kept.append(NO_COMPRESSION)
    kept = _with_key(kept, upstream.settings.dialect, key)
    if upstream.is_loopback:
        hops = [value for name, value in headers if name.lower() == HOP]
        kept.append((HOP, b", ".join([*hops, home_id.encode()])))
    return kept


def with_length(headers: Sequence[Header], size: int) -> list[Header]:
    """Return headers with the length of a body, in place of the given length or at the end."""
    length = str(size).encode()
    found = [(name, length if name.lower() == LENGTH.lower() else value) for name, value in headers]
    return found if _has_header(found, LENGTH) else [*found, (LENGTH, length)]


def _has_header(headers: Sequence[Header], wanted: bytes) -> bool:
    return any(name.lower() == wanted.lower() for name, _ in headers)


def _find_connection_headers(headers: Sequence[Header]) -> frozenset[bytes]:
    """Return the names of headers that `Connection` lists as meant for this hop alone."""
    values = [value for name, value in headers if name.lower() == b"connection"]
    return frozenset(part.strip().lower() for value in values for part in value.split(b","))


def _with_key(headers: list[Header], dialect: Dialect, key: str | None) -> list[Header]:
    """Return headers with the key in place of the client's credential, unless that is a real one."""
    given = {name.lower(): value.decode("latin-1").strip() for name, value in headers}
    credentials = [given.get(b"authorization", ""), given.get(b"x-api-key", "")]
    real = [one for one in credentials if one.lower().removeprefix("bearer").strip() not in {"", PLACEHOLDER_KEY}]
    if real:
        return headers
    added: list[Header] = []
    if key is not None:
        is_anthropic = dialect == "anthropic"
        added = [(b"x-api-key", key.encode()) if is_anthropic else (b"Authorization", b"Bearer " + key.encode())]
    first = next((place for place, (name, _) in enumerate(headers) if name.lower() in CREDENTIALS), len(headers))
    return [*headers[:first], *added, *(one for one in headers[first:] if one[0].lower() not in CREDENTIALS)]


def response_headers(headers: Sequence[Header]) -> list[Header]:
    """Return the headers of an upstream's answer that are passed back, in their order."""
    dropped = (HOP_BY_HOP - {b"host"}) | _find_connection_headers(headers)
    return [(name, value) for name, value in headers if name.lower() not in dropped]


def has_hop(headers: Mapping[str, Sequence[str]], home_id: str) -> bool:
    """Return whether a request went through this home already."""
    hops = [part.strip() for value in headers.get(HOP.decode(), ()) for part in value.split(",")]
    return bool(home_id) and home_id in hops


def is_oauth(headers: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a request has a subscription's token; its vendor checks the system text, which stays as it is."""
    return any(value.lower().startswith(OAUTH_PREFIX) for value in headers.get("authorization", ()))


def error_body(dialect: Dialect, code: str, message: str) -> dict[str, object]:
    """Return the body of one of the proxy's own errors, in the form of a dialect."""
    if dialect == "anthropic":
        return {"type": "error", "error": {"type": "pioneer_error", "code": code, "message": message}}
    return {"error": {"message": message, "type": "pioneer_error", "code": code}}
