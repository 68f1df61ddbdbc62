"""GET /jobs and the end of one: pages without gap or double, filters, cancelling."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from access.ids import uuid7
from jobs.models import Intent, IntentKind, Job, Phase
from jobs.states import State
from tests.api import World, caller, make_world
from tests.conftest import Roles
from tests.factories import make_project


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def more(world: World, count: int, **fields: object) -> list[Job]:
    """Jobs like the world's."""
    first = world.job
    plain = {
        "cluster": first.cluster, "project": world.project, "owner": world.owner, "owner_login": "x", "name": "more",
        "partition": "gpu", "digest": "d",
    }  # fmt: skip
    return [Job.objects.create(**(plain | fields)) for _ in range(count)]


def test_pages_hold_every_job_once_newest_first_while_new_ones_come(world: World, roles: Roles) -> None:
    made = [str(job.pk) for job in [world.job, *more(world, 6)]]
    who = caller(world.owner)
    roles.use("web")
    seen, cursor = [], ""
    while True:
        page = who.get(f"/jobs?limit=3{cursor}").json()
        seen += [item["id"] for item in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
        roles.use(None)
        more(world, 1)
        roles.use("web")
    assert seen == made[::-1]


def test_filters(world: World, roles: Roles) -> None:
    other = make_project("cobalto", members={world.owner: "pi"})
    (theirs,) = more(world, 1, owner=world.person("pi"), owner_login="pia", state=State.RUNNING, phase=Phase.ACCEPTED)
    (elsewhere,) = more(world, 1, project=other)
    (over,) = more(world, 1, state=State.FAILED, phase=Phase.ENDED)
    who = caller(world.owner)
    roles.use("web")

    def ids(query: str) -> set[str]:
        return {item["id"] for item in who.get(f"/jobs?{query}").json()["items"]}

    everything = {str(job.pk) for job in (world.job, theirs, elsewhere, over)}
    assert ids("") == everything
    assert ids("mine=true") == everything - {str(theirs.pk)}
    assert ids("project=cobalto") == {str(elsewhere.pk)}
    assert ids("state=failed") == {str(over.pk)}
    assert ids("state=open") == everything - {str(over.pk)}
    assert ids("state=running&project=aurora&mine=false") == {str(theirs.pk)}
    assert ids("owner=pia") == {str(theirs.pk)} and ids("gpu_type=h100") == set()
    today = timezone.localdate()
    assert ids(f"since={today}&until={today}") == everything
    assert ids(f"since={today + timedelta(days=1)}") == ids(f"until={today - timedelta(days=1)}") == set()
    assert ids("since=0001-01-01&until=9999-12-31") == everything


def test_a_name_and_a_note_are_told_and_found_by(world: World, roles: Roles) -> None:
    more(world, 1)
    Job.objects.filter(pk=world.job.pk).update(slurm_job_id=4711)
    who = caller(world.owner)
    roles.use("web")
    who.patch(f"/jobs/{world.job.pk}/label", {"name": "Baseline A", "note": "for the paper"})
    for text in ("baseline", "the%20paper", world.job.name):
        found = who.get(f"/jobs?text={text}").json()["items"]
        assert [(one["alias"], one["note"]) for one in found][-1:] == [("Baseline A", "for the paper")], text
    assert who.get("/jobs?text=nowhere").json()["items"] == []
    assert [one["id"] for one in who.get("/jobs?text=4711").json()["items"]] == [str(world.job.pk)]


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=201",
        "limit=x",
        "cursor=7",
        "state=owner__token",
        "mine=perhaps",
        "project=a%00b",
        "state=%00",
        "since=2026-02-31",
        "until=yesterday",
        "text=%00",
    ],
)
def test_a_filter_that_is_none_is_named(world: World, roles: Roles, query: str) -> None:
    who = caller(world.owner)
    roles.use("web")
    answer = who.get(f"/jobs?{query}")
    assert (answer.status_code, list(answer.json()["errors"])) == (422, [query.split("=")[0]])


def test_a_waiting_job_says_why_in_both_kinds_of_words(world: World, roles: Roles) -> None:
    Job.objects.filter(pk=world.job.pk).update(reason="Priority", state=State.WAITING, slurm_states=["PENDING"])
    who = caller(world.owner)
    roles.use("web")
    told = who.get(f"/jobs/{world.job.pk}").json()
    assert (told["reason"], told["slurm_states"], told["state_label"]) == ("Priority", ["PENDING"], "waiting")
    assert told["reason_label"]


def test_a_job_that_is_over_says_how_it_ended_and_not_slurms_word(world: World) -> None:
    for phase in ("handing", "accepted", "ended"):
        Job.objects.filter(pk=world.job.pk).update(phase=phase)
    Job.objects.filter(pk=world.job.pk).update(state=State.FAILED, reason="NonZeroExitCode", exit_code=127)
    who = caller(world.owner)
    told, why = who.get(f"/jobs/{world.job.pk}").json(), who.get(f"/jobs/{world.job.pk}/why").json()
    assert "exit code 127" in told["reason_label"] and told["reason"] == "NonZeroExitCode"
    assert not why["waits"] and why["sentence"] == told["reason_label"] and why["who"] and why["hint"]
    Job.objects.filter(pk=world.job.pk).update(state=State.COMPLETED, reason="None", exit_code=0)
    assert who.get(f"/jobs/{world.job.pk}").json()["reason_label"] == ""
    assert who.get(f"/jobs/{world.job.pk}/why").json()["sentence"] == ""


def test_cancelling_is_an_intent_and_asking_twice_changes_nothing(world: World, roles: Roles) -> None:
    who = caller(world.owner)
    roles.use("web")
    first, second = (who.post(f"/jobs/{world.job.pk}/cancel") for _ in range(2))
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json()["cancel_asked_at"] == second.json()["cancel_asked_at"] is not None
    assert Intent.objects.filter(job=world.job, kind=IntentKind.CANCEL).count() == 1


def test_what_is_over_cannot_be_cancelled(world: World, roles: Roles) -> None:
    (over,) = more(world, 1, phase=Phase.ENDED, state=State.COMPLETED)
    who = caller(world.owner)
    roles.use("web")
    answer = who.post(f"/jobs/{over.pk}/cancel")
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:bancada:problem:already-over")
    assert who.post(f"/jobs/{uuid7()}/cancel").status_code == 404
    assert who.get("/jobs/not-an-id").status_code == 404
