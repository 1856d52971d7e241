"""A conversation that does not fit one request comes in parts, again and again: no part takes another one away."""

import json

from spawned import Den, drain, every, journey, run_to_end, take_turn

from gateway.wire.client import console_script


def turns(*texts):
    return [{"at": 1_717_400_000_000, "items": [{"role": "user", "text": text}]} for text in texts]


async def said(client, thread_id):
    """Ids and texts of what the user said, in order."""
    items = await every(client, "thread/history", "items", thread_id=thread_id, kinds=["user_message"])
    return [(item["item_id"], item["text"]) for item in items]


@journey
async def test_a_part_that_comes_again_leaves_the_later_ones_and_live_turns_behind_them(tmp_path):
    den = Den(tmp_path, scripted=True)
    parts = [turns("one", "thanks"), turns("two", "thanks"), turns("three")]
    source = {"workspace_id": "ws_here", "thread_id": "thr", "source": {"kind": "app", "id": "talk"}}

    async with den.client() as client:

        async def bring(*places, changed=parts):
            counts = []
            for place in places:
                offset = sum(map(len, changed[:place]))
                more = {"offset": offset, "has_more": place + 1 < len(changed)}
                result = await client.request("thread/import", {**source, **more, "turns": changed[place]})
                counts.append([result[name] for name in ("imported", "skipped", "replaced", "removed")])
            return counts

        assert await bring(0, 1, 2) == [[2, 0, 0, 0], [2, 0, 0, 0], [1, 0, 0, 0]]
        await take_turn(client, "thr", "live", "trn_live")
        before = await said(client, "thr")
        assert [text for _, text in before] == ["one", "thanks", "two", "thanks", "three", "live"]
        assert await bring(0, 1, 2, 0, 1) == [[0, len(part), 0, 0] for part in (*parts, *parts[:2])]
        assert await said(client, "thr") == before

        edited = [turns("ONE", "thanks"), *parts[1:]]
        assert await bring(0, changed=edited) == [[0, 1, 1, 0]]
        after = await said(client, "thr")
        assert [text for _, text in after] == ["ONE", "thanks", "two", "thanks", "three", "live"]
        assert after[1:] == before[1:]  # not even taken out and put back
        assert await bring(0, 1, changed=edited[:2]) == [[0, 2, 0, 0], [0, 2, 0, 1]]  # the source has become shorter
        assert [text for _, text in await said(client, "thr")] == ["ONE", "thanks", "two", "thanks", "live"]

        assert await bring(0, changed=[turns("ONE", "thanks")]) == [[0, 2, 0, 2]]
        append = {**source, "mode": "append", "offset": 2, "turns": turns("thanks", "four")}
        for expected in ([2, 0], [0, 2]):
            result = await client.request("thread/import", append)
            assert [result["imported"], result["skipped"]] == expected
        assert [text for _, text in await said(client, "thr")] == ["ONE", "thanks", "live", "thanks", "four"]


def test_a_long_conversation_of_a_file_grows_before_what_was_said_here(tmp_path):
    den = Den(tmp_path, scripted=True, config="[gateway.limits]\nmax_message_bytes = 16384\n")
    path = tmp_path / "conversations.json"

    def imported(count):
        messages = [
            {
                "uuid": str(n),
                "sender": "human",
                "text": f"question {n} {'words ' * 60}",
                "created_at": "2024-06-03T08:00:00Z",
            }
            for n in range(count)
        ]
        talk = {"uuid": "long", "name": "Long", "created_at": "2024-06-03T08:00:00Z", "chat_messages": messages}
        path.write_text(json.dumps([talk]), encoding="utf-8")
        here = ["--home", str(den.home), "--config", str(den.config), "--workspace", "ws_here"]
        return json.loads(run_to_end([*console_script(), "import", str(path), *here, "--json"]).stdout)

    assert imported(60)["conversations"]["new"] == 1

    @journey
    async def talk_on(number):
        async with den.client() as client:
            (thread,) = await every(client, "thread/list", "threads", workspace_id="ws_here")
            await take_turn(client, thread["thread_id"], f"live {number}", f"trn_live_{number}")
            await drain(client)

    talk_on(number=1)
    assert imported(60)["conversations"]["unchanged"] == 1
    grown = imported(90)
    assert grown["conversations"]["changed"] == 1
    assert grown["turns"]["replaced"] + grown["turns"]["imported"] <= 31  # the last turn of before went on, if it did
    talk_on(number=2)
    assert imported(20)["conversations"]["changed"] == 1

    @journey
    async def look():
        async with den.client() as client:
            (thread,) = await every(client, "thread/list", "threads", workspace_id="ws_here")
            texts = [text for _, text in await said(client, thread["thread_id"])]
            assert [text.split(" w")[0] for text in texts] == [
                *(f"question {n}" for n in range(20)),
                "live 1",
                "live 2",
            ]

    look()
