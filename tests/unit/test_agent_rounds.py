"""How many rounds a turn takes, how many calls a round, and what is told of the rest."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from agent_home import BUNDLE, TOOLS, AgentHome, Lived, echoes, play, wants

from agent.turns.rounds import MAX_CALLS, MAX_ROUNDS
from protocol.conversation.host_turns import ToolReply
from protocol.conversation.turns import TurnError
from protocol.hooks import ToolContext
from protocol.models import ModelReply

CALL = ("memory_get", {})


def results(lived: Lived) -> list[dict[str, Any]]:
    return [msgspec.json.decode(item.text) for item in lived.items if item.kind == "tool_result"]


def test_the_last_round_is_there_for_the_answer(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        lived = await home.live()
        assert (lived.turn.status, lived.turn.rounds, lived.turn.error) == ("completed", 3, None)
        assert [bool(request.tools) for request in home.model.asked] == [True, True, False]
        assert lived.items[-1].text == "So it is."

    answers = [wants(CALL), wants(CALL), ModelReply(text="So it is.")]
    play(tmp_path, scene, *answers, hooks=[BUNDLE], plan=TOOLS, tools={"memory_get": echoes}, max_rounds=3)


@pytest.mark.parametrize("text", ["", "This is all I know."])
def test_what_is_called_in_the_last_round_is_told_and_not_run(tmp_path: Path, text: str) -> None:
    ran: list[str] = []

    async def counts(context: ToolContext, name: str, arguments: dict[str, Any]) -> ToolReply:
        ran.append(context.call_id)
        return await echoes(context, name, arguments)

    async def scene(home: AgentHome) -> None:
        lived = await home.live()
        home.check_story(lived.turn.turn_id)
        assert (lived.turn.rounds, len(ran), home.incidents) == (2, 1, [])
        assert [reply["ok"] for reply in results(lived)] == [True, False]
        assert results(lived)[1]["error"]["code"] == MAX_ROUNDS
        error = None if text else TurnError.of(MAX_ROUNDS, retryable=True)
        assert (lived.turn.status, lived.turn.error) == ("completed" if text else "failed", error)
        assert (await home.live("again")).turn.status == "completed"

    answers = [wants(CALL), wants(CALL, text=text)]
    play(tmp_path, scene, *answers, hooks=[BUNDLE], plan=TOOLS, tools={"memory_get": counts}, max_rounds=2)


def test_a_round_runs_so_many_calls_and_answers_all(tmp_path: Path) -> None:
    ran: list[str] = []

    async def counts(context: ToolContext, name: str, arguments: dict[str, Any]) -> ToolReply:
        ran.append(context.call_id)
        return await echoes(context, name, arguments)

    async def scene(home: AgentHome) -> None:
        turn_id = await home.begin()
        turn = (await home.end_of(turn_id)).turn
        assert (turn.status, len(ran)) == ("completed", MAX_CALLS)
        answers = [message for message in home.model.asked[1].messages if message.role == "tool"]
        assert [answer.tool_call_id for answer in answers] == [f"call_{n}" for n in range(1, MAX_CALLS + 4)]
        codes = [msgspec.json.decode(answer.content).get("error", {}).get("code") for answer in answers]
        assert codes == [None] * MAX_CALLS + ["too_many_calls"] * 3

    play(tmp_path, scene, wants(*[CALL] * (MAX_CALLS + 3)), hooks=[BUNDLE], plan=TOOLS, tools={"memory_get": counts})
