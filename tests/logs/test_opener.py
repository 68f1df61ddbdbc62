"""The opener: the one message, who may send it, as whom a file is opened, and what it survives."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logs.asking import MAX_REQUEST, STREAMS, BadRequest, OpenerDown, decode_request, encode_request
from tests.clock import within
from tests.logs.conftest import needs_root
from tests.logs.house import OWNER, ROOT, STRANGER, House, as_uid, running, wait_until


def send(house: House, packet: bytes) -> bytes:
    """Send one packet; give the answer, b"" for none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(5)
        connection.connect(str(house.opener_socket))
        try:
            connection.send(packet)
            return connection.recv(64)
        except (BrokenPipeError, ConnectionResetError):
            return b""


def children(house: House) -> list[int]:
    """The opener's children."""
    pid = house.processes["opener"].pid
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda raw: b"open1 stdout " + raw))
@settings(max_examples=1500)
def test_any_packet_is_the_one_message_or_a_bad_request(packet: bytes) -> None:
    try:
        stream, ticket = decode_request(packet)
    except BadRequest:
        return
    assert stream in STREAMS and encode_request(stream, ticket) == packet


def test_a_good_ticket_opens_its_two_streams(opener: House) -> None:
    opener.write("both.out", b"out")
    opener.write("both.err", b"err")
    ticket = opener.ticket("both.out", stderr="both.err")
    assert opener.ask(ticket) == "ok out"
    assert opener.ask(ticket, "stderr") == "ok err"
    assert opener.ask(opener.ticket("both.out"), "stderr") == "missing"


def test_noise_on_the_socket_gets_bad_ticket_and_does_no_harm(opener: House) -> None:
    opener.write("after-noise", b"here")
    ticket = opener.ticket("after-noise")
    noise = [os.urandom(n) for n in range(1, 200)]
    noise += [encode_request("stdout", ticket)[:n] for n in range(1, 60)]
    noise += [encode_request("stdout", ticket[:n] + chr(n % 26 + 65) + ticket[n + 1 :]) for n in range(5, 300, 3)]
    noise += [b"x" * (MAX_REQUEST + 1), b"x" * 100_000, b"open1 stdin " + ticket.encode(), b"\0" * 5000]
    answers = {send(opener, packet) for packet in noise if packet != encode_request("stdout", ticket)}
    assert answers <= {b"bad-ticket", b"ok"} and b"bad-ticket" in answers
    assert opener.ask(ticket) == "ok here"


def test_an_expired_ticket_and_one_of_another_key_are_bad(opener: House, house: House) -> None:
    opener.write("late", b"x")
    assert opener.ask(opener.ticket("late", not_after=int(time.time()) - 1)) == "bad-ticket"
    assert opener.ask(house.ticket("late")) == "bad-ticket"


def test_only_the_readers_uid_is_answered(house: House) -> None:
    house.write("mine", b"x")
    with pytest.raises(OpenerDown):
        house.ask(house.ticket("mine"))  # we are root, but not the reader
    code = (
        "import sys; from pathlib import Path; from logs.asking import ask\n"
        "print(ask(Path(sys.argv[1]), 'stdout', sys.argv[2])[0])"
    )
    command = as_uid(STRANGER, [sys.executable, "-c", code, str(house.opener_socket), house.ticket("mine")])
    stranger = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "PermissionError" in stranger.stderr and not stranger.stdout  # the socket's mode already stops it
    house.opener_socket.chmod(0o666)
    try:
        stranger = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert "OpenerDown" in stranger.stderr and not stranger.stdout  # and so does the kernel's word on who it is
    finally:
        house.opener_socket.chmod(0o600)


def test_who_connects_and_says_nothing_holds_up_nobody(opener: House) -> None:
    opener.write("busy", b"x")
    idle = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(100)]
    for connection in idle:
        connection.connect(str(opener.opener_socket))
    assert within(1.8, lambda: opener.ask(opener.ticket("busy"))) == "ok x"
    idle[0].settimeout(10)
    assert idle[0].recv(10) == b""  # hung up on after its two seconds
    for connection in idle:
        connection.close()


def test_the_file_is_opened_as_its_owner_and_not_as_root(opener: House) -> None:
    opener.write("secret", b"owner only")
    assert opener.ask(opener.ticket("secret")) == "ok owner only"
    path = opener.write("closed", b"x")
    path.chmod(0)
    assert opener.ask(opener.ticket("closed")) == "denied"
    assert opener.ask(opener.ticket("secret", uid=STRANGER)) == "denied"  # the folder is the owner's alone
    assert opener.ask(opener.ticket(Path("/root/x"))) == "denied"
    assert opener.ask(opener.ticket("absent")) == "missing"


def test_the_owners_groups_count_as_the_machine_knows_them() -> None:
    needs_root()
    names = (
        "cp /etc/passwd /etc/group /run && cd /run && echo dora:x:20001:20001::/:/bin/sh >> passwd && "
        "echo fred:x:20003:20003::/:/bin/sh >> passwd && echo project:x:20050:dora >> group && "
        "mount --bind passwd /etc/passwd && mount --bind group /etc/group && cd - >/dev/null"
    )
    prefix = (
        "unshare",
        "-m",
        "--propagation",
        "private",
        "sh",
        "-c",
        f'mount -t tmpfs none /run && {names} && exec "$@"',
        "sh",
    )
    with running("opener", allow_uid=0, opener_prefix=prefix) as house:
        shared = house.folder / "shared"
        shared.mkdir()
        os.chown(shared, 0, 20050)
        shared.chmod(0o750)
        for name, uid in (("dora", OWNER), ("fred", 20003)):
            (shared / name).write_text(name)
            os.chown(shared / name, uid, uid)
        assert house.ask(house.ticket(shared / "dora")) == "ok dora"
        assert house.ask(house.ticket(shared / "fred", user="fred", uid=20003)) == "denied"  # not in the group
        assert house.ask(house.ticket(shared / "dora", user="fred", uid=OWNER)) == "denied"  # name and uid disagree
        assert house.ask(house.ticket(shared / "dora", user="gone", uid=OWNER)) == "denied"  # the uid is dora's now
        assert house.ask(house.ticket(shared / "dora", user="dora", uid=STRANGER)) == "denied"


def test_a_child_its_owner_stops_is_given_up_and_nobody_else_waits() -> None:
    needs_root()
    with running("opener", allow_uid=0, deadline=3) as house:
        house.write("frozen", b"x")
        other = house.folder / "other"
        other.write_text("y")
        os.chown(other, STRANGER, STRANGER)
        ticket, answers, ending = house.ticket("frozen"), list[str](), threading.Event()
        stopper = threading.Thread(target=_stop_children, args=(house, ending), daemon=True)
        stopper.start()
        until = time.monotonic() + 60
        while "failed" not in answers and time.monotonic() < until:  # on a busy machine few are met in time
            asking = [threading.Thread(target=lambda: answers.append(house.ask(ticket))) for _ in range(12)]
            for thread in asking:
                thread.start()
            while not _any_stopped(house) and any(thread.is_alive() for thread in asking):
                time.sleep(0.001)
            assert (
                within(2.5, lambda: house.ask(house.ticket(other, uid=STRANGER))) == "ok y"
            )  # not the others' deadline
            for thread in asking:
                thread.join()
        ending.set()
        stopper.join()
        assert set(answers) <= {"ok x", "failed", "busy"} and "failed" in answers, answers
        wait_until(lambda: not children(house))
        assert house.ask(ticket) == "ok x"


def _any_stopped(house: House) -> bool:
    try:
        return any("State:\tT" in _status(child) for child in children(house))
    except (FileNotFoundError, ProcessLookupError):
        return False


def _stop_children(house: House, ending: threading.Event) -> None:
    """What a hostile owner can do to processes that carry their uid: stop each as soon as it is seen."""
    while not ending.is_set():
        for child in children(house):
            try:
                if f"\nUid:\t{OWNER}" in _status(child):
                    os.kill(child, signal.SIGSTOP)
            except (FileNotFoundError, ProcessLookupError):
                continue


def _status(pid: int) -> str:
    return Path(f"/proc/{pid}/status").read_text()


def test_a_child_keeps_nothing_of_root_and_holds_no_strangers_descriptor() -> None:
    needs_root()
    with running("opener", allow_uid=0, deadline=60) as house:
        house.write("look", b"x")
        bystanders = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(5)]
        for connection in bystanders:
            connection.connect(str(house.opener_socket))
        child = _catch_child(house)
        status = dict(line.split(":\t", 1) for line in _status(child).splitlines() if ":\t" in line)
        uids = f"{OWNER}\t{OWNER}\t{OWNER}\t{OWNER}"
        assert (status["Uid"], status["NoNewPrivs"], status["Groups"].strip()) == (uids, "1", "")
        assert {status[name] for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {"0" * 16}
        sockets = [str(link.readlink()) for link in Path(f"/proc/{child}/fd").iterdir()]
        assert sum(link.startswith("socket:") for link in sockets) == 1
        owner = subprocess.run(as_uid(OWNER, ["ls", f"/proc/{child}/fd"]), capture_output=True)
        assert owner.returncode != 0  # the owner's own processes can neither look into it nor trace it
        os.kill(child, signal.SIGKILL)
        for connection in bystanders:
            connection.close()


def _ask(house: House) -> None:
    """The asker of a child that is killed gets no answer; that is not what is tried here."""
    with contextlib.suppress(OpenerDown):
        house.ask(house.ticket("look"))


def _catch_child(house: House) -> int:
    """Freeze a child after it has become the owner."""
    for _ in range(300):
        thread = threading.Thread(target=_ask, args=(house,), daemon=True)
        thread.start()
        while thread.is_alive():
            for child in children(house):
                try:
                    os.kill(child, signal.SIGSTOP)
                    status = _status(child)
                    if all(word in status for word in (f"\nUid:\t{OWNER}", "NoNewPrivs:\t1", "State:\tT")):
                        return child
                    os.kill(child, signal.SIGCONT)
                except (FileNotFoundError, ProcessLookupError):
                    continue
    raise AssertionError("never caught one")


def test_a_key_taken_away_counts_no_more_at_once(opener: House) -> None:
    opener.write("rotate", b"x")
    ticket, path = opener.ticket("rotate"), opener.keys / f"{opener.key_id}.pem"
    text = path.read_bytes()
    assert opener.ask(ticket) == "ok x"
    path.unlink()
    try:
        assert opener.ask(ticket) == "bad-ticket"
    finally:
        path.write_bytes(text)
    assert opener.ask(ticket) == "ok x"
