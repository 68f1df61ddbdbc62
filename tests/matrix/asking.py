"""One cell's call: the address it goes to, the door it comes through, and its answer without what differs anyway."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Collection
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from tests.matrix import routes
from tests.matrix.expect import ABSENT, GONE, MIXED, OTHER, OWN
from tests.matrix.people import LISTED, Place, World, other_of
from tests.matrix.rules import LISTED as IF_LISTED
from tests.matrix.rules import MINE, Kind, Rule

Alike = tuple[int, dict[str, str], bytes]
CLIENT = Client(raise_request_exception=True)
NOBODY = ("nobody",)
THE_PI = ("reader", "browser")
PASSING = frozenset({"Date", "X-Request-ID", "Set-Cookie", "Content-Length"})
VOLATILE = re.compile(
    rb"""nonce[=-]["']?[^"' ]*|[A-Za-z0-9]{64}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"""
    rb"""|\d+ (?:s|min) ago"""
)
LITERALS = re.compile(r"'(?:[^']|'')*'(?:::\w+)?|\b\d+\b|_django_curs_\w+")


@dataclasses.dataclass(frozen=True)
class Call:
    """What is sent. `names`: words of the address, which an answer may say again."""

    method: str
    path: str
    body: bytes = b""
    content_type: str = ""
    names: tuple[str, ...] = ()

    @property
    def sent(self) -> str:
        """All of it, to be searched."""
        return self.path + self.body.decode()


@dataclasses.dataclass(frozen=True)
class Answer:
    """What came back; `error` where nothing did."""

    status: int
    headers: dict[str, str]
    body: bytes
    error: str = ""
    queries: tuple[str, ...] = ()

    @property
    def whole(self) -> bytes:
        """Headers and body."""
        said = "\n".join(f"{name}: {value}" for name, value in self.headers.items())
        return said.encode() + b"\n\n" + self.body

    def alike(self, asked: Collection[str]) -> Alike:
        """Without dates, ids, nonces and what was asked for in one of the calls that are compared."""
        headers = {k: _plain(v.encode(), asked).decode() for k, v in self.headers.items() if k not in PASSING}
        return self.status, headers, _plain(self.body, asked)


def _plain(text: bytes, asked: Collection[str]) -> bytes:
    text = VOLATILE.sub(b"", text)
    for name in asked:
        text = text.replace(name.encode(), b"<asked>")
    return text


def asked_in(*calls: Call) -> list[str]:
    """Addresses and names in these calls, the longest first."""
    words = {word for call in calls for word in (call.path, quote(call.path), quote(call.path, ""), *call.names)}
    return sorted(words, key=len, reverse=True)


def names_in(rule: Rule) -> frozenset[str]:
    """What the call names of a place."""
    if rule.kind is Kind.PAGE:
        kwargs = next(iter(_addresses(rule)))
    else:
        kwargs = frozenset(re.findall(r"[{:](\w+)[}>]", rule.route))
    said = json.dumps(rule.body) + rule.query
    inside = {name for name in ("code", "allocation", "job", "funding") if f"{{{name}}}" in said}
    return (kwargs - frozenset(rule.args) - {"year", "number", "rest"}) | inside


def _addresses(rule: Rule) -> list[frozenset[str]]:
    """The route's addresses that the rule can fill: one of several has what the rule's `args` name."""
    known = routes.pages()[rule.route]
    return [one for one in known if frozenset(rule.args) <= one and bool(rule.args) >= (one == {"rest"})]


def call_for(world: World, rule: Rule, person: str, place: str) -> Call:
    """The call of one cell."""
    outer, inner = _places(world, rule, place)
    names = _names(world, rule, person, place, outer, inner)
    args = {key: str(value).format(**names) for key, value in rule.args.items()}
    address = _address(rule, names | args)
    query = (
        "?" + urlencode([tuple(pair.split("=", 1)) for pair in _filled(rule.query, names).split("&")])
        if rule.query
        else ""
    )
    said = tuple(str(names[key]) for key in sorted(names_in(rule)))
    if rule.method == "GET" or (rule.body is None and rule.kind is Kind.API):
        return Call(rule.method, address + query, names=said)
    body = _filled({"sent": "1"} if rule.body is None else rule.body, names)
    if rule.kind is Kind.API:
        return Call(rule.method, address + query, json.dumps(body).encode(), "application/json", said)
    kind = "application/x-www-form-urlencoded"
    return Call(rule.method, address + query, urlencode(body).encode(), kind, said)


def _places(world: World, rule: Rule, place: str) -> tuple[Place, Place]:
    """(the project of the address, the place of the rows in it)."""
    if rule.see == IF_LISTED and place == OWN:
        place = LISTED
    outer = world.places[OWN if place in (MIXED, GONE) else place]
    return outer, world.places[{MIXED: OTHER, GONE: ABSENT}.get(place, place)]


def _names(world: World, rule: Rule, person: str, place: str, outer: Place, inner: Place) -> dict[str, Any]:
    known = dataclasses.asdict(inner) | {"code": outer.code, "newcomer": world.newcomer.directory_id}
    today = timezone.now().date()
    known |= {"year": today.year, "number": 1, "today": today, "self": "nobody"}
    who = "pi" if person in THE_PI else person
    if person not in NOBODY:
        known["self"] = world.users[who].username
        mine = world.mine[who]
        known["job"] = mine.job if mine.job and place == OWN else known["job"]
    if rule.see == MINE:
        return known | {"pk": _mine(world, rule, who, place)}
    return known | {"pk": known.get(rule.pk)}


def _mine(world: World, rule: Rule, who: str, place: str) -> Any:
    if place == ABSENT:
        absent = world.places[ABSENT]
        return absent.funding if rule.pk == "session" else absent.job
    owner = other_of(who) if place == OTHER or who in NOBODY else who
    return getattr(world.mine[owner], rule.pk)


def _filled(value: Any, names: dict[str, Any]) -> Any:
    match value:
        case str():
            whole = names.get(value[1:-1]) if value[:1] == "{" else None
            return whole if isinstance(whole, int) else re.sub(r"{(\w+)}", lambda found: str(names[found[1]]), value)
        case dict():
            return {key: _filled(item, names) for key, item in value.items()}
        case list():
            return [_filled(item, names) for item in value]
    return value


def _address(rule: Rule, names: dict[str, Any]) -> str:
    if rule.kind is Kind.PAGE:
        return reverse(rule.route, kwargs={name: names[name] for name in next(iter(_addresses(rule)))})
    return "/api/v1" + _filled(rule.route, names)


def ask(world: World, rule: Rule, person: str, call: Call, *, watched: bool = False) -> Answer:
    """Call, and leave the world as it was. `watched`: with the statements it made."""
    headers = _enter(world, rule.kind, person) | ({"HX-Request": "true"} if rule.is_part else {})
    with transaction.atomic():
        if watched:
            with CaptureQueriesContext(connection) as seen:
                answer = _send(call, headers)
            answer = dataclasses.replace(answer, queries=tuple(LITERALS.sub("?", one["sql"]) for one in seen))
        else:
            answer = _send(call, headers)
        transaction.set_rollback(True)
    return answer


def _enter(world: World, kind: Kind, person: str) -> dict[str, str]:
    """The person's cookie, or headers with a token; always as from beyond the one door."""
    CLIENT.cookies = SimpleCookie()
    headers = {"Accept-Language": "en", "X-Forwarded-For": "203.0.113.7"}
    if person in NOBODY:
        return headers
    mine = world.mine["pi" if person in THE_PI else person]
    by_token = person == "reader" or (kind is Kind.API and person != "browser")
    if by_token:
        secret = mine.secrets["read" if person == "reader" else "all"]
        return headers | {"Authorization": f"Bearer {secret}"}
    CLIENT.cookies[settings.SESSION_COOKIE_NAME] = mine.session_key
    return headers


def _send(call: Call, headers: dict[str, str]) -> Answer:
    try:
        response = CLIENT.generic(
            call.method, call.path, call.body, call.content_type or "application/octet-stream", headers=headers
        )
        body = b"".join(response.streaming_content) if response.streaming else response.content
    except Exception as error:
        return Answer(500, {}, b"", f"{type(error).__name__}: {error}"[:300])
    return Answer(response.status_code, dict(response.headers), body)
