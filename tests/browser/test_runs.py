"""After the request in a real browser on a real cluster: a clone is compared with its job, curves over each other."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.portal import address, sign_in, submit

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

CURVE = """#!/bin/bash
for n in 1 2 3 4 5; do echo "{\\"step\\": $n, \\"loss\\": 0.$((9 - n))}"; done
"""


@pytest.fixture
def davi(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-US")
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    sign_in(page, "davi")
    yield page
    context.close()
    assert not wrong, wrong


def ended(page: Page, word: str) -> None:
    """The state of the page's job, whose part that lives comes by itself."""
    state = page.locator(".head .state").first
    expect(state).to_have_text(re.compile(word, re.IGNORECASE), timeout=90_000)


def test_a_clone_is_compared_with_its_job(davi: Page) -> None:
    path = submit(davi, name="cloned", script=CURVE)
    ended(davi, "completed")
    davi.reload()  # curves come with the page, and while a job runs once a minute
    expect(davi.locator("metric-curves figure")).to_have_count(1, timeout=20_000)
    davi.get_by_role("link", name="Clone").click()
    davi.locator("input[name=time_limit_minutes]").fill("7")
    davi.locator(".cm-content").click()
    davi.keyboard.press("Control+Enter")
    davi.wait_for_url(lambda url: "/jobs/0" in url and path not in url)
    ended(davi, "completed")
    clone = davi.url.removeprefix(address("")).split("?")[0]
    davi.goto(address(f"{path}?tab=manifest"))
    davi.get_by_role("link", name="Compare").click()
    davi.locator(f"a[href$='b={clone.rsplit('/', 1)[1]}']").click()
    differs = davi.locator("section", has=davi.locator("#h-differ"))
    expect(differs.get_by_role("row", name=re.compile("Time limit"))).to_contain_text("7")
    expect(davi.locator("metric-curves figure")).to_have_count(1, timeout=20_000)
    expect(davi.get_by_text("cloned: 0.4").first).to_be_visible()
