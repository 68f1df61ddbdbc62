"""How a person stands, with its interval: asked later, who was open and who had a role on the site on a day."""

from __future__ import annotations

from django.utils import timezone

from accounts.models import Standing, User


def note(user: User) -> None:
    """End the row that says otherwise and begin one that says how it is; in the transaction of the change."""
    row = Standing.objects.filter(user=user, ends_at=None).first()
    if row is not None and (row.is_open, row.site_role) == (user.is_active, user.site_role):
        return
    now = max(timezone.now(), row.starts_at) if row is not None else timezone.now()  # a clock that was put back
    if row is not None:
        row.ends_at = now
        row.save(update_fields=["ends_at"])
    Standing.objects.create(user=user, is_open=user.is_active, site_role=user.site_role, starts_at=now)
