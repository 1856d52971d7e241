"""Whatever stands in an address or in a form, the inspect page answers it, and never with a defect."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlencode

import pytest
from own_page import OwnPage, own_page

from gateway.doors.inspect import door
from gateway.doors.inspect.forms import fields_of
from protocol import methods as m
from protocol.conversation.items import Item

HOSTILE = {
    name: quote(text)
    for name, text in {
        "nothing": "",
        "blank": " ",
        "a word": "soon",
        "negative": "-1",
        "more digits than Python reads": "9" * 5000,
        "as many negative ones": "-" + "9" * 5000,
        "more than the database holds": str(2**63),
        "no decimal": "0x10",
        "infinite": "1e999",
        "no number": "nan",
        "a superscript": "\N{SUPERSCRIPT TWO}",
        "Arabic digits": "\N{ARABIC-INDIC DIGIT THREE}" * 3,
        "a NUL": "a\0b",
        "an escape": "\x1b[2J",
        "a turning mark": "\N{RIGHT-TO-LEFT OVERRIDE}x",
        "no day": "2026-02-30",
        "the first day": "0001-01-01",
        "the last day": "9999-12-31",
        "a place without a key": "workspace:",
        "a place with a NUL": "thread:\0",
        "a place of no kind": "planet:mars",
        "a way out": "../../../etc/passwd",
        "a long text": "x" * 20_000,
        "emptiness, six ways": "\N{ZERO WIDTH SPACE}\N{IDEOGRAPHIC SPACE}\t\n\r\v",
    }.items()
} | {"no UTF-8": "%ff%fe", "half a pair": "%ed%a0%80", "half an escape": "%", "given twice": "x&{name}=x"}
"""Values as they stand in an address. In the last one `{name}` is the member's own name."""

FILLED = {
    "archived": "1",
    "before": "1",
    "category": "custom",
    "content": "It rains.",
    "cursor": "",
    "day": "2026-11-23",
    "expected_updated_at": "",
    "from": "0",
    "importance": "0.5",
    "item": "item_1",
    "job_id": "",
    "keys": "on",
    "kind": "",
    "name": "Rain",
    "new": "",
    "once": "once",
    "pass": "dream",
    "pinned": "on",
    "q": "rain",
    "real": "",
    "run_id": "run_1",
    "scope": "",
    "sources": "1",
    "status": "",
    "tags": "wet",
    "thread": "thr_1",
    "turn": "",
    "workspace": "",
    "back": "",
}
"""Every member that a view reads, as a person fills it in: a new one has to be added here."""


class Read(dict[str, str]):
    """The members of a query or a form, which notes what is read of them."""

    names: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.names.add(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> str:
        self.names.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.names.add(str(key))
        return super().__contains__(key)


class Stage:
    """A page, and new things for its actions to act on."""

    def __init__(self, page: OwnPage) -> None:
        self.page = page
        self._number = 0

    async def names_for(self, route: door.PageRoute) -> list[str]:
        """The names in a route's path, of a thing that nothing was done to yet."""
        self._number += 1
        text = f"It rains in {self._number}."
        match route.path.split("/")[:2]:
            case ["memories", "*"]:
                return [(await self.page.call(m.MEMORY_REMEMBER, content=text)).record.memory_id]
            case ["candidates", "*"]:
                return [await self._proposal(text)]
            case ["threads", "*"]:
                return [(await self._message(text)).thread_id]
            case ["turns", "*"]:
                return [(await self._message(text)).turn_id]
            case ["items", "*"]:
                item = await self._message(text)
                return [item.turn_id, item.item_id]
            case _:
                return []

    async def _proposal(self, text: str) -> str:
        semantic = {"category": "preference", "attribute": text, "explicitness": "explicit"}
        semantic |= {"durability": "long_lived", "sensitivity": "none", "certainty": "high"}
        evidence = [{"quote": text, "source_kind": "user_statement"}]
        found = await self.page.call(
            m.MEMORY_WRITE, content=text, disposition="create_pending_candidate", semantic=semantic, evidence=evidence
        )
        return found.candidate.candidate_id

    async def _message(self, text: str) -> Item:
        thread_id, turns = f"thr_{self._number}", [{"at": 1_700_000_000_000, "items": [{"role": "user", "text": text}]}]
        where = {"workspace_id": "ws_default", "thread_id": thread_id, "source": {"kind": "notes", "id": thread_id}}
        await self.page.call(m.THREAD_IMPORT, turns=turns, **where)
        (item,) = (await self.page.call(m.THREAD_HISTORY, thread_id=thread_id)).items
        return item

    async def status(self, route: door.PageRoute, names: list[str], members: str) -> int:
        """The code that answers a request with these members."""
        left = iter(names)
        path = "/".join(next(left) if part == "*" else part for part in route.path.split("/"))
        if route.verb == "GET":
            return (await self.page.see(f"{path}?{members}")).status
        return (await self.page.send(path, members)).status


def with_one(name: str, value: str) -> str:
    """A query or a form that is filled in but for one member."""
    others = {other: filled for other, filled in FILLED.items() if other != name and filled}
    return f"{urlencode(others)}&{name}={value.replace('{name}', name)}"


def paths_of(route: door.PageRoute, names: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The names in a route's path, each replaced by each hostile one."""
    for place in range(route.path.count("*")):
        for called, value in HOSTILE.items():
            yield called, [*names[:place], unquote(value), *names[place + 1 :]]


async def broken_by(stage: Stage, route: door.PageRoute) -> list[str]:
    """What a route answers with a defect: the member and the value."""
    found, tried = list[str](), set[str]()
    names = await stage.names_for(route)
    Read.names = set()
    answered = await stage.status(route, names, with_one("", ""))
    if answered not in {200, 303, 404, 409}:
        found.append(f"{route.verb} {route.path}, filled in: {answered}")
    found += [
        f"{route.verb} {route.path}: {called}"
        for called, hostile in paths_of(route, names)
        if await stage.status(route, hostile, with_one("", "")) >= 500
    ]
    while untried := Read.names - tried - {"token"}:
        assert untried <= FILLED.keys(), untried - FILLED.keys()
        tried |= untried
        for name in sorted(untried):
            for called, value in HOSTILE.items():
                names = await stage.names_for(route) if route.verb == "POST" else names
                if await stage.status(route, names, with_one(name, value)) >= 500:
                    found.append(f"{route.verb} {route.path} {name}: {called}")
    return found


@pytest.mark.loop("campaign")
def test_no_value_of_an_address_or_a_form_is_answered_with_a_defect(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(door, "fields_of", lambda body: Read(fields_of(body)))

    async def story() -> list[str]:
        async with own_page(tmp_path / "home") as page:
            await page.call(m.WORKSPACE_CREATE, workspace_id="ws_default")
            stage = Stage(page)
            return [one for route in door.ROUTES for one in await broken_by(stage, route)]

    broken = asyncio.run(story())
    assert broken == [], "\n".join(broken)
