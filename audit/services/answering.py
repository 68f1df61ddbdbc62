"""The question who could see or use what on a date, answered and written down."""

from __future__ import annotations

from typing import Any

from audit import could, things, trail
from audit.actions import Action


def answered(asked: could.Asked, *, by: Any, form: str) -> list[could.Could]:
    """The answer; that it was asked for is an event."""
    rows = could.answer(asked)
    trail.record(
        Action.ACCESS_ASKED, by=by, about=things.find("dataset", asked.dataset),
        project=things.find("project", asked.project), at=asked.at, count=len(rows), form=form,
        person=trail.Login(asked.person) if asked.person else None,
    )  # fmt: skip
    return rows
