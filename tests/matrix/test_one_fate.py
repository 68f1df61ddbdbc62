"""Stopped between an act and its event, nothing is left: tried at every door that changes something, at each event of it.

Quickly, in one process; `test_killed.py` kills processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.db import connection, transaction

from audit import trail
from tests.matrix.asking import Call, _enter, _send, call_for
from tests.matrix.expect import ASKS_TO_SIGN_IN, OWN, ROLES, expected
from tests.matrix.killing import tables_by
from tests.matrix.people import World
from tests.matrix.rules import ANYBODY, API, PAGES, Kind, Rule
from tests.matrix.told import EVENTS

pytestmark = pytest.mark.django_db
MOST = 12  # events of one call
ACTS = [rule for rule in (*PAGES, *API) if rule.method != "GET" and rule.ok in (200, 201, 202, 204, 302)]
# they change what is one's own and nobody else's business; of a verification the event comes with its result
SILENT = {
    "POST set_language", "POST accounts:preferences", "POST audit:keep_filter", "POST audit:verify",
    "POST jobs:act", "POST jobs:save_view",  # a star and a view are a person's own
    "POST jobs:notice_choice", "POST jobs:notices_of", "POST jobs:read_notices",  # and what one wants to be told
    "POST jobs:draft", "POST jobs:delete_draft",  # so is a script that was brought and not asked for yet
}  # fmt: skip


# a file system shares no transaction: before the act its intent stands, of which nothing is left but the event itself
INTENT_FIRST = {"files:", "/projects/{code}/files"}
TRAIL = {"audit_auditevent", "audit_identity"}
CLAIM = {"storage_upload"}  # who is at the end of an upload: seen by all processes, before anything is done or told


def claim_of(rule: Rule) -> set[str]:
    """The table in which this act says first who is at it."""
    return CLAIM if "finish" in str(rule) else set()


class Killed(BaseException):
    """As the process dies: nothing of ours catches it."""


@contextmanager
def killed_at(number: int, patch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The event of this number is not written any more; which were to be."""
    seen: list[str] = []

    def dies(write: Any) -> Any:
        def instead(rows: Any) -> None:
            for row in rows if isinstance(rows, list) else [rows]:
                seen.append(row.action)
                if len(seen) == number:
                    raise Killed
            write(rows)

        return instead

    with patch.context() as here:
        here.setattr(trail, "insert", dies(trail.insert))
        here.setattr(trail, "insert_all", dies(trail.insert_all))
        yield seen


def fingerprint() -> dict[str, Any]:
    """As this connection sees it."""
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")

        def ask(statement: str) -> Any:
            cursor.execute(statement)
            return cursor.fetchall()

        found = tables_by(ask)
        cursor.execute("SET ROLE web")
    return found


def whoever_may(rule: Rule) -> str:
    """Somebody for whom the act succeeds."""
    shut = ASKS_TO_SIGN_IN if rule.kind is Kind.PAGE and rule.see != ANYBODY else ()
    people = [name for name in ROLES if name not in shut]
    return next(name for name in people if expected(rule, name, OWN) == rule.ok)


@pytest.mark.parametrize("rule", ACTS, ids=str)
def test_without_its_event_nothing_happened(world: World, rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    person = whoever_may(rule)
    before = fingerprint()
    for number in range(1, MOST):
        written, after, status = _killed(world, rule, person, call_for(world, rule, person, OWN), number, monkeypatch)
        changed = {table for table in before if before[table] != after[table]}
        if len(written) < number:  # it came through: all its events are there
            assert (status, " ".join(written)) == (rule.ok, EVENTS.get(str(rule), "")), f"{rule}"
            assert number > 1 or not changed or str(rule) in SILENT, f"{rule}: {changed} had changed without an event"
            break
        if number > 1 and any(start in str(rule) for start in INTENT_FIRST):
            changed -= TRAIL
        changed -= claim_of(rule)
        assert changed == set(), f"{rule}: killed at event {number}, and {changed} had changed"


def _killed(
    world: World, rule: Rule, person: str, call: Call, number: int, patch: pytest.MonkeyPatch
) -> tuple[list[str], dict[str, Any], int]:
    """(which events were to be written, what was there afterwards, the answer's status); then all as before."""
    headers, status = _enter(world, rule.kind, person), 0
    with transaction.atomic():
        with killed_at(number, patch) as seen, suppress(Killed):
            status = _send(call, headers).status
        after = fingerprint()
        transaction.set_rollback(True)
    return seen, after, status
