"""Personal API tokens: shown once, kept as a hash, scoped, expiring, revocable."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection
from datetime import timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from access.compiled import Fixed
from accounts.models import ApiToken, TokenScope, User
from audit import trail
from audit.actions import Action

HEAD = "bnc_"
SHAPE = re.compile(rf"{HEAD}[A-Za-z0-9_-]{{16,120}}")
PREFIX = len(HEAD) + 8  # what names a token in lists, logs and the trail
LONGEST_DAYS = 365
MOST = 20  # live tokens of one person
SEEN_EVERY = timedelta(seconds=60)
_BY_PREFIX = Fixed(lambda prefix: ApiToken.objects.select_related("user").filter(prefix=prefix).order_by("pk")[:1])


class TooManyTokens(Exception):
    """The person has MOST live tokens."""


@transaction.atomic
def issue_token(*, user: User, name: str, scopes: Collection[str], days: int, by: User | None) -> tuple[ApiToken, str]:
    """A new token and its secret, which is nowhere kept. Raises TooManyTokens; ValueError for a bad scope or term."""
    wanted = sorted(TokenScope(scope) for scope in set(scopes))
    if not wanted or not 1 <= days <= LONGEST_DAYS or not user.is_active:
        raise ValueError("a token needs a scope, 1 to 365 days and an open person")
    User.objects.select_for_update().get(pk=user.pk)
    if live_tokens(user).count() >= MOST:
        raise TooManyTokens(user.username)
    secret = f"{HEAD}{_letters(8)}_{secrets.token_urlsafe(32)}"
    token = ApiToken.objects.create(
        user=user,
        name=name[:60],
        prefix=secret[:PREFIX],
        digest=_digest(secret),
        scopes=[str(scope) for scope in wanted],
        expires_at=timezone.now() + timedelta(days=days),
    )
    trail.record(
        Action.TOKEN_ISSUED, by=by, about=token, owner=trail.Login(user.username), scopes=token.scopes,
        expires=token.expires_at,
    )  # fmt: skip
    return token, secret


@transaction.atomic
def revoke_token(*, token: ApiToken, by: User | None, why: str = "") -> None:
    """It stops working at once. Revoking again does nothing."""
    changed = ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())
    if changed:
        trail.record(Action.TOKEN_REVOKED, by=by, about=token, owner=trail.Login(token.user.username), why=why)


def revoke_all(*, user: User, by: User | None, why: str) -> int:
    """All live tokens of a person; how many there were."""
    tokens = list(live_tokens(user))
    for token in tokens:
        revoke_token(token=token, by=by, why=why)
    return len(tokens)


def live_tokens(user: User) -> QuerySet[ApiToken]:
    """Neither revoked nor expired."""
    return ApiToken.objects.filter(user=user, revoked_at=None, expires_at__gt=timezone.now())


def token_user(secret: str) -> ApiToken | None:
    """The live token of an open person behind this secret, with `.user` loaded; None for anything else."""
    token = known_token(secret)
    if token is None or not token.is_live or not token.user.is_active:
        return None
    _seen(token)
    return token


def known_token(secret: str) -> ApiToken | None:
    """The token this secret was made with, whether it still counts or not, with `.user` loaded.

    The prefix finds the row; the whole is compared in constant time.
    """
    if not SHAPE.fullmatch(secret):
        return None
    token = _BY_PREFIX.first(prefix=secret[:PREFIX])
    return token if token is not None and hmac.compare_digest(token.digest, _digest(secret)) else None


def _seen(token: ApiToken) -> None:
    """Note the use, once a minute at most: only calls with a token get here, never a page."""
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > SEEN_EVERY:
        stale = Q(last_used_at=None) | Q(last_used_at__lt=now - SEEN_EVERY)
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)
        token.last_used_at = now


def _digest(secret: str) -> str:
    """256 random bits need no salt and no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _letters(count: int) -> str:
    return "".join(secrets.choice("abcdefghijkmnpqrstuvwxyz23456789") for _ in range(count))
