"""Checkpoints leave the host: by syslog over TLS to a listener of the test's own, by file, and by mail once a day."""

from __future__ import annotations

import contextlib
import datetime
import json
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.core import mail
from django.utils import timezone

from audit.actions import Action
from audit.models import AuditEvent, Checkpoint
from audit.services import outside
from audit.services.exports import telling
from audit.services.sealing import Sealer, told
from client.bancada import verify
from tests.audit.exporting import KEY, fill
from tests.factories import make_project, make_user

# RFC 5424: PRI VERSION TIMESTAMP HOSTNAME APP-NAME PROCID MSGID STRUCTURED-DATA MSG
LINE = re.compile(
    rb"<109>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z [!-~]{1,255} bancada - checkpoint - (?P<said>\{.*\})", re.DOTALL
)


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """One that signs itself, for this name; (certificate, key)."""
    key, now = ec.generate_private_key(ec.SECP256R1()), timezone.now()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    paths = folder / f"{name}.pem", folder / f"{name}.key"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return paths


class Listener:
    """A syslog server of the test's own: what came, connection by connection."""

    def __init__(self, folder: Path, name: str, port: int = 0) -> None:
        self.ca, key = certificate(folder, name)
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.load_cert_chain(self.ca, key)
        self.server = socket.create_server(("127.0.0.1", port))
        self.port = self.server.getsockname()[1]
        self.came: list[bytes] = []
        self.refused: list[str] = []
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                plain, _where = self.server.accept()
            except OSError:
                return
            plain.settimeout(5)
            try:
                with self.context.wrap_socket(plain, server_side=True) as link:
                    data = b""
                    while block := link.recv(4096):
                        data += block
                    self.came.append(data)
            except OSError as error:
                self.refused.append(str(error))

    def close(self) -> None:
        """Also a second time."""
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()

    def messages(self, count: int) -> list[bytes]:
        """Wait for so many connections; their frames, taken apart by the lengths before them."""
        ended = threading.Event()
        for _ in range(100):
            if len(self.came) >= count:
                break
            ended.wait(0.05)
        return [frame for data in self.came for frame in frames(data)]


def frames(data: bytes) -> Iterator[bytes]:
    """RFC 5425: MSG-LEN SP SYSLOG-MSG, one after the other and nothing between."""
    while data:
        length, _, rest = data.partition(b" ")
        assert length.isdigit() and not length.startswith(b"0")
        yield rest[: int(length)]
        assert len(rest) >= int(length)
        data = rest[int(length) :]


@pytest.fixture(autouse=True)
def _nothing_waits() -> Iterator[None]:
    yield
    for waiting in outside._waiting.values():
        waiting.clear()


@pytest.fixture
def listener(tmp_path: Path, settings: Any) -> Iterator[Listener]:
    made = Listener(tmp_path, "localhost")
    settings.SEAL_FILE = ""
    settings.SEAL_SYSLOG, settings.SEAL_SYSLOG_CA = f"tls://localhost:{made.port}", str(made.ca)
    yield made
    made.close()


def test_each_checkpoint_is_one_frame_as_the_rfcs_want_it(listener: Listener) -> None:
    line = json.dumps({"seq": 7, "origin": "https://visão.example"})
    outside.send(line)
    outside.send(line)
    found = [LINE.fullmatch(message) for message in listener.messages(2)]
    assert len(found) == 2 and all(found)
    assert {match["said"].decode() for match in found if match} == {line}


def test_a_listener_that_was_away_gets_all_it_missed_in_order(
    listener: Listener, tmp_path: Path, settings: Any
) -> None:
    listener.close()
    for number in (1, 2, 3):
        outside.send(json.dumps({"seq": number}))
    back = Listener(tmp_path, "localhost", listener.port)
    settings.SEAL_SYSLOG_CA = str(back.ca)
    outside.send(json.dumps({"seq": 4}))
    said = [json.loads(LINE.fullmatch(message)["said"])["seq"] for message in back.messages(1)]  # type: ignore[index]
    back.close()
    assert said == [1, 2, 3, 4] and not outside._waiting["syslog"]


def test_nobody_else_than_who_holds_the_certificate_gets_one(listener: Listener, tmp_path: Path, settings: Any) -> None:
    other, _key = certificate(tmp_path, "elsewhere")
    settings.SEAL_SYSLOG_CA = str(other)  # we trust another authority
    outside.send("{}")
    assert len(outside._waiting["syslog"]) == 1
    wrong = Listener(tmp_path, "another.example")
    settings.SEAL_SYSLOG, settings.SEAL_SYSLOG_CA = f"tls://localhost:{wrong.port}", str(wrong.ca)
    outside.send("{}")  # one we trust, under a name that is not asked for
    wrong.close()
    assert len(outside._waiting["syslog"]) == 2
    assert listener.came == [] and wrong.came == []


def test_nothing_goes_in_plain_text(settings: Any) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(5)
    got: list[bytes] = []

    def serve() -> None:
        link, _where = server.accept()
        link.settimeout(2)
        got.append(link.recv(4096))
        link.close()

    thread = threading.Thread(target=serve)
    thread.start()
    settings.SEAL_FILE, settings.SEAL_SYSLOG = "", f"tls://localhost:{server.getsockname()[1]}"
    outside.send('{"seq": 7}')
    thread.join()
    server.close()
    assert got and b"seq" not in got[0] and got[0][:1] == b"\x16"  # a TLS handshake


def test_a_full_disk_outside_loses_none(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SEAL_SYSLOG, settings.SEAL_FILE = "", str(tmp_path / "away/checkpoints.jsonl")
    outside.send("1")
    (tmp_path / "away").mkdir()
    outside.send("2")
    assert (tmp_path / "away/checkpoints.jsonl").read_text() == "1\n2\n"


@pytest.fixture
def dpo(db: None, settings: Any) -> Checkpoint:
    settings.DPO_MAIL, settings.MAIL_IS_ON = ["encarregada@example.org"], True
    return fill(make_user("davi"), make_project("visao"))


def test_the_officer_gets_the_days_checkpoints_once(dpo: Checkpoint) -> None:
    assert telling.mail_checkpoints() and not telling.mail_checkpoints()
    [message] = mail.outbox
    assert message.to == ["encarregada@example.org"] and str(dpo.seq) in message.body
    name, content, _kind = message.attachments[0]
    lines = [json.loads(line) for line in content.splitlines()]
    assert name.endswith(".jsonl") and [one["seq"] for one in lines] == [6, 11, 16]
    assert lines[-1] == told(dpo)
    event = AuditEvent.objects.get(action=Action.CHECKPOINT_MAILED)
    assert (event.detail["last"], event.detail["count"]) == (16, 3)


def test_what_came_by_mail_is_what_the_verifier_remembers(dpo: Checkpoint) -> None:
    from audit.services import exporting

    telling.mail_checkpoints()
    kept = [json.loads(line) for line in mail.outbox[0].attachments[0][1].splitlines()]
    lines = b"".join(exporting.export(exporting.Wanted())).decode().splitlines(keepends=True)
    assert verify.verify(lines, [KEY.public_key()], kept).remembered == 3


def test_the_next_day_brings_only_what_is_new(dpo: Checkpoint) -> None:
    telling.mail_checkpoints()
    Sealer.where_it_stands().checkpoint(KEY)
    assert not telling.mail_checkpoints()
    assert telling.mail_checkpoints(timezone.now() + datetime.timedelta(days=1))
    assert len(mail.outbox[1].attachments[0][1].splitlines()) == 1


def test_a_mail_that_did_not_go_is_sent_again(dpo: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ConnectionRefusedError

    with monkeypatch.context() as patch:
        patch.setattr(mail.EmailMessage, "send", broken)
        assert not telling.mail_checkpoints()
    assert telling.mail_checkpoints() and len(mail.outbox) == 1


def test_without_an_address_nothing_is_sent(dpo: Checkpoint, settings: Any) -> None:
    settings.DPO_MAIL = []
    assert not telling.mail_checkpoints() and not AuditEvent.objects.filter(action=Action.CHECKPOINT_MAILED).exists()
