"""Tampering by the database's superuser is caught and its first record named; a clean trail raises no alarm.

The trail's triggers and rights are put out of the way as a superuser can, and the lines an auditor gets are tried too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import connection, transaction

from audit import context, trail
from audit.actions import Action
from audit.models import AuditSeal, Checkpoint
from audit.services import canonical, exporting
from audit.services.sealing import Sealer, microseconds, told
from client.bancada import verify
from portal.management.commands.setup_roles import guard_the_trail
from tests.factories import make_project, make_user

KEY, OTHER = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
Lines = list[str]


@pytest.fixture
def remembered(transactional_db: None) -> Iterator[list[dict[str, object]]]:
    """A trail of some dozens of events with checkpoints, and what the auditor keeps of it."""
    user, project = make_user("davi"), make_project("visao")
    sealer, kept = Sealer.where_it_stands(), []
    for part in range(4):
        with context.coming_from("web", address="192.0.2.7"):
            for number in range(6):
                trail.record(
                    Action.LOG_READ, by=user, project=project, about=project, n=number, part=part, why="é\n\u202e"
                )
        sealer.seal()
        kept.append(told(sealer.checkpoint(KEY)))
    yield kept
    with connection.cursor() as cursor:
        cursor.execute("RESET session_replication_role")


def exported() -> Lines:
    return b"".join(exporting.export(exporting.Wanted())).decode().splitlines(keepends=True)


def check(lines: Lines, kept: list[dict[str, object]]) -> verify.Report:
    try:
        return verify.verify(lines, [KEY.public_key()], kept)
    except verify.Bad as bad:
        print(f"WRONG: {bad}")  # `make tamper` shows it beside what was done
        raise


def sql(*statements: str) -> None:
    """As a superuser who knows how to put our triggers to sleep."""
    with transaction.atomic(), connection.cursor() as cursor:
        for table in ("audit_auditevent", "audit_auditseal", "audit_checkpoint"):
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
        for statement in statements:
            cursor.execute(statement)
    guard_the_trail()


def test_a_clean_trail_is_ok_and_says_what_was_checked(remembered: list[dict[str, object]]) -> None:
    report = check(exported(), remembered)
    assert (report.events, report.checkpoints, report.remembered, report.unsigned) == (
        AuditSeal.objects.count(),
        4,
        4,
        0,
    )
    assert report.begins_at_genesis


EVENT = "UPDATE audit_auditevent SET {} WHERE id = (SELECT event_id FROM audit_auditseal WHERE seq = {})"
EDITS = {
    "action": ("action = 'job.ended'", 3), "outcome": ("outcome = 'refused'", 9), "back-dated": ("at = at - interval '1 day'", 5),
    "a microsecond": ("at = at + interval '1 microsecond'", 8), "actor": ("actor_id = 1", 4), "actor taken out": ("actor_id = NULL", 4),
    "who it was": ("actor_ref = gen_random_uuid()", 12), "address": ("address_ref = NULL", 7), "role": ("db_role = 'owner'", 2),
    "project": ("project_code = 'atlas'", 11), "project number": ("project_id = 7", 11), "subject": ("subject_id = '0'", 6),
    "subject's name": ("subject_text = ''", 6), "correlation": ("correlation = ''", 10), "channel": ("channel = 'task'", 13),
    "detail": ("""detail = detail || '{"n": 9}'""", 14), "detail key": ("detail = detail - 'why'", 15),
    "uid": ("uid = gen_random_uuid()", 16), "empty for null": ("ran_as_ref = gen_random_uuid()", 17),
    "the first": ("action = 'x'", 1), "the last": ("action = 'x'", 25),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_event_is_named(remembered: list[dict[str, object]], name: str) -> None:
    change, seq = EDITS[name]
    sql(EVENT.format(change, seq))
    with pytest.raises(verify.Bad, match=rf"^record {seq}: "):
        check(exported(), remembered)


SEALS = {
    "an event deleted": ("DELETE FROM audit_auditevent WHERE id = (SELECT event_id FROM audit_auditseal WHERE seq = 5)", 5),
    "the first deleted": ("DELETE FROM audit_auditseal WHERE seq = 1", 1),
    "one in the middle deleted": ("DELETE FROM audit_auditseal WHERE seq = 10", 10),
    "a seal's digest": (r"UPDATE audit_auditseal SET digest = '\x00' WHERE seq = 9", 0),
    "a seal's chain": (r"UPDATE audit_auditseal SET chain = '\x00' WHERE seq = 9", 9),
    "two exchanged": ("UPDATE audit_auditseal s SET event_id = -o.event_id FROM audit_auditseal o WHERE (s.seq, o.seq) IN "
                      "((3, 4), (4, 3)); UPDATE audit_auditseal SET event_id = -event_id WHERE event_id < 0", 3),
    "renumbered": ("UPDATE audit_auditseal SET seq = -seq; UPDATE audit_auditseal SET seq = 1 - seq", 1),
    "one sealed twice": ("UPDATE audit_auditseal SET event_id = -event_id WHERE seq = 6; INSERT INTO audit_auditevent "
                         "(id, uid, at, action, outcome, subject_type, subject_id, subject_text, project_code, channel, "
                         "correlation, db_role, detail) SELECT -event_id, gen_random_uuid(), now(), 'x', 'done', '', '', '', "
                         "'', '', '', '', '{}' FROM audit_auditseal WHERE seq = 6; "
                         "UPDATE audit_auditseal SET event_id = -event_id WHERE seq = 6", 6),
    "a block taken out": ("DELETE FROM audit_auditseal WHERE seq BETWEEN 8 AND 11", 8),
}  # fmt: skip


@pytest.mark.parametrize("name", SEALS)
def test_a_changed_order_is_named(remembered: list[dict[str, object]], name: str) -> None:
    statements, seq = SEALS[name]
    if name == "one sealed twice":
        statements = statements.split("; ")[1] + "; UPDATE audit_auditseal SET event_id = -event_id WHERE seq = 6"
    sql(*statements.split("; "))
    if not seq:  # the digest beside the event is only a copy: the event itself still is what was sealed
        check(exported(), remembered)
        return
    with pytest.raises(verify.Bad, match=rf"^record {seq}: "):
        check(exported(), remembered)


def recompute(first: int) -> None:
    """A new history from here on, with all digests and links right, and every checkpoint of it taken away."""
    columns = ", ".join(canonical.FIELDS.values())
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id, {columns} FROM audit_auditevent")
        events = {row[0]: row[1:] for row in cursor.fetchall()}
    before = AuditSeal.objects.filter(seq=first - 1).first()
    chain, statements = bytes(before.chain) if before else canonical.GENESIS, []
    for seal in AuditSeal.objects.filter(seq__gte=first).order_by("seq"):
        digest = canonical.event_digest(events[seal.event_id])
        chain = canonical.linked(chain, seal.seq, digest)
        statements.append(f"UPDATE audit_auditseal SET digest = '\\x{digest.hex()}', chain = '\\x{chain.hex()}' "
                          f"WHERE seq = {seal.seq}")  # fmt: skip
    sql(*statements)


def resigned(key: Ed25519PrivateKey) -> None:
    """All checkpoints over what now stands there, by a key of the tamperer's own."""
    sql("DELETE FROM audit_checkpoint")
    for seq in (7, 25):
        chain, at = bytes(AuditSeal.objects.get(seq=seq).chain), Checkpoint().at
        said = canonical.checkpoint_bytes(origin="http://127.0.0.1:8000", seq=seq, chain=chain, at_us=microseconds(at))
        Checkpoint.objects.create(at=at, seq=seq, chain=chain, key_id=_id(key), signature=key.sign(said))


def _id(key: Ed25519PrivateKey) -> str:
    return hashlib.sha256(key.public_key().public_bytes_raw()).hexdigest()[:16]


def test_a_whole_suffix_recomputed_is_caught_by_the_signature(remembered: list[dict[str, object]]) -> None:
    sql(EVENT.format("action = 'x'", 15))
    recompute(15)
    with pytest.raises(verify.Bad, match="checkpoint of record 19: the trail here is another"):
        check(exported(), [])


def test_checkpoints_by_another_key_are_not_taken(remembered: list[dict[str, object]]) -> None:
    sql(EVENT.format("action = 'x'", 15))
    recompute(15)
    resigned(OTHER)
    with pytest.raises(verify.Bad, match="a key you did not give"):
        check(exported(), remembered)


def test_even_the_sealers_own_key_does_not_hide_it_from_what_is_remembered(remembered: list[dict[str, object]]) -> None:
    sql(EVENT.format("action = 'x'", 15))
    recompute(15)
    resigned(KEY)
    with pytest.raises(verify.Bad, match="record 19: the trail is another than the one remembered"):
        check(exported(), remembered)
    check(exported(), [])  # which is why a checkpoint is remembered outside


@pytest.mark.parametrize("last", [7, 13, 19])
def test_an_older_backup_restored_lacks_what_is_remembered(remembered: list[dict[str, object]], last: int) -> None:
    sql(f"DELETE FROM audit_checkpoint WHERE seq > {last}", f"DELETE FROM audit_auditseal WHERE seq > {last}")
    with pytest.raises(verify.Bad, match=rf"^record {last + 1}: missing, for you remember"):
        check(exported(), remembered)


def test_a_checkpoint_taken_out_is_missed_where_it_is_remembered_and_harms_nothing_else(
    remembered: list[dict[str, object]],
) -> None:
    sql("DELETE FROM audit_checkpoint WHERE seq = 13")
    assert check(exported(), remembered).remembered == 4  # the chain itself is compared, signed there or not


def test_a_checkpoint_moved_or_changed(remembered: list[dict[str, object]]) -> None:
    sql("UPDATE audit_checkpoint SET seq = 14 WHERE seq = 13")
    with pytest.raises(verify.Bad, match="checkpoint of record 14: its signature is wrong"):
        check(exported(), remembered)


LINES: dict[str, tuple[Callable[[Lines], Lines], str]] = {
    "a line cut out": (lambda lines: [*lines[:4], *lines[5:]], r"^record 4: missing"),
    "the last lines cut": (lambda lines: lines[:-2], r"cut off after record"),
    "cut within a line": (lambda lines: [*lines[:-1], lines[-1][:-4]], r"cut off in the middle"),
    "a line twice": (lambda lines: [*lines[:4], lines[3], *lines[4:]], r"^record 4: missing"),
    "two exchanged": (lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], r"^record 2: missing"),
    "one byte": (lambda lines: [line.replace('"log.read"', '"log.reae"') if n == 5 else line for n, line in enumerate(lines)], r"^record 5: "),
    "no header": (lambda lines: lines[1:], r"line 1: no header"),
    "another beginning": (lambda lines: [lines[0].replace('"seq": 0', '"seq": 3'), *lines[1:]], r"^record 4: missing"),
    "a second name in an object": (lambda lines: [lines[0], lines[1].replace('"action"', '"action":"x","action"'), *lines[2:]], r"line 2: not JSON"),
    "something after the end": (lambda lines: [*lines, lines[1]], r"something follows the end"),
    "a number for text": (lambda lines: [lines[0], lines[1].replace('"outcome":"done"', '"outcome":1'), *lines[2:]], r"^record 1: every value"),
    "a field more": (lambda lines: [lines[0], lines[1].replace('"outcome"', '"more" : "x", "outcome"'), *lines[2:]], r"^record 1: an event has exactly"),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_a_changed_export_is_named(remembered: list[dict[str, object]], name: str) -> None:
    change, words = LINES[name]
    with pytest.raises(verify.Bad, match=words):
        check(change(exported()), remembered)


def test_a_filtered_export_proves_its_place_among_all(remembered: list[dict[str, object]]) -> None:
    wanted = exporting.Wanted(action=Action.PROJECT_CREATED)
    lines = b"".join(exporting.export(wanted)).decode().splitlines(keepends=True)
    report = check(lines, remembered)
    assert (report.events, report.digests_only) == (1, AuditSeal.objects.count() - 1)
    assert b"".join(exporting.export(wanted)).decode() == "".join(lines)


def test_an_archive_continued_begins_where_the_other_ended(remembered: list[dict[str, object]]) -> None:
    report = check(
        b"".join(exporting.export(exporting.Wanted(), after=12)).decode().splitlines(keepends=True), remembered
    )
    assert (report.first, report.remembered, report.begins_at_genesis) == (13, 3, False)


def test_nothing_to_verify_is_not_ok(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    from pathlib import Path

    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    folder = Path(str(tmp_path))
    (folder / "key.pem").write_bytes(KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    (folder / "empty").write_text("")
    header = {"bancada": "trail", "version": 1, "origin": "x", "before": {"seq": 0, "chain": canonical.GENESIS.hex()}}
    end = {"end": {"seq": 0, "chain": canonical.GENESIS.hex()}}
    (folder / "none").write_text(f"{json.dumps(header)}\n{json.dumps(end)}\n")
    for name in ("empty", "none", "absent"):
        assert verify.main([str(folder / name), "--key", str(folder / "key.pem")]) == verify.NOTHING
    assert "OK" not in capsys.readouterr().out
