"""What a view of the inspect page says where it cannot show or do all."""

import asyncio
from pathlib import Path
from typing import Any

from own_page import own_page

from gateway.doors.inspect.views import today
from protocol import methods as m


def test_undoing_a_conversation_says_when_the_day_has_more_changes(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(today, "MOST_LOOKED", 1)

    async def story() -> None:
        async with own_page(tmp_path / "home") as page:
            for number in range(101):
                if number == 100:
                    assert b"more changes" not in (await page.see("undo-all?thread=thr_1")).body
                await page.call(m.MEMORY_REMEMBER, content=f"It rains in {number}.")
            assert b"more changes" in (await page.see("undo-all?thread=thr_1")).body

    asyncio.run(story())
