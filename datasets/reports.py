"""Tables to take away: datasets and their uses, the register of processing (LGPD art. 37), that of incidents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, Max, Q, QuerySet
from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _

from access import gate
from access.permissions import Permission
from accounts.models import User
from audit import trail
from audit.actions import Action
from datasets.models import PERSONAL, Dataset, DatasetState, DatasetVersion, Grant, Purpose, SecurityIncident
from projects import tables


def _time(moment: datetime | None) -> str:
    return moment.isoformat(timespec="seconds") if moment else ""


def uses_csv(
    rows: QuerySet[Any], *, by: User, name: str, about: Any = None, project: Any = None
) -> StreamingHttpResponse:
    """Who used what, when, from which job, for which purpose; that somebody took it is recorded."""
    trail.record(Action.DATASETS_EXPORTED, by=by, about=about, project=project, table="uses", count=rows.count())
    head = [
        _("dataset"), _("version"), _("login"), _("name"), _("project"), _("job"), _("job's name"), _("purpose"),
        _("access"), _("declared"), _("started"), _("ended"),
    ]  # fmt: skip
    found = rows.select_related("dataset", "version", "project", "user")
    return tables.response(f"bancada-uses-{name}.csv", head, _uses(found))


def _uses(rows: QuerySet[Any]) -> Iterator[list[Any]]:
    for use in rows.iterator(chunk_size=2000):
        yield [
            use.dataset.code, use.version.label, use.user.username, use.user.name, use.project.code, str(use.job),
            use.job_name, use.get_purpose_display(), use.get_access_display(), _time(use.declared_at),
            _time(use.started_at), _time(use.ended_at),
        ]  # fmt: skip


def datasets_csv(rows: QuerySet[Any], *, by: User) -> StreamingHttpResponse:
    """Datasets a person may see or find, with whether they may use them; that somebody took it is recorded."""
    trail.record(Action.DATASETS_EXPORTED, by=by, table="datasets", count=rows.count())
    head = [_("code"), _("name"), _("class"), _("project"), _("data steward"), _("state"), _("you may use it")]
    return tables.of_today("datasets", head, map(_dataset, rows.iterator(chunk_size=2000)))


def _dataset(row: Any) -> list[Any]:
    return [
        row.code, row.name, row.get_classification_display(), row.project.code, row.steward.name,
        row.get_state_display(), _("yes") if row.is_permitted else _("no"),
    ]  # fmt: skip


def permissions_csv(rows: Iterable[Grant], *, by: User, one: Dataset) -> StreamingHttpResponse:
    """Permissions to use a dataset, for what and how long; that somebody took it is recorded."""
    given = list(rows)
    trail.record(Action.DATASETS_EXPORTED, by=by, about=one, project=one.project, table="permissions", count=len(given))
    head = [
        _("project"), _("login"), _("purpose"), _("access"), _("from"), _("until"), _("in force"), _("revoked"),
        _("why"),
    ]  # fmt: skip
    return tables.response(f"bancada-permissions-{one.code}.csv", head, map(_permission, given))


def _permission(row: Grant) -> list[Any]:
    return [
        row.project.code if row.project else "", row.user.username if row.user else "", row.get_purpose_display(),
        row.get_access_display(), row.starts_on.isoformat(), row.ends_on.isoformat(),
        _("yes") if row.is_in_force else _("no"), _time(row.revoked_at), row.revoked_why,
    ]  # fmt: skip


def versions_csv(rows: Iterable[DatasetVersion], *, by: User, one: Dataset) -> StreamingHttpResponse:
    """The versions of a dataset with their manifests; that somebody took it is recorded."""
    known = list(rows)
    trail.record(Action.DATASETS_EXPORTED, by=by, about=one, project=one.project, table="versions", count=len(known))
    head = [
        _("version"), _("path"), _("files"), _("size (bytes)"), "sha256", _("registered"), _("note"), _("withdrawn"),
    ]  # fmt: skip
    return tables.response(f"bancada-versions-{one.code}.csv", head, map(_version, known))


def _version(row: DatasetVersion) -> list[Any]:
    return [
        row.label, row.path, row.files, row.size, row.manifest_digest, _time(row.created_at), row.note,
        _time(row.withdrawn_at),
    ]  # fmt: skip


def processing(user: User) -> list[Any]:
    """The personal datasets the person answers for, or all by a role on the site; with purposes, holders and uses."""
    rows = Dataset.objects.filter(classification__in=PERSONAL).exclude(state=DatasetState.DRAFT)
    if not gate.site_can(user, Permission.DATASET_VIEW):
        rows = gate.allowing(rows, user, Permission.DATASET_STEWARD)
    given = Q(grants__revoked_at=None)
    found: Any = rows.select_related("project", "steward", "agreement").annotate(
        purpose_codes=ArrayAgg("grants__purpose", filter=given, distinct=True, default=[]),
        project_codes=ArrayAgg(
            "grants__project__code", filter=given & Q(grants__project__isnull=False), distinct=True, default=[]
        ),
        jobs=Count("uses", distinct=True),
        last_used=Max("uses__declared_at"),
    )
    return [_said(row) for row in found.order_by("code")]


def _said(row: Any) -> Any:
    row.purposes = [str(Purpose(code).label) for code in row.purpose_codes if code]
    row.recipients = [code for code in row.project_codes if code]
    return row


def processing_csv(user: User) -> StreamingHttpResponse:
    """The register as a table."""
    rows = processing(user)
    trail.record(Action.DATASETS_EXPORTED, by=user, table="processing", count=len(rows))
    head = [
        _("dataset"), _("name"), _("class"), _("legal basis"), _("controller"), _("processor"), _("ethics approval"),
        _("international transfer"), _("purposes"), _("used by projects"), _("retention"), _("sharing agreement"),
        _("data steward"), _("jobs"), _("last used"),
    ]  # fmt: skip
    return tables.response("bancada-processing.csv", head, _processing(rows))


def _processing(rows: Iterable[Any]) -> Iterator[list[Any]]:
    for row in rows:
        yield [
            row.code, row.name, row.get_classification_display(), row.get_legal_basis_display(), row.controller,
            row.processor, row.ethics or row.ethics_not_applicable,
            row.transfer_details or row.get_transfer_display(), "; ".join(row.purposes), "; ".join(row.recipients),
            row.retention, row.agreement.title if row.agreement else "", row.steward.username, row.jobs,
            _time(row.last_used),
        ]  # fmt: skip


def incidents_csv(user: User) -> StreamingHttpResponse:
    """The whole register of security incidents."""
    rows = SecurityIncident.objects.prefetch_related("datasets", "notices").order_by("known_at")
    trail.record(Action.INCIDENTS_EXPORTED, by=user, count=rows.count())
    head = [
        _("title"), _("what happened"), _("when it happened"), _("when it became known"), _("notice due"),
        _("details due"), _("datasets"), _("whose data"), _("how many people"), _("possible harm"), _("measures"),
        _("notices"), _("closed"),
    ]  # fmt: skip
    return tables.response("bancada-security-incidents.csv", head, _incidents(rows))


def _incidents(rows: Iterable[Any]) -> Iterator[list[Any]]:
    for row in rows:
        notices = "; ".join(f"{_time(one.at)} {one.get_to_display()}: {one.text}" for one in row.notices.all())
        yield [
            row.title, row.what, _time(row.happened_at), _time(row.known_at), row.notice_due.isoformat(),
            row.details_due.isoformat(), "; ".join(one.code for one in row.datasets.all()), row.subjects, row.people,
            row.risks, row.measures, notices, _time(row.closed_at),
        ]  # fmt: skip
