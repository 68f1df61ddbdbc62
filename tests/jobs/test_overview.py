"""The operator's table of all projects: what it says, how it is sorted, filtered and paged, and its CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation

from access.roles import Role, SiteRole
from audit.actions import Action
from audit.models import AuditEvent
from jobs import projects as table
from jobs.views import overview
from projects import services as projects
from projects.models import Project
from quotas.models import Enforcement
from tests.api import make_world
from tests.conftest import Roles
from tests.factories import make_member, make_project, make_user
from tests.pages import signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def english(settings: Any) -> None:
    translation.activate("en")
    settings.LANGUAGE_CODE = "en"


@pytest.fixture
def client() -> Any:
    return signed_in(make_user(site_role=SiteRole.OPERATOR, language="en"))


def codes(answer: Any) -> list[str]:
    return re.findall(r'class="name" href="/projects/([^"]+)"', answer.content.decode())


def test_it_counts_members_and_jobs_and_names_the_pi(client: Any, roles: Roles) -> None:
    world = make_world()
    make_member(world.project, Role.PI, display_name="Marina Demo")
    roles.use("web")
    page = client.get("/operate/projects").content.decode()
    assert "Marina Demo" in page and codes(client.get("/operate/projects")) == ["aurora"]
    row = table.page(table.Asked()).get()
    assert (row.members, row.unfinished, row.running, row.pis) == (2, 1, 0, ["Marina Demo"])


def test_former_members_do_not_count(client: Any) -> None:
    project = make_project()
    user = make_member(project)
    projects.remove_member(membership=user.memberships.get(), by=None)
    assert table.page(table.Asked()).get().members == 0


@pytest.mark.parametrize(
    "sort", ["title", "-title", "code", "-code", "members", "-members", "jobs", "-opened", "opened"]
)
def test_pages_by_key_give_each_row_once_in_order(
    client: Any, roles: Roles, monkeypatch: pytest.MonkeyPatch, sort: str
) -> None:
    monkeypatch.setattr(overview, "PAGE", 3)
    for n in range(8):
        project = make_project(f"p{n}x", title=f"Title {n % 3}", created_at=timezone.now() - timedelta(days=n % 4))
        for _ in range(n % 3):
            make_member(project)
    roles.use("web")
    seen, query = [], f"sort={sort}"
    while query:
        answer = client.get(f"/operate/projects?{query}")
        seen += codes(answer)
        more = re.search(r'href="/operate/projects\?([^"]+)" rel="next"', answer.content.decode())
        query = more.group(1).replace("&amp;", "&") if more else ""
    assert len(seen) == len(set(seen)) == 8
    field = table.SORTS[sort.removeprefix("-")]
    values = [getattr(row, field) for code in seen for row in [table.page(table.Asked()).get(code=code)]]
    assert values == sorted(values, reverse=sort.startswith("-"))


@pytest.mark.parametrize("after", ["x", "[]", '["a"]', '[1, 2]', '["a\\u0000", 1]', '["\\ud800", 1]', '["a", "x"]',
                                   '["a", 99999999999999999999]', "null", '{"a": 1}', '["a", null]'])  # fmt: skip
@pytest.mark.parametrize("sort", ["title", "members", "opened"])
def test_a_cursor_that_says_nothing_is_none(client: Any, after: str, sort: str) -> None:
    make_project("aurora")
    assert client.get("/operate/projects", {"after": after, "sort": sort}).status_code == 200


def test_filtered_by_words_state_and_what_is_absent(client: Any) -> None:
    first, second = make_project("aurora", organization="Institute"), make_project("boreal")
    make_member(second, Role.PI, display_name="Marina Demo")
    projects.archive_project(project=second, by=None)
    Enforcement.objects.update_or_create(project=first, defaults={"ticks": {"files": {"ok": False}}})
    get = lambda **asked: codes(client.get("/operate/projects", asked))  # noqa: E731
    assert (get(q="AURO"), get(q="institute"), get(q="marina"), get(q="zzz")) == (
        ["aurora"],
        ["aurora"],
        ["boreal"],
        [],
    )
    assert (get(state="archived"), get(state="moon"), get(trouble="1")) == (
        ["boreal"],
        ["aurora", "boreal"],
        ["aurora"],
    )
    assert len(get(q="\x00", sort="moon")) == 2


def test_the_part_alone_for_a_page_that_filters(client: Any) -> None:
    answer = client.get("/operate/projects", headers={"HX-Request": "true"})
    assert b"<html" not in answer.content


def test_as_many_questions_for_many_rows_as_for_few(client: Any, roles: Roles) -> None:
    counts = []
    for many in (2, 30):
        for _ in range(many):
            make_member(make_project())
        roles.use("web")
        with CaptureQueriesContext(connection) as asked:
            client.get("/operate/projects?sort=-members")
        roles.use(None)
        counts.append(len(asked))
    assert counts[0] == counts[1] <= 8


def test_the_csv_holds_all_rows_no_formula_and_is_recorded(client: Any, roles: Roles) -> None:
    for n, title in enumerate(("=1+1", "+x", "-x", "@x", "\tx", 'plain, "quoted"')):
        make_project(f"p{n}", title=title)
    roles.use("web")
    answer = client.get("/operate/projects.csv?sort=code")
    rows = list(csv.reader(io.StringIO(b"".join(answer.streaming_content).decode("utf-8-sig"))))
    assert answer["Content-Type"].startswith("text/csv") and "attachment" in answer["Content-Disposition"]
    titles = [row[1] for row in rows[1:]]
    assert titles == ["'=1+1", "'+x", "'-x", "'@x", "\\u0009x", 'plain, "quoted"']
    assert all(len(row) == len(rows[0]) == 14 for row in rows)
    assert AuditEvent.objects.get(action=Action.PROJECTS_EXPORTED).detail["filter"]["sort"] == "code"
    assert json.dumps(rows) and Project.objects.count() == 6
