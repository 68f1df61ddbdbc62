"""A permission's whole life in a real browser on a real cluster: asked for, given, terms, a job, its use, revoked."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Page, expect

from tests.browser.portal import address, submit

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]


def register(page: Page, code: str) -> None:
    """The PI of atlas, who is its steward too, makes it ready to be asked for."""
    page.goto(address("/projects/atlas/new-dataset"))
    for field, said in {"code": code, "name": code.title(), "steward": "bruno", "description": "Invented data.",
                        "licence": "CC0 1.0", "retention": "Until the end of the demo."}.items():  # fmt: skip
        page.fill(f"[name={field}]", said)
    page.check("[name=is_listed]")
    page.get_by_role("button", name="Register a dataset").click()
    expect(page.locator(".banner--ok").first).to_contain_text("Registered")
    page.goto(address(f"/datasets/{code}/new-version"))
    page.fill("[name=label]", "v1")
    page.fill("[name=path]", f"/srv/var/projects/atlas/{code}/v1")
    page.get_by_role("button", name="Add a version").click()
    expect(page.locator(".banner--ok").first).to_contain_text("Added")
    page.goto(address(f"/datasets/{code}/new-terms"))
    page.fill("[name=text]", "Invented data: do not try to know anybody again.")
    page.get_by_role("button", name="Put in force").click()
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".banner--ok").first).to_contain_text("Approved")


def script_of(code: str) -> str:
    """Says where the data lie, and goes on for a while."""
    variable = f"DATASET_{code.upper().replace('-', '_')}"
    return f'#!/bin/bash\n#BANCADA dataset={code}@v1\necho "data at ${variable}"\nsleep 40\n'


def refused(page: Page, code: str) -> None:
    """The same job again; it stays on the form, which says why and whom to ask."""
    page.goto(address("/jobs/new?project=visao"))
    page.fill("input[name=name]", "again")
    page.select_option("select[name=partition]", "gpu")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(script_of(code))
    page.keyboard.press("Control+Enter")
    expect(page.locator(".field__error", has_text=code).first).to_be_visible()


def test_the_whole_story_of_a_permission(person) -> None:
    code = f"story-{int(time.time()) % 1_000_000}"
    steward, pi, member = person("bruno"), person("ana"), person("davi")
    register(steward, code)

    pi.goto(address("/datasets/"))
    pi.locator("tr", has_text=code).get_by_role("link", name="Ask").click()
    pi.select_option("[name=for_whom]", "visao")
    pi.fill("[name=why]", "For the demo's paper.")
    pi.get_by_role("button", name="Ask for a permission to use it").click()
    expect(pi.locator(".banner--ok").first).to_contain_text("Asked for")
    refused(member, code)  # nobody has given it yet
    expect(member.locator(".field__error", has_text=code).first).to_contain_text("Bruno Demo")

    steward.goto(address("/"))
    expect(steward.locator("main")).to_contain_text("Permissions asked of you")
    steward.goto(address(f"/datasets/{code}#requests"))
    steward.get_by_role("button", name="Give the permission").click()
    expect(steward.locator(".banner--ok").first).to_contain_text("Given")
    refused(member, code)  # the terms are not accepted yet
    expect(member.locator(".field__error", has_text=code).first).to_contain_text("have not accepted its terms of use")
    expect(member.locator(".field__error", has_text=code).first).not_to_contain_text("neither the project")
    member.goto(address(f"/datasets/{code}/terms"))
    member.get_by_role("button", name="I have read them and accept").click()
    expect(member.locator("main")).to_contain_text("accepted by you")

    job = submit(member, name=f"on {code}", script=script_of(code))
    expect(member.locator("log-viewer")).to_contain_text(f"data at /srv/var/projects/atlas/{code}/v1", timeout=60_000)
    state = member.locator(".head .state, h1 ~ .state").first
    expect(state).to_have_text(re.compile("running", re.IGNORECASE), timeout=40_000)
    steward.goto(address("/data/stewardship"))
    line = steward.locator("tr", has_text=f"on {code}")
    expect(line).to_contain_text("Davi Demo")
    expect(line).to_contain_text(f"{code}@v1")
    expect(line).to_contain_text("research")
    expect(line).to_contain_text(re.compile("now"))

    steward.goto(address(f"/datasets/{code}"))
    steward.locator("details.confirm", has_text="Revoke").locator("summary").click()
    steward.fill("[name=why]", "The study is over.")
    steward.get_by_role("button", name="Revoke it").click()
    expect(steward.locator("main")).to_contain_text("The study is over.")
    member.goto(address(job))
    expect(member.locator("main")).to_contain_text("permission revoked")
    refused(member, code)
