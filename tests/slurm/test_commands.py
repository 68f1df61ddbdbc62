"""Slurm's commands: what they are given, and what their silence, complaints and slowness mean."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from slurm.commands import Commands
from slurm.contract import Unanswered, Unreachable
from slurm.tokens import Token

TOKEN = Token("bancada-read", time.time() + 60, "the-token")


def command(folder: Path, body: str, *, deadline: float = 10) -> Commands:
    path = folder / "squeue"
    path.write_text(f"#!/usr/bin/python3\nimport os, sys, time, json\n{body}\n")
    path.chmod(0o755)
    return Commands("/etc/slurm/slurm.conf", deadline, str(folder))


def test_an_empty_environment_but_for_what_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "canary")
    monkeypatch.setenv("SQUEUE_FORMAT", "%j")
    monkeypatch.setenv("LD_PRELOAD", "")
    commands = command(tmp_path, "print(json.dumps([dict(os.environ), sys.argv[1:], os.getcwd()]))")
    environment, words, folder = json.loads(commands.read(TOKEN, "squeue", "-h", "a b;$(id)"))
    assert environment == {
        "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC", "SLURM_TIME_FORMAT": "%s",
        "SLURM_CONF": "/etc/slurm/slurm.conf", "SLURM_JWT": "the-token",
    }  # fmt: skip
    assert words == ["-h", "a b;$(id)"] and folder == "/"


def test_the_token_is_not_on_the_command_line(tmp_path: Path) -> None:
    said = command(tmp_path, "print(sys.argv)").read(TOKEN, "squeue")
    assert "the-token" not in said


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("sys.exit(1)", Unanswered),
        ("print('1|RUNNING'); sys.exit(1)", Unanswered),
        ("print('sacct: error: Problem talking to the database', file=sys.stderr)", Unanswered),
        ("print('slurm_load_jobs error: Unable to contact slurm controller (connect failure)', file=sys.stderr); sys.exit(1)", Unreachable),
        ("print('error: Sending PersistInit msg: Connection refused', file=sys.stderr); sys.exit(1)", Unreachable),
        ("os.kill(os.getpid(), 9)", Unanswered),
    ],
)  # fmt: skip
def test_anything_but_a_clean_end_is_no_answer(tmp_path: Path, body: str, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        command(tmp_path, body).read(TOKEN, "squeue")


def test_empty_is_an_answer(tmp_path: Path) -> None:
    assert command(tmp_path, "pass").read(TOKEN, "squeue") == ""


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    assert "\ufffd" in command(tmp_path, "sys.stdout.buffer.write(b'\\xff\\xfe')").read(TOKEN, "squeue")


def test_a_slow_command_is_ended(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(Unanswered, match="within"):
        command(tmp_path, "time.sleep(30)", deadline=0.5).read(TOKEN, "squeue")
    assert time.monotonic() - began < 20


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    commands = Commands("/etc/slurm/slurm.conf", 5, str(tmp_path))
    with pytest.raises(Unreachable):
        commands.read(TOKEN, "squeue")
    with pytest.raises(Unreachable):
        commands.tell(TOKEN, "squeue", lines=["quit"], deadline=5)


def tell(folder: Path, body: str, *lines: str, deadline: float = 10) -> list[str]:
    return command(folder, body).tell(TOKEN, "squeue", lines=lines, deadline=deadline)


def test_lines_are_given_and_what_was_said_of_them_is_read(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    assert tell(tmp_path, f"open({str(seen)!r}, 'w').write(sys.stdin.read())", "add qos é", "quit") == []
    assert seen.read_text() == "add qos é\nquit\n"
    echo = "print('sacctmgr: add qos error\\n Adding QOS(s)\\n  error')"
    assert tell(tmp_path, echo) == []
    bad = f"{echo}; print(' Problem adding accounts: no'); print('sacctmgr: error: bad', file=sys.stderr); sys.exit(1)"
    assert tell(tmp_path, bad) == ["bad", "Problem adding accounts: no"]
    assert tell(tmp_path, "print(' Nothing modified'); sys.exit(1)") == []


def test_lines_that_did_not_arrive_or_only_perhaps(tmp_path: Path) -> None:
    refused = "print('error: Connection refused', file=sys.stderr); sys.exit(1)"
    with pytest.raises(Unreachable):
        tell(tmp_path, f"print('squeue: add qos x\\nsqueue: \\n<=a set grpjobs=2'); {refused}")
    for body in (f"print('squeue: add qos x\\n Adding QOS(s)'); {refused}", "os.kill(os.getpid(), 9)"):
        with pytest.raises(Unanswered):
            tell(tmp_path, body)
    with pytest.raises(Unanswered, match="within"):
        tell(tmp_path, "time.sleep(30)", deadline=0.5)
