"""Failures of calls to a provider, as the contract's faults.

Rule 1: what a server or a library says is read for its code only; its text goes nowhere.
Rule 2: an error that stands in no table is our own defect and is not caught.
"""

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, cast

import msgspec

from gateway.base.json_values import table_of
from protocol.models import ProviderFailed, ProviderFault

STATUS_FAULTS: Mapping[int, ProviderFault] = {
    401: "auth",
    402: "auth",
    403: "auth",
    404: "not_configured",
    408: "timeout",
    409: "http_500",
    425: "http_500",
    429: "http_429",
}
"""Every other 5xx is `http_500`; any other status is `rejected`: the server does not take the request as it is."""

SAID_FAULTS: Mapping[str, ProviderFault] = {
    "insufficient_quota": "auth",
    "invalid_api_key": "auth",
    "authentication_error": "auth",
    "permission_error": "auth",
    "billing_error": "auth",
    "model_not_found": "not_configured",
    "not_found_error": "not_configured",
    "rate_limit_error": "http_429",
    "rate_limit_exceeded": "http_429",
    "overloaded_error": "http_500",
    "api_error": "http_500",
    "server_error": "http_500",
    "timeout_error": "timeout",
    "invalid_request_error": "rejected",
    "request_too_large": "rejected",
    "context_length_exceeded": "rejected",
}
"""Codes and types that servers give in the body of an error, also in the middle of a stream that began well."""

TRANSPORTS = frozenset({"httpx", "httpx2", "httpcore", "httpcore2"})
"""Libraries whose errors are of the connection; not every SDK wraps all of them."""


def failure_of(error: Exception, sdk: Any) -> ProviderFailed | None:
    """Return the contract's failure for an error of a vendor's SDK (the SDKs share the names); None for a defect."""
    if isinstance(error, (TimeoutError, sdk.APITimeoutError)):
        return ProviderFailed("timeout")
    if isinstance(error, sdk.APIConnectionError):
        return ProviderFailed("disconnect")
    if isinstance(error, sdk.APIStatusError):
        answer: Any = cast("Any", error).response
        return ProviderFailed(_fault_of_body(answer.status_code, cast("Any", error).body), retry_after(answer.headers))
    if isinstance(error, sdk.APIError):
        return ProviderFailed(_fault_of_body(200, cast("Any", error).body))
    if isinstance(error, (ValueError, msgspec.MsgspecError)):  # no JSON, no UTF-8, not the shape that was agreed
        return ProviderFailed("bad_json")
    if type(error).__module__.partition(".")[0] in TRANSPORTS:
        return ProviderFailed("timeout" if "Timeout" in type(error).__name__ else "disconnect")
    return ProviderFailed("disconnect") if isinstance(error, OSError) else None


def _fault_of_body(status: int, body: object) -> ProviderFault:
    """Return the fault by the error's code where it is known, else by the status, else by the type."""
    code, kind = _codes(body)
    if code in SAID_FAULTS:
        return SAID_FAULTS[code]
    if status < 300:  # the stream had begun: what broke it is on the server's side unless it says more
        return STATUS_FAULTS.get(_number(code), SAID_FAULTS.get(kind, "http_500"))
    return STATUS_FAULTS.get(status, "http_500" if status >= 500 else "rejected")


def _codes(body: object) -> tuple[str, str]:
    """Return the code and the type in an error's body, whether or not it is wrapped once more."""
    outer = table_of(body)
    inner = table_of(outer.get("error")) or outer
    return str(inner.get("code") or ""), str(inner.get("type") or "")


def _number(code: str) -> int:
    return int(code) if code.isascii() and code.isdigit() else 0


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait; None where it does not, or in an unknown form."""
    exact, said = headers.get("retry-after-ms"), headers.get("retry-after")
    for text, unit in ((exact, 0.001), (said, 1.0)):
        try:
            seconds = float(text) * unit if text is not None else -1.0
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time()) if said is not None else None
    except (ValueError, OverflowError):
        return None
