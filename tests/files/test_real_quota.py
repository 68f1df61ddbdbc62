"""Quotas as the kernel keeps them, on a small ext4 of the test's own: read as the person, met by an upload."""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from files import limits
from files.answers import Refused
from files.limits import Limit
from tests.files import door
from tests.files.door import ANA, GROUP, Place

MB = 1024 * 1024
SET_QUOTA, BLOCKS_ARE_SET = 0x800008, 1
QUOTACTL_FD = 443
USER, WHOLE_GROUP, FOLDER = 0, 1, 2
SET_ATTRIBUTES = 0x401C5820  # FS_IOC_FSSETXATTR
INHERITED = 0x200
KINDS = "usrquota", "grpquota", "prjquota"
_libc = ctypes.CDLL(None, use_errno=True)


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """64 MB that keep quotas of people, groups and folders; where the machine cannot, its own words why."""
    if os.geteuid():
        pytest.skip("to mount a file system takes root")
    image, mounted = tmp_path_factory.mktemp("image") / "disk", tmp_path_factory.mktemp("disk")
    image.touch()
    os.truncate(image, 64 * MB)
    _do("mkfs.ext4", "-q", "-O", "quota,project", "-E", f"quotatype={':'.join(KINDS)}", str(image))
    _do("mount", "-o", f"loop,{','.join(KINDS)}", str(image), str(mounted))
    for folder in (mounted, *mounted.parents[:2]):
        folder.chmod(0o711)  # people pass through
    try:
        yield mounted
    finally:
        subprocess.run(["umount", str(mounted)], check=True)


def _do(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip(f"there is no {command[0]}")
    if done.returncode:
        kernel = subprocess.run(["dmesg"], capture_output=True, text=True).stdout.splitlines()
        why = [line for line in kernel if "EXT4-fs" in line][-1:] or [done.stderr.strip()]
        pytest.skip(f"{command[0]} fails here: {why[0]}")


@pytest.fixture
def house(disk: Path) -> Iterator[Place]:
    """The door over a folder of that disk, without any bound."""
    project = disk / "project"
    with door.running(project=project) as place:
        yield place
        for path in project.iterdir():
            path.unlink()
    for kind, number in ((USER, ANA), (WHOLE_GROUP, GROUP)):
        allow(disk, kind, number, 0)


def allow(disk: Path, kind: int, number: int, size: int) -> None:
    """Bound what somebody may use; 0: no bound."""
    raw = struct.pack("=8Q2I", size // 1024, 0, 0, 0, 0, 0, 0, 0, BLOCKS_ARE_SET, 0)
    held = os.open(disk, os.O_RDONLY | os.O_DIRECTORY)
    try:
        failed = _libc.syscall(QUOTACTL_FD, held, SET_QUOTA << 8 | kind, number, ctypes.create_string_buffer(raw))
        assert not failed, os.strerror(ctypes.get_errno())
    finally:
        os.close(held)


def test_a_persons_and_a_groups_bound_are_told_as_the_kernel_keeps_them(house: Place, disk: Path) -> None:
    with house.door() as opened:
        assert opened.bounds()[1] == []
    allow(disk, USER, ANA, 8 * MB)
    allow(disk, WHOLE_GROUP, GROUP, 6 * MB)
    house.upload("data", bytes(2 * MB))
    with house.door() as opened:
        (told,) = opened.bounds()[1]  # ANA is in no group of this machine
    held = os.open(house.project, os.O_RDONLY | os.O_DIRECTORY)
    user, group = limits.of_folder(held, ANA, GROUP)  # root may ask for both
    os.close(held)
    assert told == user
    assert (user.kind, user.limit, group.kind, group.limit) == ("user", 8 * MB, "group", 6 * MB)
    assert 2 * MB <= user.used == group.used < 3 * MB
    assert user.files >= 2  # the folder and the file


def test_nobody_is_told_anothers_bound(house: Place, disk: Path) -> None:
    allow(disk, USER, door.STRANGER, 8 * MB)
    held = os.open(house.project, os.O_RDONLY | os.O_DIRECTORY)
    try:
        assert isinstance(limits.kernel(held, "user", door.STRANGER), Limit)  # to root, it is
        child = os.fork()
        if child == 0:
            os.setresuid(ANA, ANA, ANA)
            os._exit(limits.kernel(held, "user", door.STRANGER) is not None)
        assert os.waitpid(child, 0)[1] == 0
    finally:
        os.close(held)
        allow(disk, USER, door.STRANGER, 0)


def test_an_upload_beyond_the_bound_says_so_and_leaves_nothing(house: Place, disk: Path) -> None:
    allow(disk, USER, ANA, 4 * MB)
    with pytest.raises(Refused, match="quota"):
        house.upload("large", os.urandom(6 * MB))
    assert house.names() == []
    assert len(house.upload("small", os.urandom(MB))) == 64


def test_the_bound_of_a_folder_is_the_room_it_has(house: Place, disk: Path) -> None:
    """ext4 and XFS show a project's quota as the size of the disk: no person may ask for it otherwise."""
    held = os.open(house.project, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.ioctl(held, SET_ATTRIBUTES, struct.pack("=5I8x", INHERITED, 0, 0, 77, 0))
    finally:
        os.close(held)
    allow(disk, FOLDER, 77, 32 * MB)
    with house.door() as opened:
        room, bounds = opened.bounds()
        assert room.total == 32 * MB and room.free < 32 * MB and bounds == []
        with pytest.raises(Refused, match="full"):
            opened.begin("large", os.urandom(16).hex(), 33 * MB)
