"""Letters about the cluster: one a person, in their language, nothing where the site sends no mail."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.mail import get_connection

from access import letters
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
    messages = [letters.to_person(name, person, **facts) for person in people if person.email]
    try:
        return int(get_connection().send_messages(messages) or 0) if messages else 0
    except OSError as why:  # what smtplib raises are OSErrors too
        log.warning("letters not sent", letter=name, error=type(why).__name__)
        return 0
