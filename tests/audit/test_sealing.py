"""Every event is sealed once, in one gap-free order, whatever order its writers commit in; the chain is what it says."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import DatabaseError, connection, transaction

from audit import trail
from audit.actions import Action
from audit.models import AuditEvent, AuditSeal, Checkpoint
from audit.services import canonical, exporting, sealing
from audit.services.sealing import Sealer, microseconds, told
from audit.services.wanted import Wanted
from client.bancada import verify
from tests.audit.exporting import KEY
from tests.conftest import Roles
from tests.factories import make_user


def whole_chain() -> list[int]:
    """Event ids in sealed order; fails where digest, chain or sequence is not what it must be."""
    chain, ids = canonical.GENESIS, []
    columns = ", ".join(canonical.FIELDS.values())
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id, {columns} FROM audit_auditevent")
        events = {row[0]: row[1:] for row in cursor.fetchall()}
    for number, seal in enumerate(AuditSeal.objects.order_by("seq"), start=1):
        assert seal.seq == number
        assert bytes(seal.digest) == canonical.event_digest(events[seal.event_id])
        chain = canonical.linked(chain, number, bytes(seal.digest))
        assert bytes(seal.chain) == chain
        ids.append(seal.event_id)
    return ids


@pytest.mark.django_db(transaction=True)
def test_sealed_in_order_and_only_once() -> None:
    user = make_user()
    events = [trail.record(Action.SIGNED_IN, by=user, note="a\u202eb\nc", none=None).pk for _ in range(5)]
    sealer = Sealer.where_it_stands()
    assert sealer.seal() == 5 and sealer.seal() == 0
    assert Sealer.where_it_stands().seal() == 0  # another process, from the beginning
    assert whole_chain() == events
    trail.record(Action.SIGNED_IN, by=user)
    assert sealer.seal() == 1 and len(whole_chain()) == 6


@pytest.mark.django_db(transaction=True)
def test_numbers_are_sealed_in_the_order_of_numbers_not_of_their_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass takes a batch after the other by the last number it saw: in the order of text it would pass over most."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval(pg_get_serial_sequence('audit_auditevent', 'id'), 95)")
    events = [trail.record(Action.SIGNED_IN).pk for _ in range(20)]
    monkeypatch.setattr(sealing, "AT_A_TIME", 4)
    monkeypatch.setattr(sealing, "_UNSEALED", sealing._UNSEALED.replace("LIMIT 2000", "LIMIT 4"))
    assert Sealer.where_it_stands().seal() == 20
    assert whole_chain() == events


@pytest.mark.django_db
def test_to_find_what_is_new_no_old_seal_is_read() -> None:
    """As PostgreSQL finds it beside millions of seals; it read all of them for each batch."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sealing._UNSEALED}", {"after": 1000})
        plan = [row[0].strip() for row in cursor.fetchall()]
    assert any("event_id > " in line for line in plan), plan


@pytest.mark.django_db(transaction=True)
def test_an_event_that_commits_late_is_sealed_when_it_is_there() -> None:
    """The slow writer has the lower number and commits last: nobody waits for it, and it is not passed over."""
    inside, go_on = threading.Event(), threading.Event()
    user = make_user()

    def slow() -> None:
        with transaction.atomic():
            trail.record(Action.SIGNED_IN, by=user, who="slow")
            inside.set()
            go_on.wait(20)
        connection.close()

    sealer = Sealer.where_it_stands()
    sealer.seal()
    thread = threading.Thread(target=slow)
    thread.start()
    inside.wait(20)
    trail.record(Action.SIGNED_OUT, by=user)
    assert [sealer.seal() for _ in range(3)] == [1, 0, 0]
    go_on.set()
    thread.join()
    assert sealer.seal() == 1
    assert [AuditEvent.objects.get(pk=pk).action for pk in whole_chain()] == [Action.SIGNED_OUT, Action.SIGNED_IN]


WRITERS, AT_A_TIME = 64, 40
LONG = bool(os.environ.get("LONG"))
TRANSACTIONS = 392 if LONG else 8  # kept, of each writer


def _write(number: int, user: Any) -> None:
    """One writer: short transactions, a fifth of them rolled back. Numbers are burnt; the sequence has no hole."""
    for step in range(TRANSACTIONS * 5 // 4):
        with transaction.atomic():
            events = [trail.event(Action.SIGNED_IN, by=user, number=number, step=step) for _ in range(AT_A_TIME)]
            trail.record_all(events)
            if step % 5 == 4:
                transaction.set_rollback(True)
    connection.close()


def _seal_until(done: threading.Event) -> int:
    """Beside them; how many were sealed."""
    sealer, total = Sealer.where_it_stands(), 0
    while not done.is_set():
        total += sealer.seal()
        done.wait(0.05)
    total += sealer.seal()
    connection.close()
    return total


def _lines(blocks: Iterator[bytes]) -> Iterator[str]:
    """Whole ones, in flat memory."""
    rest = b""
    for block in blocks:
        *whole, rest = (rest + block).split(b"\n")
        yield from (line.decode() + "\n" for line in whole)
    assert rest == b""


@pytest.mark.timeout(1800 if LONG else 120)
@pytest.mark.django_db(transaction=True)
def test_sixty_four_writers_at_once_leave_no_gap_and_no_false_alarm() -> None:
    """20,480 rows; with LONG=1 a million, some minutes. The verifier of an auditor reads all of them."""
    user, done, kept = make_user(), threading.Event(), WRITERS * TRANSACTIONS * AT_A_TIME
    with ThreadPoolExecutor(WRITERS + 1) as pool:
        sealed = pool.submit(_seal_until, done)
        try:
            list(pool.map(lambda number: _write(number, user), range(WRITERS)))
        finally:
            done.set()
        assert sealed.result() == kept == AuditEvent.objects.count()
    last = Sealer.where_it_stands().checkpoint(KEY)
    report = verify.verify(_lines(exporting.export(Wanted())), [KEY.public_key()], [told(last)])
    assert (report.last, report.events, report.remembered) == (kept, kept, 1)


@pytest.mark.django_db(transaction=True)
def test_a_checkpoint_signs_where_the_chain_stands_also_when_nothing_happened(roles: Roles) -> None:
    trail.record(Action.SIGNED_IN)
    key = Ed25519PrivateKey.generate()
    roles.use("seal")
    sealer = Sealer.where_it_stands()
    sealer.seal()
    for row in (sealer.checkpoint(key), sealer.checkpoint(key)):
        row = Checkpoint.objects.get(pk=row.pk)
        said = canonical.checkpoint_bytes(
            origin="http://127.0.0.1:8000", seq=1, chain=bytes(row.chain), at_us=microseconds(row.at)
        )
        key.public_key().verify(bytes(row.signature), said)
        assert bytes(row.chain) == bytes(AuditSeal.objects.get(seq=1).chain)


@pytest.mark.django_db
@pytest.mark.parametrize("role", ["web", "work", "slurm"])
@pytest.mark.parametrize("table", ["audit_auditseal", "audit_checkpoint"])
def test_nobody_but_the_sealer_writes_seals(roles: Roles, role: str, table: str) -> None:
    roles.use(role)
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} DEFAULT VALUES")


@pytest.mark.django_db
def test_the_sealer_tells_of_nothing_but_its_own_acts_and_changes_no_seal(roles: Roles) -> None:
    roles.use("seal")
    with pytest.raises(DatabaseError), transaction.atomic():
        trail.record(Action.SIGNED_IN)
    for sql in ("UPDATE audit_auditseal SET seq = 1", "DELETE FROM audit_checkpoint", "TRUNCATE audit_auditseal"):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql)


def test_no_two_lists_of_values_give_the_same_bytes() -> None:
    assert (
        len({canonical.encoded(values) for values in (["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], ["abc", None])})
        == 5
    )
