"""What the door does for a person in their project's folder: list, read, tar, upload, make, rename, delete."""

from __future__ import annotations

import hashlib
import io
import os
import resource
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from files.answers import Refused
from files.client import Door, DoorDown
from files.names import PART
from tests.files.door import ANA, BETO, GROUP, STRANGER, Place, finish, own, running
from tests.logs.house import ROOT, as_uid, wait_until

DATA = os.urandom(300_000)


def refused(act: object, *args: object, **named: object) -> str:
    """The word a call is refused with."""
    with pytest.raises(Refused) as error:
        act(*args, **named)
    return error.value.answer


def test_a_folder_is_listed_in_pages_folders_first(place: Place) -> None:
    (place.project / "zeta").mkdir()
    for number in range(5):
        place.write(f"f{number}", b"x" * number)
    with place.door() as door:
        listed = door.folder("", limit=3)
        assert [one.name for one in listed.entries] == ["zeta", "f0", "f1"]
        assert (listed.total, listed.cut, listed.may_write) == (6, False, True)
        assert [one.name for one in door.folder("", offset=3).entries] == ["f2", "f3", "f4"]
        assert door.folder("", order="-size", limit=2).entries[1].name == "f4"
        assert door.stat("f4").size == 4


def test_ten_thousand_entries_are_listed_at_once(place: Place) -> None:
    for number in range(10_000):
        (place.project / f"sample-{number:05d}.png").touch()
    with place.door() as door:
        listed = door.folder("", limit=10_000)
    assert len(listed.entries) == listed.total == 10_000


def test_a_file_and_a_part_of_it_come_whole(place: Place) -> None:
    place.write("data.bin", DATA)
    with place.door() as door:
        entry, pieces = door.read("data.bin")
        assert (entry.size, b"".join(pieces)) == (len(DATA), DATA)
        assert b"".join(door.read("data.bin", offset=100, limit=50)[1]) == DATA[100:150]
        assert b"".join(door.read("data.bin", offset=len(DATA) + 9, limit=50)[1]) == b""


def test_a_folder_comes_as_tar_without_links_and_says_what_it_left_out(place: Place) -> None:
    (place.project / "run").mkdir()
    own(place.project / "run", ANA, 0o2770)
    place.write("run/a.txt", b"alpha")
    place.write("run/caf\u00e9 \udcff.bin", DATA)
    (place.project / "run" / "link").symlink_to(place.secret)
    os.mkfifo(place.project / "run" / "fifo")
    with place.door() as door:
        packed = io.BytesIO(b"".join(door.tar("run")))
    with tarfile.open(fileobj=packed) as tar:
        names = tar.getnames()
        assert names == ["run/a.txt", "run/caf\u00e9 \udcff.bin", "run/bancada-left-out.txt"]
        assert tar.extractfile("run/a.txt").read() == b"alpha"
        assert tar.extractfile(names[1]).read() == DATA
        said = tar.extractfile(names[2]).read().decode()
    assert "run/link: not a regular file" in said
    assert "run/fifo" in said


def test_an_upload_appears_whole_with_the_projects_group(place: Place) -> None:
    digest = place.upload("m\u00f3dulo.py", DATA)
    path = place.project / "m\u00f3dulo.py"
    status = path.stat()
    assert digest == hashlib.sha256(DATA).hexdigest()
    assert (path.read_bytes(), status.st_uid, status.st_gid, status.st_mode & 0o777) == (DATA, ANA, GROUP, 0o660)
    assert place.names() == ["m\u00f3dulo.py"]


def test_outside_a_shared_folder_it_is_the_persons_alone(place: Place) -> None:
    place.project.chmod(0o700)
    place.upload("own", b"x")
    assert (place.project / "own").stat().st_mode & 0o777 == 0o600


def test_a_broken_upload_goes_on_where_it_stood(place: Place) -> None:
    upload, first = "ab" * 16, DATA[:100_000]
    with place.door() as door:
        door.begin("big", upload, len(DATA))
        good = hashlib.sha256(first).hexdigest()
        assert door.piece("big", upload, 0, len(first), [first], digest=good) == 100_000
        assert refused(door.piece, "big", upload, 5, 3, [b"abc"]) == "offset"
        assert refused(door.piece, "big", upload, 100_000, 3, [b"abc"], digest="0" * 64) == "digest"
        assert refused(finish, door, "big", upload, len(DATA)) == "offset"
    assert place.names() == [PART + upload]
    with place.door() as door:
        assert not door.folder("").entries
        at = door.begin("big", upload, len(DATA))
        door.piece("big", upload, at, len(DATA) - at, [DATA[at:]])
        entry, digest, replaced = finish(door, "big", upload, len(DATA), digest=hashlib.sha256(DATA).hexdigest())
    assert (entry.size, replaced, digest) == (len(DATA), False, hashlib.sha256(DATA).hexdigest())
    assert (place.project / "big").read_bytes() == DATA


def test_a_piece_that_breaks_off_leaves_nothing_of_itself(place: Place) -> None:
    upload = "cd" * 16
    door = place.door()
    door.begin("big", upload, len(DATA))
    door._question("piece", path="big", id=upload, offset=0, size=len(DATA), digest="")
    door._channel.send(b"d", DATA[:60_000])
    door.close()
    part = place.project / (PART + upload)
    wait_until(lambda: part.stat().st_size == 0)
    with place.door() as again:
        assert again.begin("big", upload, len(DATA)) == 0
        again.abandon("big", upload)
    assert place.names() == []


def test_overwriting_must_be_asked_for(place: Place) -> None:
    place.write("train.py", b"old")
    with place.door() as door:
        assert refused(door.begin, "train.py", "ef" * 16, 3) == "exists"
        upload = "ef" * 16
        door.begin("train.py", upload, 3, overwrite=True)
        door.piece("train.py", upload, 0, 3, [b"new"])
        assert refused(finish, door, "train.py", upload, 3) == "exists"
        assert (place.project / "train.py").read_bytes() == b"old"
        assert finish(door, "train.py", upload, 3, overwrite=True)[2] is True
    assert (place.project / "train.py").read_bytes() == b"new"


def test_folders_are_made_renamed_and_deleted(place: Place) -> None:
    with place.door() as door:
        assert door.make("a/b/c", parents=True) == 3
        assert door.make("a/b/c", parents=True) == 0
        assert refused(door.make, "a") == "exists"
        assert (place.project / "a/b").stat().st_mode & 0o7777 == 0o2770
        place.write("a/b/f", b"x", uid=ANA)
        assert door.rename("a/b/f", "a/g").name == "g"
        place.write("taken", b"keep")
        assert refused(door.rename, "a/g", "taken") == "exists"
        assert refused(door.rename, "a", "a/b/inside") == "bad-name"
        assert not (place.project / "a/b/inside").exists()
        assert refused(door.delete, "a") == "not-empty"
        assert door.delete("a/g")["kind"] == "f"
        door.delete("a", whole=True)
        assert refused(door.delete, "") == "denied"
    assert place.names() == ["taken"]


def test_what_is_new_is_found_newest_first_and_counted(place: Place) -> None:
    for age, name in enumerate(("new", "middle", "old")):
        path = place.write(name, b"x" * 10)
        os.utime(path, (time.time() - age * 1000,) * 2)
    place.write("betos", b"yy", uid=BETO, mode=0o666)
    with place.door() as door:
        found = door.walk("", since=int(time.time()) - 1500, uid=ANA, limit=1)
        assert ([one.name for one in found.entries], found.count, found.bytes) == (["new"], 2, 20)
        assert door.walk("").count == 4
        assert door.walk("", until=int(time.time()) - 500).count == 2
        assert [one.name for one in door.walk("", endings="dle s").entries] == ["betos", "middle"]
        assert door.room().total > door.room().free > 0


def test_reading_gives_no_right_to_change(place: Place) -> None:
    place.write("f", b"x")
    with place.door(rights="r") as door:
        assert b"".join(door.read("f")[1]) == b"x"
        for act, args in ((door.make, ["n"]), (door.delete, ["f"]), (door.rename, ["f", "g"]), (door.begin, ["n", "0" * 32, 1])):  # fmt: skip
            assert refused(act, *args) == "read-only"
    assert place.names() == ["f"]


def test_another_tenant_and_a_project_mate_may_what_their_uid_may(place: Place) -> None:
    place.write("shared", b"for all", mode=0o664)
    place.write("private", b"mine", mode=0o600)
    assert refused(place.door, STRANGER, root=str(place.project / "shared")) == "denied"
    assert refused(place.door, ANA, root=str(place.project / "shared")) == "not-folder"
    with place.door(STRANGER) as door:  # a ticket of somebody who is in no group of the folder
        assert refused(door.folder, "") == "denied"
        assert refused(door.read, "shared") == "denied"
        assert refused(door.begin, "x", "0" * 32, 1) == "denied"
    place.project.chmod(0o2775)
    with place.door(BETO) as door:
        assert b"".join(door.read("shared")[1]) == b"for all"
        assert refused(door.read, "private") == "denied"
        assert not door.folder("").may_write


def test_a_ticket_that_does_not_count_opens_nothing(place: Place) -> None:
    good = place.ticket()
    for text in (good[:-1], good.replace("bft1", "blt1"), place.ticket(not_after=int(time.time()) - 1), "x" * 20_000):
        assert refused(Door, place.socket, text) == "bad-ticket"
    assert refused(Door, place.socket, place.ticket(not_after=int(time.time()) + 90_000)) == "bad-ticket"


def test_a_connection_ends_to_count_when_its_ticket_does(place: Place) -> None:
    until = int(time.time()) + 3
    with place.door(not_after=until) as door:
        door.folder("")
        time.sleep(until + 1.1 - time.time())
        assert refused(door.folder, "") == "bad-ticket"


def test_only_the_uids_named_are_answered() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: the door takes on other people's uids")
    with running(allow=61998) as other:
        with pytest.raises(DoorDown):
            other.door()
        other.socket.chmod(0o666)
        ask = f"from files.client import Door; Door({str(other.socket)!r}, {other.ticket()!r}).folder('')"
        assert subprocess.run(as_uid(61998, [sys.executable, "-c", ask]), cwd=ROOT).returncode == 0


def test_an_opening_costs_one_fork_whatever_is_asked_on_it_and_a_refused_one_none(place: Place) -> None:
    place.project.chmod(0o2777)
    place.write("f", b"x", mode=0o666)
    before = place.forks
    for uid in (ANA, BETO) * 5:
        with place.door(uid) as door:
            for _ in range(20):
                door.folder("")
                b"".join(door.read("f")[1])
    assert place.forks - before == 10
    assert refused(Door, place.socket, place.ticket(not_after=int(time.time()) - 1)) == "bad-ticket"
    assert place.forks - before == 10


def test_a_door_that_runs_out_of_descriptors_stays_open(place: Place) -> None:
    """As many as it holds, and none for the child that is to be watched: that one is refused, and the next let in."""
    pid = place.process.pid
    held = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    with place.door() as door:
        door.folder("")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (held + 2, before[1]))  # its own end, and the connection
        with pytest.raises((Refused, DoorDown)):
            place.door()
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        door.folder("")
    wait_until(lambda: not refused_for_now(place))


def refused_for_now(place: Place) -> bool:
    """Whether nobody is let in."""
    try:
        place.door().close()
    except (Refused, DoorDown):
        return True
    return False


def test_a_child_keeps_nothing_of_root(place: Place) -> None:
    with place.door() as door:
        door.folder("")
        found = [path for path in Path("/proc").glob("[0-9]*/status") if f"PPid:\t{place.process.pid}\n" in _text(path)]
        (status,) = [text for text in map(_text, found) if f"\t{ANA}\t{ANA}\t{ANA}\t{ANA}" in text]
        assert "NoNewPrivs:\t1" in status
        assert all(f"Cap{kind}:\t0000000000000000" in status for kind in ("Prm", "Eff", "Inh"))
    wait_until(lambda: not any(f"PPid:\t{place.process.pid}\n" in _text(path) for path in found))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
