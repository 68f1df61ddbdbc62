"""Whoever changes with what the trail is sealed, or where that goes, leaves an event: told by the process that runs so."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.core.management import call_command
from django.db import DatabaseError, transaction

from audit import trail
from audit.actions import Action
from audit.models import AuditEvent
from audit.services import effective
from audit.services.keys import key_id
from audit.tasks import note_trail_settings
from tests.conftest import Roles

ONE, OTHER = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()


def events() -> list[AuditEvent]:
    """Oldest first."""
    return list(AuditEvent.objects.filter(action=Action.TRAIL_SETTINGS_CHANGED).order_by("pk"))


def sealer(key: Ed25519PrivateKey = ONE) -> bool:
    return effective.note(effective.SEALER, effective.of_sealer(key))


@pytest.mark.django_db
def test_what_the_sealer_runs_with_is_written_down_once_and_then_what_changed(roles: Roles, settings: Any) -> None:
    roles.use("seal")
    assert sealer() and not sealer()
    settings.SEAL_SYSLOG = "tls://bancada:secret@log.example.org"
    assert sealer(OTHER) and not sealer(OTHER)
    first, second = events()
    assert (first.db_role, first.detail["part"], first.detail["before"]) == ("seal", "sealer", {})
    assert first.detail["after"] == first.detail["settings"]
    assert second.detail["before"] == {"key": key_id(ONE.public_key()), "syslog": ""}
    assert second.detail["after"] == {"key": key_id(OTHER.public_key()), "syslog": "tls://log.example.org:6514"}
    assert "secret" not in str(second.detail)


@pytest.mark.django_db
def test_another_authority_under_the_same_name_is_a_change(roles: Roles, settings: Any, tmp_path: Path) -> None:
    settings.SEAL_SYSLOG_CA = str(tmp_path / "ca.pem")
    (tmp_path / "ca.pem").write_text("one")
    roles.use("seal")
    assert sealer() and not sealer()
    (tmp_path / "ca.pem").write_text("another")
    assert sealer() and list(events()[-1].detail["after"]) == ["syslog_ca"]
    (tmp_path / "ca.pem").unlink()
    assert sealer() and events()[-1].detail["after"]["syslog_ca"].endswith("unreadable")


@pytest.mark.django_db
def test_the_worker_tells_whom_it_mails_and_no_address_stands_in_the_trail(roles: Roles, settings: Any) -> None:
    settings.DPO_MAIL, settings.MAIL_IS_ON = ["encarregada@example.org"], True
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_HOST_PASSWORD = "mail.example.org", 587, "not to be told"
    roles.use("work")
    note_trail_settings()
    note_trail_settings()
    settings.DPO_MAIL = ["outra@example.org"]
    note_trail_settings()
    first, second = events()
    assert first.said["after"]["mail_to"] == ["encarregada@example.org"]
    assert first.detail["settings"]["mail_server"] == "mail.example.org:587"
    assert (second.said["before"], second.said["after"]) == (
        {"mail_to": ["encarregada@example.org"]}, {"mail_to": ["outra@example.org"]},
    )  # fmt: skip
    assert "example.org'" not in str(second.detail) and "not to be told" not in str(first.detail)


@pytest.mark.django_db
def test_a_secret_that_makes_other_references_is_told_by_digest(roles: Roles, settings: Any) -> None:
    roles.use("work")
    note_trail_settings()
    settings.SECRET_KEY = "another-secret-0123456789abcdef0123456789abcdef"
    note_trail_settings()
    first, second = events()
    assert list(second.detail["after"]) == ["references"] and len(second.detail["after"]["references"]) == 16
    assert settings.SECRET_KEY not in str(second.detail) and first.detail["settings"] != second.detail["settings"]


@pytest.mark.django_db
def test_another_process_cannot_speak_for_the_sealer(roles: Roles, settings: Any) -> None:
    roles.use("seal")
    sealer()
    roles.use("web")
    trail.record(Action.TRAIL_SETTINGS_CHANGED, part="sealer", before={}, after={}, settings=effective.of_sealer(OTHER))
    roles.use("seal")
    assert sealer(OTHER) and not sealer(OTHER)
    with pytest.raises(DatabaseError), transaction.atomic():
        trail.record(Action.RETENTION_CHANGED, kind="job")


@pytest.mark.django_db(transaction=True)
def test_the_process_that_seals_tells_at_its_start_and_seals_what_it_told(tmp_path: Path, settings: Any) -> None:
    path = tmp_path / "seal.pem"
    settings.SEAL_KEY, settings.SEAL_FILE = str(path), str(tmp_path / "out.jsonl")
    for key in (ONE, ONE, OTHER):
        path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        call_command("seal", "--once", stdout=io.StringIO())
    assert [one.detail["after"]["key"] for one in events()] == [key_id(one.public_key()) for one in (ONE, OTHER)]
