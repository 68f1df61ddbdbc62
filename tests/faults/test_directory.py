"""The directory is away: who is signed in works on, nobody new gets in, what is submitted waits and then goes."""

from __future__ import annotations

import re
import time
import urllib.parse

import pytest

from tests.bench.place import FORM, Client, Place
from tests.faults.burst import Burst

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180)]


def test_without_the_directory(place: Place) -> None:
    burst = Burst(place)
    signed_in = place.browser(burst.user)
    assert signed_in.get("/jobs/").status == 200
    place.api(burst.user)
    place.kill("slapd")
    assert signed_in.get("/jobs/").status == 200
    assert sign_in(place, "elisa") == 503
    burst.ask(3)
    assert burst.statuses() == {201: 3}
    time.sleep(6)  # the worker has tried meanwhile
    assert burst.states() == {"handing": 3}
    place.stack("start", "slapd")
    burst.over(90)
    assert burst.ran() == [1] * 3
    assert sign_in(place, "elisa") == 302


def sign_in(place: Place, user: str) -> int:
    """What the form answers, within the five seconds a person is made to wait at the most."""
    client = Client(place.host)
    page = client.get("/sign-in").body.decode()
    mark = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    password = next(row["password"] for row in place.card["sign_ins"] if row["user"] == user)
    fields = {"username": user, "password": password, "csrfmiddlewaretoken": mark[1] if mark else ""}
    began = time.monotonic()
    answer = client.post("/sign-in", urllib.parse.urlencode(fields).encode(), **FORM, Cookie=client.cookies)
    assert time.monotonic() - began < 8
    return answer.status
