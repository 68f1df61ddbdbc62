"""A person at the portal without a browser: signs in by the form, fills in forms, asks the API with the session."""

from __future__ import annotations

import dataclasses
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

import httpx
from websockets.sync.client import ClientConnection, connect


@dataclasses.dataclass
class Form:
    """A form of a page with what stands in its fields."""

    action: str
    fields: dict[str, str] = dataclasses.field(default_factory=dict)
    kinds: dict[str, str] = dataclasses.field(default_factory=dict)


class Forms(HTMLParser):
    """Collects the forms of a page: inputs, selects with what is chosen, text areas."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._area = self._select = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append(Form(has.get("action", "")))
        elif self.found and tag in ("input", "select", "textarea") and has.get("name"):
            self._field(tag, has)
        elif self.found and tag == "option" and self._select and "selected" in has:
            self.found[-1].fields[self._select] = has.get("value", "")

    def _field(self, tag: str, has: dict[str, str]) -> None:
        form, name = self.found[-1], has["name"]
        kind = has.get("type", "text") if tag == "input" else tag
        if kind in ("submit", "button") or (kind in ("radio", "checkbox") and "checked" not in has):
            return
        form.fields[name], form.kinds[name] = has.get("value", ""), kind
        self._area, self._select = (name if tag == kind else "" for kind in ("textarea", "select"))

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._area:  # a browser leaves out the line end that follows the tag
            fields = self.found[-1].fields
            fields[self._area] = fields[self._area].removeprefix("\n")
        self._area = "" if tag == "textarea" else self._area
        self._select = "" if tag == "select" else self._select

    def handle_data(self, data: str) -> None:
        if self._area:
            self.found[-1].fields[self._area] += data


class Person:
    """One signed-in person; `link` is their browser."""

    def __init__(self, base: str, user: str, password: str) -> None:
        self.user = user
        self.link = httpx.Client(base_url=base, timeout=30, follow_redirects=True, headers={"Accept-Language": "en"})
        page = self.link.get("/")
        form = self.form(page, "password")
        login = next(name for name, kind in form.kinds.items() if kind in ("text", "email"))
        secret = next(name for name, kind in form.kinds.items() if kind == "password")
        answer = self.send(page, form, **{login: user, secret: password})
        if answer.status_code != 200 or any("password" in other.kinds.values() for other in Forms(answer.text).found):
            raise SystemExit(f"{user} cannot sign in: {answer.status_code} at {answer.url}")

    @staticmethod
    def form(page: httpx.Response, field: str) -> Form:
        """The form of a page that has a field of this name or kind."""
        found = [form for form in Forms(page.text).found if field in form.fields or field in form.kinds.values()]
        if not found:
            raise SystemExit(f"no form with {field} at {page.url} ({page.status_code})")
        return found[0]

    def send(self, page: httpx.Response, form: Form, **changes: str) -> httpx.Response:
        """As the browser would: with the page's CSRF token, its address as Referer."""
        where = urljoin(str(page.url), form.action)
        origin = {"Referer": str(page.url), "Origin": str(page.url.copy_with(raw_path=b"/")).rstrip("/")}
        return self.link.post(where, data={**form.fields, **changes}, headers=origin)

    def api(self, path: str, **query: Any) -> Any:
        """JSON of the API, read with the session."""
        answer = self.link.get(f"/api/v1{path}", params=query)
        if answer.status_code != 200:
            raise SystemExit(f"{self.user}: GET {path} answered {answer.status_code}: {answer.text[:300]}")
        return answer.json()

    def socket(self, path: str) -> ClientConnection:
        """A web socket of the live service, opened with the session as a page of ours would."""
        base = str(self.link.base_url).rstrip("/")
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.link.cookies.jar)
        where = base.replace("http", "ws", 1) + path
        return connect(where, origin=base, additional_headers={"Cookie": cookies}, proxy=None)  # type: ignore[arg-type]
