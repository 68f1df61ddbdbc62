"""What the submit form offers for a field: jobs to wait for, folders of earlier ones, reservations; nothing foreign."""

from __future__ import annotations

from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.utils import timezone, translation

from access.roles import Role
from cluster.models.picture import Kept
from cluster.services import see_reservations
from jobs.models import Job
from jobs.services import picking
from slurm.contract import ReservationRecord
from tests.api import Caller, issue
from tests.factories import make_member, make_project
from tests.jobs.conftest import Bench
from tests.jobs.test_doors import Page, Sent
from tests.jobs.test_gpu_pages import browser


def pick(bench: Bench, what: str, who: Any = None, **query: str) -> str:
    """The part as htmx fetches it."""
    found = browser(who or bench.user).get(f"/jobs/new/{what}", {"project": bench.project.code, **query})
    assert found.status_code == 200
    return " ".join(unescape(found.content.decode()).split())


def chosen(text: str, name: str) -> list[str]:
    """The options of the part's selects that are chosen."""
    return [one.split('"')[1] for one in text.split("<option value=")[1:] if " selected" in one.split(">")[0] + ">"]


def over(job: Job) -> Job:
    """It has ended."""
    for phase in ("handing", "accepted", "ended"):
        Job.objects.filter(pk=job.pk).update(phase=phase)
    Job.objects.filter(pk=job.pk).update(state="completed")
    return job


def test_ones_own_jobs_under_way_can_be_waited_for(bench: Bench) -> None:
    mine, done = bench.submit(name="mine"), over(bench.submit(name="done"))
    text = pick(bench, "after")
    assert f'<option value="ok:{mine.pk}">' in text
    assert f'<option value="any:{mine.pk}">' in text
    assert f'<option value="notok:{mine.pk}">' in text
    assert str(done.pk) not in text
    found = pick(bench, "after", q="don")
    assert f"ok:{done.pk}" in found
    assert "mine" not in found
    assert "<input" not in found  # rows only: what is typed stays where it is
    assert "No job of the last three months" in pick(bench, "after", q="nothing")


def test_what_is_chosen_stays_whatever_is_searched(bench: Bench) -> None:
    first, second = bench.submit(name="first"), bench.submit(name="second")
    said = {"after": f"any:{first.pk} ok:0193 nonsense"}
    text = pick(bench, "after", **said)
    assert chosen(text, "after") == [f"any:{first.pk}"]
    assert 'value="ok:0193 nonsense"' in text
    found = pick(bench, "after", q="second", **said)
    assert chosen(found, "after") == [f"any:{first.pk}"]
    assert found.index(str(first.pk)) < found.index(str(second.pk))


def test_somebody_elses_job_is_found_in_the_project_and_a_strangers_never(bench: Bench) -> None:
    mate = make_member(bench.project)
    job = bench.submit(name="theirs")
    assert "theirs" not in pick(bench, "after", who=mate)
    assert f"ok:{job.pk}" in pick(bench, "after", who=mate, q="theirs")
    assert f"ok:{job.pk}" in pick(bench, "after", who=mate, q=bench.user.username)
    other = make_project("outro")
    stranger = make_member(other)
    for query in ({"q": "theirs"}, {"after": f"ok:{job.pk}"}):
        text = browser(stranger).get("/jobs/new/after", {"project": other.code, **query}).content.decode()
        assert "theirs" not in text
        assert text.count(str(job.pk)) == ("after" in query)  # as typed, in the field


@pytest.mark.parametrize("what", ["after", "datasets", "folder", "reservation", "software"])
def test_who_may_not_submit_is_offered_nothing(bench: Bench, what: str) -> None:
    reader = make_member(bench.project, Role.VIEWER)
    stranger = make_member(make_project("outro"))
    for who, status in ((reader, 403), (stranger, 404)):
        found = browser(who).get(f"/jobs/new/{what}", {"project": bench.project.code})
        assert found.status_code == status


def test_the_rows_are_bounded_and_cost_the_same(bench: Bench, django_assert_max_num_queries: Any) -> None:
    for n in range(12):
        bench.submit(name=f"job {n}", folder=f"runs/{n}")
    client = browser(bench.user)
    for what, field in (("after", 'name="after"'), ("folder", "runs/")):
        with django_assert_max_num_queries(8):
            text = client.get(f"/jobs/new/{what}", {"project": bench.project.code, what: ""}).content.decode()
        assert text.count("<li" if what == "after" else '<option value="runs/') == 8, field


def test_noise_in_a_field_is_no_error(bench: Bench) -> None:
    for noise in ("\x00", "ok:", ":" * 5000, "ok:00000000-0000-7000-8000-000000000000", "'\"><script>"):
        for what in ("after", "datasets", "folder", "reservation", "software"):
            assert "<script>" not in browser(bench.user).get(
                f"/jobs/new/{what}", {"project": bench.project.code, what: noise, "q": noise}
            ).content.decode()  # fmt: skip


def test_the_folders_of_ones_own_earlier_jobs_newest_first(bench: Bench) -> None:
    for name, folder in (("old", "runs/a"), ("new", "runs/b"), ("again", "runs/a"), ("none", "")):
        bench.submit(name=name, folder=folder)
    text = pick(bench, "folder", folder="runs/b")
    assert text.index("again") < text.index("new")
    assert text.count('<option value="runs/a"') == 1
    assert '<option value="runs/b" selected' in text
    assert "runs/" not in pick(bench, "folder", who=make_member(bench.project))
    assert 'id="id_folder" name="folder" value="x"' in pick(bench, "folder", who=make_member(bench.project), folder="x")


def reserve(bench: Bench, **who: tuple[str, ...]) -> None:
    """One reservation for these, and one that is over."""
    now = timezone.now()
    bench.cluster.refresh_from_db()
    see_reservations(bench.cluster, [
        ReservationRecord("course", now, now + timedelta(days=1), ("gpu01", "gpu02"), **who),
        ReservationRecord("past", now - timedelta(days=2), now - timedelta(days=1), ("gpu01",), **who),
    ])  # fmt: skip


def test_a_reservation_is_offered_to_whom_slurm_lets_in(bench: Bench) -> None:
    assert "No reservation of nodes is open" in pick(bench, "reservation")
    reserve(bench, accounts=("other", bench.project.slurm_account))
    text = pick(bench, "reservation", reservation="course")
    assert '<option value="course" selected>course' in text
    assert "2 nodes" in text
    assert "past" not in text
    assert "other" not in text  # whom else it is for is nobody's business
    assert '<option value="own" selected>' in pick(bench, "reservation", reservation="own")
    reserve(bench, users=("somebody",))
    assert "course" not in pick(bench, "reservation")


@pytest.mark.parametrize(
    ("users", "accounts", "lets"),
    [((), (), False), (("ana",), (), True), (("eva",), (), False), ((), ("ipe",), True), (("ana",), ("oak",), False),
     (("ana",), ("ipe",), True), (("-ana",), (), False), (("-eva",), (), True), ((), ("-ipe",), False)],
)  # fmt: skip
def test_users_and_accounts_of_a_reservation_must_both_fit(users: Any, accounts: Any, lets: bool) -> None:
    now = timezone.now()
    assert Kept("r", now, now, (), users, accounts).is_for("ana", "ipe") is lets


def test_the_form_has_plain_fields_and_the_parts_send_what_they_do(bench: Bench) -> None:
    """What a part's controls send, joined, is what the plain field takes."""
    first = bench.submit(name="first")
    form = Page(browser(bench.user), project=bench.project.code)
    assert all(name in Sent(form.text).values for name in ("after", "datasets", "folder", "reservation"))
    values = Sent(form.text).values | {"name": "next", "partition": "gpu", "gpus": "1"}
    sent = values | {"after": ["", f"ok:{first.pk}", ""], "datasets": ["", ""]}
    answer = browser(bench.user).post("/jobs/new", sent)
    assert answer.status_code == 302, answer.content.decode()[:3000]
    assert Job.objects.latest("created_at").options["after"] == [{"kind": "ok", "job": str(first.pk)}]


def test_the_api_offers_the_same(bench: Bench) -> None:
    job = bench.submit(name="first", folder="runs/a")
    reserve(bench, users=(bench.user.username,))
    found = Caller(issue(bench.user)).get(f"/jobs/offers?project={bench.project.code}").json()
    assert [one["id"] for one in found["jobs"]] == [str(job.pk)]
    assert [(one["path"], one["job"]) for one in found["folders"]] == [("runs/a", "first")]
    assert [one["name"] for one in found["reservations"]] == ["course"]
    assert found["datasets"] == []
    none = Caller(issue(bench.user)).get(f"/jobs/offers?project={bench.project.code}&q=zzz").json()
    assert none["jobs"] == []
    reader = make_member(bench.project, Role.VIEWER)
    assert Caller(issue(reader)).get(f"/jobs/offers?project={bench.project.code}").status_code == 403


def test_the_request_names_the_jobs_it_waits_for(bench: Bench) -> None:
    job = bench.submit(name="first")
    form = Page(browser(bench.user), project=bench.project.code)
    values = Sent(form.text).values | {"name": "next", "partition": "gpu", "gpus": "1", "after": f"notok:{job.pk}"}
    text = browser(bench.user).post("/jobs/new/check?look=1", values).content.decode()
    assert "<dd>first (after it has failed)</dd>" in text
    assert f"notok:{job.pk}" in text  # as a line of the script
    stranger = make_member(make_project("outro"))
    with translation.override("en"):
        assert picking.named(f"ok:{job.pk} x", by=stranger) == f"ok:{job.pk}, x"
