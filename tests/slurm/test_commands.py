"""Slurm's commands: what they are given, and what their silence, complaints and slowness mean."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from slurm.commands import Commands
from slurm.contract import Refused, Unanswered, Unreachable
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
    assert time.monotonic() - began < 5


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    commands = Commands("/etc/slurm/slurm.conf", 5, str(tmp_path))
    for act in (commands.read, commands.change):
        with pytest.raises(Unreachable):
            act(TOKEN, "squeue")


@pytest.mark.parametrize("words", ["Nothing modified", " Nothing new added.", "Nothing deleted"])
def test_a_change_that_was_there_already(tmp_path: Path, words: str) -> None:
    command(tmp_path, f"print({words!r}); sys.exit(1)").change(TOKEN, "squeue")


def test_a_change_that_is_refused_or_does_not_arrive(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="does not exist"):
        command(tmp_path, "print(' The account x does not exist'); sys.exit(1)").change(TOKEN, "squeue")
    with pytest.raises(Unreachable):
        command(tmp_path, "print('error: Connection refused', file=sys.stderr); sys.exit(1)").change(TOKEN, "squeue")
