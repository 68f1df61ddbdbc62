"""Letters by mail: written in the reader's language, sent over one connection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import structlog
from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.template.loader import render_to_string
from django.utils import translation

log = structlog.get_logger(__name__)


def letter(name: str, to: Sequence[str], language: str = "", **facts: Any) -> EmailMessage:
    """`mail/<name>.txt` with its subject, in this language or the site's."""
    with translation.override(language or settings.LANGUAGE_CODE):
        whole = {"address": settings.PUBLIC_URL} | facts
        subject = " ".join(render_to_string(f"mail/{name}_subject.txt", whole).split())
        return EmailMessage(subject, render_to_string(f"mail/{name}.txt", whole), to=list(to))


def to_person(name: str, person: Any, **facts: Any) -> EmailMessage:
    """The same to somebody with an address, who is `user` in it."""
    return letter(name, [person.email], person.language, user=person, **facts)


def sent(messages: Iterable[EmailMessage], trouble: str, **about: Any) -> bool:
    """Whether all went out; what the mail server does not take is logged as this trouble."""
    try:
        with get_connection() as connection:
            for message in messages:
                message.connection = connection
                message.send()
    except OSError as error:  # what smtplib raises are OSErrors too
        log.warning(trouble, error=type(error).__name__, **about)
        return False
    return True
