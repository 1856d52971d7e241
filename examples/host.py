"""A host in forty lines: spawn a gateway, remember, run a turn with your own model, recall, forget.

Run it with the environment's Python: `PYTHONPATH=clients/python .venv/bin/python examples/host.py`
"""

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

from pioneer_client import Client
from pioneer_client.protocol import methods as call
from pioneer_client.protocol.conversation.host_turns import TurnFinishParams
from pioneer_client.protocol.conversation.threads import ThreadStartParams
from pioneer_client.protocol.conversation.turns import TextInput, TurnStartParams
from pioneer_client.protocol.gateway import ClientInfo
from pioneer_client.protocol.memory.forgetting import ForgetById, ForgetParams
from pioneer_client.protocol.memory.reads import SearchParams
from pioneer_client.protocol.memory.writes import RememberParams

COMMAND = shutil.which("pioneer", path=str(Path(sys.executable).parent)) or "pioneer"
"""The gateway of this environment, else the one on the PATH."""


async def main() -> None:
    me = ClientInfo(name="example", version="1", time_zone="Europe/Berlin")
    with tempfile.TemporaryDirectory() as home:
        async with await Client.start([COMMAND], home, "ws_notes", client=me) as gateway:
            saved = await gateway.call(
                call.MEMORY_REMEMBER, RememberParams(content="I take my coffee without sugar.", category="preference")
            )
            print("saved:", saved.record.content, "-", saved.decision.reason_code)

            await gateway.call(call.THREAD_START, ThreadStartParams(thread_id="thr_1"))
            question = TurnStartParams(
                thread_id="thr_1", turn_id="trn_1", input=[TextInput(text="How do I take my coffee?")]
            )
            prepared = await gateway.call(call.TURN_PREPARE, question)
            for block in prepared.context_blocks:
                print("for your model's prompt:", block.text, sep="\n")
            answer = "Without sugar."  # here your own model answers, with prepared.prompt_sections and .tools
            is_learned = asyncio.Event()
            gateway.on("turn/post_completed", lambda _: is_learned.set())
            await gateway.call(
                call.TURN_FINISH, TurnFinishParams(turn_id="trn_1", status="succeeded", assistant_text=answer)
            )
            await is_learned.wait()

            await gateway.call(call.MEMORY_FORGET, ForgetParams(target=ForgetById(memory_id=saved.record.memory_id)))
            found = await gateway.call(call.MEMORY_SEARCH, SearchParams(query="coffee"))
            print("after forgetting:", [hit.record.content for hit in found.hits])


if __name__ == "__main__":
    asyncio.run(main())
