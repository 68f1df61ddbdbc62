"""Asking for a new allocation, for more or for longer; talking about it; the decision, which makes it so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from audit import trail
from audit.actions import Action
from projects.models import Project, RequestState
from projects.services import decide, lock
from quotas import lifting
from quotas.lifting import BY_TYPE as _BY_TYPE
from quotas.models import Allocation, AllocationRequest, Comment, Kind, Share
from quotas.services.allocations import change_allocation, create_allocation

_WANTED = (*AllocationRequest.AMOUNTS, "no_limit", "ends_on")
UNDECIDED = ("decided_by",)  # empty until somebody decides


@transaction.atomic
def ask(*, project: Project, kind: str, by: User, **fields: Any) -> AllocationRequest:
    """Write the request down; `fields` are AllocationRequest's own. Raises ValidationError.

    What the allocation gives already is not kept as asked for: it may be another by the time somebody decides.
    """
    row = AllocationRequest(project=project, kind=Kind(kind), asked_by=by, **fields)
    row.no_limit = [] if row.kind == Kind.NEW else sorted(set(row.no_limit))  # of a new one, no amount is no limit
    _check(row)
    if row.allocation is not None:
        _leave_out(row, row.allocation)
    row.full_clean(exclude=UNDECIDED)
    row.save()
    trail.record(
        Action.ALLOCATION_REQUESTED, by=by, about=row, project=project, kind=row.kind, why=row.why,
        allocation=row.allocation.code if row.allocation else None, **{name: getattr(row, name) for name in _WANTED},
    )  # fmt: skip
    return row


def _check(row: AllocationRequest) -> None:
    """A request asks for something: what it is about, and more of it than there is."""
    errors: dict[str, str] = {}
    if row.kind == Kind.NEW:
        errors |= {name: _("This field is required.") for name in ("title", "starts_on") if not getattr(row, name)}
    elif row.allocation is None or row.allocation.project_id != row.project_id:
        errors["allocation"] = _("Choose an allocation of the project.")
    elif row.kind == Kind.LONGER:
        errors |= _longer(row, row.allocation)
    elif not _is_more(row, row.allocation):
        errors["gpu_minutes"] = _("Ask for more than the allocation gives now.")
    if row.funding is not None and row.funding.project_id != row.project_id:
        errors["funding"] = _("The funding source belongs to another project.")
    if row.starts_on and row.ends_on and row.ends_on < row.starts_on:
        errors["ends_on"] = _("The last day comes before the first.")
    if set(row.partitions) - set(row.project.partitions):
        errors["partitions"] = _("The project does not have all of these queues.")
    errors |= _unlimited(row, row.no_limit)
    if errors:
        raise ValidationError(errors)


def _unlimited(row: Any, names: Sequence[str]) -> dict[str, str]:
    if not lifting.known(names):
        return {"no_limit": _("There is no such amount.")}
    both = {name.partition("__")[0] for name in lifting.asked_both(row, names)}
    return {"no_limit": _("Name an amount, or no limit of it, not both.")} if both else {}


def _longer(row: AllocationRequest, allocation: Allocation) -> dict[str, str]:
    if row.ends_on is None:
        return {"ends_on": _("This field is required.")}
    if allocation.ends_on is None or row.ends_on <= allocation.ends_on or row.ends_on < timezone.now().date():
        return {"ends_on": _("Choose a day after the allocation's last one.")}
    return {}


def _is_more(row: AllocationRequest, allocation: Allocation) -> bool:
    pairs = [(getattr(row, name), getattr(allocation, name)) for name in Share.LIMITS]
    for name in _BY_TYPE:
        pairs += [(wanted, getattr(allocation, name).get(kind)) for kind, wanted in getattr(row, name).items()]
    larger = bool(set(row.no_limit) & set(lifting.limits(allocation)))
    larger = larger or any(wanted is not None and now is not None and wanted > now for wanted, now in pairs)
    return larger or (bool(allocation.partitions) and bool(set(row.partitions) - set(allocation.partitions)))


def _leave_out(row: AllocationRequest, allocation: Allocation) -> None:
    for name in Share.LIMITS:
        if getattr(row, name) == getattr(allocation, name):
            setattr(row, name, None)
    for name in _BY_TYPE:
        now = getattr(allocation, name)
        setattr(row, name, {kind: value for kind, value in getattr(row, name).items() if now.get(kind) != value})
    now = set(lifting.limits(allocation))
    row.no_limit = [name for name in row.no_limit if name in now]
    if set(row.partitions) == set(allocation.partitions):
        row.partitions = []


@transaction.atomic
def comment(*, request: AllocationRequest, by: User, text: str) -> Comment:
    """Say something about a request, open or decided. Raises ValidationError."""
    row = Comment(request=request, by=by, text=text)
    row.full_clean()
    row.save()
    trail.record(Action.ALLOCATION_COMMENTED, by=by, about=request, project=request.project, text=text)
    return row


@transaction.atomic
def approve(*, request: AllocationRequest, by: User, answer: str = "", **granted: Any) -> Allocation:
    """Give what was asked for, or what `granted` says instead. Raises Decided, ValidationError."""
    lock(request.project)
    row = decide(request, RequestState.APPROVED, by=by, answer=answer)
    given = {name: getattr(row, name) for name in _WANTED} | granted
    given["no_limit"] = _granted_without(row, granted)
    if row.kind == Kind.NEW or row.allocation is None:
        allocation = _new(row, by, given)
        row.allocation = allocation
        row.save(update_fields=["allocation"])
    else:
        allocation = change_allocation(allocation=row.allocation, by=by, why=row.why, **_raised(row.allocation, given))
    _decided(row, by)
    return allocation


def _granted_without(row: AllocationRequest, granted: dict[str, Any]) -> list[str]:
    """An amount that is given stands against a wish for none; who says both is asked which."""
    if "no_limit" not in granted:
        return lifting.kept(row.no_limit, granted)
    names: list[str] = granted["no_limit"]
    wrong = {} if lifting.known(names) else {"no_limit": _("There is no such amount.")}
    if not wrong and lifting.kept(names, granted) != names:
        wrong = {"no_limit": _("Name an amount, or no limit of it, not both.")}
    if wrong:
        raise ValidationError(wrong)
    return names


def _new(row: AllocationRequest, by: User, given: dict[str, Any]) -> Allocation:
    given.pop("no_limit")
    fields = {"code": _free_code(row.project), "title": row.title, "funding": row.funding, "starts_on": row.starts_on}
    return create_allocation(project=row.project, by=by, qos="", **(fields | given))


def _raised(allocation: Allocation, given: dict[str, Any]) -> dict[str, Any]:
    """What is given of an allocation there is: the rest of it stays, of the other GPU types too."""
    now = Allocation.objects.get(pk=allocation.pk)
    names = given.pop("no_limit")
    for name in _BY_TYPE:
        setattr(now, name, getattr(now, name) | (given.get(name) or {}))
    merged = {name: getattr(now, name) for name in _BY_TYPE} | lifting.lifted(now, names)
    return {name: value for name, value in given.items() if value not in (None, [], {})} | merged


def _free_code(project: Project) -> str:
    """a1, a2 and so on: the first the project does not have."""
    taken = set(Allocation.objects.filter(project=project).values_list("code", flat=True))
    return next(code for code in (f"a{n}" for n in range(1, len(taken) + 2)) if code not in taken)


@transaction.atomic
def refuse(*, request: AllocationRequest, by: User, answer: str) -> AllocationRequest:
    """Say no, with words. Raises Decided."""
    row = decide(request, RequestState.REFUSED, by=by, answer=answer)
    _decided(row, by)
    return row


@transaction.atomic
def withdraw(*, request: AllocationRequest, by: User) -> AllocationRequest:
    """The project needs it no more. Raises Decided."""
    row = decide(request, RequestState.WITHDRAWN, by=by, answer="")
    _decided(row, by)
    return row


def _decided(row: AllocationRequest, by: User) -> None:
    trail.record(
        Action.ALLOCATION_DECIDED, by=by, about=row, project=row.project, decision=row.state, answer=row.answer
    )
