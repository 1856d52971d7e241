"""A host in forty lines: spawn a gateway, remember, run a turn with your own model, recall, forget.

Run it with the environment's Python: `.venv/bin/python examples/host.py`
"""

import asyncio
import tempfile

from gateway.wire.client import GatewayClient, console_script
from protocol import methods as call
from protocol.gateway import ClientInfo, InitializeParams
from protocol.memory import ForgetById, ForgetParams, RememberParams, SearchParams
from protocol.threads import TextInput, ThreadStartParams, TurnFinishParams, TurnStartParams


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        async with await GatewayClient.start([*console_script(), "serve", "--home", home]) as gateway:
            me = ClientInfo(name="example", version="1", time_zone="Europe/Berlin")
            await gateway.call(
                call.INITIALIZE, InitializeParams(protocol_version="2026-11", client=me, workspace_id="ws_notes")
            )

            told = await gateway.call(
                call.MEMORY_REMEMBER, RememberParams(content="I take my coffee without sugar.", category="preference")
            )
            print("saved:", told.record.content, "-", told.decision.reason_code)

            await gateway.call(call.THREAD_START, ThreadStartParams(thread_id="thr_1"))
            asked = TurnStartParams(
                thread_id="thr_1", turn_id="trn_1", input=[TextInput(text="How do I take my coffee?")]
            )
            prepared = await gateway.call(call.TURN_PREPARE, asked)
            for block in prepared.context_blocks:
                print("for your model's prompt:", block.text, sep="\n")
            answer = "Without sugar."  # here your own model answers, with prepared.prompt_sections and .tools
            await gateway.call(
                call.TURN_FINISH, TurnFinishParams(turn_id="trn_1", status="succeeded", assistant_text=answer)
            )
            await gateway.wait_for("turn/post_completed")

            await gateway.call(call.MEMORY_FORGET, ForgetParams(target=ForgetById(memory_id=told.record.memory_id)))
            found = await gateway.call(call.MEMORY_SEARCH, SearchParams(query="coffee"))
            print("after forgetting:", [hit.record.content for hit in found.hits])


if __name__ == "__main__":
    asyncio.run(main())
