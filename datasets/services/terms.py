"""Terms of use: put in force by the steward, accepted by each person in the version in force."""

from __future__ import annotations

from django.db import transaction

from accounts import hints
from accounts.models import User
from audit import trail
from audit.actions import Action
from datasets.models import Acceptance, Dataset, Terms
from datasets.models.terms import digest_of
from datasets.services.registering import lock


class NotInForce(Exception):
    """Other terms are in force by now: they have to be read."""


def in_force(dataset: Dataset) -> Terms | None:
    """The version with the highest number."""
    return Terms.objects.filter(dataset=dataset).order_by("-number").first()


@transaction.atomic
def put_in_force(*, dataset: Dataset, text: str, by: User | None) -> Terms:
    """New terms; everybody has to accept them before the next job. The same text changes nothing."""
    row = lock(dataset)
    before = in_force(row)
    text = text.replace("\r\n", "\n").strip() + "\n"
    if before is not None and before.text == text:
        return before
    terms = Terms(dataset=row, number=before.number + 1 if before else 1, text=text, digest=digest_of(text), by=by)
    terms.full_clean()
    terms.save()
    trail.record(
        Action.TERMS_CHANGED, by=by, about=row, project=row.project, number=terms.number, digest=terms.digest,
        before=before.digest if before else None,
    )  # fmt: skip
    hints.dataset_changed(row.code)
    return terms


@transaction.atomic
def accept(*, dataset: Dataset, number: int, by: User) -> Acceptance:
    """The person has read and accepts this version. Raises NotInForce where another is in force."""
    terms = in_force(lock(dataset))
    if terms is None or terms.number != number:
        raise NotInForce(dataset.code)
    row, made = Acceptance.objects.get_or_create(terms=terms, user=by)
    if made:
        trail.record(
            Action.TERMS_ACCEPTED, by=by, about=dataset, project=dataset.project, number=number, digest=terms.digest
        )
    return row
