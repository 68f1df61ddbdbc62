"""The API of datasets: what there is, registered and changed, its versions and its terms."""

from __future__ import annotations

from typing import Any, cast

from django.core.exceptions import ValidationError
from django.db.models import Exists, OuterRef
from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Router, Status

from access import gate
from access.errors import NotFound
from access.permissions import Permission
from accounts.models import User
from datasets.api_schemas import AcceptIn, DatasetChanges, DatasetIn, StewardIn, TermsIn, VersionIn
from datasets.api_told import DatasetDetail, DatasetOut, TermsOut, VersionOut, dataset_detail, dataset_out, version_out
from datasets.models import Acceptance, Agreement, Dataset, DatasetState, DatasetVersion
from datasets.services import registering, terms, versions
from projects.models import Project

router = Router()
MOST = 500
TOLD = gate.Listing(
    lambda code: Dataset.objects.filter(code=code).select_related("project", "steward", "agreement"), most=1
)


def me(request: HttpRequest) -> User:
    """Whoever passed the door."""
    return cast(User, request.user)


def fetch(request: HttpRequest, permission: Permission, code: str) -> Dataset:
    """The dataset. Raises NotFound, Refused."""
    return TOLD.fetch(cast(User, request.user), permission, code=code)


def _person(login: str) -> User:
    found = User.objects.filter(username=login, is_active=True).first()
    if found is None:
        raise ValidationError({"steward": _("Nobody with this login has used the portal.")})
    return found


def _with_agreement(project: Project, fields: dict[str, Any]) -> dict[str, Any]:
    """An agreement by its id as the row it is, one of the project's own. Raises ValidationError."""
    pk = fields.get("agreement")
    if pk is None:
        return fields
    found = Agreement.objects.filter(project=project, pk=pk).first()
    if found is None:
        raise ValidationError({"agreement": _("The project has no such sharing agreement.")})
    return fields | {"agreement": found}


def _detail(request: HttpRequest, row: Dataset) -> dict[str, Any]:
    """What is missing is said of a draft, to whoever sees it."""
    return dataset_detail(row, registering.missing(row) if row.state == DatasetState.DRAFT else [])


@router.get("", response=list[DatasetOut], operation_id="datasets")
def datasets(request: HttpRequest) -> list[dict[str, Any]]:
    """What the caller may see, or find and ask for; by name, 500 at most."""
    own = Dataset.objects.filter(pk=OuterRef("pk"))
    rows = Dataset.objects.select_related("project", "steward")
    found = gate.allowing(rows, request.user, Permission.DATASET_FIND)
    seen = found.annotate(may_view=Exists(gate.allowing(own, request.user, Permission.DATASET_VIEW)))
    return [dataset_out(row) for row in seen[:MOST]]


@router.post("", response={201: DatasetDetail}, operation_id="register_dataset")
def register(request: HttpRequest, body: DatasetIn) -> Status[dict[str, Any]]:
    """A new draft: by the project's PI, or an administrator."""
    fields = body.dict(exclude_unset=True)
    project = gate.fetch(Project.objects, request.user, Permission.PROJECT_LEAD, code=fields.pop("project"))
    steward = _person(fields.pop("steward"))
    given = _with_agreement(project, fields)
    row = registering.register(project=project, steward=steward, by=me(request), **given)
    return Status(201, _detail(request, row))


@router.get("/{code}", response=DatasetDetail, operation_id="dataset")
def one(request: HttpRequest, code: str) -> dict[str, Any]:
    """One dataset."""
    return _detail(request, fetch(request, Permission.DATASET_VIEW, code))


@router.patch("/{code}", response=DatasetDetail, operation_id="change_dataset")
def change(request: HttpRequest, code: str, body: DatasetChanges) -> dict[str, Any]:
    """Change it; what is approved must stay whole."""
    row = fetch(request, Permission.DATASET_STEWARD, code)
    fields = _with_agreement(row.project, body.dict(exclude_unset=True))
    return _detail(request, registering.change(dataset=row, by=me(request), **fields))


@router.post("/{code}/approve", response=DatasetDetail, operation_id="approve_dataset")
def approve(request: HttpRequest, code: str) -> dict[str, Any]:
    """Open it for requests and use."""
    row = fetch(request, Permission.DATASET_STEWARD, code)
    return _detail(request, registering.approve(dataset=row, by=me(request)))


@router.post("/{code}/retire", response=DatasetDetail, operation_id="retire_dataset")
def retire(request: HttpRequest, code: str) -> dict[str, Any]:
    """No new use. Twice changes nothing."""
    row = fetch(request, Permission.DATASET_STEWARD, code)
    return _detail(request, registering.retire(dataset=row, by=me(request)))


@router.post("/{code}/steward", response=DatasetOut, operation_id="change_steward")
def change_steward(request: HttpRequest, code: str, body: StewardIn) -> dict[str, Any]:
    """Hand it to another steward: by the steward, the owner project's PI, or an administrator."""
    row = fetch(request, Permission.DATASET_VIEW, code)
    if not gate.can(row.project, request.user, Permission.PROJECT_LEAD):
        row = fetch(request, Permission.DATASET_STEWARD, code)
    steward = _person(body.steward)
    return dataset_out(registering.change_steward(dataset=row, steward=steward, by=me(request), why=body.why))


@router.get("/{code}/versions", response=list[VersionOut], operation_id="dataset_versions")
def listed(request: HttpRequest, code: str) -> list[dict[str, Any]]:
    """Its versions, the newest first."""
    row = fetch(request, Permission.DATASET_VIEW, code)
    return [version_out(version) for version in row.versions.defer("manifest")[:MOST]]


@router.post("/{code}/versions", response={201: VersionOut}, operation_id="add_dataset_version")
def add_version(request: HttpRequest, code: str, body: VersionIn) -> Status[dict[str, Any]]:
    """Another version; new jobs that name none get it."""
    row = fetch(request, Permission.DATASET_STEWARD, code)
    return Status(201, version_out(versions.add(dataset=row, by=me(request), **body.dict())))


@router.post("/{code}/versions/{label}/withdraw", response=VersionOut, operation_id="withdraw_dataset_version")
def withdraw_version(request: HttpRequest, code: str, label: str) -> dict[str, Any]:
    """No new job uses it."""
    row = fetch(request, Permission.DATASET_STEWARD, code)
    found = DatasetVersion.objects.filter(dataset=row, label=label).first() if "\x00" not in label else None
    if found is None:
        raise NotFound(Permission.DATASET_STEWARD, "datasets.datasetversion", {"label": label})
    return version_out(versions.withdraw(version=found, by=me(request)))


@router.get("/{code}/terms", response=TermsOut, operation_id="dataset_terms")
def terms_of(request: HttpRequest, code: str) -> dict[str, Any]:
    """The terms in force, for whoever may ask for the dataset."""
    return _terms(request, fetch(request, Permission.DATASET_FIND, code))


@router.post("/{code}/terms", response=TermsOut, operation_id="change_terms")
def put_in_force(request: HttpRequest, code: str, body: TermsIn) -> dict[str, Any]:
    """Put other terms in force."""
    row = fetch(request, Permission.DATASET_STEWARD, code)
    terms.put_in_force(dataset=row, text=body.text, by=me(request))
    return _terms(request, row)


@router.post("/{code}/terms/accept", response=TermsOut, operation_id="accept_terms")
def accept(request: HttpRequest, code: str, body: AcceptIn) -> dict[str, Any]:
    """The caller accepts the terms of this number."""
    row = fetch(request, Permission.DATASET_FIND, code)
    terms.accept(dataset=row, number=body.number, by=me(request))
    return _terms(request, row)


def _terms(request: HttpRequest, row: Dataset) -> dict[str, Any]:
    now = terms.in_force(row)
    if now is None:
        return {"number": 0, "text": "", "digest": "", "at": None, "accepted": False}
    accepted = Acceptance.objects.filter(terms=now, user=me(request)).exists()
    return {"number": now.number, "text": now.text, "digest": now.digest, "at": now.at, "accepted": accepted}
