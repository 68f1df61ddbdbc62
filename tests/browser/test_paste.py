"""An old sbatch file pasted into a real browser, looked at line by line, asked for, and seen to run."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.portal import address, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

OLD = """#!/bin/bash
#SBATCH --job-name=pasted -p gpu --gres=gpu:a100:1
#SBATCH -t 0-0:05 --mem=1G -A elsewhere
#SBATCH --output=/scratch/somebody/%j.out --nice=5
echo it runs on $(hostname -s)
"""
REFUSED = "#!/bin/bash\n#SBATCH -p gpu\n#SBATCH --uid=0\ntrue\n"


def test_paste_look_and_run(browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-US")
    page = context.new_page()
    sign_in(page, "davi")
    page.goto(address("/jobs/import"))
    page.get_by_label("Project").select_option("visao")
    page.get_by_label("Script", exact=True).fill(OLD)
    page.get_by_role("button", name="Read").click()
    table = page.get_by_role("table", name="What became of its lines")
    expect(table).to_contain_text("The job is charged to the project.")
    expect(table).to_contain_text("--nice=5")
    page.get_by_role("link", name="Go on in the form").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("pasted")
    page.locator("#submit-form").get_by_role("button", name=re.compile("^(Submit|Submit job)$")).first.click()
    page.wait_for_url(re.compile(r"/jobs/[0-9a-f-]{36}$"))
    expect(page.locator("body")).to_contain_text("completed", timeout=60_000)
    page.goto(address("/jobs/drafts"))
    expect(page.get_by_role("heading", name="No draft")).to_be_visible()
    context.close()


def test_what_is_refused_names_its_line_and_fits_a_phone(browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 740}, locale="pt-BR")
    page = context.new_page()
    sign_in(page, "davi")
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(address("/jobs/import"))
    page.locator("#text").fill(REFUSED)
    page.locator("form[enctype] button[type=submit]").click()
    refused = page.locator(".finding--refused")
    expect(refused).to_contain_text("3")
    expect(refused).to_contain_text("--uid=0")
    expect(page.locator("a[href*='draft=']")).to_have_count(0)
    for path in ("/jobs/import", "/jobs/drafts", "/dictionary"):
        page.goto(address(path))
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path
    page.goto(address("/jobs/drafts"))
    rows = page.locator("table a.name").count()
    page.locator("table a.name").first.click()
    page.locator("details.confirm summary").click()
    page.locator("details.confirm button[type=submit]").click()
    expect(page.locator("table a.name")).to_have_count(rows - 1)
    context.close()
