"""GET /me: who the caller is, as the portal sees them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

router = Router()


class TokenOut(Schema):
    """The token that came with the request."""

    prefix: str
    name: str
    scopes: list[str]
    expires_at: datetime


class MeOut(Schema):
    """The person; `token` is null where a session asks."""

    login: str
    name: str
    email: str
    site_role: str
    language: str
    uid_number: int | None
    token: TokenOut | None


@router.get("", response=MeOut, operation_id="me")
def me(request: HttpRequest) -> dict[str, Any]:
    """The person behind the token or session."""
    person: Any = request.user
    return {
        "login": person.username,
        "name": person.name,
        "email": person.email,
        "site_role": person.site_role,
        "language": person.language,
        "uid_number": person.uid_number,
        "token": getattr(request, "token", None),
    }
