"""What datasets answer to an auditor: who could use one on a day, by which permission, and what is held on a person."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from access.permissions import Permission
from accounts.evidence import open_at
from accounts.models import User
from audit import could, persons, things
from audit.could import Asked, Could, Rights
from audit.persons import Section
from datasets.models import Acceptance, Dataset, DatasetUse, Grant, GrantRequest, Part, PartRole
from projects.models import Membership


def register() -> None:
    """Called once, when the app is there."""
    things.register("dataset", lambda code: Dataset.objects.filter(code=code))
    could.register("data stewards", stewards)
    could.register("permissions to use", permissions)
    persons.register("datasets", tell=told, hinder=hindrances)


def stewards(asked: Asked, _rights: Rights) -> Iterator[Could]:
    """Who answered for a dataset then."""
    rows = Part.objects.filter(Q(ends_at=None) | Q(ends_at__gt=asked.at), role=PartRole.STEWARD)
    rows = rows.filter(open_at(asked), starts_at__lte=asked.at).select_related("dataset__project", "user", "by")
    rows = rows.filter(user__username=asked.person) if asked.person else rows
    rights = (str(Permission.DATASET_STEWARD), str(Permission.DATASET_VIEW))
    for row in _of_those_asked(rows, asked):
        yield Could(
            "dataset", row.user.username, row.user.name, row.dataset.code, row.role, rights, row.starts_at,
            row.ends_at, row.by.username if row.by else "", row.why,
        )  # fmt: skip


def permissions(asked: Asked, _rights: Rights) -> Iterator[Could]:
    """Who had a permission to use one then: their own, or as a member of a project that had one."""
    day = asked.at.astimezone(UTC).date()
    rows = Grant.objects.filter(Q(revoked_at=None) | Q(revoked_at__gt=asked.at), approved_at__lte=asked.at)
    rows = (
        rows.filter(starts_on__lte=day, ends_on__gte=day)
        .filter(  # a retired one takes no use
            Q(dataset__retired_at=None) | Q(dataset__retired_at__gt=asked.at)
        )
        .select_related("dataset__project", "project", "user", "approved_by")
    )
    for grant in _of_those_asked(rows, asked):
        for user in _holders(grant, asked):
            since = max(grant.approved_at, datetime.combine(grant.starts_on, time(), UTC))
            over = datetime.combine(grant.ends_on + timedelta(days=1), time(), UTC)
            yield Could(
                "dataset", user.username, user.name, grant.dataset.code, grant.purpose, (grant.access,), since,
                min(over, grant.revoked_at or over), grant.approved_by.username,
                grant.project.code if grant.project else "",
            )  # fmt: skip


def _of_those_asked(rows: QuerySet[Any], asked: Asked) -> QuerySet[Any]:
    if asked.dataset:
        return rows.filter(dataset__code=asked.dataset)
    return rows.filter(dataset__project__code=asked.project) if asked.project else rows


def _holders(grant: Grant, asked: Asked) -> Iterator[User]:
    """Those it was for then, as far as they are asked for."""
    if grant.project_id:
        rows = Membership.objects.active(asked.at).filter(open_at(asked), project=grant.project_id)
        people = [row.user for row in rows.select_related("user").order_by("user__username")]
    else:
        own = Grant.objects.filter(open_at(asked), pk=grant.pk).select_related("user")
        people = [row.user for row in own if row.user]
    yield from (user for user in people if not asked.person or user.username == asked.person)


def hindrances(person: User) -> Iterator[str | Promise]:
    """Whoever answers for data is somebody there."""
    codes = Dataset.objects.filter(steward=person).values_list("code", flat=True)
    if codes:
        yield gettext("answers for datasets: %(codes)s") % {"codes": ", ".join(sorted(codes))}


def told(person: User) -> Iterator[Section]:
    """What they asked for, accepted and used."""
    asked = GrantRequest.objects.filter(Q(asked_by=person) | Q(user=person)).select_related("dataset")
    yield Section(
        _("Permissions asked for"), "datasets_grantrequest, datasets_grant",
        _("to decide on them, and to show who may use which data for what"),
        (_("when"), _("dataset"), _("purpose"), _("justification"), _("state")),
        tuple((row.asked_at, row.dataset.code, row.purpose, row.why, row.state) for row in asked),
    )  # fmt: skip
    accepted = Acceptance.objects.filter(user=person).select_related("terms__dataset").order_by("-at")
    yield Section(
        _("Terms accepted"), "datasets_acceptance", _("to show who knew of which words"),
        (_("when"), _("dataset"), _("version")),
        tuple((row.at, row.terms.dataset.code, row.terms.number) for row in accepted),
    )  # fmt: skip
    used = DatasetUse.objects.filter(user=person).select_related("dataset", "version")[:1000]
    yield Section(
        _("Data used"), "datasets_datasetuse", _("the register of who used which data for what (LGPD art. 37)"),
        (_("when"), _("dataset"), _("version"), _("purpose"), _("job")),
        tuple((row.declared_at, row.dataset.code, row.version.label, row.purpose, str(row.job)) for row in used),
    )  # fmt: skip
