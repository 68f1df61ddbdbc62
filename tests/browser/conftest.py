"""Debian's Chromium, once for all tests; a page that fails its test on any error of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.fake_log import Serving
from tests.browser.portal import sign_in

CHROMIUM = "/usr/bin/chromium"
QUIET = "--no-sandbox --disable-gpu --disable-quic --disable-background-networking --disable-component-update --disable-sync"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests; a context each."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET.split())
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of a new context; an error in its scripts, or a thing its policy forbids, fails the test."""
    context = browser.new_context(viewport={"width": 1200, "height": 800}, locale="en-US")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda said: wrong.append(said.text) if "Content Security Policy" in said.text else None)
    yield opened
    context.close()
    assert not wrong, wrong


@pytest.fixture
def person(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a page of a new browser context, signed in."""
    opened = []

    def open_as(user: str, **options: Any) -> Page:
        context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-US", **options)
        opened.append(context)
        page = context.new_page()
        sign_in(page, user)
        return page

    yield open_as
    for context in opened:
        context.close()


@pytest.fixture
def serving() -> Iterator[Serving]:
    """The fake log, listening."""
    with Serving() as server:
        yield server
