"""After the request in a real browser on a real cluster: a clone is compared with its job, curves over each other."""

from __future__ import annotations

import re
import secrets
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
    expect(davi.get_by_text(re.compile(r"cloned \(\d+\): 0\.4")).first).to_be_visible()


# the second of three tasks fails
SWEEP = """#!/bin/bash
echo "{\\"step\\": 1, \\"loss\\": 0.9}"
echo "{\\"step\\": 2, \\"loss\\": 0.$PARAM_HIDDEN}"
echo "row rate $PARAM_RATE of task $SLURM_ARRAY_TASK_ID"
[ "$PARAM_RATE" != 0.2 ]
"""
TABLE = "rate,hidden\n0.1,24\n0.2,48\n0.4,96"


def write_script(page: Page, script: str) -> None:
    page.locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(script)


def test_a_sweep_of_the_preset_is_run_and_only_the_failed_again(davi: Page) -> None:
    davi.goto(address("/jobs/new?project=visao&preset=sweep"))
    expect(davi.locator("[name=parameters]")).to_have_value(re.compile("^rate,hidden"))
    many = davi.locator("details", has=davi.locator("[name=parameters]")).first
    if not davi.locator("[name=parameters]").is_visible():
        many.locator("summary").click()
    davi.locator("[name=parameters]").fill(TABLE)
    davi.select_option("select[name=partition]", "gpu")
    for field, value in {"cpus": 1, "memory_gb": 1, "time_limit_minutes": 5}.items():
        davi.fill(f"input[name={field}]", str(value))
    write_script(davi, SWEEP)
    davi.keyboard.press("Control+Enter")
    davi.wait_for_url("**/jobs/0*")
    path = davi.url.removeprefix(address("")).split("?")[0]
    ended(davi, "failed")
    davi.goto(address(path))
    map_of_tasks = davi.locator(".taskmap a")
    expect(map_of_tasks).to_have_count(3)
    expect(davi.locator(".taskmap .is-bad")).to_have_count(1)
    expect(davi.get_by_role("row", name=re.compile("completed 0.4"))).to_contain_text("96")
    davi.locator(".taskmap .is-bad").click()
    expect(davi.locator(".log__text")).to_contain_text("row rate 0.2 of task 1", timeout=60_000)
    a_tasks_curves_lead_to_its_own_lines(davi)
    davi.goto(address(path))
    davi.get_by_role("button", name=re.compile("Run 1 failed task again")).click()
    davi.wait_for_url(lambda url: "/jobs/0" in url and path not in url)
    expect(davi.locator(".taskmap a")).to_have_count(1)
    expect(davi.get_by_role("row", name=re.compile("0.2 "))).to_contain_text("48")


def a_tasks_curves_lead_to_its_own_lines(page: Page) -> None:
    """The task's page draws what its own output says, and a value goes to the line that says it, in this task's log."""
    drawn = page.locator("metric-curves figure")
    expect(drawn).to_have_count(1, timeout=20_000)
    expect(drawn).to_contain_text("loss")
    page.get_by_role("heading", name="The same as a table").click()
    page.get_by_role("row", name=re.compile("loss.*0.48")).get_by_role("link").click()
    page.wait_for_url(re.compile(r"/tasks/1#B\d+$"))
    expect(page.locator(".log__text")).to_contain_text('"loss": 0.48')


def test_acts_in_bulk_are_shown_before_they_happen(davi: Page) -> None:
    mark = secrets.token_hex(3)
    names = (f"{mark}-one", f"{mark}-two")
    for name in names:
        submit(davi, name=name, script="#!/bin/bash\nsleep 300\n", partition="prep", gpus=0)
    davi.goto(address(f"/jobs/?q={mark}-"))
    for name in names:
        davi.get_by_role("checkbox", name=f"choose {name}").first.check()
    davi.select_option("#f-act", "cancel")
    davi.get_by_role("button", name="Show what happens").click()
    for name in names:
        expect(davi.get_by_text(name).first).to_be_visible()
    davi.goto(address(f"/jobs/?q={mark}-&state=open"))
    expect(davi.locator("#jobs-table tbody tr")).to_have_count(2)  # looking changed nothing
    davi.get_by_role("checkbox", name=f"choose {names[0]}").check()
    davi.get_by_role("checkbox", name=f"choose {names[1]}").check()
    davi.select_option("#f-act", "cancel")
    davi.get_by_role("button", name="Show what happens").click()
    davi.locator("button[name=sure]").click()
    davi.wait_for_load_state()
    davi.goto(address(f"/jobs/?q={mark}-"))
    cancelled = davi.locator("#jobs-table tbody .state", has_text=re.compile("cancelled", re.IGNORECASE))
    expect(cancelled).to_have_count(2, timeout=90_000)
