"""Asking for a permission to use, the steward's decision, and its end before its time."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from audit import trail
from audit.actions import Action, Outcome
from datasets.models import Dataset, DatasetState, Grant, GrantRequest, PartRole
from datasets.services import rights
from datasets.services.registering import lock
from projects.models import Project, RequestState
from projects.services import AlreadyAsked, decide

UNDECIDED = ("decided_by",)


class NotOpen(Exception):
    """The dataset is not approved: there is nothing to ask for."""


class OwnRequest(Exception):
    """Nobody decides over what they asked for themselves."""


class OutsideAgreement(Exception):
    """The agreement that governs the dataset does not allow the purpose, or ends before."""


class AlreadyRevoked(Exception):
    """The permission is over."""


@transaction.atomic
def ask(*, dataset: Dataset, by: User, project: Project | None = None, **fields: Any) -> GrantRequest:
    """For a project, or (None) for oneself. Raises NotOpen, AlreadyAsked, OutsideAgreement, ValidationError."""
    row = lock(dataset)
    if row.state != DatasetState.APPROVED:
        raise NotOpen(row.code)
    wish = GrantRequest(dataset=row, asked_by=by, project=project, user=None if project else by, **fields)
    if wish.ends_on and wish.ends_on < timezone.now().date():
        raise ValidationError({"ends_on": _("The last day cannot lie in the past.")})
    holder = {"project": project, "user": wish.user}
    if GrantRequest.objects.filter(dataset=row, state=RequestState.OPEN, **holder).exists():
        raise AlreadyAsked(row.code)
    wish.full_clean(exclude=UNDECIDED)
    _within(row, wish)
    wish.save()
    trail.record(Action.DATASET_ASKED, by=by, about=row, project=row.project, why=wish.why, **_facts(wish))
    return wish


def _facts(one: GrantRequest | Grant) -> dict[str, Any]:
    return {
        "for_project": one.project.code if one.project else None,
        "for_person": trail.Login(one.user.username) if one.user else None,
        "purpose": one.purpose, "access": one.access, "starts_on": one.starts_on, "ends_on": one.ends_on,
    }  # fmt: skip


def _within(dataset: Dataset, wish: GrantRequest) -> None:
    agreement = dataset.agreement
    if agreement is None:
        return
    if agreement.ended_at or wish.ends_on > agreement.ends_on:
        raise OutsideAgreement(_("The sharing agreement ends on %(day)s.") % {"day": agreement.ends_on})
    if wish.purpose not in agreement.purposes:
        allowed = ", ".join(agreement.purposes_said())
        raise OutsideAgreement(_("The sharing agreement allows: %(purposes)s.") % {"purposes": allowed})


@transaction.atomic
def approve(*, request: GrantRequest, by: User, answer: str = "", ends_on: date | None = None) -> Grant:
    """Give what was asked for, or for a shorter time. Raises OwnRequest, NotOpen, OutsideAgreement, Decided."""
    dataset = lock(request.dataset)
    if request.asked_by_id == by.pk or request.user_id == by.pk:
        raise OwnRequest(str(request))
    if dataset.state != DatasetState.APPROVED:
        raise NotOpen(dataset.code)
    row = decide(request, RequestState.APPROVED, by=by, answer=answer)
    row.ends_on = min(row.ends_on, ends_on) if ends_on else row.ends_on
    _within(dataset, row)
    grant = _made(dataset, row, by)
    _decided(row, by, grant)
    return grant


def _made(dataset: Dataset, row: GrantRequest, by: User) -> Grant:
    grant = Grant(
        dataset=dataset, request=row, project=row.project, user=row.user, purpose=row.purpose, access=row.access,
        starts_on=row.starts_on, ends_on=row.ends_on, asked_by=row.asked_by, approved_by=by,
    )  # fmt: skip
    grant.full_clean()
    grant.save()
    if row.user:
        rights.begin(dataset, row.user, PartRole.USER, by=by, until=over(grant))
    rights.tell(grant)
    trail.record(Action.DATASET_PERMITTED, by=by, about=dataset, project=dataset.project, **_facts(grant))
    return grant


def over(grant: Grant) -> datetime:
    """The moment its last day is over."""
    return datetime.combine(grant.ends_on + timedelta(days=1), time(), UTC)


@transaction.atomic
def refuse(*, request: GrantRequest, by: User, answer: str) -> GrantRequest:
    """No, with words. Raises OwnRequest, Decided."""
    if request.asked_by_id == by.pk:
        raise OwnRequest(str(request))
    row = decide(request, RequestState.REFUSED, by=by, answer=answer)
    _decided(row, by)
    return row


@transaction.atomic
def withdraw(*, request: GrantRequest, by: User) -> GrantRequest:
    """Whoever asked wants no answer any more. Raises Decided."""
    row = decide(request, RequestState.WITHDRAWN, by=by, answer="")
    _decided(row, by)
    return row


def _decided(row: GrantRequest, by: User, grant: Grant | None = None) -> None:
    trail.record(
        Action.DATASET_DECIDED, by=by, about=row.dataset, project=row.dataset.project, decision=row.state,
        asked_by=trail.Login(row.asked_by.username), answer=row.answer, until=grant.ends_on if grant else None,
        outcome=Outcome.DONE,
    )  # fmt: skip


@transaction.atomic
def revoke(*, grant: Grant, by: User | None, why: str) -> Grant:
    """Over from now on: the next job is refused, and who reads outputs of personal data reads them no more.
    Raises AlreadyRevoked."""
    row = Grant.objects.select_for_update(of=("self",)).select_related("dataset__project", "project", "user")
    now = row.get(pk=grant.pk)
    if now.revoked_at is not None:
        raise AlreadyRevoked(str(now))
    now.revoked_at, now.revoked_by, now.revoked_why = timezone.now(), by, why[:300]
    now.save(update_fields=["revoked_at", "revoked_by", "revoked_why"])
    if now.user and not now.dataset.grants.in_force().filter(user=now.user).exists():
        rights.end(now.dataset, PartRole.USER, user=now.user)
    rights.tell(now)
    trail.record(Action.DATASET_REVOKED, by=by, about=now.dataset, project=now.dataset.project, why=why, **_facts(now))
    return now
