"""What the worker last read of Slurm, kept beside each project as plain values, and read back as books."""

from __future__ import annotations

import dataclasses
from typing import Any

from audit import trail
from projects.models import Project
from quotas.models import Enforcement
from slurm.books import Account, Association, Books, Limits, Qos
from slurm.plan import Difference
from slurm.steps import Step


def keep(books: Books) -> dict[str, Any]:
    """One project's books as JSON."""
    return {
        "accounts": sorted(books.accounts),
        "qos": {name: _limits(row.limits) | {"deny_on_limit": row.deny_on_limit} for name, row in books.qos.items()},
        "people": [
            {
                "user": row.user, "partition": row.partition, "qos": sorted(row.qos), "default_qos": row.default_qos,
                **_limits(row.limits),
            }
            for _key, row in sorted(books.associations.items()) if row.user
        ],
    }  # fmt: skip


def books(project: Project, seen: dict[str, Any]) -> Books:
    """The same, back."""
    account = project.slurm_account
    return Books.of(
        [Account(name) for name in seen.get("accounts", ())],
        [
            Qos(name, _limits_of(row), row["deny_on_limit"]) for name, row in seen.get("qos", {}).items()
        ],
        [
            Association(
                account, row["user"], row["partition"], frozenset(row["qos"]), row["default_qos"], _limits_of(row)
            )
            for row in seen.get("people", ())
        ],
        governed={account},
    )  # fmt: skip


def of(project: Project) -> Books:
    """What was last seen of a project; nothing where the worker has not looked yet."""
    row = Enforcement.objects.filter(project=project).first()
    return books(project, row.seen if row else {})


def _limits(limits: Limits) -> dict[str, Any]:
    fields = ((field.name, getattr(limits, field.name)) for field in dataclasses.fields(limits))
    return {
        name: dict(value) if hasattr(value, "items") else value for name, value in fields if value not in (None, {})
    }


def _limits_of(row: dict[str, Any]) -> Limits:
    return Limits(**{field.name: row[field.name] for field in dataclasses.fields(Limits) if field.name in row})


def step_line(step: Step) -> dict[str, Any]:
    """A step as plain values: what it is about, and each field before and after."""
    return {
        "kind": step.kind.value, "user": step.user, "partition": step.partition, "qos": step.qos,
        "removes": step.removes,
        "changes": [[one.field, _value(one.before), _value(one.after)] for one in step.changes()],
    }  # fmt: skip


def difference_line(one: Difference) -> dict[str, Any]:
    """A line of the drift page."""
    return {
        "user": one.user, "partition": one.partition, "qos": one.qos, "field": one.field,
        "wanted": _value(one.wanted), "there": _value(one.there),
    }  # fmt: skip


def in_trail(line: dict[str, Any]) -> dict[str, Any]:
    """A line of either kind for an event: the login is kept beside the trail, and referred to in it."""
    return line | {"user": trail.Login(line["user"]) if line["user"] else ""}


def _value(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    if hasattr(value, "items"):
        return dict(value)
    return value if isinstance(value, str | int | bool | None) else ""
