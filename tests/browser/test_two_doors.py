"""The submit form in a real browser: an old sbatch file pasted or dropped, a preset sent, doors switched, advice read."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.portal import address, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

OLD = """#!/bin/bash
#SBATCH --job-name=pasted-here -p gpu --gres=gpu:a100:1
#SBATCH -t 0-0:05 --mem=1G -c 1 -A elsewhere --nice=5
echo it runs
"""
JOB = re.compile(r"/jobs/[0-9a-f-]{36}$")
PASTE = """([selector, text]) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  document.querySelector(selector).shadowRoot.querySelector(".cm-content")
    .dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""
DROP = """([selector, name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name, { type: "text/x-sh" }));
  document.querySelector(selector).shadowRoot.querySelector(".cm-content")
    .dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-US")
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda said: wrong.append(said.text) if "Content Security Policy" in said.text else None)
    sign_in(opened, "davi")
    yield opened
    context.close()
    assert not wrong, wrong


def begin(page: Page, query: str = "") -> None:
    page.goto(address(f"/jobs/new?project=visao{query}"))
    expect(page.locator("script-editor.is-ready")).to_be_visible()


def sends(page: Page) -> None:
    page.locator("#submit-advice").get_by_role("button", name="Submit job").first.click()
    page.wait_for_url(JOB)


def test_pasted_lines_become_fields_and_the_job_runs(page: Page) -> None:
    begin(page)
    page.locator("script-editor .cm-content").click()
    page.keyboard.press("Control+A")
    page.evaluate(PASTE, ["script-editor", OLD])
    expect(page.get_by_label("Name", exact=True)).to_have_value("pasted-here")
    expect(page.locator("input[name=time_limit_minutes]")).to_have_value("5")
    expect(page.locator(".found")).to_contain_text("--nice=5")
    expect(page.locator("#submit-advice")).to_contain_text("Valid request")
    expect(page.locator("#request-head")).to_contain_text("#SBATCH --job-name=pasted-here")
    sends(page)
    expect(page.locator("body")).to_contain_text("completed", timeout=60_000)


def test_a_dropped_file_is_read_and_what_stood_there_comes_back(page: Page) -> None:
    begin(page)
    page.get_by_label("Name", exact=True).fill("before")
    page.evaluate(DROP, ["script-editor", "old-run.sh", OLD.replace("--job-name=pasted-here ", "")])
    expect(page.get_by_label("Name", exact=True)).to_have_value("old-run")
    page.get_by_role("button", name="Put back what stood here before").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("before")


def test_switching_doors_loses_nothing_and_a_preset_runs(page: Page) -> None:
    begin(page, "&preset=single-gpu")
    page.get_by_label("Name", exact=True).fill("by-preset")
    page.locator("input[name=time_limit_minutes]").fill("6")
    expect(page.locator("#request-head")).to_contain_text("--time=6")
    doors = page.get_by_role("group", name="How to describe it")
    doors.get_by_role("button", name="Script").click()
    expect(doors.get_by_role("button", name="Script")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("Name", exact=True)).to_have_value("by-preset")
    expect(page.locator("input[name=time_limit_minutes]")).to_have_value("6")
    doors.get_by_role("button", name="Preset").click()
    expect(doors.get_by_role("button", name="Preset")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("Name", exact=True)).to_have_value("by-preset")
    expect(page.locator("#request-head")).to_contain_text("#BANCADA preset=")
    expect(page.locator("#submit-advice")).to_contain_text("Valid request")
    sends(page)


def test_what_is_wrong_stands_beside_the_field_while_one_types(page: Page) -> None:
    begin(page)
    page.get_by_label("Name", exact=True).fill("too-much")
    page.locator("input[name=cpus]").fill("9999")
    expect(page.locator("#said-cpus")).to_contain_text("At most")
    expect(page.locator("#submit-advice")).to_contain_text("It cannot be sent like this")
    page.locator("input[name=cpus]").fill("1")
    expect(page.locator("#said-cpus")).to_be_empty()
    expect(page.locator("#submit-advice")).to_contain_text("Estimated start")
