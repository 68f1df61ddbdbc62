"""The list's filters, saved views, the archive and the star."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from access.roles import Role, SiteRole
from jobs.models import Job, SavedView
from jobs.services import acts, finding
from jobs.states import Phase, State
from tests.api import caller
from tests.factories import make_member, make_project, make_user
from tests.jobs.conftest import Bench
from tests.pages import signed_in

EN = {"Accept-Language": "en"}


@pytest.fixture
def jobs(bench: Bench) -> list[Job]:
    """Three of one person, one of another."""
    made = [bench.submit(name=name) for name in ("alpha", "beta", "gamma")]
    other = Bench.__new__(Bench)
    other.__dict__.update(bench.__dict__)
    other.user = make_member(bench.project)
    return [*made, other.submit(name="delta", gpus=0)]


def shown(bench: Bench, query: str) -> set[str]:
    page = signed_in(bench.user).get(f"/jobs/?{query}", headers=EN).content.decode()
    return {name for name in ("alpha", "beta", "gamma", "delta") if f">{name}</a>" in page}


def test_whose_and_by_whom(bench: Bench, jobs: list[Job]) -> None:
    assert shown(bench, "") == {"alpha", "beta", "gamma"}
    assert shown(bench, "whose=all") == {"alpha", "beta", "gamma", "delta"}
    assert shown(bench, f"whose=all&person={jobs[3].owner_login}") == {"delta"}
    acts.star(job=jobs[3], by=bench.user)
    assert shown(bench, "whose=starred") == {"delta"}


def test_gpu_type_and_days(bench: Bench, jobs: list[Job]) -> None:
    today = timezone.localdate()
    assert shown(bench, "whose=all&gpu=a100") == {"alpha", "beta", "gamma"}
    assert shown(bench, f"since={today}&until={today}") == {"alpha", "beta", "gamma"}
    assert shown(bench, f"since={today + timedelta(days=1)}") == set()
    assert shown(bench, f"until={today - timedelta(days=1)}") == set()
    assert shown(bench, "since=0001-01-01&until=9999-12-31") == {"alpha", "beta", "gamma"}
    assert shown(bench, "since=2026-02-31&until=nonsense") == {"alpha", "beta", "gamma"}


def test_by_the_name_people_gave_and_by_their_note(bench: Bench, jobs: list[Job]) -> None:
    acts.label(job=jobs[0], by=bench.user, alias="Baseline A", note="for the paper 50%")
    page = signed_in(bench.user).get("/jobs/?q=baseline", headers=EN).content.decode()
    assert ">Baseline A</a>" in page and ">beta</a>" not in page
    for text in ("alpha", "THE PAPER", "50%25"):
        assert "Baseline A" in signed_in(bench.user).get(f"/jobs/?q={text}", headers=EN).content.decode(), text


@pytest.mark.parametrize("text", ["%", "--", "★", "_._", " - "])
def test_signs_alone_are_not_searched_for_and_that_is_said(bench: Bench, jobs: list[Job], text: str) -> None:
    """No index knows them: among a million jobs each would be looked at."""
    acts.label(job=jobs[0], by=bench.user, alias=f"a {text} b", note="")
    client, query = signed_in(bench.user), urlencode({"q": text})
    with CaptureQueriesContext(connection) as asked:
        page = client.get(f"/jobs/?{query}", headers=EN)
    assert "Search for at least one letter or digit" in page.text and 'name="job"' not in page.text
    assert not [one["sql"] for one in asked if "LIKE" in one["sql"]]
    assert len(list(client.get(f"/jobs/list.csv?{query}").streaming_content)) == 1
    refused = caller(bench.user).get(f"/jobs?{urlencode({'text': text})}")
    assert refused.status_code == 422 and "letter or digit" in refused.json()["errors"]["text"][0]
    assert "a " in client.get(f"/jobs/?{urlencode({'q': f'a {text}'})}", headers=EN).text


def test_a_number_is_slurms_or_in_a_name_and_a_login_is_its_persons(bench: Bench, jobs: list[Job]) -> None:
    Job.objects.filter(pk=jobs[0].pk).update(slurm_job_id=4711)
    acts.label(job=jobs[1], by=bench.user, alias="", note="like 4711 without decay")
    assert shown(bench, "q=4711") == {"alpha", "beta"}
    assert shown(bench, f"whose=all&q={jobs[3].owner_login}") == {"delta"}
    assert shown(bench, f"whose=all&q={jobs[3].owner_login[:-1]}") == set(), "only a whole one"


def test_of_one_or_two_letters_the_beginning_of_a_word_counts(bench: Bench, jobs: list[Job]) -> None:
    assert shown(bench, "q=B") == shown(bench, "q=be") == {"beta"}
    assert shown(bench, "q=ta") == set()
    acts.label(job=jobs[2], by=bench.user, alias="", note="for the_paper")
    assert shown(bench, "q=th") == shown(bench, "q=PA") == {"gamma"}
    assert shown(bench, "q=eta") == {"beta"}


@pytest.mark.parametrize("text", ["train", "tr", "7", "4711", "a-b"])
def test_text_is_found_by_indexes_alone(bench: Bench, text: str) -> None:
    """However many jobs there are: none of these needs to look at every row."""
    found = Job.objects.filter(finding.saying(text)).order_by()
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        try:
            plan = found.explain()
        finally:
            cursor.execute("RESET enable_seqscan")
    assert "Seq Scan" not in plan and plan.count("on job_words") >= 3, plan


def test_all_that_one_may_see_is_the_same_in_few_projects_in_many_and_in_none(bench: Bench, jobs: list[Job]) -> None:
    everything = {"alpha", "beta", "gamma", "delta"}
    assert shown(bench, "whose=all") == everything
    mate = make_member(bench.project)
    for _ in range(finding.SEVERAL + 1):
        make_project(members={mate: Role.VIEWER})
    assert finding.only_in(mate) is None and finding.only_in(bench.user) == [bench.project.pk]
    bench.user = mate
    assert shown(bench, "whose=all") == everything
    bench.user = make_user()
    assert finding.only_in(bench.user) == [] and shown(bench, "whose=all") == shown(bench, "whose=all&q=alpha") == set()
    bench.user = make_user(site_role=SiteRole.OPERATOR)
    assert shown(bench, "whose=all") == everything


def test_the_note_is_a_column_of_ones_choice(bench: Bench, jobs: list[Job]) -> None:
    acts.label(job=jobs[0], by=bench.user, alias="", note="<b>for the paper</b>")
    page = signed_in(bench.user).get("/jobs/?col=note&col=state", headers=EN).content.decode()
    assert "&lt;b&gt;for the paper&lt;/b&gt;" in page
    assert "for the paper" not in signed_in(bench.user).get("/jobs/", headers=EN).content.decode()


def test_a_filter_that_nothing_fits_says_so(bench: Bench, jobs: list[Job]) -> None:
    for query in ("gpu=h100", "since=2001-01-01&until=2001-01-02", "whose=starred", "q=nothing"):
        assert "No job fits" in signed_in(bench.user).get(f"/jobs/?{query}", headers=EN).content.decode(), query


def test_the_archive_is_out_of_the_way(bench: Bench, jobs: list[Job]) -> None:
    Job.objects.filter(pk=jobs[0].pk).update(phase=Phase.REFUSED, state=State.REFUSED)
    acts.archive(job=jobs[0], by=bench.user)
    assert shown(bench, "") == {"beta", "gamma"}
    assert shown(bench, "archived=yes") == {"alpha", "beta", "gamma"}


def test_views_are_kept_by_name_and_are_ones_own(bench: Bench, jobs: list[Job]) -> None:
    client = signed_in(bench.user)
    client.post("/jobs/views", {"name": "mine failed", "query": "state=failed&before=x"})
    assert SavedView.objects.get().query == "state=failed"
    assert "mine failed" in client.get("/jobs/", headers=EN).content.decode()
    assert "mine failed" not in signed_in(jobs[3].owner).get("/jobs/", headers=EN).content.decode()
    client.post("/jobs/views", {"name": "mine failed", "remove": "yes"})
    assert not SavedView.objects.exists()


def test_two_chosen_are_compared(bench: Bench, jobs: list[Job]) -> None:
    client = signed_in(bench.user)
    answer = client.post("/jobs/acts", {"act": "compare", "job": [str(jobs[1].pk), str(jobs[0].pk)]})
    assert answer["Location"] == f"/jobs/compare?a={jobs[0].pk}&b={jobs[1].pk}"
    assert client.post("/jobs/acts", {"act": "compare"})["Location"] == "/jobs/"
