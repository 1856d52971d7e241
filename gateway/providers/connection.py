"""The connection of a provider: its address, its key, and the headers that a request may have.

Rule 1: the environment gives a provider nothing but the one key that its configuration names: the SDKs would also take
addresses, headers and other keys from there, and send them wherever `base_url` points.
Rule 2: a prompt goes where the configuration says and nowhere else: redirects are not followed.
"""

import contextlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from gateway.base.addresses import is_loopback, key_in
from protocol.gateway import ProviderProblem
from protocol.settings import ProviderConfig, ProviderKind

VENDORS: Mapping[ProviderKind, str] = {"openai": "openai", "anthropic": "anthropic"}
"""The library of each kind that needs one; all of them come with the extra `providers`."""

NO_KEY = "none"
"""The SDKs insist on a key; it is taken out again before anything is sent."""

HEADERS = frozenset(
    {
        "host",
        "accept",
        "accept-encoding",
        "connection",
        "user-agent",
        "content-type",
        "content-length",
        "transfer-encoding",
        "anthropic-version",
    }
)
MARK = "X-Pioneer-Internal"
KEY_HEADERS = frozenset({"authorization", "x-api-key"})


class Connection(NamedTuple):
    """The address, the key and the time-out of a provider."""

    base_url: str | None
    key: str | None
    seconds: float
    mark: str | None = None
    """The token by which a chat proxy of this home recognises our own requests; it is sent to this machine alone."""

    def http_options(self) -> dict[str, Any]:
        """Return options of the SDK's HTTP client that keep both rules."""
        options: dict[str, Any] = {
            "event_hooks": {"request": [self._clean]},
            "follow_redirects": False,
            "timeout": self.seconds,
        }
        if is_loopback(self.base_url):  # a proxy has no business between two programs of one machine
            options |= {"trust_env": False, "mounts": dict.fromkeys(("http://", "https://", "all://"))}
        return options

    async def _clean(self, request: Any) -> None:
        own = {self.key, f"Bearer {self.key}"} if self.key is not None else set[str]()
        for name in list(request.headers):
            low = name.lower()
            if low in KEY_HEADERS:
                is_ours = request.headers[name] in own
            else:
                is_ours = low in HEADERS or low.startswith("x-stainless-")
            if not is_ours:
                del request.headers[name]
        if self.mark is not None and is_loopback(self.base_url):
            request.headers[MARK] = self.mark


def connection_of(config: ProviderConfig, mark: Path | None = None) -> Connection:
    """Return the connection of a provider that `problem_of` has nothing against; `mark` is the file of our mark.

    Where the mark's file cannot be read, requests go without it.
    """
    connection = Connection(config.base_url, key_in(config.api_key_env), config.timeout_ms / 1000)
    if mark is None or not is_loopback(config.base_url):
        return connection
    with contextlib.suppress(OSError):
        return connection._replace(mark=mark.read_text(encoding="ascii").strip())
    return connection


def problem_of(config: ProviderConfig, model: str | None = None) -> ProviderProblem | None:
    """Return the problem that keeps the provider from being asked (for a turn's model, if one is named), or None."""
    if config.kind == "scripted":
        return None if config.script is not None else "script_missing"
    key_is_needed = config.api_key_env is not None or config.base_url is None
    checks: tuple[tuple[ProviderProblem, bool], ...] = (
        ("extra_missing", find_spec(VENDORS[config.kind]) is None),
        ("base_url_invalid", config.base_url is not None and not _is_address(config.base_url)),
        ("key_missing", key_is_needed and key_in(config.api_key_env) is None),
        ("model_missing", (model or config.model) is None),
    )
    return next((problem for problem, holds in checks if holds), None)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
