"""Start-up checks an operator can act on."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register

from jobs.code import bad_prefixes

_EXAMPLES = {"change-me", "secret", "insecure"}


@register(Tags.security)
def secret_key_is_real(**_: Any) -> list[CheckMessage]:
    """Refuse a key that came from an example."""
    key = settings.SECRET_KEY
    if len(key) >= 40 and key.lower() not in _EXAMPLES:
        return []
    return [Error("BANCADA_SECRET_KEY is too short or an example.", hint="openssl rand -hex 32", id="bancada.E001")]


@register(Tags.security)
def git_prefixes(**_: Any) -> list[CheckMessage]:
    """Each is an address of http, https or ssh; nothing else is ever fetched from."""
    return [
        Error(
            f"BANCADA_GIT_PREFIXES holds no address of git: {one!r}", hint="https://git.example.org/lab/",
            id="bancada.E003",
        )
        for one in bad_prefixes(settings.GIT_PREFIXES)
    ]  # fmt: skip


@register(Tags.security, deploy=True)
def directory_is_checked(**_: Any) -> list[CheckMessage]:
    """The directory must be reached with a checked certificate."""
    url = settings.AUTH_LDAP_SERVER_URI
    if url.startswith("ldaps://") or (url.startswith("ldap://") and settings.AUTH_LDAP_START_TLS):
        return []
    return [
        Error(
            "Passwords would cross the network in clear.", hint="Use ldaps:// or LDAP_START_TLS=1.", id="bancada.E002"
        )
    ]
