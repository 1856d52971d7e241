"""What a view of the inspect page says where it cannot show or do all."""

import asyncio
import html
import re
from pathlib import Path
from typing import Any

from own_page import own_page

from gateway.doors.inspect.views import memories, today
from protocol import methods as m


def test_undoing_a_conversation_says_when_the_day_has_more_changes(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(today, "MAX_CHANGE_PAGES", 1)

    async def story() -> None:
        async with own_page(tmp_path / "home") as page:
            for number in range(101):
                if number == 100:
                    assert b"more changes" not in (await page.see("undo-all?thread=thr_1")).body
                await page.call(m.MEMORY_REMEMBER, content=f"It rains in {number}.")
            assert b"more changes" in (await page.see("undo-all?thread=thr_1")).body

    asyncio.run(story())


def test_what_was_forgotten_long_ago_is_found_by_looking_further_back(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(memories, "MAX_CHANGE_PAGES", 1)

    async def story() -> None:
        async with own_page(tmp_path / "home") as page:
            kept = await page.call(m.MEMORY_REMEMBER, content="The ferry leaves at noon.")
            target = {"kind": "id", "memory_id": kept.record.memory_id}
            await page.call(m.MEMORY_FORGET, target=target, mode="tombstone")
            for number in range(101):
                await page.call(m.MEMORY_REMEMBER, content=f"It rains in {number}.")
            first = (await page.see("memories?status=deleted")).body.decode()
            assert "Nothing was forgotten lately." in first
            seen = first
            for _ in range(3):
                if kept.record.memory_id in seen:
                    break
                (older,) = re.findall(r'href="[^"]*(memories\?status=deleted[^"]*)"', seen)
                seen = (await page.see(html.unescape(older))).body.decode()
            assert kept.record.memory_id in seen
            assert "Look further back" not in seen

    asyncio.run(story())


def test_a_time_of_too_many_digits_is_no_time_and_no_defect(tmp_path: Path) -> None:
    async def story() -> None:
        async with own_page(tmp_path / "home") as page:
            for digits in (1, 15, 16, 5000):
                assert (await page.see(f"memories?status=deleted&until={'9' * digits}")).status < 500, digits

    asyncio.run(story())
