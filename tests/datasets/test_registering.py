"""A dataset's life: what approval takes, who answers for it, and that the database itself holds to it."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction

from access import gate
from access.errors import NotFound, Refused
from access.permissions import Permission
from audit.actions import Action
from audit.models import AuditEvent
from datasets.models import Dataset, DatasetRight, DatasetState, Part, PartRole
from datasets.services import Incomplete, NotDraft, registering, rights, terms, versions
from projects.models import Classification
from tests.conftest import Roles
from tests.datasets.conftest import PERSONAL, Shelf
from tests.factories import make_user

NEEDED = ["legal_basis", "controller", "processor", "transfer"]


def test_a_draft_has_a_steward_with_the_rights_of_one(shelf: Shelf, roles: Roles) -> None:
    roles.use("web")
    row = shelf.register("fotos")
    assert row.state == DatasetState.DRAFT
    assert gate.fetch(Dataset.objects, shelf.steward, Permission.DATASET_STEWARD, code="fotos") == row
    event = AuditEvent.objects.get(action=Action.DATASET_REGISTERED, subject_id=str(row.pk))
    assert event.said["steward"] == "curadora" and event.db_role == "web"


def test_what_is_missing_stands_in_the_way_of_approval(shelf: Shelf) -> None:
    row = shelf.register("fotos", description="", licence=" ")
    with pytest.raises(Incomplete) as error:
        registering.approve(dataset=row, by=shelf.steward)
    assert error.value.fields == ["description", "licence", "terms", "version"]
    assert shelf.approved().approved_at is not None
    with pytest.raises(NotDraft):
        registering.approve(dataset=shelf.dataset, by=shelf.steward)


@pytest.mark.parametrize("name", [*NEEDED, "ethics"])
def test_personal_data_need_their_grounds_each_of_them(shelf: Shelf, name: str) -> None:
    fields = PERSONAL | {name: ""}
    row = registering.change(dataset=shelf.dataset, by=shelf.steward, **fields)
    terms.put_in_force(dataset=row, text="x", by=shelf.steward)
    with pytest.raises(Incomplete) as error:
        registering.approve(dataset=row, by=shelf.steward)
    assert error.value.fields == [name]
    with pytest.raises(IntegrityError), transaction.atomic():  # nor past the services
        Dataset.objects.filter(pk=row.pk).update(state="approved")


@pytest.mark.parametrize("classification", Classification.values)
def test_data_of_any_class_need_terms_and_files(shelf: Shelf, classification: str) -> None:
    basis = "11-II-c" if classification == Classification.SENSITIVE else "7-IV"
    fields = PERSONAL | {"classification": classification, "legal_basis": basis}
    row = registering.change(dataset=shelf.dataset, by=shelf.steward, **fields)
    versions.withdraw(version=shelf.version, by=shelf.steward)
    with pytest.raises(Incomplete) as error:
        registering.approve(dataset=row, by=shelf.steward)
    assert error.value.fields == ["terms", "version"]
    terms.put_in_force(dataset=row, text="x", by=shelf.steward)
    assert registering.missing(row) == ["version"]
    versions.add(dataset=row, label="v2", path="/srv/data/atlas/v2", by=shelf.steward)
    assert registering.approve(dataset=row, by=shelf.steward).state == DatasetState.APPROVED


def test_what_is_approved_is_changed_also_when_its_last_files_are_withdrawn(shelf: Shelf) -> None:
    shelf.approved()
    versions.withdraw(version=shelf.version, by=shelf.steward)
    row = registering.change(dataset=shelf.dataset, by=shelf.steward, description="All copies are gone.")
    assert row.state == DatasetState.APPROVED
    with pytest.raises(Incomplete):
        registering.change(dataset=row, by=shelf.steward, licence="")


def test_ethics_not_applicable_needs_a_reason_and_a_transfer_its_safeguards(shelf: Shelf) -> None:
    fields = PERSONAL | {"ethics": "", "ethics_not_applicable": "Public records.", "transfer": "yes"}
    row = registering.change(dataset=shelf.dataset, by=shelf.steward, **fields)
    assert row.missing() == ["transfer_details"]
    with pytest.raises(ValidationError):
        registering.change(dataset=row, by=shelf.steward, ethics="CAAE 1")
    with pytest.raises(IntegrityError), transaction.atomic():
        Dataset.objects.filter(pk=row.pk).update(ethics="CAAE 1")


@pytest.mark.parametrize(
    ("classification", "basis"), [(Classification.PERSONAL, "11-I"), (Classification.SENSITIVE, "7-I")]
)
def test_the_legal_basis_is_of_the_article_of_the_class(shelf: Shelf, classification: str, basis: str) -> None:
    with pytest.raises(ValidationError):
        fields = PERSONAL | {"classification": classification, "legal_basis": basis}
        registering.change(dataset=shelf.dataset, by=shelf.steward, **fields)


def test_what_is_approved_stays_whole(shelf: Shelf) -> None:
    shelf.personal()
    with pytest.raises(Incomplete):
        registering.change(dataset=shelf.dataset, by=shelf.steward, controller="")
    with pytest.raises(IntegrityError), transaction.atomic():
        Dataset.objects.update(licence="")


def test_a_change_says_before_and_after_and_the_same_says_nothing(shelf: Shelf) -> None:
    registering.change(dataset=shelf.dataset, by=shelf.steward, licence="CC0", name=shelf.dataset.name)
    event = AuditEvent.objects.get(action=Action.DATASET_CHANGED)
    assert (event.detail["before"], event.detail["after"]) == ({"licence": "CC BY 4.0"}, {"licence": "CC0"})
    registering.change(dataset=shelf.dataset, by=shelf.steward, licence="CC0")
    assert AuditEvent.objects.filter(action=Action.DATASET_CHANGED).count() == 1


def test_another_steward_takes_the_rights_and_the_intervals_stay(shelf: Shelf) -> None:
    other = make_user("outra")
    registering.change_steward(dataset=shelf.dataset, steward=other, by=shelf.owner_pi)
    assert gate.can(shelf.dataset, other, Permission.DATASET_STEWARD)
    assert not gate.can(shelf.dataset, shelf.steward, Permission.DATASET_VIEW)
    parts = list(Part.objects.filter(dataset=shelf.dataset, role=PartRole.STEWARD).order_by("pk"))
    assert [(one.user, one.ends_at is None) for one in parts] == [(shelf.steward, False), (other, True)]
    with pytest.raises(IntegrityError), transaction.atomic():
        Part.objects.create(dataset=shelf.dataset, user=shelf.steward, role=PartRole.STEWARD)


def test_who_sees_it(shelf: Shelf) -> None:
    def sees(user: Any, permission: Permission = Permission.DATASET_VIEW) -> bool:
        return gate.can(shelf.dataset, user, permission)

    assert sees(shelf.owner_pi) and sees(shelf.steward)
    assert not sees(shelf.member) and not sees(shelf.stranger)
    shelf.approved()
    shelf.grant()
    assert sees(shelf.member) and not sees(shelf.stranger)
    assert not sees(shelf.stranger, Permission.DATASET_FIND)
    registering.change(dataset=shelf.dataset, by=shelf.steward, is_listed=True)
    assert sees(shelf.stranger, Permission.DATASET_FIND) and not sees(shelf.stranger)
    for site, may in (("operator", True), ("auditor", True)):
        assert sees(make_user(site_role=site)) is may
    assert not sees(make_user(site_role="operator"), Permission.DATASET_STEWARD)


def test_the_gate_tells_not_there_from_not_theirs(shelf: Shelf) -> None:
    with pytest.raises(NotFound):
        gate.fetch(Dataset.objects, shelf.stranger, Permission.DATASET_VIEW, code="atlas")
    with pytest.raises(Refused):
        gate.fetch(Dataset.objects, shelf.owner_pi, Permission.DATASET_STEWARD, code="atlas")


def test_check_grants_sees_a_right_without_a_part(shelf: Shelf) -> None:
    call_command("check_grants", stdout=StringIO())
    DatasetRight.objects.filter(content_object=shelf.dataset).delete()
    with pytest.raises(CommandError):
        call_command("check_grants", stdout=StringIO())
    rights.settle(shelf.dataset)
    call_command("check_grants", stdout=StringIO())


def test_a_retired_one_stays_to_be_read(shelf: Shelf) -> None:
    shelf.approved()
    registering.retire(dataset=shelf.dataset, by=shelf.steward, why="It was replaced.")
    registering.retire(dataset=shelf.dataset, by=shelf.steward)
    assert AuditEvent.objects.filter(action=Action.DATASET_RETIRED).count() == 1
    assert gate.can(shelf.dataset, shelf.owner_pi, Permission.DATASET_VIEW)
