"""A person at the inspect page without a browser: links are followed, forms are sent with what they hold."""

import re
import subprocess
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from http_stage import HttpDen, Said

from gateway.wire.client import console_script

VOID = {"meta", "link", "input", "img", "br", "hr"}


class Form:
    """A form of a page: where it goes, how, and its fields as they stand."""

    def __init__(self, action: str, method: str) -> None:
        self.action, self.method = action, method
        self.fields: dict[str, str] = {}
        self.label = ""


class Page(HTMLParser):
    """A page as a person reads it: its text, its links, its forms."""

    def __init__(self, said: Said, path: str) -> None:
        super().__init__(convert_charrefs=True)
        self.status, self.headers, self.path = said.status, said.headers, path
        self.html = said.body.decode()
        self.links: list[tuple[str, str]] = []
        self.forms: list[Form] = []
        self.tags: list[str] = []
        self.open: list[str] = []
        self._parts: list[str] = []
        self._form: Form | None = None
        self._link: list[str] | None = None
        self._select: str | None = None
        self._area: str | None = None
        self.feed(self.html)
        self.close()
        self.text = " ".join("".join(self._parts).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        if tag in {"li", "p", "div", "h1", "h2", "h3", "dt", "dd", "td", "th", "button", "a", "option", "span"}:
            self._parts.append(" ")
        match tag:
            case "a":
                self._link = []
                self.links.append((found.get("href", ""), ""))
            case "form":
                self._form = Form(found.get("action", ""), found.get("method", "get"))
                self.forms.append(self._form)
            case _ if self._form is not None:
                self._take_field(self._form, tag, found)
            case _:
                pass

    def _take_field(self, form: Form, tag: str, found: Mapping[str, str]) -> None:
        """Take a field of a form, as it stands."""
        match tag:
            case "input" if found.get("type") != "checkbox":
                form.fields[found.get("name", "")] = found.get("value", "")
            case "input" if "checked" in found:
                form.fields[found["name"]] = found.get("value") or "on"
            case "textarea":
                self._area = found["name"]
                form.fields[self._area] = ""
            case "select":
                self._select = found["name"]
            case "option" if self._select is not None and ("selected" in found or self._select not in form.fields):
                form.fields[self._select] = found.get("value", "")
            case _:
                pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, (tag, self.path)
        if tag == "a" and self._link is not None:
            self.links[-1] = (self.links[-1][0], " ".join("".join(self._link).split()))
            self._link = None
        elif tag == "form":
            self._form = None
        elif tag == "select":
            self._select = None
        elif tag == "textarea":
            self._area = None

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in {"script", "style", "title"}:
            return
        if self._area is not None and self._form is not None:
            self._form.fields[self._area] += data
        self._parts.append(data)
        if self._link is not None:
            self._link.append(data)
        if self._form is not None and "button" in self.open:
            self._form.label = " ".join((self._form.label + data).split())

    def link(self, label: str) -> str:
        """Return the address of the first link with a label."""
        found = [href for href, text in self.links if label in text]
        assert found, (label, self.text)
        return found[0]

    def form(self, ending: str, **holding: str) -> Form:
        """The first form whose action ends so, and that holds these values."""
        fitting = [
            form
            for form in self.forms
            if urlsplit(form.action).path.endswith(ending)
            and all(form.fields.get(name) == value for name, value in holding.items())
        ]
        assert fitting, (ending, [form.action for form in self.forms], self.text)
        return fitting[0]


class PageDen(HttpDen):
    """A den whose inspect page a person has open."""

    base = ""

    def code(self) -> str:
        """A fresh code, as `pioneer inspect` asks for one."""
        return self.ask("POST", "/inspect").json["code"]

    def enter(self) -> "Page":
        """Open the page with a new session; what it shows first."""
        said = self.ask("GET", f"/inspect?code={self.code()}", token=None)
        assert said.status == 303, said
        self.base = said.headers["location"].removesuffix("today")
        return self.see("today")

    def see(self, path: str, status: int = 200) -> Page:
        """A page of the session, by its path below the session's or by a link."""
        where = urljoin(self.base, path).partition("#")[0]
        page = Page(self.ask("GET", where, token=None), where)
        assert page.status == status, (where, page.status, page.text)
        return page

    def post(self, where: str, fields: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Said:
        """Return the answer to a form's fields."""
        sent = {"Content-Type": "application/x-www-form-urlencoded", **(headers or {})}
        return self.ask("POST", urljoin(self.base, where), urlencode(fields).encode(), token=None, headers=sent)

    def send(self, form: Form, status: int = 303, **fields: Any) -> Page:
        """Send a form and return the page that it leads to."""
        said = self.post(form.action, {**form.fields, **fields})
        assert said.status == status, (form.action, said.status, Page(said, form.action).text)
        return self.see(said.headers["location"]) if status == 303 else Page(said, form.action)


def inspect_command(den: HttpDen, *more: str) -> list[str]:
    """`pioneer inspect` on a den's home, without a browser."""
    where = ("--home", str(den.home), "--config", str(den.config))
    return [*console_script(), "inspect", "--no-open", *where, *more]


def url_of(process: "subprocess.Popen[str]") -> str:
    """The address that `pioneer inspect` prints."""
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.fullmatch(r"pioneer inspect: (http://127\.0\.0\.1:\d+/inspect\?code=[\w-]{43})\n", line)
    assert found, (line, process.stderr and process.stderr.read())
    return found[1]
