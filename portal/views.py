"""The portal's own pages: help, made from the same tables the rest of the portal works by."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe
from django.views.i18n import set_language

from access.permissions import OWN_PERMISSIONS, PROJECT_PERMISSIONS, Scope, codename
from access.roles import Role, SiteRole, grants_of, site_permissions
from accounts.models import TokenScope, User
from jobs import reasons, states
from jobs.reason_words import WAITING
from portal.help_words import COMMON_REASONS, STATES

ROLES = (Role.PI, Role.MANAGER, Role.RESEARCHER, Role.VIEWER)
SITE_ROLES = (SiteRole.OPERATOR, SiteRole.AUDITOR)


def rights() -> list[dict[str, Any]]:
    """One row per permission: (role's label, "yes", "own" or "") for each role in a project and on the site."""
    own = dict(OWN_PERMISSIONS)
    return [
        {
            "label": label,
            "own_label": own.get(permission, ""),
            "cells": [(role.label, _cell(role, permission)) for role in ROLES]
            + [(role.label, "yes" if permission in site_permissions(role) else "") for role in SITE_ROLES],
        }
        for permission, label in PROJECT_PERMISSIONS
    ]


def _cell(role: str, permission: Any) -> str:
    held = grants_of(role)
    if codename(permission) in held:
        return "yes"
    return "own" if codename(permission, Scope.OWN) in held else ""


@require_POST
def language(request: HttpRequest) -> HttpResponse:
    """Choose the language: for this browser, and for the person who is signed in."""
    chosen = request.POST.get("language", "")
    if request.user.is_authenticated and chosen in dict(settings.LANGUAGES):
        User.objects.filter(pk=request.user.pk).update(language=chosen)
    return set_language(request)


@require_safe
def help_page(request: HttpRequest) -> HttpResponse:
    """Roles, states, reasons, limits, output, tokens and keys; open to whoever is about to sign in as well."""
    return render(
        request,
        "help.html",
        {
            "columns": [*(role.label for role in ROLES), *(role.label for role in SITE_ROLES)],
            "rights": rights(),
            "states": [(states.view(state), text) for state, text in STATES.items()],
            "reasons": [reasons.explain(code) for code in COMMON_REASONS],
            "other_reasons": [reasons.explain(code) for code in WAITING if code not in COMMON_REASONS],
            "scopes": TokenScope.labels,
            "public_url": settings.PUBLIC_URL,
        },
    )
