"""A context that names a thread of another workspace is refused by every method that takes one."""

from leak_rows import ROWS
from msgspec import structs
from spawned import Den, drain, hello, journey, refusal
from test_leaks import filled, names_of_nobody, outcome, own

from protocol.methods import METHODS

TAKING = [
    name for name, method in METHODS.items() if "context" in {field.name for field in structs.fields(method.params)}
]
NAMES = names_of_nobody()
NAMES = {**NAMES, **own(NAMES), "mark": "n"}


def asked(method, context):
    """Parameters of the method's first row in the leak matrix, in a context."""
    row = next(row for row in ROWS if row.method == method and "cursor" not in row.params)
    return {**filled(row.params, NAMES), "context": context}


@journey
async def test_every_method_that_takes_a_context_refuses_a_thread_of_another_workspace(tmp_path):
    assert len(TAKING) > 15
    async with await Den(tmp_path, scripted=True).spawn() as client:
        await hello(client, "ws_a")
        for name in "ab":
            await client.request("workspace/create", {"workspace_id": f"ws_{name}"})
            await client.request("thread/start", {"thread_id": f"thr_{name}", "workspace_id": f"ws_{name}"})
        for method in TAKING:
            for context in ({"workspace_id": "ws_a", "thread_id": "thr_b"}, {"thread_id": "thr_b"}):
                failed = await refusal(client, method, asked(method, context))
                assert (failed.code, failed.reason) == (-32043, "scope_out_of_context"), method
            for context in (
                {"workspace_id": "ws_b", "thread_id": "thr_b"},
                {"thread_id": "thr_a"},
                {"thread_id": "thr_nobody"},
            ):
                came = await outcome(client, method, asked(method, context))
                assert "thread of another workspace" not in str(came), method


@journey
async def test_whether_a_message_is_excluded_is_told_within_the_place_that_is_asked_about(tmp_path):
    async with Den(tmp_path).client("ws_a") as client:
        items: dict[str, str] = {}
        for name in "ab":
            await client.request("workspace/create", {"workspace_id": f"ws_{name}"})
            turns = [{"at": 1_700_000_000_000, "items": [{"role": "user", "text": f"The lantern of {name} is green."}]}]
            source = {"kind": "t", "id": name}
            await client.request(
                "thread/import",
                {"workspace_id": f"ws_{name}", "thread_id": f"thr_{name}", "source": source, "turns": turns},
            )
            listed = await client.request("thread/history", {"thread_id": f"thr_{name}"})
            items[name] = listed["items"][0]["item_id"]
            await drain(client)
            await client.request("thread_episodic/exclude", {"item_id": items[name]})
        asked = {"item_ids": [items["a"], items["b"], "itm_nobody"]}
        for place, there in (
            ({}, "ab"),
            ({"workspace_id": "ws_a"}, "a"),
            ({"thread_id": "thr_b"}, "b"),
            ({"workspace_id": "ws_a", "thread_id": "thr_b"}, ""),
        ):
            told = await client.request("thread_episodic/status", {**asked, **place})
            assert told["excluded_items"] == [items[name] for name in there], place
