"""Both programs as programs: help, start, sockets, signals, and what they refuse to do."""

from __future__ import annotations

import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.logs.conftest import needs_root
from tests.logs.house import READER_UID, ROOT, House, as_uid, running, wait_until


@pytest.mark.parametrize("program", ["opener", "reader"])
def test_help_says_what_it_is_and_every_option(program: str) -> None:
    done = subprocess.run([sys.executable, "-m", f"logs.{program}", "--help"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "--socket" in done.stdout and f"log {program}" in done.stdout
    assert not done.stderr


def test_each_refuses_the_wrong_uid() -> None:
    needs_root()
    house = House()
    reader = subprocess.run(house.reader_as_root(), cwd=ROOT, capture_output=True, text=True)
    assert reader.returncode == 2 and "must not run as root" in reader.stderr
    opener = subprocess.run(as_uid(READER_UID, house.opener_command()), cwd=ROOT, capture_output=True, text=True)
    assert opener.returncode == 2 and "must start as root" in opener.stderr
    house.close()


def test_nothing_of_ours_and_no_framework_is_loaded_in_either() -> None:
    code = (
        "import sys, logs.opener, logs.reader\n"
        "rooms = 'django celery channels portal jobs quotas projects accounts cluster audit access slurm httpx'\n"
        "print([name for name in rooms.split() if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_sockets_have_their_owner_and_mode_and_go_at_the_end(house: House) -> None:
    needs_root()
    with running() as house:
        opener, reader = house.opener_socket.stat(), house.reader_socket.stat()
        assert (opener.st_uid, stat.S_IMODE(opener.st_mode)) == (READER_UID, 0o600)
        assert (reader.st_uid, stat.S_IMODE(reader.st_mode)) == (READER_UID, 0o660)
        for name in ("reader", "opener"):
            assert house.stop(name) == 0
        assert not house.opener_socket.exists() and not house.reader_socket.exists()


def test_a_stale_socket_is_replaced_and_a_living_one_is_not() -> None:
    needs_root()
    with running() as house:
        for name in ("reader", "opener"):
            assert house.stop(name, signal.SIGKILL) == -signal.SIGKILL
        assert house.opener_socket.exists() and house.reader_socket.exists()
        house.start()
        house.write("here", b"x")
        assert house.reader.read(house.ticket("here"), "stdout", 0, 9).data == b"x"
        for command in (house.opener_command(), house.reader_command()):
            second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            assert second.returncode == 2 and "already answers" in second.stderr
        assert house.reader.read(house.ticket("here"), "stdout", 0, 9).data == b"x"


def test_a_file_that_is_no_socket_and_a_path_too_long_are_left_alone() -> None:
    needs_root()
    house = House()
    house.opener_socket.write_text("precious")
    done = subprocess.run(house.opener_command(), cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "not a socket" in done.stderr and house.opener_socket.read_text() == "precious"
    house.opener_socket = house.folder / ("s" * 100)
    done = subprocess.run(house.opener_command(), cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "longer than" in done.stderr
    house.close()


def test_the_readers_group_option_lets_members_in_and_no_others() -> None:
    needs_root()
    house = House()
    group = 62001
    command = house.reader_command("--socket-group", str(group), groups=str(group))
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        wait_until(house.reader_socket.exists)
        knock = f"import socket; socket.socket(socket.AF_UNIX).connect({str(house.reader_socket)!r})"
        for groups, status in ((str(group), 0), ("62002", 1)):
            member = as_uid(62003, [sys.executable, "-c", knock], groups=groups)
            assert subprocess.run(member, cwd=ROOT, stderr=subprocess.DEVNULL).returncode == status
    finally:
        process.terminate()
        process.wait(10)
        house.close()


def test_sigterm_while_children_are_at_work_leaves_none() -> None:
    needs_root()
    with running("opener", allow_uid=0, deadline=30) as house:
        house.write("x", b"x")
        pid = house.processes["opener"].pid
        ticket = house.ticket("x")
        threads = [threading.Thread(target=_ask_quietly, args=(house, ticket), daemon=True) for _ in range(6)]
        for thread in threads:
            thread.start()
        assert house.stop("opener") == 0
        children = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout
        assert not children


def _ask_quietly(house: House, ticket: str) -> None:
    try:
        house.ask(ticket)
    except Exception:
        return


def test_tickets_and_paths_are_in_no_output_of_either(capfd: pytest.CaptureFixture[str]) -> None:
    needs_root()
    with running() as house:
        house.write("quiet", b"x")
        ticket = house.ticket("quiet")
        house.reader.read(ticket, "stdout", 0, 10)
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(str(house.reader_socket))
            raw.sendall(b"NONSENSE\r\n\r\n" + ticket.encode())
            raw.recv(100)
        for name in ("reader", "opener"):
            process = house.processes[name]
            process.terminate()
            assert process.stderr.read() == b""
            process.wait(10)
    assert capfd.readouterr().out == ""


def test_a_crowd_of_open_files_is_bounded_and_the_idle_make_room() -> None:
    needs_root()
    with running(max_files=20) as house:
        for number in range(60):
            house.write("crowd", b"x")
            assert house.reader.read(house.ticket("crowd", job_id=1000 + number), "stdout", 0, 1).data == b"x"
        status = house.reader.status()
        assert status["entries"] <= 20
        descriptors = len(list(Path(f"/proc/{house.processes['reader'].pid}/fd").iterdir()))
        assert status["open"] <= descriptors <= status["open"] + 40
