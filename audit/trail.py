"""`trail.record(...)`, `record_all`: the one way to write the trail, in the transaction of the change it tells of."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.db.models import Model
from django.utils import timezone

from access.compiled import insert, insert_all
from audit import context, identities
from audit.actions import Action, Outcome
from audit.models import AuditEvent


class Login(str):
    """A login in an event's detail: kept beside the trail, referred to in it."""


_LONGEST = 2000  # characters of one value in `detail`


def record(action: Action, **facts: Any) -> AuditEvent:
    """Append one event; `facts` as `event` takes them."""
    made = event(action, **facts)
    insert(made)
    return made


def record_all(events: Iterable[AuditEvent]) -> None:
    """Append events made by `event`, in one round trip."""
    insert_all(list(events))


def event(
    action: Action,
    *,
    by: Any = None,
    about: Model | None = None,
    project: Any = None,
    outcome: Outcome = Outcome.DONE,
    ran_as: str = "",
    **detail: Any,
) -> AuditEvent:
    """An event not yet appended.

    `by` is the person (None: the system), `about` the thing, `project` its project, `ran_as` the identity an outside
    system saw. `detail` holds plain values: before, after, limits, digests; never secrets, never a script.
    """
    origin = context.current()
    if origin.token_prefix:
        detail.setdefault("token", origin.token_prefix)
    return AuditEvent(
        at=timezone.now(),
        action=action,
        outcome=outcome,
        ran_as_ref=identities.ref(identities.LOGIN, _clip(ran_as, 150)),
        channel=origin.channel,
        address_ref=identities.ref(identities.ADDRESS, origin.address or "", getattr(by, "pk", None)),
        correlation=origin.correlation,
        detail={key: _plain(value) for key, value in detail.items() if value is not None},
        **_actor(by),
        **_subject(about),
        **_project(project),
    )


def _actor(by: Any) -> dict[str, Any]:
    known = by is not None and getattr(by, "pk", None) is not None
    if not known:
        return {}
    return {"actor_id": by.pk, "actor_ref": identities.ref(identities.LOGIN, _clip(by.get_username(), 150), by.pk)}


def _subject(about: Model | None) -> dict[str, Any]:
    if about is None:
        return {}
    named = {"subject_type": about._meta.model_name, "subject_id": str(about.pk)}
    if isinstance(about, AbstractBaseUser):
        return named | {"subject_ref": identities.ref(identities.LOGIN, _clip(about.get_username(), 150), about.pk)}
    return named | {"subject_text": _clip(str(about), 200)}


def _project(project: Any) -> dict[str, Any]:
    return {} if project is None else {"project_id": project.pk, "project_code": project.code}


def _plain(value: Any) -> Any:
    match value:
        case bool() | int() | float() | None:
            return value
        case datetime.datetime() | datetime.date():
            return value.isoformat()
        case dict():
            return {_clip(str(key), 200): _plain(item) for key, item in value.items()}
        case Login():
            return identities.somebody(_clip(value, 150))
        case list() | tuple() | set() | frozenset():
            return [_plain(item) for item in value]
    return _clip(str(value), _LONGEST)


def _clip(text: str, longest: int) -> str:
    clean = text.replace("\x00", "�").encode("utf-8", "replace").decode("utf-8")
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"
