"""What a verification found, in plain words: what was checked, the first wrong record, what it does not prove."""

from __future__ import annotations

import dataclasses
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from audit.models import Verdict, Verification

WORDS: dict[str, str | Promise] = {
    "missing": _("it is not there: a record was taken out, or the order was changed"),
    "changed": _("it, or a record before it, is not what was sealed"),
    "gone": _("its content is gone, and no signed event says that it was removed"),
    "not_named": _("its content is gone, and the event said to have removed it does not name it"),
    "forged_removal": _("its content is gone by an event that the sealer did not sign"),
    "bad_signature": _("the seal over it does not bear the signature of the sealer's key"),
    "other_chain": _("the trail up to here is another than the one that was signed"),
    "unknown_key": _("the seal over it was made with a key the portal was not given"),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Told:
    """One verification for a page."""

    row: Verification
    percent: int
    why: str | Promise

    @property
    def is_running(self) -> bool:
        """Whether it waits or is being done."""
        return self.row.ended_at is None

    @property
    def is_ok(self) -> bool:
        """Whether all was as it was sealed."""
        return self.row.verdict == Verdict.OK

    @property
    def is_wrong(self) -> bool:
        """Whether something was found."""
        return self.row.verdict == Verdict.WRONG

    @property
    def counts(self) -> dict[str, Any]:
        """How much was looked at."""
        return dict.fromkeys(("events", "removed", "checkpoints"), 0) | self.row.counts


def told(row: Verification) -> Told:
    """With what the page needs besides."""
    return Told(row, 100 * row.seq // row.last if row.last else 100, WORDS.get(row.wrong, row.wrong))
