"""The inspect page from outside, without a browser. The number in a test's name is that of the statement in
docs/inspect.md."""

import re
import signal
import subprocess
import threading
from urllib.parse import quote, urlencode

import pytest
from http_stage import SECONDS
from page_stage import Page, PageDen, inspect_command, url_of
from spawned import drain, fact, hello, journey, take_turn

from gateway.wire.client import GatewayClient

pytestmark = pytest.mark.followed

ANSWER = {"role": "main", "respond": {"text": "Noted."}}
SAUNA = "The sauna is heated with birch."
ALDER = "The sauna is heated with alder."
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{9001*9001}} {% raw %} ${9001*9001}",
    "exe.\u202egnp\u202c and \u200bnothing",
    "</textarea></title></form><b>bold",
    "'; DROP TABLE record; -- &amp; &lt;",
)


def remember(den: PageDen, content: str, **more) -> str:
    return den.rpc("memory/remember", {"content": content, **more})["record"]["memory_id"]


def content_of(den: PageDen, memory_id: str) -> tuple[str, str]:
    """What a memory says, and its status."""
    record = den.rpc("memory/get", {"memory_id": memory_id, "include_deleted": True})["record"]
    return record["content"], record["status"]


def candidate(den: PageDen, content: str, **semantic) -> str:
    """A proposal that waits."""
    claims = {
        "category": "preference",
        "attribute": content[:20],
        "explicitness": "explicit",
        "durability": "long_lived",
        "sensitivity": "none",
        "certainty": "high",
        **semantic,
    }
    asked = {"semantic": claims, "content": content, "disposition": "create_pending_candidate"}
    asked |= {"evidence": [{"quote": content, "source_kind": "user_statement"}]}
    found = den.rpc("memory/write", asked)
    assert found["candidate"] is not None, found["decision"]
    return found["candidate"]["candidate_id"]


# -- 29: codes and sessions --------------------------------------------------------------------------------------------


@pytest.mark.loop("test")
def test_inspect_statement_29_a_code_opens_one_session(tmp_path):
    with PageDen(tmp_path).door() as den:
        code = den.code()
        first = den.ask("GET", f"/inspect?code={code}", token=None)
        assert (first.status, "set-cookie" in first.headers) == (303, False)
        assert re.fullmatch(r"/i/[\w-]{43}/today", first.headers["location"])
        for path in (f"/inspect?code={code}", "/inspect", "/inspect?code=", f"/inspect?code={'x' * 43}"):
            refused = den.ask("GET", path, token=None)
            assert refused.status == 403, path
            assert "pioneer inspect" in Page(refused, path).text, path
        for path in ("/i/", "/i/nobody/today", f"/i/{'x' * 43}/memories", f"/i/{'x' * 43}/events"):
            assert den.ask("GET", path, token=None).status == 403, path
        assert den.ask("POST", "/inspect", token=None).status == 401
        assert den.ask("POST", "/inspect", {"x": 1}).status == 400


def test_inspect_statement_29_every_answer_shuts_out_other_pages(tmp_path):
    with PageDen(tmp_path).door() as den:
        den.enter()
        paths = [den.base + "today", den.base + "nothing", "/inspect?code=x", "/inspect/page.css", "/inspect/page.js"]
        for path in paths:
            headers = den.ask("GET", path, token=None).headers
            policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
            own = dict.fromkeys(("script-src", "style-src", "img-src", "connect-src", "form-action"), "'self'")
            none = dict.fromkeys(("default-src", "base-uri", "frame-ancestors"), "'none'")
            assert policy == {**own, **none, "require-trusted-types-for": "'script'"}, path
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cache-control"] == "no-store"
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
            assert "set-cookie" not in headers
        page = den.see("today")
        assert not re.search(r"\son\w+=|\sstyle=|javascript:|https?://", page.html)
        assert len((den.ask("GET", "/inspect/page.css", token=None)).body) <= 16 * 1024
        assert len((den.ask("GET", "/inspect/page.js", token=None)).body) <= 8 * 1024


@pytest.mark.loop("test")
def test_inspect_statement_29_a_session_ends(tmp_path):
    with PageDen(tmp_path).door() as den:
        page = den.enter()
        ended = den.send(page.form("/end"), 200)
        assert "Session ended" in ended.text
        den.see("today", 403)
        den.enter()
    with den.door():
        den.see("today", 403)  # it ended with the process


def test_a_door_without_the_session_or_the_forms_token_changes_nothing(tmp_path):
    with PageDen(tmp_path).door() as den:
        memory_id = remember(den, SAUNA)
        form = den.enter().form("/forget")
        for fields in ({}, {"token": "x"}, {**form.fields, "token": ""}):
            assert den.post(form.action, fields).status == 403
        other = den.see(f"memories/{memory_id}").form("/end").fields["token"]
        assert den.post(form.action, {"token": other}).status == 403  # the token of another form
        for headers in (
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Host": "evil.example"},
        ):
            assert den.post(form.action, form.fields, headers).status in {403, 421}, headers
        assert den.post(form.action, form.fields, {"Content-Type": "application/json"}).status == 415
        assert den.post(form.action, {"x": "y" * 300_000}).status == 413
        assert den.ask("DELETE", den.base + "today", token=None).status == 405
        assert den.ask("GET", f"{form.action}?{urlencode(form.fields)}", token=None).status == 404
        assert content_of(den, memory_id) == (SAUNA, "active")
        own = {
            "Origin": "null",
            "Sec-Fetch-Site": "same-origin",
        }  # as a browser sends a form of a page without referrer
        assert den.post(form.action, form.fields, own).status == 303
        assert content_of(den, memory_id)[1] == "deleted"


def test_the_command_asks_an_open_door_or_opens_one(tmp_path):
    den = PageDen(tmp_path)
    with den.door():
        remember(den, SAUNA)
        told = subprocess.run(inspect_command(den), capture_output=True, text=True, timeout=SECONDS, check=True)
        assert f"http://127.0.0.1:{den.port}/inspect?code=" in told.stdout
    with subprocess.Popen(inspect_command(den), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        url = url_of(process)
        den.port = int(re.findall(r":(\d+)/", url)[0])
        said = den.ask("GET", url.partition(str(den.port))[2], token=None)
        den.base = said.headers["location"].removesuffix("today")
        assert SAUNA in den.see("today").text
        again = subprocess.run(inspect_command(den), capture_output=True, text=True, timeout=SECONDS, check=True)
        assert f":{den.port}/inspect?code=" in again.stdout  # the same door
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0


# -- 30: whatever is stored is text ------------------------------------------------------------------------------------


@pytest.mark.loop("test")
def test_inspect_statement_30_stored_text_is_text_on_every_page(tmp_path):
    with PageDen(tmp_path).door() as den:
        ids = []
        for number, text in enumerate(HOSTILE):
            ids.append(
                remember(den, f"Note {number}: {text}", tags=[text[:60]], value={"v": text}, key=f"k{number} {text}")
            )
            candidate(den, f"Proposal {number}: {text}")
        den.rpc("workspace/create", {"workspace_id": "ws_odd", "name": HOSTILE[0]})
        agent = {"agent_id": "odd", "content": f"Noted: {HOSTILE[1]}", "context": {"workspace_id": "ws_odd"}}
        den.rpc("memory/note", agent)
        den.rpc(
            "thread/start", {"thread_id": "thr_odd", "name": HOSTILE[1], "workspace_id": "ws_odd", "agent_id": "odd"}
        )
        turns = [{"at": 1_700_000_000_000, "items": [{"role": "user", "text": text} for text in HOSTILE]}]
        source = {"kind": "notes", "id": "1"}
        den.rpc("thread/import", {"workspace_id": "ws_odd", "thread_id": "thr_odd", "source": source, "turns": turns})
        (turn_id,) = {one["turn_id"] for one in den.rpc("thread/history", {"thread_id": "thr_odd"})["items"]}
        den.enter()
        question = quote(HOSTILE[0])
        pages = [
            "today",
            "memories",
            f"memories?q={question}",
            f"memories?category={question}",
            "candidates",
            "threads",
        ]
        pages += [f"why?q={quote(text)}" for text in HOSTILE]
        pages += ["threads/thr_odd", f"threads/thr_odd?turn={turn_id}", f"turns/{turn_id}", "threads/thr_odd/delete"]
        pages += [f"memories/{one}{more}" for one in ids for more in ("", "/edit", "/erase")]
        pages += [f"today?day={question}", f"memories/{question}", f"today?scope={question}"]
        for path in pages:
            where = den.base + path
            page = Page(den.ask("GET", where, token=None), where)
            assert page.status in {200, 400, 404}, path
            assert page.tags.count("script") == 1, path  # the page's own
            assert page.tags.count("img") == 1, path
            assert "b" not in page.tags, path
            assert "81018001" not in page.html, path  # the product: nothing was evaluated
        for number, text in enumerate(HOSTILE):
            shown = den.see(f"memories/{ids[number]}")
            assert " ".join(f"Note {number}: {text}".split()) in shown.text
            assert " ".join(text.split()) in den.see("threads/thr_odd").text
        turning = den.see(f"memories/{ids[3]}").html
        assert "hidden mark U+202E" in turning
        before, _, after = turning.partition("\u202e")
        assert before.rindex("<bdi") > before.rindex("</bdi>")  # it turns what it stands in, and nothing around that
        assert after.index("</bdi>") < after.index("<bdi")


# -- 32: a day, and its undoing ----------------------------------------------------------------------------------------


@pytest.mark.loop("test")
@journey
async def test_inspect_statement_32_today_names_client_and_turn_and_undo_brings_back(tmp_path):
    den = PageDen(tmp_path, scripted=True)
    async with await den.spawn() as client:
        desk = {"name": "Harbour desk", "version": "3"}
        await client.request("initialize", {"protocol_version": "2026-11", "client": desk})
        await _talk(den, client)
    with den.door():
        page = den.enter()
        assert "Harbour desk" in page.text
        assert "an app" not in page.text
        assert f"{ALDER} instead of {SAUNA}" in page.text
        turn = den.see(page.link("Where it was said"))
        assert "heated with alder" in turn.text
        why = den.see(page.link("Why?"))
        assert "Why it was remembered You corrected what was believed before." in why.text
        assert "heated with alder" in why.text
        assert "thr_talk" in why.link("where it was said")
        records = den.rpc("memory/list", {})["records"]
        new = next(one for one in records if one["content"] == ALDER)
        after = den.send(page.form(f"{new['memory_id']}/forget"))
        assert "What it had replaced is believed again" in after.text
        assert content_of(den, new["memory_id"])[1] == "deleted"
        assert content_of(den, new["supersedes"]) == (SAUNA, "active")
        assert ALDER not in den.see("today").text


async def _talk(den: PageDen, client: GatewayClient) -> None:
    """Two turns of a conversation, the second of which corrects the first."""
    await client.request("thread/start", {"thread_id": "thr_talk", "name": "About the sauna"})
    said = ((SAUNA, "My sauna is heated with birch."), (ALDER, "Correction: my sauna is heated with alder now."))
    for number, (content, text) in enumerate(said, 1):
        quote = text.rpartition(": ")[2].rstrip(".")
        facts = [fact(content, quote, "sauna wood", cardinality="single", intent="explicit_store")]
        den.write_script([ANSWER, {"role": "extractor", "respond": {"json": {"facts": facts}}}])
        await take_turn(client, "thr_talk", text, f"trn_{number}")
        await drain(client)


@journey
async def test_inspect_statement_32_a_conversations_day_is_undone_at_once(tmp_path):
    den = PageDen(tmp_path, scripted=True)
    facts = [
        fact("The user has a kiln.", "I have a kiln", "kiln"),
        fact("The user glazes with ash.", "I glaze with ash", "glaze"),
    ]
    den.write_script([ANSWER, {"role": "extractor", "respond": {"json": {"facts": facts}}}])
    async with await den.spawn() as client:
        await hello(client)
        await client.request("thread/start", {"thread_id": "thr_pots"})
        await take_turn(client, "thr_pots", "I have a kiln. I glaze with ash.", "trn_1")
        await drain(client)
    with den.door():
        mine = remember(den, "The gate is green.")
        page = den.enter()
        asked = den.see(page.link("Undo all from this conversation"))
        assert "The user has a kiln." in asked.text
        assert "The gate is green." not in asked.text
        done = den.send(asked.form("/undo-all"))
        assert "2 taken back." in done.text
        contents = [one["content"] for one in den.rpc("memory/list", {})["records"]]
        assert contents == ["The gate is green."]
        assert content_of(den, mine)[1] == "active"
        assert "The user has a kiln." not in done.text
        assert "Bring it back" in done.text


def test_inspect_statement_32_of_two_tabs_the_second_sees_both_versions(tmp_path):
    with PageDen(tmp_path).door() as den:
        memory_id = remember(den, SAUNA)
        den.enter()
        first, second = den.see(f"memories/{memory_id}/edit"), den.see(f"memories/{memory_id}/edit")
        forget = den.see(f"memories/{memory_id}").form("/forget")
        saved = den.send(first.form("/edit"), content=ALDER)
        assert (ALDER in saved.text, "Saved." in saved.text) == (True, True)
        assert den.rpc("memory/get", {"memory_id": memory_id, "is_read": False})["record"]["access_count"] == 0
        stale = den.send(second.form("/edit"), 409, content="The sauna is heated with pine.")
        assert "changed" in stale.text
        assert ALDER in stale.text
        assert "The sauna is heated with pine." in stale.text
        (current,) = den.rpc("memory/list", {})["records"]
        assert current["content"] == ALDER
        refused = den.send(forget, 409)
        assert (SAUNA in refused.text, ALDER in refused.text) == (True, True)
        assert content_of(den, current["memory_id"])[1] == "active"
        kept = den.send(stale.form("/edit"))  # the person's own version after all
        assert "The sauna is heated with pine." in kept.text
        assert [one["content"] for one in den.rpc("memory/list", {})["records"]] == ["The sauna is heated with pine."]
        again = den.send(refused.form("/forget"), 409)  # made from a version that is not the newest any more
        assert "The sauna is heated with pine." in again.text


def test_an_edit_in_place_is_stale_by_importance_too(tmp_path):
    with PageDen(tmp_path).door() as den:
        memory_id = remember(den, SAUNA)
        den.enter()
        form = den.see(f"memories/{memory_id}/edit").form("/edit")
        den.rpc("memory/update", {"memory_id": memory_id, "importance": 0.9})
        den.send(form, 409, tags="wood")
        fresh = den.see(f"memories/{memory_id}/edit").form("/edit")
        den.send(fresh, tags="wood, warm", pinned="on", importance="0.4", category="preference")
        record = den.rpc("memory/get", {"memory_id": memory_id})["record"]
        assert (record["tags"], record["pinned"], record["importance"]) == (["wood", "warm"], True, 0.4)
        assert (record["category"], record["content"]) == ("preference", SAUNA)
        error = den.send(den.see(f"memories/{memory_id}/edit").form("/edit"), 400, importance="much")
        assert "number" in error.text


# -- 33: what is gone is gone ------------------------------------------------------------------------------------------


def test_inspect_statement_33_forgotten_words_are_on_no_page_and_an_erase_shows_its_receipt(tmp_path):
    with PageDen(tmp_path).door() as den:
        memory_id = remember(den, "The quokka sleeps in the boathouse.", tags=["quokka"], key="quokka place")
        other = remember(den, "The boathouse is red.")
        page = den.enter()
        done = den.send(page.form(f"{memory_id}/forget"))
        paths = ["today", "memories", "memories?q=quokka+boathouse", "memories?status=deleted", f"memories/{memory_id}"]
        paths += [f"memories/{other}", "why?q=quokka", "candidates", f"memories/{memory_id}/erase"]
        for path in paths:
            assert "sleeps in" not in den.see(path).html, path
        assert "quokka" not in den.see(f"memories/{memory_id}").html
        listed = den.see("memories?status=deleted")
        assert "A memory (custom)" in listed.text
        back = den.send(done.form("/restore"))
        assert "The quokka sleeps in the boathouse." in back.text
        den.send(den.see(f"memories/{memory_id}").form("/forget"))
        restored = den.send(den.see("memories?status=deleted").form("/restore"))
        assert "The quokka sleeps in the boathouse." in restored.text
        assert [name for name, data in den.files().items() if b"sleeps in the boathouse" in data]
        asked = den.see(restored.link("Erase"))
        assert "cannot be undone" in asked.text
        receipt = den.send(asked.form("/erase"), 200)
        assert "Removed records: 1" in receipt.text
        assert "Complete Yes" in receipt.text
        assert memory_id in receipt.text
        den.see(f"memories/{memory_id}", 404)
        assert "Erased" in den.see("today").text
        assert "quokka" not in den.see("today").html
    assert not [name for name, data in den.files().items() if b"sleeps in the boathouse" in data]


def test_inspect_statement_33_a_sensitive_memory_shows_its_kind(tmp_path):
    with PageDen(tmp_path).door() as den:
        memory_id = remember(den, "The user has coeliac disease.", category="biography", sensitivity="regulated")
        page = den.enter()
        for path in ("today", "memories", "memories?q=coeliac", f"memories/{memory_id}", "why?q=coeliac+disease"):
            found = den.see(path)
            assert "has coeliac" not in found.html, path  # the question stands on its page, the memory's words do not
            assert "disease." not in found.html, path
        assert "biography" in page.text
        shown = den.see(f"memories/{memory_id}")
        assert "A sensitive memory" in shown.text
        den.see(f"memories/{memory_id}/edit", 409)
        den.send(shown.form("/forget"))
        assert content_of(den, memory_id)[1] == "deleted"


def test_inspect_statement_33_a_page_is_no_longer_for_long_texts(tmp_path):
    with PageDen(tmp_path).door() as den:
        words = "".join(f"word{number} " for number in range(150_000))[: 1024 * 1024]
        turns = [
            {
                "at": 1_700_000_000_000,
                "items": [{"role": "user", "text": words}, {"role": "assistant", "text": "&" * 9000}],
            }
        ]
        source = {"kind": "notes", "id": "1"}
        den.rpc(
            "thread/import", {"workspace_id": "ws_default", "thread_id": "thr_long", "source": source, "turns": turns}
        )
        memory_id = remember(den, "<" * 5000 + " and so on " + "long " * 1000)
        for number in range(60):
            remember(den, f"Number {number}: {chr(34) * 400}")
        den.enter()
        (item, _) = den.rpc("thread/history", {"thread_id": "thr_long"})["items"]
        paths = ["today", "memories", f"memories/{memory_id}", "memories?q=number", "threads/thr_long", "candidates"]
        paths += [
            f"threads/thr_long?turn={item['turn_id']}",
            f"items/{item['turn_id']}/{item['item_id']}",
            "why?q=number",
        ]
        for path in paths:
            assert len(den.see(path).html.encode()) <= 64 * 1024, path
        first = den.see(f"items/{item['turn_id']}/{item['item_id']}")
        second = den.see(first.link("Read on"))
        assert (words[:5990] in first.text, words[6010:11_900] in second.text) == (True, True)
        days = den.see("today")
        seen = set(re.findall(r"Number (\d+):", days.text))
        while any("Earlier that day" in text for _, text in days.links):
            days = den.see(days.link("Earlier that day"))
            seen |= set(re.findall(r"Number (\d+):", days.text))
        assert seen == {str(number) for number in range(60)}
        listed = den.see("memories")
        found = set(re.findall(r"Number (\d+):", listed.text))
        while any(text == "More" for _, text in listed.links):
            listed = den.see(listed.link("More"))
            found |= set(re.findall(r"Number (\d+):", listed.text))
        assert found == seen


# -- the rest of the views ---------------------------------------------------------------------------------------------


def test_a_person_remembers_on_the_page(tmp_path):
    with PageDen(tmp_path).door() as den:
        page = den.enter()
        assert "Nothing was learned" in page.text
        assert "Nothing is remembered yet" in den.see("memories").text
        form = den.see("memories").form("/memories", category="custom")
        made = den.send(form, content="The user rows on Sundays.", scope="workspace:ws_default")
        assert "Remembered." in made.text
        (record,) = den.rpc("memory/list", {"context": {"workspace_id": "ws_default"}})["records"]
        assert record["scope"] == {"kind": "workspace", "key": "ws_default"}
        again = den.send(form, content="The user rows on Sundays.", scope="workspace:ws_default")  # the form sent twice
        assert record["memory_id"] in again.path
        assert "You, on this page" in den.see("today").text
        refused = den.send(form, 403, once="other", content="My key is AKIA" + "IOSFODNN7EXAMPLQ")
        assert "not kept" in refused.text
        undone = den.send(den.see("today").form("/forget"))
        assert "Forgotten." in undone.text
        assert den.rpc("memory/list", {"context": {"workspace_id": "ws_default"}})["records"] == []


def test_a_person_decides_candidates(tmp_path):
    with PageDen(tmp_path).door() as den:
        for word in ("apples", "pears", "plums", "quinces"):
            candidate(den, f"The user likes {word}.")
        den.enter()

        def form(word: str, ending: str):
            listed = den.rpc("memory/candidates/list", {})["candidates"]
            (found,) = [one for one in listed if word in one["content"]]
            return den.see("candidates").form(f"{found['candidate_id']}/{ending}")

        assert "4 proposed" in den.see("today").text
        approved = den.send(form("apples", "approve"))
        assert "The user likes apples." in approved.text
        edited = den.send(form("pears", "edit"), content="The user likes ripe pears.")
        assert "The user likes ripe pears." in edited.text
        assert "Rejected. It will not be proposed" in den.send(form("plums", "reject")).text
        assert "Never again: this" in den.send(form("quinces", "never")).text
        assert "Nothing waits for you." in den.see("candidates").text
        assert "The user likes plums." in den.see("candidates?status=rejected").text
        contents = {one["content"] for one in den.rpc("memory/list", {})["records"]}
        assert contents == {"The user likes apples.", "The user likes ripe pears."}
        assert den.ask("GET", den.base + "candidates?status=odd", token=None).status == 400


def test_a_person_reads_and_keeps_conversations(tmp_path):
    with PageDen(tmp_path).door() as den:
        turns = [
            {"at": 1_700_000_000_000 + n, "items": [{"role": "user", "text": f"The {n}th boat is called Otter {n}."}]}
            for n in range(25)
        ]
        source = {"kind": "notes", "id": "1"}
        den.rpc(
            "thread/import", {"workspace_id": "ws_default", "thread_id": "thr_boats", "source": source, "turns": turns}
        )
        den.rpc("gateway/drain", {})
        den.enter()
        page = den.see(den.see("threads").link("Conversation of"))
        assert "25 indexed" in page.text
        assert "Otter 24." in page.text
        older = den.see(page.link("Earlier messages"))
        assert ("Otter 0." in older.text, "Otter 24." in older.text) == (True, False)
        one = den.see(page.link("only this turn"))
        assert len(re.findall(r"Otter \d+\.", one.text)) == 1
        assert "What ran" in den.see(f"turns/{one.path.partition('turn=')[2]}").text
        done = den.send(page.form("/exclude"))
        assert "Excluded from recall: 1 passage." in done.text
        assert "1 excluded" in done.text
        (item_id,) = {form.fields["item"] for form in done.forms if form.action.endswith("/include")} - {""}
        assert item_id == page.form("/exclude").fields["item"]
        assert item_id not in {form.fields["item"] for form in done.forms if form.action.endswith("/exclude")}
        assert done.text.count("excluded from recall") == 1
        allowed = den.send(done.form("/include"))
        assert "May be recalled again: 1 passage." in allowed.text
        assert "excluded from recall" not in allowed.text
        renamed = den.send(page.form("/rename"), name="Boats & <otters>")
        assert "Boats & <otters>" in renamed.text
        den.send(renamed.form("/archive"))
        assert "Boats" not in den.see("threads").text
        assert "Boats" in den.see("threads?archived=1").text
        asked = den.see(renamed.link("Delete"))
        assert "cannot be undone" in asked.text
        gone = den.send(asked.form("/delete"))
        assert "deleted" in gone.text
        den.see("threads/thr_boats", 404)


def test_a_person_reaches_the_memories_of_one_conversation_and_of_its_task(tmp_path):
    with PageDen(tmp_path).door() as den:
        den.rpc("thread/start", {"thread_id": "thr_trip", "name": "The trip", "task_id": "tsk_trip"})
        for kind, key, content in (
            ("thread", "thr_trip", "This trip begins at noon."),
            ("task", "tsk_trip", "The tickets are for two."),
        ):
            scope, context = {"kind": kind, "key": key}, {f"{kind}_id": key, "workspace_id": "ws_default"}
            remember(den, content, scope=scope, context=context)
        assert "noon" not in den.enter().text
        page = den.see(den.see("threads").link("The trip"))
        of_thread = den.see(page.link("Memories of this conversation alone"))
        assert ("begins at noon" in of_thread.text, "for two" in of_thread.text) == (True, False)
        assert "noon" in den.see(of_thread.link("begins at noon")).text
        of_task = den.see(page.link("Memories of its task"))
        assert ("begins at noon" in of_task.text, "for two" in of_task.text) == (False, True)
        assert "for two" in den.see(of_task.link("for two")).text


@journey
async def test_a_turn_that_nothing_is_learned_from_says_so(tmp_path):
    den = PageDen(tmp_path, scripted=True)
    async with await den.spawn() as client:
        await hello(client, "ws_default")
        for name, mode in (("thr_open", "normal"), ("thr_shut", "read_only")):
            await client.request("thread/start", {"thread_id": name, "memory_mode": mode})
            await take_turn(client, name, "The larch is tall.", f"trn_{mode}")
    with den.door():
        den.enter()
        assert "nothing is learned from it" in den.see("threads/thr_shut").text
        assert "nothing is learned from it" not in den.see("threads/thr_open").text


@journey
async def test_a_turn_shows_what_the_model_was_given_and_a_memory_who_was_shown_it(tmp_path):
    den = PageDen(tmp_path, scripted=True)
    async with await den.spawn() as client:
        await hello(client, "ws_default")
        found = await client.request("memory/remember", {"content": "The user's favourite tea is kukicha."})
        memory_id = found["record"]["memory_id"]
        await client.request("thread/start", {"thread_id": "thr_tea"})
        await take_turn(client, "thr_tea", "What is my favourite tea?", "trn_tea")
        await client.request("thread/start", {"thread_id": "thr_host"})
        asked = {
            "thread_id": "thr_host",
            "turn_id": "trn_host",
            "input": [{"type": "text", "text": "Which teas are there?"}],
        }
        await client.request("turn/prepare", asked)
        events = [{"name": "look_up_tea", "summary": "3 <b>kinds</b>"}]
        await client.request("turn/finish", {"turn_id": "trn_host", "status": "succeeded", "tool_events": events})
    with den.door():
        den.enter()
        assert "look_up_tea: 3 <b>kinds</b>" in den.see("turns/trn_host").text
        turn = den.see("turns/trn_tea")
        assert "Recall recalled" in turn.text
        assert "memory.deterministic_recall" in turn.text
        shown = den.see(turn.link("favourite tea is kukicha"))
        assert memory_id in shown.path
        assert "The user's favourite tea is kukicha." in shown.text
        assert "turns/trn_tea" in " ".join(href for href, _ in shown.links)
        talk = den.see("threads/thr_tea")
        assert "Shown to the model: 1 memory" in talk.text
        assert memory_id in talk.link("favourite tea is kukicha")
        den.send(shown.form("/forget"))
        for path in ("threads/thr_tea", "turns/trn_tea"):
            assert f"Memory {memory_id}" in den.see(path).text
            assert "kukicha" not in den.see(path).text
        den.rpc("memory/restore", {"memory_id": memory_id})
        why = den.see("why?q=favourite+tea")
        assert "Recalled" in why.text
        assert "The user's favourite tea is kukicha." in why.text
        missed = den.see("why?q=submarines+of+the+baltic")
        assert "Nothing would be recalled" in missed.text
        assert "Stopped here: It matches the question" in missed.text
        assert "kukicha" not in missed.text


def test_health_shows_what_waits_and_a_pass_is_rehearsed_first(tmp_path):
    with PageDen(tmp_path).door() as den:
        remember(den, SAUNA)
        page = den.enter()
        page = den.see("health")
        assert "Everything works." in page.text
        tried = den.send(page.form("/pass", **{"pass": "dream"}), 200)
        assert "Rehearsal of dream" in tried.text
        before = den.rpc("passes/runs", {})["runs"]
        assert all(one["dry_run"] for one in before)
        ran = den.send(tried.form("/pass", real="1"))
        assert "Dream ran" in ran.text
        assert [one["dry_run"] for one in den.rpc("passes/runs", {})["runs"]].count(False) == 1
        retried = den.post(den.base + "health/retry", {"token": page.form("/end").fields["token"]})
        assert retried.status == 403
        assert "Keys are off." in den.send(den.see("help").form("/keys")).text
        assert 'data-keys="off"' in den.see("today").html


def test_an_open_page_hears_of_changes(tmp_path):
    with PageDen(tmp_path).door() as den:
        den.enter()
        with den.raw() as raw:
            raw.send(f"GET {den.base}events HTTP/1.1\r\nHost: 127.0.0.1:{den.port}\r\n\r\n".encode())
            assert b" 200 " in raw.until(b"\r\n\r\n").split(b"\r\n")[0]
            raw.until(b":\n\n")
            writer = threading.Thread(target=remember, args=(den, SAUNA))
            writer.start()
            told = raw.until(b"event: memory/changed\n") + raw.until(b"\n\n")
            assert told.endswith(b"data: {}\n\n")  # a page asks anew, while its session lasts
            writer.join()


def test_an_open_page_hears_nothing_after_its_session(tmp_path):
    with PageDen(tmp_path).door() as den:
        page = den.enter()
        with den.raw() as raw:
            raw.send(f"GET {den.base}events HTTP/1.1\r\nHost: 127.0.0.1:{den.port}\r\n\r\n".encode())
            raw.until(b":\n\n")
            den.send(page.form("/end"), 200)
            remember(den, SAUNA)
            assert b"event:" not in raw.until(b"0\r\n\r\n")  # the stream's last part


def test_the_page_sees_what_other_workspaces_and_agents_learned(tmp_path):
    with PageDen(tmp_path).door() as den:
        for name in ("ws_a", "ws_b"):
            den.rpc("workspace/create", {"workspace_id": name, "name": f"Project {name[-1].upper()}"})
            scope = {"kind": "workspace", "key": name}
            remember(den, f"{name} uses tabs.", scope=scope, context={"workspace_id": name})
        den.rpc("thread/start", {"thread_id": "thr_a", "workspace_id": "ws_a", "agent_id": "bot"})
        note = {"content": "The build is slow on Mondays.", "agent_id": "bot", "scope": {"kind": "agent", "key": "bot"}}
        den.rpc("memory/note", {**note, "context": {"workspace_id": "ws_a", "agent_id": "bot"}})
        page = den.enter()
        for text in ("ws_a uses tabs.", "ws_b uses tabs.", "The build is slow on Mondays.", "Project A", "Agent bot"):
            assert text in page.text
        listed = den.see("memories?scope=workspace:ws_b")
        assert ("ws_b uses tabs." in listed.text, "ws_a uses tabs." in listed.text) == (True, False)
        assert {"ws_a uses", "ws_b uses"} <= {text[:9] for _, text in den.see("memories?q=tabs").links}
        noted = den.see(next(href for href, text in page.links if "slow on Mondays" in text))
        confirmed = den.send(noted.form("/confirm"))
        assert "your own word" in confirmed.text
        bare = next(href for href, text in page.links if "ws_b uses" in text).partition("?")[0]
        assert "ws_b uses tabs." in den.see(bare).text  # found wherever it is
        one = den.see("today?scope=workspace:ws_a").text
        assert ("ws_a uses tabs." in one, "ws_b uses tabs." in one) == (True, False)
