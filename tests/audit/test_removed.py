"""Retention removes bodies by a signed event alone; holds win, nobody else can, and whatever else is gone is found out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from access.compiled import insert
from audit import trail
from audit.actions import Action
from audit.catalogue import RetentionClass
from audit.models import AuditEvent, AuditSeal, RemovedBody
from audit.services import canonical, exporting, keeping, removing
from audit.services.keys import key_id
from audit.services.sealing import Sealer
from client.bancada import verify
from portal.management.commands.setup_roles import guard_the_trail
from projects.models import Project
from tests.conftest import Roles
from tests.factories import make_project, make_user

KEY, OTHER = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
Lines = list[str]


def use(role: str | None) -> None:
    Roles().use(role)


def old(action: Action, days: int, **facts: Any) -> None:
    """An event of so many days ago."""
    made = trail.event(action, **facts)
    made.at = timezone.now() - timedelta(days=days)
    insert(made)


@pytest.fixture
def project(transactional_db: None) -> Iterator[Project]:
    """A trail of two years: reads (kept a year) between changes of projects (kept five); 1 to 20, then today's."""
    ana, davi = make_user("ana"), make_user("davi")
    project, other = make_project("visao"), make_project("outro")
    with connection.cursor() as cursor:
        _asleep(cursor)
        cursor.execute("TRUNCATE audit_auditevent")
    guard_the_trail()
    for number in range(20):
        action = Action.PROJECT_CHANGED if number % 4 == 0 else Action.LOG_READ
        old(action, 700, by=ana if number % 2 else davi, about=project, project=other if number < 4 else project)
    use("seal")
    sealer = Sealer.where_it_stands()
    sealer.seal()
    sealer.checkpoint(KEY, at=timezone.now() - timedelta(days=699))
    use(None)
    for _ in range(3):
        trail.record(Action.LOG_READ, by=ana, project=project)
    use("seal")
    sealer.seal()
    sealer.checkpoint(KEY)
    yield project
    use(None)


def _asleep(cursor: Any) -> None:
    for table in ("audit_auditevent", "audit_auditseal", "audit_checkpoint", "audit_removedbody"):
        cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")


def remove() -> int:
    """As the sealer does it."""
    use("seal")
    return removing.remove_due(sealer=Sealer.where_it_stands(), key=KEY, told=lambda _checkpoint: None)


def exported(wanted: exporting.Wanted | None = None, **asked: Any) -> Lines:
    use(None)
    return b"".join(exporting.export(wanted or exporting.Wanted(), **asked)).decode().splitlines(keepends=True)


def check(lines: Lines) -> verify.Report:
    return verify.verify(lines, [KEY.public_key()])


def removal() -> AuditEvent:
    return AuditEvent.objects.get(action=Action.BODIES_REMOVED)


def test_what_is_over_goes_by_a_signed_event_and_verification_still_passes(project: Project) -> None:
    assert remove() == 15 and remove() == 0
    event, report = removal(), check(exported())
    assert (report.removed, report.digests_only, report.events) == (15, 15, 23 - 15 + 1)
    assert (event.detail["kind"], event.detail["count"], event.db_role) == ("access", 15, "seal")
    assert event.detail["records"] == ["2-4,6-8,10-12,14-16,18-20"]
    assert set(AuditEvent.objects.values_list("action", flat=True)) == {
        "project.changed",
        "log.read",
        "trail.bodies_removed",
    }
    assert AuditSeal.objects.count() == 24
    assert any("lost their bodies by retention" in line for line in report.lines())


def test_a_filtered_export_and_a_continued_archive_tell_of_it_too(project: Project) -> None:
    remove()
    report = check(exported(exporting.Wanted(action=Action.PROJECT_CHANGED)))
    assert (report.removed, report.digests_only, report.events) == (15, 18, 6)
    assert any("filtered" in line for line in report.lines())
    assert check(exported(after=7)).removed == 10  # the removal names records before it as well


def test_a_hold_wins_and_ends_a_week_after_it_was_lifted(project: Project) -> None:
    use("web")
    hold = keeping.place_hold(reason="court", by=None, project=project)
    assert remove() == 3  # of the other project
    use("web")
    keeping.lift_hold(hold=hold, by=None, why="settled")
    assert remove() == 0
    use(None)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE audit_legalhold DISABLE TRIGGER USER")
        cursor.execute("UPDATE audit_legalhold SET lifted_at = now() - interval '8 days'")
    guard_the_trail()
    assert remove() == 12
    assert check(exported()).removed == 15


@pytest.mark.parametrize(
    ("scope", "kept"),
    [({}, 15), ({"person": "ana"}, 10), ({"dataset": "none"}, 0), ({"since": 690}, 0), ({"until": 690}, 15)],
    ids=["all", "a person", "a dataset", "later ones", "earlier ones"],
)
def test_a_hold_covers_what_fits_it(project: Project, scope: dict[str, Any], kept: int) -> None:
    use("web")
    asked = dict(scope)
    if "person" in asked:
        asked["person"] = project.memberships.model._meta.get_field("user").related_model.objects.get(username="ana")
    for name in ("since", "until"):
        if name in asked:
            asked[name] = timezone.now() - timedelta(days=asked[name])
    keeping.place_hold(reason="court", by=None, **asked)
    assert remove() == 15 - kept


def test_less_is_kept_only_after_a_week_whoever_writes_it(project: Project) -> None:
    use("web")
    longer = keeping.change_retention(kind=RetentionClass.ACCESS, days=4000, by=None, why="claim")
    assert longer.starts_at <= timezone.now()
    assert remove() == 0
    use("web")
    row = keeping.change_retention(kind=RetentionClass.ACCESS, days=200, by=None, why="space")
    assert row.starts_at > timezone.now() + timedelta(days=6)
    assert next(one for one in keeping.keeping() if one.kind == "access").next_days == 200
    with pytest.raises(keeping.TooShort):
        keeping.change_retention(kind=RetentionClass.ACCESS, days=182, by=None, why="")
    for days, at in ((200, "now()"), (100, "now() + interval '9 days'")):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO audit_retentionrule (kind, days, starts_at, at, why) VALUES ('access', {days}, {at}, now(), '')"
            )


STOLEN = {
    "the function": "SELECT audit_remove_bodies((SELECT max(id) FROM audit_auditevent))",
    "a deletion": "DELETE FROM audit_auditevent",
    "the list of what is gone": "INSERT INTO audit_removedbody (seq, by) VALUES (3, 24)",
    "a hold taken away": "DELETE FROM audit_legalhold",
    "a hold made smaller": "UPDATE audit_legalhold SET ends_at = now()",
    "rules changed": "UPDATE audit_retentionrule SET days = 183",
    "rules taken away": "DELETE FROM audit_retentionrule",
    "the trigger": "ALTER TABLE audit_auditevent DISABLE TRIGGER USER",
    "the function replaced": "CREATE OR REPLACE FUNCTION audit_is_held(e audit_auditevent) RETURNS boolean LANGUAGE sql AS 'SELECT false'",
    "a function before it": "CREATE FUNCTION pg_temp.now() RETURNS timestamptz LANGUAGE sql AS 'SELECT ''2100-01-01''::timestamptz'; "
                            "SET search_path = pg_temp, public; SELECT audit_remove_bodies(1)",
}  # fmt: skip


@pytest.mark.parametrize("role", ["web", "work", "slurm"])
@pytest.mark.parametrize("name", STOLEN)
def test_a_stolen_process_removes_nothing(project: Project, role: str, name: str) -> None:
    use("web")
    keeping.place_hold(reason="court", by=None)
    keeping.change_retention(kind=RetentionClass.ACCESS, days=4000, by=None, why="")
    use(role)
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(STOLEN[name])


@pytest.mark.parametrize("role", ["web", "work", "slurm"])
def test_an_event_another_process_wrote_removes_nothing_even_for_the_sealer(project: Project, role: str) -> None:
    use(role)
    event = trail.record(
        Action.BODIES_REMOVED, kind="access", before="0 d", count=1, records=["3"], digest="", key="", signature=""
    )
    use("seal")
    sealer = Sealer.where_it_stands()
    sealer.seal()
    sealer.checkpoint(KEY)
    with pytest.raises(DatabaseError, match="no sealed and signed event"), transaction.atomic():
        _call(event.pk)


@pytest.mark.parametrize(
    ("records", "words"), [("22", "less than half a year"), ("30", "less than half a year"), ("1-30", "less than half")]
)
def test_the_sealer_removes_nothing_that_is_young(project: Project, records: str, words: str) -> None:
    event = _by_the_sealer(records)
    with pytest.raises(DatabaseError, match=words), transaction.atomic():
        _call(event.pk)


def test_the_sealer_removes_nothing_before_it_is_signed_or_that_is_held(project: Project) -> None:
    event = _by_the_sealer("2-4", signed=False)
    with pytest.raises(DatabaseError, match="no sealed and signed event"), transaction.atomic():
        _call(event.pk)
    use("web")
    keeping.place_hold(reason="court", by=None)
    event = _by_the_sealer("2-4")
    with pytest.raises(DatabaseError, match="a hold covers"), transaction.atomic():
        _call(event.pk)


def _by_the_sealer(records: str, *, signed: bool = True) -> AuditEvent:
    use("seal")
    event = trail.record(
        Action.BODIES_REMOVED, kind="access", before="0 d", count=1, records=[records], digest="", key="", signature=""
    )
    sealer = Sealer.where_it_stands()
    sealer.seal()
    if signed:
        sealer.checkpoint(KEY)
    return event


def _call(event: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT audit_remove_bodies(%s)", [event])


# --- what a superuser does, and what the verifier says of it ------------------------------------------------------


def sql(*statements: str) -> None:
    use(None)
    with transaction.atomic(), connection.cursor() as cursor:
        _asleep(cursor)
        for statement in statements:
            cursor.execute(statement)
    guard_the_trail()


GONE = "DELETE FROM audit_auditevent WHERE id = (SELECT event_id FROM audit_auditseal WHERE seq = {})"


def test_a_body_missing_without_a_removal_is_named(project: Project) -> None:
    sql(GONE.format(5))
    with pytest.raises(verify.Bad, match=r"^record 5: its event is gone, and no later record"):
        check(exported())


def test_even_where_the_trail_knows_a_removal_of_others(project: Project) -> None:
    remove()
    sql(GONE.format(5))
    with pytest.raises(verify.Bad, match=r"^record 5: its event is gone, and no later record"):
        check(exported())


def test_one_that_the_removal_does_not_name(project: Project) -> None:
    remove()
    sql(GONE.format(5), "INSERT INTO audit_removedbody (seq, by) VALUES (5, 24)")
    with pytest.raises(verify.Bad, match=r"^record 5: its event is gone, and record 24 does not name it"):
        check(exported())


def test_one_removed_by_an_event_before_it(project: Project) -> None:
    remove()
    sql(GONE.format(23), "INSERT INTO audit_removedbody (seq, by) VALUES (23, 9)")
    with pytest.raises(verify.Bad, match=r"^record 23: its event is gone, and no later record"):
        check(exported())


def test_one_said_to_be_removed_by_what_removes_nothing(project: Project) -> None:
    sql(GONE.format(5), "INSERT INTO audit_removedbody (seq, by) VALUES (5, 21)")
    with pytest.raises(verify.Bad, match=r"^record 5: said to be removed by record 21, which removes nothing"):
        check(exported())


def test_one_said_to_be_removed_by_what_is_not_there(project: Project) -> None:
    sql(GONE.format(5), "INSERT INTO audit_removedbody (seq, by) VALUES (5, 99)")
    with pytest.raises(verify.Bad, match=r"^record 5: its event is gone, and record 99"):
        check(exported())


def _forged(signer: Ed25519PrivateKey, records: str, *, digest: bytes | None = None, key: str = "") -> None:
    """A removal written past the sealer by somebody with the database, then sealed and signed as everything is."""
    seals = list(AuditSeal.objects.filter(seq__in=[int(one) for one in records.split(",")]).order_by("seq"))
    whole = digest or removing.digest_of([(seal.seq, bytes(seal.digest)) for seal in seals])
    said = canonical.removal_bytes(origin="http://127.0.0.1:8000", kind="access", records=records, digest=whole)
    use(None)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE audit_auditevent DISABLE TRIGGER USER")
    event = trail.event(
        Action.BODIES_REMOVED, kind="access", before="365 d", count=1, records=[records], digest=whole.hex(),
        key=key or key_id(signer.public_key()), signature=signer.sign(said).hex(),
    )  # fmt: skip
    event.db_role = "seal"
    insert(event)
    guard_the_trail()
    sealer = Sealer.where_it_stands()
    sealer.seal()
    sealer.checkpoint(KEY)
    sql(
        *(GONE.format(seal.seq) for seal in seals),
        *(f"INSERT INTO audit_removedbody VALUES ({seal.seq}, 24)" for seal in seals),
    )


def test_a_forged_removal_is_not_the_sealers(project: Project) -> None:
    _forged(OTHER, "5")
    with pytest.raises(verify.Bad, match=r"^record 5: removed by record 24, which no key you gave has signed"):
        check(exported())


def test_a_forged_removal_with_the_name_of_the_sealers_key(project: Project) -> None:
    _forged(OTHER, "5,9", key=key_id(KEY.public_key()))
    with pytest.raises(verify.Bad, match=r"^record 5: removed by record 24, which no key you gave has signed"):
        check(exported())


def test_a_signature_over_another_digest(project: Project) -> None:
    _forged(KEY, "5,9", digest=b"\x01" * 32)
    with pytest.raises(verify.Bad, match=r"^record 5: removed by record 24, which names it with others or"):
        check(exported())


def test_an_old_removal_used_again_for_others(project: Project) -> None:
    """A signed event repeated word for word names what it named before, and nothing more."""
    remove()
    sql(
        "INSERT INTO audit_auditevent (uid, at, action, outcome, subject_type, subject_id, subject_text, project_code, channel, "
        "correlation, db_role, detail) SELECT gen_random_uuid(), now(), action, outcome, '', '', '', '', channel, '', db_role, detail "
        "FROM audit_auditevent WHERE action = 'trail.bodies_removed'"
    )
    use("seal")
    sealer = Sealer.where_it_stands()
    sealer.seal()
    sealer.checkpoint(KEY)
    check(exported())
    sql(GONE.format(5), "INSERT INTO audit_removedbody VALUES (5, 25)")
    with pytest.raises(verify.Bad, match=r"^record 5: its event is gone, and record 25 does not name it"):
        check(exported())


LINES: dict[str, tuple[Callable[[Lines], Lines], str]] = {
    "the mark taken away": (lambda lines: [line.replace(',"removed":24', "") for line in lines], r"^record 2: its event is not there"),
    "another remover": (lambda lines: [line.replace('"removed":24', '"removed":23') for line in lines], r"^record 2: said to be removed by record 23"),
    "no remover": (lambda lines: [line.replace('"removed":24', '"removed":null') for line in lines], r"^record 2: its event is gone"),
    "itself": (lambda lines: [line.replace('"removed":24', '"removed":2') for line in lines], r"^record 2: its event is gone"),
    "a truth": (lambda lines: [line.replace('"removed":24', '"removed":true') for line in lines], r"^record 2: its event is gone"),
    "the removal's body left out": (lambda lines: _without_removal(lines), r"^record 2: said to be removed by record 24, which removes nothing|^record 24"),
    "its last line of the checkpoint": (lambda lines: [line for n, line in enumerate(lines) if n != _last_checkpoint(lines)], r"^record 24: it removes events, and no signed checkpoint"),
}  # fmt: skip


def _last_checkpoint(lines: Lines) -> int:
    return max(n for n, line in enumerate(lines) if line.startswith('{"checkpoint"'))


def _without_removal(lines: Lines) -> Lines:
    seal = AuditSeal.objects.get(seq=24)
    digest = json.dumps({"seq": 24, "digest": bytes(seal.digest).hex()}) + "\n"
    return [digest if '"trail.bodies_removed"' in line else line for line in lines]


@pytest.mark.parametrize("name", LINES)
def test_a_changed_export_is_named(project: Project, name: str) -> None:
    remove()
    change, words = LINES[name]
    lines = exported()
    check(lines)
    with pytest.raises(verify.Bad, match=words):
        check(change(lines))


def test_the_list_of_what_is_gone_is_written_by_the_function_alone(project: Project) -> None:
    remove()
    assert RemovedBody.objects.count() == 15 and set(RemovedBody.objects.values_list("by", flat=True)) == {24}
