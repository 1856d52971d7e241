"""Every file that a home comes to hold is on the list of what holds stored text."""

import asyncio
import base64
import subprocess
from fnmatch import fnmatch

from guidance_stage import agent, put
from spawned import Den, drain, journey, remember, take_turn
from stored_text import FILES

from gateway.wire.client import console_script

SELDOM = {"*config.toml.*", "models/*", "spool/*"}
"""A file on its way into its place, what a download leaves, and answers that wait while memory does not answer."""


@journey
async def test_every_file_of_a_home_is_on_the_list(tmp_path):
    den = Den(tmp_path, scripted=True)
    den.home.mkdir(mode=0o700)
    (den.home / "config.toml").write_text("")
    file = {
        "type": "artifact",
        "artifact_id": "art_a",
        "name": "a.txt",
        "mime": "text/plain",
        "data_base64": base64.b64encode(b"abc").decode(),
    }
    async with den.client() as client:
        await remember(client, "The kettle whistles in F sharp.")
        await client.request("thread/start", {"thread_id": "thr_a"})
        await take_turn(client, "thr_a", "", "trn_a", input=[{"type": "text", "text": "Hello"}, file])
        await drain(client)
        put(den.home / "agents", agent("clerk"))
        (den.home / "backups").mkdir()
        backup = [*console_script(), "backup", str(den.home / "backups" / "one.backup"), "--home", str(den.home)]
        await asyncio.to_thread(subprocess.run, backup, check=True, capture_output=True)
        names = set(den.files())
    found = {name: [pattern for pattern in FILES if fnmatch(name, pattern)] for name in names}
    assert {name for name, patterns in found.items() if not patterns} == set()
    assert {pattern for patterns in found.values() for pattern in patterns} >= set(FILES) - SELDOM
