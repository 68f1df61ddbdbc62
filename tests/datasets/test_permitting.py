"""Permissions to use: asked for, decided by another, within their agreement, revoked, over; terms; agreements."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core import mail
from django.core.exceptions import ValidationError
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone

from access import gate
from access.permissions import Permission
from audit.actions import Action
from audit.models import AuditEvent
from datasets.models import Acceptance, Agreement, DatasetRight, DatasetVersion, Duty, Grant, GrantRequest, Terms
from datasets.services import (
    AlreadyRevoked,
    NotOpen,
    OutsideAgreement,
    OwnRequest,
    StillGoverned,
    agreements,
    asking,
    rights,
    terms,
    versions,
    warning,
)
from projects.services import AlreadyAsked, Decided
from tests.conftest import Roles
from tests.datasets.conftest import Shelf, today

FACTS: dict[str, Any] = {"purpose": "research", "why": "For the paper."}


def test_asked_for_and_given_by_the_steward(shelf: Shelf, roles: Roles) -> None:
    shelf.approved()
    roles.use("web")
    grant = shelf.grant()
    assert (grant.asked_by, grant.approved_by, grant.project) == (shelf.pi, shelf.steward, shelf.users)
    actions = set(AuditEvent.objects.values_list("action", flat=True))
    assert {Action.DATASET_ASKED, Action.DATASET_DECIDED, Action.DATASET_PERMITTED} <= actions


def test_a_draft_is_not_asked_for_and_nobody_asks_twice(shelf: Shelf) -> None:
    dates = {"starts_on": today(), "ends_on": today(9)}
    with pytest.raises(NotOpen):
        asking.ask(dataset=shelf.dataset, by=shelf.pi, project=shelf.users, **FACTS, **dates)
    shelf.approved()
    asking.ask(dataset=shelf.dataset, by=shelf.pi, project=shelf.users, **FACTS, **dates)
    with pytest.raises(AlreadyAsked):
        asking.ask(dataset=shelf.dataset, by=shelf.member, project=shelf.users, **FACTS, **dates)
    asking.ask(dataset=shelf.dataset, by=shelf.member, **FACTS, **dates)
    with pytest.raises(ValidationError):
        asking.ask(dataset=shelf.dataset, by=shelf.pi, **FACTS, starts_on=today(-9), ends_on=today(-1))


def test_nobody_decides_over_their_own_request(shelf: Shelf) -> None:
    shelf.approved()
    wish = asking.ask(dataset=shelf.dataset, by=shelf.steward, starts_on=today(), ends_on=today(9), **FACTS)
    with pytest.raises(OwnRequest):
        asking.approve(request=wish, by=shelf.steward)
    with pytest.raises(IntegrityError), transaction.atomic():  # nor past the services
        GrantRequest.objects.filter(pk=wish.pk).update(state="approved", decided_by=shelf.steward)
    facts = {"dataset": shelf.dataset, "purpose": "research", "starts_on": today(), "ends_on": today(1)}
    with pytest.raises(IntegrityError), transaction.atomic():
        Grant.objects.create(asked_by=shelf.pi, approved_by=shelf.pi, user=shelf.pi, **facts)


@pytest.mark.parametrize("holder", [{}, {"both": True}])
def test_a_permission_is_of_a_project_or_of_a_person(shelf: Shelf, holder: dict[str, Any]) -> None:
    who = {"project": shelf.users, "user": shelf.member} if holder else {}
    with pytest.raises(IntegrityError), transaction.atomic():
        Grant.objects.create(
            dataset=shelf.dataset, purpose="research", starts_on=today(), ends_on=today(1), asked_by=shelf.pi,
            approved_by=shelf.steward, **who,
        )  # fmt: skip


def test_one_decision_and_a_shorter_time(shelf: Shelf) -> None:
    shelf.approved()
    wish = asking.ask(
        dataset=shelf.dataset, by=shelf.pi, project=shelf.users, starts_on=today(), ends_on=today(90), **FACTS
    )
    grant = asking.approve(request=wish, by=shelf.steward, ends_on=today(30))
    assert grant.ends_on == today(30)
    for act in (asking.approve, asking.refuse):
        with pytest.raises(Decided):
            act(request=wish, by=shelf.steward, answer="")
    with pytest.raises(Decided):
        asking.withdraw(request=wish, by=shelf.pi)


def test_what_a_permission_says_is_never_changed(shelf: Shelf) -> None:
    shelf.approved()
    grant = shelf.grant()
    for change in ({"purpose": "teaching"}, {"starts_on": today(-5)}, {"access": "write"}, {"user": shelf.member}):
        with pytest.raises(DatabaseError), transaction.atomic():
            Grant.objects.filter(pk=grant.pk).update(**change)
    asking.revoke(grant=grant, by=shelf.steward, why="The study is over.")
    with pytest.raises(AlreadyRevoked):
        asking.revoke(grant=grant, by=shelf.steward, why="Again.")
    with pytest.raises(DatabaseError), transaction.atomic():
        Grant.objects.filter(pk=grant.pk).update(revoked_at=None)


def test_a_persons_own_permission_comes_with_the_page_and_goes_with_it(shelf: Shelf) -> None:
    shelf.approved()
    grant = shelf.grant(to_person=shelf.stranger)
    assert gate.can(shelf.dataset, shelf.stranger, Permission.DATASET_VIEW)
    asking.revoke(grant=grant, by=shelf.steward, why="The study is over.")
    assert not gate.can(shelf.dataset, shelf.stranger, Permission.DATASET_VIEW)
    assert rights.expected(shelf.dataset) == rights.held(shelf.dataset)


def test_terms_have_versions_and_each_is_accepted_anew(shelf: Shelf) -> None:
    first = terms.put_in_force(dataset=shelf.dataset, text="Be careful.\r\n", by=shelf.steward)
    assert terms.put_in_force(dataset=shelf.dataset, text="Be careful.", by=shelf.steward) == first
    terms.accept(dataset=shelf.dataset, number=1, by=shelf.member)
    terms.accept(dataset=shelf.dataset, number=1, by=shelf.member)
    assert AuditEvent.objects.filter(action=Action.TERMS_ACCEPTED).count() == 1
    second = terms.put_in_force(dataset=shelf.dataset, text="Be very careful.", by=shelf.steward)
    assert (second.number, terms.in_force(shelf.dataset)) == (2, second) and second.digest != first.digest
    with pytest.raises(terms.NotInForce):
        terms.accept(dataset=shelf.dataset, number=1, by=shelf.stranger)
    with pytest.raises(DatabaseError), transaction.atomic():
        Terms.objects.filter(pk=first.pk).update(text="Do as you like.")
    with pytest.raises(DatabaseError), transaction.atomic():
        Acceptance.objects.all().delete()


def test_no_permission_outlives_its_agreement(shelf: Shelf) -> None:
    shelf.approved()
    shelf.agreement(ends_on=today(60))
    with pytest.raises(OutsideAgreement):
        shelf.grant(ends_on=today(61))
    with pytest.raises(OutsideAgreement):
        shelf.grant(purpose="teaching", ends_on=today(9))
    grant = shelf.grant(ends_on=today(60))
    with pytest.raises(DatabaseError), transaction.atomic():  # nor past the services
        Grant.objects.filter(pk=grant.pk).update(ends_on=today(61))
    with pytest.raises(DatabaseError), transaction.atomic():
        Agreement.objects.update(ends_on=today(59))
    agreements.change(agreement=shelf.dataset.agreement, by=shelf.owner_pi, ends_on=today(30))
    grant.refresh_from_db()
    assert grant.ends_on == today(30)


def test_an_agreement_cannot_come_over_longer_permissions(shelf: Shelf) -> None:
    shelf.approved()
    shelf.grant(ends_on=today(300))
    with pytest.raises(StillGoverned):
        shelf.agreement(ends_on=today(60))


def test_the_end_of_an_agreement_ends_permissions_and_opens_a_checklist(shelf: Shelf, roles: Roles) -> None:
    shelf.approved()
    agreement = shelf.agreement()
    grant = shelf.grant()
    roles.use("web")
    agreements.end(agreement=agreement, by=shelf.owner_pi)
    with pytest.raises(agreements.Ended):
        agreements.end(agreement=agreement, by=shelf.owner_pi)
    grant.refresh_from_db()
    assert grant.revoked_at is not None
    with pytest.raises((OutsideAgreement, NotOpen)):
        shelf.grant(ends_on=today(9))
    duties = list(Duty.objects.filter(agreement=agreement))
    assert {one.project for one in duties} == {shelf.home, shelf.users}
    with pytest.raises(ValidationError):
        agreements.do_duty(duty=duties[0], kind="delete", how=" ", by=shelf.owner_pi)
    for duty in duties:
        agreements.do_duty(duty=duty, kind="delete", how="Deleted by hand.", by=shelf.owner_pi)
    with pytest.raises(agreements.DutyDone):
        agreements.do_duty(duty=duties[0], kind="delete", how="Again.", by=shelf.owner_pi)
    agreement.refresh_from_db()
    assert agreement.settled_at is not None
    assert AuditEvent.objects.filter(action=Action.AGREEMENT_SETTLED).count() == 1


def test_time_ends_agreements_and_permissions_as_the_worker(shelf: Shelf, roles: Roles) -> None:
    shelf.approved()
    agreement = shelf.agreement(ends_on=today(20))
    shelf.grant(ends_on=today(10))
    own = shelf.grant(to_person=shelf.stranger, ends_on=today(5))
    roles.use("work")
    with time_machine.travel(timezone.now() + timedelta(days=12)):
        warning.look()
        agreement.refresh_from_db()
        assert agreement.ended_at is None
        assert AuditEvent.objects.filter(action=Action.DATASET_EXPIRED).count() == 2
        assert not DatasetRight.objects.filter(user=own.user).exists()
    with time_machine.travel(timezone.now() + timedelta(days=22)):
        warning.look()
        warning.look()
        agreement.refresh_from_db()
        assert agreement.ended_at is not None and agreement.checklist.count() == 3
        assert AuditEvent.objects.filter(action=Action.DATASET_EXPIRED).count() == 2


def test_people_are_told_before_a_permission_ends_once_a_level(shelf: Shelf, roles: Roles, settings: Any) -> None:
    settings.MAIL_IS_ON, settings.EMAIL_BACKEND = True, "django.core.mail.backends.locmem.EmailBackend"
    shelf.approved()
    shelf.steward.email = "curadora@x.example"
    shelf.steward.save()
    shelf.grant(ends_on=today(40))
    roles.use("work")
    for days, told in ((0, 0), (15, 1), (16, 1), (34, 2), (39, 3), (39, 3)):
        with time_machine.travel(timezone.now() + timedelta(days=days)):
            warning.look()
        assert AuditEvent.objects.filter(action=Action.DATASET_WARNED).count() == told, days
        assert len(mail.outbox) == told
    assert "atlas" in mail.outbox[0].body


def test_a_version_is_never_changed_and_its_manifest_only_made_once(shelf: Shelf) -> None:
    version = shelf.version
    with pytest.raises(ValidationError):
        versions.add(dataset=shelf.dataset, label="v1", path="/srv/x", by=shelf.steward)
    with pytest.raises(DatabaseError), transaction.atomic():
        DatasetVersion.objects.filter(pk=version.pk).update(path="/srv/other")
    with pytest.raises(versions.NoManifest):
        versions.keep_manifest(version=version, output=[b"nothing\n"], by=shelf.steward)
    line = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 0 empty\n"

    digest = hashlib.sha256(line.encode()).hexdigest()
    end = f"bancada-manifest sha256={digest} files=1 bytes=0\n"
    with pytest.raises(versions.NoManifest):
        versions.keep_manifest(version=version, output=[f"x{line}{end}".encode()], by=shelf.steward)
    kept = versions.keep_manifest(version=version, output=[line.encode(), end.encode()], by=shelf.steward)
    assert (kept.manifest, kept.manifest_digest, kept.files, kept.size) == (line, digest, 1, 0)
    with pytest.raises(versions.HasManifest):
        versions.keep_manifest(version=version, output=[line.encode(), end.encode()], by=shelf.steward)
    with pytest.raises(DatabaseError), transaction.atomic():
        DatasetVersion.objects.filter(pk=version.pk).update(manifest="")


def test_a_manifest_of_a_hundred_thousand_files_is_read_in_pieces_and_checked(shelf: Shelf) -> None:
    lines = "".join(f"{'a' * 64} 10 folder/file-{number}\n" for number in range(100_000)).encode()
    end = f"bancada-manifest sha256={hashlib.sha256(lines).hexdigest()} files=100000 bytes=1000000\n".encode()
    output = lines + end
    pieces = [output[at : at + 65_521] for at in range(0, len(output), 65_521)]
    assert len(output) > 8 * 1024 * 1024
    with pytest.raises(versions.NoManifest):
        versions.keep_manifest(version=shelf.version, output=[*pieces[:3], *pieces[4:]], by=shelf.steward)
    kept = versions.keep_manifest(version=shelf.version, output=iter(pieces), by=shelf.steward)
    assert (kept.files, kept.size, kept.manifest) == (100_000, 1_000_000, "")
