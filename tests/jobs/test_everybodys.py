"""The list of the whole cluster tells of strangers' jobs what the site allows and no more; its columns are one's choice."""

from __future__ import annotations

from typing import Any

import pytest

from jobs import columns
from jobs.models import Job, SavedView
from jobs.services import others
from jobs.states import State
from tests.factories import make_allocation, make_member, make_project
from tests.jobs.conftest import Bench
from tests.pages import signed_in

EN = {"Accept-Language": "en"}
WORDS = ("hushname", "hushhush", "hush-title")


@pytest.fixture
def strangers(bench: Bench) -> Job:
    """Of another project: whatever names it has a word of WORDS in it."""
    project = make_project("hushhush")
    type(project).objects.filter(pk=project.pk).update(title="hush-title")
    project.refresh_from_db()
    make_allocation(project)
    other = Bench.__new__(Bench)
    other.__dict__.update(bench.__dict__)
    other.project, other.user = project, make_member(project)
    return other.submit(name="hushname", gpus=2)


def page(bench: Bench, query: str) -> str:
    return signed_in(bench.user).get(f"/jobs/?{query}", headers=EN).text


def body(text: str) -> str:
    """The rows alone."""
    return text.partition("<tbody>")[2].partition("</tbody>")[0]


EVERY = "&".join(f"col={name}" for name in columns.COLUMNS)


def test_of_strangers_the_usual_facts_and_no_name(bench: Bench, strangers: Job) -> None:
    own = bench.submit(name="alpha")
    rows = body(page(bench, f"whose=cluster&{EVERY}"))
    assert rows.count("<tr") == 2 and str(own.pk) in rows and str(strangers.pk) not in rows
    assert "another project" in rows and "2 × A100" in rows
    assert not [word for word in (*WORDS, strangers.owner_login) if word in rows]
    assert "another project" not in page(bench, "whose=all")


def test_nobody_filters_by_what_is_not_shown(bench: Bench, strangers: Job) -> None:
    for query in ("q=hushname", f"person={strangers.owner_login}", "project=hushhush", "q=nothing", "person=nobody"):
        assert body(page(bench, f"whose=cluster&{query}")).count("<tr") == 1, query
    assert body(page(bench, "whose=cluster&gpu=h100")) == ""
    assert body(page(bench, f"whose=cluster&state={State.FAILED}")) == ""


def test_what_the_site_allows_more_or_less(bench: Bench, strangers: Job, settings: Any) -> None:
    settings.OTHERS_JOBS = ["project", "login", "name", "script"]
    rows = body(page(bench, f"whose=cluster&{EVERY}"))
    assert "hush-title" in rows and strangers.owner_login in rows and "hushname" not in rows and "A100" not in rows
    assert body(page(bench, f"whose=cluster&person={strangers.owner_login}")).count("<tr") == 1
    assert body(page(bench, f"whose=cluster&state={State.FAILED}")).count("<tr") == 1, "the state is not told"
    settings.OTHERS_JOBS = []
    shown = page(bench, "whose=cluster")
    assert "another project" not in shown and 'value="cluster"' not in shown and others.allowed() == frozenset()


def test_ones_own_rows_stay_whole(bench: Bench) -> None:
    own = bench.submit(name="alpha")
    rows = body(page(bench, "whose=cluster"))
    assert f'href="{own.get_absolute_url()}"' in rows and ">alpha</a>" in rows


def test_columns_are_chosen_and_kept_with_the_view(bench: Bench) -> None:
    bench.submit(name="alpha")
    shown = page(bench, "col=partition&col=limit&col=nonsense")
    head = shown.partition("<thead>")[2].partition("</thead>")[0]
    assert "Partition" in head and "Time limit" in head and "Duration" not in head
    assert body(shown).count("<td") == 3
    signed_in(bench.user).post("/jobs/views", {"name": "mine", "query": "col=partition&col=limit&before=x"})
    assert SavedView.objects.get().query == "col=partition&col=limit"
    assert columns.chosen([]) == list(columns.USUAL) and columns.chosen(["x"]) == list(columns.USUAL)


def test_asking_again_for_an_open_list_is_small(bench: Bench) -> None:
    for number in range(51):
        bench.submit(name=f"a-long-name-of-a-training-run-{number:03d}", gpus=0, cpus=1, memory_gb=1)
    part = signed_in(bench.user).get("/jobs/?whose=all", headers={**EN, "HX-Request": "true"})
    assert len(part.content) <= 50_000 and part.text.count("<tr") == 51
    assert 'data-refresh="15"' in part.text, "it is asked for again while something moves"


def test_what_others_wrote_stands_in_a_row_as_text(bench: Bench, strangers: Job) -> None:
    hostile = "<img src=x onerror=alert(1)>\"'&"
    job = bench.submit(name="alpha")
    Job.objects.filter(pk__in=(job.pk, strangers.pk)).update(alias=hostile, node_list=hostile)
    type(job.project).objects.update(title=hostile)
    rows = body(page(bench, f"whose=cluster&{EVERY}"))
    assert "<img" not in rows and "\"'&" not in rows
    assert rows.count("&lt;img src=x onerror=alert(1)&gt;&quot;") == 4
