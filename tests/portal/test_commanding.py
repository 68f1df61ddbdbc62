"""What an administrator runs in a shell is in the trail before it runs; what is typed into a shell is not."""

from __future__ import annotations

import pytest
from django.core.management import ManagementUtility
from django.core.management.base import BaseCommand
from django.db import DatabaseError, connection

from audit.actions import Action
from audit.models import AuditEvent
from portal import commanding

pytestmark = pytest.mark.django_db


def test_a_command_leaves_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commanding, "_who", lambda: "root")
    commanding.Utility(["manage.py", "issue_token", "davi", "--days", "3"]).fetch_command("issue_token")
    event = AuditEvent.objects.get(action=Action.COMMAND_RUN)
    assert event.channel == "command"
    assert event.said == {"command": "issue_token", "arguments": ["davi", "--days", "3"], "system_user": "root"}
    assert "root" not in str(event.detail)


def test_what_is_typed_into_a_shell_is_not_kept() -> None:
    commanding.record("shell", ["-c", "print('a secret')"])
    assert AuditEvent.objects.get(action=Action.COMMAND_RUN).detail["arguments"] == ["-c", "… (17)"]


@pytest.mark.parametrize("argv", [["help", "shell"], ["shell", "--help"], ["check"], ["doctor"]])
def test_asking_for_help_and_serving_leave_none(argv: list[str]) -> None:
    commanding.Utility(["manage.py", *argv]).fetch_command(argv[-1] if argv[-1] != "--help" else argv[0])
    assert not AuditEvent.objects.exists()


def test_without_the_trail_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    from audit import trail

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no trail")

    monkeypatch.setattr(trail, "record", broken)
    ran = []
    monkeypatch.setattr(ManagementUtility, "fetch_command", lambda self, name: ran.append(name))
    with pytest.raises(RuntimeError):
        commanding.Utility(["manage.py", "shell"]).execute()


@pytest.mark.parametrize(
    ("argv", "arguments"),
    [
        (["flush", "--noinput"], ["--noinput"]),
        (["pgtrigger", "disable"], ["disable"]),
        (["clean_orphan_obj_perms"], []),
        (["createsuperuser", "--username=davi", "--noinput"], ["--username=… (4)", "--noinput"]),
        (["axes_reset_ip", "192.0.2.7"], ["… (9)"]),
    ],
)
def test_what_others_wrote_leaves_a_line_too(db: None, argv: list[str], arguments: list[str]) -> None:
    commanding.Utility(["manage.py", *argv]).fetch_command(argv[0])
    event = AuditEvent.objects.get(action=Action.COMMAND_RUN)
    assert (event.detail["command"], event.detail["arguments"]) == (argv[0], arguments)


def _moved(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


@pytest.mark.parametrize("name", ["migrate", "setup_roles"])
def test_what_makes_the_trail_leaves_its_line_before_where_there_is_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(BaseCommand, "run_from_argv", lambda *_: seen.append(AuditEvent.objects.count()))
    commanding.Utility(["manage.py", name]).execute()
    assert seen == [1] and AuditEvent.objects.get(action=Action.COMMAND_RUN).detail["command"] == name


def test_and_afterwards_where_there_was_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        BaseCommand, "run_from_argv", lambda *_: _moved("ALTER TABLE not_yet RENAME TO audit_auditevent")
    )
    _moved("ALTER TABLE audit_auditevent RENAME TO not_yet")
    commanding.Utility(["manage.py", "migrate", "--noinput"]).execute()
    assert AuditEvent.objects.get(action=Action.COMMAND_RUN).detail["arguments"] == ["--noinput"]


def test_another_command_does_not_run_without_the_trail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BaseCommand, "run_from_argv", lambda *_: pytest.fail("it ran"))
    _moved("ALTER TABLE audit_auditevent RENAME TO not_yet")
    with pytest.raises(DatabaseError):
        commanding.Utility(["manage.py", "flush"]).execute()
