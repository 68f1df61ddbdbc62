"""Warnings reach a real mail server: encrypted, signed in, in UTF-8; one whose certificate is not good gets nothing."""

from __future__ import annotations

import contextlib
import dataclasses
import email
import email.policy
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import environ
import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword, Session

from access.roles import Role
from projects.models import Project
from quotas.models import Allocation
from quotas.services import warning
from tests.accounts.certificates import Authority
from tests.factories import make_allocation, make_member

pytestmark = pytest.mark.django_db


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclasses.dataclass
class Post:
    """A mail server that takes only what comes encrypted and signed in as portal:demo-mail."""

    folder: Path
    got: list[Envelope] = dataclasses.field(default_factory=list)

    async def handle_DATA(self, _server: object, session: Session, envelope: Envelope) -> str:
        assert session.ssl is not None and session.authenticated
        self.got.append(envelope)
        return "250 taken"

    def serve(self, authority: Authority) -> Controller:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*authority.issue("mail"))
        return Controller(
            self, hostname="127.0.0.1", port=free_port(), tls_context=context, require_starttls=True, auth_required=True,
            authenticator=lambda *asked: AuthResult(success=asked[-1] == LoginPassword(b"portal", b"demo-mail"), handled=False),
        )  # fmt: skip


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """The one this machine trusts."""
    made = Authority(tmp_path, "trusted")
    monkeypatch.setenv("SSL_CERT_FILE", str(made.ca))
    return made


@pytest.fixture
def post(tmp_path: Path) -> Post:
    return Post(tmp_path)


@contextlib.contextmanager
def running(controller: Controller, settings: Any, password: str = "demo-mail") -> Iterator[None]:
    controller.start()
    address = f"smtp+tls://portal:{password}@127.0.0.1:{controller.port}"
    for name, value in environ.Env.email_url_config(address).items():
        setattr(settings, name, value)
    settings.MAIL_IS_ON = True
    try:
        yield
    finally:
        controller.stop()


@pytest.fixture
def allocation(project: Project) -> Allocation:
    """Almost used up, of a PI who reads Portuguese."""
    make_member(project, Role.PI, email="ana@demo.example", language="pt-br", display_name="Ana Demo")
    return make_allocation(project, title="Visão", gpu_minutes=6000, used_gpu_minutes=5460)


def test_a_warning_arrives_whole(post: Post, authority: Authority, allocation: Allocation, settings: Any) -> None:
    with running(post.serve(authority), settings):
        assert warning.warn() == 1
    [envelope] = post.got
    message = email.message_from_bytes(envelope.content, policy=email.policy.default)
    assert envelope.rcpt_tos == ["ana@demo.example"] and message["From"] == "bancada@127.0.0.1"
    assert "Visão" in message["Subject"] and "Ana Demo" in message.get_content()


def test_a_server_with_a_foreign_certificate_gets_nothing_and_it_is_tried_again(
    post: Post, authority: Authority, allocation: Allocation, settings: Any, tmp_path: Path
) -> None:
    with running(post.serve(Authority(tmp_path, "foreign")), settings):
        warning.warn()
    assert post.got == []
    with running(post.serve(authority), settings):
        warning.warn()
    assert len(post.got) == 1


def test_a_wrong_password_and_a_server_that_is_away_are_tried_again(
    post: Post, authority: Authority, allocation: Allocation, settings: Any
) -> None:
    with running(post.serve(authority), settings, "wrong"):
        warning.warn()
    warning.warn()  # nobody there
    assert post.got == []
    with running(post.serve(authority), settings):
        warning.warn()
    assert len(post.got) == 1
