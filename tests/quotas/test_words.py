"""What Slurm is told, or has instead, in words anybody understands; and what the next comparison would do."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone, translation

from access.roles import Role
from portal.templatetags.quotas import burn
from projects.models import Project
from quotas import panels, standing, words
from quotas import services as quotas
from quotas.models import Allocation, Enforcement
from quotas.services import applying
from quotas.services.rehearsing import rehearse
from slurm import fake
from tests.factories import make_allocation, make_member
from tests.quotas.test_panels import used


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    with translation.override("en"):
        yield


TITLES = {"visao-main": "Main"}


def step(kind: str, changes: list[list[Any]], **more: Any) -> dict[str, Any]:
    return {"kind": kind, "user": "", "partition": "", "qos": "", "removes": False, "changes": changes} | more


def test_the_same_on_several_queues_is_said_once() -> None:
    change = [["gpus_at_once", None, 2], ["gpu_minutes", 6000, 90]]
    lines = [step("change_user", change, user="ana", partition=name) for name in ("gpu", "prep")]
    [said] = words.steps(lines, TITLES)
    assert (said.text, said.queues) == ("What ana may use changes.", "on the queues gpu, prep")
    assert [(line.name, line.before, line.after) for line in said.lines] == [
        ("GPUs at once", "no limit", "2"), ("GPU-hours since the first day in the project", "100", "1.5"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "more", "text"),
    [
        ("add_qos", {"qos": "visao-main"}, "The allocation “Main” becomes known to Slurm."),
        ("change_qos", {"qos": "visao-main"}, "The limits of the allocation “Main” change."),
        ("change_qos", {"qos": "x", "removes": True}, "The allocation “x” takes no new jobs any more."),
        ("add_account", {}, "The project becomes known to Slurm."),
        ("change_account", {}, "The limits of the project as a whole change."),
        ("add_user", {"user": "ana"}, "ana may submit jobs for the project."),
        ("stop_user", {"user": "ana"}, "ana may submit no new jobs for the project."),
    ],
)
def test_each_kind_of_step_has_its_sentence(kind: str, more: dict[str, Any], text: str) -> None:
    [said] = words.steps([step(kind, [["qos", None, ["visao-main"]], ["no_decay", None, True]], **more)], TITLES)
    assert said.text == text
    assert [line.after for line in said.lines] == ["Main", "yes"]


def test_differences_name_both_sides() -> None:
    line = {
        "user": "",
        "partition": "",
        "qos": "visao-main",
        "field": "gpus_by_type",
        "wanted": {"h100": 4},
        "there": {},
    }
    gone = {"user": "ana", "partition": "gpu", "qos": "", "field": "missing", "wanted": "", "there": None}
    said = words.differences([line, gone], TITLES)
    assert [(one.text, one.lines[0].before, one.lines[0].after) for one in said] == [
        ("Allocation “Main”", "H100 4", "no limit"), ("ana", "there", "not there"),
    ]  # fmt: skip


@pytest.mark.django_db
def test_how_a_project_stands(project: Project, settings: Any) -> None:
    assert standing.of(project).state == "pending"
    row = Enforcement.objects.create(project=project, change_applied=10**6, checked_at=timezone.now())
    fresh = Project.objects.select_related("enforcement").get()
    assert standing.of(fresh).state == "applied"
    for fields, state in (({"differences": [{}]}, "differs"), ({"error": "no"}, "failed")):
        Enforcement.objects.filter(pk=row.pk).update(**fields)
        assert standing.of(Project.objects.select_related("enforcement").get()).state == state
    settings.RECONCILE = "observe"
    assert standing.of(fresh).state == "observed"


@pytest.mark.django_db
def test_a_rehearsal_tells_nothing_and_foresees_what_is_told(
    project: Project, slurm: fake.Cluster, settings: Any
) -> None:
    allocation = make_allocation(project)
    make_member(project, Role.PI)
    [foreseen] = rehearse()
    assert {one["kind"] for one in foreseen.steps} >= {"add_qos", "add_account", "add_user"} and not foreseen.shown
    assert applying.apply() == 1
    assert rehearse() == []
    quotas.change_allocation(allocation=allocation, by=None, gpus_at_once=4)
    assert [[one["kind"] for one in row.steps] for row in rehearse()] == [["change_qos"]]
    settings.RECONCILE = "observe"
    assert [(list(row.steps), [one["kind"] for one in row.shown]) for row in rehearse()] == [([], ["change_qos"])]


@pytest.mark.django_db
def test_another_hands_change_is_told_only_where_it_is_restored(
    project: Project, slurm: fake.Cluster, settings: Any
) -> None:
    make_allocation(project)
    applying.apply()
    row = Enforcement.objects.get()
    row.seen["qos"][f"{project.code}-main"]["gpus_at_once"] = 16
    row.save()
    [foreseen] = rehearse()
    assert not foreseen.steps and [one["kind"] for one in foreseen.shown] == ["change_qos"]
    settings.RECONCILE = "restore"
    [foreseen] = rehearse()
    assert [one["kind"] for one in foreseen.steps] == ["change_qos"] and not foreseen.shown


@pytest.mark.django_db
def test_the_drawing_says_what_it_shows(project: Project) -> None:
    allocation = make_allocation(project, gpu_minutes=100 * 60)
    davi = make_member(project)
    used(allocation, davi, 60, days_ago=3)
    [line] = panels.of_project(project, davi)
    drawn = burn(line)
    assert "Use of Main over its period: 60 GPU·h up to today. At this rate it lasts until" in drawn
    assert 'class="c-ahead"' in drawn and "used up" in drawn and 'class="c-limit"' in drawn
    coming = {"starts_on": timezone.now().date() + timedelta(days=3), "gpu_minutes": None}
    Allocation.objects.filter(pk=allocation.pk).update(**coming)
    [line] = panels.of_project(project, davi)
    assert burn(line) == ""
