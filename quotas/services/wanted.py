"""What Slurm's accounting should hold for these projects, by our own rows: accounts, QOS, associations.

An account and its QOS stay for ever; who may not submit (any more) is not among the associations, and the plan stops
them. A person has one association per partition, whose QOS are the allocations they may spend there.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from django.db.models import Q, Sum
from django.utils import timezone

from access.permissions import Permission, codename
from access.roles import ROLE_GRANTS
from cluster.models import Partition
from projects.models import Membership, Project
from quotas.models import Allocation, Share, Usage
from slurm.books import Account, Association, Books, Key, Limits, Qos

SUBMITTERS = sorted(role for role, held in ROLE_GRANTS.items() if codename(Permission.JOB_SUBMIT) in held)
LOWEST_UID = 1000
KEPT = timedelta(days=60)  # a QOS that is over stays in people's lists so long: a running job may still be under it
_OF_ALLOCATION = (
    "gpus_at_once", "gpus_by_type", "gpu_minutes", "gpu_minutes_by_type", "longest_minutes", "jobs_submitted",
    "jobs_running",
)  # fmt: skip
_CLOSED = {"jobs_submitted": 0}


@dataclasses.dataclass(frozen=True, slots=True)
class _Rows:
    """Everything that matters of one project."""

    project: Project
    allocations: Sequence[Allocation]
    members: Sequence[Membership]
    shares: dict[tuple[int, int], Share]  # by allocation and user
    earlier: dict[tuple[int, str, str], int]  # GPU-minutes before the open periods, by user, partition and type
    types: Mapping[str, Sequence[str]]  # GPU types of each partition


def wanted(projects: Iterable[Project]) -> Books:
    """The books of these projects; a fixed number of queries whatever their number."""
    rows = list(projects)
    accounts, qos, associations = [], [], []
    for one in _load(rows):
        project = one.project
        accounts.append(Account(project.slurm_account, project.title, project.organization))
        associations.append(Association(project.slurm_account))  # its own row limits nobody
        qos += [_qos(project, row) for row in one.allocations]
        if project.takes_work:
            associations += [row for member in one.members for row in _associations(one, member)]
    return Books.of(accounts, qos, associations)


def parts(books: Books, projects: Iterable[Project], owners: Mapping[str, int]) -> dict[int, Books]:
    """Each project's part of the books of many, by project id; `owners` says whose a QOS is."""
    by_account: dict[str, dict[Key, Association]] = defaultdict(dict)
    for key, row in books.associations.items():
        by_account[key[0]][key] = row
    by_owner: dict[int | None, dict[str, Qos]] = defaultdict(dict)
    for name, qos in books.qos.items():
        by_owner[owners.get(name)][name] = qos
    found = {}
    for project in projects:
        account = project.slurm_account
        mine = {account: books.accounts[account]} if account in books.accounts else {}
        found[project.pk] = Books(mine, by_owner[project.pk], by_account[account], frozenset({account}))
    return found


def digest(books: Books) -> str:
    """The same for the same books, whatever their order."""
    plain = [sorted(map(repr, map(_plain, rows.values()))) for rows in (books.accounts, books.qos, books.associations)]
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()


def _plain(entry: Any) -> list[Any]:
    def flat(value: Any) -> Any:
        if dataclasses.is_dataclass(value):
            return [(field.name, flat(getattr(value, field.name))) for field in dataclasses.fields(value)]
        if isinstance(value, frozenset):
            return sorted(value)
        return sorted(value.items()) if hasattr(value, "items") else value

    return flat(entry)


def _load(projects: Sequence[Project]) -> Iterator[_Rows]:
    today = timezone.now().date()
    allocations, members = defaultdict(list), defaultdict(list)
    shares: dict[int, dict[tuple[int, int], Share]] = defaultdict(dict)
    for row in _allocations(projects, today):
        allocations[row.project_id].append(row)
    for member in _members(projects):
        members[member.project_id].append(member)
    for share in Share.objects.filter(allocation__project__in=projects).select_related("allocation"):
        shares[share.allocation.project_id][share.allocation_id, share.user_id] = share
    every = [share for own in shares.values() for share in own.values()]
    earlier, types = _earlier(every), _types(every)
    for project in projects:
        pk = project.pk
        yield _Rows(project, allocations[pk], members[pk], shares[pk], earlier.get(pk, {}), types)


def _types(shares: Sequence[Share]) -> dict[str, list[str]]:
    """The GPU types of each partition, asked only where some share is of one type."""
    if not any(share.gpus_by_type or share.gpu_minutes_by_type for share in shares):
        return {}
    return {name: sorted(types or {}) for name, types in Partition.objects.values_list("name", "gpu_types")}


def _allocations(projects: Sequence[Project], today: date) -> Iterable[Allocation]:
    """Those that have begun and are not long over, in an order that does not change."""
    recent = Q(ends_on=None) | Q(ends_on__gte=today - KEPT)
    rows = Allocation.objects.filter(recent, project__in=projects, starts_on__lte=today)
    return rows.exclude(closed_at__lt=timezone.now() - KEPT).order_by("pk")


def _members(projects: Sequence[Project]) -> Iterable[Membership]:
    rows = Membership.objects.active().filter(project__in=projects, role__in=SUBMITTERS, user__is_active=True)
    return rows.filter(user__uid_number__gte=LOWEST_UID).select_related("user").order_by("user__username")


def _qos(project: Project, row: Allocation) -> Qos:
    limits = Limits(**{name: getattr(row, name) for name in _OF_ALLOCATION})
    if not row.is_open or not project.takes_work:
        limits = dataclasses.replace(limits, **_CLOSED)  # type: ignore[arg-type]
    return Qos(row.qos, limits, row.deny_on_limit, f"{project.code} {row.code}")


def _associations(rows: _Rows, member: Membership) -> Iterator[Association]:
    for partition in rows.project.partitions:
        here = [row for row in rows.allocations if not row.partitions or partition in row.partitions]
        spendable = [row for row in here if row.is_open]
        if not spendable:
            continue
        default = next((row for row in spendable if row.is_default), spendable[0])
        names = frozenset(row.qos for row in here)
        limits = _share(rows, member, spendable, partition)
        yield Association(
            rows.project.slurm_account, member.user.username, partition, names, default.qos, limits
        )  # fmt: skip


def _share(rows: _Rows, member: Membership, spendable: Sequence[Allocation], partition: str) -> Limits:
    """A limit holds where every allocation the person may spend there sets one: together, for they share one row."""
    shares = [rows.shares.get((row.pk, member.user_id)) for row in spendable]
    if not any(shares):
        return Limits()
    found: dict[str, Any] = {}
    for name in Share.LIMITS:
        found[name] = _together(name, [getattr(share, name) if share else None for share in shares])
    for name in Share.BY_TYPE:
        of = [getattr(share, name) if share else {} for share in shares]
        sums = {kind: _together(name, [one.get(kind) for one in of]) for kind in {kind for one in of for kind in one}}
        found[name] = {kind: value for kind, value in sums.items() if value is not None}
    return Limits(**_counted(rows, member, partition, _folded(found, rows.types.get(partition, ()))))


def _together(name: str, values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return max(known, default=None) if name == "longest_minutes" else sum(known)


def _folded(found: dict[str, Any], types: Sequence[str]) -> dict[str, Any]:
    """Where a partition has one type, a share of it is one of all GPUs there: Slurm holds that whatever the QOS says.

    A type that the partition does not have limits nothing on it.
    """
    for name, typed in (("gpus_at_once", "gpus_by_type"), ("gpu_minutes", "gpu_minutes_by_type")):
        here = {kind: value for kind, value in found[typed].items() if kind in types}
        if len(types) == 1 and here:
            known = [value for value in (found[name], *here.values()) if value is not None]
            found[name], here = min(known), {}
        found[typed] = here
    return found


def _counted(rows: _Rows, member: Membership, partition: str, found: dict[str, Any]) -> dict[str, Any]:
    """With what was used before: Slurm counts from the association's first day on."""
    here = (member.user_id, partition)
    before = {kind: n for (user, queue, kind), n in rows.earlier.items() if (user, queue) == here}
    if found["gpu_minutes"] is not None:
        found["gpu_minutes"] += sum(before.values())
    typed = found["gpu_minutes_by_type"]
    return found | {"gpu_minutes_by_type": {kind: value + before.get(kind, 0) for kind, value in typed.items()}}


def _earlier(shares: Sequence[Share]) -> dict[int, dict[tuple[int, str, str], int]]:
    """What people whose share has GPU-minutes used outside the periods of what they may spend now."""
    hours = [share for share in shares if share.gpu_minutes is not None or share.gpu_minutes_by_type]
    counted = [share for share in hours if share.allocation.is_open]
    if not counted:
        return {}
    people = Q()
    inside = Q(pk__in=[])
    for share in counted:
        people |= Q(project=share.allocation.project_id, user=share.user_id)
        inside |= Q(allocation=share.allocation_id, user=share.user_id, day__gte=share.allocation.starts_on)
    rows = Usage.objects.filter(people).exclude(inside).values("project_id", "user_id", "partition", "gpu_type")
    found: dict[int, dict[tuple[int, str, str], int]] = defaultdict(dict)
    for row in rows.annotate(seconds=Sum("gpu_seconds")).order_by():
        found[row["project_id"]][row["user_id"], row["partition"], row["gpu_type"]] = round(row["seconds"] / 60)
    return found
