"""What was edited, replaced, muted, excluded or deleted is out of recall with the answer to that request, over the
wire."""

import asyncio
import itertools

import apsw
from spawned import Den, drain, journey

AT = 1_700_000_000_000
WORD = "Where does the {} lie, in the cellar?"
BESIDE = "Yes, behind the barrels."
"""An answer is found by the words of its question, though it has none of them."""
OTHER = "We painted the fence of the orchard."


def conversation(thread_id, words, *, texts=None):
    """A thread of three turns; the first one has the word that a test is about."""
    texts = texts or [WORD.format(words), BESIDE, OTHER]
    turns = [
        {
            "turn_id": f"trn_{thread_id}_{n}",
            "at": AT + n,
            "items": [{"item_id": f"itm_{thread_id}_{n}", "role": "user", "name": "Ada", "text": text}],
        }
        for n, text in enumerate(texts)
    ]
    source = {"kind": "journey", "id": thread_id}
    return {"workspace_id": "ws_here", "thread_id": thread_id, "source": source, "turns": turns}


async def say(client, *args, **more):
    return await client.request("thread/import", conversation(*args, **more))


async def found(client, query, **more):
    asked = {"workspace_id": "ws_here", "query": query, "min_score": 0.0, "limit": 100, "max_prompt_chars": 12_000}
    return {hit["text"] for hit in (await client.request("thread_episodic/search", asked | more))["hits"]}


# -- what makes a message go: (client, thread, word) ---------------------------------------------------------------


async def edit(client, thread, word):
    told = await say(client, thread, word, texts=["Where does the compass lie, in the attic?", BESIDE, OTHER])
    assert told["replaced"] == 1


async def replace_thread(client, thread, word):
    params = conversation(thread, word, texts=["Something else entirely."])
    params["turns"][0] |= {"turn_id": f"trn_{thread}_new"}
    params["turns"][0]["items"][0] |= {"item_id": f"itm_{thread}_new"}
    await client.request("thread/import", params)


async def leave_out(client, thread, word):
    params = conversation(thread, word)
    await client.request("thread/import", params | {"turns": params["turns"][1:]})


async def mute(client, thread, word):
    await client.request("thread/update", {"thread_id": thread, "memory_mode": "ignored"})


async def exclude_item(client, thread, word):
    await client.request("thread_episodic/exclude", {"item_id": f"itm_{thread}_0"})


async def exclude_chunk(client, thread, word):
    chunk = f"thread:trn_{thread}_0/itm_{thread}_0/chunk_0"
    await client.request("thread_episodic/exclude", {"chunk_id": chunk, "reason": "private"})


async def delete_thread(client, thread, word):
    await client.request("thread/delete", {"thread_id": thread})


WAYS = {
    "zirconium": edit,
    "tourmaline": replace_thread,
    "sextant": leave_out,
    "theodolite": mute,
    "astrolabe": exclude_item,
    "harpsichord": exclude_chunk,
    "marzipan": delete_thread,
}


@journey
async def test_what_goes_is_gone_with_the_answer_also_beside_its_neighbours(tmp_path):
    den = Den(tmp_path)
    async with den.client() as client:
        for word in WAYS:
            await say(client, f"thr_{word}", word)
        await drain(client)
        for word, go in WAYS.items():
            assert await found(client, f"{word} cellar", thread_id=f"thr_{word}") == {WORD.format(word), BESIDE}
            await go(client, f"thr_{word}", word)
            assert await found(client, word) == set(), go
        await drain(client)
        for thread in [f"thr_{word}" for word in WAYS if word != "marzipan"]:
            await client.request("thread_episodic/reindex", {"thread_id": thread})
        await drain(client)
        assert [await found(client, word) for word in WAYS] == [set()] * len(WAYS)
        assert await found(client, "compass attic", thread_id="thr_zirconium") == {
            "Where does the compass lie, in the attic?",
            BESIDE,
        }
    async with den.client() as client:
        assert [await found(client, word) for word in WAYS] == [set()] * len(WAYS)
    connection = apsw.Connection(str(den.home / "gateway.db"))
    connection.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab('main', 'chunk_fts', 'row')")
    terms = {term.partition("·")[2] for (term,) in connection.execute("SELECT term FROM temp.terms")}
    connection.close()
    assert {"compass", "orchard"} <= terms
    assert not {term for term, word in itertools.product(terms, WAYS) if term.startswith(word[:6])}


@journey
async def test_what_was_excluded_stays_so_whatever_comes_after(tmp_path):
    den = Den(tmp_path)
    threads = {"thr_item": exclude_item, "thr_chunk": exclude_chunk}

    async def is_hidden(client):
        await drain(client)
        return await found(client, "zirconium cellar") == set()

    async with den.client() as client:
        for thread, exclude in threads.items():
            await say(client, thread, "zirconium")
            await drain(client)
            assert WORD.format("zirconium") in await found(client, "zirconium", thread_id=thread)
            await exclude(client, thread, "zirconium")
        assert await is_hidden(client)
        for thread in threads:
            await say(client, thread, "zirconium")  # the same again
            assert await is_hidden(client)
            await say(client, thread, "zirconium", texts=["By the way: " + WORD.format("zirconium"), BESIDE, OTHER])
            assert await is_hidden(client)
            await leave_out(client, thread, "zirconium")
            await say(client, thread, "zirconium")
            assert await is_hidden(client)
            for memory_mode in ("ignored", "normal"):
                await client.request("thread/update", {"thread_id": thread, "memory_mode": memory_mode})
            assert await is_hidden(client)
            await client.request("thread_episodic/reindex", {"thread_id": thread})
            assert await is_hidden(client)
        await client.request("settings/update", {"update": {"thread_episodic": {"chunk_max_chars": None}}})
        await client.request("thread_episodic/reindex", {"workspace_id": "ws_here"})
        assert await is_hidden(client)
    async with den.client() as client:
        assert await is_hidden(client)
        for thread in threads:
            await client.request("thread_episodic/unexclude", {"item_id": f"itm_{thread}_0"})
        assert await found(client, "zirconium") == {WORD.format("zirconium"), BESIDE}


@journey
async def test_an_edit_while_others_are_indexed_is_never_found_by_its_old_words(tmp_path):
    async with Den(tmp_path).client() as client:
        for n in range(20):
            await say(client, f"thr_{n}", f"walnut{n}x")
        edits = [
            asyncio.create_task(say(client, f"thr_{n}", "", texts=["Nothing of it is left.", BESIDE, OTHER]))
            for n in range(20)
        ]
        for n, edit_made in enumerate(edits):
            await edit_made
            assert await found(client, f"walnut{n}x") == set()
        await drain(client)
        assert [await found(client, f"walnut{n}x") for n in range(20)] == [set()] * 20
