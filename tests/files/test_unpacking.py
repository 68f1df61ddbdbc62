"""Archives as people and as attackers make them, unpacked by the running door with real uids."""

from __future__ import annotations

import hashlib
import io
import os
import random
import stat
import struct
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from files import unpacking, uploading
from files.answers import Refused
from files.names import PART
from tests.files.door import ANA, BETO, GROUP, Place, own
from tests.files.test_door import refused
from tests.logs.house import wait_until

Fill = Callable[[zipfile.ZipFile], object]


def packed(fill: Fill | dict[str, bytes]) -> bytes:
    """The bytes of an archive."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        if isinstance(fill, dict):
            for name, data in fill.items():
                archive.writestr(name, data)
        else:
            fill(archive)
    return raw.getvalue()


def one(name: str, data: bytes = b"x", mode: int = 0, compress: int = zipfile.ZIP_DEFLATED) -> Fill:
    """An archive with one entry."""

    def fill(archive: zipfile.ZipFile) -> None:
        info = zipfile.ZipInfo(name)
        info.external_attr, info.compress_type = mode << 16, compress
        archive.writestr(info, data)

    return fill


def unpack(place: Place, data: bytes, to: str = "new", uid: int = ANA) -> dict[str, object]:
    """Lay it down and have it unpacked."""
    place.write("a.zip", data)
    with place.door(uid) as door:
        return door.unpack("a.zip", to)


def why(place: Place, data: bytes) -> tuple[str, dict[str, object]]:
    """The word it is refused with, and what belongs to it; nothing is left of it."""
    with pytest.raises(Refused) as error:
        unpack(place, data)
    assert place.names() == ["a.zip"], "something half-written"
    return error.value.answer, error.value.facts


def test_an_archive_becomes_a_new_folder_whole_with_the_projects_group(place: Place) -> None:
    def fill(archive: zipfile.ZipFile) -> None:
        archive.writestr("src/train.py", "print(1)\n")
        one("src/run.sh", b"#!/bin/sh\n", mode=stat.S_IFREG | 0o755)(archive)
        one("data/", b"", mode=stat.S_IFDIR | 0o777)(archive)
        archive.writestr("m\u00f3dulo \U0001f600.txt", b"y" * 500_000)
        archive.writestr("__MACOSX/._train.py", b"not wanted")

    data = packed(fill)
    told = unpack(place, data)
    assert (told["files"], told["folders"], told["bytes"]) == (3, 2, 500_019)
    assert (told["digest"], told["size"], told["entry"].name) == (hashlib.sha256(data).hexdigest(), len(data), "new")
    found = {
        path.relative_to(place.project / "new").as_posix(): path.stat() for path in (place.project / "new").rglob("*")
    }
    assert set(found) == {"src", "src/train.py", "src/run.sh", "data", "m\u00f3dulo \U0001f600.txt"}
    assert {(status.st_uid, status.st_gid) for status in found.values()} == {(ANA, GROUP)}
    modes = {name: status.st_mode & 0o7777 for name, status in found.items()}
    assert (modes["src"], modes["src/run.sh"], modes["src/train.py"]) == (0o2770, 0o770, 0o660)
    assert (place.project / "new").stat().st_mode & 0o7777 == 0o2770


def test_outside_a_shared_folder_it_is_the_persons_alone(place: Place) -> None:
    place.project.chmod(0o700)
    unpack(place, packed({"d/f": b"x"}))
    assert [(place.project / name).stat().st_mode & 0o7777 for name in ("new", "new/d", "new/d/f")] == [
        0o700,
        0o700,
        0o600,
    ]


def test_names_in_utf8_that_say_so_or_not_are_read(place: Place) -> None:
    data = packed({"XXX.txt": b"x"}).replace(b"XXX.txt", "\u00e3b.txt".encode())  # no flag says that it is UTF-8
    unpack(place, data)
    assert [path.name for path in (place.project / "new").iterdir()] == ["\u00e3b.txt"]


@pytest.mark.parametrize(
    "name",
    ["../out", "a/../../out", "/etc/passwd", "a//b", "./a", "..", "a/.", "line\nbreak", "\x1b[31m", "\u202etxt.exe", "\u2066a",
     "x" * 256, "/".join(["d"] * 70), " space ", "a\\b", "C:\\x", f"{PART}x", "nul\0.txt", ""],
)  # fmt: skip
def test_a_name_nobody_should_make_is_told_and_nothing_made(place: Place, name: str) -> None:
    fill = packed(lambda archive: [one("good.txt")(archive), one("P" * max(1, len(name.encode())))(archive)])
    raw = name.encode()
    data = fill.replace(b"P" * len(raw), raw) if raw else packed(one(""))
    if not name.isascii():  # the flag that says UTF-8, in both headers
        data = packed(lambda archive: [one("good.txt")(archive), one(name)(archive)])
    answer, facts = why(place, data)
    assert answer == "bad-entry"
    assert all(sign.isprintable() for sign in str(facts["entry"]))


def test_bytes_that_are_no_text_are_told(place: Place) -> None:
    assert why(place, packed({"XXX.txt": b"x"}).replace(b"XXX.txt", b"\xe3\xffb.txt"))[0] == "bad-entry"
    marked = packed({"\u00e9\u00e9.txt": b"x"}).replace("\u00e9\u00e9".encode(), b"\xff\xfe\xff\xfe")
    assert why(place, marked)[0] == "bad-archive"


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK])
def test_no_link_fifo_or_device_is_made(place: Place, kind: int) -> None:
    data = packed(one("out", str(place.secret).encode(), mode=kind | 0o777))
    assert why(place, data) == ("bad-entry", {"entry": "out"})


def test_a_link_that_is_written_through_by_a_later_entry_is_none(place: Place) -> None:
    def fill(archive: zipfile.ZipFile) -> None:
        one("dir", str(place.secret.parent).encode(), mode=stat.S_IFLNK | 0o777)(archive)
        archive.writestr("dir/secret", b"overwritten")

    assert why(place, packed(fill))[0] == "bad-entry"
    assert place.secret.read_bytes() == b"another tenant's secret"


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("names", [("a", "a"), ("a", "a/b"), ("a/b", "a"), ("a/", "a"), ("a", "a/")])
def test_two_of_one_name_are_told(place: Place, names: tuple[str, str]) -> None:
    assert why(place, packed(lambda archive: [one(name)(archive) for name in names]))[0] == "bad-entry"


def test_encrypted_and_other_methods_are_told(place: Place) -> None:
    data = bytearray(packed({"f": b"x"}))
    for header, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(header) + at] |= 1
    assert why(place, bytes(data))[0] == "bad-entry"
    assert why(place, packed(one("f", b"x" * 99, compress=zipfile.ZIP_LZMA)))[0] == "bad-entry"


def test_a_bomb_of_zeros_is_refused_before_anything_is_made(place: Place) -> None:
    assert why(place, packed({"zeros": bytes(unpacking.SMALL + 1)}))[0] == "too-much"
    small = unpack(place, packed({"zeros": bytes(1_000_000)}))  # a thousand times as large, and small
    assert small["bytes"] == 1_000_000


def test_a_bomb_that_lies_about_its_size_makes_no_more_than_it_said(place: Place) -> None:
    data = bytearray(packed({"f": bytes(5_000_000)}))
    for header, at in ((b"PK\3\4", 22), (b"PK\1\2", 24)):
        struct.pack_into("<I", data, data.index(header) + at, 10)
    assert why(place, bytes(data))[0] == "bad-archive"


def test_entries_that_share_their_bytes_are_refused(place: Place) -> None:
    """As in the densest bombs: many entries of the list point at one and the same body."""
    raw = packed({"f0": os.urandom(20_000)})
    start = raw.index(b"PK\1\2")
    end = raw.index(b"PK\5\6")
    entries = b"".join(raw[start:end].replace(b"f0", f"f{n}".encode()) for n in range(5))
    tail = bytearray(raw[end:])
    struct.pack_into("<HHI", tail, 8, 5, 5, len(entries))
    assert why(place, raw[:start] + entries + bytes(tail))[0] == "bad-archive"


def test_too_many_entries_and_too_many_folders_are_refused(place: Place) -> None:
    assert why(place, packed({f"f{n}": b"" for n in range(unpacking.MOST_ENTRIES + 1)}))[0] == "too-much"
    deep = {"/".join([f"d{n}"] * 60) + "/f": b"" for n in range(unpacking.MOST_ENTRIES // 60 + 1)}
    assert why(place, packed(deep))[0] == "too-much"


def test_a_list_of_any_length_is_not_read(place: Place) -> None:
    raw = packed({"f": b"x"})
    with (place.project / "a.zip").open("wb") as file:  # the end says that the list is 100 MB long
        file.truncate(100_000_000)
        file.seek(100_000_000)
        tail = bytearray(raw[raw.index(b"PK\5\6") :])
        struct.pack_into("<II", tail, 12, 100_000_000, 0)
        file.write(tail)
    own(place.project / "a.zip", ANA, 0o660)
    with place.door() as door:
        assert refused(door.unpack, "a.zip", "new") == "too-much"


def test_what_is_no_archive_or_a_damaged_one_is_told(place: Place) -> None:
    good = packed({f"f{n}": os.urandom(100) for n in range(20)})
    body = bytearray(good)
    body[60] ^= 0xFF
    for data in (b"", b"#!/bin/bash\n", good[:-30], bytes(body)):
        assert why(place, data)[0] == "bad-archive"


def test_whatever_bytes_are_turned_over_it_is_whole_or_not_at_all(place: Place) -> None:
    dice = random.Random(7)
    good = packed({"a/b.txt": b"alpha" * 50, "c": os.urandom(200), "d/e/": b""})
    seen = set()
    for turn in range(150):
        body = bytearray(good)
        for _ in range(dice.choice((1, 2, 5))):
            body[dice.randrange(len(body))] = dice.randrange(256)
        (place.project / "a.zip").write_bytes(bytes(body))
        own(place.project / "a.zip", ANA, 0o660)
        with place.door() as door:
            try:
                door.unpack("a.zip", f"t{turn}")
                seen.add("done")
            except Refused as error:
                seen.add(error.answer)
                assert not (place.project / f"t{turn}").exists()
    assert seen <= {"done", "bad-archive", "bad-entry", "too-much"}, seen
    assert not [name for name in place.names() if name.startswith(PART)]


def test_it_goes_over_nothing_and_only_where_the_person_may(place: Place) -> None:
    data = packed({"f": b"x"})
    place.write("new", b"there")
    place.write("a.zip", data)
    with place.door() as door:
        assert refused(door.unpack, "a.zip", "new") == "exists"
        assert refused(door.unpack, "a.zip", "../new") == "bad-name"
        assert refused(door.unpack, "a.zip", "x\ny") == "bad-name"
        assert refused(door.unpack, "none.zip", "other") == "missing"
        (place.project / "link.zip").symlink_to(place.secret)
        assert refused(door.unpack, "link.zip", "other") == "not-regular"
    with place.door(rights="r") as door:
        assert refused(door.unpack, "a.zip", "other") == "read-only"
    place.project.chmod(0o2775)
    place.write("a.zip", data, mode=0o664)
    with place.door(BETO) as door:
        assert refused(door.unpack, "a.zip", "other") == "denied"
    assert place.names() == ["a.zip", "link.zip", "new"]


def test_who_hangs_up_in_the_midst_leaves_nothing(place: Place) -> None:
    place.write("a.zip", packed({f"d{n}/f": os.urandom(3_000_000) for n in range(30)}))
    door = place.door()
    door._question("unpack", path="a.zip", to="new")
    wait_until(lambda: any(name.startswith(PART) for name in place.names()) or "new" in place.names())
    door.close()
    wait_until(lambda: not any(name.startswith(PART) for name in place.names()))


def test_a_full_disk_keeps_nothing(place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Full:
        f_bavail, f_frsize = 1, 4096

    monkeypatch.setattr(os, "fstatvfs", lambda _: Full)
    with pytest.raises(Refused) as error:
        uploading.check_room(0, 10_000)
    assert (error.value.answer, error.value.facts) == ("full", {"free": 4096, "needed": 10_000})


def test_time_runs_out_and_who_waits_hears_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ear:
        heard = 0

        def send(self, _kind: bytes, _body: bytes) -> None:
            Ear.heard += 1

    now = time.monotonic()
    monkeypatch.setattr(unpacking.time, "monotonic", lambda: now)
    left = unpacking._Time(Ear())  # type: ignore[arg-type]
    for later in (0.0, 0.1, 1.5):
        now += later
        left.passes()
    assert Ear.heard == 2
    now += unpacking.LONGEST
    with pytest.raises(Refused):
        left.passes()
