"""Conversations of programs that know no memory: known again by their hash chain, given recall, kept once."""

from typing import Any

import pytest
from capture_stage import Chat, capture_of, texts_of
from spawned import Den, drain, every, journey, refusal, remember

from agent.capture.captures import NEAR

BOAT = "The user's sailing boat is called Marigold."
ASK = "What is my sailing boat called?"


def thread_of(prepared: dict[str, Any]) -> str:
    return prepared["turn"]["thread_id"]


@journey
async def test_a_conversation_is_one_thread_and_its_blocks_stay_the_same_bytes(tmp_path):
    async with Den(tmp_path).client() as client:
        await remember(client, BOAT)
        await remember(client, "Always answer in German.", category="recurring_instruction")
        chat = Chat(client)
        first = await chat.say(ASK, "Marigold.")
        assert first["turn"]["status"] == "awaiting_host"
        assert (first["is_continuation"], first["recall_status"]) == (False, "recalled")
        assert "Marigold" in first["blocks"][0]["text"]
        assert first["brief"].startswith("<standing_memory>")
        assert "Always answer in German" in first["brief"]
        second = await chat.say("And how long is that boat?", "I do not know.")
        assert (thread_of(second), second["brief"]) == (thread_of(first), first["brief"])
        assert second["blocks"][0] == first["blocks"][0]
        third = await chat.prepare("Thank you for the boat.")
        assert third["blocks"][: len(second["blocks"])] == second["blocks"]
        again = await chat.prepare()
        assert again["is_continuation"]
        assert {**again, "is_continuation": False} == third
        assert (await texts_of(client, thread_of(first)))[:4] == [
            ASK,
            "Marigold.",
            "And how long is that boat?",
            "I do not know.",
        ]


@journey
async def test_a_tool_loop_is_one_turn_with_its_block_in_each_request(tmp_path):
    async with Den(tmp_path).client() as client:
        await remember(client, BOAT)
        chat = Chat(client)
        first = await chat.prepare(ASK)
        chat.said += [("assistant", "call"), ("tool", "result")]
        second = await chat.prepare()
        assert second["is_continuation"]
        assert (second["turn"]["turn_id"], second["blocks"]) == (first["turn"]["turn_id"], first["blocks"])
        events = [{"name": "look_up", "call_id": "c1"}]
        ended = await chat.finish(
            second, "Marigold.", tool_events=events, usage={"input_tokens": 7, "output_tokens": 2, "cached_tokens": 3}
        )
        assert ended["turn"]["status"] == "completed"
        assert [event["name"] for event in ended["turn"]["tool_events"]] == ["look_up"]
        assert await client.request("turn/get", {"turn_id": ended["turn"]["turn_id"]}) == ended
        assert ended["turn"]["usage"] == {"input_tokens": 7, "output_tokens": 2, "cached_tokens": 3}
        assert await chat.finish(first, None) == ended
        assert await texts_of(client, thread_of(first)) == [ASK, "Marigold."]


@journey
async def test_proxy_statement_15_what_was_forgotten_is_in_no_block(tmp_path):
    async with Den(tmp_path).client() as client:
        kept = await remember(client, "The user's sailing boat lies in Brest.")
        gone = await remember(client, BOAT)
        chat = Chat(client)
        first = await chat.say("What is my sailing boat called, and where does the sailing boat lie?", "It is a boat.")
        assert "Marigold" in first["blocks"][0]["text"]
        assert "Brest" in first["blocks"][0]["text"]
        await client.request("memory/forget", {"target": {"kind": "id", "memory_id": gone}})
        second = await chat.say("And where does the boat lie?", "In Brest.")
        assert "Marigold" not in str(second["blocks"])
        lines = [line for line in first["blocks"][0]["text"].split("\n") if "Marigold" not in line]
        assert second["blocks"][0]["text"] == "\n".join(lines)
        await client.request("memory/forget", {"target": {"kind": "id", "memory_id": kept}, "mode": "erase"})
        third = await chat.prepare("Well then.")
        assert "Brest" not in str(third["blocks"])
        assert not [block for block in third["blocks"] if block["index"] == 0]
    assert b"lies in Brest" not in b"".join(den_files(tmp_path))


@journey
@pytest.mark.parametrize("way", ["memory/update", "memory/remember"])
async def test_proxy_statement_15_what_was_corrected_is_in_no_block(tmp_path, way):
    async with Den(tmp_path).client() as client:
        old = await remember(client, BOAT)
        place = await remember(client, "The user's sailing boat lies in Brest.")
        await drain(client)
        chat = Chat(client)
        question = "What is my sailing boat called, and where does the sailing boat lie?"
        first = (await chat.say(question, "It is a boat."))["blocks"][0]["text"]
        assert "Marigold" in first
        assert "Brest" in first
        await client.request("memory/update", {"memory_id": place, "tags": ["sea"]})
        new = "The user's sailing boat is called Rosebud."
        corrections: dict[str, Any] = {
            "memory/update": {"memory_id": old, "content": new},
            "memory/remember": {"content": new, "supersedes": old},
        }
        await client.request(way, corrections[way])
        second = await chat.prepare(f"Again: {question}")
        lines = [line for line in first.split("\n") if "Marigold" not in line]
        assert second["blocks"][0]["text"] == "\n".join(lines)
        assert "Marigold" not in str(second)


def den_files(folder):
    return [path.read_bytes() for path in (folder / "home").rglob("*") if path.is_file()]


@journey
async def test_proxy_statement_22_chats_that_begin_alike_are_two(tmp_path):
    async with Den(tmp_path).client() as client:
        one, other = Chat(client), Chat(client)
        a1 = await one.say("Hi there.", "Hello!")
        b1 = await other.say("Hi there.", "Hello!")
        a2 = await one.say("Let us talk about bread.", "Gladly.")
        b2 = await other.say("Let us talk about ships.", "Aye.")
        assert thread_of(a1) != thread_of(b1)
        assert thread_of(a2) != thread_of(b2)
        threads = [await texts_of(client, thread_of(turn)) for turn in (a2, b2)]
        assert threads == [
            ["Hi there.", "Hello!", "Let us talk about bread.", "Gladly."],
            ["Hi there.", "Hello!", "Let us talk about ships.", "Aye."],
        ]


@journey
async def test_proxy_statement_22_asked_again_in_a_session_is_one_thread(tmp_path):
    async with Den(tmp_path).client() as client:
        await remember(client, BOAT)
        chat = Chat(client, session_id="s1")
        first = await chat.say(ASK, "Rosebud.")
        chat.said.pop()
        second = await chat.prepare()
        assert thread_of(second) == thread_of(first)
        assert not second["is_continuation"]
        assert second["blocks"] == first["blocks"]
        await chat.finish(second, "Marigold.")
        turn = (await client.request("turn/get", {"turn_id": first["turn"]["turn_id"]}))["turn"]
        assert turn["superseded_by"] == second["turn"]["turn_id"]
        await drain(client)
        found = await client.request("thread_episodic/search", {"workspace_id": "ws_here", "query": "Rosebud"})
        assert found["hits"] == []


@journey
async def test_what_holds_in_a_project_is_in_the_brief_alone_and_is_forgotten_from_it(tmp_path):
    async with Den(tmp_path).client() as client:
        await remember(client, "Always answer in German.", category="recurring_instruction")
        place = {"scope": {"kind": "workspace", "key": "ws_here"}, "context": {"workspace_id": "ws_here"}}
        rule = "Releases of the boat planner are made on Thursdays."
        memory_id = await remember(client, rule, category="project_policy", **place)
        await remember(client, "The boat planner is written in Ada.", category="project_fact", **place)
        chat = Chat(client)
        first = await chat.say("When are releases of the boat planner made?", "On Thursdays.")
        lines = first["brief"].splitlines()
        assert [place for place, line in enumerate(lines) if "German" in line or rule in line] == [
            len(lines) - 3,
            len(lines) - 2,
        ]
        assert (lines[-1], "Ada" in first["brief"]) == ("</standing_memory>", False)
        assert all(rule not in block["text"] for block in first["blocks"])
        second = await chat.say("And which releases of the planner come next?", "That of Thursday.")
        assert second["brief"] == first["brief"]
        assert all(rule not in block["text"] for block in second["blocks"] if "<recalled_memory" in block["text"])
        await client.request(
            "memory/forget", {"target": {"kind": "id", "memory_id": memory_id}, "context": place["context"]}
        )
        third = await chat.prepare("Thank you.")
        assert third["brief"] == first["brief"].replace(lines[-2] + "\n", "")
        assert "Thursdays" not in str([block for block in third["blocks"] if "<recalled_memory" in block["text"]])


@journey
async def test_proxy_statement_22_edited_forks_and_compaction_stays(tmp_path):
    async with Den(tmp_path).client() as client:
        chat = Chat(client, session_id="s1")
        first = await chat.say("Tell me of bread.", "It rises.")
        await chat.say("And of wheat?", "It grows.")
        del chat.said[2:]
        edited = await chat.say("And of rye?", "It grows, too.")
        assert thread_of(edited) != thread_of(first)
        thread = (await client.request("thread/get", {"thread_id": thread_of(edited)}))["thread"]
        assert thread["forked_from"] == {"thread_id": thread_of(first), "turn_id": first["turn"]["turn_id"]}
        chat.said = [("user", "A summary of all that was said so far."), ("assistant", "Understood.")]
        compacted = await chat.say("And of oats?", "Those as well.")
        assert thread_of(compacted) == thread_of(edited)


@journey
async def test_proxy_statement_22_what_was_edited_long_ago_forks_there(tmp_path):
    """A program shortened an early message of a conversation that is longer than what is looked at first."""
    async with Den(tmp_path).client() as client:
        chat = Chat(client)
        first = await chat.say("Tell me of bread.", "It rises.")
        for number in range(NEAR):
            await chat.say(f"And of kind {number} of it?", "It rises, too.")
        chat.said[2] = ("user", "And of one kind of it?")
        edited = await chat.prepare("And of cake?")
        thread = (await client.request("thread/get", {"thread_id": thread_of(edited)}))["thread"]
        assert thread["forked_from"] == {"thread_id": thread_of(first), "turn_id": first["turn"]["turn_id"]}


@journey
async def test_proxy_statement_23_what_is_no_conversation_leaves_nothing(tmp_path):
    async with Den(tmp_path).client() as client:
        await remember(client, BOAT)
        nothing = {"turn": None, "is_continuation": False, "brief": None, "blocks": [], "recall_status": "off"}
        assert await Chat(client, role="task").prepare(ASK) == nothing
        chat = Chat(client)
        await chat.say(ASK, "It is called Marigold, as you told me.")
        title = f"Give this a title: user: {ASK} assistant: It is called Marigold, as you told me."
        assert await Chat(client).prepare(title) == nothing
        threads = await every(client, "thread/list", "threads")
        assert [thread["turn_count"] for thread in threads] == [1]


@journey
async def test_proxy_statement_23_a_subagent_sees_no_user_scope_and_leaves_nothing(tmp_path):
    async with Den(tmp_path).client() as client:
        await remember(client, BOAT)
        await remember(
            client,
            "The project's sailing boat test suite runs at night.",
            scope={"kind": "workspace", "key": "ws_here"},
        )
        main = Chat(client, session_id="s1")
        opened = await main.prepare(ASK)
        helper = Chat(client, session_id="s1")
        found = await helper.prepare("Look up the sailing boat.")
        assert found["turn"] is None
        assert "Marigold" not in str(found)
        assert "at night" in str(found["blocks"])
        named = await Chat(client, role="subagent").prepare("Look up the sailing boat.")
        assert (named["turn"], "Marigold" in str(named)) == (None, False)
        helper.said += [("assistant", "call"), ("tool", "result")]
        assert (await helper.prepare())["blocks"] == found["blocks"]
        await main.finish(opened, "Marigold.")
        threads = await every(client, "thread/list", "threads")
        assert [await texts_of(client, thread["thread_id"]) for thread in threads] == [[ASK, "Marigold."]]


@journey
@pytest.mark.parametrize("answer", [None, "Marigold."], ids=["open", "answered"])
@pytest.mark.parametrize("session", [None, "s1"])
async def test_proxy_statement_23_a_subagent_that_asks_what_its_user_asked_sees_no_user_scope(
    tmp_path, answer, session
):
    async with Den(tmp_path).client() as client:
        await remember(client, BOAT)
        await remember(client, "Always answer in German.", category="recurring_instruction")
        await drain(client)
        main = Chat(client, **({"session_id": session} if session else {}))
        opened = await main.prepare(ASK)
        assert "Marigold" in str(opened["blocks"]), opened
        if answer is not None:
            await main.finish(opened, answer)
        for named in ({}, {"thread_id": thread_of(opened)}):
            helper = Chat(client, role="subagent", **main.source, **named)
            found = await helper.prepare(ASK)
            assert (found["turn"], found["brief"], found["blocks"]) == (None, None, [])
            await helper.finish(found, "Marigold.")
            again = await helper.prepare("And again: what is my sailing boat called?")
            assert (again["turn"], again["brief"], again["blocks"]) == (None, None, [])
        if answer is None:
            assert (await main.prepare())["blocks"] == opened["blocks"]
            await main.finish(opened, "Marigold.")
        after = await main.prepare("Thank you for the boat.")
        assert thread_of(after) == thread_of(opened)
        assert (after["brief"], after["blocks"][:1]) == (opened["brief"], opened["blocks"])
        assert [thread["forked_from"] for thread in await every(client, "thread/list", "threads")] == [None]


@journey
async def test_proxy_statement_23_every_subagent_of_a_session_is_one(tmp_path):
    """A program that names no role starts several of them in one turn, and goes on with each."""
    async with Den(tmp_path).client() as client:
        await remember(client, BOAT)
        main = Chat(client, session_id="s1")
        opened = await main.prepare("Find out about the sailing boat.")
        for text in ("Look up the sailing boat.", "Ask others about the sailing boat."):
            helper = Chat(client, session_id="s1")
            for said in (text, "Look up the name of the sailing boat as well."):
                found = await helper.prepare(said)
                assert (found["turn"], "Marigold" in str(found)) == (None, False)
                await helper.finish(found, "Nothing was found.")
        await main.finish(opened, "Marigold.")
        main.said = [("user", "A summary of all that was said so far."), ("assistant", "Understood.")]
        assert thread_of(await main.say("And how long is it?", "I do not know.")) == thread_of(opened)
        (thread,) = await every(client, "thread/list", "threads")
        assert thread["turn_count"] == 2


@journey
async def test_proxy_statement_24_ignored_leaves_no_trace_and_read_only_keeps_nothing(tmp_path):
    async with Den(tmp_path).client() as client:
        await remember(client, BOAT)
        ignored = await Chat(client).prepare(ASK, memory_mode="ignored")
        assert (ignored["turn"], ignored["recall_status"]) == (None, "off")
        chat = Chat(client)
        first = await chat.say(ASK, "Marigold, I read.", memory_mode="read_only")
        assert first["turn"] is None
        assert "Marigold" in first["blocks"][0]["text"]
        later = await chat.prepare()
        assert later["turn"] is None
        normal = await chat.say("And what colour has it?", "Blue.")
        assert normal["blocks"][0] == first["blocks"][0]
        assert await texts_of(client, thread_of(normal)) == ["And what colour has it?", "Blue."]
        assert [t["turn_count"] for t in await every(client, "thread/list", "threads")] == [1]


REMEMBER = "Remember that the code of the gate is 4711-blue.\n\nPlease sum up this page."


@pytest.mark.parametrize(
    ("source", "allowed"),
    [({"client": "a-script"}, False), ({"client": "a-script", "agent_id": "scribe"}, True), ({}, True)],
)
@journey
async def test_proxy_statement_25_who_is_learnt_from(tmp_path, source, allowed):
    async with Den(tmp_path).client() as client:
        chat = Chat(client, **source)
        first = await chat.say(REMEMBER, "A page about a gate.")
        await drain(client)
        turn = (await client.request("turn/get", {"turn_id": first["turn"]["turn_id"]}))["turn"]
        extraction = turn["prompt_manifest"]["policy"]["extraction"]
        assert extraction["allowed"] is allowed
        assert allowed or extraction["reason_code"] == "unknown_client"
        if not allowed:
            assert await every(client, "memory/list", "records") == []
            why = await client.request("memory/explain", {"target": {"kind": "turn", "id": first["turn"]["turn_id"]}})
            assert "unknown_client" in str(why)
        found = await client.request("thread_episodic/search", {"workspace_id": "ws_here", "query": "code of the gate"})
        assert found["hits"]


@journey
async def test_what_was_learned_names_the_program_and_not_its_messenger(tmp_path):
    async with Den(tmp_path).client() as client:
        await Chat(client, client="codex").say("Please remember that I live in Graz.", "I will.")
        await drain(client)
        told = await client.request("memory/changes", {"since_at": 0})
        assert [(one["event"], one["origin"]["door"], one["origin"]["client"]) for one in told["changes"]] == [
            ("learned", "proxy", "codex")
        ]


@pytest.mark.parametrize("ended_by", ["its process", "another", "another, cut short", "nobody, and swept"])
@journey
async def test_what_came_too_late_is_taken_back(tmp_path, ended_by):
    """Whoever ends the turn, nothing says that what its model never saw was shown."""
    den = Den(tmp_path)
    async with den.client() as client, den.client() as other:
        remembered = await remember(client, BOAT)
        await remember(client, "I am called Mira.", category="identity", scope={"kind": "user", "key": "default"})
        chat = Chat(client)
        prepared = await chat.prepare(ASK)
        assert prepared["turn"]["prompt_manifest"]["sections"]
        if ended_by == "nobody, and swept":
            client.kill()
            await client.wait()
            chat.client = other
            assert (await chat.prepare())["turn"]["status"] in {"interrupted", "awaiting_host"}
        elif ended_by != "its process":
            chat.client = other
        cut = {"status": "interrupted"} if ended_by == "another, cut short" else {}
        late = {"shown": False, "recall": {"reason": "late"}, **cut}
        turn = (await chat.finish({"turn": None}, None if cut else "I do not know.", **late))["turn"]
        assert turn["status"] == ("interrupted" if cut else "completed")
        turn = (await other.request("turn/get", {"turn_id": turn["turn_id"]}))["turn"]
        assert turn["prompt_manifest"]["recall"] == {
            "status": "skipped",
            "reason": "late",
            "memory_ids": [],
            "chunk_ids": [],
            "knowledge_ids": [],
        }
        assert turn["prompt_manifest"]["sections"] == []
        assert {one["used"] for one in turn["prompt_manifest"]["budgets"]} <= {0}
        got = await other.request("memory/get", {"memory_id": remembered, "include_evidence": True})
        assert got["shown_in"] == []
        second = await chat.prepare("And now?")
        assert not [block for block in second["blocks"] if block["index"] == 0]


@pytest.mark.parametrize("left", ["for another message", "by its process"])
@journey
async def test_a_turn_that_was_left_says_where_it_went(tmp_path, left):
    den = Den(tmp_path)
    goes_to = {"name": "vendor", "dialect": "openai", "model": "m-1"}
    async with den.client() as client, den.client() as other:
        chat = Chat(client, session_id="s1")
        turn_id = (await chat.prepare(ASK, upstream=goes_to))["turn"]["turn_id"]
        if left == "by its process":
            client.kill()
            await client.wait()
        chat.client = other
        await chat.prepare("And now?", upstream={**goes_to, "model": "m-2"})
        turn = (await other.request("turn/get", {"turn_id": turn_id}))["turn"]
        assert (turn["status"], turn["upstream"]) == ("interrupted", goes_to)


@journey
async def test_a_turn_that_never_came_through_is_kept_whole_and_once(tmp_path):
    async with Den(tmp_path).client() as client:
        await remember(client, BOAT)
        chat = Chat(client)
        chat.said.append(("user", ASK))
        finish = {
            "capture": capture_of(chat.said),
            "status": "succeeded",
            "shown": False,
            "assistant_text": "A boat.",
            "answer_hash": "ab" * 16,
            "recall": {"status": "skipped", "reason": "down"},
        }
        first = await client.request("capture/finish", finish)
        assert first["turn"]["prompt_manifest"]["recall"]["reason"] == "down"
        assert await client.request("capture/finish", finish) == first
        assert await texts_of(client, thread_of(first)) == [ASK, "A boat."]


@journey
async def test_an_answer_is_delivered_after_its_process_was_killed(tmp_path):
    den = Den(tmp_path)
    async with await den.spawn() as client:
        await client.request("initialize", {"protocol_version": "2026-11", "client": {"name": "x", "version": "1"}})
        chat = Chat(client)
        first = await chat.prepare(ASK)
        client.kill()
        await client.wait()
    async with den.client() as client:
        chat.client = client
        again = await chat.prepare()
        assert (again["turn"]["turn_id"], again["turn"]["status"]) == (first["turn"]["turn_id"], "interrupted")
        ended = await chat.finish(again, "Marigold.")
        assert ended["turn"]["status"] == "completed"
        await drain(client)
        assert await texts_of(client, thread_of(first)) == [ASK, "Marigold."]


@journey
async def test_two_processes_that_get_one_conversation_meet_in_one_turn(tmp_path):
    den = Den(tmp_path)
    async with den.client() as one, den.client() as other:
        await remember(one, BOAT)
        chat = Chat(one)
        first = await chat.prepare(ASK)
        chat.client = other
        chat.said += [("assistant", "call"), ("tool", "result")]
        second = await chat.prepare()
        assert (second["turn"]["turn_id"], second["blocks"]) == (first["turn"]["turn_id"], first["blocks"])
        ended = await chat.finish(second, "Marigold.")
        assert ended["turn"]["status"] == "completed"
    async with den.client() as client:
        assert await texts_of(client, thread_of(first)) == [ASK, "Marigold."]
        assert (await client.request("turn/get", {"turn_id": first["turn"]["turn_id"]}))["turn"][
            "status"
        ] == "completed"


@journey
async def test_a_new_standing_record_comes_once_with_the_next_message(tmp_path):
    async with Den(tmp_path).client() as client:
        chat = Chat(client)
        first = await chat.say("Good morning to you.", "Good morning.")
        assert first["brief"] is None
        await remember(client, "Always answer in German.", category="recurring_instruction")
        second = await chat.say("How is the weather there?", "Fine.")
        assert second["brief"] is None
        assert "Always answer in German" in second["blocks"][-1]["text"]
        third = await chat.prepare("And tomorrow, what do you expect?")
        assert [block["index"] for block in third["blocks"]] == [2]


@journey
async def test_what_is_refused(tmp_path):
    async with Den(tmp_path).client() as client:
        chat = Chat(client)
        first = await chat.say("Good morning to you.", "Good morning.")
        wrong = capture_of([("user", "x"), ("assistant", "y")])
        assert (await refusal(client, "capture/prepare", {**wrong, "user_index": 1})).reason == "invalid_params"
        blank = {**capture_of([("user", "x")]), "user_text": " \n"}
        assert (await refusal(client, "capture/prepare", blank)).reason == "invalid_params"
        foreign = capture_of([("user", "x")], workspace_id="ws_other", thread_id=thread_of(first))
        assert (await refusal(client, "capture/prepare", foreign)).reason == "scope_out_of_context"
        finish = {"status": "succeeded", "shown": True}
        assert (await refusal(client, "capture/finish", finish)).reason == "invalid_params"
        assert (await refusal(client, "capture/finish", {**finish, "turn_id": "trn_no"})).reason == "not_found"


@journey
async def test_another_workspace_is_never_replayed(tmp_path):
    async with Den(tmp_path).client() as client:
        await remember(
            client, "The sailing boat of this project is Marigold.", scope={"kind": "workspace", "key": "ws_here"}
        )
        await client.request("workspace/create", {"workspace_id": "ws_other"})
        here, there = Chat(client), Chat(client, workspace_id="ws_other")
        first = await here.say(ASK, "Marigold.")
        assert "Marigold" in str(first["blocks"])
        other = await there.say(ASK, "Marigold.")
        after = await there.say("Which boat was that?", "That one.")
        assert "Marigold" not in str([other["blocks"], after["blocks"]])
        assert thread_of(other) == thread_of(after) != thread_of(first)


@journey
async def test_files_are_not_recalled_for_a_program_that_gets_the_same_bytes_again(tmp_path):
    """A program reads files itself; what a message was given is kept line by line, and a file's lines change."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "boat.md").write_text("# Boat\n\nThe sailing boat called Marigold lies in Brest.\n", encoding="utf-8")
    async with Den(tmp_path).client() as client:
        await client.request("knowledge/collections/add", {"path": str(notes)})
        await drain(client)
        await remember(client, BOAT)
        own = await client.request("knowledge/search", {"query": ASK})
        assert own["hits"]
        chat = Chat(client)
        first = await chat.say(ASK, "Marigold.")
        assert "Marigold" in str(first["blocks"])
        assert "file_context" not in str(first["blocks"])
        again = await chat.prepare("And where does the boat lie?")
        assert again["blocks"][: len(first["blocks"])] == first["blocks"]
