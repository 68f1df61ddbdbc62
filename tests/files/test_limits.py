"""What file systems tell of room and bounds: in the forms they use, and for real where this machine has one."""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

import pytest

from files import limits
from files.limits import Limit
from tests.files.door import ANA, BETO, Place

GIB = 1024**3


def quota(*words: int) -> bytes:
    """What quotactl(2) writes: hard, soft (KiB), used (bytes), then the same of files, then times."""
    return struct.pack("=8Q2I", *words, 0, 0, 63, 0)


def test_the_kernels_quota_is_read() -> None:
    told = limits.read_kernel("group", quota(2 * 1024**2, 1024**2, GIB, 1000, 900, 12))
    assert told == Limit("group", GIB, 2 * GIB, 12, 1000)
    assert limits.read_kernel("user", quota(0, 1024, 5, 0, 7, 1)) == Limit("user", 5, 1024**2, 1, 7)


@pytest.mark.parametrize(
    ("attributes", "told"),
    [
        ({"ceph.dir.rbytes": b"500", "ceph.dir.rfiles": b"3", "ceph.quota.max_bytes": b"1000", "ceph.quota.max_files": b"9"},
         Limit("folder", 500, 1000, 3, 9)),
        ({"ceph.dir.rbytes": b"500", "ceph.dir.rfiles": b"3", "ceph.quota.max_files": b"9"}, Limit("folder", 500, 0, 3, 9)),
        ({"ceph.dir.rbytes": b"500", "ceph.dir.rfiles": b"3"}, Limit("folder", 500, 0, 3, 0)),
        ({"ceph.dir.rbytes": b"many", "ceph.dir.rfiles": b"3"}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_cephfs_tells_by_attributes(attributes: dict[str, bytes], told: Limit | None) -> None:
    def attribute(_folder: int, name: str) -> bytes:
        if name not in attributes:
            raise OSError(61, "No data available")
        return attributes[name]

    assert limits.ceph(7, attribute) == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("/scratch 1048576 0 2097152 - 120 0 1000 -\n", Limit("group", GIB, 2 * GIB, 120, 1000)),
        ("/scratch 1048576* 524288 0 6d23h 120 100 0 -\n", Limit("group", GIB, GIB // 2, 120, 100)),
        ("/scratch [1048576] 0 2097152 - 120 0 0 -\n", Limit("group", GIB, 2 * GIB, 120, 0)),
        ("Permission denied.\n", None), ("", None), ("a b c d e f g h i\n", None),
    ],
)  # fmt: skip
def test_lustre_tells_by_its_command(said: str, told: Limit | None) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], folder: int) -> str:
        asked.append(command)
        return said

    assert limits.lustre(9, "group", 40011, run) == told
    assert asked == [["/usr/bin/lfs", "quota", "-q", "-g", "40011", "/proc/self/fd/9"]]


def test_a_command_that_is_missing_fails_or_hangs_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = os.open("/", os.O_RDONLY)
    try:
        assert limits._run(["/nowhere/lfs"], folder) == ""
        assert limits._run(["/bin/false"], folder) == ""
        monkeypatch.setattr(limits, "_PATIENCE", 60)
        assert limits._run(["/bin/ls", "-d", f"/proc/self/fd/{folder}"], folder).strip() == f"/proc/self/fd/{folder}"
        monkeypatch.setattr(limits, "_PATIENCE", 0.2)
        assert limits._run(["/bin/sleep", "60"], folder) == ""
    finally:
        os.close(folder)


def test_where_no_bound_is_told_none_is_made_up(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        assert all(one.limit or one.files_limit for one in limits.of_folder(folder, 40011, 40011))
        assert limits.ceph(folder) is None
    finally:
        os.close(folder)


def test_whose_is_how_much_and_what_is_new(place: Place) -> None:
    old = place.write("old", b"x" * 5000)
    os.utime(old, (time.time() - 90 * 86400,) * 2)
    place.write("new", b"y" * 3000)
    place.write("betos", b"z" * 9000, uid=BETO, mode=0o664)
    with (place.project / "sparse").open("wb") as file:
        file.truncate(10 * GIB)
    os.chown(place.project / "sparse", BETO, BETO)
    (place.project / "link").symlink_to(place.secret)
    with place.door() as door:
        census = door.census(since=int(time.time()) - 7 * 86400)
    shares = {one.uid: one for one in census.shares}
    assert (shares[ANA].files, shares[ANA].bytes, shares[ANA].new) == (2, 8000, 3000)
    assert (shares[BETO].files, shares[BETO].bytes) == (2, 9000)
    there = os.statvfs(place.project)
    assert census.room.total == there.f_blocks * there.f_frsize
    assert 0 < census.room.free <= census.room.total
    assert (census.cut, [one.uid for one in census.shares]) == (False, [BETO, ANA])
