"""How a text is read: headings, pieces, encodings, front matter; and a reader that ends."""

import asyncio
import os
import random
import signal
from collections.abc import Sequence

import anyio.lowlevel
import pytest
from sizes import size
from spawned import on_posix

from gateway.files.front_matter import read_front_matter
from gateway.files.text_child import NICENESS, _Reader, find_headings
from gateway.files.text_reader import text_reader
from knowledge.structure import ReadRequest, TextStructure
from protocol.files.knowledge import FileKind

WORDS = "walrus heron pelican otter lantern budget ice морж 海象 café".split()
READER = _Reader()


def read(data: bytes, kind: FileKind = "markdown") -> TextStructure:
    return READER.read(ReadRequest(kind=kind, size=len(data), max_pieces=10_000), data)


def made_text(chance: random.Random) -> str:
    """A text of headings, fences, tables, lists and long paragraphs, with any ends of lines."""
    parts: list[str] = []
    for _ in range(chance.randrange(1, 30)):
        said = " ".join(chance.choices(WORDS, k=chance.randrange(1, 80)))
        parts.append(
            chance.choice(
                [
                    f"{'#' * chance.randrange(1, 7)} {said[:40]}",
                    said,
                    f"```\n# {said}\n```",
                    f"{said[:20]}\n=====",
                    f"| a | b |\n| - | - |\n| {said} | c |",
                    f"- {said}\n- {said}",
                    "",
                    said * 5,
                ]
            )
        )
    end = chance.choice(["\n", "\r\n", "\r"])
    return (end + end).join(parts).replace("\n", end) + chance.choice(["", end])


@pytest.mark.loop("check", "campaign")
def test_knowledge_statement_13_pieces_joined_are_the_file_byte_for_byte():
    chance = random.Random(13)
    for _ in range(size("read_texts")):
        text = made_text(chance)
        data = text.encode(chance.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16"]))
        kinds: list[FileKind] = ["markdown", "text"]
        structure = read(data, chance.choice(kinds))
        assert structure.unread in {None, "generated"}
        if structure.unread is None:
            assert b"".join(data[one.from_byte : one.to_byte] for one in structure.pieces) == (data if text else b"")
            lines = [(one.from_line, one.to_line) for one in structure.pieces]
            assert all(first <= last <= structure.lines for first, last in lines)


def test_knowledge_statement_13_headings_are_those_of_commonmark():
    text = "---\ntitle: x\n---\n# One #\n\n```\n# no\n```\n\nTwo\nlines\n-----\n\n    # code\n\n#none\n\n> # quoted\n"
    found = find_headings(text, read_front_matter(text).end)
    assert [(one.level, text[one.start : one.end], one.line) for one in found] == [(1, "One", 3), (2, "Two\nlines", 9)]


def test_a_piece_of_markdown_never_crosses_a_heading_of_level_3():
    data = b"".join(f"### Part {n}\n\nA word.\n\n#### Deeper {n}\n\nAnother.\n\n".encode() for n in range(20))
    structure = read(data)
    assert [data[one.from_byte : one.to_byte].count(b"### Part") for one in structure.pieces] == [1] * 20


@pytest.mark.parametrize(
    "front",
    [
        "a: &x 1\nb: *x",
        "a: !!python/object/apply:os.system [ls]",
        "a: " + "[" * 20_000,
        "[1, 2]",
        "just words",
        "a: 1\n" * 5000,
    ],
    ids=["anchor", "tag", "brackets", "list", "scalar", "long"],
)
def test_knowledge_statement_14_hostile_front_matter_is_text(front: str):
    data = f"---\n{front}\n---\n# Walrus\n".encode()
    structure = read(data)
    assert structure.unread is None
    assert (structure.importance, structure.topics) == (0.5, [])
    assert b"".join(data[one.from_byte : one.to_byte] for one in structure.pieces) == data


def test_front_matter_gives_importance_topics_names_and_keeps_a_file_out():
    structure = read(
        b"---\ntitle: Q3 plan\naliases: Budget\ntags: [Release]\ntopics: ice\nimportance: 0.8\nknowledge: yes\n---\nx\n"
    )
    assert (structure.importance, structure.topics) == (0.8, ["ice", "release"])
    assert (structure.aliases, structure.tags) == (["Q3 plan", "Budget"], ["Release"])
    assert read(b"---\nknowledge: false\n---\nx\n").unread == "opted_out"
    assert read(b"---\nimportance: nan\n---\nx\n").importance == 0.5


def test_what_is_no_text_is_told():
    assert read(b"a\0b").unread == "binary"
    assert [read("# Walrus\n".encode(name)).unread for name in ("utf-16", "utf-32")] == [None, "binary"]
    assert read("\ufeff# Walrus\n".encode("utf-32-be")).unread == "binary"
    assert read(b"x" * 5000, "code").unread == "generated"
    assert read(b"x " * 5000, "markdown").unread is None
    assert read(b"").pieces == []


def test_terms_are_sorted_and_hold_no_secret():
    structure = read(b"The zebra key AKIAQ7T5ZPLMN3KXW2VB opens an ark.\n", "text")
    terms = structure.pieces[0].terms.split()
    assert terms == sorted(terms)
    assert "zebra" in terms
    assert not any("akiaq7" in term for term in terms)


ASKED = [(ReadRequest(kind="text", size=6, max_pieces=10), b"walrus")]


def lines_of(structures: Sequence[TextStructure | None]) -> list[int | None]:
    return [one.lines if one is not None else None for one in structures]


@on_posix
def test_the_reader_stands_back_behind_the_process_that_answers():
    async def story() -> None:
        async with text_reader() as reader:
            await reader(ASKED)
            own = os.getpriority(os.PRIO_PROCESS, 0)
            assert os.getpriority(os.PRIO_PROCESS, reader.pid) == min(19, own + NICENESS)

    asyncio.run(story())


@on_posix
def test_knowledge_statement_15_a_reader_that_is_killed_costs_one_file():
    async def story() -> None:
        async with text_reader() as reader:
            assert lines_of(await reader(ASKED)) == [1]
            os.kill(reader.pid, signal.SIGKILL)
            assert lines_of(await reader(ASKED * 3)) == [None, 1, 1]

    asyncio.run(story())


@on_posix
def test_a_reader_that_does_not_answer_is_ended_and_costs_one_file(monkeypatch: pytest.MonkeyPatch):
    async def story() -> None:
        async with text_reader() as reader:
            await reader(ASKED)
            monkeypatch.setattr("gateway.files.text_reader.SECONDS", 0.1)
            os.kill(reader.pid, signal.SIGSTOP)
            (lost,) = await reader(ASKED)
            assert lost is None
            monkeypatch.undo()
            assert lines_of(await reader(ASKED)) == [1]

    asyncio.run(story())


@on_posix
def test_a_reader_is_gone_with_its_block_also_where_nobody_waits_for_its_answer_any_more():
    async def story() -> int:
        async with text_reader() as reader:
            await reader(ASKED)
            pid = reader.pid
            os.kill(pid, signal.SIGSTOP)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(reader, ASKED * 2)
                while reader._files < 2:  # the thread tells nobody that it has asked
                    await anyio.lowlevel.checkpoint()
                tasks.cancel_scope.cancel()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        return reader.pid

    assert asyncio.run(story()) == 0
