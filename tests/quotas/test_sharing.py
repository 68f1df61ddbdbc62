"""Members' shares change together or not at all, and requests ask for something before anybody decides on them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from access.roles import Role
from audit.actions import Action
from audit.models import AuditEvent
from projects.models import Project
from projects.services import Decided
from quotas import services as quotas
from quotas.models import AllocationRequest, Kind, Share
from quotas.services import requests
from tests.factories import make_allocation, make_member, make_project

pytestmark = pytest.mark.django_db


def test_shares_are_set_together(project: Project) -> None:
    allocation, pi = make_allocation(project), make_member(project, Role.PI)
    ana, davi = make_member(project), make_member(project)
    assert (
        quotas.divide(allocation=allocation, by=pi, shares={ana: {"gpus_at_once": 2}, davi: {"gpu_minutes": 600}}) == 2
    )
    assert quotas.divide(allocation=allocation, by=pi, shares={ana: {"gpus_at_once": 2}, davi: {}}) == 1
    assert [(row.user, row.gpus_at_once) for row in Share.objects.all()] == [(ana, 2)]
    assert AuditEvent.objects.filter(action=Action.SHARE_CHANGED).count() == 3


def test_a_share_above_the_allocation_changes_nobodys(project: Project) -> None:
    allocation = make_allocation(project, gpus_at_once=4)
    ana, davi = make_member(project), make_member(project)
    with pytest.raises(ValidationError) as refused:
        quotas.divide(allocation=allocation, by=None, shares={ana: {"gpus_at_once": 2}, davi: {"gpus_at_once": 5}})
    assert davi.name in refused.value.message_dict["gpus_at_once"][0]
    assert not Share.objects.exists()
    stranger = make_member(make_project())
    with pytest.raises(quotas.NotMember):
        quotas.divide(allocation=allocation, by=None, shares={stranger: {"gpus_at_once": 2}})


@pytest.mark.parametrize(
    ("kind", "fields", "field"),
    [
        (Kind.NEW, {"gpu_minutes": 60}, "title"),
        (Kind.NEW, {"title": "Second", "gpu_minutes": 60}, "starts_on"),
        (Kind.MORE, {"gpu_minutes": 60}, "allocation"),
        (Kind.MORE, {"allocation": True, "gpu_minutes": 60_000}, "gpu_minutes"),
        (Kind.LONGER, {"allocation": True}, "ends_on"),
        (Kind.LONGER, {"allocation": True, "ends_on": timezone.now().date()}, "ends_on"),
    ],
)
def test_a_request_asks_for_something(project: Project, kind: Kind, fields: dict[str, Any], field: str) -> None:
    allocation, pi = make_allocation(project, gpu_minutes=60_000), make_member(project, Role.PI)
    if fields.get("allocation"):
        fields = fields | {"allocation": allocation}
    with pytest.raises(ValidationError) as refused:
        requests.ask(project=project, kind=kind, by=pi, why="For the paper.", **fields)
    assert field in refused.value.message_dict


def test_more_is_given_as_the_decision_says_and_once(project: Project) -> None:
    allocation, pi, operator = make_allocation(project), make_member(project, Role.PI), make_member(project)
    asked = requests.ask(
        project=project, kind=Kind.MORE, by=pi, why="For the paper.", allocation=allocation, gpu_minutes=90_000
    )
    requests.comment(request=asked, by=operator, text="Until when?")
    requests.approve(request=asked, by=operator, answer="A part of it.", gpu_minutes=75_000)
    allocation.refresh_from_db()
    assert allocation.gpu_minutes == 75_000
    with pytest.raises(Decided):
        requests.refuse(request=asked, by=operator, answer="No.")
    assert AllocationRequest.objects.get().state == "approved"


def test_a_new_one_gets_a_code_of_its_own(project: Project) -> None:
    make_allocation(project)
    pi, today = make_member(project, Role.PI), timezone.now().date()
    asked = requests.ask(
        project=project, kind=Kind.NEW, by=pi, why="A new line.", title="Second", starts_on=today,
        ends_on=today + timedelta(days=90), gpu_minutes=6000,
    )  # fmt: skip
    made = requests.approve(request=asked, by=pi)
    asked.refresh_from_db()
    assert (made.code, made.title, made.gpu_minutes, made.is_default) == ("a1", "Second", 6000, False)
    assert asked.allocation == made and made.qos == f"{project.code}-a1-{today:%Y%m%d}"
