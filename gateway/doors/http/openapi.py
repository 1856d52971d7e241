"""The routes of the door as an OpenAPI 3.1 document, made of the method table and of the rows of `rest`.

Rule 1: the same contract gives the same bytes; `schemas/openapi.json` is compared with it.
"""

import functools
import inspect
import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from gateway.doors.http.rest import ROWS, RestRow
from gateway.doors.http.rpc import LEFT_OUT
from gateway.doors.http.rules import STATUS_OF_REASON
from protocol import http as h
from protocol.base import PROTOCOL_VERSION, portable
from protocol.errors import ErrorReason
from protocol.methods import COMMON_ERRORS, METHODS, Method

VERSION = "3.1.1"
FILE = "openapi.json"
TEMPLATE = "#/components/schemas/{name}"
HTTP_ERRORS: Mapping[int, str] = {
    400: "The request is wrong.",
    401: "The token is missing or wrong.",
    403: "That is not allowed, or the web page may not call the gateway.",
    408: "The body did not arrive in time.",
    413: "The body is too long.",
    415: "The body is not application/json.",
    421: "The host is not the gateway's.",
    429: "Too many requests; `Retry-After` says when to try again.",
    500: "A defect; the incident id is in the log.",
    503: "That cannot be done now.",
    507: "The disk is full.",
}
"""Errors that any request may be answered with."""
OWN_ERRORS: Mapping[int, str] = {404: "It does not exist.", 409: "The state does not allow that."}
"""Errors of some methods only."""
HOST_ERRORS = (400, 403, 421)
"""Errors that are found before the token is looked at: those of `/health`."""
HEADERS = {
    "X-Pioneer-Workspace": "The workspace of what names none.",
    "X-Pioneer-Agent": "The agent of what names none.",
    "X-Pioneer-Time-Zone": "The IANA time zone that times of day are meant in.",
}
OPEN_LEVELS = 3
"""A verb of a path and a schema are on the third level of the document: each has a line of its own."""


@functools.cache
def document_bytes() -> bytes:
    """Return the document as it is served, and stored in `schemas/`."""
    return (_to_lines(portable(document())) + "\n").encode()


def _to_lines(value: Any, level: int = 0) -> str:
    """Return JSON in which members down to level `OPEN_LEVELS` have lines of their own, and deeper ones none."""
    if level == OPEN_LEVELS or not isinstance(value, dict) or not value:
        return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    members = sorted(cast("dict[str, Any]", value).items())
    lines = [f"{'  ' * (level + 1)}{json.dumps(name)}: {_to_lines(member, level + 1)}" for name, member in members]
    return "{\n" + ",\n".join(lines) + "\n" + "  " * level + "}"


def document() -> dict[str, Any]:
    """Return the document."""
    routes = {name: method for name, method in METHODS.items() if name not in LEFT_OUT}
    kinds = [kind for method in routes.values() for kind in (method.params, method.result)]
    kinds += [row.takes for row in ROWS] + [kind for row in ROWS for kind in row.answers.values()]
    kinds += [h.HealthResult, h.HttpError, h.EventsQuery, h.InspectCodeResult]
    schemas = _schemas(kinds)
    paths: dict[str, Any] = {
        "/health": {"get": _health()},
        "/openapi.json": {"get": _operation("describe", "This document.", {})},
        "/events": {"get": _events(schemas)},
        "/inspect": {
            "post": _operation("inspect", "A one-time code for the page.", {200: _reference(h.InspectCodeResult)})
        },
        "/rpc": {"post": _rpc(list(routes))},
    }
    for method in routes.values():
        if "/" in method.name:
            paths[f"/rpc/{method.name}"] = {"post": _method(method)}
    for row in ROWS:
        paths.setdefault(row.path, {})[row.verb.lower()] = _row(row, schemas)
    return {
        "openapi": VERSION,
        "info": {
            "title": "Pioneer gateway",
            "version": PROTOCOL_VERSION,
            "description": "A local memory for assistants. Every request but GET /health needs the token of the home.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "http://127.0.0.1:42069"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "parameters": {name: _header(name, about) for name, about in HEADERS.items()},
        },
    }


def _schemas(kinds: Iterable[Any]) -> dict[str, Any]:
    """Return the JSON schema of each type, and of those that it refers to, by its name."""
    found = msgspec.json.schema_components(list(kinds), ref_template=TEMPLATE)[1]
    for one in found.values():
        if "description" in one:
            one["description"] = inspect.cleandoc(one["description"])
    return found


def _header(name: str, about: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "description": about, "schema": {"type": "string"}}


def _reference(kind: Any) -> dict[str, Any]:
    (schema,), _ = msgspec.json.schema_components([kind], ref_template=TEMPLATE)
    return schema


def _content(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _errors(statuses: Iterable[int]) -> dict[str, Any]:
    known = {**HTTP_ERRORS, **OWN_ERRORS}
    return {
        str(status): {"description": known[status], "content": _content(_reference(h.HttpError))} for status in statuses
    }


def _operation(name: str, summary: str, answers: Mapping[int, Any], own: Iterable[int] = ()) -> dict[str, Any]:
    """Return an operation object: `answers` are schemas by code; errors are those of every request, and `own`."""
    found = {str(status): {"description": summary, "content": _content(kind)} for status, kind in answers.items()}
    return {
        "operationId": name,
        "summary": summary,
        "parameters": [{"$ref": f"#/components/parameters/{header}"} for header in HEADERS],
        "responses": {**(found or {"200": {"description": summary}}), **_errors([*HTTP_ERRORS, *own])},
    }


def _own_statuses(reasons: Iterable[ErrorReason]) -> list[int]:
    """Return the codes of some reasons that are in `OWN_ERRORS`: every operation has those of `HTTP_ERRORS` anyway."""
    return sorted({STATUS_OF_REASON[reason] for reason in reasons} & OWN_ERRORS.keys())


def _health() -> dict[str, Any]:
    found = {"description": "The state.", "content": _content(_reference(h.HealthResult))}
    return {
        "operationId": "health",
        "summary": "Whether the gateway works.",
        "security": [],
        "responses": {"200": found, **_errors(HOST_ERRORS)},
    }


def _events(schemas: Mapping[str, Any]) -> dict[str, Any]:
    stream = {
        "200": {"description": "Server-Sent Events.", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
    }
    found = _operation("events", "Notifications, as they come.", {})
    last = _header("Last-Event-ID", "The last event that was received: the stream goes on after it.")
    parameters = [*found["parameters"], last, *_query_parameters(h.EventsQuery, schemas)]
    return {**found, "parameters": parameters, "responses": {**found["responses"], **stream}}


def _rpc(names: list[str]) -> dict[str, Any]:
    request = {
        "type": "object",
        "required": ["jsonrpc", "method"],
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "id": {"type": ["string", "integer"]},
            "method": {"enum": names},
            "params": {"type": "object"},
        },
    }
    body = {"oneOf": [request, {"type": "array", "items": request, "minItems": 1, "maxItems": 100}]}
    found = _operation("rpc", "JSON-RPC 2.0, one request or a batch.", {200: {"type": ["object", "array"]}})
    only = {"204": {"description": "There were notifications only."}}
    content = {"required": True, "content": _content(body)}
    return {**found, "requestBody": content, "responses": {**found["responses"], **only}}


def _method(method: Method[Any, Any]) -> dict[str, Any]:
    own = _own_statuses((*method.errors, *COMMON_ERRORS))
    found = _operation(method.name.replace("/", "_"), method.summary, {200: _reference(method.result)}, own)
    return {**found, "requestBody": {"content": _content(_reference(method.params))}}


def _query_parameters(kind: type[msgspec.Struct], schemas: Mapping[str, Any]) -> list[dict[str, Any]]:
    shape = schemas[kind.__name__]
    return [
        {"name": name, "in": "query", "required": name in shape["required"], "schema": schema}
        for name, schema in shape["properties"].items()
    ]


def _row(row: RestRow, schemas: Mapping[str, Any]) -> dict[str, Any]:
    name = f"{row.verb.lower()}_{row.path.removeprefix('/v1/').replace('/', '_')}"
    answers = {status: _reference(kind) for status, kind in row.answers.items()}
    found = _operation(name, row.summary, answers, OWN_ERRORS)
    if row.in_body:
        return {**found, "requestBody": {"required": True, "content": _content(_reference(row.takes))}}
    return {**found, "parameters": [*found["parameters"], *_query_parameters(row.takes, schemas)]}
