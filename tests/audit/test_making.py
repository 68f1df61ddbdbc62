"""Exports are made whole, once, and the same each time, whatever dies between; each is an event and none is unsigned."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from audit import context, trail
from audit.actions import Action
from audit.models import AuditEvent, AuditSeal, Export
from audit.models.export import Form, State
from audit.services import exporting
from audit.services.exports import asking, making, pieces, signing, telling
from audit.services.sealing import Sealer
from audit.services.wanted import Wanted
from client.bancada import bundles, verify
from cluster.models import Cluster
from tests.audit.exporting import KEY, fill, key_file
from tests.conftest import Roles
from tests.factories import make_project, make_user


@pytest.fixture
def folder(transactional_db: None, settings: Any, tmp_path: Path) -> Iterator[Path]:
    settings.EXPORTS_FOLDER = str(tmp_path / "exports")
    yield tmp_path / "exports"


@pytest.fixture
def world(folder: Path) -> Any:
    user, project = make_user("kenia", email="kenia@example.org"), make_project("visao")
    fill(user, project)
    return user, project


def big(monkeypatch: pytest.MonkeyPatch, user: Any, form: Form, wanted: Wanted | None = None, **more: Any) -> Export:
    """An export that is too large to be streamed, of pieces of a few records."""
    monkeypatch.setattr(asking, "AT_ONCE", 0)
    monkeypatch.setattr(exporting, "AT_A_TIME", 4)
    monkeypatch.setattr(pieces, "AT_A_TIME", 4)
    return asking.ask(form=form, wanted=wanted or Wanted(), by=user, whole=True, **more)


def made(row: Export) -> Export:
    with context.coming_from("task"):
        making.work()
    row.refresh_from_db()
    return row


def check(data: bytes) -> verify.Report:
    return verify.verify(data.decode().splitlines(keepends=True), [KEY.public_key()])


@pytest.mark.parametrize("form", [Form.JSONL, Form.CSV, Form.OCSF, Form.ECS])
def test_small_is_streamed_large_is_a_file_and_both_are_the_same_bytes(
    world: Any, form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, _project = world
    small = asking.ask(form=form, wanted=Wanted(), by=user, whole=True)
    data = b"".join(making.streamed(small, by=user))
    large = made(big(monkeypatch, user, form, checkpoint=small.checkpoint))
    assert (small.state, large.state) == (State.STREAMED, State.READY)
    monkeypatch.setattr(asking, "AT_ONCE", 0)
    again = made(asking.ask(form=form, wanted=Wanted(), by=user, whole=True, checkpoint=small.checkpoint))
    assert again.path.read_bytes() == large.path.read_bytes()
    assert hashlib.sha256(large.path.read_bytes()).hexdigest() == large.digest
    assert large.count == small.count == AuditSeal.objects.count()
    if form != Form.JSONL:  # who is meant stands beside each piece of the evidence, so that pieces show there
        assert data == large.path.read_bytes()
    else:
        assert check(data).events == check(large.path.read_bytes()).events == large.count


def test_asked_made_and_fetched_are_events_with_count_filter_and_digest(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, _project = world
    row = made(big(monkeypatch, user, Form.JSONL, Wanted(action="log.read")))
    asked = AuditEvent.objects.get(action=Action.EXPORT_ASKED)
    done = AuditEvent.objects.get(action=Action.TRAIL_EXPORTED)
    assert (asked.actor_id, asked.detail["filter"]) == (user.pk, {"action": "log.read"})
    assert (done.detail["count"], done.detail["digest"], done.detail["last"]) == (15, row.digest, row.last)
    assert done.channel == "task" and done.detail["asker"] == user.pk


class Died(BaseException):
    """What SIGKILL leaves behind: no clean-up, no handler."""


@pytest.mark.parametrize("at", range(1, 6))
@pytest.mark.parametrize("before_the_row", [True, False])
def test_a_killed_worker_goes_on_and_the_bytes_are_the_same(
    world: Any, monkeypatch: pytest.MonkeyPatch, at: int, before_the_row: bool
) -> None:
    user, _project = world
    whole = made(big(monkeypatch, user, Form.JSONL)).path.read_bytes()
    row = big(monkeypatch, user, Form.JSONL, checkpoint=Export.objects.latest("id").checkpoint)
    save, count = Export.save, 0

    def dying(self: Export, **options: Any) -> None:
        nonlocal count
        count += 1
        if count == at and before_the_row:
            raise Died
        save(self, **options)
        if count == at:
            raise Died

    monkeypatch.setattr(Export, "save", dying)
    with pytest.raises(Died):
        made(row)
    monkeypatch.setattr(Export, "save", save)
    connection.close()  # its lock goes with it
    assert made(row).state == State.READY
    assert row.path.read_bytes() == whole
    assert not row.part.exists()


def test_a_file_that_lost_its_end_is_begun_anew(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    user, _project = world
    row = big(monkeypatch, user, Form.JSONL)
    monkeypatch.setattr(making, "SLICE", -1.0)
    assert made(row).state == State.WRITING and row.written
    row.part.write_bytes(b"")
    monkeypatch.setattr(making, "SLICE", 20.0)
    assert made(row).state == State.READY
    assert check(row.path.read_bytes()).begins_at_genesis


def test_a_slice_ends_and_the_next_goes_on(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    user, _project = world
    row = big(monkeypatch, user, Form.CSV)
    monkeypatch.setattr(making, "SLICE", -1.0)
    seen = []
    while made(row).is_open:
        seen.append(row.percent)
    assert seen == sorted(seen) and len(seen) > 3 and row.percent == 100


def test_two_workers_never_write_one_file(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    user, _project = world
    row = big(monkeypatch, user, Form.JSONL)
    inside, go_on = threading.Event(), threading.Event()
    written = making._written

    def slow(one: Export) -> None:
        inside.set()
        go_on.wait(20)
        written(one)

    monkeypatch.setattr(making, "_written", slow)

    def first() -> None:
        with context.coming_from("task"):
            making.work()
        connection.close()

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait(20)
    assert making.work() == 0
    go_on.set()
    thread.join()
    row.refresh_from_db()
    assert row.state == State.READY
    assert AuditEvent.objects.filter(action=Action.TRAIL_EXPORTED).count() == 1


def test_what_fails_is_tried_again_and_given_up_in_the_end(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    user, _project = world
    row = big(monkeypatch, user, Form.JSONL)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(making.os, "fsync", full)
    for tries in range(1, making.MOST_TRIES):
        assert made(row).tries == tries and row.is_open
    assert made(row).state == State.FAILED and row.error == "OSError"
    assert AuditEvent.objects.get(action=Action.TRAIL_EXPORTED).outcome == "failed"
    assert not row.part.exists()


def signed_bundle(monkeypatch: pytest.MonkeyPatch, user: Any, roles: Roles | None = None, **more: Any) -> Export:
    row = made(big(monkeypatch, user, Form.BUNDLE, **more))
    assert row.state == State.SIGNING
    assert signing.sign_waiting(KEY) == 0  # the event of it is not sealed yet
    if roles:
        roles.use("seal")
    Sealer.where_it_stands().seal()
    assert signing.sign_waiting(KEY) == 1
    if roles:
        roles.use("work")
    return made(row)


def test_a_bundle_is_signed_by_the_sealer_and_verifies_without_the_portal(
    world: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any, roles: Roles
) -> None:
    user, project = world
    since = timezone.now() - timedelta(hours=2)
    Cluster.objects.update_or_create(name="away", defaults={"jobs_seen_at": since})
    roles.use("work")
    row = signed_bundle(monkeypatch, user, roles, wanted=Wanted(project_id=project.pk), project=project)
    assert row.state == State.READY
    assert verify.main([str(row.path), "--key", str(key_file(tmp_path))]) == verify.OK
    assert "asked for by kenia" in capsys.readouterr().out
    assert verify.main([str(row.path)]) == verify.OK
    assert "came with the bundle" in capsys.readouterr().out
    with zipfile.ZipFile(row.path) as archive:
        said = json.loads(archive.read("manifest.json"))
        assert {"README.md", "README.pt-BR.md", "schema.json", "evidence.jsonl.gz"} <= set(said["files"])
        assert said["not_followed"] == [{"since": since.isoformat(), "until": None}]
        assert (said["count"], said["filter"], said["last"]) == (row.count, {"project_id": project.pk}, row.last)
        assert "verifier/bancada/verify.py" in archive.namelist()


def test_the_verifier_in_the_bundle_runs_by_itself(world: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import subprocess
    import sys

    row = signed_bundle(monkeypatch, world[0])
    with zipfile.ZipFile(row.path) as archive:
        archive.extractall(tmp_path)
    line = [sys.executable, "-I", "-c", "import sys; sys.path.insert(0, '.'); from bancada.verify import main; sys.exit("
            f"main([{str(row.path)!r}, '--key', {str(key_file(tmp_path))!r}]))"]  # fmt: skip
    done = subprocess.run(line, cwd=tmp_path / "verifier", capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.strip().endswith("OK"), done.stderr


def rewritten(path: Path, change: dict[str, bytes | None], **more: bytes) -> Path:
    target = path.with_name("tampered.zip")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = change.get(name, old.read(name))
            if data is not None:
                new.writestr(name, data)
        for name, data in more.items():
            new.writestr(name, data)
    return target


def test_a_changed_bundle_is_named(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import gzip

    row = signed_bundle(monkeypatch, world[0])
    with zipfile.ZipFile(row.path) as archive:
        manifest, evidence = archive.read("manifest.json"), archive.read("evidence.jsonl.gz")
    lines = gzip.decompress(evidence).replace(b"log.read", b"log.reed")
    cases: list[tuple[dict[str, bytes | None], dict[str, bytes], str]] = [
        ({"manifest.json": manifest.replace(b'"count": ', b'"count": 1')}, {}, "manifest: its signature is wrong"),
        ({"evidence.jsonl.gz": gzip.compress(lines)}, {}, "evidence.jsonl.gz is another"),
        ({"evidence.jsonl.gz": None}, {}, "evidence.jsonl.gz is missing"),
        ({"README.md": b"trust me"}, {}, "README.md is another"),
        ({"verifier/bancada/verify.py": b"print('OK')"}, {}, "verify.py is another"),
        ({"schema.json": None}, {}, "schema.json is missing"),
        ({}, {"more.txt": b"x"}, "more.txt is not in the manifest"),
        ({"manifest.sig": b"{}"}, {}, "signed by a key you did not give"),
        ({"public-key.pem": b"none"}, {}, "no Ed25519 public key"),
    ]
    for change, more, words in cases:
        with pytest.raises(bundles.Bad, match=words):
            bundles.check(rewritten(row.path, change, **more), [KEY.public_key()])
    whole = row.path.read_bytes()
    row.path.write_bytes(whole[:-30])
    with pytest.raises(bundles.Bad, match="damaged"):
        bundles.check(row.path, [KEY.public_key()])


@pytest.mark.parametrize("lie", ['"count": 16', '"first": 1', '"last": 16'])
def test_the_sealer_signs_nothing_the_trail_does_not_say(world: Any, monkeypatch: pytest.MonkeyPatch, lie: str) -> None:
    row = made(big(monkeypatch, world[0], Form.BUNDLE))
    Sealer.where_it_stands().seal()
    assert lie in row.manifest
    Export.objects.filter(pk=row.pk).update(manifest=row.manifest.replace(lie, lie + "7"))
    assert signing.sign_waiting(KEY) == 0


@pytest.mark.parametrize("role", ["web", "seal", "work"])
def test_nobody_but_the_worker_writes_a_manifest_and_only_the_sealer_a_signature(
    world: Any, role: str, roles: Roles, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = big(monkeypatch, world[0], Form.BUNDLE)
    roles.use(role)
    refused = {"web": ["manifest", "signature", "done"], "seal": ["manifest", "state"], "work": []}[role]
    for name in refused:
        with pytest.raises(DatabaseError), transaction.atomic():
            Export.objects.filter(pk=row.pk).update(**{name: 1 if name == "done" else "x"})


def test_who_asked_gets_a_notice_once_and_again_only_where_it_did_not_go(
    world: Any, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.MAIL_IS_ON = True
    user, project = world
    row = made(big(monkeypatch, user, Form.CSV, project=project))
    assert telling.tell() == 1 and telling.tell() == 0
    [message] = mail.outbox
    assert message.to == ["kenia@example.org"]
    assert f"/projects/visao/trail/exports/{row.pk}" in message.body and row.digest in message.body


def test_files_go_when_their_time_is_over(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    row = made(big(monkeypatch, world[0], Form.CSV))
    assert making.sweep() == 0
    Export.objects.filter(pk=row.pk).update(expires_at=timezone.now())
    assert making.sweep() == 1
    row.refresh_from_db()
    assert row.state == State.GONE and not row.path.exists()


def test_a_time_narrows_the_range_and_no_event_of_it_is_missing(world: Any) -> None:
    from datetime import timedelta

    user, _project = world
    now = timezone.now()
    later = Wanted(since=now + timedelta(hours=1), until=now + timedelta(hours=2))
    sealer = Sealer.where_it_stands()
    sealer.checkpoint(KEY, at=now + timedelta(minutes=45))
    event = trail.event(Action.SIGNED_IN, by=user)
    event.at = now + timedelta(minutes=90)
    event.save()
    sealer.seal()
    end = sealer.checkpoint(KEY, at=now + timedelta(hours=2, minutes=11))
    sealer.checkpoint(KEY, at=now + timedelta(hours=3))
    row = asking.ask(form=Form.JSONL, wanted=later, by=user, whole=True)
    assert (row.after, row.checkpoint) == (16, end)
    report = check(b"".join(making.streamed(row, by=user)))
    assert (report.first, report.events, report.begins_at_genesis) == (17, 1, False)


def test_a_project_gets_its_own_events_only_and_no_address(world: Any) -> None:
    user, project = world
    row = asking.ask(form=Form.JSONL, wanted=Wanted(project_id=project.pk), by=user, project=project, whole=False)
    data = b"".join(making.streamed(row, by=user, project=project))
    report = check(data)
    assert (report.events, report.digests_only) == (7, 9)
    assert b"192.0.2.7" not in data and b"kenia" in data
    for form in (Form.CSV, Form.OCSF, Form.ECS):
        row = asking.ask(form=form, wanted=Wanted(project_id=project.pk), by=user, project=project, whole=False)
        assert b"192.0.2.7" not in b"".join(making.streamed(row, by=user, project=project))


def test_who_goes_away_in_the_middle_leaves_a_failed_export(world: Any) -> None:
    user, _project = world
    row = asking.ask(form=Form.JSONL, wanted=Wanted(), by=user, whole=True)
    stream = making.streamed(row, by=user)
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    row.refresh_from_db()
    assert row.state == State.FAILED
    assert AuditEvent.objects.get(action=Action.TRAIL_EXPORTED).outcome == "failed"


def test_not_more_at_once_than_a_person_may_have(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(asking.MOST_OPEN):
        big(monkeypatch, world[0], Form.CSV)
    with pytest.raises(asking.TooManyOpen):
        big(monkeypatch, world[0], Form.CSV)


def test_nothing_sealed_is_nothing_to_export(folder: Path) -> None:
    with pytest.raises(exporting.NothingSealed):
        asking.ask(form=Form.JSONL, wanted=Wanted(), by=make_user(), whole=True)


def test_few_are_counted_and_many_are_guessed(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asking.estimate(Wanted(action="log.read")) == (15, True)
    monkeypatch.setattr(asking, "_SURE", 3)
    number, counted = asking.estimate(Wanted())
    assert number >= 3 and not counted


def test_members_of_gzip_one_after_the_other_are_read_as_one() -> None:
    import gzip

    packed = b"".join(pieces._packed(pieces.Piece(data, 0, 0)).data for data in (b"one\n", b"two\n"))
    assert gzip.GzipFile(fileobj=io.BytesIO(packed)).read() == b"one\ntwo\n"
