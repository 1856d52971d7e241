"""The inspect page in a real Chromium. The number in a test's name is that of the statement in docs/inspect.md."""

import contextlib
import http.server
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browser import needs_chromium, open_browser
from http_stage import SECONDS
from page_stage import PageDen
from test_inspect import ALDER, SAUNA, candidate, content_of, remember

pytestmark = [needs_chromium, pytest.mark.loop("check")]

WAIT_MS = SECONDS * 1000
VIEWPORTS = {"desk": {"width": 1100, "height": 800}, "phone": {"width": 360, "height": 740}}


@contextlib.contextmanager
def opened(den: PageDen, **how: Any) -> Iterator[Any]:
    """A page that a person has just opened."""
    with open_browser(**how) as browser:
        page = browser.new_page()
        page.set_default_timeout(WAIT_MS)
        page.goto(f"http://127.0.0.1:{den.port}/inspect?code={den.code()}")
        yield page


def fill(den: PageDen) -> dict[str, str]:
    """A home with something for every page."""
    old = remember(den, SAUNA, key="sauna wood")
    new = remember(den, ALDER, key="sauna wood", tags=["wood"])
    candidate(den, "The user likes quinces.")
    items = [{"role": "user", "text": "My sauna is heated with alder."}, {"role": "assistant", "text": "Noted."}]
    den.rpc(
        "thread/import",
        {
            "workspace_id": "ws_default",
            "thread_id": "thr_sauna",
            "source": {"kind": "notes", "id": "1"},
            "name": "Sauna",
            "turns": [{"at": 1_700_000_000_000, "items": items}],
        },
    )
    (turn_id,) = {one["turn_id"] for one in den.rpc("thread/history", {"thread_id": "thr_sauna"})["items"]}
    return {"old": old, "new": new, "turn": turn_id}


def pages_of(names: dict[str, str]) -> list[str]:
    """Every page of a session."""
    own = f"memories/{names['new']}"
    return [
        "today",
        "today?day=2001-01-01",
        "memories",
        "memories?q=sauna",
        "memories?status=deleted",
        own,
        f"{own}/edit",
        f"{own}/erase",
        "candidates",
        "threads",
        "threads/thr_sauna",
        "threads/thr_sauna/delete",
        f"turns/{names['turn']}",
        "why",
        "why?q=sauna",
        "health",
        "help",
        "nothing",
    ]


# -- 29 ----------------------------------------------------------------------------------------------------------------


def test_inspect_statement_29_the_browser_asks_the_door_alone_and_the_policy_holds(tmp_path):
    with PageDen(tmp_path).door() as den:
        names = fill(den)
        with opened(den) as page:
            asked: list[str] = []
            complaints: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            base = page.url.removesuffix("today")
            for path in pages_of(names):
                page.goto(base + path)
                page.wait_for_load_state("load")
            page.get_by_role("link", name="Today", exact=True).click()
            page.get_by_role("button", name="Undo").first.click()
            page.get_by_text("Forgotten.", exact=False).first.wait_for()
            assert {urlsplit(url).netloc for url in asked} == {f"127.0.0.1:{den.port}"}
            assert any(url.endswith("/events") for url in asked)
            own = [text for text in complaints if "404" not in text]  # the page that is not there
            assert own == []


# -- 4 -----------------------------------------------------------------------------------------------------------------

EVIL = """<!doctype html><title>evil</title><form id="f" method="post" action="{door}{action}"></form>
<img src="{door}{base}today"><iframe src="{door}{base}today" name="frame"></iframe><script>
window.got = [];
const note = (what, value) => window.got.push([what, String(value)]);
const tries = [
  fetch("{door}{base}today").then((r) => r.text()).then((t) => note("fetch", t), () => note("fetch", "")),
  fetch("{door}/v1/recall").then((r) => r.text()).then((t) => note("recall", t), () => note("recall", "")),
  fetch("{door}/rpc", {{method: "POST", mode: "no-cors", body: '{{"jsonrpc":"2.0","id":1,"method":"ping"}}'}})
    .then((r) => note("opaque", r.type), () => note("opaque", "")),
  fetch("{door}{action}", {{method: "POST", mode: "no-cors", credentials: "include",
    body: new URLSearchParams({{token: "{token}"}})}}).then((r) => note("form", r.type), () => note("form", "")),
  new Promise((done) => {{
    const stream = new EventSource("{door}{base}events");
    stream.onmessage = (e) => note("events", e.data);
    stream.onerror = () => {{ stream.close(); done(); }};
  }}),
];
Promise.allSettled(tries).then(() => {{ window.isDone = true; }});
</script>"""


@contextlib.contextmanager
def foreign_site(html: str, host: str) -> Iterator[str]:
    """Another program's site on this machine; its address."""

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = html.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # its name in the library
            pass

    with http.server.ThreadingHTTPServer((host, 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://{host}:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2"])
def test_inspect_statement_04_a_page_of_another_origin_changes_and_reads_nothing(tmp_path, host):
    """It even knows the session and the form's token, which nothing tells it."""
    with PageDen(tmp_path).door() as den:
        memory_id = remember(den, SAUNA)
        form = den.enter().form("/forget")
        door = f"http://127.0.0.1:{den.port}"
        html = EVIL.format(door=door, base=den.base, action=form.action, token=form.fields["token"])
        with foreign_site(html, host) as site, open_browser() as browser:
            page = browser.new_page()
            page.goto(site)
            page.wait_for_function("window.isDone")
            got = page.evaluate("window.got")
            assert [value for _, value in got if "sauna" in value.lower()] == []
            assert {name for name, _ in got} >= {"fetch", "recall"}
            framed = page.frames[1].content()
            assert "sauna" not in framed.lower()
            with page.expect_response(lambda answer: answer.url.startswith(door)) as led:
                page.evaluate("document.getElementById('f').submit()")
            assert led.value.status == 403
            page.wait_for_url(f"{door}/**")
            assert "sauna" not in page.content().lower()
        assert content_of(den, memory_id) == (SAUNA, "active")


def test_inspect_statement_04_a_rebound_name_is_not_answered(tmp_path):
    with PageDen(tmp_path).door() as den:
        remember(den, SAUNA)
        den.enter()
        with open_browser("--host-resolver-rules=MAP evil.example 127.0.0.1") as browser:
            page = browser.new_page()
            answer = page.goto(f"http://evil.example:{den.port}{den.base}today")
            assert answer is not None
            assert answer.status == 421
            assert "sauna" not in page.content().lower()


# -- 31 ----------------------------------------------------------------------------------------------------------------


def test_inspect_statement_31_everything_by_keyboard_alone(tmp_path):
    with PageDen(tmp_path).door() as den:
        names = fill(den)
        with opened(den) as page:
            keys = page.keyboard

            def press_until(holds: str, key: str = "Tab", most: int = 80) -> None:
                """Press a key until what has the focus fulfils a condition."""
                for _ in range(most):
                    keys.press(key)
                    if page.evaluate(f"(() => {{ const e = document.activeElement; return !!({holds}); }})()"):
                        return
                raise AssertionError((holds, page.url))

            def go_on(action: str = "Enter") -> None:
                with page.expect_navigation():
                    keys.press(action)

            keys.press("/")
            keys.type("alder j k ? /")  # no key acts while one types
            assert page.evaluate("document.activeElement.id") == "find"
            keys.press("Control+A")
            keys.type("alder")
            go_on()
            press_until("e.closest('[data-item]')", "j")
            go_on()  # from the search to the memory
            assert names["new"] in page.url
            assert page.get_by_role("heading", name="Why it was remembered").is_visible()
            press_until("e.textContent === 'Edit'")
            go_on()
            press_until("e.name === 'content'")
            keys.press("Control+A")
            keys.type("The sauna is heated with ash.")
            press_until("e.textContent === 'Save'")
            go_on()
            page.get_by_text("Saved. The version before is kept.").wait_for()
            press_until("e.textContent.trim() === 'Forget'")
            go_on()
            page.get_by_text("Forgotten. What it had replaced is believed again.").wait_for()
            page.goto(page.url.split("/memories")[0] + "/memories?status=deleted")
            press_until("e.textContent.trim() === 'Bring it back'")
            go_on()
            page.get_by_text("Brought back.").wait_for()
            press_until("e.textContent === 'Candidates'")
            go_on()
            press_until("e.textContent.startsWith('Approve')")
            go_on()
            page.get_by_text("Approved: this is remembered now.").wait_for()
            keys.press("?")
            page.wait_for_url("**/help")
            press_until("e.textContent.trim() === 'Switch keys off'")
            go_on()
            keys.press("/")
            assert page.evaluate("document.activeElement.id") != "find"
        assert "The user likes quinces." in {one["content"] for one in den.rpc("memory/list", {})["records"]}


def test_inspect_statement_31_from_a_turn_to_its_memories_by_keyboard(tmp_path):
    with PageDen(tmp_path).door() as den:
        remember(den, "The user's favourite tea is kukicha.")
        den.rpc("thread/start", {"thread_id": "thr_tea"})
        asked = {"thread_id": "thr_tea", "input": [{"type": "text", "text": "What is my favourite tea?"}]}
        turn_id = den.rpc("turn/prepare", asked)["turn"]["turn_id"]
        den.rpc("turn/finish", {"turn_id": turn_id, "status": "succeeded", "assistant_text": "Kukicha."})
        with opened(den) as page:
            page.goto(page.url.replace("/today", f"/turns/{turn_id}"))
            page.keyboard.press("j")
            with page.expect_navigation():
                page.keyboard.press("Enter")
            assert "/memories/mem_" in page.url
            assert page.get_by_role("heading", name="The user's favourite tea is kukicha.").is_visible()
            assert page.get_by_role("heading", name="Where it was used").is_visible()


CHECKS = {
    "light": {"resultTypes": ["violations"]},
    "dark": {"resultTypes": ["violations"], "runOnly": ["color-contrast", "link-in-text-block"]},
}
"""What axe-core looks for in a scheme of colours: everything in one, and in the other what colours can change."""


def test_inspect_statement_31_everybody_can_use_every_page(tmp_path):
    """Nothing that axe-core calls serious, and nothing that has to be scrolled sideways."""
    import axe_playwright_python  # noqa: PLC0415

    rules = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    with PageDen(tmp_path).door() as den:
        names = fill(den)
        with opened(den, reduced_motion="reduce", bypass_csp=True) as page:
            base = page.url.removesuffix("today")
            closed = f"http://127.0.0.1:{den.port}/inspect?code=used"
            found: dict[tuple[str, str, str], list[str]] = {}
            for path in [*(base + path for path in pages_of(names)), closed]:
                page.goto(path)
                for details in page.locator("details").all():
                    details.evaluate("e => { e.open = true; }")
                page.evaluate(rules)
                for size, scheme in itertools.product(VIEWPORTS, CHECKS):
                    page.set_viewport_size(VIEWPORTS[size])
                    page.emulate_media(color_scheme=scheme)
                    bad = [
                        f"{one['id']}: {node['html'][:160]}"
                        for one in page.evaluate("checks => axe.run(checks)", CHECKS[scheme])["violations"]
                        if one["impact"] in {"serious", "critical"}
                        for node in one["nodes"]
                    ]
                    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                        bad.append("it is wider than the window")
                    if bad:
                        found[path, size, scheme] = bad
            assert found == {}


def test_inspect_statement_31_without_scripts_all_works(tmp_path):
    with PageDen(tmp_path).door() as den:
        names = fill(den)
        with opened(den, java_script_enabled=False) as page:
            assert ALDER in page.inner_text("main")
            page.locator("#find").fill("alder")
            page.get_by_role("button", name="Search").click()
            page.get_by_role("link", name=ALDER).first.click()
            page.get_by_role("link", name="Edit").click()
            page.locator("textarea[name=content]").fill("The sauna is heated with ash.")
            page.get_by_role("button", name="Save").click()
            assert "The sauna is heated with ash." in page.inner_text("h1")
            page.locator(".notice button").click()
            assert "Forgotten." in page.inner_text(".notice")
            assert content_of(den, names["new"])[1] == "active"
            page.get_by_role("link", name="Candidates").click()
            page.get_by_role("button", name="Approve", exact=False).first.click()
            assert "Approved" in page.inner_text(".notice")
            page.get_by_role("link", name="Erase").click()
            page.get_by_role("button", name="Erase for ever").click()
            assert "receipt" in page.inner_text("main")


def test_a_page_says_that_something_changed(tmp_path):
    with PageDen(tmp_path).door() as den, opened(den) as page:
        page.wait_for_function("performance.getEntriesByType('resource').length > 0")
        with page.expect_response(lambda answer: answer.url.endswith("/events")):
            page.reload()
        remember(den, SAUNA)
        page.get_by_text("1 change since this page was made").wait_for()
        page.get_by_role("button", name="Reload").click()
        page.get_by_text(SAUNA).first.wait_for()
