"""How datasets, permissions, agreements and security incidents are told over the API. Days and times UTC."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any
from uuid import UUID

from ninja import Schema

from datasets.models import Agreement, Dataset, DatasetUse, DatasetVersion, Grant, GrantRequest, SecurityIncident
from datasets.services.registering import CHANGEABLE


class DatasetOut(Schema):
    """A dataset; `may_view` is false of one that can only be asked for."""

    code: str
    name: str
    project: str
    steward: str
    classification: str
    state: str
    is_listed: bool
    may_view: bool


class DatasetDetail(DatasetOut):
    """With its grounds, and what is missing for approval."""

    description: str
    licence: str
    retention: str
    downloads: bool
    agreement: UUID | None
    legal_basis: str
    controller: str
    processor: str
    ethics: str
    ethics_not_applicable: str
    transfer: str
    transfer_details: str
    variable: str
    missing: list[str]


class VersionOut(Schema):
    """A version; `digest`, `files` and `size` (bytes) are of its manifest, null where it was not measured."""

    label: str
    path: str
    note: str
    created_at: datetime
    withdrawn_at: datetime | None
    digest: str | None
    files: int | None
    size: int | None
    manifest_job: UUID | None


class TermsOut(Schema):
    """The terms in force, and whether the caller has accepted them; `number` 0: there are none."""

    number: int
    text: str
    digest: str
    at: datetime | None
    accepted: bool


class WishOut(Schema):
    """A request for a permission."""

    id: UUID
    project: str | None
    person: str | None
    purpose: str
    access: str
    starts_on: date
    ends_on: date
    why: str
    asked_by: str
    asked_at: datetime
    state: str
    answer: str


class PermissionOut(Schema):
    """A permission to use."""

    id: UUID
    project: str | None
    person: str | None
    purpose: str
    access: str
    starts_on: date
    ends_on: date
    approved_by: str
    approved_at: datetime
    revoked_at: datetime | None
    revoked_why: str
    in_force: bool


class UseOut(Schema):
    """What a job declared; the times are of its runs."""

    job: UUID
    job_name: str
    version: str
    person: str
    project: str
    purpose: str
    access: str
    declared_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


class UsePage(Schema):
    """One page, newest first; `next` is the cursor of the page of older uses."""

    items: list[UseOut]
    next: UUID | None


class DutyOut(Schema):
    """One thing owed at the end of an agreement."""

    id: UUID
    dataset: str
    holder: str
    kind: str
    how: str
    done_at: datetime | None


class AgreementOut(Schema):
    """A sharing agreement with its checklist, which is empty before its end."""

    id: UUID
    title: str
    parties: str
    document: str
    document_digest: str
    starts_on: date
    ends_on: date
    purposes: list[str]
    duties: str
    datasets: list[str]
    ended_at: datetime | None
    settled_at: datetime | None
    checklist: list[DutyOut]


class NoticeOut(Schema):
    """Who was told what."""

    to: str
    at: datetime
    text: str
    by: str


class IncidentOut(Schema):
    """A security incident; `notice_due` and `details_due` count working days in Brazil."""

    id: UUID
    title: str
    what: str
    happened_at: datetime | None
    known_at: datetime
    notice_due: date
    details_due: date
    days_left: int
    datasets: list[str]
    subjects: str
    people: int | None
    risks: str
    measures: str
    notices: list[NoticeOut]
    closed_at: datetime | None


def dataset_out(row: Any) -> dict[str, Any]:
    """The values of DatasetOut; `may_view` must be annotated."""
    return {
        "code": row.code, "name": row.name, "project": row.project.code, "steward": row.steward.username,
        "classification": row.classification, "state": row.state, "is_listed": row.is_listed,
        "may_view": bool(getattr(row, "may_view", True)),
    }  # fmt: skip


def dataset_detail(row: Dataset, missing: Iterable[str]) -> dict[str, Any]:
    """The values of DatasetDetail."""
    own = {name: getattr(row, name) for name in CHANGEABLE if name != "agreement"}
    return dataset_out(row) | own | {
        "agreement": row.agreement_id, "variable": row.variable, "missing": list(missing),
    }  # fmt: skip


def version_out(row: DatasetVersion) -> dict[str, Any]:
    """The values of VersionOut."""
    names = ("label", "path", "note", "created_at", "withdrawn_at", "files", "size", "manifest_job")
    return {name: getattr(row, name) for name in names} | {"digest": row.manifest_digest or None}


def _holder(row: Grant | GrantRequest) -> dict[str, Any]:
    names = ("id", "purpose", "access", "starts_on", "ends_on")
    return {name: getattr(row, name) for name in names} | {
        "project": row.project.code if row.project else None, "person": row.user.username if row.user else None,
    }  # fmt: skip


def wish_out(row: GrantRequest) -> dict[str, Any]:
    """The values of WishOut."""
    names = ("why", "asked_at", "state", "answer")
    return _holder(row) | {name: getattr(row, name) for name in names} | {"asked_by": row.asked_by.username}


def permission_out(row: Grant) -> dict[str, Any]:
    """The values of PermissionOut."""
    names = ("approved_at", "revoked_at", "revoked_why")
    told = {"approved_by": row.approved_by.username, "in_force": row.is_in_force}
    return _holder(row) | {name: getattr(row, name) for name in names} | told


def use_out(row: DatasetUse) -> dict[str, Any]:
    """The values of UseOut."""
    names = ("job", "job_name", "purpose", "access", "declared_at", "started_at", "ended_at")
    told = {"version": row.version.label, "person": row.user.username, "project": row.project.code}
    return {name: getattr(row, name) for name in names} | told


def agreement_out(row: Agreement) -> dict[str, Any]:
    """The values of AgreementOut."""
    names = (
        "id", "title", "parties", "document", "document_digest", "starts_on", "ends_on", "purposes", "duties",
        "ended_at", "settled_at",
    )  # fmt: skip
    owed = row.checklist.select_related("dataset", "project", "user")
    return {name: getattr(row, name) for name in names} | {
        "datasets": sorted(row.datasets.values_list("code", flat=True)),
        "checklist": [
            {
                "id": one.pk, "dataset": one.dataset.code, "kind": one.kind, "how": one.how, "done_at": one.done_at,
                "holder": one.project.code if one.project else one.user.username if one.user else "",
            }
            for one in owed
        ],
    }  # fmt: skip


def incident_out(row: SecurityIncident) -> dict[str, Any]:
    """The values of IncidentOut; datasets and notices should be at hand."""
    names = (
        "id", "title", "what", "happened_at", "known_at", "notice_due", "details_due", "days_left", "subjects",
        "people", "risks", "measures", "closed_at",
    )  # fmt: skip
    return {name: getattr(row, name) for name in names} | {
        "datasets": sorted(one.code for one in row.datasets.all()),
        "notices": [
            {"to": one.to, "at": one.at, "text": one.text, "by": one.by.username} for one in row.notices.all()
        ],
    }  # fmt: skip
