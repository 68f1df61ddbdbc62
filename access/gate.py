"""The gate: fetch a row, or narrow a list, to what a person may touch. Nobody holds an object without having passed it.

A model that passes the gate says where its project is and who owns it:
    gate_scope = "project"   # path to the scope model, "" where the model is the scope itself
    gate_owner = "owner"     # path to its owner, "" where rows have none
    gate_view = Permission.JOB_VIEW   # what it takes to see a row at all
    def gate_ways(cls, person, permission, now) -> Q   # optional: further ways in, through rows of other scopes
The scope model has `memberships` (role rows with user, starts_at, ends_at) and a django-guardian grant model.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cache, partial
from typing import Any, Generic, Protocol, TypeVar, cast
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.core.exceptions import ValidationError
from django.db.models import BooleanField, Exists, F, Func, Model, OuterRef, Q, QuerySet
from django.db.models.manager import BaseManager
from django.utils import timezone
from guardian.utils import get_user_obj_perms_model

from access.compiled import Fixed
from access.errors import NotFound, Refused
from access.permissions import OWN_SUFFIX, Permission, Scope, codename
from access.roles import site_permissions
from access.typed import can_be_kept

M = TypeVar("M", bound=Model)
Person = Any  # accounts.User or AnonymousUser: access imports no model


class Gated(Protocol):
    """What the gate reads of a model."""

    gate_scope: str
    gate_owner: str
    gate_view: Permission


def site_can(user: Person, permission: Permission) -> bool:
    """Whether the person's site role brings this permission everywhere."""
    return bool(user.is_active) and permission in site_permissions(getattr(user, "site_role", ""))


def allowing(queryset: QuerySet[M], user: Person, permission: Permission) -> QuerySet[M]:
    """The rows of this queryset on which the person has the permission now."""
    if not user.is_authenticated or not user.is_active:
        return queryset.none()
    if site_can(user, permission):
        return queryset
    return queryset.filter(allowed(queryset.model, user.pk, permission, timezone.now()))


def allowed(model: type[Model], user_id: int, permission: Permission, now: datetime) -> Q:
    """The rows on which this person has the permission at this moment: by their role, as their owner, or in a way of
    the model's own."""
    found = _held(model, user_id, codename(permission), now)
    own, owner = codename(permission, Scope.OWN), cast(Gated, model).gate_owner
    if owner and _declares(model, own):
        found |= Q(**{owner: user_id}) & _held(model, user_id, own, now)
    ways = getattr(model, "gate_ways", None)
    return found | ways(user_id, permission, now) if ways else found


def fetch(queryset: QuerySet[M] | BaseManager[M], user: Person, permission: Permission, **key: Any) -> M:
    """The one row under this key, if the person may do this to it.

    Raises NotFound where the person may not even see it (the same as where there is none), Refused where they may
    see it but not do this.
    """
    view = cast(Gated, queryset.model).gate_view
    subject = queryset.model._meta.label_lower
    if not all(map(can_be_kept, key.values())):  # it is the key of nothing
        raise NotFound(permission, subject, key)
    by_code = isinstance(queryset, BaseManager) and set(map(type, key.values())) == {str} and "pk" not in key
    if by_code and _is_ordinary(user):  # almost everybody, at almost every address
        model, now = queryset.model, timezone.now()
        row = _whole(model, permission, tuple(key)).first(person=user.pk, now=now, **key)
        if row is not None:
            return row
        if permission != view and _whole(model, view, tuple(key)).first(person=user.pk, now=now, **key) is not None:
            raise Refused(permission, subject, key)
        raise NotFound(permission, subject, key)
    try:
        seen = allowing(queryset.all(), user, view).filter(**key)
        row = seen.first() if permission == view else allowing(seen, user, permission).first()
    except (ValueError, ValidationError):
        raise NotFound(permission, subject, key) from None
    if row is not None:
        return row
    if permission != view and seen.exists():
        raise Refused(permission, subject, key)
    raise NotFound(permission, subject, key)


def _is_ordinary(user: Person) -> bool:
    """A person who is here by memberships alone, without a role on the whole site: almost everybody."""
    there = user.is_authenticated and user.is_active
    return bool(there) and not site_permissions(getattr(user, "site_role", ""))


@cache
def _whole(model: type[M], permission: Permission, key: tuple[str, ...]) -> Fixed[M]:
    """`fetch` for an ordinary person as one statement, compiled once; what it says is decided anew each time."""
    view = cast(Gated, model).gate_view

    def build(person: int, now: datetime, **values: Any) -> QuerySet[M]:
        rows = model._default_manager.filter(allowed(model, person, view, now), **values)
        return (rows if permission == view else rows.filter(allowed(model, person, permission, now)))[:1]

    return Fixed(build)


class Scoped(Generic[M]):
    """One scope row in the shape its page reads, with all that the person may do there: one statement, written once.
    `build` makes its queryset from the key by name (see access.compiled).
    """

    def __init__(self, build: Callable[..., QuerySet[M]]) -> None:
        self._build = build
        self._statement: Fixed[M] = Fixed(self._with_grants)

    def fetch(self, user: Person, permission: Permission, **key: Any) -> tuple[M, frozenset[str]]:
        """(row, codenames the person holds on it). Raises NotFound, Refused as `gate.fetch` does."""
        row: Any = None
        if user.is_authenticated and user.is_active and all(map(can_be_kept, key.values())):
            row = self._statement.first(person=user.pk, now=timezone.now(), **key)
        site = {str(p) for p in site_permissions(getattr(user, "site_role", ""))}
        rights = frozenset(site | set(row.granted if row else ()))
        if row is None or row.gate_view not in rights:
            raise NotFound(permission, self._build(**key).model._meta.label_lower, key)
        if permission not in rights:
            raise Refused(permission, row._meta.label_lower, key)
        return row, rights

    def _with_grants(self, person: int, now: datetime, **key: Any) -> QuerySet[M]:
        rows = self._build(**key)
        grants: Any = get_user_obj_perms_model(cast(Any, rows.model))
        members = _active_members(rows.model, person, now).filter(pk=OuterRef("content_object"))
        held = grants.objects.filter(Exists(members), user=person, content_object=OuterRef("pk")).order_by()
        codes = ArraySubquery(held.values("permission__codename"))
        return cast("QuerySet[M]", cast(Any, rows).annotate(granted=codes)[:1])


class Listing(Generic[M]):
    """A list of one shape as `allowing` narrows it: Django writes the statement once, whose rows they are is decided
    anew each time. `build` makes the queryset from values by name (see access.compiled); `most`: how many rows of it.
    """

    def __init__(self, build: Callable[..., QuerySet[M]], most: int) -> None:
        self._build, self._most = build, most
        self._everywhere: Fixed[M] = Fixed(lambda **values: build(**values)[:most], kept=False)
        self._held: dict[Permission, Fixed[M]] = {}

    def allowing(self, user: Person, permission: Permission, **values: Any) -> list[M]:
        """The rows on which the person has the permission now."""
        if not user.is_authenticated or not user.is_active or not all(map(can_be_kept, values.values())):
            return []
        if site_can(user, permission):
            return self._everywhere.all(**values)
        if permission not in self._held:
            self._held[permission] = Fixed(partial(self._theirs, permission), kept=False)
        return self._held[permission].all(person=user.pk, now=timezone.now(), **values)

    def fetch(self, user: Person, permission: Permission, beside: dict[str, Any] | None = None, **key: Any) -> M:
        """`fetch`, of rows in this shape; `beside`: values it takes besides the key."""
        values = {**(beside or {}), **key}
        found = self.allowing(user, permission, **values)
        if found:
            return found[0]
        model = cast(Any, self._build(**values).model)
        if permission != model.gate_view and self.allowing(user, model.gate_view, **values):
            raise Refused(permission, model._meta.label_lower, key)
        raise NotFound(permission, model._meta.label_lower, key)

    def _theirs(self, permission: Permission, person: int, now: datetime, **values: Any) -> QuerySet[M]:
        rows = self._build(**values)
        return rows.filter(allowed(rows.model, person, permission, now))[: self._most]


def can(row: Model, user: Person, permission: Permission) -> bool:
    """Whether the person may do this to this row."""
    if _is_ordinary(user) and isinstance(row.pk, int | UUID):
        return _one(type(row), permission).first(person=user.pk, now=timezone.now(), key=row.pk) is not None
    return allowing(type(row)._default_manager.filter(pk=row.pk), user, permission).exists()


@cache
def _one(model: type[M], permission: Permission) -> Fixed[M]:
    """`can` for an ordinary person as one statement."""

    def build(person: int, now: datetime, key: Any) -> QuerySet[M]:
        rows = model._default_manager.filter(allowed(model, person, permission, now), pk=key)
        return rows.order_by().only("pk")[:1]

    return Fixed(build)


def permissions_on(scope: Model, user: Person) -> frozenset[str]:
    """All codenames the person holds on one scope row, site role included: one query for a whole page."""
    if not user.is_authenticated or not user.is_active:
        return frozenset()
    site = {str(p) for p in site_permissions(getattr(user, "site_role", ""))}
    held = _grants_on(type(scope)).all(person=user.pk, scope=scope.pk, now=timezone.now())
    return frozenset(site | {grant.permission.codename for grant in held})


def rights_to(row: Model, user: Person) -> frozenset[str]:
    """All the person may do to this row, in one question: what they hold on its scope, and what counts on rows of
    their own where it is one. Its scope is at hand (select_related)."""
    model = cast(Gated, type(row))
    held = permissions_on(getattr(row, model.gate_scope), user)
    if not model.gate_owner or getattr(row, f"{model.gate_owner}_id") != user.pk:
        return held
    return held | {name.removesuffix(OWN_SUFFIX) for name in held if name.endswith(OWN_SUFFIX)}


@cache
def _grants_on(model: type[Model]) -> Fixed[Any]:
    """A person's grants on one scope row, while they are a member."""
    grants: Any = get_user_obj_perms_model(cast(Any, model))

    def build(person: int, scope: int, now: datetime) -> QuerySet[Any]:
        members = _active_members(model, person, now).filter(pk=OuterRef("content_object"))
        rows = grants.objects.filter(Exists(members), user=person, content_object=scope)
        return cast(QuerySet[Any], rows.select_related("permission").only("permission__codename"))

    return Fixed(build)


def _scope_model(model: type[Model]) -> type[Model]:
    path = cast(Gated, model).gate_scope
    for step in path.split("__") if path else ():
        model = cast(type[Model], model._meta.get_field(step).related_model)
    return model


@cache
def _declares(model: type[Model], name: str) -> bool:
    return any(codename_ == name for codename_, _label in _scope_model(model)._meta.permissions)


def _active_members(scope: type[Model], user_id: int, now: datetime) -> QuerySet[Model]:
    """Scope rows of which the person is a member at this moment; a grant without one counts for nothing."""
    membership = cast(type[Model], scope._meta.get_field("memberships").related_model)
    rows = membership._default_manager.filter(Q(ends_at=None) | Q(ends_at__gt=now), user=user_id, starts_at__lte=now)
    return scope._default_manager.filter(Exists(rows.filter(**{scope._meta.model_name or "": OuterRef("pk")})))


def scopes(model: type[Model], user_id: int, name: str, now: datetime) -> QuerySet[Any]:
    """The keys of the scopes on which the person holds this codename now."""
    scope = _scope_model(model)
    grants: Any = get_user_obj_perms_model(cast(Any, scope))
    held = grants.objects.filter(user=user_id, permission__codename=name, content_object=OuterRef("pk"))
    return _active_members(scope, user_id, now).filter(Exists(held)).order_by().values("pk")


class _AnyOf(Func):
    """`column = ANY(ARRAY(SELECT ...))`: PostgreSQL finds the scopes first and then reads the rows by their index, the
    newest only; as a plain subquery it joined all of them first."""

    template, arg_joiner = "%(expressions)s)", " = ANY("
    output_field = BooleanField()


def _held(model: type[Model], user_id: int, name: str, now: datetime) -> Q:
    """The row's scope is one on which the person holds this now."""
    held = scopes(model, user_id, name, now)
    return Q(_AnyOf(F(cast(Gated, model).gate_scope or "pk"), ArraySubquery(held)))
