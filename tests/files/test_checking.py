"""The end of an upload at the door: read as long as it takes, named once, and well when it is asked for again."""

from __future__ import annotations

import hashlib
import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from files import life, uploading
from files.answers import Refused
from files.beneath import Root
from files.client import Door, DoorDown
from files.names import PART
from files.wire import Channel
from tests.files.door import BETO, Place, exhaust, finish, own
from tests.files.test_door import refused
from tests.logs.house import wait_until

ID, DATA = "ab" * 16, os.urandom(300_000)
GIB = 1 << 30


def sent(place: Place, size: int) -> Path:
    """An upload of which all is there: zeros, of which the disk keeps none."""
    with place.door() as door:
        door.begin("big", ID, 0)  # so much room need not be there
    os.truncate(place.project / (PART + ID), size)
    return place.project / (PART + ID)


def children(place: Place) -> list[int]:
    """The processes at work for somebody."""
    pid = place.process.pid
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_check_may_take_longer_than_silence_is_borne(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Patience of a quarter second, and four times as long until the last byte is read."""
    patience = 0.25
    monkeypatch.setattr(life, "BEAT", patience / 10)

    def slow(*_: object) -> Iterator[bytes]:
        until = time.monotonic() + 4 * patience
        while time.monotonic() < until:
            yield b"x" * 1000

    monkeypatch.setattr(uploading, "pieces", slow)
    (tmp_path / (PART + ID)).write_bytes(b"abc")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    asked = {"path": "f", "id": ID, "size": 3, "digest": "", "overwrite": False}
    channel, root = Channel(theirs, patience=5), Root(str(tmp_path))
    acting = threading.Thread(target=uploading.check, args=(channel, root, os.getuid(), asked))
    door = Door.__new__(Door)
    door._channel = Channel(ours, patience=patience)
    acting.start()
    steps = door.check("f", ID, 3)
    told = [next(steps), next(steps), next(steps)]
    assert exhaust(steps).digest and told == sorted(told) and told[0] == 0
    acting.join()
    ours.close()
    theirs.close()


def test_who_hangs_up_ends_the_check_and_nothing_gets_a_name(place: Place) -> None:
    part = sent(place, 16 * GIB)
    with place.door() as door:
        assert next(door.check("big", ID, 16 * GIB)) == 0
    wait_until(lambda: not children(place))
    assert place.names() == [part.name]
    with place.door() as door:
        assert door.begin("big", ID, 16 * GIB) == 16 * GIB  # nobody holds it any more


def test_a_door_killed_in_the_middle_is_asked_again(place: Place) -> None:
    sent(place, GIB)
    with place.door() as door:
        steps = door.check("big", ID, GIB)
        next(steps)
        for child in children(place):
            os.kill(child, signal.SIGKILL)
        with pytest.raises(DoorDown):
            exhaust(steps)
    wait_until(lambda: not children(place))
    with place.door() as door:
        entry, digest, replaced = finish(door, "big", ID, GIB)
    assert (entry.size, digest, replaced) == (GIB, hashlib.sha256(bytes(GIB)).hexdigest(), False)
    assert place.names() == ["big"]


def test_a_name_whose_answer_was_lost_is_asked_for_again(place: Place) -> None:
    with place.door() as door:
        door.begin("f", ID, len(DATA))
        door.piece("f", ID, 0, len(DATA), [DATA])
        checked = exhaust(door.check("f", ID, len(DATA)))
        first = door.finish("f", ID, checked.stamp)
        assert (first[1], door.finish("f", ID, checked.stamp)) == (False, (first[0], None))
        os.utime(place.project / "f")  # somebody went on with it
        assert refused(door.finish, "f", ID, checked.stamp) == "missing"


def test_what_was_written_after_the_check_gets_no_name(place: Place) -> None:
    with place.door() as door:
        door.begin("f", ID, 3)
        door.piece("f", ID, 0, 3, [b"abc"])
        stamp = exhaust(door.check("f", ID, 3)).stamp
        (place.project / (PART + ID)).write_bytes(b"xyz")
        assert refused(door.finish, "f", ID, stamp) == "changed"
        place.write("f", b"here first")
        assert refused(finish, door, "f", ID, 3) == "exists"
    assert place.names() == [PART + ID, "f"]


def test_nobody_names_the_upload_of_somebody_else(place: Place) -> None:
    place.project.chmod(0o2777)
    with place.door() as door:
        door.begin("f", ID, 3)
        door.piece("f", ID, 0, 3, [b"abc"])
        stamp = exhaust(door.check("f", ID, 3)).stamp
    with place.door(BETO) as other:
        assert refused(lambda: exhaust(other.check("f", ID, 3))) == "denied"
        assert refused(other.finish, "f", ID, stamp) == "denied"
    own(place.project / (PART + ID), BETO, 0o666)
    with place.door() as door:
        assert refused(lambda: exhaust(door.check("f", ID, 3))) == "changed"


def test_more_bytes_may_cost_more_of_the_cpu() -> None:
    """In a process of its own: what is raised here stays raised."""
    answer, say = os.pipe()
    if os.fork() == 0:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (900, 5000))
            for size in (100 * uploading.SLOWEST, 1 << 50):
                uploading._allow(size)
                os.write(say, repr(resource.getrlimit(resource.RLIMIT_CPU)).encode())
        finally:
            os._exit(0)
    os.wait()
    assert os.read(answer, 1000) == b"(1000, 5000)(5000, 5000)"
    os.close(say)
    os.close(answer)


@pytest.mark.parametrize("stamp", ["", "x", "1" * 101, "1/2"])
def test_a_stamp_is_one_of_ours(place: Place, stamp: str) -> None:
    with place.door() as door, pytest.raises(Refused) as error:
        door.finish("f", ID, stamp)
    assert error.value.answer == "bad-request"
