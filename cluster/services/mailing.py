"""Letters about the cluster: one a person, in their language, nothing where the site sends no mail."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.mail import EmailMessage, get_connection
from django.template.loader import render_to_string
from django.utils import translation

from access.roles import SiteRole

log = structlog.get_logger(__name__)


def operators() -> list[Any]:
    """The site's cluster administrators."""
    people = get_user_model()._default_manager.filter(site_role=SiteRole.OPERATOR, is_active=True)
    return list(people.order_by("username"))


def send(name: str, people: Iterable[Any], **facts: Any) -> int:
    """The letter `mail/<name>.txt` to each who has an address; how many went out. What fails is logged, and lost."""
    if not settings.MAIL_IS_ON:
        return 0
    messages = [_letter(name, person, facts) for person in people if person.email]
    try:
        return int(get_connection().send_messages(messages) or 0) if messages else 0
    except OSError as why:  # what smtplib raises are OSErrors too
        log.warning("letters not sent", letter=name, error=type(why).__name__)
        return 0


def _letter(name: str, person: Any, facts: dict[str, Any]) -> EmailMessage:
    with translation.override(person.language or settings.LANGUAGE_CODE):
        whole = facts | {"user": person, "address": settings.PUBLIC_URL}
        subject = " ".join(render_to_string(f"mail/{name}_subject.txt", whole).split())
        return EmailMessage(subject, render_to_string(f"mail/{name}.txt", whole), to=[person.email])
