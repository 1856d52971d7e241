import importlib
import json
import pkgutil
from collections import Counter
from pathlib import Path

import jsonschema
import msgspec
import pytest
from cases import each
from jsonschema import Draft202012Validator

import protocol
from gateway.doors.http import openapi
from protocol.base import Params, Scope, Wire
from protocol.conversation.turns import TextInput, TurnStartParams
from protocol.errors import REASONS, CallerError
from protocol.gateway import ClientInfo, Degraded, InitializeParams
from protocol.memory.forgetting import ForgetById, ForgetParams
from protocol.memory.values import Context
from protocol.memory.writes import RememberParams
from protocol.methods import METHODS
from protocol.notifications import NOTIFICATIONS, GatewayDegraded
from protocol.reference import schema
from protocol.settings import GatewayConfig, SettingsUpdateParams

pytestmark = pytest.mark.loop("check")  # lint compares them, too

FOLDER = Path(__file__).resolve().parents[2] / "schemas"


def declared():
    """Every message of the contract, by the module that declares it."""
    modules = [importlib.import_module(f"protocol.{found.name}") for found in pkgutil.iter_modules(protocol.__path__)]
    return schema.structs_of(*modules)


@pytest.fixture(scope="module")
def documents():
    return {name: json.loads(data) for name, data in schema.documents().items()}


@pytest.fixture(scope="module")
def of_doors():
    return {openapi.FILE: openapi.document_bytes()}


def test_the_committed_schemas_are_those_of_the_contract(of_doors):
    assert schema.find_stale(FOLDER, of_doors) == [], (
        "schemas/ is not what protocol/ says: run `make schemas` and commit the result"
    )


def test_writing_makes_a_folder_current_and_removes_nothing(tmp_path, of_doors):
    (tmp_path / "memory.json").write_text("{}")
    (tmp_path / "mine.json").write_text("{}")
    assert {"memory.json", "mine.json", "openrpc.json"} <= set(schema.find_stale(tmp_path, of_doors))
    schema.write(tmp_path, of_doors)
    assert schema.find_stale(tmp_path, of_doors) == ["mine.json"]
    (tmp_path / "mine.json").unlink()
    written = tmp_path / "errors.json"
    written.write_bytes(written.read_bytes().replace(b"\n", b"\r\n"))
    assert schema.find_stale(tmp_path, of_doors) == []


def test_documents_are_the_same_every_time_and_end_with_a_newline():
    first = schema.documents()
    assert first == schema.documents()
    assert all(data.endswith(b"}\n") for data in first.values())
    names = [
        "gateway",
        "config",
        "threads",
        "memory",
        "thread_episodic",
        "knowledge",
        "notifications",
        "tools",
        "errors",
        "openrpc",
    ]
    assert set(first) == {f"{name}.json" for name in names}


@each("struct", declared())
def test_every_message_says_what_it_is(struct):
    assert (vars(struct).get("__doc__") or "").strip()


def test_no_two_messages_share_a_name():
    names = Counter(struct.__name__ for struct in declared())
    assert [name for name, count in names.items() if count > 1] == []


def test_every_method_has_a_summary_and_only_known_errors():
    for method in METHODS.values():
        assert method.summary.endswith(".")
        assert set(method.errors) <= set(REASONS)


def test_every_bundle_is_a_valid_schema_whose_references_resolve(documents):
    for name, document in documents.items():
        if name == "openrpc.json":
            continue
        Draft202012Validator.check_schema(document)
        assert references(document) <= {f"#/$defs/{key}" for key in document["$defs"]}, name


def references(node):
    if isinstance(node, dict):
        own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return own.union(*map(references, node.values()))
    return set().union(*map(references, node)) if isinstance(node, list) else set()


def test_openrpc_describes_every_method_and_its_references_resolve(documents):
    openrpc = documents["openrpc.json"]
    assert openrpc["openrpc"] == "1.3.2"
    assert [method["name"] for method in openrpc["methods"]] == list(METHODS)
    assert {notice["name"] for notice in openrpc["x-notifications"]} == set(NOTIFICATIONS)
    known = {f"#/components/{part}/{key}" for part, members in openrpc["components"].items() for key in members}
    assert references(openrpc) <= known

    by_name = {method["name"]: method for method in openrpc["methods"]}
    start = by_name["turn/start"]
    assert start["paramStructure"] == "by-name"
    assert {p["name"] for p in start["params"] if p["required"]} == {"thread_id", "input"}
    assert by_name["shutdown"]["result"]["schema"] == {"type": "null"}
    assert by_name["memory/get"]["result"]["schema"] == {"$ref": "#/components/schemas/GetResult"}
    not_found = {"$ref": "#/components/errors/not_found"}
    assert not_found in by_name["thread/get"]["errors"]
    assert not_found not in by_name["ping"]["errors"]
    assert openrpc["components"]["errors"]["not_found"]["code"] == -32044


def test_errors_list_every_reason_with_its_code(documents):
    assert documents["errors.json"]["x-errors"] == {reason: info._asdict() for reason, info in REASONS.items()}


SCOPE = Scope(kind="workspace", key="ws_1")
VALUES = [
    ("gateway", InitializeParams(protocol_version="1", client=ClientInfo(name="t", version="1"), parent_pid=7)),
    ("gateway", Degraded(component="config", reason="unknown_key", since=1, key="gateway.x")),
    ("threads", TurnStartParams(thread_id="thr_1", input=[TextInput(text="hello")])),
    ("memory", ForgetParams(target=ForgetById(memory_id="mem_1"))),
    ("memory", RememberParams(content="x", scope=SCOPE, context=Context(workspace_id="ws_1"))),
    ("config", GatewayConfig()),
    ("config", msgspec.convert({"update": {"memory": {"enabled": None}}}, SettingsUpdateParams)),
    ("notifications", GatewayDegraded(component="a", reason="b")),
    ("errors", CallerError.at("$.x", "is bad").on_the_wire()),
]


@pytest.mark.parametrize(("bundle", "value"), VALUES, ids=lambda value: type(value).__name__)
def test_what_is_encoded_fits_the_schema_and_a_stray_member_of_params_does_not(documents, bundle, value):
    document = documents[f"{bundle}.json"]
    validator = Draft202012Validator({"$ref": f"#/$defs/{type(value).__name__}", "$defs": document["$defs"]})
    encoded = json.loads(msgspec.json.encode(value))
    validator.validate(encoded)

    strayed = encoded | {"no_such_member": 1}
    if isinstance(value, Params):
        with pytest.raises(jsonschema.ValidationError):
            validator.validate(strayed)
    else:
        assert isinstance(value, Wire)
        validator.validate(strayed)


def test_the_config_bundle_describes_the_file(documents):
    validator = Draft202012Validator(documents["config.json"])
    validator.validate({"gateway": {"memory": {"retention_days": 3}}, "other": {}})
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({"gateway": {"memory": {"retention_days": "3"}}})
