"""The contract as documents: JSON Schema bundles, an OpenRPC description, the list of errors.

Rule 1: everything is derived from the Structs and tables of this package; this module adds no text of its own.
Rule 2: the same contract gives the same bytes, so that a difference is a change of the contract.
"""

import inspect
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from protocol import (
    base,
    bundle,
    envelope,
    errors,
    gateway,
    notifications,
    record,
    settings,
    thread_episodic,
    tools,
)
from protocol.base import PROTOCOL_VERSION, Params, Wire, portable
from protocol.conversation import artifacts, host_turns, imports, items, manifests, threads, turns, workspaces
from protocol.errors import REASONS, ErrorObject, ErrorReason
from protocol.files import collections, knowledge
from protocol.memory import bundles, candidates, changes, explaining, facts, forgetting, reads, values, writes
from protocol.methods import CLIENT_NOTIFICATIONS, COMMON_ERRORS, METHODS, Method
from protocol.notifications import NOTIFICATIONS

DIALECT = "https://json-schema.org/draft/2020-12/schema"
OPENRPC_VERSION = "1.3.2"

BUNDLES: dict[str, tuple[tuple[ModuleType, ...], str]] = {
    "gateway": ((gateway, base, envelope, errors), "Envelopes, handshake, status, hooks and providers."),
    "threads": (
        (workspaces, threads, artifacts, items, imports, turns, manifests, host_turns),
        "Workspaces, threads, turns, items and artifacts.",
    ),
    "memory": (
        (values, reads, writes, forgetting, changes, candidates, explaining, bundles, facts, record, bundle),
        "Durable memory: records, candidates, explanations, and the lines of a bundle.",
    ),
    "thread_episodic": ((thread_episodic,), "Search of what was said."),
    "knowledge": ((collections, knowledge), "Files as evidence: collections, search, reading."),
    "tools": ((tools,), "The arguments of the tools that a model may be offered."),
}
"""The modules whose messages a schema file holds, with its title. Settings and notifications have their own root."""


def structs_of(*modules: ModuleType) -> list[type[msgspec.Struct]]:
    """Return every message that the modules themselves declare."""
    return [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, (Wire, Params)) and value.__module__ == module.__name__
    ]


def documents() -> dict[str, bytes]:
    """Return every document by its file name."""
    bundles = {name: _bundle(about, structs_of(*modules)) for name, (modules, about) in BUNDLES.items()}
    bundles["config"] = _bundle("The file config.toml; other top-level tables are ignored.", structs_of(settings)) | {
        "type": "object",
        "properties": {"gateway": {"$ref": "#/$defs/GatewayConfig"}},
    }
    bundles["notifications"] = _bundle("What the gateway says without being asked.", structs_of(notifications)) | {
        "x-notifications": _notifications("#/$defs/{name}")
    }
    bundles["errors"] = _bundle("Every error of the contract.", [ErrorObject]) | {
        "x-errors": {reason: info._asdict() for reason, info in REASONS.items()}
    }
    return {f"{name}.json": _encode_schema(document) for name, document in (bundles | {"openrpc": _openrpc()}).items()}


def write(folder: Path, of_doors: Mapping[str, bytes]) -> None:
    """Write the present documents, and those of doors, into the folder; other files stay: `find_stale` names those."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in {**documents(), **of_doors}.items():
        (folder / name).write_bytes(data)


def find_stale(folder: Path, of_doors: Mapping[str, bytes]) -> list[str]:
    """Return the names of files that are missing, different or no longer wanted."""
    wanted = {**documents(), **of_doors}
    found = {path.name: path.read_bytes().replace(b"\r\n", b"\n") for path in folder.glob("*.json")}
    return sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))


def _encode_schema(document: dict[str, Any]) -> bytes:
    return (json.dumps(portable(document), indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _components(types: Iterable[Any], template: str) -> dict[str, Any]:
    components = msgspec.json.schema_components(list(types), ref_template=template)[1]
    for component in components.values():
        if "description" in component:  # a docstring, which Python 3.13 and later keep without its indentation
            component["description"] = inspect.cleandoc(component["description"])
    return components


def _bundle(about: str, types: Iterable[Any]) -> dict[str, Any]:
    return {"$schema": DIALECT, "description": about, "$defs": _components(types, "#/$defs/{name}")}


def _notifications(template: str) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "summary": notice.summary,
            "params": {"$ref": template.format(name=notice.params.__name__)},
            "coalescable": notice.coalescable,
        }
        for name, notice in NOTIFICATIONS.items()
    ]


def _openrpc() -> dict[str, Any]:
    template = "#/components/schemas/{name}"
    types = [kind for method in METHODS.values() for kind in (method.params, method.result)]
    types += [notice.params for notice in NOTIFICATIONS.values()]
    types += [params for params, _ in CLIENT_NOTIFICATIONS.values()]
    schemas = _components(types, template)
    return {
        "openrpc": OPENRPC_VERSION,
        "info": {
            "title": "Pioneer gateway",
            "version": PROTOCOL_VERSION,
            "description": "JSON-RPC 2.0, one message per line over the pipes of a spawned process. "
            "`params` of any request may hold `_meta`, an object that is ignored.",
        },
        "methods": [_method(method, schemas) for method in METHODS.values()],
        "components": {"schemas": schemas, "errors": {reason: _error(reason) for reason in REASONS}},
        "x-notifications": _notifications(template),
        "x-client-notifications": [
            {"name": name, "summary": summary, "params": {"$ref": template.format(name=params.__name__)}}
            for name, (params, summary) in CLIENT_NOTIFICATIONS.items()
        ],
    }


def _method(method: Method[Any, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    shape = schemas[method.params.__name__]
    common = [reason for reason in COMMON_ERRORS if not (method.before_initialize and reason == "not_initialized")]
    (result,), _ = msgspec.json.schema_components([method.result], ref_template="#/components/schemas/{name}")
    return {
        "name": method.name,
        "summary": method.summary,
        "paramStructure": "by-name",
        "params": [
            {"name": name, "required": name in shape["required"], "schema": schema}
            for name, schema in shape["properties"].items()
        ],
        "result": {"name": "result", "schema": result},
        "errors": [{"$ref": f"#/components/errors/{reason}"} for reason in (*method.errors, *common)],
        "x-ordering": method.ordering,
        "x-before-initialize": method.before_initialize,
    }


def _error(reason: ErrorReason) -> dict[str, Any]:
    info = REASONS[reason]
    return {"code": info.code, "message": info.message, "data": {"reason": reason, "retryable": info.retryable}}
