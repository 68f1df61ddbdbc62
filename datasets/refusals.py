"""Why a change of datasets or permissions was not made: the field it belongs to, one sentence, and the API's status."""

from __future__ import annotations

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from datasets.models import Dataset
from datasets.services import (
    AlreadyRevoked,
    Incomplete,
    NotDraft,
    NotOpen,
    OutsideAgreement,
    OwnRequest,
    StillGoverned,
    agreements,
    incidents,
    terms,
    versions,
)
from projects.refusals import REFUSALS as OF_PROJECTS
from projects.refusals import Refusal
from projects.refusals import of as of_projects

_TABLE: dict[type[Exception], Refusal] = {
    NotDraft: Refusal(409, "not-draft", "", _("It was approved or retired before.")),
    NotOpen: Refusal(409, "not-approved", "", _("The dataset is not approved: it cannot be asked for or used.")),
    OwnRequest: Refusal(403, "own-request", "", _("Nobody decides over their own request. Somebody else has to ask.")),
    StillGoverned: Refusal(
        409, "outlives-agreement", "agreement",
        _("Permissions to use it would outlive this agreement, or it has ended. Revoke them first."),
    ),
    AlreadyRevoked: Refusal(409, "revoked", "", _("This permission is over already.")),
    agreements.Ended: Refusal(409, "agreement-ended", "", _("This agreement has ended.")),
    agreements.DutyDone: Refusal(409, "duty-done", "", _("Somebody has written this down already.")),
    terms.NotInForce: Refusal(409, "other-terms", "", _("Other terms of use are in force by now. Read them first.")),
    versions.HasManifest: Refusal(409, "has-manifest", "", _("This version has its manifest; it is never changed.")),
    versions.NoManifest: Refusal(
        422, "no-manifest", "", _("The job has printed no whole manifest yet. Look at its output.")
    ),
    incidents.Closed: Refusal(409, "closed", "", _("This security incident is closed.")),
}  # fmt: skip
OWN: tuple[type[Exception], ...] = (*_TABLE, Incomplete, OutsideAgreement)
REFUSALS: tuple[type[Exception], ...] = (*OWN, *OF_PROJECTS)


def of(error: Exception) -> Refusal:
    """The reason behind one of REFUSALS."""
    if isinstance(error, Incomplete):
        names = ", ".join(named(error.fields))
        return Refusal(422, "incomplete", "", format_lazy("{} {}", _("Still missing:"), names))
    if isinstance(error, OutsideAgreement):
        return Refusal(422, "outside-agreement", "ends_on", str(error))
    return _TABLE[type(error)] if type(error) in _TABLE else of_projects(error)


_BESIDE = {"terms": _("terms of use"), "version": _("a version with its path on shared storage")}


def named(fields: list[str]) -> list[str]:
    """Fields of a dataset in words."""
    return [str(_BESIDE[name]) if name in _BESIDE else str(_label(name)) for name in fields]


def _label(name: str) -> object:
    return Dataset._meta.get_field(name).verbose_name  # type: ignore[union-attr]
