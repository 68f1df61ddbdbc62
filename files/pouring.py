"""A file's bytes by a pipe, from the person's child to the portal: the kernel lends the file's pages, none is copied on
the way.

The portal holds the end it reads from and nothing else: no descriptor of anybody's file. A file system that hangs holds
the child; the portal waits for the next bytes as long as it has patience.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import select
import stat
import time
from collections.abc import Iterator

from files.answers import of
from files.wire import ANSWER, END, PIECE, BadPacket, Channel, Gone

PIPE = 1024 * 1024  # bytes a pipe holds: what the kernel gives to who is not root
FEWEST = 64 * 1024  # bytes taken out of it at once where the line is slow, so that the child hears of it in time
SWIFT = 0.1  # seconds within which they went on for the next to be twice as many, a pipe's worth at most


def give(channel: Channel, head: bytes, file: int, offset: int, limit: int) -> int:
    """The child: answer with `head` and a pipe, pour up to `limit` bytes into it, wait until the portal has taken them;
    gives how many they were. Raises Gone, and Refused where the file fails under way."""
    reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    failed, sent = None, 0
    try:
        with contextlib.suppress(OSError):  # a smaller one is slower and does as well
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE)
        try:
            channel.send(ANSWER, head, [reading])
        finally:
            os.close(reading)
        while sent < limit and (count := _pour(file, writing, offset + sent, limit - sent, channel.patience)):
            sent += count
    except OSError as error:
        failed = of(error)
    finally:
        os.close(writing)
    channel.expect(END)  # pages still in the pipe change with the file: only now is all of it read
    if failed:
        raise failed
    return sent


def _pour(file: int, pipe: int, offset: int, limit: int, patience: float) -> int:
    """As much as there is room for; 0 at the file's end."""
    _wait(pipe, select.POLLOUT, patience)
    try:
        return os.splice(file, pipe, limit, offset_src=offset)
    except BrokenPipeError as error:
        raise Gone("nobody reads any more") from error
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    try:  # a file system that lends no pages
        return os.write(pipe, os.pread(file, min(PIECE, limit), offset))
    except BrokenPipeError as error:
        raise Gone("nobody reads any more") from error


def take(pipe: io.FileIO, patience: float) -> Iterator[bytes]:
    """The portal: what comes out, until its end. Raises Gone where nothing comes for so long."""
    size = FEWEST
    while True:
        _wait(pipe.fileno(), select.POLLIN, patience)
        piece = pipe.read(size)
        if not piece:
            return
        began = time.monotonic()
        yield piece
        size = min(2 * size, PIPE) if time.monotonic() - began < SWIFT else FEWEST


def check(descriptors: list[int]) -> io.FileIO:
    """The one pipe that came; anything else is closed again and BadPacket."""
    if len(descriptors) == 1 and stat.S_ISFIFO(os.fstat(descriptors[0]).st_mode):
        return io.FileIO(descriptors[0])
    for one in descriptors:
        os.close(one)
    raise BadPacket("not a pipe")


def _wait(pipe: int, what: int, patience: float) -> None:
    watched = select.poll()
    watched.register(pipe, what)
    if not watched.poll(patience * 1000):
        raise Gone("silent")
