"""Including somebody by keyboard alone, in a real browser: the search waits for the typing, the choice is a radio."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from projects.models import Membership
from tests.browser import bench
from tests.browser.test_pages import Visit, built, visit
from tests.pages import Directory, directory

__all__ = ["Visit", "built", "directory", "visit"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(120)]


@pytest.fixture
def searched(visit: Any, directory: Directory) -> Iterator[tuple[Any, Directory, list[str]]]:
    screen = visit(viewport={"width": 1440, "height": 900})
    asked: list[str] = []
    screen.page.on("request", lambda one: asked.append(one.url) if "/people?q=" in one.url else None)
    yield screen, directory, asked


def test_found_chosen_and_included_by_keyboard(searched: Any, built: bench.Bench) -> None:
    screen, people, asked = searched
    people.add("bento")
    people.add("benicio")
    screen.open("pi", "/projects/seg-rm", "en")
    page = screen.page
    page.locator("#add-q").focus()
    page.keyboard.type("ben", delay=30)
    expect(page.locator("#found input[type=radio]")).to_have_count(2)
    assert len(asked) == 1  # three letters, one search
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.locator("#id_role").focus()
    page.keyboard.type("read")
    page.locator("#id_why").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/projects/seg-rm")
    expect(page.locator(".banner--ok")).to_contain_text("is in the project now")
    added = Membership.objects.get(user__username__in=["bento", "benicio"])
    assert (added.user.username, added.role, added.by) == ("benicio", "viewer", built.people["pi"])


def test_a_silent_directory_is_told_where_one_types(searched: Any) -> None:
    screen, people, _asked = searched
    people.down = True
    screen.open("pi", "/projects/seg-rm", "en")
    screen.page.locator("#add-q").press_sequentially("bento")
    expect(screen.page.locator("#found")).to_contain_text("does not answer")
    expect(screen.page.locator(".add__rest")).to_be_hidden()
