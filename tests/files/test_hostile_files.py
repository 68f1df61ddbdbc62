"""What a hostile person can lay into a shared folder, and a hostile portal can ask of the door, with two real uids."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from files import changing, uploading, wire
from files.answers import Refused
from files.beneath import Root
from files.client import Entry
from files.life import Life
from files.names import PART
from logs.owner import become
from tests.files.door import ANA, BETO, STRANGER, Place, finish, own, running
from tests.files.test_door import refused
from tests.logs.house import as_uid, wait_until

TRIES = 100_000
SECRET = b"another tenant's secret"
ODD = [
    "line\nbreak",
    "\x1b[31mred",
    "\u202etxt.exe",
    "not-utf8-\udcff",
    "quote\"'<b>",
    "-rf",
    " space ",
    "\u0130\u0307",
]


def read(place: Place, path: str, uid: int = ANA) -> bytes:
    """All bytes of a file."""
    with place.door(uid) as door:
        return b"".join(door.read(path)[1])


def test_no_link_leads_out_of_the_folder_or_anywhere_in_it(place: Place) -> None:
    place.write("own", b"my own")
    (place.project / "up").symlink_to("..")
    (place.project / "out").symlink_to(place.secret)
    (place.project / "shadow").symlink_to("/etc/shadow")
    (place.project / "inside").symlink_to("own")
    (place.project / "proc").symlink_to("/proc/self/root")
    for path in ("out", "shadow", "inside", "up", "up/other/secret", "proc/etc/passwd"):
        assert refused(read, place, path) in ("not-regular", "not-folder"), path
    with place.door() as door:
        assert {one.kind for one in door.folder("").entries if one.name != "own"} == {"l"}
        for path in ("up", "proc", "up/other"):
            assert refused(door.folder, path) in ("not-folder", "not-regular")
        for act, args in ((door.make, ["up/new"]), (door.begin, ["up/new", "0" * 32, 1]), (door.delete, ["up/other"]),
                          (door.rename, ["own", "up/own"]), (door.rename, ["up/other/secret", "mine"])):  # fmt: skip
            assert refused(act, *args) in ("not-folder", "not-regular", "denied"), args
        assert refused(door.begin, "out", "0" * 32, 1, overwrite=True) == "not-regular"
        door.delete("out")  # the link, not what it points to
    assert place.secret.read_bytes() == SECRET


@pytest.mark.parametrize(
    "path", ["..", "../other/secret", "/etc/passwd", "a/../../other/secret", ".", "a//b", "a/", "a\0b", "./a", "x" * 256,
             "/".join(["d"] * 70), "a/./b"],
)  # fmt: skip
def test_a_path_names_what_lies_beneath_in_one_way_only(place: Place, path: str) -> None:
    with place.door() as door:
        for act, args in ((door.read, [path]), (door.folder, [path]), (door.stat, [path]), (door.make, [path]), (door.tar, [path]),
                          (door.delete, [path]), (door.rename, [path, "x"]), (door.rename, ["x", path])):  # fmt: skip
            assert refused(act, *args) in ("bad-name", "missing"), (act, path)


def test_fifo_socket_and_device_are_never_opened(place: Place) -> None:
    os.mkfifo(place.project / "fifo")
    os.mknod(place.project / "zero", 0o20666, os.makedev(1, 5))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place.project / "sock"))
        for name in ("fifo", "zero", "sock"):
            own(place.project / name, ANA, 0o666)
            started = time.monotonic()
            assert refused(read, place, name) == "not-regular"
            assert time.monotonic() - started < 10
        with place.door() as door:
            assert [one.kind for one in door.folder("").entries] == ["o", "o", "o"]
            assert refused(door.begin, "fifo", "0" * 32, 1, overwrite=True) == "not-regular"


def test_somebody_elses_file_under_a_further_name_is_not_given_out(place: Place) -> None:
    os.link(place.secret, place.project / "hard")  # as with fs.protected_hardlinks off
    assert refused(read, place, "hard") == "linked"
    place.secret.chmod(0o644)
    try:
        assert refused(read, place, "hard") == "linked"
        with place.door() as door:
            assert SECRET not in b"".join(door.tar(""))
    finally:
        place.secret.chmod(0o600)
    own_one = place.write("a", b"mine")
    os.link(own_one, place.project / "b")
    assert read(place, "b") == b"mine"


def test_a_file_whose_owner_changed_follows_its_new_owner(place: Place) -> None:
    path = place.write("f", b"x", mode=0o600)
    assert read(place, "f") == b"x"
    own(path, BETO, 0o600)
    assert refused(read, place, "f") == "denied"


def test_a_file_that_changes_hands_while_it_is_read_ends_in_a_refusal(place: Place) -> None:
    path = place.write("f", b"x" * 3_000_000)
    with place.door() as door:
        _, pieces = door.read("f")
        next(pieces)
        own(path, BETO, 0o666)
        with pytest.raises(Refused) as error:
            list(pieces)
    assert error.value.answer == "changed"


def test_a_sparse_giant_is_read_by_ranges_and_never_held(place: Place) -> None:
    path = place.write("giant", b"head")
    os.truncate(path, 1 << 40)
    with place.door() as door:
        entry, pieces = door.read("giant", offset=(1 << 40) - 4)
        assert (entry.size, b"".join(pieces)) == (1 << 40, bytes(4))
        _, pieces = door.read("giant")
        for _ in range(2000):
            next(pieces)
        assert _memory(place) < 60_000


def _memory(place: Place) -> int:
    """Resident kilobytes of the largest process of the door."""
    found = [0]
    for path in Path("/proc").glob("[0-9]*/status"):
        try:
            text = path.read_text()
        except OSError:
            continue
        if f"PPid:\t{place.process.pid}\n" in text or f"\nPid:\t{place.process.pid}\n" in text:
            found.append(int(text.split("VmRSS:")[1].split()[0]))
    return max(found)


@pytest.mark.parametrize("name", ODD)
def test_an_odd_name_is_listed_read_and_taken_away_and_shown_without_harm(place: Place, name: str) -> None:
    place.write(name, b"odd")
    with place.door() as door:
        (entry,) = door.folder("").entries
        assert entry.name == name
        assert b"".join(door.read(name)[1]) == b"odd"
        assert not any(ord(sign) < 32 or sign in "\u202e\udcff" for sign in entry.shown)
        door.rename(name, "plain")
        door.delete("plain")
    assert place.names() == []


@pytest.mark.parametrize(
    "name", ["a\nb", "\x1bc", "\u202etxt", "bad-\udcff", " a", "a ", "zero\u200bwidth", PART + "x", "\u2028"]
)
def test_nobody_makes_such_a_name(place: Place, name: str) -> None:
    place.write("f", b"x")
    with place.door() as door:
        assert refused(door.make, name) == "bad-name"
        assert refused(door.begin, name, "0" * 32, 1) == "bad-name"
        assert refused(door.rename, "f", name) == "bad-name"
    assert place.names() == ["f"]


def test_a_part_that_somebody_else_laid_there_is_not_written_to(place: Place) -> None:
    upload = "aa" * 16
    place.write(PART + upload, b"", uid=STRANGER, mode=0o666)
    with place.door() as door:
        assert refused(door.begin, "f", upload, 3) == "changed"
        assert refused(door.piece, "f", upload, 0, 3, [b"abc"]) == "changed"
    (place.project / (PART + "bb" * 16)).symlink_to(place.secret)
    with place.door() as door:
        assert refused(door.begin, "f", "bb" * 16, 3) == "not-regular"
    assert place.secret.read_bytes() == SECRET


def test_two_who_write_one_upload_do_not_mix(place: Place) -> None:
    upload = "cc" * 16
    with place.door() as one, place.door() as two:
        one.begin("f", upload, 6)
        one._question("piece", path="f", id=upload, offset=0, size=6, digest="")
        one._channel.send(b"d", b"abc")
        wait_until(lambda: (place.project / (PART + upload)).stat().st_size == 3)
        assert refused(two.piece, "f", upload, 3, 3, [b"xyz"]) == "busy"
        one._channel.send(b"d", b"def")
        one._channel.send(b"e")
        assert one._answer()["offset"] == 6
        finish(one, "f", upload, 6)
    assert (place.project / "f").read_bytes() == b"abcdef"


@pytest.fixture
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A project's folder on a file system of 24 MB."""
    folder = Path(f"/tmp/bancada-small-{os.getpid()}")
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=711", "none", folder], check=False).returncode:
        folder.rmdir()
        pytest.skip("needs the right to mount a small file system")
    try:
        with running(project=folder / "project") as place:
            yield place
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        folder.rmdir()


def test_a_disk_that_fills_up_under_way_leaves_nothing_half_written(small: Place) -> None:
    upload, chunk = "dd" * 16, bytes(1 << 20)
    with small.door() as door:
        with pytest.raises(Refused) as error:
            door.begin("big", upload, 200 << 20)
        assert (error.value.answer, error.value.facts["needed"]) == ("full", 200 << 20)
        assert small.names() == []
        assert door.begin("big", upload, 7 << 20) == 0
        small.write("filler", bytes(20 << 20))
        assert refused(door.piece, "big", upload, 0, 7 << 20, [chunk] * 7) == "full"
        assert small.names() == ["filler"]
        assert refused(finish, door, "big", upload, 7 << 20) == "missing"
        assert b"".join(door.read("filler", limit=3)[1]) == bytes(3)  # the connection goes on


@pytest.mark.parametrize("cutting", [True, False])
def test_a_quota_used_up_under_way_leaves_no_part_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cutting: bool
) -> None:
    """As btrfs refuses it: the write, and cutting back what was written, too."""
    part, (ours, theirs) = tmp_path / (PART + "ff" * 16), socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    part.write_bytes(b"abc")
    channel, sender = wire.Channel(ours, patience=5), wire.Channel(theirs, patience=5)

    def refuse(*_: object) -> int:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(uploading.os, "pwrite", refuse)
    if cutting:
        monkeypatch.setattr(uploading.os, "ftruncate", refuse)
    sender.send(wire.DATA, b"def")
    sender.send(wire.END)
    asked = {"path": "f", "id": "ff" * 16, "offset": 3, "size": 3, "digest": ""}
    with pytest.raises(Refused) as error:
        uploading.take_piece(channel, Root(str(tmp_path)), os.getuid(), asked)
    assert error.value.answer == "quota" and list(tmp_path.iterdir()) == []
    ours.close()
    theirs.close()


def test_a_deletion_goes_by_descriptors(place: Place) -> None:
    deep = place.project / "deep"
    with place.door() as door:
        for _ in range(4):
            door.make("/".join(["deep"] * 60), parents=True)
        (deep / "out").symlink_to(place.secret.parent)
        door.delete("deep", whole=True)
    assert place.names() == []
    assert place.secret.read_bytes() == SECRET


@pytest.mark.parametrize("gone", [False, True], ids=["bounds", "nobody waits"])
def test_a_deletion_stops_at_its_bounds_and_where_nobody_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: bool
) -> None:
    """What is left is there, and whoever hears of a failure hears that something was done."""
    (tmp_path / "full").mkdir()
    for number in range(10):
        (tmp_path / "full" / str(number)).touch()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    life, above = Life(wire.Channel(ours, patience=5)), os.open(tmp_path, os.O_RDONLY)
    monkeypatch.setattr(changing, "MOST_DELETED", 3)
    if gone:
        theirs.close()
    with pytest.raises(wire.Gone if gone else Refused) as error:
        changing.Deletion(tmp_path.stat().st_dev, life).folder(above, "full")
    assert len(list((tmp_path / "full").iterdir())) == (9 if gone else 7)
    if not gone:
        assert (error.value.answer, error.value.facts) == ("too-many", {"deleted": 3})
        assert wire.unpack(theirs.recv(1000)[1:]) == {"deleted": 1}
    for one in (ours, theirs):
        one.close()
    os.close(above)


SWAP = """
import os, sys
folder, secret = sys.argv[1:]
os.chdir(folder)
while not os.path.exists("stop"):
    os.symlink(secret, "next"); os.rename("next", "raced")
    os.mkfifo("next"); os.rename("next", "raced")
    os.rename("inner", "aside"); os.symlink(os.path.dirname(secret), "inner")
    with open("next", "w") as file: file.write("good")
    os.rename("next", "raced")
    os.unlink("inner"); os.rename("aside", "inner")
"""


@pytest.fixture
def swapping(place: Place) -> Iterator[Place]:
    """The person's own process swaps file, link and FIFO, and the folder above for a link, as fast as it can."""
    place.secret.chmod(0o644)  # even what the person could read elsewhere must not come out of this folder
    (place.project / "inner").mkdir()
    own(place.project / "inner", ANA, 0o2770)
    place.write("inner/secret", b"good")
    swapper = subprocess.Popen(
        as_uid(ANA, [sys.executable, "-c", SWAP, str(place.project), str(place.secret)]), cwd="/"
    )
    wait_until(lambda: os.path.lexists(place.project / "raced"))
    yield place
    (place.project / "stop").touch()
    swapper.wait(10)
    place.secret.chmod(0o600)


def race(attempt: object, tries: int) -> Counter[str]:
    """At least so many attempts, and on (20 s at most) until both kinds of outcome were seen."""
    seen: Counter[str] = Counter()
    give_up = time.monotonic() + 20
    while seen.total() < tries or (len(seen) < 3 and time.monotonic() < give_up):
        seen[attempt(seen.total())] += 1
    return seen


@pytest.mark.parametrize("kernel", [True, False], ids=["openat2", "walk"])
def test_what_is_swapped_in_a_loop_never_leads_anywhere_else(swapping: Place, kernel: bool) -> None:
    """TRIES at the very code that runs in the door's child, as the person; also without openat2."""
    back, front = os.pipe()
    if os.fork() == 0:
        try:
            become(ANA, "ana-t")
            root = Root(str(swapping.project), kernel=kernel)
            os.write(front, json.dumps(race(lambda turn: _try(root, turn), TRIES)).encode())
        finally:
            os._exit(0)
    os.close(front)
    os.wait()
    seen = Counter(json.loads(os.read(back, 65536)))
    os.close(back)
    assert set(seen) <= {"good", "", "not-regular", "not-folder", "missing"}, seen
    assert seen["good"] and len(seen) >= 3, seen


def _try(root: Root, turn: int) -> str:
    try:
        with root.file(("raced", "inner/secret")[turn % 2], ANA) as (file, _):
            return os.read(file, 100).decode()
    except Refused as refused_:
        return refused_.answer


def test_nor_does_it_through_the_running_door(swapping: Place) -> None:
    def attempt(turn: int) -> str:
        try:
            return read(swapping, ("raced", "inner/secret")[turn % 2]).decode()
        except Refused as refused_:
            return refused_.answer

    seen = race(attempt, TRIES // 1000)
    assert set(seen) <= {"good", "", "not-regular", "not-folder", "missing", "changed", "busy"}, seen


def test_a_person_uses_up_their_own_connections_only(place: Place) -> None:
    held = []
    with pytest.raises(Refused) as error:
        for _ in range(20):
            held.append(place.door())
    assert (error.value.answer, len(held)) == ("busy", 12)
    place.project.chmod(0o2775)
    with place.door(BETO) as other:
        assert isinstance(other.stat(""), Entry)
    for one in held:
        one.close()
    wait_until(lambda: not refused_is_busy(place))


def refused_is_busy(place: Place) -> bool:
    try:
        place.door().close()
    except Refused:
        return True
    return False


def test_what_is_left_over_is_gone(place: Place) -> None:
    shutil.rmtree(place.project)
    assert refused(place.door) == "missing"
    place.project.mkdir()
