"""`POST /v1/ingest`: a transcript is kept before it is worked on, and once, however often it comes."""

import signal

from http_stage import HttpDen
from spawned import journey

SAID = [
    {"role": "user", "content": "My sailing boat is called Marigold."},
    {"role": "assistant", "content": "A fine name."},
    {"role": "user", "content": "She lies in Brest.", "at": 1_780_000_000_000},
    {"role": "assistant", "content": "Noted."},
]
MORE = [{"role": "user", "content": "She is blue."}, {"role": "assistant", "content": "I see."}]


def texts(den, thread_id):
    return [item["text"] for item in den.rpc("thread/history", {"thread_id": thread_id})["items"]]


def said(messages):
    return [message["content"] for message in messages]


@journey
async def test_http_statement_07_a_transcript_is_kept_before_it_is_worked_on(tmp_path):
    den = HttpDen(tmp_path, scripted=True)
    den.write_script([{"role": "extractor", "delay_ms": 600_000, "text": '{"facts": []}'}])
    body = {"agent": "scribe", "session_id": "s1", "workspace_id": "ws_here", "live": True, "messages": SAID}
    process = den.start()
    answer = den.ask("POST", "/v1/ingest", body)  # though the extractor of what is new has not answered
    assert answer.status == 202
    assert answer.json["turns"] == 2
    assert answer.json["job_id"].startswith("job_")
    process.send_signal(signal.SIGKILL)
    den.wait(process)
    with den.door():
        thread_id = answer.json["thread_id"]
        assert texts(den, thread_id) == said(SAID)
        grown = den.ask("POST", "/v1/ingest", body | {"messages": [*SAID, *MORE]})
        assert (grown.status, grown.json["thread_id"], grown.json["turns"]) == (202, thread_id, 1)
        again = den.ask("POST", "/v1/ingest", body | {"messages": [*SAID, *MORE]})
        assert (again.json["turns"], again.json["job_id"]) == (0, None)
        assert texts(den, thread_id) == said([*SAID, *MORE])


@journey
async def test_a_transcript_that_is_not_live_teaches_nothing_and_grows_by_an_answer(tmp_path):
    den = HttpDen(tmp_path)
    with den.door():
        body = {"agent": "scribe", "messages": SAID[:3]}
        first = den.ask("POST", "/v1/ingest", body).json
        grown = den.ask("POST", "/v1/ingest", body | {"messages": SAID}).json
        assert (grown["thread_id"], grown["turns"]) == (first["thread_id"], 1)
        assert texts(den, first["thread_id"]) == said(SAID)
        other = den.ask("POST", "/v1/ingest", body | {"messages": [*SAID[:2], *MORE]}).json
        assert (other["thread_id"] != first["thread_id"], other["turns"]) == (True, 1)
        forked = den.rpc("thread/get", {"thread_id": other["thread_id"]})["thread"]["forked_from"]
        assert forked["thread_id"] == first["thread_id"]
        assert den.rpc("gateway/drain", {"timeout_ms": 30_000})["idle"]
        assert den.rpc("memory/list", {})["records"] == []
        found = den.rpc("thread_episodic/search", {"workspace_id": "ws_default", "query": "boat Marigold"})
        assert found["hits"]


@journey
async def test_transcripts_of_two_agents_that_begin_alike_are_two_conversations(tmp_path):
    with HttpDen(tmp_path).door() as den:
        ids = [den.ask("POST", "/v1/ingest", {"agent": agent, "messages": SAID}).json["thread_id"] for agent in "abab"]
        assert ids[:2] == ids[2:] == list(dict.fromkeys(ids))
        assert all(texts(den, thread_id) == said(SAID) for thread_id in ids)
        turns = [{"messages": [{"role": one["role"], "text": one["content"]} for one in SAID]}]
        as_agents = [
            {"door": "ingest", "client": client, "agent_id": agent} for client in ("one", "two") for agent in ("a", "b")
        ]
        told = [den.rpc("capture/ingest", {"source": source, "turns": turns}) for source in as_agents * 2]
        assert [one["turns"] for one in told] == [2] * 4 + [0] * 4
        assert len({one["thread_id"] for one in told} | set(ids)) == 6


@journey
async def test_a_live_transcript_of_an_agent_teaches(tmp_path):
    den = HttpDen(tmp_path)
    with den.door():
        body = {
            "agent": "scribe",
            "live": True,
            "messages": [
                {"role": "user", "content": "I prefer dark mode in every editor."},
                {"role": "assistant", "content": "Noted."},
            ],
        }
        assert den.ask("POST", "/v1/ingest", body).status == 202
        assert den.rpc("gateway/drain", {"timeout_ms": 30_000})["idle"]
        assert "dark mode" in str(den.rpc("memory/list", {})["records"]) or "dark mode" in str(
            den.rpc("memory/candidates/list", {})
        )
        assert (
            den.ask("POST", "/v1/ingest", {"agent": "scribe", "messages": [{"role": "tool", "content": "x"}]}).status
            == 400
        )


@journey
async def test_messages_without_a_word_are_counted_and_not_kept(tmp_path):
    den = HttpDen(tmp_path)
    blank = [{"role": "user", "content": " \n"}, {"role": "assistant", "content": ""}]
    answered = [{"role": "user", "content": "\t"}, {"role": "assistant", "content": "What can I do for you?"}]
    with den.door():
        body = {"agent": "scribe", "session_id": "s1", "messages": [*blank, *SAID, *answered]}
        first = den.ask("POST", "/v1/ingest", body).json
        assert (first["turns"], first["skipped"]) == (3, 3)
        grown = den.ask("POST", "/v1/ingest", body | {"messages": [*body["messages"], *blank, *MORE]}).json
        assert (grown["thread_id"], grown["turns"], grown["skipped"]) == (first["thread_id"], 1, 5)
        kept = [*SAID, answered[1], *MORE]
        assert texts(den, first["thread_id"]) == said(kept)
        refused = den.ask("POST", "/v1/ingest", body | {"messages": blank})
        assert (refused.status, refused.json["error"]["data"]["reason"]) == (400, "invalid_params")
        params = {
            "source": {"door": "ingest", "client": "scribe"},
            "turns": [{"messages": [{"role": "user", "text": " "}]}],
        }
        over_rpc = den.ask("POST", "/rpc/capture/ingest", params)
        assert (over_rpc.status, over_rpc.json["error"]["data"]["details"]["path"]) == (400, "$.turns")
