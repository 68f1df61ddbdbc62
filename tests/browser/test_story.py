"""The main job in a real browser on a real cluster: sign in, submit, watch, see it end; who is not let in; who did what."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.portal import address, sign_in, submit

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

TICKS = """#!/bin/bash
for n in $(seq 1 12); do python3 -c 'import sys, time; print("tick", sys.argv[1], time.time())' $n; sleep 0.4; done
exit 3
"""
TRAINING = """#!/bin/bash
python3 -u examples/train_digits.py --epochs 15 --pause 1
"""


@pytest.fixture
def person(browser: Browser) -> Iterator[object]:
    """Opens a page of a new browser context, signed in; asks nothing of another host."""
    opened = []

    def open_as(user: str, **options: object) -> Page:
        context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-US", **options)
        page = context.new_page()
        foreign: list[str] = []
        page.on("request", lambda asked: foreign.append(asked.url) if not _ours(asked.url) else None)
        opened.append((context, foreign))
        sign_in(page, user)
        return page

    yield open_as
    for context, foreign in opened:
        context.close()
        assert not foreign, foreign


def _ours(url: str) -> bool:
    return url.startswith((address(""), address("").replace("http", "ws"), "data:", "blob:"))


def test_the_example_training_from_submit_to_its_end(person) -> None:
    page = person("davi")
    submit(page, name="digits", script=TRAINING)
    state = page.locator(".head .state, h1 ~ .state").first
    expect(state).to_have_text(re.compile("running", re.IGNORECASE), timeout=40_000)
    expect(page.locator("log-viewer")).to_contain_text("loss", timeout=15_000)
    expect(page.locator("log-viewer")).to_contain_text("done", timeout=40_000)
    expect(state).to_have_text(re.compile("completed", re.IGNORECASE), timeout=30_000)
    expect(page.get_by_text("exit code").first).to_be_visible()
    page.reload()
    expect(page.locator("log-viewer")).to_contain_text("done")


def test_lines_show_within_a_second_of_being_written_and_the_exit_code_is_told(person) -> None:
    page = person("davi")
    submit(page, name="ticks", script=TICKS)
    viewer = page.locator("log-viewer")
    expect(viewer).to_contain_text("tick 1 ", timeout=40_000)
    late = [delay for n in range(4, 12) if (delay := _delay(page, n)) is not None]
    assert len(late) >= 6
    assert sorted(late)[len(late) // 2] < 1.0, late
    expect(page.get_by_text(re.compile("exit code 3|code 3")).first).to_be_visible(timeout=30_000)


def _delay(page: Page, n: int) -> float | None:
    """Seconds between the writing of a line and its being on the page; None where it stood there already."""
    found = f"() => document.querySelector('log-viewer').innerText.match(/tick {n} ([0-9.]+)/)?.[1]"
    if page.evaluate(found):
        return None
    written = page.wait_for_function(found, timeout=20_000, polling=20).json_value()
    return time.time() - float(written)


def test_somebody_of_another_project_gets_404_on_every_page_and_socket_of_it(person) -> None:
    owner, stranger = person("davi"), person("felipe")
    job = submit(owner, name="private", script="#!/bin/bash\necho secret\n", partition="prep", gpus=0)
    for path in ("", "/live", "/log", "/log/find?q=a", "/log/download", "?tab=events"):
        assert stranger.goto(address(job + path)).status == 404
    for path in ("/projects/visao", "/projects/visao/trail", "/jobs/new?project=visao"):
        assert stranger.goto(address(path)).status == 404
    assert stranger.goto(address("/jobs/01900000-0000-7000-8000-000000000000")).status == 404
    for path in (f"/ws{job}", f"/ws{job}/log"):
        assert stranger.evaluate(_SOCKET, path) == 4404
    found = stranger.goto(address("/jobs/?whose=all&q=private"))
    assert found.status == 200 and job not in stranger.content()


_SOCKET = """(path) => new Promise((done) => {
  const socket = new WebSocket(location.origin.replace("http", "ws") + path);
  socket.onmessage = () => done("a message");
  socket.onclose = (event) => done(event.code);
})"""


def test_the_auditor_sees_who_did_what_and_cannot_read_the_output(person) -> None:
    owner, auditor = person("davi"), person("kenia")
    job = submit(owner, name="audited", script="#!/bin/bash\necho content\n", partition="prep", gpus=0)
    expect(owner.locator("log-viewer")).to_contain_text("content", timeout=40_000)
    auditor.goto(address("/audit/?who=davi&action=job.submitted"))
    expect(auditor.locator("main")).to_contain_text("audited")
    expect(auditor.locator("main")).to_contain_text("davi")
    assert auditor.goto(address(job + "/log")).status == 403
    assert auditor.goto(address(job)).status == 200
    assert "echo content" not in auditor.content()


def test_without_scripts_the_last_of_the_output_is_one_link_away(browser: Browser, person) -> None:
    job = submit(person("davi"), name="plain", script="#!/bin/bash\necho plain words\n", partition="prep", gpus=0)
    time.sleep(8)
    context = browser.new_context(java_script_enabled=False, locale="en-US")
    page = context.new_page()
    sign_in(page, "davi")
    page.goto(address(job))
    assert "plain words" in _last_lines(page)
    context.close()


def _last_lines(page: Page) -> str:
    href = page.locator("noscript a, .log__plain a").first.get_attribute("href")
    return page.request.get(address(href)).text()


def test_a_running_job_is_cancelled_by_keyboard_alone(person) -> None:
    page = person("davi")
    submit(page, name="endless", script="#!/bin/bash\necho on\nsleep 300\n", partition="prep", gpus=0)
    expect(page.locator("log-viewer")).to_contain_text("on", timeout=40_000)
    page.get_by_text("Cancel job").first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    state = page.locator(".head .state, h1 ~ .state").first
    expect(state).to_have_text(re.compile("cancelled", re.IGNORECASE), timeout=30_000)


def test_a_double_click_makes_one_job(person) -> None:
    page = person("davi")
    page.goto(address("/jobs/new?project=visao"))
    name = f"twice-{int(time.time())}"
    page.fill("input[name=name]", name)
    page.select_option("select[name=partition]", "prep")
    page.locator("main button[type=submit]:visible").last.dblclick()
    page.wait_for_url("**/jobs/0*")
    page.goto(address(f"/jobs/?q={name}"))
    assert len(set(re.findall(r"/jobs/(0[0-9a-f-]{35})", page.locator("main").inner_html()))) == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(person, theme: str) -> None:
    page = person("davi", color_scheme=theme)
    job = submit(page, name="axe", script="#!/bin/bash\nprintf '\\033[31mred\\033[0m\\n'\n", partition="prep", gpus=0)
    pages = ["/", "/jobs/", "/jobs/new", job, f"{job}?tab=request", f"{job}?tab=events", "/projects/", "/projects/visao",
             "/cluster/", "/help", "/sessions", "/tokens", "/nowhere"]  # fmt: skip
    wrong = {path: found for path in pages if (found := _axe(page, path))}
    assert not wrong, wrong


def _axe(page: Page, path: str) -> list[str]:
    from tests.browser.portal import ROOT

    page.goto(address(path))
    page.wait_for_timeout(300)
    page.evaluate((ROOT / "node_modules" / "axe-core" / "axe.min.js").read_text())
    found = page.evaluate("axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']})")
    return [f"{one['id']}: {one['nodes'][0]['target']}" for one in found["violations"]]
