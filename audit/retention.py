"""How long bodies of events are kept, by class: what holds where nobody decided otherwise, and the least there may be.

Brazilian law asks for six months of access logs (Marco Civil da Internet, art. 15) and five years are usual for what
may become a claim; a site may keep longer, never shorter. What is shortened counts a week later: time to object.
"""

from __future__ import annotations

from datetime import timedelta

from audit.catalogue import RetentionClass

HALF_A_YEAR, YEAR, FIVE_YEARS = 183, 365, 1827
NOTICE = timedelta(days=7)  # between deciding to keep less, or to lift a hold, and its taking effect

# days; None: for ever
DEFAULTS: dict[RetentionClass, int | None] = {
    RetentionClass.SESSION: YEAR,
    RetentionClass.ACCESS: YEAR,
    RetentionClass.JOB: FIVE_YEARS,
    RetentionClass.GOVERNANCE: FIVE_YEARS,
    RetentionClass.DATA: 2 * FIVE_YEARS,
    RetentionClass.TRAIL: None,
    RetentionClass.INCIDENT: 2 * FIVE_YEARS,
    RetentionClass.OPERATOR: FIVE_YEARS,
}
LEAST: dict[RetentionClass, int] = dict.fromkeys(RetentionClass, YEAR) | {
    RetentionClass.SESSION: HALF_A_YEAR,
    RetentionClass.ACCESS: HALF_A_YEAR,
    RetentionClass.JOB: HALF_A_YEAR,
    RetentionClass.DATA: FIVE_YEARS,
    RetentionClass.INCIDENT: FIVE_YEARS,
}


def is_shorter(days: int | None, than: int | None) -> bool:
    """Whether less is kept; None is for ever."""
    return days is not None and (than is None or days < than)
