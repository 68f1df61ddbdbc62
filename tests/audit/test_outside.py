"""Checkpoints leave the host: by syslog over TLS to a listener of the test's own, by file, and by mail once a day."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.core import mail
from django.db import connection
from django.utils import timezone

from audit.actions import Action
from audit.models import AuditEvent, Checkpoint
from audit.services import outside
from audit.services.exports import telling
from audit.services.leaving import Leaving
from audit.services.sealing import Sealer, told
from client.bancada import verify
from tests.audit.exporting import KEY, fill
from tests.conftest import ROOT, Roles
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


def sent(listener: Listener, connections: int = 1) -> list[int]:
    """The numbers of the checkpoints that came, in their order."""
    found = [LINE.fullmatch(message) for message in listener.messages(connections)]
    assert all(found)
    return [json.loads(match["said"])["seq"] for match in found if match]


def checkpoint(seq: int) -> Checkpoint:
    """As the sealer makes it; only its number matters here."""
    return Checkpoint.objects.create(seq=seq, chain=b"c" * 32, key_id="k", signature=b"s" * 64)


@pytest.fixture
def leaving(db: None) -> Callable[[], Leaving]:
    """What a process begins with, where the settings are those of now."""

    def begin() -> Leaving:
        made = Leaving()
        made.resume()
        return made

    return begin


@pytest.fixture
def listener(tmp_path: Path, settings: Any) -> Iterator[Listener]:
    made = Listener(tmp_path, "localhost")
    settings.SEAL_FILE = ""
    settings.SEAL_SYSLOG, settings.SEAL_SYSLOG_CA = f"tls://localhost:{made.port}", str(made.ca)
    yield made
    made.close()


Begin = Callable[[], Leaving]


def test_each_checkpoint_is_one_frame_as_the_rfcs_want_it(listener: Listener) -> None:
    line = json.dumps({"seq": 7, "origin": "https://visão.example"})
    outside._to_syslog([line])
    outside._to_syslog([line])
    found = [LINE.fullmatch(message) for message in listener.messages(2)]
    assert len(found) == 2 and all(found)
    assert {match["said"].decode() for match in found if match} == {line}


def test_a_listener_that_was_away_gets_all_it_missed_in_order(
    listener: Listener, tmp_path: Path, settings: Any, leaving: Begin
) -> None:
    listener.close()
    now = leaving()
    for number in (1, 2, 3):
        now.send(checkpoint(number))
    back = Listener(tmp_path, "localhost", listener.port)
    settings.SEAL_SYSLOG_CA = str(back.ca)
    now.send(checkpoint(4))
    assert sent(back) == [1, 2, 3, 4] and not now.waiting["syslog"]
    back.close()


def test_what_had_not_left_when_the_process_ended_leaves_after_a_restart_and_only_once(
    listener: Listener, settings: Any, leaving: Begin, roles: Roles
) -> None:
    checkpoint(1)  # before the place was set up
    roles.use("seal")
    first = leaving()
    first.send(checkpoint(2))
    port, settings.SEAL_SYSLOG = settings.SEAL_SYSLOG, "tls://localhost:1"
    first.send(checkpoint(3))
    checkpoint(4)  # signed, and the process ends
    settings.SEAL_SYSLOG = ""
    assert leaving().waiting == {}  # switched off for a while
    settings.SEAL_SYSLOG = port
    leaving().send(checkpoint(5))
    leaving().send(checkpoint(6))
    assert sent(listener, 3) == [2, 3, 4, 5, 6]


KILLED = """
import os, signal, sys
import django
django.setup()
from django.conf import settings
from audit.models import Checkpoint
from audit.services.leaving import Leaving
leaving = Leaving()
leaving.resume()
for place, seq in zip(sys.argv[1:], range(1, 9)):
    settings.SEAL_SYSLOG = place
    leaving.send(Checkpoint.objects.create(seq=seq, chain=b"c" * 32, key_id="k", signature=b"s" * 64))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.django_db(transaction=True)
def test_a_process_that_is_killed_leaves_what_waited_to_the_next(listener: Listener, settings: Any) -> None:
    place, nowhere = settings.SEAL_SYSLOG, "tls://localhost:1"
    known = connection.settings_dict
    env = os.environ | {
        "DATABASE_URL": f"{os.environ['DATABASE_URL'].partition('?')[0].rpartition('/')[0]}/{known['NAME']}"
        + "".join(f"?{more}" for more in [os.environ["DATABASE_URL"].partition("?")[2]] if more),
        "BANCADA_SEAL_SYSLOG": place, "BANCADA_SEAL_SYSLOG_CA": settings.SEAL_SYSLOG_CA,
    }  # fmt: skip
    argv = [sys.executable, "-c", KILLED, place, nowhere, nowhere, nowhere]
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert Checkpoint.objects.count() == 4
    last = Leaving()
    last.resume()
    last.send(checkpoint(5))
    last.send(checkpoint(6))
    assert sent(listener, 3) == [1, 2, 3, 4, 5, 6]


def test_nobody_else_than_who_holds_the_certificate_gets_one(
    listener: Listener, tmp_path: Path, settings: Any, leaving: Begin
) -> None:
    other, _key = certificate(tmp_path, "elsewhere")
    settings.SEAL_SYSLOG_CA = str(other)  # we trust another authority
    now = leaving()
    now.send(checkpoint(1))
    assert len(now.waiting["syslog"]) == 1
    wrong = Listener(tmp_path, "another.example")
    settings.SEAL_SYSLOG, settings.SEAL_SYSLOG_CA = f"tls://localhost:{wrong.port}", str(wrong.ca)
    now.send(checkpoint(2))  # one we trust, under a name that is not asked for
    wrong.close()
    assert len(now.waiting["syslog"]) == 2
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
    settings.SEAL_SYSLOG = f"tls://localhost:{server.getsockname()[1]}"
    with pytest.raises(OSError):
        outside._to_syslog(['{"seq": 7}'])
    thread.join()
    server.close()
    assert got and b"seq" not in got[0] and got[0][:1] == b"\x16"  # a TLS handshake


def test_a_full_disk_outside_loses_none(tmp_path: Path, settings: Any, leaving: Begin) -> None:
    settings.SEAL_SYSLOG, settings.SEAL_FILE = "", str(tmp_path / "away/checkpoints.jsonl")
    now = leaving()
    now.send(checkpoint(1))
    (tmp_path / "away").mkdir()
    now.send(checkpoint(2))
    lines = (tmp_path / "away/checkpoints.jsonl").read_text().splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [1, 2]


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
