"""Who can act hears once of each level that an allocation passes, on paper of the trail and by mail in their language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core import mail
from django.core.mail.backends import locmem

from access.roles import Role
from audit.actions import Action
from audit.models import AuditEvent
from projects.models import Project
from quotas import services as quotas
from quotas.models import Allocation
from quotas.services import warning
from tests.conftest import Roles
from tests.factories import make_allocation, make_member

pytestmark = pytest.mark.django_db


@pytest.fixture
def mailing(settings: Any) -> Iterator[None]:
    settings.MAIL_IS_ON = True
    yield


def at(percent: int, project: Project) -> Allocation:
    return make_allocation(project, gpu_minutes=6000, used_gpu_minutes=60 * percent)


def test_each_level_is_told_once_and_again_after_more_was_given(project: Project, roles: Roles) -> None:
    allocation = at(74, project)
    quotas.hold(allocation=allocation, reference="a", gpus=1, minutes=60)  # committed counts
    roles.use("work")
    assert (warning.warn(), warning.warn()) == (1, 0)
    roles.use(None)
    Allocation.objects.update(used_gpu_minutes=6000)
    assert (warning.warn(), warning.warn()) == (1, 0)
    told = AuditEvent.objects.filter(action=Action.ALLOCATION_WARNED).order_by("pk")
    assert [event.detail["level"] for event in told] == [75, 100]
    quotas.change_allocation(allocation=allocation, by=None, gpu_minutes=7000)
    allocation.refresh_from_db()
    assert allocation.warned_level == 0
    assert warning.warn() == 1


def test_a_type_of_its_own_counts_too(project: Project) -> None:
    allocation = make_allocation(project, gpu_minutes=6000, gpu_minutes_by_type={"h100": 100, "a100": 0})
    quotas.hold(allocation=allocation, reference="a", gpus=1, minutes=95, gpu_type="h100")
    warning.warn()
    allocation.refresh_from_db()
    assert allocation.warned_level == 90


def test_pi_and_managers_are_written_to_in_their_language(project: Project, mailing: None, roles: Roles) -> None:
    make_member(project, Role.PI, email="pi@demo.example", language="pt-br", display_name="Ana Demo")
    make_member(project, Role.MANAGER, email="manager@demo.example", language="en")
    make_member(project, email="member@demo.example")
    make_member(project, Role.PI)  # the directory knows no address
    make_allocation(project, gpu_minutes=6030, used_gpu_minutes=60 * 91)
    roles.use("work")
    warning.warn()
    warning.warn()
    sent = {message.to[0]: message for message in mail.outbox}
    assert sorted(sent) == ["manager@demo.example", "pi@demo.example"] and len(mail.outbox) == 2
    english, portuguese = sent["manager@demo.example"], sent["pi@demo.example"]
    assert english.subject == f"90% of the allocation Main is used or committed ({project.title})"
    assert "Used 91, committed 0, free 9.5 GPU·h." in english.body and f"/projects/{project.code}" in english.body
    assert "9,5 GPU·h" in portuguese.body and "Ana Demo" in portuguese.body


def test_mail_that_was_not_taken_goes_out_at_the_next_look(
    project: Project, mailing: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_member(project, Role.PI, email="pi@demo.example")
    at(80, project)

    def down(*_: object) -> int:
        raise ConnectionRefusedError

    with monkeypatch.context() as patch:
        patch.setattr(locmem.EmailBackend, "send_messages", down)
        assert warning.warn() == 1
    assert not mail.outbox
    assert warning.warn() == 0
    assert len(mail.outbox) == 1


def test_nothing_is_sent_late_when_mail_is_turned_on(project: Project, settings: Any) -> None:
    make_member(project, Role.PI, email="pi@demo.example")
    at(80, project)
    warning.warn()
    settings.MAIL_IS_ON = True
    warning.warn()
    assert not mail.outbox
