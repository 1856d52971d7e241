"""Canary secrets through every way in: afterwards they stand in the user's own messages and nowhere else.

Where a message itself may be: the `item` table (as it was said), its pages in gateway.db, the test's own script and
record.
"""

import base64
import functools
import json
import random
import string

import apsw
import pytest
from spawned import Den, clean_environment, drain, fact, hello, journey

from gateway.wire.client import CallFailed, GatewayClient

pytestmark = pytest.mark.loop("test")  # no secret is kept

UPPER, LETTERS = string.ascii_uppercase + "234567", string.ascii_letters + string.digits
AS_SAID = {
    ("item", "text"),
    ("item", "tool"),
    ("artifact", "name"),
    ("thread", "name"),
    ("workspace", "name"),
    ("workspace", "root_path"),
}
"""Columns that hold what was said as it was said: the user's words, a model's tool call, what a file, a thread, a
workspace is called."""
SHOWN = {
    "turn/items",
    "thread/history",
    "turn/get",
    "thread/start",
    "thread/update",
    "thread/list",
    "thread/get",
    "workspace/create",
}
"""Methods that answer with it."""


def canaries(rng):
    """Well-formed and worthless, of ten kinds: made now, so that none stands in this file."""

    def drawn(alphabet, count):
        return "".join(rng.choice(alphabet) for _ in range(count))

    password = drawn(string.ascii_lowercase, 5) + drawn(string.digits, 4) + drawn(string.ascii_uppercase, 4) + "!x"
    return {
        "aws": "AK" + "IA" + drawn(UPPER, 16),
        "password": password,
        "google": "AI" + "za" + drawn(LETTERS, 35),
        "connection": drawn(LETTERS, 6) + "7" + drawn(LETTERS, 12),
        "github": "gh" + "p_" + drawn(LETTERS, 36),
        "stripe": "sk_" + "live_" + drawn(LETTERS, 24),
        "sendgrid": "S" + "G." + drawn(LETTERS, 22) + "." + drawn(LETTERS, 43),
        "jwt": ".".join(["ey" + "JhbGciOiJIUzI1NiJ9", "ey" + "JzdWIiOiI" + drawn(LETTERS, 20), drawn(LETTERS, 43)]),
        "slack": "xo" + "xb-" + drawn(string.digits, 12) + "-" + drawn(LETTERS, 24),
        "api_key": "7b" + drawn("0123456789abcdef", 30),
    }


def phrases(secrets):
    """How a person would say each of them, in a few words."""
    said = {
        "aws": "my AWS key is {}",
        "password": "my wifi password is {}",
        "google": "maps {}",
        "connection": "postgres://app:{}@db/x",
        "github": "use the token {}",
        "stripe": "the Stripe key {}",
        "sendgrid": "mail goes by {}",
        "jwt": "the session {}",
        "slack": "the bot has {}",
        "api_key": "api key: {}",
    }
    return {name: said[name].format(secret) for name, secret in secrets.items()}


def sentences(secrets):
    """Three messages that hold them all."""
    said = list(phrases(secrets).values())
    return [f"By the way, {', and '.join(said[n::3])} since May." for n in range(3)]


@functools.cache
def faces(secret):
    """The secret as bytes, in every dress that a program might keep it in."""
    plain = secret.encode()
    dressed = [plain, plain.lower(), secret.encode("utf-16-le"), secret.encode("utf-16-be")]
    dressed += [plain.hex().encode(), plain.hex().upper().encode()]
    for shift in range(3):  # base64 depends on where in three bytes it begins; the ends depend on the neighbours
        dressed.append(base64.b64encode(b"\0" * shift + plain)[4 if shift else 0 : -4])
        dressed.append(base64.urlsafe_b64encode(b"\0" * shift + plain)[4 if shift else 0 : -4])
    return tuple(dict.fromkeys(dressed))


def found_in(data, secrets):
    """The names of the secrets that the bytes hold."""
    return sorted(name for name, secret in secrets.items() if any(face in data for face in faces(secret)))


def places_of(answer, secrets, path="$"):
    """Where in an answer a secret stands; places in lists are left out."""
    if isinstance(answer, dict):
        return {
            place for name, member in answer.items() for place in places_of([name, member], secrets, f"{path}.{name}")
        }
    if isinstance(answer, list):
        return {place for member in answer for place in places_of(member, secrets, path)}
    return {path} if found_in(json.dumps(answer).encode(), secrets) else set()


def test_every_dress_of_a_secret_is_recognised():
    secrets = canaries(random.Random(1))
    for name, secret in secrets.items():
        for dressed in (
            secret.encode(),
            secret.lower().encode(),
            secret.encode("utf-16"),
            secret.encode("utf-16-be"),
            secret.encode().hex().encode(),
            base64.b64encode(b"ab " + secret.encode() + b" cd"),
            base64.b64encode(b"ab" + secret.encode()),
            base64.b64encode(b"{" + secret.encode() + b"}"),
        ):
            assert found_in(b"x" + dressed + b"y", secrets) == [name]


def columns_with(database, secrets):
    """(table, column) → secrets, over every table of the database, the shadow tables of its indexes included."""
    found = {}
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    for table in tables:
        try:
            cursor = database.execute(f'SELECT * FROM "{table}"')  # noqa: S608  # a name of the schema
            names = [column[0] for column in cursor.getdescription()]
        except apsw.ExecutionCompleteError:
            continue  # an empty table describes nothing
        for row in cursor:
            for name, value in zip(names, row, strict=True):
                data = value if isinstance(value, bytes) else str(value).encode()
                for secret in found_in(data, secrets):
                    found.setdefault((table, name), set()).add(secret)
    return found


class Talk:
    """A session that keeps what it was answered and goes on when it is refused."""

    def __init__(self, client: GatewayClient) -> None:
        self.client = client
        self.answers = []

    async def ask(self, method, **params):
        """The result, or None for a refusal; both are kept."""
        try:
            result = await self.client.request(method, params)
        except CallFailed as failed:
            self.answers.append((method, [failed.code, failed.message, failed.data]))
            return None
        if method not in SHOWN:
            self.answers.append((method, result))
        return result


async def write_memory(talk, text):
    """Every door of durable memory."""
    await talk.ask("memory/remember", content=text)
    await talk.ask("memory/remember", content="The lamp is on.", value={"note": text})
    await talk.ask("memory/remember", content="The lamp is off.", metadata={"note": text})
    await talk.ask("memory/remember", content="The lamp is broken.", tags=[text[:60]])
    await talk.ask("memory/remember", content="The lamp is mended.", key=text)
    await talk.ask("memory/remember", content="The lamp is new.", idempotency_key=f"once {text}"[:128])
    await talk.ask("memory/write", semantic={"attribute": text[:100]}, content="The lamp is green.")
    explicit = {"intent": "explicit_store", "explicitness": "explicit", "attribute": "lamp"}
    evidence = [{"quote": text}]
    await talk.ask("memory/write", semantic=explicit, content=text, evidence=evidence)
    await talk.ask("memory/write", semantic=explicit, content="The lamp is red.", evidence=evidence)
    await talk.ask(
        "memory/write", semantic=explicit, content=text, disposition="create_pending_candidate", evidence=evidence
    )
    await talk.ask(
        "memory/write", semantic=explicit, content="The lamp is tall.", value=text, disposition="accept_active"
    )
    kept = await talk.ask("memory/remember", content="The kettle is blue.")
    memory_id = kept["record"]["memory_id"]
    for change in ({"content": text}, {"value": text}, {"metadata": {"note": text}}, {"tags": [text[:60]]}):
        await talk.ask("memory/update", memory_id=memory_id, **change)
    await talk.ask("memory/search", query=text)
    await talk.ask("memory/explain", query=text)
    await talk.ask("memory/explain", target={"kind": "memory", "id": memory_id})
    await talk.ask("memory/history", memory_id=memory_id)


async def administrate(talk, secrets):
    """What a host says about threads, workspaces and records, and what it says wrongly."""
    for n, (name, phrase) in enumerate(phrases(secrets).items()):
        secret = secrets[name]
        await talk.ask("memory/remember", content="The sofa is grey.", tags=[phrase[:64]], key=phrase)
        await talk.ask(
            "memory/remember", content="The sofa is wide.", key=f"sofa.of_{name}", idempotency_key=phrase[:128]
        )
        await talk.ask("thread/start", thread_id=f"named_{n}", name=phrase)
        await talk.ask("thread/update", thread_id=f"named_{n}", name=f"now {phrase}")
        await talk.ask("workspace/create", workspace_id=f"ws_{n}", name=phrase, root_path=f"/srv/{phrase}")
        for method, member in (
            ("thread/get", "thread_id"),
            ("turn/get", "turn_id"),
            ("memory/get", "memory_id"),
            ("workspace/get", "workspace_id"),
            ("memory/history", "memory_id"),
            ("memory/restore", "memory_id"),
            ("thread_episodic/status", "thread_id"),
        ):
            await talk.ask(method, **{member: secret})
        await talk.ask("memory/list", **{secret: 1})
        await talk.ask("memory/list", limit=phrase)
        await talk.ask("memory/list", cursor=phrase)
        await talk.ask(phrase)
        await talk.ask("memory/import", bundle=phrase)
        await talk.ask("memory/import", bundle=json.dumps({"type": "header", "version": phrase}))
        await talk.ask("settings/update", update={"memory": {"enabled": phrase}})
        await talk.ask("settings/update", update={secret: {"enabled": True}})
        await talk.ask("provider/test", provider=phrase)
        kept = await talk.ask("memory/remember", content=f"The chair of {name} is blue.", key=f"chair.of_{name}")
        if kept is not None:
            target = {"kind": "id", "memory_id": kept["record"]["memory_id"]}
            await talk.ask("memory/forget", target=target, reason=phrase)
        await talk.ask("memory/forget", target={"kind": "id", "memory_id": "nothing"}, reason=phrase)
        said = {"at": 1, "items": [{"role": "user", "text": "Hello."}]}
        await talk.ask(
            "thread/import",
            workspace_id="ws_here",
            thread_id=f"plain_{n}",
            source={"kind": "x", "id": f"plain {n}"},
            turns=[said],
        )
        for item in (await talk.client.request("thread/history", {"thread_id": f"plain_{n}"}))["items"]:
            await talk.ask("thread_episodic/exclude", item_id=item["item_id"], reason=phrase)
        await talk.ask("hooks/runs", thread_id=secret)


async def hold_turns(talk, text, n):
    """Turns that carry it: a model that obeys, tools, an import, failures."""
    thread = f"thr_{n}"
    await talk.ask("thread/start", thread_id=thread)

    async def turn(turn_id, *more):
        said = [{"type": "text", "text": f"{text} ({turn_id})"}, *more]
        await talk.ask("turn/start", thread_id=thread, turn_id=turn_id, input=said)
        await talk.client.wait_for("turn/post_completed", lambda told: told["turn_id"] == turn_id)

    file = {"type": "artifact", "name": f"{text[:80]}.txt", "mime": "text/plain", "data_base64": "YWJj"}
    for kind in ("obey", "tools", "failing", "torn"):
        await turn(f"{kind}_{n}")
    await turn(f"file_{n}", file)
    await talk.ask("turn/prepare", thread_id=thread, turn_id=f"host_{n}", input=[{"type": "text", "text": text}])
    for name, arguments in (
        ("request_tools", {"domains": ["memory"], "reason": text}),
        ("memory_remember", {"content": text}),
        ("memory_search", {"query": text}),
        (text[:100], {}),
    ):
        call = {
            "turn_id": f"host_{n}",
            "call_id": f"call-{name[:8].strip().replace(' ', '.')}-{n}",
            "name": name,
            "arguments": arguments,
        }
        await talk.ask("turn/tool_call", **call)
    events = [{"name": "shell", "summary": text, "status": "ok"}]
    await talk.ask("turn/finish", turn_id=f"host_{n}", status="succeeded", assistant_text=text, tool_events=events)
    await talk.client.wait_for("turn/post_completed", lambda told: told["turn_id"] == f"host_{n}")
    imported = [
        {"at": 1_780_000_000_000, "items": [{"role": "user", "text": text}, {"role": "assistant", "text": text}]}
    ]
    await talk.ask("thread/import", workspace_id="ws_here", source={"kind": "x", "id": str(n)}, turns=imported)
    await talk.ask("hooks/runs", thread_id=thread, limit=100)
    await talk.ask("memory/explain", target={"kind": "turn", "id": f"obey_{n}"})


async def look_everywhere(talk, texts):
    """Every read that shows text of the conversation or of memory."""
    for text in texts:
        for query in (text, "key token password"):
            await talk.ask("thread_episodic/search", workspace_id="ws_here", query=query, limit=100)
            await talk.ask("memory/search", query=query, limit=100)
    await talk.ask("memory/list", limit=100, statuses=["active", "superseded", "expired", "archived", "deleted"])
    for method in ("memory/stats", "gateway/status", "settings/get", "thread_episodic/jobs", "memory/export"):
        await talk.ask(method)


def script(texts):
    """A model that does what it is told, with the secrets in its mouth."""
    rules = []
    for n, text in enumerate(texts):
        facts = [
            fact(text, text, "lamp"),
            fact("The user has a secret.", text, f"secret_{n}"),
            fact(f"The user said: {text}", "(obey", f"said_{n}", intent="explicit_store"),
            {**fact("The user has a value.", f"(obey_{n})", f"value_{n}"), "value": text},
        ]
        rules += [
            {"role": "extractor", "input_contains": f"(obey_{n})", "respond": {"json": {"facts": facts}}},
            {"role": "main", "input_contains": f"(file_{n})", "respond": {"text": f"I see: {text}"}},
            {"role": "main", "input_contains": f"(torn_{n})", "respond": {"error": "disconnect"}},
            {"role": "main", "input_contains": f"(failing_{n})", "respond": {"error": "bad_json"}},
            {
                "role": "main",
                "input_contains": f"(tools_{n})",
                "round": 1,
                "respond": {
                    "tool_calls": [
                        {"name": "memory_remember", "arguments": {"content": text}},
                        {"name": "memory_search", "arguments": {"query": text}},
                        {"name": "memory_get", "arguments": {text[:60]: text}},
                        {"name": "request_tools", "arguments": {"domains": ["memory"], "reason": text}},
                    ]
                },
            },
        ]
    return rules


@pytest.mark.loop("check")
@journey
async def test_a_secret_stands_in_the_users_messages_and_nowhere_else(tmp_path):
    seed = random.randrange(2**32)
    secrets = canaries(random.Random(seed))
    texts = sentences(secrets)
    den = Den(tmp_path, scripted=True, config='api_key_env = "CANARY_KEY"\n')
    den.write_script(script(texts))
    environment = clean_environment(CANARY_KEY=secrets["github"])
    told, stderr = [], b""
    for text_numbers in ([0, 1, 2], []):  # the second session finds what the first one left
        client = await GatewayClient.start([*den.command(), "--log-level", "debug"], env=environment)
        talk = Talk(client)
        await hello(client)
        for n in text_numbers:
            await write_memory(talk, texts[n])
            await hold_turns(talk, texts[n], n)
        if text_numbers:
            await administrate(talk, secrets)
        await drain(client)
        await look_everywhere(talk, texts)
        told += talk.answers
        told += [(method, params) for method, params in client.received if not method.startswith("item/")]
        assert await client.close() == 0
        stderr += client.stderr
    leaks = sorted({f"{method}: {place}" for method, answer in told for place in places_of(answer, secrets)})
    leaks += [f"stderr: {found_in(stderr, secrets)}"] if found_in(stderr, secrets) else []
    database = den.database()
    leaks += [
        f"column {place}: {names}" for place, names in columns_with(database, secrets).items() if place not in AS_SAID
    ]
    database.close()
    for name, data in den.files().items():
        if not name.startswith("gateway.db") and found_in(data, secrets) + found_in(name.encode(), secrets):
            leaks.append(f"file {name}")
    assert leaks == [], f"seed {seed}:\n" + "\n".join(leaks)


@journey
async def test_the_search_for_secrets_would_find_them(tmp_path):
    """The control: what was said is in the database as it was said."""
    secrets = canaries(random.Random(2))
    den = Den(tmp_path)
    async with den.client() as client:
        turns = [{"at": 1, "items": [{"role": "user", "text": text}]} for text in sentences(secrets)]
        source = {"kind": "x", "id": "y"}
        await client.request(
            "thread/import", {"workspace_id": "ws_here", "thread_id": "t", "source": source, "turns": turns}
        )
    assert columns_with(den.database(), secrets) == {("item", "text"): set(secrets)}


@pytest.mark.parametrize(
    "place",
    [
        '[gateway.memory]\nenabled = "{}"\n',
        '[gateway.providers.x]\nkind = "{}"\n',
        '[gateway.providers.x]\nkind = "openai"\napi_key = "{}"\n',
        '[gateway.roles]\nmain = "{}"\n',
        '[gateway.memory]\ncapsules_dir = "../{}"\n',
        "[gateway.memory\n{}\n",
        '[gateway.agent]\nsystem_prompt = "{}"\n',
    ],
)
def test_a_secret_in_the_configuration_is_not_repeated(tmp_path, place):
    secrets = {"github": canaries(random.Random())["github"]}
    den = Den(tmp_path)
    den.config.write_text(place.format(secrets["github"]), encoding="utf-8")

    @journey
    async def story():
        client = await den.spawn()
        await client.end_of_input()
        assert found_in(client.stderr, secrets) == []

    story()
    assert [name for name, data in den.files().items() if found_in(data, secrets)] == []
