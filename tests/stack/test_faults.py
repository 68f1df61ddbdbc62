"""What can go wrong with a private stack on somebody's machine, each provoked for real."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stack import namespace, pidfile
from tests.stack.running import CHECKOUT, PORT, Own, exists, mounts

pytestmark = pytest.mark.faults


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Own]:
    own = Own(tmp_path / "var")
    yield own
    own.run("down")


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process that is none of the stack's business."""
    process = subprocess.Popen(["sleep", "300"])
    yield process
    process.kill()
    process.wait()


def system_files() -> list[str]:
    return [hashlib.sha256(Path(p).read_bytes()).hexdigest() for p in ("/etc/passwd", "/etc/group", "/etc/hosts")]


def test_a_taken_port_is_one_sentence_and_nothing_starts(own: Own) -> None:
    with socket.create_server(("127.0.0.1", PORT + 1)):
        done = own.run("up", "--only", "slapd,redis")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"Port {PORT + 1} on 127.0.0.1, meant for ldap, is taken" in done.stderr
    assert own.supervisor() is None
    assert not (own.var / "run").exists()


def test_an_unknown_service_is_one_sentence(own: Own) -> None:
    done = own.run("up", "--only", "rabbitmq")
    assert (done.returncode, done.stderr) == (1, "stack: There is no service rabbitmq.\n")


def test_up_again_changes_nothing(own: Own) -> None:
    own.ok("up", "--only", "redis")
    before = (own.supervisor(), own.pids())
    own.ok("up", "--only", "redis")
    assert (own.supervisor(), own.pids()) == before


def test_down_ends_everything_inside_and_nothing_outside(own: Own, stranger: subprocess.Popen[bytes]) -> None:
    files, mounted = system_files(), mounts()
    own.ok("up", "--only", "redis")
    pids = [*own.pids().values(), own.supervisor()]
    own.ok("exec", "--", "sh", "-c", "setsid sleep 300 >/dev/null 2>&1 & echo started")
    inside = [pid for pid in namespace.members(own.stack) if pid not in pids]
    assert len(inside) == 1  # the sleep: as a job's forgotten child would be
    own.ok("down")
    assert not [pid for pid in [*pids, *inside] if pid and exists(pid)]
    assert namespace.members(own.stack) == []
    assert stranger.poll() is None
    assert (system_files(), mounts()) == (files, mounted)


def test_a_stale_pid_file_harms_nobody(own: Own, stranger: subprocess.Popen[bytes]) -> None:
    own.ok("up", "--only", "redis")
    own.ok("down")
    for name in ("supervisor", "redis-broker"):
        pidfile.write(own.var / "run/pid" / name, stranger.pid)  # the pid was given to somebody else
    assert own.run("status").returncode == 3
    own.ok("down")
    assert stranger.poll() is None
    pidfile.write(own.var / "run/pid/supervisor", stranger.pid)
    own.ok("up", "--only", "redis")
    assert own.supervisor() not in (None, stranger.pid)


def test_after_a_killed_supervisor_up_starts_clean(own: Own) -> None:
    own.ok("up", "--only", "redis")
    old = own.pids()
    supervisor = own.supervisor()
    assert supervisor
    os.kill(supervisor, signal.SIGKILL)
    own.ok("up", "--only", "redis")
    assert not [pid for pid in old.values() if exists(pid)]
    assert all(exists(pid) for pid in own.pids().values())


def test_a_killed_portal_process_comes_back(own: Own) -> None:
    own.ok("up", "--only", "reader")
    first = own.pids()["reader"]
    os.kill(first, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while (own.pids()["reader"] in (first, None)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert exists(own.pids()["reader"])


def test_it_works_under_a_long_path_that_is_closed_to_others(tmp_path: Path) -> None:
    deep = tmp_path / ("a" * 60) / ("b" * 60)
    deep.mkdir(parents=True)
    deep.chmod(0o700)
    for part in ("stack", "contrib", "examples"):
        shutil.copytree(CHECKOUT / part, deep / part, ignore=shutil.ignore_patterns("__pycache__"))
    own = Own(deep / "var", checkout=deep)
    assert len(str(own.var)) > 120
    try:
        own.ok("up", "--only", "postgres,redis,slapd,munge")
        said = own.ok(
            "exec",
            "--user",
            "bancada-owner",
            "--",
            "psql",
            "-h",
            "/srv/var/run/pg",
            "-Atc",
            "SELECT 1",
            "bancada",
            "postgres",
        )
        assert said.strip() == "1"
    finally:
        own.ok("reset")
    assert not own.var.exists()


def test_tcp_is_loopback_only(own: Own) -> None:
    own.ok("up", "--only", "slapd,prometheus,nginx")
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [row[1].split(":") for row in rows if row[3] == "0A"]
    ours = {int(port, 16): address for address, port in listening if PORT <= int(port, 16) < PORT + 10}
    assert set(ours) == {PORT, PORT + 1, PORT + 2, PORT + 9}
    assert set(ours.values()) == {"0100007F"}


def test_no_log_can_be_read_by_a_job_on_this_host(own: Own) -> None:
    """They say who signs in, who reads what, and what everybody runs."""
    own.ok("up", "--only", "nginx")
    logs = list((own.var / "log").iterdir())
    assert {"nginx-access.log", "nginx.log", "supervisor.log"} <= {log.name for log in logs}
    assert [log.name for log in logs if log.stat().st_mode & 0o077] == []


def test_reset_leaves_a_strange_folder_alone(own: Own) -> None:
    own.var.mkdir()
    (own.var / "thesis.tex").write_text("years of work")
    done = own.run("reset")
    assert done.returncode == 1
    assert "was not made by the stack" in done.stderr
    assert (own.var / "thesis.tex").exists()
