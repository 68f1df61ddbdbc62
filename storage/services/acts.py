"""One change of files with its events.

A file system shares no transaction with the trail. So what is about to be done is written down and committed first,
then it is done, then how it ended is written: whatever dies in between, nothing was done of which the trail is silent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction

from accounts.models import User
from audit import trail
from audit.actions import Action, Outcome
from files.answers import Refused
from files.client import Door, DoorDown
from files.names import shown
from projects.models import Project
from storage.services import passes


@contextmanager
def act(
    action: Action, project: Project, by: User, path: str, *, first: Callable[[], bool] = lambda: True, **intent: Any
) -> Iterator[tuple[Door, dict[str, Any]]]:
    """Write down what is meant, give the door to do it by, write down what came of it (put it into the second).

    `first` says, in the transaction of the last event, whether nobody else has written it down.
    """
    facts = {"by": by, "about": project, "project": project, "path": shown(path), **intent}
    told: dict[str, Any] = {}
    with passes.door(project, by, write=True) as door:
        with transaction.atomic():
            trail.record(Action.FILE_CHANGING, act=action.value, **facts)
        try:
            yield door, told
        except (Refused, DoorDown) as error:
            why = error.answer if isinstance(error, Refused) else "no answer"
            with transaction.atomic():
                trail.record(action, outcome=Outcome.FAILED, why=why, **facts)
            raise
        with transaction.atomic():
            if first():
                trail.record(action, **facts, **told)
