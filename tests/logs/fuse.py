"""A file system that can be frozen: one folder, one file, spoken straight over /dev/fuse, for tests of what hangs."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_IN = struct.Struct("<IIQQIIII")  # len, opcode, unique, nodeid, uid, gid, pid, padding
_OUT = struct.Struct("<IiQ")
_ATTR = struct.Struct("<6Q10I")
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, INTERRUPT = 1, 2, 3, 14, 15, 17, 18, 25, 26, 36
_libc = ctypes.CDLL(None, use_errno=True)


class FrozenFiles:
    """Serves `folder`/log with `data`, owned by `uid`; while `freeze` holds an opcode, such requests get no answer."""

    def __init__(self, folder: Path, uid: int) -> None:
        self.folder, self.uid, self.data = folder, uid, b"before\n"
        self.freeze: frozenset[int] = frozenset()
        self.handles = self.stale = 0  # files opened so far, and how many of these are of no use any more
        self._kept: list[bytes] = []
        self._device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self._device},rootmode=40000,user_id=0,group_id=0,allow_other"
        if _libc.mount(b"frozen", str(folder).encode(), b"fuse", 0, options.encode()):
            failed = ctypes.get_errno()
            os.close(self._device)
            raise OSError(failed, "mount")
        threading.Thread(target=self._serve, daemon=True).start()

    def thaw(self) -> None:
        """Answer all that was kept waiting."""
        self.freeze, kept = frozenset(), self._kept
        self._kept = []
        for request in kept:
            self._answer(request)

    def close(self) -> None:
        """Unmount at once; what still waits gets an error."""
        _libc.umount2(str(self.folder).encode(), 2)
        os.close(self._device)

    def _serve(self) -> None:
        while True:
            try:
                request = os.read(self._device, 1 << 17)
            except OSError:
                return
            if _IN.unpack_from(request)[1] in self.freeze:
                self._kept.append(request)
            else:
                self._answer(request)

    def _answer(self, request: bytes) -> None:
        _, opcode, unique, node, *_ = _IN.unpack_from(request)
        if opcode in (FORGET, INTERRUPT, 42):
            return
        error, body = self._reply(opcode, node, request[_IN.size :])
        try:
            os.write(self._device, _OUT.pack(_OUT.size + len(body), -error, unique) + body)
        except OSError:
            return  # interrupted meanwhile

    def _reply(self, opcode: int, node: int, body: bytes) -> tuple[int, bytes]:
        if opcode == INIT:
            return 0, struct.pack("<IIIIHHIIHHI7I", 7, 31, 0, 0, 12, 10, 65536, 1, 0, 0, 0, *[0] * 7)
        if opcode == LOOKUP and body.rstrip(b"\0") == b"log":
            return 0, struct.pack("<QQQQII", 2, 0, 0, 0, 0, 0) + self._attributes(2)
        if opcode == GETATTR:
            return 0, struct.pack("<QII", 0, 0, 0) + self._attributes(node)
        if opcode == OPEN:
            self.handles += 1
            return 0, struct.pack("<QII", self.handles, 1, 0)  # direct I/O: no page cache between us and the reader
        if opcode == READ:
            handle, offset, size = struct.unpack_from("<QQI", body)
            if handle <= self.stale:
                return errno.ESTALE, b""
            return 0, self.data[offset : offset + size]
        return (0, b"") if opcode in (RELEASE, FLUSH) else (38, b"")

    def _attributes(self, node: int) -> bytes:
        mode, size = (0o40711, 0) if node == 1 else (0o100600, len(self.data))
        now = int(time.time())
        return _ATTR.pack(node, size, 1, now, now, now, 0, 0, 0, mode, 1, self.uid, self.uid, 0, 4096, 0)


@contextmanager
def frozen_files(folder: Path, uid: int) -> Iterator[FrozenFiles]:
    """A frozen-able file system at `folder` while the block runs. Raises OSError where the kernel gives none."""
    folder.mkdir()
    served = FrozenFiles(folder, uid)
    try:
        yield served
    finally:
        served.close()
