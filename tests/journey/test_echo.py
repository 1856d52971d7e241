"""What is recalled comes back in every way, and nothing is learnt from it, counted or said twice."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from sizes import size
from spawned import Den, drain, every, fact, journey, remember, take_turn

TURNS = size("echo_turns")
COUNTED = ("record", "candidate", "evidence", "repetition", "chunk")
SAID = [
    "I prefer green tea in the morning.",
    "I prefer window seats on trains.",
    "My sister is called Ines.",
]
LEARNT = [
    fact("The user prefers green tea in the morning", "I prefer green tea in the morning", "drink"),
    fact("The user prefers window seats on trains", "I prefer window seats on trains", "seat"),
    fact("The user's sister is called Ines", "My sister is called Ines", "sister", category="biography"),
]
ASKED = ["Which tea do I prefer in the morning?", "Which seats do I prefer on trains?", "What is my sister called?"]


def counts(den: Den) -> dict[str, int]:
    database = den.database()
    try:
        return {table: next(database.execute(f"SELECT count(*) FROM {table}"))[0] for table in COUNTED}  # noqa: S608
    finally:
        database.close()


def blocks(den: Den) -> list[str]:
    """The blocks of the last request to the model, as they were injected."""
    asked = [json.loads(line) for line in den.record.read_text(encoding="utf-8").splitlines()]
    last = [one for one in asked if one["role"] == "main"][-1]["messages"]
    found = [m["content"] for m in last if m["role"] == "user" and "nonce=" in m["content"]]
    assert not [m for m in last if m["role"] == "assistant" and "nonce=" in m["content"]]  # echoes are no history
    return found


class Parrot:
    """Makes the model repeat what was put into its prompt: as it stands, quoted, in capitals, line by line."""

    def __init__(self, den: Den) -> None:
        self._den = den
        self._dice = random.Random(5)

    def listen(self) -> str:
        """Have the next answer repeat the last prompt's blocks; the words."""
        whole = "\n\n".join(blocks(self._den))
        lines = [line for line in whole.splitlines() if line.startswith("- [")]
        said = self._dice.choice(
            [
                whole,
                "\n".join(lines),
                "\n".join(f"> {line}" for line in lines),
                "\n".join(lines).upper(),
                "\n\n".join(f"    {line}" for line in lines),
            ]
        )
        reveal = {"name": "request_tools", "arguments": {"domains": ["memory"], "reason": "to keep it"}}
        call = {"name": "memory_remember", "arguments": {"content": LEARNT[0]["content"]}}
        self._den.write_script(
            [
                *(
                    [
                        {"role": "main", "round": 1, "respond": {"tool_calls": [reveal]}},
                        {"role": "main", "round": 2, "respond": {"tool_calls": [call]}},
                    ]
                    if self._dice.random() < 0.3
                    else []
                ),
                {"role": "main", "respond": {"text": said}},
                {"role": "extractor", "respond": {"json": {"facts": LEARNT}}},
            ]
        )
        return said


async def transcript(client: Any, injected: list[str]) -> list[dict[str, Any]]:
    """The thread as a host keeps it: with the context that it sent along in the users' messages."""
    items = await every(client, "thread/history", "items", thread_id="thr_1")
    turns: dict[str, dict[str, Any]] = {}
    for item in items:
        if item["kind"] in {"user_message", "agent_message"}:
            turn = turns.setdefault(item["turn_id"], {"at": item["at"], "items": []})
            context = "".join(f"{block}\n\n" for block in injected) if item["role"] == "user" else ""
            turn["items"].append({"role": item["role"], "text": context + item["text"]})
    return list(turns.values())


@pytest.mark.loop("check", "campaign")
@journey
async def test_an_echo_of_what_was_recalled_changes_nothing(tmp_path: Path) -> None:
    den = Den(tmp_path, scripted=True)
    parrot = Parrot(den)
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr_1"})
        for number, (said, learnt) in enumerate(zip(SAID, LEARNT, strict=True)):
            den.write_script([{"role": "extractor", "respond": {"json": {"facts": [learnt]}}}])
            await take_turn(client, "thr_1", said, f"trn_{number}")
        await remember(client, "The user's cat is called Fig")
        for question in ASKED:  # the first time that each is asked it is said, and new
            await take_turn(client, "thr_1", question, f"trn_{question[-8:-1].strip()}".replace(" ", "_"))
        await drain(client)
    before = counts(den)
    assert before["record"] == 4
    users = 0
    for half in range(2):  # a restart in between
        async with den.client() as client:
            for number in range(TURNS // 2):
                said = parrot.listen()
                turn_id = f"trn_echo_{half}_{number}"
                if number % 5 == 4:  # the host puts all of it into the user's message
                    text = f"{said}\n\n"
                else:
                    text, users = ASKED[number % len(ASKED)], users + 1
                await take_turn(client, "thr_1", text, turn_id)
                if number % 25 == 0:
                    for mode in ("append", "replace"):
                        given = await transcript(client, blocks(den) if mode == "append" else [])
                        source = {"kind": "host", "id": f"copy_{number}"}
                        done = await client.request(
                            "thread/import",
                            {
                                "workspace_id": "ws_here",
                                "thread_id": "thr_1",
                                "source": source,
                                "turns": given,
                                "mode": mode,
                            },
                        )
                        assert (done["imported"], done["replaced"]) == (0, 0)
            await drain(client)
    after = counts(den)
    assert {name: after[name] for name in COUNTED[:-1]} == {name: before[name] for name in COUNTED[:-1]}
    assert after["chunk"] - before["chunk"] <= users  # the questions were really said; the repetitions were not
    async with den.client() as client:
        await hello_again(client)


async def hello_again(client: Any) -> None:
    """What was kept is what was said, and history is whole."""
    kept = await every(client, "memory/list", "records")
    assert {one["content"] for one in kept} == {
        *(str(one["content"]) for one in LEARNT),
        "The user's cat is called Fig",
    }
    items = await every(client, "thread/history", "items", thread_id="thr_1")
    assert sum(item["kind"] == "user_message" for item in items) == len(SAID) + len(ASKED) + TURNS
