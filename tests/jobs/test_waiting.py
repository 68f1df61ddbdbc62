"""Why a job waits, with numbers."""

from __future__ import annotations

import html
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone, translation

from cluster.models import Node, Partition
from jobs.models import Job, Phase
from jobs.services import waiting
from jobs.states import State
from quotas import services as quotas
from tests.jobs.conftest import Bench
from tests.pages import signed_in


@pytest.fixture(autouse=True)
def in_english() -> Iterator[None]:
    with translation.override("en"):
        yield


def waits(bench: Bench, reason: str, **changes: object) -> Job:
    job = bench.submit(**changes)
    Job.objects.filter(pk=job.pk).update(phase=Phase.HANDING)
    Job.objects.filter(pk=job.pk).update(phase=Phase.ACCEPTED, state=State.WAITING, reason=reason)
    return Job.objects.select_related("allocation", "project", "owner").get(pk=job.pk)


def running(bench: Bench, minutes_left: int, gpus: int = 4) -> None:
    job = bench.submit()
    began = timezone.now() - timedelta(minutes=60 - minutes_left)
    Job.objects.filter(pk=job.pk).update(phase=Phase.HANDING)
    Job.objects.filter(pk=job.pk).update(
        phase=Phase.ACCEPTED, state=State.RUNNING, started_at=began, allocated_gpus=gpus
    )


def said(job: Job) -> str:
    found = waiting.why(job)
    return " ".join(str(one) for one in found.numbers) if found else ""


def test_gpus_at_once_of_the_allocation(db: None) -> None:
    bench = Bench(gpus_at_once=8)
    running(bench, 30)
    running(bench, 20)
    job = waits(bench, "QOSGrpGRES")
    who = f"In use by {bench.user.username} 8."
    assert said(job) == f"The allocation uses 8 of 8 GPUs. {who} 2 jobs end within 40 minutes."


def test_the_next_end_where_none_is_soon(bench: Bench) -> None:
    running(bench, 59)
    assert "The next one ends in 59 minutes at the latest." in said(waits(bench, "AssocGrpGRES"))


def test_hours_left(db: None) -> None:
    bench = Bench(gpu_minutes=6000)
    who = f"Committed by jobs under way, GPU-hours: {bench.user.username} 2."
    assert said(waits(bench, "QOSGrpGRESMinutes")) == (
        f"It could use 2.0 GPU-hours. 100.0 of 100 GPU-hours of the allocation are left. {who}"
    )


@pytest.mark.parametrize(
    ("share", "reason", "words"),
    [
        (
            {"gpus_at_once": 4},
            "AssocGrpBilling",
            "On the queue gpu this person's jobs use 4 of the 4 GPUs of their share.",
        ),
        ({"gpus_by_type": {"a100": 5}}, "AssocGrpGRES", "this person's jobs use 4 of the 5 GPUs of their share."),
        ({"gpu_minutes": 90}, "AssocGrpBillingMinutes", "1.5 of 1.5 GPU-hours of this person's share are left."),
        (
            {"gpu_minutes_by_type": {"a100": 90}},
            "AssocGrpGRESMinutes",
            "A100: 1.5 of 1.5 GPU-hours of this person's share",
        ),
        ({"jobs_running": 1}, "AssocMaxJobsLimit", "This person's share lets 1 jobs run at once, and 1 do."),
        ({"longest_minutes": 30}, "AssocMaxWallDurationPerJobLimit", "It asks for 1.0 hours; at most 0.5 are given."),
    ],
)
def test_a_share_that_slurm_stops_at_is_named_with_its_figures(
    bench: Bench, share: dict[str, Any], reason: str, words: str
) -> None:
    running(bench, 30)
    job = waits(bench, reason)
    quotas.set_share(allocation=job.allocation, user=bench.user, by=None, **share)
    assert words in said(job)


@pytest.mark.parametrize(
    ("limits", "reason", "words"),
    [
        ({"jobs_running": 1}, "QOSGrpJobsLimit", "The allocation lets 1 jobs run at once, and 1 do. In use by"),
        ({"gpus_by_type": {"a100": 4}}, "QOSGrpGRES", "Of the type A100 it gives 4 at once."),
        ({"longest_minutes": 60}, "QOSMaxWallDurationPerJobLimit", "It asks for 1.0 hours; at most 1.0 are given."),
    ],
)
def test_a_limit_of_the_allocation_is_named_with_its_value_and_by_whom_it_is_used(
    db: None, limits: dict[str, Any], reason: str, words: str
) -> None:
    bench = Bench(**limits)
    running(bench, 30)
    assert words in said(waits(bench, reason))


def test_one_persons_share(bench: Bench) -> None:
    running(bench, 30)
    assert "This person's jobs use 4 GPUs." in said(waits(bench, "QOSMaxGRESPerUser"))


def test_the_partition(bench: Bench) -> None:
    names = Partition.objects.get(name="gpu").node_names or ["gpu01", "gpu02"]
    Partition.objects.filter(name="gpu").update(node_names=names)
    Node.objects.filter(name__in=names).delete()
    for place, name in enumerate(names):
        Node.objects.create(
            cluster=bench.cluster,
            name=name,
            states=["DOWN"] if place else ["MIXED"],
            gpu_types={"a100": 4},
            gpus_allocated=3,
        )
    waits(bench, "Resources")
    numbers = said(waits(bench, "Resources"))
    assert f"1 of {4 * len(names)} GPUs of the partition are free; it asks for 2." in numbers
    assert "1 job asked for earlier waits too." in numbers


def test_what_was_asked_for(bench: Bench) -> None:
    assert "4 of its 9 tasks run at once." in said(waits(bench, "JobArrayTaskLimit", array="1-9%4", gpus=0))
    later = (timezone.now() + timedelta(hours=2)).isoformat()
    assert "It asked not to start before" in said(waits(bench, "BeginTime", begin=later))


def test_when_slurm_means_to_start_it(bench: Bench) -> None:
    job = waits(bench, "Priority")
    assert "Slurm plans" not in said(job)
    job.planned_at = timezone.now() + timedelta(hours=3)
    when = timezone.localtime(job.planned_at)
    assert f"Slurm plans to start it at {when:%Y-%m-%d %H:%M};" in said(job)
    job.planned_at = timezone.now() - timedelta(minutes=1)
    assert "Slurm plans" not in said(job)


def test_it_stands_on_the_home_page_as_well(bench: Bench) -> None:
    job = waits(bench, "Priority")
    home = {"headers": {"Accept-Language": "en"}}
    assert "planned for" not in signed_in(bench.user).get("/", **home).text
    Job.objects.filter(pk=job.pk).update(planned_at=timezone.now() + timedelta(hours=3), alias="calm")
    page = signed_in(bench.user).get("/", **home).text
    assert "planned for" in page and ">calm</a>" in page


def test_what_does_not_wait_has_no_why(bench: Bench) -> None:
    assert waiting.why(bench.submit()) is None


def test_the_part_of_the_page(bench: Bench) -> None:
    running(bench, 30)
    job = waits(bench, "QOSGrpGRES")
    page = signed_in(bench.user).get(f"/jobs/{job.pk}/why", headers={"Accept-Language": "en"}).content.decode()
    assert "The allocation uses 4" in page


POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"


def refused(bench: Bench, words: str) -> Job:
    job = bench.submit()
    Job.objects.filter(pk=job.pk).update(phase=Phase.HANDING)
    Job.objects.filter(pk=job.pk).update(phase=Phase.REFUSED, state=State.REFUSED, refusal=words)
    return Job.objects.select_related("allocation", "project", "owner").get(pk=job.pk)


@pytest.mark.parametrize(
    ("limits", "share", "words"),
    [
        ({"jobs_submitted": 1}, {}, "The allocation lets 1 jobs be queued and running, and 1 are: {who} 1."),
        ({}, {"jobs_submitted": 1}, "This person's share is 1 jobs queued and running, and they have 1: {who} 1."),
        ({"gpus_at_once": 1}, {}, "It asks for 2 GPUs; at most 1 at once are given."),
        ({"longest_minutes": 30}, {}, "It asks for 1.0 hours; at most 0.5 are given."),
        ({}, {"gpu_minutes": 60}, "1.0 of 1 GPU-hours of this person's share are left."),
    ],
)
def test_what_slurm_refuses_for_a_limit_names_it_with_who_uses_it_and_who_can_raise_it(
    bench: Bench, limits: dict[str, int], share: dict[str, int], words: str
) -> None:
    running(bench, 30)  # as a job by ssh would be there, past the portal's own look
    job = refused(bench, POLICY)
    quotas.change_allocation(allocation=bench.allocation, by=None, **limits)
    if share:
        quotas.set_share(allocation=bench.allocation, user=bench.user, by=None, **share)
    job = Job.objects.select_related("allocation", "project", "owner").get(pk=job.pk)
    assert words.format(who=bench.user.username) in said(job)
    english = {"headers": {"Accept-Language": "en"}}
    page = signed_in(bench.user).get(job.get_absolute_url(), **english).text
    assert "A limit of the project&#x27;s allocation" in page and "the PI or a manager of the project" in page
    assert f'hx-get="/jobs/{job.pk}/why"' in page and POLICY.split(",")[0] in page
    assert words.format(who=bench.user.username) in html.unescape(
        signed_in(bench.user).get(f"/jobs/{job.pk}/why", **english).text
    )


def test_another_refusal_has_no_figures(bench: Bench) -> None:
    assert waiting.why(refused(bench, "Invalid partition name specified")) is None
