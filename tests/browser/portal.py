"""The running stack as a browser sees it: its address, its demo people, signing in."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def card() -> dict[str, Any]:
    """var/stack.json of the stack under test."""
    path = os.environ.get("BANCADA_STACK", str(ROOT / "var" / "test" / "stack.json"))
    found: dict[str, Any] = json.loads(Path(path).read_text())
    return found


def address(path: str = "/") -> str:
    """A page of the portal."""
    return str(card()["address"]) + path


def password(user: str) -> str:
    """A demo person's password."""
    return next(row["password"] for row in card()["sign_ins"] if row["user"] == user)


def sign_in(page: Page, user: str) -> None:
    """By the form, as anybody does."""
    page.goto(address("/"))
    page.fill("input[name=username]", user)
    page.fill("input[name=password]", password(user))
    page.press("input[name=password]", "Enter")
    expect(page.locator(".who").first).to_be_visible()


def submit(page: Page, *, name: str, script: str, partition: str = "gpu", gpus: int = 1, minutes: int = 5) -> str:
    """Fill in the submit form and send it; the job's path."""
    page.goto(address("/jobs/new?project=visao"))
    page.fill("input[name=name]", name)
    page.select_option("select[name=partition]", partition)
    if gpus:
        page.fill("input[name=gpus]", str(gpus))
    for field, value in {"cpus": 1, "memory_gb": 1, "time_limit_minutes": minutes}.items():
        page.fill(f"input[name={field}]", str(value))
    editor = page.locator(".cm-content")
    editor.click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(script)
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/jobs/0*")
    return page.url.removeprefix(address("")).split("?")[0]
