"""A file's bytes by a pipe: what changes while they are in it, who breaks off, what is no pipe."""

from __future__ import annotations

import errno
import os
import signal
import socket
import threading
from pathlib import Path

import pytest

from files import pouring, wire
from files.answers import Refused
from files.client import Door, DoorDown
from files.wire import ANSWER, END, PIECE, QUESTION, REFUSAL, TICKET, BadPacket, Channel, Gone
from tests.files.door import BETO, Place, own
from tests.logs.house import wait_until

DATA = os.urandom(3_000_000)


def children(place: Place) -> list[int]:
    """The people's processes behind the door."""
    assert place.process
    pid = place.process.pid
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def descriptors() -> int:
    """How many this process holds open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def test_what_changes_while_all_of_it_is_in_the_pipe_ends_in_a_refusal(place: Place) -> None:
    path = place.write("f", DATA[:300_000])
    with place.door() as door:
        _, pieces = door.read("f")
        next(pieces)
        own(path, BETO, 0o666)
        with pytest.raises(Refused, match="changed"):
            list(pieces)


def test_a_file_cut_short_meanwhile_ends_in_a_refusal(place: Place) -> None:
    path = place.write("f", DATA)
    with place.door() as door:
        _, pieces = door.read("f")
        next(pieces)
        os.truncate(path, 100_000)
        with pytest.raises(Refused, match="changed"):
            list(pieces)


def test_a_connection_gives_one_file_after_another_and_holds_no_descriptor_afterwards(place: Place) -> None:
    place.write("f", DATA)
    before = descriptors()
    with place.door() as door:
        for offset in (0, 1_000_000, len(DATA)):
            assert b"".join(door.read("f", offset=offset)[1]) == DATA[offset:]
        assert door.stat("f").size == len(DATA)
    with place.door() as door:
        _, pieces = door.read("f")
        next(pieces)
    assert descriptors() == before
    with pytest.raises(ValueError, match="closed"):
        next(pieces)


def test_who_breaks_off_lets_the_child_go(place: Place) -> None:
    place.write("f", DATA)
    with place.door() as door:
        next(door.read("f")[1])
        assert children(place)
    wait_until(lambda: not children(place))


def test_a_child_that_is_killed_gives_no_whole_file(place: Place) -> None:
    place.write("f", DATA)
    with place.door() as door:
        _, pieces = door.read("f")
        next(pieces)
        (child,) = children(place)
        os.kill(child, signal.SIGKILL)
        with pytest.raises(DoorDown):
            list(pieces)


def test_a_child_that_hangs_is_given_up(place: Place) -> None:
    place.write("f", DATA)
    with Door(place.socket, place.ticket(), timeout=0.5) as door:
        _, pieces = door.read("f")
        next(pieces)
        (child,) = children(place)
        os.kill(child, signal.SIGSTOP)
        with pytest.raises(DoorDown, match="silent"):
            list(pieces)
        os.kill(child, signal.SIGKILL)


def test_only_a_pipe_is_taken_and_nothing_else_stays_open(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    file = os.open(tmp_path / "f", os.O_RDONLY)
    with pytest.raises(BadPacket):
        pouring.check([file])
    with pytest.raises(OSError, match="descriptor"):
        os.fstat(file)
    with pytest.raises(BadPacket):
        pouring.check([])


@pytest.mark.parametrize("word", [REFUSAL, wire.DATA, ANSWER])
def test_what_comes_along_with_anything_but_a_pipes_answer_is_closed(tmp_path: Path, word: bytes) -> None:
    before, server = descriptors(), socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.bind(str(tmp_path / "door"))
    server.listen(1)

    def answer() -> None:
        connection, _ = server.accept()
        with connection, (tmp_path / "f").open("wb") as file:
            channel = Channel(connection, patience=5)
            channel.expect(TICKET)
            channel.send(ANSWER, b"{}")
            channel.expect(QUESTION)
            channel.send(word, b"{}" if word != wire.DATA else bytes(PIECE + 100), [file.fileno()])

    beside = threading.Thread(target=answer)
    beside.start()
    with server, Door(tmp_path / "door", "a ticket") as door, pytest.raises(DoorDown):
        door.read("f")
    beside.join()
    assert descriptors() == before


def poured(tmp_path: Path, *, limit: int) -> tuple[bytes, list[object]]:
    """What comes out at the portal's end, and what the child's end gave or raised."""
    (tmp_path / "f").write_bytes(DATA)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ended: list[object] = []

    def give() -> None:
        file = os.open(tmp_path / "f", os.O_RDONLY)
        try:
            ended.append(pouring.give(Channel(theirs, patience=5), b"{}", file, 0, limit))
        except (Refused, Gone) as error:
            ended.append(str(error))
        finally:
            os.close(file)

    with ours, theirs:
        child = threading.Thread(target=give)
        child.start()
        channel = Channel(ours, patience=5)
        with pouring.check(channel.receive_with()[2]) as pipe:
            found = b"".join(pouring.take(pipe, 5))
        channel.send(END)
        child.join()
    return found, ended


def failing(number: int) -> object:
    """As os.splice where the kernel says this."""

    def splice(*_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number))

    return splice


def test_a_file_system_that_lends_no_pages_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "splice", failing(errno.EINVAL))
    assert poured(tmp_path, limit=len(DATA)) == (DATA, [len(DATA)])


def test_a_disk_that_fails_under_way_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "splice", failing(errno.EIO))
    assert poured(tmp_path, limit=len(DATA)) == (b"", ["failed"])


def test_a_slow_reader_takes_little_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").write_bytes(DATA)
    for swift, largest in ((60.0, pouring.PIPE), (0.0, pouring.FEWEST)):
        monkeypatch.setattr(pouring, "SWIFT", swift)
        with (tmp_path / "f").open("rb", buffering=0) as file:
            sizes = [len(piece) for piece in pouring.take(file, 1)]
        assert (sizes[0], max(sizes), sum(sizes)) == (pouring.FEWEST, largest, len(DATA))
