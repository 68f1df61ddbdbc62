"""Dividing an allocation among its members: all shares at once, or none of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from quotas.models import Allocation, Share
from quotas.services.allocations import set_share

Limits = Mapping[str, Any]


@transaction.atomic
def divide(*, allocation: Allocation, shares: Mapping[User, Limits], by: User | None) -> int:
    """Set the shares of these members; who has none among them keeps theirs. How many changed.

    A share above what the allocation gives says nothing, so it is refused. Raises NotMember, ValidationError.
    """
    before = {row.user_id: row for row in Share.objects.filter(allocation=allocation)}
    changed = 0
    for user, limits in shares.items():
        if Share.whole(before.get(user.pk)) == Share.whole(limits):
            continue
        _within(allocation, user, limits)
        set_share(allocation=allocation, user=user, by=by, **limits)
        changed += 1
    return changed


def _within(allocation: Allocation, user: User, limits: Limits) -> None:
    for name, value in limits.items():
        most = getattr(allocation, name)
        pairs = [(value, most)] if name in Share.LIMITS else [(n, most.get(kind)) for kind, n in (value or {}).items()]
        if any(one is not None and limit is not None and one > limit for one, limit in pairs):
            raise ValidationError(
                {name: _("%(name)s: more than the allocation gives.") % {"name": user.name}}, params={"user": user}
            )
